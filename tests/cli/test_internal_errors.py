"""A file that capdisc itself fails on costs that file alone, wherever it fails."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from capdisc.args import command_table
from capdisc.commands import watch as watch_command
from capdisc.context import background_build
from capdisc_guard import text_risks
from capdisc_indexer.encoders.static_encoder import StaticEncoder
from capdisc_indexer.indexing import document_changes, worker_pool

MARK = "zzbreaks"
REPORT = "this is a bug in capdisc: please report it, with the file if others may see it"


class PanicError(BaseException):
    """As a panic of a library in Rust arrives."""


@pytest.fixture
def skills(hermetic: Path, write_skill: Callable[..., Path]) -> Path:
    """Two good skills and, between them by name, one with the mark."""
    (hermetic / ".git").mkdir()
    folder = hermetic / ".claude" / "skills"
    write_skill(folder, "fold-cranes", "Folds paper cranes. Use to fold a crane.")
    write_skill(folder, "knit-socks", "Knits warm socks. Use to knit a sock.")
    write_skill(folder, "glaze-bowls", f"Glazes bowls with {MARK}. Use to glaze a bowl.")
    return folder


def _fail_on_mark(text: object, error: type[BaseException]) -> None:
    if MARK in str(text):
        raise error("a secret of the file")


def _fail_in_reading(monkeypatch: pytest.MonkeyPatch, error: type[BaseException]) -> None:
    find = text_risks.hidden_text_findings

    def fail(text: Any) -> Any:
        _fail_on_mark(text.value, error)
        return find(text)

    monkeypatch.setattr(text_risks, "hidden_text_findings", fail)


def _fail_in_documents(monkeypatch: pytest.MonkeyPatch, error: type[BaseException]) -> None:
    build = document_changes.build_document

    def fail(descriptor: Any, *rest: Any) -> Any:
        _fail_on_mark(descriptor.description, error)
        return build(descriptor, *rest)

    monkeypatch.setattr(document_changes, "build_document", fail)


def _fail_in_vectors(monkeypatch: pytest.MonkeyPatch, error: type[BaseException]) -> None:
    for name in ("encode", "encode_few"):
        encode = getattr(StaticEncoder, name)

        def fail(encoder: StaticEncoder, texts: Sequence[str], encode: Any = encode) -> Any:
            _fail_on_mark(texts, error)
            return encode(encoder, texts)

        monkeypatch.setattr(StaticEncoder, name, fail)


STAGES = {
    "reading": _fail_in_reading,
    "documents": _fail_in_documents,
    "vectors": _fail_in_vectors,
}


def _names(answer: str) -> list[str]:
    return sorted(hit["name"] for hit in json.loads(answer)["capabilities"])


@pytest.mark.parametrize("error", [TypeError, RecursionError, PanicError])
@pytest.mark.parametrize("stage", STAGES)
def test_a_build_leaves_the_file_out_and_says_so(
    skills, capdisc, monkeypatch, stage, error
) -> None:
    STAGES[stage](monkeypatch, error)
    built = capdisc("index", "--json")
    assert built.code == 1
    (finding,) = [row for row in built.json["findings"] if row["severity"] == "error"]
    assert finding["code"] == "internal"
    assert error.__name__ in finding["message"] and "secret" not in finding["message"]
    assert finding["hint"] == REPORT
    assert finding["path"].endswith("glaze-bowls/SKILL.md")
    assert _names(capdisc("list", "--json").out) == ["fold-cranes", "knit-socks"]


@pytest.mark.parametrize("stage", STAGES)
def test_its_last_good_version_stays_until_it_can_be_read_again(
    skills, capdisc, monkeypatch, write_skill, stage
) -> None:
    write_skill(skills, "glaze-bowls", "Glazes bowls. Use to glaze a bowl.")
    assert capdisc("index").code == 0
    write_skill(skills, "glaze-bowls", f"Glazes bowls with {MARK}. Use to glaze a bowl.")
    with monkeypatch.context() as patch:
        STAGES[stage](patch, TypeError)
        found = capdisc("search", "glaze a bowl", "--json")
        assert found.code == 0
        (hit,) = [hit for hit in found.json["hits"] if hit["name"] == "glaze-bowls"]
        assert hit["stale"] and MARK not in hit["description"]
        assert capdisc("search", "fold a crane", "--json").json["hits"][0]["name"] == "fold-cranes"
    # The bug is mended; the file is as it was.
    assert capdisc("index").code == 0
    found = capdisc("search", "glaze a bowl", "--json")
    assert MARK in found.json["hits"][0]["description"]


def test_validate_and_stdin_report_it_and_check_all_others(skills, capdisc, monkeypatch) -> None:
    _fail_in_reading(monkeypatch, TypeError)
    (skills / "knit-socks" / "SKILL.md").write_text("---\nname: knit-socks\n---\nKnit.\n")
    checked = capdisc("validate", "--json")
    assert checked.code == 1
    codes = {row["code"]: row["path"] for row in checked.json["findings"]}
    assert codes["internal"].endswith("glaze-bowls/SKILL.md")
    assert codes["description-missing"].endswith("knit-socks/SKILL.md")
    text = (skills / "glaze-bowls" / "SKILL.md").read_text()
    piped = capdisc("validate", "-", stdin=text)
    assert (piped.code, "error[internal]" in piped.out) == (1, True)
    explained = capdisc("validate", "--rule", "internal")
    assert explained.code == 0 and "Report it" in explained.out


def _take_one_update(updates: Any, *_: Any) -> None:
    next(updates)


def test_the_builds_of_watch_and_of_a_hook_go_on(skills, capdisc, monkeypatch) -> None:
    _fail_in_reading(monkeypatch, PanicError)
    monkeypatch.setattr(watch_command, "_print_updates", _take_one_update)
    assert capdisc("watch").code == 0
    assert _names(capdisc("list", "--json").out) == ["fold-cranes", "knit-socks"]
    shutil.rmtree(capdisc("status", "--json").json["index_dir"])
    builds = []
    monkeypatch.setattr(
        background_build,
        "_start_process",
        lambda *_, **__: builds.append(command_table.run_command(["index", "--quiet"])),
    )
    prompt = json.dumps({"prompt": "fold a paper crane"})
    assert capdisc("hook", "claude", stdin=prompt).code == 0
    assert builds == [1]
    assert "fold-cranes" in capdisc("hook", "claude", stdin=prompt).out


def test_workers_of_a_large_build_report_it(skills, capdisc, monkeypatch) -> None:
    """The error is raised in processes of their own, in which no monkeypatch holds."""
    breaking = (
        "from capdisc_guard import text_risks as c\n"
        "f = c.hidden_text_findings\n"
        "def g(t):\n"
        f"    if {MARK!r} in t.value: raise BaseException()\n"
        "    return f(t)\n"
        "c.hidden_text_findings = g\n"
    )
    head, serve = worker_pool._WORKER_SCRIPT.split("; ", 1)
    monkeypatch.setattr(
        worker_pool,
        "_WORKER_SCRIPT",
        f"{head}\nexec({breaking!r})\nimport json, sys\n{head};{serve}",
    )
    monkeypatch.setattr(worker_pool, "MIN_PARALLEL_ITEMS", 2)
    monkeypatch.setattr(worker_pool, "count_processors", lambda: 2)
    built = capdisc("index", "--json")
    assert built.code == 1
    assert [row["code"] for row in built.json["findings"]] == ["internal"]
    assert "BaseException" in built.json["findings"][0]["message"]
    assert _names(capdisc("list", "--json").out) == ["fold-cranes", "knit-socks"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_what_ends_a_run_still_ends_it(skills, capdisc, monkeypatch, error) -> None:
    _fail_in_reading(monkeypatch, error)
    assert capdisc("index").code == (130 if error is KeyboardInterrupt else 4)
