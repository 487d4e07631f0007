"""capdisc learn: counts and vectors of uses from transcripts, and no text."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from capdisc.hook.use_memory import load_use_memory
from capdisc_indexer.encoders import load_shipped_encoder
from capdisc_sessions import transcripts

SECRET = "marmalade"
STARTED_AT = "2026-11-20T10:00:00.000Z"


def call(tool: str, number: int = 0, **arguments: object) -> dict[str, object]:
    """A call of a tool, as Claude Code writes it."""
    block = {"type": "tool_use", "id": f"toolu_{tool}_{number}", "name": tool, "input": arguments}
    message = {"role": "assistant", "content": [{"type": "text", "text": "Sure."}, block]}
    return {"type": "assistant", "message": message, "timestamp": STARTED_AT}


def read_lines(name: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in Path(__file__).with_name(name).read_text().splitlines()]


# Turns, uses, and lines that are neither, as the two clients write them.
SESSION, ROLLOUT = read_lines("claude_session.jsonl"), read_lines("codex_rollout.jsonl")


@pytest.fixture
def home() -> Path:
    return Path.home()


@pytest.fixture
def write(home) -> Callable[..., Path]:
    """Write a transcript: `write(SESSION)`, `write(ROLLOUT, ".codex/sessions/2026/r.jsonl")`."""

    def write_lines(lines: object, name: str = ".claude/projects/-home-me/s.jsonl") -> Path:
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        return path

    return write_lines


def memory(home: Path) -> dict[str, int]:
    records = load_use_memory(home / ".local" / "state" / "capdisc").records
    return {name: record.used for name, record in records.items()}


def test_learning_keeps_counts_and_vectors_of_the_turns_before_and_no_text(
    capdisc, home, write
) -> None:
    write(SESSION)
    assert capdisc("learn", "--yes").code == 0
    state = home / ".local" / "state" / "capdisc"
    found = load_use_memory(state)
    encode = load_shipped_encoder().encode_query
    first, second = f"why does the {SECRET} test fail", "look at the traceback again"
    assert found.records["systematic-debugging"].vectors == (encode(first),)
    assert found.records["read-traces"].vectors == (encode(first), encode(second))
    assert found.encoder == load_shipped_encoder().fingerprint
    assert all(
        SECRET.encode() not in path.read_bytes() for path in state.rglob("*") if path.is_file()
    )


def test_broken_lines_are_counted_and_long_ones_skipped(capdisc, write, monkeypatch) -> None:
    path = write(SESSION)
    monkeypatch.setattr(transcripts, "MAX_LINE_BYTES", 5_000)
    long_line = json.dumps({"message": {"role": "user", "content": "x" * 20_000}}).encode()
    path.write_bytes(b'{"type": \n[1]\n\n' + long_line + b"\n" + path.read_bytes())
    done = capdisc("learn", "--dry-run")
    assert done.out.startswith("2 turns, 4 uses of 4 skills\n")
    assert "skipped 2 lines: no JSON object" in done.err
    assert "skipped 1 line: longer than 4 MB" in done.err


def test_what_is_beyond_the_limits_is_left_out_and_said(capdisc, write, monkeypatch) -> None:
    old = write(ROLLOUT, ".codex/sessions/r.jsonl")
    os.utime(old, (1, 1))
    path = write(SESSION)
    monkeypatch.setattr(transcripts, "MAX_TOTAL_BYTES", path.stat().st_size)
    done = capdisc("learn", "--dry-run")
    assert done.out.startswith("2 turns, 4 uses of 4 skills\n")
    assert "left out 1 older transcript: beyond 200 MB" in done.err
    monkeypatch.setattr(transcripts, "TIME_LIMIT_S", 0.0)
    done = capdisc("learn", "--dry-run")
    assert done.out.startswith("0 turns, 0 uses") and "left out 2 older transcripts" in done.err


def test_a_hostile_folder_of_transcripts_harms_nothing(capdisc, home, write, tmp_path) -> None:
    path = write(SESSION)
    folder = path.parent
    os.mkfifo(folder / "pipe.jsonl")
    (tmp_path / "elsewhere.jsonl").write_text(json.dumps(call("Skill", skill="elsewhere")) + "\n")
    (folder / "link.jsonl").symlink_to(tmp_path / "elsewhere.jsonl")
    (folder / "round").symlink_to(folder)
    (folder / "folder.jsonl").mkdir()
    depth = sys.getrecursionlimit() // 2
    nested = "[" * depth + "]" * depth
    names = ["../../etc/passwd", "a b", "x" * 101, "\x1b[31mred", "", "\ud800", "/", "a/b"]
    lines = [
        b"\0" * 4_096,
        b"[" * 100_000,
        b'{"message": {"role": "user", "content": "' + b"\\u0000\\ud800" * 9 + b'"}}',
        *(json.dumps(call("Skill", number=9, skill=name)).encode() for name in names),
        b'{"message": {"content": [{"type": "tool_use", "name": "Skill", "input": %b}]}}'
        % nested.encode(),
        b'{"timestamp": %b, "uuid": %b, "message": {"role": "user", "content": '
        b'"<command-message>x</command-message><command-name>/hostile</command-name>"}}'
        % (nested.encode(), nested.encode()),
        b'{"message": {"content": {"a": 1}, "type": []}, "timestamp": "9999-99"}',
        b'{"payload": {"type": "function_call", "name": ["x"], "arguments": "{", "call_id": {}}}',
        b'{"payload": {"type": "user_message", "message": {"a": 1}}}',
        b'{"message": {"role": "user", "content": [1, null, "x", {"type": "text", "text": 5}]}}',
        b"\xff\xfe",
        b"1e999999",
    ]
    (folder / "hostile.jsonl").write_bytes(b"\n".join(lines))
    done = capdisc("learn", "--yes")
    assert done.code == 0 and "Traceback" not in done.err
    assert sorted(memory(home)) == [
        "create_issue",
        "deploy",
        "hostile",
        "read-traces",
        "systematic-debugging",
    ]
