"""What `capdisc setup CLIENT --gateway` shows of the MCP servers behind the gateway, which of
their tools a person approves, and what `--undo` takes back of that.

What was approved is remembered with what setup put into files, by the file that starts the
gateway.
"""

from __future__ import annotations

import json as json_module
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from capdisc.context.surroundings import Runtime
from capdisc.output import console
from capdisc.output.command_process import read_answer
from capdisc_indexer import lazy_imports
from capdisc_indexer.config.client_servers import ServerDeclaration
from capdisc_indexer.model.errors import MALFORMED_DATA_ERRORS, InputError, UsageError
from capdisc_indexer.model.frozen import field, frozen, replace
from capdisc_indexer.model.json_types import JsonObject
from capdisc_indexer.store import state_file
from capdisc_run import approvals, gateway_lists
from capdisc_run.gateway import Gateway
from capdisc_run.gateway_servers import (
    ServerSelection,
    announce_servers,
    gateway_places,
)
from capdisc_run.server_tools import (
    ServerTool,
    describe_server,
    format_server,
    is_allowed,
    list_tools,
)

_ALL = "all"
_DESCRIPTION_CHARACTERS = 90


@frozen(kw_only=True)
class GatewayPlan:
    """What setup does besides changing files: tools that are approved (`granted`), or whose
    approval is taken back (`revoked`), as ids by what an approval holds for. `path` is the file
    that starts the gateway, `undone_paths` are those that no longer do. `waiting` are the tools of
    the servers that nobody has approved; with `is_chosen`, somebody has named those to approve.
    """

    path: str = ""
    undone_paths: tuple[str, ...] = ()
    selection: ServerSelection = ServerSelection()
    waiting: tuple[ServerTool, ...] = ()
    granted: Mapping[str, str] = field(default_factory=dict)
    revoked: Mapping[str, str] = field(default_factory=dict)
    is_chosen: bool = False

    @property
    def question(self) -> str:
        """What a person is asked to agree to; "" for nothing."""
        if self.revoked:
            count = console.format_count(len(self.revoked), "tool")
            return f"take back the approval of {count}"
        return f"approve {console.format_count(len(self.granted), 'tool')}" if self.granted else ""


def plan_gateway(
    runtime: Runtime, path: Path, server_names: Sequence[str], patterns: Sequence[str]
) -> GatewayPlan:
    """The servers that the gateway serves, once they were asked for their tools, and the approvals
    of the tools that the patterns name. Raises UsageError for a server or tool that is not there.
    """
    lazy_imports.mcp_sdk()
    selection = announce_servers(runtime, runtime.config(), server_names)
    _ask_servers(runtime, selection)
    tools = list(list_tools(runtime, _split_names(server_names)))
    plan = GatewayPlan(
        path=path.as_posix(),
        selection=selection,
        waiting=tuple(tool for tool in tools if not is_allowed(runtime, tool)),
    )
    words = _split_names(patterns)
    for word in words:
        if not any(_fits(tool, word) for tool in tools):
            tool_names = console.format_names([_short_id(tool) for tool in plan.waiting])
            raise UsageError(
                f"no server here has a tool {word!r}",
                f"tools that wait for approval: {tool_names or 'none'}",
            )
    return _grant(plan, words) if words else plan


def choose_tools(plan: GatewayPlan) -> GatewayPlan:
    """The plan with the tools that a person names at the terminal."""
    if not plan.waiting:
        return plan
    console.print_notice(
        "Agents are refused the tools with a number, or ask you, until you approve them."
    )
    while True:
        words = _split_names(
            [read_answer("Approve which? [numbers, names, SERVER.*, all; Enter: none]")]
        )
        tools = [word for word in words if not _is_choice(plan, word)]
        if not tools:
            return _grant(plan, words)
        console.print_notice(f"there is no tool {console.format_names(tools)}")


def plan_revocation(runtime: Runtime, paths: Sequence[Path]) -> GatewayPlan:
    """The approvals that setup was given with the servers in these files, and in no other one."""
    record = _load_approved(runtime)
    undone = tuple(dict.fromkeys(map(Path.as_posix, paths)))
    still_needed = {
        digest for path, digests in record.items() if path not in undone for digest in digests
    }
    approved = approvals.list_named(runtime.user_state_dir())
    revoked = {
        digest: approved[digest].id
        for path in undone
        for digest in record.get(path, ())
        if digest in approved and digest not in still_needed
    }
    return GatewayPlan(revoked=revoked, undone_paths=undone)


def carry_out(runtime: Runtime, plan: GatewayPlan) -> None:
    """Approve and take back what the plan says, and remember it for `--undo`."""
    folder = runtime.user_state_dir()
    if plan.revoked:
        approvals.revoke_named(folder, plan.revoked)
    record = _load_approved(runtime)
    changed = {path: list(record[path]) for path in record if path not in plan.undone_paths}
    if plan.granted:
        changed[plan.path] = list(dict.fromkeys([*changed.get(plan.path, ()), *plan.granted]))
    if changed != record:
        _save_approved(runtime, changed)
    # Last: approvals that no record has could not be taken back.
    approvals.approve_named(folder, plan.granted)


def format_plan(runtime: Runtime, plan: GatewayPlan) -> Iterator[str]:
    """The servers with their tools, of which those that wait for approval have a number; or the
    approvals that are taken back.
    """
    for identifier in plan.revoked.values():
        yield f"no longer approved: {console.sanitise(identifier)}"
    numbers = {tool.digest: number for number, tool in enumerate(plan.waiting, 1)}
    for server in plan.selection.served:
        yield ""
        document = describe_server(runtime, server)
        yield from format_server(document, "its tools are not known", "approved")
        if document["tools"]["asked"]:
            yield "  not declared as read-only:"
        for tool in plan.waiting:
            if tool.declaration.name == server.name:
                mark = "approve" if tool.digest in plan.granted else "       "
                mark = mark if plan.is_chosen else f"{numbers[tool.digest]:>4}"
                yield console.sanitise(f"  {mark}  {_describe_tool(tool)}")


def plan_document(runtime: Runtime, plan: GatewayPlan) -> JsonObject:
    """What `--json` tells of the plan."""
    return {
        "servers": [describe_server(runtime, server) for server in plan.selection.served],
        "approve": list(plan.granted.values()),
        "revoke": list(plan.revoked.values()),
    }


def print_next_steps(plan: GatewayPlan) -> None:
    """Print what is left to do for the person who set the gateway up."""
    remaining = [tool for tool in plan.waiting if tool.digest not in plan.granted]
    if plan.granted:
        names = console.format_names(list(plan.granted.values()))
        console.print_notice(f"notice: approved, as they are now: {names}")
    if remaining:
        count = console.format_count(len(remaining), "tool")
        console.print_notice(
            f"notice: {count} not approved: agents ask you, or are refused; later: "
            f"capdisc trust {remaining[0].descriptor.id}"
        )


def list_answering(runtime: Runtime, plan: GatewayPlan) -> list[ServerDeclaration]:
    """The servers of the gateway that have listed their tools."""
    return [
        server for server in plan.selection.served if describe_server(runtime, server)["listed"]
    ]


def _split_names(texts: Sequence[str]) -> list[str]:
    """The names in texts that separate them by commas or blanks."""
    return [word for text in texts for word in text.replace(",", " ").split()]


def _ask_servers(runtime: Runtime, selection: ServerSelection) -> None:
    """Ask the servers for their tools whose list is missing or old."""
    gateway = Gateway(selection.served, gateway_places(runtime))
    try:
        names = gateway.stale_servers()
        if names:
            console.print_notice(f"asking for their tools: {console.format_names(names)}")
        refresh = gateway.refresh_lists(names)
    finally:
        gateway.close()
    for name, problem in refresh.problems.items():
        console.print_notice(f"notice: the tools of {name} are not listed: {problem}")


def _grant(plan: GatewayPlan, words: Sequence[str]) -> GatewayPlan:
    granted = {
        tool.digest: tool.descriptor.id
        for number, tool in enumerate(plan.waiting, 1)
        if any(word == str(number) or _fits(tool, word) for word in words)
    }
    return replace(plan, granted=granted, is_chosen=True)


def _is_choice(plan: GatewayPlan, word: str) -> bool:
    """Whether the word is a number of the list, or names a tool in it."""
    if word.isdigit():
        return 1 <= int(word) <= len(plan.waiting)
    return any(_fits(tool, word) for tool in plan.waiting)


def _fits(tool: ServerTool, word: str) -> bool:
    """Whether the word is `all`, the name of the tool, its id, or a pattern of ids."""
    folded, name = word.casefold(), _short_id(tool).casefold()
    return (
        folded in (_ALL, tool.descriptor.name.casefold())
        or fnmatchcase(name, folded)
        or fnmatchcase(f"tool:{name}", folded)
    )


def _short_id(tool: ServerTool) -> str:
    """The id without its kind: `git.git_commit`."""
    return tool.descriptor.id.partition(":")[2]


def _describe_tool(tool: ServerTool) -> str:
    from capdisc_indexer.text.normalization import one_line

    about = one_line(tool.descriptor.description, _DESCRIPTION_CHARACTERS)
    warning = gateway_lists.annotations_of(tool.descriptor).get("destructiveHint") is True
    return f"{_short_id(tool)}: {about}{' (it may destroy something)' if warning else ''}"


def _approved_path(runtime: Runtime) -> Path:
    return runtime.user_state_dir() / "setup" / "approved.json"


def _load_approved(runtime: Runtime) -> dict[str, list[str]]:
    """What approvals hold for that setup was given, by the path of the settings file."""
    path = _approved_path(runtime)
    data = state_file.read_state_file(path)
    if data is None:
        return {}
    try:
        files = json_module.loads(data)["files"]
        return {str(name): [str(digest) for digest in files[name]] for name in files}
    except MALFORMED_DATA_ERRORS as error:
        raise InputError(
            f"cannot read {path}", "remove it; approvals then go by: capdisc trust --revoke ID"
        ) from error


def _save_approved(runtime: Runtime, record: Mapping[str, Sequence[str]]) -> None:
    path = _approved_path(runtime)
    with state_file.lock_folder(path.parent):
        if not record:
            state_file.remove(path)
            return
        document = {"version": 1, "files": record}
        state_file.replace_state_file(path, json_module.dumps(document, indent=1).encode())
