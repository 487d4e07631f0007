"""The LanceDB table as a user meets it: it follows the index, and answers when it is asked to."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from capdisc.context.background_process import start_process
from capdisc_indexer.indexing.table_update import find_stale_rows
from capdisc_indexer.store import lance_table
from capdisc_indexer.store.snapshot import Index

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture
def index(hermetic, capdisc, write_skill, monkeypatch):
    """An index of six skills whose table is equal."""
    monkeypatch.setenv("CAPDISC_TABLE", "aside")
    for name, description in (
        ("merge-pdfs", "Merges PDF files into one."),
        ("split-pdf", "Splits a PDF file into pages."),
        ("boil-egg", "Boils an egg."),
        ("fold-paper", "Folds paper into cranes."),
        ("book-flight", "Books a flight."),
        ("send-mail", "Sends a mail."),
    ):
        write_skill(hermetic / "skills", name, f"{description} Use when asked.")
    assert capdisc("index", "skills", "--index-dir", "index").code == 0
    return hermetic / "index"


def _wait_until_equal(index: Path, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not lance_table.equals_index(index) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert lance_table.equals_index(index)


def _stale(index: Path) -> str:
    with Index(index) as opened:
        return find_stale_rows(opened)


def test_a_process_aside_brings_the_table_up_to_date(index, capdisc, process, write_skill) -> None:
    write_skill(index.parent / "skills", "boil-egg", "Cooks noodles. Use when asked.")
    assert process("index", "skills", "--index-dir", "index").code == 0
    _wait_until_equal(index)
    assert _stale(index) == ""
    assert capdisc("status", "--index-dir", "index", "--json").json["table"]["state"] == "equal"


def test_wait_waits_and_status_says_when_it_is_behind(
    index, capdisc, write_skill, monkeypatch
) -> None:
    monkeypatch.setenv("CAPDISC_TABLE", "off")
    write_skill(index.parent / "skills", "boil-egg", "Cooks noodles. Use when asked.")
    result = capdisc("index", "skills", "--index-dir", "index", "--json")
    assert result.json["table"] == "behind"
    status = capdisc("status", "--index-dir", "index")
    assert "table       behind, of generation 1; to bring it up to date: capdisc index --wait" in (
        status.out
    )
    assert "behind: it is of generation 1" in capdisc("doctor", "--index-dir", "index").out
    result = capdisc("index", "skills", "--index-dir", "index", "--wait", "--json")
    assert result.json["table"] == "equal"
    assert "7 rows" not in capdisc("status", "--index-dir", "index").out
    assert "every id and hash" in capdisc("doctor", "--index-dir", "index", "--deep").out


def test_a_finisher_that_is_killed_loses_nothing(index, process, write_skill) -> None:
    """R1 for the table: whenever it is killed, the next one leaves no stale row."""
    delays = [0.2, 0.8, 1.2, 1.6]
    for turn, delay in enumerate(delays):
        write_skill(index.parent / "skills", f"turn-{turn}", f"Handles turn {turn}.")
        result = process("index", "skills", "--index-dir", "index", env={"CAPDISC_TABLE": "off"})
        assert result.code == 0
        child = start_process("capdisc.context.table_finisher", [str(index), ""])
        time.sleep(delay)
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        assert process("search", "boil an egg", "--index-dir", "index").code == 0
    result = process("index", "skills", "--index-dir", "index", "--wait")
    assert (result.code, _stale(index)) == (0, "")


def test_an_index_that_was_removed_does_not_come_back(index, capdisc, process) -> None:
    """A build on a small disk once found the table of an index that was gone, and refused."""
    shutil.rmtree(index)
    assert start_process("capdisc.context.table_finisher", [str(index), ""]).wait() == 0
    assert not index.exists()

    (index / "table").mkdir(parents=True)  # what a writer leaves that was in the middle of it
    (index / "table" / "LOCK").touch()
    result = capdisc("index", "skills", "--index-dir", "index", "--wait")
    assert (result.code, _stale(index)) == (0, "")

    for name in ("table/capability_index.lance", "table"):
        shutil.rmtree(index)
        (index / name).mkdir(parents=True)
        (index / "checked.json").touch()
        assert capdisc("index", "skills", "--index-dir", "index").code == 0

    shutil.rmtree(index)
    (index / "table").mkdir(parents=True)
    (index / "table" / "letter.txt").touch()
    assert "holds other files" in capdisc("index", "skills", "--index-dir", "index").err


def test_both_engines_find_the_same(index, capdisc) -> None:
    for words in (["merge pdf fils"], ["boil an egg", "--exclude", "fold-paper"]):
        found = [
            capdisc("search", *words, "--engine", engine, "--index-dir", "index", "--ids").out
            for engine in ("matrix", "lancedb")
        ]
        assert found[0] == found[1] != ""


def test_a_filter_with_quotes_stays_a_filter(index, capdisc, write_skill) -> None:
    path = write_skill(index.parent / "skills", "odd", "Boils an egg oddly. Use when asked.")
    text = path.read_text().replace("description:", "metadata:\n  category: it's\ndescription:")
    path.write_text(text)
    assert capdisc("index", "skills", "--index-dir", "index", "--wait").code == 0
    options = ("--engine", "lancedb", "--index-dir", "index", "--ids")
    assert capdisc("search", "boil an egg", "--category", "it's", *options).out == "skill:odd\n"
    result = capdisc("search", "boil an egg", "--exclude", "x') OR ('1'='1", *options)
    assert "skill:boil-egg" in result.out


def test_the_engine_brings_a_table_that_is_behind_up_to_date(
    index, capdisc, write_skill, monkeypatch
) -> None:
    monkeypatch.setenv("CAPDISC_TABLE", "off")
    write_skill(index.parent / "skills", "noodles", "Cooks noodles. Use when asked.")
    capdisc("index", "skills", "--index-dir", "index")
    monkeypatch.setenv("CAPDISC_ENGINE", "lancedb")
    result = capdisc("search", "cook noodles", "--index-dir", "index", "--ids")
    assert (result.out.split()[0], result.err) == ("skill:noodles", "")


def test_another_engine_is_refused(index, capdisc, monkeypatch) -> None:
    monkeypatch.setenv("CAPDISC_ENGINE", "lance")
    result = capdisc("search", "egg", "--index-dir", "index")
    assert (result.code, "unknown engine" in result.err) == (2, True)


def test_a_cold_search_does_not_import_the_table(index) -> None:
    code = (
        "import sys; from capdisc.args import command_table; command_table.run_command(sys.argv[1:]);"
        "print([name for name in sys.modules if 'lance' in name or name == 'pyarrow'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "search", "boil an egg", "--index-dir", "index", "--ids"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_first_search_answers_before_the_table_is_there(
    hermetic, capdisc, write_skill, monkeypatch
) -> None:
    monkeypatch.setenv("CAPDISC_TABLE", "aside")
    write_skill(hermetic / ".claude" / "skills", "boil-egg", "Boils an egg. Use for eggs.")
    code = (
        "import sys; from capdisc.args.command_table import run_command; "
        "run_command(['search', 'boil an egg', '--ids']); print('lancedb' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["skill:boil-egg", "False"]
    _wait_until_equal(Path(capdisc("status", "--json").json["index_dir"]))


def test_a_large_first_build_gets_its_table_aside(hermetic, write_skill, monkeypatch) -> None:
    monkeypatch.setenv("CAPDISC_TABLE", "aside")
    write_skill(hermetic / "skills", "boil-egg", "Boils an egg. Use for eggs.")
    code = (
        "from capdisc.args.command_table import run_command; from capdisc.context import coverage; "
        "coverage._MAX_TABLE_SIZE = 0; "
        "run_command(['index', 'skills', '--index-dir', 'index', '--json'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["table"] == "behind"
    _wait_until_equal(hermetic / "index")


def test_the_example_of_the_page_prints_what_it_says(hermetic, process) -> None:
    catalogue = REPOSITORY / "fixtures" / "catalogs" / "office"
    result = process(
        "index", str(catalogue), "--index-dir", "index", env={"CAPDISC_TABLE": "aside"}
    )
    assert result.code == 0
    page = (REPOSITORY / "docs" / "internals" / "lancedb.md").read_text()
    (block,) = re.findall(r"^```python\n(.*?)^```$", page, re.S | re.M)
    done = subprocess.run(
        [sys.executable, "-c", block], capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines() == re.findall(r"# prints (.*)", block), done.stderr
