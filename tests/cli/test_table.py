"""The LanceDB table as a user meets it: it follows the index, and answers when it is asked to."""

from __future__ import annotations

import os
import random
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
from capdisc_indexer.store.durable_files import measure_folder
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
    assert capdisc("index", "skills", "--index-dir", "index", "--wait").code == 0
    return hermetic / "index"


def _wait_until_equal(index: Path, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not lance_table.equals_index(index) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert lance_table.equals_index(index)


def _stale(index: Path) -> str:
    with Index(index) as opened:
        return find_stale_rows(opened)


def test_a_process_aside_brings_the_table_up_to_date_once_an_hour(
    index, capdisc, process, write_skill, monkeypatch
) -> None:
    os.utime(index / "table" / "STATE", (time.time() - 3601,) * 2)
    write_skill(index.parent / "skills", "boil-egg", "Cooks noodles. Use when asked.")
    assert process("index", "skills", "--index-dir", "index").code == 0
    _wait_until_equal(index)
    assert _stale(index) == ""
    assert capdisc("status", "--index-dir", "index", "--json").json["table"]["state"] == "equal"

    def refuse(*_: object) -> None:
        raise AssertionError("a process was started")

    monkeypatch.setattr("capdisc.context.housekeeping.start_process", refuse)
    write_skill(index.parent / "skills", "boil-egg", "Boils rice. Use when asked.")
    assert capdisc("index", "skills", "--index-dir", "index").code == 0
    assert not lance_table.equals_index(index)


def test_a_first_typed_build_leaves_the_table_to_the_background(
    hermetic, process, write_skill, monkeypatch
) -> None:
    monkeypatch.setenv("CAPDISC_TABLE", "aside")
    write_skill(hermetic / "skills", "boil-egg", "Boils an egg. Use for eggs.")
    assert process("index", "skills", "--index-dir", "index").err == ""
    _wait_until_equal(hermetic / "index")


def test_one_figure_of_size(index, capdisc) -> None:
    du = subprocess.run(["du", "-sk", index], capture_output=True, text=True, check=True)
    size = f"{1024 * int(du.stdout.split()[0]) / 1e6:.1f} MB"
    assert f"size        {size}\n" in capdisc("status", "--index-dir", "index").out
    assert f"{size} used" in capdisc("doctor", "--all", "--index-dir", "index").out


def test_the_table_of_long_bodies_is_no_larger_than_the_rest(hermetic, capdisc, write_skill):
    rng = random.Random(1)
    words = [
        "".join(rng.choices("abcdefghijklmnoprstuvw", k=rng.randint(3, 9))) for _ in range(900)
    ]
    for number in range(120):
        sections = [
            f"# {rng.choice(words)}\n\n{' '.join(rng.choices(words, k=120))}." for _ in range(10)
        ]
        write_skill(hermetic / "skills", f"skill-{number}", "Does it.", "\n\n".join(sections))
    assert capdisc("index", "skills", "--index-dir", "index", "--wait", "-q").code == 0
    sizes = [measure_folder(hermetic / "index" / name).bytes for name in ("table", "gens")]
    assert sizes[0] < 1.1 * sizes[1]


def test_a_finisher_that_is_killed_loses_nothing(index, process, write_skill) -> None:
    """R1 for the table: whenever it is killed, the next one leaves no stale row."""
    delays = [0.2, 0.8, 1.2, 1.6]
    for turn, delay in enumerate(delays):
        write_skill(index.parent / "skills", f"turn-{turn}", f"Handles turn {turn}.")
        result = process("index", "skills", "--index-dir", "index", env={"CAPDISC_TABLE": "off"})
        assert result.code == 0
        child = start_process("capdisc.context.housekeeping", [str(index), ""])
        time.sleep(delay)
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        assert process("search", "boil an egg", "--index-dir", "index").code == 0
    result = process("index", "skills", "--index-dir", "index", "--wait")
    assert (result.code, _stale(index)) == (0, "")


def test_an_index_that_was_removed_does_not_come_back(index, capdisc, monkeypatch) -> None:
    """A build on a small disk once found the table of an index that was gone, and refused."""
    monkeypatch.setenv("CAPDISC_TABLE", "off")
    shutil.rmtree(index)
    assert start_process("capdisc.context.housekeeping", [str(index), ""]).wait() == 0
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


def test_the_example_of_the_page_prints_what_it_says(hermetic, process) -> None:
    catalogue = REPOSITORY / "fixtures" / "catalogs" / "office"
    result = process("index", str(catalogue), "--index-dir", "index", "--wait")
    assert result.code == 0
    page = (REPOSITORY / "docs" / "internals" / "lancedb.md").read_text()
    (block,) = re.findall(r"^```python\n(.*?)^```$", page, re.S | re.M)
    done = subprocess.run(
        [sys.executable, "-c", block], capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines() == re.findall(r"# prints (.*)", block), done.stderr
