"""`capdisc hook` after a tool was used: it prints nothing, and counts what was used."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from capdisc.hook import client_session, use_memory
from capdisc.hook.client_session import ClientSession
from capdisc.hook.use_memory import UseMemory, UseRecord, load_use_memory
from capdisc_indexer.encoders import shipped_fingerprint

VECTORS = (b"\1" * 192, b"\2" * 192, b"\3" * 192)


@pytest.fixture
def state() -> Path:
    return Path.home() / ".local" / "state" / "capdisc"


@pytest.fixture
def used(capdisc, state) -> Callable[..., list[str]]:
    """The names that are remembered as used after this event of a client."""

    def run(client: str, **fields: object) -> list[str]:
        done = capdisc("hook", client, stdin=json.dumps({"session_id": "s", **fields}))
        assert (done.code, done.out) == (0, "")
        return [name for name, record in load_use_memory(state).records.items() if record.used]

    return run


def test_a_use_loads_no_index_and_no_encoder(process, hermetic) -> None:
    script = hermetic / "sitecustomize.py"
    script.write_text(
        "import os, sys\n"
        "exit = os._exit\n"
        "def leave(code):\n"
        "    open('loaded', 'a').write(' '.join([*sys.modules, '']))\n"
        "    exit(code)\n"
        "os._exit = leave\n"
    )
    event = {
        "hook_event_name": "PostToolUse",
        "tool_name": "Skill",
        "tool_input": {"skill": "pdf"},
    }
    done = process("hook", "claude", stdin=json.dumps(event), env={"PYTHONPATH": str(hermetic)})
    assert (done.code, done.out, done.err) == (0, "", "")
    loaded = (hermetic / "loaded").read_text().split()
    assert "capdisc.hook.use_memory" in loaded
    assert not {"numpy", "capdisc_indexer.encoders.static_encoder"} & set(loaded)
    assert "capdisc.context.open_index" not in loaded


def test_json_for_programs_remembers_nothing(capdisc, state) -> None:
    event = {
        "hook_event_name": "PostToolUse",
        "tool_name": "Skill",
        "tool_input": {"skill": "pdf"},
    }
    done = capdisc("hook", "claude", "--json", stdin=json.dumps(event))
    assert done.json["capabilities"] == [] and not use_memory.memory_path(state).exists()


# The memory.


def test_the_vectors_of_the_session_are_kept_with_the_use(used, state, monkeypatch) -> None:
    session = ClientSession(recent_vectors=VECTORS, encoder=shipped_fingerprint())
    monkeypatch.setattr(client_session, "read_session", lambda *_: session)
    event = {
        "hook_event_name": "PostToolUse",
        "tool_name": "Skill",
        "tool_input": {"skill": "pdf"},
    }
    assert used("claude", **event) == used("claude", **event) == ["pdf"]
    record = load_use_memory(state).records["pdf"]
    assert (record.used, record.vectors) == (2, VECTORS)


def test_offers_and_uses_are_counted(state) -> None:
    use_memory.record_offer(state, ["PDF", "docx"])
    use_memory.record_offer(state, ["pdf"])
    use_memory.record_use(state, "Pdf", VECTORS * 2 + (bytes(192),), shipped_fingerprint(), 3.0)
    assert load_use_memory(state).records == {
        "docx": UseRecord(offered=1),
        "pdf": UseRecord(offered=2, used=1, last_used=3.0, vectors=VECTORS),
    }


def test_the_memory_has_an_end(state) -> None:
    many = {
        f"name-{number}": UseRecord(used=1, last_used=float(number))
        for number in range(use_memory.MAX_CAPABILITIES + 5)
    }
    use_memory.merge_uses(state, many, shipped_fingerprint())
    records = load_use_memory(state).records
    assert len(records) == use_memory.MAX_CAPABILITIES
    assert "name-4" not in records and "name-5" in records
    for number in range(20):
        vector = bytes([number + 1]) * 192
        use_memory.record_use(state, "name-9", [vector], shipped_fingerprint(), 1e9)
    vectors = load_use_memory(state).records["name-9"].vectors
    assert [vector[0] for vector in vectors] == list(range(13, 21))


def test_vectors_of_another_encoder_go_and_counts_stay(state) -> None:
    use_memory.record_use(state, "pdf", VECTORS, "another", 1.0)
    assert load_use_memory(state) == UseMemory(records={"pdf": UseRecord(used=1, last_used=1.0)})
    use_memory.record_use(state, "docx", VECTORS, shipped_fingerprint(), 2.0)
    records = load_use_memory(state).records
    assert (records["pdf"].vectors, records["docx"].vectors) == ((), VECTORS)


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"[]", b"null", b'{"records": 1}', b"\xff", b'{"records": {"a": 1}}',
     b"[" * 100_000,
     b'{"encoder": "", "vector_bytes": 3, "records": {"a": {"vectors": "0102"}}}',
     b'{"encoder": "", "vector_bytes": "x", "records": {"a": {"vectors": "0102"}}}',
     b'{"encoder": "", "vector_bytes": 1, "records": {"a": {"vectors": "01", "b": 1}}}'],
)  # fmt: skip
def test_a_damaged_memory_is_an_empty_one(state, data) -> None:
    use_memory.record_offer(state, ["pdf"])
    use_memory.memory_path(state).write_bytes(data)
    assert load_use_memory(state) == UseMemory()
    use_memory.record_offer(state, ["pdf"])
    assert load_use_memory(state).records["pdf"].offered == 1
    assert os.stat(use_memory.memory_path(state)).st_mode & 0o077 == 0


def test_sessions_that_end_leave_the_memory_alone(state, monkeypatch) -> None:
    use_memory.record_offer(state, ["pdf"])
    os.utime(use_memory.memory_path(state), (1, 1))
    client_session.record_turn(state, "claude", "s", None, {"skill:pdf": ("1", 0.6)})
    assert load_use_memory(state).records


# What comes of it.

PROMPT = "join two PDF files into one"


def say(capdisc, prompt: str, session: str) -> str:
    event = {"hook_event_name": "UserPromptSubmit", "prompt": prompt, "session_id": session}
    return capdisc("hook", "claude", "--no-build", stdin=json.dumps(event)).out


def use(capdisc, skill: str, session: str) -> None:
    event = {
        "hook_event_name": "PostToolUse", "session_id": session, "tool_name": "Skill",
        "tool_input": {"skill": skill},
    }  # fmt: skip
    assert capdisc("hook", "claude", stdin=json.dumps(event)).out == ""


def test_what_the_agent_used_by_itself_is_not_offered_again(capdisc, small) -> None:
    use(capdisc, "merge-pdfs", "one")
    assert "merge-pdfs" not in say(capdisc, PROMPT, "one")
    assert "merge-pdfs" in say(capdisc, PROMPT, "two")


def test_the_turns_before_a_use_are_kept_as_vectors_and_not_as_text(capdisc, small, state) -> None:
    say(capdisc, "the quarterly heron report needs a cover page", "one")
    use(capdisc, "merge-pdfs", "one")
    record = load_use_memory(state).records["merge-pdfs"]
    assert record.used == 1 and len(record.vectors) == 1
    assert not any(b"heron" in path.read_bytes() for path in state.rglob("*") if path.is_file())


def test_the_audit_ends_with_the_week_of_the_hook(capdisc, small) -> None:
    assert capdisc("audit", "--json").json["hook_week"] is None
    say(capdisc, PROMPT, "one")
    say(capdisc, "go on", "one")
    use(capdisc, "merge-pdfs", "one")
    week = capdisc("audit", "--json").json["hook_week"]
    assert (week["prompts"], week["used"]) == (2, 1)
    assert week["suggestions"] == week["used"] + week["ignored"]
    assert "merge-pdfs" not in week["never_used"] and week["never_used"]
    report = capdisc("audit").out
    assert "capdisc hook, the last seven days" in report and "2 prompts, " in report
