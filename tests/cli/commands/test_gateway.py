"""capdisc mcp --gateway: the tools of other servers, found and called by the SDK's own client, and asked
about at a terminal; transcripts/gateway.txt has what needs neither.
"""

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


async def find_pid(agent: Agent) -> str:
    return await agent.search("which number does the process have")


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


def test_any_at_the_terminal_approves_the_tool(asked, capdisc) -> None:
    words = ["tool:notes.write_note", '{"text": "milk"}']
    code, shown = terminal_lines(["n"], "run", *words)
    assert code == 5 and "was not called" in shown
    code, shown = terminal_lines(["any"], "run", *words)
    assert code == 0 and 'write_note: {"text": "milk"}' in shown
    assert approved(capdisc) == ["tool:notes.write_note"]


def approved(capdisc: Any) -> list[str]:
    return [row["tool"] for row in capdisc("trust", "--list", "--json").json["tools"]]


def test_setup_lists_what_writes_and_approves_what_a_person_names(
    user_file, hermetic, capdisc
) -> None:
    path = user_file(notes=entry(hermetic))
    before = path.read_bytes()
    code, shown = terminal_lines(
        ["n", "no_such", "2 notes.drop*", "y"], "setup", "claude", "--mcp", "--gateway"
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
    code, shown = terminal_lines(["y"], "setup", "claude", "--undo")
    assert code == 0 and "no longer approved: tool:notes.write_note" in shown
    assert approved(capdisc) == []
    assert path.read_bytes() == before


def test_a_person_is_asked_whether_servers_move(user_file, hermetic, capdisc) -> None:
    path = user_file(notes=entry(hermetic))
    code, shown = terminal_lines(["y", "", "y"], "setup", "claude", "--mcp", "--gateway")
    assert code == 0 and "Claude Code also starts notes itself." in shown, shown
    assert list(json.loads(path.read_text())["mcpServers"]) == ["capdisc"]


def test_a_server_of_the_workspace_waits_for_trust(hermetic, capdisc, user_file) -> None:
    (hermetic / ".vscode").mkdir()
    (hermetic / ".vscode" / "mcp.json").write_text(
        '{\n // of this project\n "servers": {"near": ' + json.dumps(entry(hermetic)) + ",},\n}\n"
    )

    listed = capdisc("mcp", "--gateway", "--list")
    assert "not served: near" in listed.out
    assert "waits for your trust" in listed.out
    talk(find_pid)
    assert not (hermetic / "started").exists()
    asked = capdisc("trust")
    assert asked.code == 5
    assert f"+ server near: {sys.executable}" in asked.out
    assert capdisc("trust", "--yes").code == 0
    assert "tool:near.tell_pid" in talk(find_pid)
    (hermetic / "started").unlink()
    text = (hermetic / ".vscode" / "mcp.json").read_text()
    (hermetic / ".vscode" / "mcp.json").write_text(text.replace(str(hermetic), "/elsewhere"))
    assert "waits for your trust" in capdisc("mcp", "--gateway", "--list").out
    talk(find_pid)
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


def test_a_server_without_tools_is_named(user_file, hermetic, capdisc) -> None:
    user_file(notes=entry(hermetic, includeTools=["no_such_tool"]))

    talk(find_pid)
    assert "  it lists no tools\n" in capdisc("mcp", "--gateway", "--list").out


def test_only_the_chosen_servers_are_started(user_file, hermetic) -> None:
    (hermetic / "a").mkdir()
    (hermetic / "b").mkdir()
    user_file(a=entry(hermetic / "a"), b=entry(hermetic / "b"))

    found = talk(find_pid, "--server", "b")
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
