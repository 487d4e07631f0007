"""capdisc mcp answers what a client asks when it starts before it loads what takes long."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, LATEST_HANDSHAKE_VERSION

from mcp_sessions import ENOUGH, start_server

BEGUN = {"jsonrpc": "2.0", "method": "notifications/initialized"}
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"


def request(number: int, method: str, **params) -> dict:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def initialize(version: str = LATEST_HANDSHAKE_VERSION) -> dict:
    client = {"name": "t", "version": "1"}
    return request(1, "initialize", protocolVersion=version, capabilities={}, clientInfo=client)


def talk(*steps: list[dict | str], flags: tuple[str, ...] = ()) -> tuple[dict[int, dict], str]:
    """The answers by their ids, each step sent once those before it are answered; and stderr."""
    answers: dict[int, dict] = {}
    with start_server(*flags) as server:
        try:
            for step in steps:
                lines = [line if isinstance(line, str) else json.dumps(line) for line in step]
                server.stdin.write("".join(f"{line}\n" for line in lines).encode())
                server.stdin.flush()
                for _ in [line for line in step if isinstance(line, dict) and "id" in line]:
                    answer = json.loads(server.stdout.readline())
                    assert answer["id"] not in answers
                    answers[answer["id"]] = answer
            rest, errors = server.communicate(timeout=ENOUGH)
        finally:
            server.kill()
    assert rest == b""
    return answers, errors.decode()


OPENING = ([initialize()], [BEGUN, request(2, "tools/list")])


NEWEST = LATEST_HANDSHAKE_VERSION


@pytest.mark.parametrize(
    ("version", "flags"),
    [
        *((version, ()) for version in (*HANDSHAKE_PROTOCOL_VERSIONS, "2099-01-01")),
        (NEWEST, ("--allow-run",)),
        (NEWEST, ("--gateway",)),
        (NEWEST, ("--tools", "search_tool")),
    ],
)
def test_the_first_answers_are_those_of_the_sdk(hermetic, version: str, flags) -> None:
    first, _ = talk([initialize(version)], [BEGUN, request(2, "tools/list")], flags=flags)
    # A client that begins with another request is answered by the SDK.
    later, _ = talk(
        [request(9, "ping")], [initialize(version), BEGUN, request(2, "tools/list")], flags=flags
    )
    assert first == {number: later[number] for number in (1, 2)}
    known = version in HANDSHAKE_PROTOCOL_VERSIONS
    assert first[1]["result"]["protocolVersion"] == (version if known else NEWEST)


def test_tools_are_listed_before_the_sdk_numpy_or_an_index_are_loaded(
    hermetic: Path, index_dir: Path, monkeypatch
) -> None:
    for name in ("mcp", "numpy", "tantivy", "simsimd"):
        (hermetic / "broken" / name).mkdir(parents=True)
        (hermetic / "broken" / name / "__init__.py").write_text("raise ImportError('too early')")
    index_dir.mkdir(parents=True)
    (index_dir / "CURRENT").write_text("no index\n")
    paths = [str(hermetic / "broken"), *(path for path in sys.path if path)]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    answers, _ = talk(*OPENING)
    assert len(answers[2]["result"]["tools"]) == 2
    # Whatever else is asked needs the SDK, which really cannot be loaded.
    with start_server() as server:
        _, errors = server.communicate(f"{json.dumps(request(9, 'ping'))}\n".encode(), ENOUGH)
    assert b"the library mcp cannot be loaded: too early" in errors
    assert [path.name for path in index_dir.iterdir()] == ["CURRENT"]


def test_no_index_is_built_before_a_call(hermetic: Path, index_dir: Path, write_skill) -> None:
    write_skill(hermetic / ".claude" / "skills", "boat", "Folds paper boats. Use for boats.")
    assert talk(*OPENING)[0].keys() == {1, 2}
    assert not index_dir.exists()


def test_after_the_first_answers_the_session_goes_on(catalogue) -> None:
    call = request(3, "tools/call", name="search_capabilities", arguments={"query": "join PDFs"})
    answers, _ = talk(*OPENING, [call], [request(4, "tools/list")])
    assert "skill:merge-pdfs" in answers[3]["result"]["content"][0]["text"]
    assert answers[4]["result"] == answers[2]["result"]


@pytest.mark.parametrize(
    "steps",
    [
        # At once, in another order, with nonsense between, and with a pause after the first one.
        [[initialize(), BEGUN, request(2, "tools/list"), request(3, "prompts/list")]],
        [[initialize()], [BEGUN, request(3, "prompts/list"), request(2, "tools/list")]],
        [[initialize(), "no json", BEGUN, request(3, "prompts/list"), request(2, "tools/list")]],
        [
            ["x" * 3_000_000, initialize()],
            [request(3, "prompts/list")],
            [request(2, "tools/list")],
        ],
        [[initialize()], [BEGUN, request(3, "prompts/list")], [request(2, "tools/list")]],
    ],
)
def test_every_request_is_answered_once_whatever_its_order(hermetic, steps) -> None:
    answers, _ = talk(*steps)
    assert answers.keys() == {1, 2, 3}
    assert [tool["name"] for tool in answers[2]["result"]["tools"]] == [
        "search_capabilities",
        "read_capability",
    ]
    assert answers[3]["result"]["prompts"][0]["name"] == "find-capabilities"


def test_requests_of_the_newer_protocol_are_refused_after_the_older_handshake(hermetic) -> None:
    meta = {VERSION_KEY: "2026-07-28"}
    answers, _ = talk([initialize()], [BEGUN, request(2, "tools/list", _meta=meta)])
    assert "handshake" in answers[2]["error"]["message"]


@pytest.mark.parametrize("stdin", ["<&-", "</dev/null", "<opening"])
def test_the_end_of_stdin_ends_it_quietly(hermetic: Path, stdin: str) -> None:
    (hermetic / "opening").write_text(json.dumps(BEGUN) + "\n")
    command = f'exec "$0" -m capdisc mcp {stdin}'
    done = subprocess.run(
        ["sh", "-c", command, sys.executable], capture_output=True, timeout=ENOUGH, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.parametrize("flags", [("--allow-run",), ("--allow-run", "--tools", "all")])
def test_what_a_client_reads_at_its_start_is_short_and_says_when_to_search(catalogue, flags):
    """Claude Code cuts instructions and descriptions at 2 KB."""
    answers, _ = talk(*OPENING, flags=flags)
    instructions = answers[1]["result"]["instructions"]
    tools = {tool["name"]: tool["description"] for tool in answers[2]["result"]["tools"]}
    assert all(len(text.encode()) < 2_000 for text in (instructions, *tools.values()))
    assert "Before a task, and when you lack a tool" in instructions
    assert "search_capabilities" in instructions
    assert "Call it before you begin a task" in tools["search_capabilities"]
