"""The judge of the hostile folders is worth nothing unless it tells what is wrong."""

from __future__ import annotations

import os
import socket
from dataclasses import replace
from pathlib import Path

import pytest

from case_rows import read_rows
from hostile.batch import verdicts
from hostile.case import Case, rejected, warned
from hostile.guard import GUARD
from hostile.judge import faults, said_faults
from hostile.streams import Said
from hostile.trial import Trial
from hostile.writing import ENV_CANARY, fields, manifest

CASE, BESIDE = warned("some-case", "a-code", manifest(fields())), "beside-some-case"


def trial(case: Case = CASE, **parts: object) -> Trial:
    """A trial without fault, but for these parts."""
    neighbour = {"id": f"tool:{BESIDE}", "name": BESIDE, "path": f"/x/{BESIDE}/CAPABILITY.yaml"}
    own = {
        "id": "tool:turnip-puller",
        "name": "turnip-puller",
        "path": "/x/turnip-puller/CAPABILITY.yaml",
    }
    finding = {
        "code": "a-code",
        "severity": "warning",
        "message": "m",
        "hint": "h",
        "path": own["path"],
    }
    given = Trial(
        case=case, root=Path("/x"), said=(), findings=(finding,), capabilities=(neighbour, own), touched=(),
        index_bytes=b"", seconds=0.1, mebibytes=10,
    )  # fmt: skip
    return replace(given, **parts)


def said(**parts: object) -> Said:
    return replace(
        Said(label="show", argv=("show",), status=0, out="", err="", on_terminal=False), **parts
    )  # fmt: skip


def test_a_trial_without_fault_passes() -> None:
    assert faults(trial()) == []


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        ({"findings": ()}, "no warning"),
        ({"capabilities": ()}, "the neighbour is not indexed"),
        ({"touched": ("changed: /x",)}, "changed: /x"),
        ({"seconds": 900.0}, "took 900.0 s of processor time"),
        ({"mebibytes": 500.0}, "took 500 MiB"),
        ({"index_bytes": b".." + ENV_CANARY.encode()}, f"the index holds {ENV_CANARY}"),
        ({"case": rejected("some-case", "a-code", CASE.write)}, "indexed: tool:turnip-puller"),
        ({"case": replace(CASE, kind="accepted")}, "a warning: a-code (m)"),
        ({"case": replace(CASE, codes=("other",))}, "none of other; found: a-code"),
        (
            {"case": replace(CASE, absent=("turnip",))},
            "indexed: tool:turnip-puller of /turnip-puller/CAPABILITY.yaml",
        ),
    ],
)
def test_each_fault_of_a_trial_is_told(parts, told) -> None:
    assert told in faults(trial(**parts))


@pytest.mark.parametrize(
    ("parts", "told"),
    read_rows(__file__, "each_fault_of_an_output_is_told"),
)
def test_each_fault_of_an_output_is_told(parts, told) -> None:
    assert told in list(said_faults(trial(), said(**parts)))


def test_our_own_colours_may_stand_on_a_terminal() -> None:
    assert list(said_faults(trial(), said(out="\x1b[1mname\x1b[0m", on_terminal=True))) == []


def test_a_process_that_is_killed_costs_one_case_only(tmp_path, monkeypatch) -> None:
    killer = tmp_path / "code" / "sitecustomize.py"
    killer.parent.mkdir()
    killer.write_text(
        "import os, sys\n"
        "if 'yaml-empty-file' in sys.argv[2:3]:\n"
        "    import threading, time\n"
        "    def kill():\n"
        "        while not os.path.exists(sys.argv[1] + '/cases/yaml-empty-file'): time.sleep(0.001)\n"
        "        os.kill(os.getpid(), 11)\n"
        "    threading.Thread(target=kill, daemon=True).start()\n"
    )
    monkeypatch.setenv(
        "PYTHONPATH", f"{killer.parent}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    )
    monkeypatch.setattr("hostile.batch.WORKERS", 1)
    found = verdicts(["yaml-empty-file", "yaml-top-level-list"], tmp_path / "base")
    assert "ended by signal 11" in found["yaml-empty-file"].faults[0]
    assert not found["yaml-top-level-list"].faults


def test_the_guard_notes_connections_programs_and_changes(tmp_path) -> None:
    (tmp_path / "allowed").mkdir()
    GUARD.start((str(tmp_path / "allowed"),))
    (tmp_path / "allowed" / "file").write_text("x")
    (tmp_path / "file").write_text("x")
    with pytest.raises(OSError, match="refused"), socket.socket() as probe:
        probe.connect(("127.0.0.1", 1))
    folder = os.open(tmp_path, os.O_RDONLY)
    os.remove("file", dir_fd=folder)
    os.close(folder)
    noted = GUARD.stop()
    assert [text.split()[1].rstrip(":") for text in noted] == ["change", "connection", "change"]
    (tmp_path / "later").write_text("x")
    assert GUARD.stop() == noted
