"""A second project with the same home: its index takes over what another has, and nothing else."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path

import pytest

from capdisc.context import background_build
from capdisc.hook import quiet_build
from capdisc_indexer.indexing import build_stages
from capdisc_indexer.indexing.tree_scan import scan_folders
from capdisc_indexer.store.durable_files import measure_folder
from capdisc_indexer.store.snapshot import Index

LONG_AGO_S = 100 * 24 * 3600


@pytest.fixture
def home(hermetic, write_skill) -> Path:
    """The home folder with thirty skills, and two projects with a skill of their own."""
    home = Path(os.environ["HOME"])
    for number in range(30):
        body = f"Fold crane {number}. " * 200
        write_skill(home / ".claude/skills", f"crane-{number}", f"Folds crane {number}.", body)
    for name in ("shop", "blog"):
        (home / name / ".git").mkdir(parents=True)
        write_skill(home / name / ".claude/skills", f"{name}-deploy", f"Deploys the {name}.")
    return home


@pytest.fixture
def enter(monkeypatch):
    """Makes a folder the current one."""

    def enter(folder: Path) -> None:
        monkeypatch.chdir(folder)
        monkeypatch.setenv("PWD", str(folder))

    return enter


@pytest.fixture
def index(capdisc, enter):
    """Enters a folder and indexes it."""

    def index(folder: Path) -> None:
        enter(folder)
        assert capdisc("index").code == 0

    return index


def _index_dir(capdisc) -> Path:
    return Path(capdisc("status", "--json").json["index_dir"])


def _contents(index_dir: Path) -> list[object]:
    with Index(index_dir) as index:
        records = index.documents.full_records([head["id"] for head in index.heads()])
        return [
            [{**head, "size": 0}, body, index.matrix.rows_of(head["id"])]
            for head, body, _ in records
        ]


def test_the_second_project_has_what_a_build_from_nothing_has(home, capdisc, enter, index) -> None:
    index(home / "shop")
    enter(home / "blog")
    report = capdisc("index", "--json").json
    assert (report["counts"]["added"], report["counts"]["removed"]) == (31, 0)
    assert (report["counts"]["parsed"], report["counts"]["removed_files"]) == (1, 0)
    index_dir = _index_dir(capdisc)
    usage = measure_folder(index_dir)
    assert 0 < usage.shared_bytes < usage.bytes
    assert "in common with other indexes" in capdisc("status").out
    taken_over = _contents(index_dir)
    found = capdisc("search", "fold crane 7", "-k", "40", "--ids").out
    assert "skill:blog-deploy" in capdisc("list", "--ids").out
    assert "shop" not in capdisc("list", "--ids").out + capdisc("search", "deploy the shop").out
    shutil.rmtree(index_dir)
    assert capdisc("index", "--rebuild").code == 0
    assert measure_folder(index_dir).shared_bytes == 0
    assert _contents(index_dir) == taken_over
    assert capdisc("search", "fold crane 7", "-k", "40", "--ids").out == found


def test_what_is_taken_over_costs_no_second_scan(home, index, monkeypatch) -> None:
    index(home / "shop")
    scans = []
    monkeypatch.setattr(
        build_stages,
        "scan_folders",
        lambda request: scans.append(request) or scan_folders(request),
    )
    index(home / "blog")
    assert len(scans) == 1


def test_an_index_that_is_changed_leaves_the_other_as_it_is(
    home, capdisc, enter, index, write_skill
) -> None:
    index(home / "shop")
    shop = _index_dir(capdisc)
    before = _contents(shop)
    index(home / "blog")
    for turn in range(4):
        write_skill(home / "blog/.claude/skills", "blog-deploy", f"Deploys the blog {turn}.")
        write_skill(home / "blog/.claude/skills", f"blog-{turn}", f"Writes post {turn}.")
        assert capdisc("index").code == 0
    enter(home / "shop")
    assert _contents(shop) == before
    assert " ok" in capdisc("doctor", "--deep").out.split("files")[1].splitlines()[0]


def test_a_part_of_an_index_is_measured_by_all_files(
    home, capdisc, enter, index, write_skill, monkeypatch
) -> None:
    index(home / "shop")
    monkeypatch.setattr("capdisc.context.index_update.FIRST_FILES", 3)
    monkeypatch.setattr(background_build, "_start_process", lambda *_, **__: None)
    enter(home / "blog")
    for number in range(5):
        write_skill(home / "blog/.claude/skills", f"post-{number}", f"Writes post {number}.")
    done = capdisc("list", "--ids")
    assert len(done.out.split()) == 3 and "crane" not in done.out
    assert "index 8 % built" in done.err


def test_a_damaged_index_is_no_seed(home, capdisc, enter, index) -> None:
    index(home / "shop")
    for path in (_index_dir(capdisc) / "gens").rglob("*"):
        if path.is_file() and path.name not in ("MANIFEST", "LEASE"):
            path.write_bytes(b"x" + path.read_bytes()[1:])
    enter(home / "blog")
    done = capdisc("index", "--json")
    assert (done.code, done.json["counts"]["parsed"], done.err) == (0, 31, "")


def test_a_workspace_that_reads_other_folders_takes_nothing_over(
    home, capdisc, enter, index
) -> None:
    index(home / "shop")
    enter(home / "blog")
    (home / "blog/capdisc.toml").write_text('folders = "codex"\nroots = [".claude/skills"]\n')
    assert capdisc("index").code == 0
    assert capdisc("list", "--ids").out == "skill:blog-deploy\n"


PROMPT = {"prompt": "fold paper crane 7 for me, please", "hook_event_name": "UserPromptSubmit"}


def _suggest(capdisc, *words: str) -> str:
    return capdisc("hook", "claude", *words, stdin=json.dumps(PROMPT)).out


def test_the_first_prompt_in_a_new_folder_is_answered_from_the_home_index(
    home, capdisc, enter, monkeypatch
) -> None:
    started: list[object] = []
    monkeypatch.setattr(
        background_build, "_start_process", lambda *words, **_: started.append(words)
    )
    enter(home)
    assert capdisc("index").code == 0
    enter(home / "shop")
    assert "crane-7" in _suggest(capdisc, "--gate", "off") and len(started) == 1
    (home / "shop/capdisc.toml").write_text('folders = "codex"\nroots = [".claude/skills"]\n')
    assert "crane" not in _suggest(capdisc, "--gate", "off")


def test_a_build_in_the_background_leaves_an_index_of_the_home_folder(
    home, capdisc, enter, monkeypatch
) -> None:
    enter(home / "shop")
    tables: list[object] = []
    with monkeypatch.context() as patched:
        patched.setenv("CAPDISC_TABLE", "aside")
        patched.setattr(
            "capdisc.context.housekeeping.start_process", lambda *words: tables.append(words)
        )
        patched.setattr("sys.argv", ["", "claude"])
        patched.setattr("sys.stderr", None)
        quiet_build.main()
    assert tables == []
    assert "shop-deploy" in capdisc("list", "--ids").out
    enter(home)
    assert "crane-7" in capdisc("list", "--ids", "--fresh", "off").out
    usage = measure_folder(_index_dir(capdisc))
    assert usage.shared_bytes


def test_where_a_hook_names_its_index_no_other_is_built(home, capdisc, enter, monkeypatch) -> None:
    enter(home / "shop")
    with monkeypatch.context() as patched:
        patched.setattr("sys.argv", ["", "claude", "--index-dir", "own"])
        patched.setattr("sys.stderr", None)
        quiet_build.main()
    enter(home)
    assert "there is no index" in capdisc("status").err
    enter(home / "shop")
    assert "shop-deploy" in capdisc("list", "--ids", "--index-dir", "own").out


@pytest.fixture
def three_indexes(home, capdisc, enter) -> dict[str, Path]:
    """The indexes of the home folder and of two projects."""
    folders = {}
    for name in (".", "shop", "blog"):
        enter(home / name)
        assert capdisc("index").code == 0
        folders[name] = _index_dir(capdisc)
    return folders


def _age(index_dir: Path, days: float) -> None:
    os.utime(index_dir / "LOCK", (time.time() - days * 24 * 3600,) * 2)


def test_indexes_that_nobody_used_for_long_are_removed_and_named_once(
    home, capdisc, enter, three_indexes
) -> None:
    _age(three_indexes["shop"], 61)
    _age(three_indexes["."], 59)
    enter(home / "blog")
    done = capdisc("index")
    assert "removed 1 index" in done.err and "shop-" in done.err
    assert [path.exists() for path in three_indexes.values()] == [True, False, True]
    assert "removed" not in capdisc("index").err
    assert "shop" not in "".join(map(str, (Path(os.environ["HOME"])).rglob("indexes/*.json")))


def test_a_setting_keeps_them(home, capdisc, enter, three_indexes, monkeypatch) -> None:
    _age(three_indexes["shop"], 1_000)
    monkeypatch.setenv("CAPDISC_KEEP_INDEXES_DAYS", "0")
    assert "removed" not in capdisc("index").err
    assert three_indexes["shop"].exists()


def test_an_index_with_added_paths_stays_while_its_folder_is_there(
    home, capdisc, enter, three_indexes, write_skill
) -> None:
    write_skill(home / "elsewhere", "zither", "Tunes a zither.")
    enter(home / "shop")
    assert capdisc("index", str(home / "elsewhere")).code == 0
    _age(three_indexes["shop"], 1_000)
    enter(home / "blog")
    assert "removed" not in capdisc("index").err and three_indexes["shop"].exists()
    enter(home / "shop")
    assert "skill:zither" in capdisc("list", "--ids").out
    enter(home / "blog")
    (home / "shop").rename(home / "shop-on-another-disk")
    _age(three_indexes["shop"], 59)
    assert "removed" not in capdisc("index").err and three_indexes["shop"].exists()
    _age(three_indexes["shop"], 61)
    assert "removed 1 index" in capdisc("index").err and not three_indexes["shop"].exists()


def test_the_index_of_a_folder_that_is_gone_stays_for_a_week(
    home, capdisc, enter, three_indexes
) -> None:
    (home / "shop").rename(home / "shop-on-another-disk")
    _age(three_indexes["shop"], 6)
    assert capdisc("index").code == 0 and three_indexes["shop"].exists()
    _age(three_indexes["shop"], 8)
    _age(three_indexes["."], 8)
    assert capdisc("index", "--quiet").err == "" and not three_indexes["shop"].exists()
    assert three_indexes["."].exists()
    assert "removed 1 index" in capdisc("index").err
    assert "removed" not in capdisc("index").err


def test_an_index_in_use_is_not_removed(home, capdisc, enter, three_indexes) -> None:
    with Index(three_indexes["shop"]):
        _age(three_indexes["shop"], 100)
        assert "removed" not in capdisc("index").err
    enter(home / "shop")
    _age(three_indexes["shop"], 100)
    assert capdisc("search", "crane", "--fresh", "off").code == 0
    enter(home / "blog")
    assert "removed" not in capdisc("index").err and three_indexes["shop"].exists()


def test_only_indexes_of_this_user_are_removed(home, capdisc, enter, three_indexes) -> None:
    cache = three_indexes["shop"].parent
    for name in ("letters", "letters-00000000", "notes-00000000"):
        (cache / name).mkdir()
        (cache / name / "LOCK").touch()
        _age(cache / name, 1_000)
    (cache / "letters" / "letter.txt").touch()
    assert "removed" not in capdisc("index").err
    assert (cache / "notes-00000000").exists()


def test_where_links_are_impossible_contents_are_copied(
    home, capdisc, enter, index, monkeypatch
) -> None:
    index(home / "shop")

    def refuse(*_: object, **__: object) -> None:
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr("capdisc_indexer.store.publication.os.link", refuse)
    enter(home / "blog")
    assert capdisc("index", "--json").json["counts"]["parsed"] == 1
    assert "skill:crane-7" in capdisc("search", "fold crane 7", "--ids").out
    assert measure_folder(_index_dir(capdisc)).shared_bytes == 0
