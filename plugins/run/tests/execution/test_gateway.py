"""Calls of tools of MCP servers that are kept over calls: what is started, asked and masked."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import gateway_server
from capdisc_indexer.config.client_servers import ServerDeclaration
from capdisc_indexer.model.errors import ApprovalRequiredError, InputError, UsageError
from capdisc_indexer.model.frozen import replace
from capdisc_indexer.model.types import Descriptor
from capdisc_indexer.tools.call_context import Caller, Consent
from capdisc_run import approvals, gateway_lists, server_pool
from capdisc_run.gateway import Gateway
from capdisc_run.server_launch import GatewayPlaces

SERVER = str(Path(gateway_server.__file__))
NOBODY = Caller()


class Desk:
    """A gateway with servers of ours, and calls by the name of a tool."""

    def __init__(self, folder: Path, *servers: ServerDeclaration, **environ: str) -> None:
        self.folder = folder
        self.changes: list[str] = []
        self.places = GatewayPlaces(
            lists=folder / "state" / "gateway",
            approvals=folder / "state",
            environ={"PATH": os.environ["PATH"], **environ},
            home=folder,
            workspace=folder,
        )
        self.gateway = Gateway(servers, self.places, self.changes.append)

    def descriptor(self, tool: str, server: str = "notes") -> Descriptor:
        declaration = self.gateway.servers[server]
        if not gateway_lists.read_list(self.places.lists, server):
            assert not self.gateway.refresh_lists([server]).problems
        stored = gateway_lists.read_list(self.places.lists, server)
        pages = [{"tools": stored.tools}]
        return gateway_lists.list_descriptors(self.places.lists, declaration, pages, tool)[0]

    def call(
        self, tool: str, server: str = "notes", caller: Caller = NOBODY, **arguments: Any
    ) -> dict[str, Any]:
        return self.gateway.call(self.descriptor(tool, server), arguments, caller)

    def text(self, tool: str, server: str = "notes", **arguments: Any) -> str:
        return self.call(tool, server, **arguments)["content"]


def declare(folder: Path, name: str = "notes", **fields: Any) -> ServerDeclaration:
    values: dict[str, Any] = {
        "command": sys.executable, "args": (SERVER, str(folder)), "client": "claude",
        "path": "/home/x/.claude.json", "scope": "user",
    }  # fmt: skip
    return ServerDeclaration(name=name, **(values | fields))


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Callable[..., Desk]]:
    desks: list[Desk] = []

    def open_desk(*servers: ServerDeclaration, **environ: str) -> Desk:
        desks.append(Desk(tmp_path, *(servers or (declare(tmp_path),)), **environ))
        return desks[-1]

    yield open_desk
    for opened in desks:
        opened.gateway.close()


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def ends(pid: int) -> bool:
    deadline = time.monotonic() + 60
    while is_alive(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not is_alive(pid)


def count_starts(folder: Path) -> int:
    path = folder / "started"
    return len(path.read_text().split()) if path.exists() else 0


def test_a_server_is_started_by_its_first_call_and_kept_until_the_gateway_ends(
    desk, tmp_path
) -> None:
    opened = desk()
    opened.descriptor("tell_pid")  # its list is asked for, and it ends
    pid = int(opened.text("tell_pid"))
    assert int(opened.text("tell_pid")) == pid
    assert count_starts(tmp_path) == 2
    assert is_alive(pid)
    opened.gateway.close()
    assert ends(pid)


def test_what_a_server_started_ends_with_it(desk, tmp_path) -> None:
    """The shell goes on once its server has ended by itself."""
    words = f"{sys.executable} {SERVER} {tmp_path}; echo $$ > {tmp_path}/left; exec sleep 600"
    opened = desk(declare(tmp_path, command="/bin/sh", args=("-c", words)))
    opened.text("tell_pid")
    opened.gateway.close()
    for _ in range(100):
        if (tmp_path / "left").exists() and (left := (tmp_path / "left").read_text().strip()):
            assert ends(int(left))
            return
        time.sleep(0.02)


def test_a_server_that_is_not_called_ends_after_a_while(desk, monkeypatch) -> None:
    opened = desk()
    opened.gateway.close()
    opened.gateway._pool = server_pool.ServerPool(idle_s=0.2)
    assert ends(int(opened.text("tell_pid")))


def test_of_too_many_servers_the_one_that_waited_longest_ends(desk, tmp_path) -> None:
    opened = desk(*(declare(tmp_path, name, env={"N": name}) for name in ("a", "b", "c")))
    opened.gateway.close()
    opened.gateway._pool = server_pool.ServerPool(max_connections=2)
    pids = [int(opened.text("tell_pid", name)) for name in ("a", "b", "a", "c")]
    assert pids[0] == pids[2]
    assert ends(pids[1])
    assert is_alive(pids[0])


def test_a_server_that_died_is_started_again(desk) -> None:
    opened = desk()
    first = int(opened.text("tell_pid"))
    os.kill(first, 9)
    assert ends(first)
    assert int(opened.text("tell_pid")) != first


def test_a_call_that_only_reads_is_made_once_more_when_its_server_dies(desk, tmp_path) -> None:
    opened = desk()
    assert opened.call("die_once")["status"] == "ok"
    assert opened.call("die")["status"] == "failed"
    assert (
        count_starts(tmp_path) == 1 + 2 + 1
    )  # for the list; for die_once; die has the second one of these


def test_a_call_that_writes_is_not_made_twice(desk, tmp_path) -> None:
    opened = desk()
    answer = opened.call("die_writing", caller=Caller(confirm=lambda *_: Consent.ONCE))
    assert answer["status"] == "failed"
    assert "whether the tool did its work is unknown" in answer["log"]
    assert count_starts(tmp_path) == 2


def test_a_call_that_hangs_ends_at_its_limit(desk, tmp_path) -> None:
    opened = desk(declare(tmp_path, timeout_s=3))
    pid = int(opened.text("tell_pid"))
    assert opened.call("hang")["status"] == "timeout"
    assert ends(pid)
    assert int(opened.text("tell_pid")) != pid


def test_a_caller_who_is_gone_ends_the_call(desk) -> None:
    asked: list[int] = []
    caller = Caller(is_stopped=lambda: len(asked) > 3 or bool(asked.append(1)))
    assert desk().call("hang", caller=caller)["status"] == "stopped"


def test_an_answer_that_is_too_large_is_not_passed_on(desk) -> None:
    opened = desk()
    answer = opened.call("flood")
    assert answer["status"] == "too-large"
    assert "content" not in answer
    assert opened.text("tell_pid")


def approve(opened: Desk, tool: str) -> None:
    descriptor, declaration = opened.descriptor(tool), opened.gateway.servers["notes"]
    digest = gateway_lists.approval_digest(descriptor, declaration)
    approvals.approve_named(opened.places.approvals, {digest: descriptor.id})


IN_A, IN_B = ({"scope": "workspace", "path": f"/{name}/.mcp.json"} for name in "ab")


@pytest.mark.parametrize(("before", "after"), [({}, {"env": {"MODE": "other"}}), (IN_A, IN_B)])
def test_an_approval_holds_for_the_entry_as_it_is_in_one_workspace(
    desk, tmp_path, before, after
) -> None:
    approve(desk(declare(tmp_path, **before)), "write_note")
    assert desk(declare(tmp_path, **before)).text("write_note", text="x")
    with pytest.raises(ApprovalRequiredError):
        desk(declare(tmp_path, **after)).call("write_note", text="x")


@pytest.mark.parametrize("consent", list(Consent))
def test_the_user_is_asked_where_that_is_possible(desk, consent) -> None:
    questions: list[str] = []

    def confirm(question: str, binding: str) -> Consent:
        questions.append(question)
        return consent

    opened, caller = desk(), Caller(confirm=confirm)
    for text in ("first", "second"):
        if consent is Consent.NO:
            with pytest.raises(ApprovalRequiredError, match="the user said no"):
                opened.call("write_note", caller=caller, text=text)
        else:
            assert text in opened.call("write_note", caller=caller, text=text)["content"]
    assert len(questions) == (1 if consent is Consent.ALWAYS else 2)
    assert 'tool:notes.write_note of the MCP server notes with {"text": "first"}' in questions[0]


def test_wrong_arguments_start_no_server(desk, tmp_path) -> None:
    opened = desk()
    opened.descriptor("write_note")
    with pytest.raises(UsageError, match="text"):
        opened.call("write_note", caller=Caller(confirm=lambda *_: Consent.ONCE), txt=1)
    assert count_starts(tmp_path) == 1


def test_a_tool_that_its_server_defines_otherwise_now_is_not_called(desk, tmp_path) -> None:
    extra = {"name": "look", "description": "Looks.", "annotations": {"readOnlyHint": True}}
    (tmp_path / "extra.json").write_text(json.dumps([extra]))
    opened = desk()
    known = opened.descriptor("look")
    assert opened.gateway.call(known, {}, NOBODY)["status"] == "ok"
    opened.gateway.close()
    (tmp_path / "extra.json").write_text(json.dumps([{**extra, "description": "Sends all."}]))
    again = desk()
    with pytest.raises(InputError, match="has changed since it was listed"):
        again.gateway.call(known, {}, NOBODY)
    assert again.changes == ["notes"]
    (tmp_path / "extra.json").unlink()
    with pytest.raises(InputError, match="is gone since it was listed"):
        desk().gateway.call(known, {}, NOBODY)


def test_a_server_gets_only_what_its_entry_names_and_its_token_is_masked(desk, tmp_path) -> None:
    env = {"API_TOKEN": "${MY_TOKEN}", "PLACE": "/srv/notes"}
    environ = {"MY_TOKEN": "hush-0123456789", "OTHER": "y", "LD_PRELOAD": "z"}
    opened = desk(declare(tmp_path, env=env), **environ)
    assert opened.text("tell_secret") == "it is <secret API_TOKEN> in /srv/notes"
    names = set(opened.text("tell_names").split()) - {"LC_CTYPE"}
    assert names == {"API_TOKEN", "CAPDISC_GATEWAY", "LANG", "PATH", "PLACE"}


def test_a_server_of_the_users_own_starts_in_the_home_folder(desk, tmp_path) -> None:
    """In the workspace, `python -m` and `npx` prefer what lies there, and a clone can bring it."""
    (tmp_path / "work").mkdir(exist_ok=True)
    code = f"import os; open('{tmp_path}/place', 'w').write(os.getcwd())"
    for scope, place in (("user", tmp_path), ("workspace", tmp_path / "work")):
        opened = desk(declare(tmp_path, args=("-c", code), scope=scope))
        opened.gateway._places = replace(opened.places, workspace=tmp_path / "work")
        assert opened.gateway.refresh_lists(["notes"]).problems
        assert (tmp_path / "place").read_text() == str(place)


def test_errors_structured_content_and_pictures_come_through(desk) -> None:
    opened = desk()
    failed = opened.call("fail")
    assert (failed["status"], failed["content"]) == ("failed", "no such note")
    counted = opened.call("count")
    assert counted["structured_content"] == {"n": 3}
    assert "content" not in counted
    assert opened.text("draw") == "[image image/png]\n[resource_link file:///notes.txt]"


def test_a_question_of_a_server_reaches_its_user(desk) -> None:
    asked: list[dict[str, Any]] = []

    def elicit(document: dict[str, Any]) -> dict[str, Any]:
        asked.append(document)
        return {"action": "accept", "content": {"name": "Ada"}}

    assert '"Ada"' in desk().call("ask_name", caller=Caller(elicit=elicit))["content"]
    assert asked[0]["message"] == "The MCP server notes asks: What is your name?"
    assert "not supported" in desk().call("ask_name")["content"]


def test_an_enormous_list_is_bounded(desk, tmp_path, monkeypatch) -> None:
    extra = [{"name": f"t{n}", "description": "Does it."} for n in range(2_000)]
    (tmp_path / "extra.json").write_text(json.dumps(extra))
    opened = desk()
    opened.descriptor("tell_pid")
    stored = gateway_lists.read_list(opened.places.lists, "notes")
    assert len(stored.tools) == gateway_lists.MAX_TOOLS
    (tmp_path / "extra.json").write_text(
        json.dumps([{"name": "t", "description": "x" * 5_000_000}])
    )
    problems = desk().gateway.refresh_lists(["notes"]).problems
    assert "notes" in problems


def test_one_server_that_is_down_leaves_the_others(desk, tmp_path) -> None:
    opened = desk(declare(tmp_path), declare(tmp_path, "gone", command="no-such-program"))
    refresh = opened.gateway.refresh_lists(["notes", "gone"])
    assert refresh.changed == ("notes",)
    assert "no-such-program" in refresh.problems["gone"]
    assert opened.gateway.stale_servers() == ["gone"]
    assert opened.text("tell_pid")


def test_a_list_from_the_future_is_asked_for_again(desk) -> None:
    opened = desk()
    opened.gateway.refresh_lists(["notes"])
    assert opened.gateway.stale_servers() == []
    moment = time.time() + 365 * 24 * 3600
    os.utime(gateway_lists.list_path(opened.places.lists, "notes"), (moment, moment))
    assert opened.gateway.stale_servers() == ["notes"]


def test_only_the_tools_that_the_entry_takes_are_listed(desk, tmp_path) -> None:
    opened = desk(declare(tmp_path, only=("tell_pid", "fail"), without=("fail",)))
    opened.descriptor("tell_pid")
    stored = gateway_lists.read_list(opened.places.lists, "notes")
    assert [tool["name"] for tool in stored.tools] == ["tell_pid"]


@pytest.fixture
def http_server() -> Iterator[Callable[[], int]]:
    """Starts the server over HTTP, always on the same port; the last one ends first."""
    running: list[subprocess.Popen[bytes]] = []
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]

    def stop() -> None:
        for process in running:
            process.kill()
            process.wait()

    def start() -> int:
        stop()
        running.append(subprocess.Popen([sys.executable, SERVER, "http", str(port)]))
        for _ in range(600):
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                return port
            time.sleep(0.05)
        raise TimeoutError

    yield start
    stop()


def test_a_server_over_http_gets_its_headers_and_may_start_anew(desk, http_server) -> None:
    port = http_server()
    url = f"http://127.0.0.1:{port}/mcp"
    headers = {"Authorization": "Bearer ${MY_TOKEN}"}
    remote = declare(Path("/"), "remote", command="", args=(), url=url, headers=headers)
    opened = desk(remote, MY_TOKEN="hush-0123456789")
    assert opened.text("tell_header", "remote") == "Bearer <secret Authorization>"
    first = opened.text("tell_pid", "remote")
    http_server()
    assert opened.text("tell_pid", "remote") != first
    with pytest.raises(ApprovalRequiredError):
        opened.call("write_note", "remote", text="x")
    down = desk(replace(remote, url="http://127.0.0.1:1/mcp"), MY_TOKEN="hush-0123456789")
    assert "cannot be reached" in down.gateway.refresh_lists(["remote"]).problems["remote"]
