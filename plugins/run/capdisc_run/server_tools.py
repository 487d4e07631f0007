"""Tools of the MCP servers that clients' files name, for a person at the terminal: what `capdisc
trust` shows, approves, revokes and lists, and what `capdisc run` calls.

An approval holds here as for `capdisc mcp --gateway`, which then calls the tool without asking.
"""

from __future__ import annotations

import json as json_module
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from capdisc.output import console
from capdisc.output.command_process import YES, ExitCode, read_answer
from capdisc_indexer.model.errors import ApprovalRequiredError
from capdisc_indexer.model.frozen import frozen, replace
from capdisc_indexer.model.json_types import Arguments, JsonObject
from capdisc_indexer.model.types import Descriptor
from capdisc_indexer.text.normalization import one_line
from capdisc_indexer.text.shell_quoting import quote_word
from capdisc_indexer.tools.call_context import Caller, Consent
from capdisc_run import approvals, gateway_lists
from capdisc_run.approved_runs import has_person
from capdisc_run.call_preview import tools_call_message
from capdisc_run.call_types import CallLimits, Outcome
from capdisc_run.gateway_lists import approval_reason
from capdisc_run.gateway_servers import describe_start, gateway_places, select_servers

if TYPE_CHECKING:
    from capdisc.context.surroundings import Runtime
    from capdisc_indexer.config.client_servers import ServerDeclaration


@frozen(kw_only=True)
class ServerTool:
    """A tool of a served MCP server, as its list has it; an approval holds for `digest`."""

    descriptor: Descriptor
    declaration: ServerDeclaration
    digest: str


def find_tools(runtime: Runtime, pattern: str) -> list[ServerTool]:
    """The tools of served servers with this id, or whose ids fit the pattern (`tool:server.*`)."""
    tools = list(list_tools(runtime))
    exact = [tool for tool in tools if tool.descriptor.id == pattern]
    return exact or [tool for tool in tools if fnmatchcase(tool.descriptor.id, pattern)]


def approve_tools(runtime: Runtime, tools: Sequence[ServerTool], yes: bool, json: bool) -> int:
    """Print these tools, and approve calls of them once somebody says yes. Raises
    ApprovalRequiredError where nobody does.
    """
    waiting = [tool for tool in tools if not is_allowed(runtime, tool)]
    if not json:
        for tool in tools:
            console.print_lines(_format_tool(tool))
    if waiting and not yes:
        _require_yes(runtime, waiting)
    digests = {tool.digest: tool.descriptor.id for tool in waiting}
    approvals.approve_named(runtime.user_state_dir(), digests)
    if json:
        documents = [_tool_document(tool) for tool in tools]
        console.print_document({"tools": documents})
    elif waiting:
        names = console.format_names([tool.descriptor.id for tool in waiting])
        console.print_notice(f"notice: approved, as they are now: {names}")
    else:
        console.print_notice("notice: they are called without a question already")
    return ExitCode.OK


def revoke_tools(runtime: Runtime, pattern: str, json: bool) -> int:
    """Take back approvals of tools by id or pattern, also of servers that are gone."""
    folder = runtime.user_state_dir()
    fitting = [
        digest
        for digest, named in approvals.list_named(folder).items()
        if named.id == pattern or fnmatchcase(named.id, pattern)
    ]
    revoked = approvals.revoke_named(folder, fitting)
    if json:
        console.print_document({"revoked": revoked})
    elif revoked:
        console.print_lines(f"no longer approved: {console.sanitise(text)}" for text in revoked)
    else:
        console.print_lines([f"nothing was approved of {console.sanitise(pattern)}"])
    return ExitCode.OK


def list_approved(runtime: Runtime) -> list[JsonObject]:
    """A row for each approval of a tool: its id, since when, and whether it still holds."""
    current = {tool.digest for tool in list_tools(runtime)}
    return [
        {
            "tool": entry.id,
            "at": entry.at,
            "state": "as approved" if digest in current else "changed or not served",
        }
        for digest, entry in approvals.list_named(runtime.user_state_dir()).items()
    ]


def list_tools(runtime: Runtime, names: Sequence[str] = ()) -> Iterator[ServerTool]:
    """The tools in the kept lists of the served servers, or of those with these names."""
    runtime = _find_lists(runtime)
    for declaration in select_servers(runtime, runtime.config(), names).served:
        yield from _read_tools(runtime, declaration) or ()


def _read_tools(runtime: Runtime, declaration: ServerDeclaration) -> list[ServerTool] | None:
    """The tools in the kept list of the server; None where there is no list yet."""
    folder = runtime.tool_lists_dir
    stored = gateway_lists.read_list(folder, declaration.name)
    if stored is None:
        return None
    pages = [{"tools": list(stored.tools)}]
    return [
        _server_tool(descriptor, declaration)
        for descriptor in gateway_lists.list_descriptors(folder, declaration, pages)
    ]


def _server_tool(descriptor: Descriptor, declaration: ServerDeclaration) -> ServerTool:
    digest = gateway_lists.approval_digest(descriptor, declaration)
    return ServerTool(descriptor=descriptor, declaration=declaration, digest=digest)


def _find_lists(runtime: Runtime) -> Runtime:
    """The surroundings with lists of tools: those of the home folder, whose index answers in a
    workspace that has nothing of its own, where there are none here.
    """
    home = runtime.at_home()
    return home if home.has_tool_lists() and not runtime.has_tool_lists() else runtime


def is_allowed(runtime: Runtime, tool: ServerTool) -> bool:
    """Whether the tool is called without a question: it only reads, or was approved."""
    return gateway_lists.is_read_only(tool.descriptor) or approvals.is_approved(
        runtime.user_state_dir(), tool.digest
    )


def describe_server(runtime: Runtime, declaration: ServerDeclaration) -> JsonObject:
    """The served server: where it is declared, what is started, and its tools by how calls of them
    are made: "read_only" (without a question), "approved" or "asked".
    """
    tools = _read_tools(runtime, declaration)
    states: dict[str, list[str]] = {"read_only": [], "approved": [], "asked": []}
    for tool in tools or ():
        state = "approved" if is_allowed(runtime, tool) else "asked"
        if gateway_lists.is_read_only(tool.descriptor):
            state = "read_only"
        states[state].append(tool.descriptor.name)
    return {
        "server": declaration.name,
        "client": declaration.client,
        "path": declaration.path,
        "scope": declaration.scope,
        "start": describe_start(declaration),
        "listed": tools is not None,
        "tools": states,
    }


def format_server(document: JsonObject, unlisted: str, approved: str) -> Iterator[str]:
    """The lines about a server that `describe_server` describes, but not the tools that are asked
    about. `unlisted` says that it has no list of tools, `approved` what was approved.
    """
    yield console.sanitise(f"{document['server']}: {document['start']}")
    yield console.sanitise(f"  declared in {document['path']} ({document['client']})")
    if not document["listed"]:
        yield f"  {unlisted}"
    elif not any(document["tools"].values()):
        yield "  it lists no tools"
    labels = {"read_only": "only read, so called without a question", "approved": approved}
    for state, label in labels.items():
        if names := document["tools"][state]:
            yield console.sanitise(f"  {label}: {console.format_names(names)}")


def call_tool(
    runtime: Runtime,
    tool: ServerTool,
    arguments: Arguments,
    seconds: float | None,
    max_bytes: int,
    yes: bool,
) -> tuple[Outcome, CallLimits]:
    """What a call of the tool gave, and the limits that it had; `seconds` None stands for the time
    that the entry of the server sets.

    Raises ApprovalRequiredError where nobody agrees to it, and what `Gateway.run` raises.
    """
    from capdisc_run.gateway import Gateway

    def confirm(question: str, _: str) -> Consent:
        return Consent.ONCE if yes else _ask(runtime, tool, question)

    gateway = Gateway([tool.declaration], gateway_places(runtime))
    try:
        limits = replace(gateway.limits_of(tool.descriptor), max_bytes=max_bytes)
        if seconds is not None:
            limits = replace(limits, seconds=seconds)
        caller = Caller(confirm=confirm)
        return gateway.run(tool.descriptor, arguments, caller, limits), limits
    finally:
        gateway.close()


def find_listed_tool(runtime: Runtime, descriptor: Descriptor) -> ServerTool | None:
    """The capability as a tool of a server that a client's file names; None for any other one.
    Raises ApprovalRequiredError where its server is not served, for example since it waits for
    trust.
    """
    name = gateway_lists.server_of(descriptor, runtime.tool_lists_dir)
    if not name:
        return None
    selection = select_servers(runtime, runtime.config())
    for declaration in selection.served:
        if declaration.name == name:
            return _server_tool(descriptor, declaration)
    reasons = [reason for server, reason in selection.left_out if server.name == name]
    raise ApprovalRequiredError(
        f"{one_line(descriptor.id, 100)} was not called: its server "
        f"{reasons[0] if reasons else 'is in no file of a client any more'}",
        "capdisc mcp --gateway --list says which servers are served",
    )


def call_document(runtime: Runtime, tool: ServerTool, arguments: Arguments) -> JsonObject:
    """What a call of the tool would be, as JSON: `call`, and `asks`, why somebody has to agree."""
    start = describe_start(tool.declaration)
    message = tools_call_message(tool.descriptor.name, arguments)
    return {
        "id": tool.descriptor.id,
        "call": {
            "kind": "mcp",
            "server": tool.declaration.name,
            "start": start,
            "tool": tool.descriptor.name,
            "arguments": dict(arguments),
            "line": f"{start} <<< {quote_word(message)}",
        },
        "asks": [] if is_allowed(runtime, tool) else [approval_reason(tool.descriptor)],
    }


def _ask(runtime: Runtime, tool: ServerTool, question: str) -> Consent:
    """What the person at the terminal says to the call; "any" is remembered as `capdisc trust`
    remembers it.
    """
    identifier = one_line(tool.descriptor.id, 100)
    if not has_person(runtime):
        raise ApprovalRequiredError(
            f"{identifier} was not called: {approval_reason(tool.descriptor)}, "
            "and nobody has approved it",
            f"look at it with --dry-run, then add --yes, or approve it: capdisc trust {identifier}",
        )
    console.print_notice(console.sanitise(f"It is a tool of {describe_start(tool.declaration)}"))
    console.print_notice("note: any says yes to every argument from now on, also of an agent")
    answer = read_answer(f"{console.sanitise(question)} [y/N/any]")
    if answer == "any":
        approvals.approve_named(runtime.user_state_dir(), {tool.digest: tool.descriptor.id})
    elif answer not in YES:
        raise ApprovalRequiredError(
            f"{identifier} was not called", "--dry-run prints the call without making it"
        )
    return Consent.ONCE


def _require_yes(runtime: Runtime, tools: Sequence[ServerTool]) -> None:
    """Ask at the terminal. Raises ApprovalRequiredError for another answer than yes."""
    names = console.format_names([tool.descriptor.id for tool in tools])
    if not has_person(runtime):
        raise ApprovalRequiredError(
            f"not approved, since nobody is there to say yes: {names}",
            "run it at a terminal, or add --yes",
        )
    if read_answer(f"May agents call {names} with any arguments? [y/N]") not in YES:
        raise ApprovalRequiredError(f"not approved: {names}", "agents are refused, or ask you")


def _format_tool(tool: ServerTool) -> Iterator[str]:
    descriptor = tool.descriptor
    yield console.sanitise(f"{descriptor.id} of {describe_start(tool.declaration)}")
    yield console.sanitise(f"  {descriptor.description}")
    parameters = ", ".join(parameter.name for parameter in descriptor.parameters)
    yield console.sanitise(f"  takes: {parameters or 'nothing'}")
    if gateway_lists.is_read_only(descriptor):
        yield "  its server says that it only reads"
    else:
        yield f"  {approval_reason(descriptor)}"


def _tool_document(tool: ServerTool) -> JsonObject:
    descriptor = tool.descriptor
    return {
        "id": descriptor.id,
        "server": tool.declaration.name,
        "path": tool.declaration.path,
        "description": descriptor.description,
        "schema": json_module.loads(json_module.dumps(descriptor.schema, default=str)),
        "read_only": gateway_lists.is_read_only(descriptor),
        "approved": True,
    }
