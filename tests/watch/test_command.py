"""capdisc watch: what it prints, what it runs, how it ends."""

import json
import os
import shutil
import signal
import subprocess
import sys

import pytest
from watched import Watched, ids, until

from capdisc_indexer.indexing.pipeline import build_index
from capdisc_indexer.indexing.table_update import find_stale_rows, update_table
from capdisc_indexer.model.errors import CoverageChangedError
from capdisc_indexer.model.types import BuildOptions, Coverage
from capdisc_indexer.store import lance_table
from capdisc_indexer.store.snapshot import Index


@pytest.fixture
def command(root, index_dir):
    """Start `capdisc watch` on the root; ready once the first build is done."""
    started = []

    def start(*words: str) -> Watched:
        watched = Watched(root, "--index-dir", index_dir, "--debounce", "0.1", *words)
        started.append(watched)
        return watched.ready()

    yield start
    for each in started:
        each.close()


def test_json_is_a_document_a_line_for_each_change(command, root, index_dir, write_skill) -> None:
    """watch --json prints one document for each set of changes, with the ids of what changed (S209)."""
    watched = command()
    write_skill(root, "beta")
    assert until(lambda: len(watched.turns) == 2), watched.err
    first, second = watched.turns
    assert next(iter(first)) == "schema_version"
    assert (first["generation"], first["published"], first["counts"]["added"]) == (1, True, 1)
    assert (second["generation"], second["counts"]["added"], second["index_dir"]) == (
        2,
        1,
        str(index_dir),
    )
    assert first["ids"] == {"added": ["skill:alpha"], "updated": [], "removed": []}
    assert second["ids"] == {"added": ["skill:beta"], "updated": [], "removed": []}
    (root / "alpha" / "SKILL.md").write_text("---\nname: al")
    assert until(lambda: len(watched.turns) == 3), watched.err
    assert watched.turns[2]["findings"][0]["path"] == str(root / "alpha" / "SKILL.md")
    assert watched.err.count("SKILL.md") == 1


def test_a_person_reads_a_line_for_each_change(root, index_dir, hermetic) -> None:
    reading, writing = os.pipe()
    words = ("watch", str(root), str(hermetic / "later"), "--index-dir", str(index_dir))
    with subprocess.Popen(
        [sys.executable, "-m", "capdisc", *words],
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        os.close(writing)
        line = os.read(reading, 1000).decode()
        process.send_signal(signal.SIGINT)
        err = process.communicate()[1]
    os.close(reading)
    assert line[2] == line[5] == ":"
    assert line[8:].startswith(" generation 1: 1 added (")
    assert f"notice: {hermetic / 'later'} does not exist" in err


def test_a_command_runs_after_each_change_and_may_fail(
    command, root, hermetic, index_dir, write_skill
) -> None:
    """--exec runs after each change, and its failure does not end watching (S209)."""
    log = hermetic / "log"
    watched = command(
        "--exec", f'echo "$CAPDISC_GENERATION $CAPDISC_INDEX_DIR" >> {log}; echo printed; exit 3'
    )
    write_skill(root, "beta")
    assert until(lambda: log.exists() and log.read_text().count("\n") == 2), watched.err
    assert log.read_text() == f"1 {index_dir}\n2 {index_dir}\n"
    assert until(lambda: watched.err.count("the command of --exec ended with status 3") == 2)
    assert "printed" in watched.err
    assert ids(index_dir) == ["skill:alpha", "skill:beta"]


def test_the_lancedb_table_follows_while_watching(
    command, root, index_dir, write_skill, monkeypatch
) -> None:
    monkeypatch.setenv("CAPDISC_TABLE", "aside")
    watched = command()
    assert until(lambda: watched.turns), watched.err
    update_table(index_dir)
    os.utime(lance_table.state_file(index_dir), (0, 0))
    write_skill(root, "beta")
    assert until(lambda: len(watched.turns) == 2), watched.err
    assert until(lambda: lance_table.equals_index(index_dir)), watched.err
    with Index(index_dir) as index:
        assert index.generation.number == 2
        assert find_stale_rows(index) == ""


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (getattr(signal, "SIGHUP", 1), 129)],
)
def test_a_signal_ends_it_and_what_it_started(command, hermetic, number, code) -> None:
    """A signal ends watching and its command, with the signal's status (S212)."""
    watched = command("--exec", f"echo $$ > {hermetic / 'pid'}; exec sleep 600")
    assert until(
        lambda: (hermetic / "pid").exists() and (hermetic / "pid").read_text().endswith("\n")
    )
    assert watched.stop(number) == code
    assert "Traceback" not in watched.err
    assert until(lambda: not _alive(int((hermetic / "pid").read_text())))


def test_a_signal_in_the_middle_of_a_build_leaves_the_last_generation(
    command, root, index_dir, write_skill
) -> None:
    watched = command()
    for number in range(400):
        write_skill(root, f"skill-{number}")
    assert until(lambda: len(list((index_dir / "gens").iterdir())) > 1), watched.err
    assert watched.stop(signal.SIGTERM) == 143
    assert "Traceback" not in watched.err
    assert len(ids(index_dir)) in (1, 401)


@pytest.mark.parametrize(
    ("option", "said"),
    [
        *((option, "error: ") for option in ("--interval=0", "--interval=nan")),
        *((option, "error: ") for option in ("--debounce=-1", "--debounce=nan")),
        # Eight minutes, and likely meant as milliseconds.
        ("--debounce=500", "'500' has no unit: give 500ms or 500s"),
    ],
)
def test_times_that_make_no_sense_are_refused(capdisc, option, said) -> None:
    done = capdisc("watch", option)
    assert (done.code, done.out) == (2, "")
    assert said in done.err


def test_without_a_path_it_takes_the_folders_that_index_takes(
    hermetic, index_dir, write_skill
) -> None:
    with Watched("--index-dir", index_dir, "--debounce", "0.1") as watched:
        assert until(lambda: watched.turns)
        assert watched.notices.count("\n") == 0
        write_skill(hermetic / ".claude" / "skills", "alpha")
        assert until(lambda: ids(index_dir) == ["skill:alpha"]), watched.err


def test_no_other_command_imports_what_only_watching_needs(process, small) -> None:
    script = "import sys; from capdisc.args.command_table import run_command; run_command(['search', 'pdf']); print('watchdog' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "False"


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_edits_deletions_renames_and_late_folders_are_followed(
    command, root, hermetic, index_dir, write_skill, capdisc
) -> None:
    """`watch` follows an edit, a rename over the file, a deletion and a new folder, each with its
    ids (S210, S211, S315).
    """
    watched = command()
    write_skill(root / "deep" / "down", "beta")
    assert until(lambda: len(watched.turns) == 2), watched.err
    aside = hermetic / "aside.md"
    aside.write_text("---\nname: beta\ndescription: Now it sings. Use when asked.\n---\nSing.\n")
    aside.replace(root / "deep" / "down" / "beta" / "SKILL.md")
    assert until(lambda: len(watched.turns) == 3), watched.err
    assert watched.turns[2]["ids"]["updated"] == ["skill:beta"]
    found = capdisc("search", "sing", "--ids", "--index-dir", str(index_dir), "--fresh", "off")
    assert found.out.splitlines()[0] == "skill:beta"
    shutil.rmtree(root / "deep")
    assert until(lambda: len(watched.turns) == 4), watched.err
    assert watched.turns[3]["ids"]["removed"] == ["skill:beta"]


def test_what_is_covered_or_set_while_watching_is_taken_over(
    hermetic, write_skill, capdisc, tmp_path
) -> None:
    """A path that is added meanwhile stays, and is followed; settings are read again."""
    own, added = hermetic / ".claude/skills", tmp_path / "added"
    write_skill(own, "alpha")
    write_skill(added, "beta")

    def listed() -> list[str]:
        return capdisc("list", "--ids", "--fresh", "off").out.split()

    with Watched("--debounce", "0.1") as watched:
        watched.ready()
        assert capdisc("index", str(added)).code == 0
        assert until(lambda: "reading them again" in watched.err), watched.err
        write_skill(own, "gamma")
        assert until(lambda: listed() == ["skill:alpha", "skill:beta", "skill:gamma"]), listed()
        write_skill(added, "delta")
        assert until(lambda: "skill:delta" in listed()), listed()
        settings = hermetic / "capdisc.toml"
        settings.write_text('[[overlay]]\nid = "skill:alpha"\ndescription = "Folds zebras."\n')
        assert until(lambda: "Folds zebras" in capdisc("list", "--fresh", "off").out), watched.err
        settings.write_text("[[overlay]")
        write_skill(own, "epsilon")
        assert until(
            lambda: any("skill:epsilon" in json.dumps(turn["ids"]) for turn in watched.turns)
        )
        settings.unlink()
    assert len(listed()) == 5


def test_a_build_that_waited_drops_nothing_that_was_added_meanwhile(
    hermetic, write_skill, capdisc
) -> None:
    write_skill(hermetic / "one", "alpha")
    write_skill(hermetic / "two", "beta")
    folder, last = hermetic / "index", Coverage(added=(str(hermetic / "one"),))
    build_index([hermetic / "one"], folder, BuildOptions(coverage=last))
    both = Coverage(added=(*last.added, str(hermetic / "two")))
    build_index([hermetic / "one", hermetic / "two"], folder, BuildOptions(coverage=both))
    write_skill(hermetic / "one", "gamma")
    with pytest.raises(CoverageChangedError):
        build_index([hermetic / "one"], folder, BuildOptions(coverage=last, last_coverage=last))
    assert ids(folder) == ["skill:alpha", "skill:beta"]


def test_what_waits_for_trust_is_told_once_in_json_too(command, hermetic) -> None:
    (hermetic / "capdisc.toml").write_text('roots = ["../outside"]\n')
    watched = command()
    (notice,) = watched.turns[0]["notices"]
    assert notice == "left out until the user trusts this workspace: roots; run: capdisc trust"
    assert watched.err.count("left out until you trust it: roots") == 1
