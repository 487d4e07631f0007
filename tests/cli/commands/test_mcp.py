"""capdisc mcp: the discovery tools over the protocol, called by the SDK's own client."""

import hashlib
import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import anyio
import pytest
from adopting import adopt
from mcp.client.subscriptions import ResourceUpdated, ToolsListChanged

from capdisc_indexer.lazy_imports import load_token_counter
from mcp_sessions import ENOUGH, call, call_once, run_session, start_server, wait_for

MODES = pytest.mark.parametrize("mode", ["legacy", "auto"])
ALL = ("--tools", "all")


@MODES
def test_tools_are_listed_and_answer(catalogue, mode: str) -> None:
    async def talk(client):
        listed = await client.list_tools()
        answer = await client.call_tool("search_tool", {"query": "join PDF files"})
        return listed.tools, json.loads(answer.content[0].text)

    listed, answer = run_session(talk, *ALL, mode=mode)
    names = [tool.name for tool in listed]
    assert {"discover_capabilities", "tool_search", "search_tool", "get_skill"} <= set(names)
    assert "execute_tool" not in names
    assert "get_table_schema" not in names  # there are no tables here
    assert answer["tools"][0]["id"] == "skill:merge-pdfs"


@MODES
def test_errors_are_answers_that_say_what_to_do(catalogue, mode: str) -> None:
    """An unknown tool name is answered with the known ones and with search (S110, S221)."""
    is_error, text = call_once("no_such_tool", {}, *ALL, mode=mode)
    assert is_error
    assert "discover_capabilities" in text
    is_error, text = call_once("get_skill", {"nam": "x"}, *ALL, mode=mode)
    assert is_error
    assert "name" in text


def test_tools_are_chosen_by_name_and_by_group(catalogue) -> None:
    async def talk(client):
        return [tool.name for tool in (await client.list_tools()).tools]

    names = run_session(
        talk, "--tools", "search_tool,get_skill", "--tools", "discover_capabilities"
    )
    assert sorted(names) == ["discover_capabilities", "get_skill", "search_tool"]
    is_error, text = call_once("list_skills", {}, "--tools", "discovery")
    assert is_error
    assert "not offered" in text


def test_execute_tool_reaches_no_tool_that_is_not_offered(catalogue) -> None:
    flags = ("--allow-run", "--tools", "execute_tool,search_tool")
    is_error, text = call_once("execute_tool", {"tool_name": "list_skills"}, *flags)
    assert is_error
    assert "not offered" in text
    wish = {"tool_name": "search_tool", "arguments": {"query": "merge PDFs"}}
    assert not call_once("execute_tool", wish, *flags)[0]


def test_the_overview_is_a_resource(catalogue) -> None:
    async def talk(client):
        listed = await client.list_resources()
        read = await client.read_resource("capdisc://tier0")
        return str(listed.resources[0].uri), read.contents[0].text

    uri, text = run_session(talk)
    assert uri == "capdisc://tier0"
    assert "merge-pdfs" in text


def test_an_overview_of_very_many_categories_names_the_largest(catalogue, hermetic) -> None:
    tools = [
        {"name": f"t{n}", "kind": "tool", "description": "Does it.", "category": f"c{n}"}
        for n in range(300)
    ]
    tools += [{**each, "name": f"more-{each['name']}"} for each in tools[:3]]
    (hermetic / "tools" / "capabilities.jsonl").write_text(
        "".join(json.dumps(each) + "\n" for each in tools)
    )
    catalogue("say-bye")

    async def talk(client):
        return (await client.read_resource("capdisc://tier0")).contents[0].text

    lines = run_session(talk).splitlines()
    assert 10 < len(lines) < 100
    assert {"c0 (2)", "c1 (2)", "c2 (2)"} < set(lines)
    left_out = int(lines[-1].removeprefix("+").removesuffix(" more categories"))
    assert left_out + len(lines) - 1 in (301, 302)  # those without a category may be grouped
    assert load_token_counter()("\n".join(lines)) <= 200


def test_a_client_of_the_older_protocol_is_told_of_a_new_index(catalogue) -> None:
    heard = []

    async def talk(client):
        await client.list_tools()
        await anyio.to_thread.run_sync(catalogue, "say-bye")
        while not {
            "notifications/tools/list_changed",
            "notifications/resources/list_changed",
        } <= set(heard):
            await anyio.sleep(0.1)
        return await client.call_tool("search_tool", {"query": "say-bye"})

    answer = run_session(talk, *ALL, mode="legacy", heard=heard)
    assert "tool:say-bye" in answer.content[0].text


def test_a_client_of_the_newer_protocol_that_listens_is_told_too(catalogue) -> None:
    async def talk(client):
        wanted = {"tools_list_changed": True, "resource_subscriptions": ["capdisc://tier0"]}
        async with client.listen(**wanted) as events:
            await anyio.to_thread.run_sync(catalogue, "say-bye")
            return {type(await anext(events)) for _ in range(2)}

    assert run_session(talk) == {ToolsListChanged, ResourceUpdated}


@MODES
def test_a_server_begins_without_an_index_and_finds_it_when_it_is_there(
    hermetic, index_dir, write_skill, capdisc, mode
):
    """A server without an index finds one that is built later (S220)."""

    async def talk(client):
        names = [tool.name for tool in (await client.list_tools()).tools]
        before = await client.call_tool("list_skills", {})
        write_skill(hermetic / "tools", "merge-pdfs")
        await anyio.to_thread.run_sync(capdisc, "index", "tools")
        return names, before, await client.call_tool("list_skills", {})

    names, before, after = run_session(talk, *ALL, mode=mode)
    assert "search_tool" in names
    assert before.is_error
    assert "capdisc index" in before.content[0].text
    assert "merge-pdfs" in after.content[0].text


def test_without_anything_to_index_an_agent_is_told_so(hermetic) -> None:
    is_error, text = call_once("search_capabilities", {"query": "merge two PDF files"})
    assert is_error
    assert "building one failed: there is nothing to index here" in text
    assert "the user gets one at a terminal with: capdisc index PATH" in text


def test_an_empty_index_is_told_as_such(hermetic, capdisc) -> None:
    (hermetic / "empty").mkdir()
    assert capdisc("index", "empty").code == 0

    async def talk(client):
        found = await client.call_tool(
            "search_capabilities", {"query": "fold", "kinds": ["skill"]}
        )
        read = await client.call_tool("read_capability", {"id": "fold"})
        overview = await client.read_resource("capdisc://tier0")
        return found.content[0].text, read.content[0].text, overview.contents[0].text

    for text in run_session(talk):
        assert text.startswith("No capabilities are indexed here") and "capdisc index PATH" in text


def test_at_a_terminal_it_says_what_it_is_and_how_to_end_it(hermetic) -> None:
    controller, terminal = pty.openpty()
    argv = [sys.executable, "-m", "capdisc", "mcp"]
    with subprocess.Popen(
        argv, stdin=terminal, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        os.close(terminal)
        assert process.stderr is not None
        lines = [process.stderr.readline() for _ in range(3)]
        process.send_signal(signal.SIGINT)
        process.wait(timeout=ENOUGH)
        os.close(controller)
    assert "for an agent's client" in lines[0]
    assert "capdisc setup CLIENT" in lines[1]
    assert "Ctrl-C" in lines[2]


def test_nothing_is_run_without_leave(catalogue) -> None:
    """Nothing that runs is offered unless the server was started with leave (S108)."""
    is_error, text = call_once("run_capability", {"id": "say-hello"})
    assert is_error
    assert "not offered" in text


SAYS = "inputSchema: {properties: {x: {type: string}, n: {type: integer, default: 1}}, required: [x]}\n"


def test_other_arguments_than_those_agreed_to_are_refused(catalogue, capdisc, monkeypatch) -> None:
    """Once, after one yes to a harmless value, an agent could pass any other."""
    from capdisc.context import surroundings

    catalogue("repeat", SAYS + 'run: {command: [echo, "{x}", "{n}"]}\n')
    monkeypatch.setenv("CAPDISC_STATE_DIR", str(Path.cwd() / "state"))

    def run(arguments, *flags: str) -> tuple[bool, str]:
        return call_once(
            "run_capability", {"id": "repeat", "arguments": arguments}, "--allow-run", *flags
        )

    def say(answer: str) -> None:
        with monkeypatch.context() as patched:
            patched.setattr(surroundings, "is_terminal", lambda stream: True)
            assert capdisc("run", "repeat", '{"x": "hello"}', stdin=f"{answer}\n").code == 0

    say("y")
    assert json.loads(run({"x": "hello"})[1])["stdout"] == "hello 1\n"
    assert json.loads(run({"x": "hello", "n": 2})[1])["stdout"] == "hello 2\n"
    is_error, text = run({"x": "other"})
    assert is_error
    assert "it has not been run with these arguments" in text
    assert 'capdisc run tool:repeat \'{"x": "other"}\'' in text
    assert 'the answer "any"' in text
    assert not run({"x": "other"}, "--yes")[0]
    catalogue("repeat", SAYS + 'run: {command: [echo, again, "{x}", "{n}"]}\n')
    say("any")
    assert json.loads(run({"x": "other"})[1])["stdout"] == "again other 1\n"


def test_an_argument_in_program_text_is_refused_whatever_was_agreed_to(
    catalogue, hermetic
) -> None:
    """Once `sh -c "echo {x}"` ran the argument `; touch canary`."""
    catalogue("inject", SAYS + 'run: {command: ["sh","-c","echo {x}"]}\n')
    wish = {"id": "inject", "arguments": {"x": "; touch canary"}}
    for flags in ((), ("--yes",)):
        is_error, text = call_once("run_capability", wish, "--allow-run", *flags)
        assert is_error
        assert "sh would run {x} as a part of its program" in text
        assert '"$1' in text
    assert not (hermetic / "canary").exists()


def test_with_leave_what_a_person_agreed_to_is_run(catalogue, capdisc, monkeypatch) -> None:
    """With leave only what a person agreed to runs, or all with --yes (S108, S281)."""
    execute = ("run_capability", {"id": "say-hello"})
    is_error, text = call_once(*execute, "--allow-run")
    assert is_error
    assert "capdisc run tool:say-hello" in text
    from capdisc.context import surroundings

    monkeypatch.setenv("CAPDISC_STATE_DIR", str(Path.cwd() / "state"))
    adopt(Path(os.environ["CAPDISC_INDEX_DIR"]))
    with monkeypatch.context() as patched:
        patched.setattr(surroundings, "is_terminal", lambda stream: True)
        assert capdisc("run", "say-hello", stdin="y\n").out == "hello\n"
    for flags in (("--allow-run",), ("--allow-run", "--yes")):
        is_error, text = call_once(*execute, *flags)
        assert not is_error
        assert json.loads(text)["stdout"] == "hello\n"


def test_with_leave_side_effects_are_still_refused(catalogue) -> None:
    catalogue("say-danger", "hasSideEffects: true\nrun: {command: [echo, danger]}\n")
    is_error, text = call_once("run_capability", {"id": "say-danger"}, "--allow-run")
    assert is_error
    assert "side effects" in text


def test_a_call_that_is_cancelled_ends_what_it_runs(catalogue, hermetic) -> None:
    catalogue("linger", 'run: {command: [sh, -c, "sleep 4; touch lingered"]}\n')

    async def talk(client):
        with anyio.move_on_after(1):
            await client.call_tool("run_capability", {"id": "linger"})
        await anyio.sleep(5)

    run_session(talk, "--allow-run", "--yes")
    assert not (hermetic / "lingered").exists()


INITIALIZE = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}  # fmt: skip


def test_stdout_holds_the_protocol_alone_and_the_end_of_stdin_ends_it(catalogue) -> None:
    begun = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    lines = [INITIALIZE, begun, {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}]
    with start_server() as server:
        server.stdin.write(
            "".join(json.dumps(line) + "\n" for line in lines).encode() + b"no json\n"
        )
        server.stdin.flush()
        answers = [json.loads(server.stdout.readline()) for _ in range(2)]
        out, err = server.communicate(timeout=ENOUGH)
    assert {answer["id"] for answer in answers} == {1, 2}
    assert answers[0]["result"]["protocolVersion"] == "2024-11-05"
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in out.splitlines())
    assert (server.returncode, err) == (0, b"")


def test_without_a_reader_there_is_nothing_to_serve(catalogue) -> None:
    done = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m capdisc mcp >&-"],
        input="{}\n", capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


def test_a_signal_ends_it(catalogue) -> None:
    with start_server() as server:
        server.stdin.write(json.dumps(INITIALIZE).encode() + b"\n")
        server.stdin.flush()
        server.stdout.readline()
        server.send_signal(signal.SIGTERM)
        out, err = server.communicate(timeout=ENOUGH)
    assert (server.returncode, out, err) == (143, b"", b"")


def test_the_end_of_stdin_ends_it_while_calls_wait_and_are_cancelled(catalogue, hermetic) -> None:
    catalogue("linger", f'run: {{command: [sh, -c, "touch began; sleep {2 * ENOUGH}"]}}\n')
    lines = [INITIALIZE, {"jsonrpc": "2.0", "method": "notifications/initialized"}]
    for number in range(2, 182):
        call = {"name": "run_capability", "arguments": {"id": "linger"}}
        lines.append({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": call})
        if number % 3 == 0:
            cancelled = {"method": "notifications/cancelled", "params": {"requestId": number}}
            lines.append({"jsonrpc": "2.0", **cancelled})
    with start_server("--allow-run", "--yes") as server:
        server.stdin.write("".join(json.dumps(line) + "\n" for line in lines).encode())
        server.stdin.flush()
        wait_for(hermetic / "began")
        try:
            server.communicate(timeout=ENOUGH)
        finally:
            server.kill()
    assert server.returncode == 0


def test_the_end_of_stdin_ends_it_though_nobody_reads_its_answers(catalogue) -> None:
    lines = [INITIALIZE, {"jsonrpc": "2.0", "method": "notifications/initialized"}]
    lines += [{"jsonrpc": "2.0", "id": n, "method": "tools/list"} for n in range(2, 102)]
    with start_server() as server:
        server.stdin.write("".join(json.dumps(line) + "\n" for line in lines).encode())
        server.stdin.close()
        try:
            # 0 where the end of stdin was seen before its answers had filled the pipe.
            assert server.wait(ENOUGH) in (0, 143)
        finally:
            server.kill()


@pytest.mark.parametrize("how", ["stdin", "signal"])
def test_with_the_server_ends_what_it_runs(catalogue, hermetic, how: str) -> None:
    catalogue("linger", 'run: {command: [sh, -c, "touch began; sleep 4; touch lingered"]}\n')
    call = {"name": "run_capability", "arguments": {"id": "linger"}}
    lines = [INITIALIZE, {"jsonrpc": "2.0", "method": "notifications/initialized"}]
    lines.append({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call})
    with start_server("--allow-run", "--yes") as server:
        server.stdin.write("".join(json.dumps(line) + "\n" for line in lines).encode())
        server.stdin.flush()
        wait_for(hermetic / "began")
        if how == "signal":
            server.send_signal(signal.SIGTERM)
        server.communicate(timeout=ENOUGH)
    time.sleep(4.5)
    assert not (hermetic / "lingered").exists()


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--yes",), "--allow-run"),
        (("--tools", "execute_tool"), "--allow-run"),
        (("--tools", "no_such_tool"), "no_such_tool"),
    ],
)
def test_options_that_make_no_sense_are_refused(capdisc, flags, said: str) -> None:
    done = capdisc("mcp", *flags)
    assert (done.code, done.out) == (2, "")
    assert said in done.err


def test_a_workspace_that_gets_its_first_skill_is_answered_from_its_own_index(
    hermetic: Path, write_skill
) -> None:
    (hermetic / ".git").mkdir()
    write_skill(Path.home() / ".claude" / "skills", "crane", "Folds paper cranes. Use for cranes.")

    async def talk(client):
        query = {"query": "fold a paper crane or a paper boat"}
        before = await call(client, "search_capabilities", query)
        write_skill(hermetic / ".claude" / "skills", "boat", "Folds paper boats. Use for boats.")
        return before, await call(client, "search_capabilities", query)

    before, after = run_session(talk)
    assert "skill:crane" in before[1] and "skill:boat" not in before[1]
    assert "skill:crane" in after[1] and "skill:boat" in after[1]


def test_an_index_of_another_version_is_built_anew_at_the_first_call(
    hermetic: Path, write_skill, capdisc
) -> None:
    """Once each call of an agent failed after an upgrade, until somebody typed `capdisc index`."""
    write_skill(hermetic / ".claude" / "skills", "boat", "Folds paper boats. Use for boats.")
    assert capdisc("index").code == 0
    index_dir = Path(capdisc("status", "--json").json["index_dir"])
    (path,) = index_dir.glob("gens/*/MANIFEST")
    path.write_text(json.dumps({**json.loads(path.read_text()), "schema_version": 1}))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    (index_dir / "CURRENT").write_text(f"1 {digest}\n")
    failed, text = call_once("search_capabilities", {"query": "fold a paper boat"})
    assert not failed and "skill:boat" in text, text


def test_calls_of_an_agent_are_in_the_log_of_who_keeps_one(
    catalogue, capdisc, monkeypatch
) -> None:
    """Searches, readings and runs have their tool, query and ids (S244)."""

    async def talk(client):
        await call(client, "search_capabilities", {"query": "join PDF files"})
        await call(client, "read_capability", {"id": "merge-pdfs"})
        await call(client, "run_capability", {"id": "say-hello"})

    flags = ("--allow-run", "--yes")
    run_session(talk, *flags)
    assert capdisc("log").out == ""
    monkeypatch.setenv("CAPDISC_LOG", "1")
    run_session(talk, *flags)
    facts = capdisc("log", "--json").json
    assert [entry["event"] for entry in facts["events"]] == [
        "search_capabilities", "read_capability", "run_capability",
    ]  # fmt: skip
    assert facts["queries"] == [{"query": "join PDF files", "count": 1}]
    assert facts["found"][0]["id"] == "skill:merge-pdfs"
    assert {entry["id"] for entry in facts["used"]} == {"skill:merge-pdfs", "tool:say-hello"}
