"""capdisc mcp --gateway: the tools of other servers, found and called by the SDK's own client."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters, types

SERVER = str(Path(__file__).parents[2] / "gateway_server.py")
ENOUGH = 120
KEPT = ("HOME", "PATH", "PYTHONPATH", "PYTHONPYCACHEPREFIX")
MODES = pytest.mark.parametrize("mode", ["legacy", "auto"])


def entry(folder: Path, **fields: Any) -> dict[str, Any]:
    return {"command": sys.executable, "args": [SERVER, str(folder)], **fields}


@pytest.fixture
def user_file(hermetic: Path) -> Callable[..., Path]:
    """Writes the servers into the user's own file of Claude Code."""

    def write(**servers: Any) -> Path:
        path = Path(os.environ["HOME"]) / ".claude.json"
        path.write_text(json.dumps({"mcpServers": servers}))
        return path

    return write


class Agent:
    """A client of `capdisc mcp --gateway`."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def search(self, query: str) -> str:
        answer = await self.client.call_tool("search_capabilities", {"query": query})
        return answer.content[0].text

    async def run(self, identifier: str, **arguments: Any) -> tuple[bool, str]:
        answer = await self.client.call_tool(
            "run_capability", {"id": identifier, "arguments": arguments}
        )
        return bool(answer.is_error), answer.content[0].text


def talk(
    conversation: Callable[[Agent], Any],
    *flags: str,
    mode: str = "auto",
    answer: str = "",
    **environ: str,
) -> Any:
    questions: list[str] = []

    async def elicit(context: Any, params: Any) -> types.ElicitResult:
        questions.append(params.message)
        return types.ElicitResult(action=answer, content={} if answer == "accept" else None)

    async def session() -> Any:
        names = {name: value for name, value in os.environ.items() if name in KEPT}
        command = StdioServerParameters(
            command=sys.executable,
            args=["-m", "capdisc", "mcp", "--gateway", *flags],
            env={**names, **environ},
        )
        callback = elicit if answer else None
        with anyio.fail_after(ENOUGH):
            async with Client(command, mode=mode, elicitation_callback=callback) as client:
                return await conversation(Agent(client))

    result = anyio.run(session)
    return (result, questions) if answer else result


def test_tools_of_a_server_are_found_called_and_the_server_ends_with_us(
    user_file, hermetic
) -> None:
    user_file(notes=entry(hermetic), gone={"command": "no-such-program"})

    async def conversation(agent: Agent) -> Any:
        found = await agent.search("which number does the process have")
        calls = [await agent.run("tool:notes.tell_pid") for _ in range(2)]
        return found, calls, await agent.run("tool:notes.fail")

    found, calls, failed = talk(conversation)
    assert found.startswith("tool:notes.tell_pid: Tells the number of its process.")
    assert calls[0] == calls[1]
    assert calls[0][0] is False
    pid = int(json.loads(calls[0][1])["content"])
    assert json.loads(failed[1])["content"] == "no such note"
    assert failed[0] is True
    for _ in range(100):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            break
        time.sleep(0.05)
    else:
        pytest.fail("the server outlived capdisc mcp")


async def write_milk(agent: Agent) -> tuple[bool, str]:
    await agent.search("write a note")
    return await agent.run("tool:notes.write_note", text="milk")


def test_a_signal_ends_a_server_that_hangs_and_its_shell(user_file, hermetic) -> None:
    words = f"trap '' TERM HUP; {sys.executable} {SERVER} {hermetic}; sleep 600"
    user_file(notes={"command": "/bin/sh", "args": ["-c", words]})
    environment = {name: value for name, value in os.environ.items() if name in KEPT}
    command = [sys.executable, "-m", "capdisc", "mcp", "--gateway"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, env=environment) as process:

        def request(method: str, **params: Any) -> None:
            message = {"jsonrpc": "2.0", "id": method, "method": method, "params": params}
            process.stdin.write(json.dumps(message).encode() + b"\n")
            process.stdin.flush()

        client = {"name": "test", "version": "1"}
        request("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=client)
        process.stdout.readline()
        for name, arguments in (
            ("search_capabilities", {"query": "number of its process"}),
            ("run_capability", {"id": "tool:notes.hang"}),
        ):
            request("tools/call", name=name, arguments=arguments)
            while name[:3] == "sea" and b'"tools/call"' not in process.stdout.readline():
                pass
        give_up = time.monotonic() + 60
        while len(pids := (hermetic / "started").read_text().split()) < 2:
            assert time.monotonic() < give_up, "the server did not start"
            time.sleep(0.1)
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 143
    for pid in map(int, pids):
        with pytest.raises(ProcessLookupError):
            for _ in range(100):
                os.kill(pid, 0)
                time.sleep(0.05)


@MODES
def test_the_user_is_asked_before_a_tool_writes(user_file, hermetic, mode) -> None:
    user_file(notes=entry(hermetic))
    (is_error, text), questions = talk(write_milk, mode=mode, answer="decline")
    assert (is_error, len(questions)) == (True, 1)
    assert "the user said no" in text
    (is_error, text), questions = talk(write_milk, mode=mode, answer="accept")
    assert (is_error, len(questions)) == (False, 1)
    assert "milk" in questions[0]


def test_a_tool_that_writes_is_approved_by_its_name(user_file, hermetic, capdisc) -> None:
    user_file(notes=entry(hermetic))
    is_error, text = talk(write_milk)
    assert is_error
    assert "hint: let the user do it at a terminal: capdisc trust tool:notes.write_note" in text
    shown = capdisc("trust", "tool:notes.write_note")
    assert shown.code == 5
    assert "its server does not say that it only reads" in shown.out
    assert capdisc("trust", "tool:notes.write_note", "--yes").code == 0
    assert [row["tool"] for row in capdisc("trust", "--list", "--json").json["tools"]] == [
        "tool:notes.write_note"
    ]
    is_error, text = talk(write_milk)
    assert not is_error
    assert "milk" in json.loads(text)["content"]
    assert capdisc("trust", "--revoke", "tool:notes.*").out == (
        "no longer approved: tool:notes.write_note\n"
    )
    assert talk(write_milk)[0]


def setup_lines(answers: list[str], *words: str) -> tuple[int, str]:
    return terminal_lines(answers, "setup", *words)


def terminal_lines(answers: list[str], *words: str) -> tuple[int, str]:
    """A command at a terminal, with an answer to each question; the status and all output."""
    pid, controller = pty.fork()
    if pid == 0:
        os.execv(sys.executable, [sys.executable, "-m", "capdisc", *words])
    shown, start = "", 0
    while True:
        try:
            shown += os.read(controller, 4096).decode()
        except OSError:  # as Linux says that the other end is closed
            break
        if answers and shown[start:].rstrip().endswith("]"):
            start = len(shown)
            time.sleep(0.3)  # what was typed before the question was shown does not count
            os.write(controller, f"{answers.pop(0)}\n".encode())
    os.close(controller)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), shown


@pytest.fixture
def asked(user_file, hermetic: Path, capdisc: Any) -> None:
    """The index has the tools of a server that the user's file of Claude Code names."""
    user_file(notes=entry(hermetic, env={"API_TOKEN": "hush-0123456789"}))
    assert capdisc("index", "--ask-servers").code == 0


def test_a_tool_that_only_reads_is_run_without_a_question(asked, capdisc) -> None:
    done = capdisc("run", "tool:notes.tell_secret")
    assert (done.code, done.out) == (0, "it is <secret API_TOKEN> in None\n")
    failed = capdisc("run", "tool:notes.fail", "--json")
    assert failed.json["status"] == "failed" and failed.code != 0
    assert failed.json["stdout"].strip() == "no such note"


def test_a_run_of_a_server_s_tool_keeps_to_its_limits(asked, capdisc) -> None:
    done = capdisc("run", "tool:notes.hang", "--timeout", "1s")
    assert done.code == 124 and "did not end within 1 s" in done.err
    done = capdisc("run", "tool:notes.flood", "--max-output", "8")
    assert done.code == 124 and "printed more than 8 KiB" in done.err


def test_a_tool_that_writes_is_run_once_somebody_says_yes(asked, capdisc, hermetic) -> None:
    words = ("run", "tool:notes.write_note", '{"text": "milk"}')
    (hermetic / "started").unlink()
    refused = capdisc(*words)
    assert refused.code == 5 and refused.out == ""
    assert "its server does not say that it only reads" in refused.err
    assert "capdisc trust tool:notes.write_note" in refused.err and "--yes" in refused.err
    shown = capdisc(*words, "--dry-run", "--json").json
    assert shown["asks"] and shown["call"]["arguments"] == {"text": "milk"}
    assert '"name": "write_note"' in capdisc(*words, "--dry-run").out
    assert not (hermetic / "started").exists()
    assert capdisc(*words, "--yes").out == 'write_note: {"text": "milk"}\n'
    assert approved(capdisc) == []
    assert capdisc("trust", "tool:notes.write_note", "--yes").code == 0
    assert "milk" in capdisc(*words).out
    wrong = capdisc("run", "tool:notes.write_note", '{"txt": "milk"}', "--yes")
    assert wrong.code == 2 and "text" in wrong.err


def test_any_at_the_terminal_approves_the_tool(asked, capdisc) -> None:
    words = ["tool:notes.write_note", '{"text": "milk"}']
    code, shown = terminal_lines(["n"], "run", *words)
    assert code == 5 and "was not called" in shown
    code, shown = terminal_lines(["any"], "run", *words)
    assert code == 0 and 'write_note: {"text": "milk"}' in shown
    assert approved(capdisc) == ["tool:notes.write_note"]


def test_a_tool_of_a_server_that_waits_for_trust_is_not_run(hermetic, capdisc, user_file) -> None:
    path = hermetic / ".mcp.json"
    path.write_text(json.dumps({"mcpServers": {"near": entry(hermetic)}}))
    assert capdisc("trust", "--yes").code == 0
    assert capdisc("index", "--ask-servers").code == 0
    assert capdisc("run", "tool:near.tell_pid").code == 0
    (hermetic / "started").unlink()
    path.write_text(path.read_text().replace(SERVER, f"{SERVER}x"))
    refused = capdisc("run", "tool:near.tell_pid", "--yes", "--fresh", "off")
    assert refused.code == 5 and "waits for your trust" in refused.err
    path.unlink()
    refused = capdisc("run", "tool:near.tell_pid", "--yes", "--fresh", "off")
    assert refused.code == 5 and "in no file of a client any more" in refused.err
    assert not (hermetic / "started").exists()


def approved(capdisc: Any) -> list[str]:
    return [row["tool"] for row in capdisc("trust", "--list", "--json").json["tools"]]


def test_setup_lists_what_writes_and_approves_what_a_person_names(
    user_file, hermetic, capdisc
) -> None:
    path = user_file(notes=entry(hermetic))
    before = path.read_bytes()
    code, shown = setup_lines(
        ["n", "no_such", "2 notes.drop*", "y"], "claude", "--mcp", "--gateway"
    )
    assert code == 0
    assert "only read, so called without a question: tell_pid" in shown
    assert "   2  notes.write_note: Writes a note." in shown
    assert "notes.drop_notes: Deletes all notes. (it may destroy something)" in shown
    assert "there is no tool no_such" in shown
    assert "Write this file and approve 2 tools? [y/N]" in shown
    assert approved(capdisc) == ["tool:notes.write_note", "tool:notes.drop_notes"]
    server = json.loads(path.read_text())["mcpServers"]["capdisc"]
    assert server["args"] == ["mcp", "--gateway"]
    is_error, text = talk(write_milk)
    assert not is_error and "milk" in json.loads(text)["content"]
    code, shown = setup_lines(["y"], "claude", "--undo")
    assert code == 0 and "no longer approved: tool:notes.write_note" in shown
    assert approved(capdisc) == []
    assert path.read_bytes() == before


def test_setup_takes_back_only_what_it_was_given(user_file, hermetic, capdisc) -> None:
    user_file(notes=entry(hermetic))
    words = ("setup", "claude", "--mcp", "--gateway", "--yes", "--approve")
    assert capdisc(*words, "notes.die_writing").code == 0
    assert capdisc("trust", "tool:notes.write_note", "--yes").code == 0
    assert capdisc(*words, "tool:NOTES.*").code == 0
    assert len(approved(capdisc)) == 3
    # The same approvals for another client stay as long as it has the gateway.
    codex = ("setup", "codex", "--gateway", "--yes")
    document = capdisc(*codex, "--approve", "write_note", "--json").json
    assert document["gateway"]["approve"] == []
    assert document["gateway"]["servers"][0]["tools"]["asked"] == []
    undone = capdisc("setup", "claude", "--undo", "--yes")
    assert undone.out.count("no longer approved") == 2
    assert approved(capdisc) == ["tool:notes.write_note"]
    assert "nothing to do" in capdisc("setup", "claude", "--undo", "--yes").out


def test_other_servers_move_behind_the_gateway_and_back(user_file, hermetic, capdisc) -> None:
    notes = entry(hermetic, env={"PLACE": "${NO_SUCH:-x}"}, timeout=5000)
    path = user_file(notes=notes)
    before = path.read_bytes()
    own = Path(os.environ["HOME"]) / ".config/capdisc/mcp.json"
    words = ("setup", "claude", "--mcp", "--gateway", "--approve", "notes.*", "--yes")
    done = capdisc(*words, "--move")
    assert done.code == 0 and "itself starts" not in done.err
    assert list(json.loads(path.read_text())["mcpServers"]) == ["capdisc"]
    assert json.loads(own.read_text())["mcpServers"] == {"notes": notes}
    assert own.stat().st_mode & 0o077 == 0  # entries may hold tokens

    async def conversation(agent: Agent) -> Any:
        return await agent.run("tool:notes.write_note", text="milk")

    # What was approved is approved still.
    assert talk(conversation)[0] is False
    assert capdisc("setup", "claude", "--mcp", "--gateway", "--move", "--yes").code == 0
    assert capdisc("setup", "claude", "--undo", "--yes").code == 0
    assert path.read_bytes() == before and not own.exists()


def test_a_server_that_was_edited_is_put_back_beside_what_came_since(
    user_file, hermetic, capdisc
) -> None:
    path = user_file(notes=entry(hermetic))
    words = ("setup", "claude", "--mcp", "--gateway", "--move", "--yes")
    assert capdisc(*words).code == 0
    state = json.loads(path.read_text())
    state["mcpServers"]["later"] = {"command": "x"}
    path.write_text(json.dumps({**state, "theme": "dark"}))
    assert capdisc("setup", "claude", "--undo", "--yes").code == 0
    servers = {"later": {"command": "x"}, "notes": entry(hermetic)}
    assert json.loads(path.read_text()) == {"mcpServers": servers, "theme": "dark"}


def test_a_moved_server_is_never_in_neither_file(user_file, hermetic, capdisc) -> None:
    path = user_file(notes=entry(hermetic))
    own = Path(os.environ["HOME"]) / ".config/capdisc/mcp.json"
    words = ("setup", "claude", "--mcp", "--gateway", "--move", "--yes")
    assert capdisc(*words).code == 0
    # Undone for the project alone, and where the client's file is gone, it stays behind the gateway.
    capdisc("setup", "claude", "--undo", "--scope", "project", "--yes")
    assert "notes" in json.loads(own.read_text())["mcpServers"]
    kept = path.read_text()
    path.unlink()
    capdisc("setup", "claude", "--undo", "--yes")
    assert "notes" in json.loads(own.read_text())["mcpServers"]
    # What somebody put back is not replaced by the entry of before.
    own.unlink()
    path.write_text(kept)
    newer = entry(hermetic, env={"TOKEN": "2"})
    state = json.loads(kept)
    path.write_text(json.dumps({"mcpServers": {**state["mcpServers"], "notes": newer}}))
    capdisc("setup", "claude", "--undo", "--yes")
    assert json.loads(path.read_text())["mcpServers"]["notes"] == newer


def test_a_server_whose_entry_names_the_project_stays(user_file, hermetic, capdisc) -> None:
    there = entry(hermetic)
    there["args"] = [*there["args"], "${workspaceFolder}"]
    path = user_file(notes=there)
    assert capdisc("setup", "claude", "--mcp", "--gateway", "--move", "--yes").code == 0
    assert json.loads(path.read_text())["mcpServers"]["notes"] == there
    assert not (Path(os.environ["HOME"]) / ".config/capdisc/mcp.json").exists()


def test_a_person_is_asked_whether_servers_move(user_file, hermetic, capdisc) -> None:
    path = user_file(notes=entry(hermetic))
    code, shown = setup_lines(["y", "", "y"], "claude", "--mcp", "--gateway")
    assert code == 0 and "Claude Code also starts notes itself." in shown, shown
    assert list(json.loads(path.read_text())["mcpServers"]) == ["capdisc"]


def test_nothing_is_approved_without_a_yes(user_file, hermetic, capdisc) -> None:
    path = user_file(notes=entry(hermetic))
    before = path.read_bytes()
    done = capdisc("setup", "claude", "--mcp", "--gateway", "--approve", "notes.*")
    assert done.code == 5 and "approve  notes.write_note" in done.out
    assert (approved(capdisc), path.read_bytes()) == ([], before)
    wrong = capdisc("setup", "claude", "--gateway", "--approve", "notes.wrote", "--yes")
    assert wrong.code == 2 and "notes.write_note" in wrong.err
    assert (approved(capdisc), path.read_bytes()) == ([], before)
    assert capdisc("setup", "claude", "--gateway", "--server", "nots", "--yes").code == 2
    # With --yes nothing is approved that nobody named.
    done = capdisc("setup", "claude", "--gateway", "--yes")
    assert "3 tools not approved" in done.err and approved(capdisc) == []
    assert "Claude Code itself starts notes, too" in done.err


def test_a_server_of_the_workspace_waits_for_trust(hermetic, capdisc, user_file) -> None:
    (hermetic / ".vscode").mkdir()
    (hermetic / ".vscode" / "mcp.json").write_text(
        '{\n // of this project\n "servers": {"near": ' + json.dumps(entry(hermetic)) + ",},\n}\n"
    )

    async def conversation(agent: Agent) -> Any:
        return await agent.search("which number does the process have")

    listed = capdisc("mcp", "--gateway", "--list")
    assert "not served: near" in listed.out
    assert "waits for your trust" in listed.out
    talk(conversation)
    assert not (hermetic / "started").exists()
    asked = capdisc("trust")
    assert asked.code == 5
    assert f"+ server near: {sys.executable}" in asked.out
    assert capdisc("trust", "--yes").code == 0
    assert "tool:near.tell_pid" in talk(conversation)
    (hermetic / "started").unlink()
    text = (hermetic / ".vscode" / "mcp.json").read_text()
    (hermetic / ".vscode" / "mcp.json").write_text(text.replace(str(hermetic), "/elsewhere"))
    assert "waits for your trust" in capdisc("mcp", "--gateway", "--list").out
    talk(conversation)
    assert not (hermetic / "started").exists()


def test_a_changed_program_of_the_workspace_is_not_started(hermetic, capdisc, user_file) -> None:
    """Once an edit of the script, as a pull makes it, was started by whoever had trusted the entry."""
    program, started = hermetic / "notes.py", hermetic / "started"
    program.write_text(Path(SERVER).read_text())
    near = {"command": sys.executable, "args": ["notes.py", str(hermetic)]}
    (hermetic / ".mcp.json").write_text(json.dumps({"mcpServers": {"near": near}}))
    assert capdisc("trust", "--yes").code == 0
    assert capdisc("index", "--ask-servers").code == 0
    assert capdisc("trust", "tool:near.write_note", "--yes").code == 0
    started.unlink()

    async def change_before_the_first_call(agent: Agent) -> tuple[bool, str]:
        program.write_text(program.read_text() + "# evil\n")
        return await agent.run("tool:near.write_note", text="milk")

    failed, text = talk(change_before_the_first_call)
    reason = "its files are not those that you trusted: notes.py; run: capdisc trust"
    assert failed and reason in text
    assert f"is not asked: {reason}" in capdisc("index", "--ask-servers").err
    assert (
        f"not served: near ({hermetic}/.mcp.json): {reason}"
        in capdisc("mcp", "--gateway", "--list").out
    )
    assert reason in capdisc("run", "tool:near.write_note", '{"text": "milk"}', "--yes").err
    assert not started.exists()
    assert capdisc("trust", "--yes").code == 0
    assert capdisc("run", "tool:near.write_note", '{"text": "milk"}', "--yes").code == 0


def test_a_token_of_a_servers_entry_reaches_no_agent(user_file, hermetic) -> None:
    user_file(notes=entry(hermetic, env={"API_TOKEN": "${MY_TOKEN}", "PLACE": "x"}))

    async def conversation(agent: Agent) -> Any:
        await agent.search("the token it was given")
        return await agent.run("tool:notes.tell_secret")

    _, text = talk(conversation, MY_TOKEN="hush-0123456789")
    assert "<secret API_TOKEN>" in text
    assert "hush" not in text


def test_a_server_that_says_so_is_asked_for_its_tools_again(user_file, hermetic) -> None:
    user_file(notes=entry(hermetic))
    extra = {
        "name": "bake_bread",
        "description": "Bakes a loaf of bread.",
        "annotations": {"readOnlyHint": True},
    }

    async def conversation(agent: Agent) -> Any:
        before = await agent.search("bake a loaf of bread")
        (hermetic / "extra.json").write_text(json.dumps([extra]))
        await agent.run("tool:notes.change")
        while "tool:notes.bake_bread" not in (after := await agent.search("bake a loaf of bread")):
            await anyio.sleep(0.5)
        return before, after, await agent.run("tool:notes.bake_bread")

    before, _, (is_error, text) = talk(conversation)
    assert "bake_bread" not in before
    assert (is_error, json.loads(text)["content"]) == (False, "bake_bread: {}")


def test_the_list_says_what_is_served_and_what_is_asked(user_file, hermetic, capdisc) -> None:
    user_file(
        notes=entry(hermetic),
        same=entry(hermetic),
        capdisc={"command": "uvx", "args": ["--from", "capdisc-cli[mcp]", "capdisc", "mcp"]},
        old={"type": "sse", "url": "https://example.com/sse"},
        off={"command": "x", "disabled": True},
        far={"url": "https://ada:word@example.com/mcp?key=1", "headers": {"X-Key": "hush"}},
    )

    async def conversation(agent: Agent) -> Any:
        await agent.search("notes")

    talk(conversation, "--server", "notes")
    done = capdisc("mcp", "--gateway", "--list")
    assert "notes: " in done.out
    assert "asked about, or refused until: capdisc trust 'tool:notes.*'" in done.out
    assert "it is capdisc itself" in done.out
    assert "the old transport SSE" in done.out
    assert "switched off" in done.out
    assert "not served: same" in done.out
    assert "it is the same server as notes" in done.out
    assert "far: https://example.com/mcp, with X-Key\n" in done.out
    document = capdisc("mcp", "--gateway", "--list", "--json").json
    assert [row["server"] for row in document["served"]] == ["notes", "far"]
    assert document["served"][0]["tools"]["asked"] == [
        "die_writing",
        "write_note",
        "drop_notes",
    ]
    assert capdisc("mcp", "--gateway", "--server", "notess", "--list").code == 2


def test_a_server_without_tools_is_named(user_file, hermetic, capdisc) -> None:
    user_file(notes=entry(hermetic, includeTools=["no_such_tool"]))

    async def conversation(agent: Agent) -> Any:
        await agent.search("notes")

    talk(conversation)
    assert "  it lists no tools\n" in capdisc("mcp", "--gateway", "--list").out


def test_only_the_chosen_servers_are_started(user_file, hermetic) -> None:
    (hermetic / "a").mkdir()
    (hermetic / "b").mkdir()
    user_file(a=entry(hermetic / "a"), b=entry(hermetic / "b"))

    async def conversation(agent: Agent) -> Any:
        return await agent.search("which number does the process have")

    found = talk(conversation, "--server", "b")
    assert "tool:b.tell_pid" in found
    assert "tool:a" not in found
    assert not (hermetic / "a" / "started").exists()


def test_inside_another_gateway_nothing_is_served(user_file, hermetic) -> None:
    user_file(notes=entry(hermetic))

    async def conversation(agent: Agent) -> Any:
        return [tool.name for tool in (await agent.client.list_tools()).tools]

    assert talk(conversation, CAPDISC_GATEWAY="1")
    assert not (hermetic / "started").exists()


def test_without_allow_run_only_tools_of_servers_are_called(user_file, hermetic, capdisc) -> None:
    user_file(notes=entry(hermetic))
    path = hermetic / "tools" / "say-hello" / "CAPABILITY.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(
        "name: say-hello\nkind: tool\ndescription: Says hello.\nrun: {command: [echo, hello]}\n"
    )
    assert capdisc("index", "tools").code == 0

    async def conversation(agent: Agent) -> Any:
        while "tool:notes.tell_pid" not in await agent.search("number of its process"):
            await anyio.sleep(0.2)
        return await agent.search("say hello"), await agent.run("tool:say-hello")

    found, (is_error, text) = talk(conversation)
    assert "tool:say-hello" in found  # the folders of the last build are kept
    assert is_error
    assert "--allow-run" in text


@pytest.mark.parametrize("flags", [("--list",), ("--server", "x"), ("--json",)])
def test_options_of_the_gateway_need_it(capdisc, flags) -> None:
    assert capdisc("mcp", *flags).code == 2
