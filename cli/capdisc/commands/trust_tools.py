"""What `capdisc trust` shows, approves, revokes and lists for tools of MCP servers, which `capdisc
mcp --gateway` then calls without asking.
"""

from __future__ import annotations

import json as json_module
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from capdisc.commands.approval_prompt import YES, read_answer
from capdisc.context.gateway_servers import describe_start, gateway_places, select_servers
from capdisc.output import console
from capdisc.output.failures import ExitCode
from capdisc_indexer.execution import approvals, gateway_lists
from capdisc_indexer.model.errors import ApprovalRequiredError
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.json_types import JsonObject
from capdisc_indexer.model.types import Descriptor

if TYPE_CHECKING:
    from capdisc.context.surroundings import Runtime
    from capdisc_indexer.config.client_servers import ServerDeclaration


@frozen(kw_only=True)
class ServerTool:
    """A tool of a served MCP server, as its list has it; `digest` is what an approval holds for."""

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
    folder = gateway_places(runtime).approvals
    waiting = [tool for tool in tools if not is_allowed(runtime, tool)]
    if not json:
        for tool in tools:
            console.print_lines(_format_tool(tool))
    if waiting and not yes:
        _require_yes(runtime, waiting)
    approvals.approve_named(folder, {tool.digest: tool.descriptor.id for tool in waiting})
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
    """Take back the approvals of the tools with this id or pattern, also of servers that are gone."""
    folder = gateway_places(runtime).approvals
    revoked = approvals.revoke_named(
        folder, lambda identifier: identifier == pattern or fnmatchcase(identifier, pattern)
    )
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
        for digest, entry in approvals.list_named(gateway_places(runtime).approvals).items()
    ]


def list_tools(runtime: Runtime, names: Sequence[str] = ()) -> Iterator[ServerTool]:
    """The tools in the kept lists of the served servers, or of those with these names."""
    places = gateway_places(runtime)
    for declaration in select_servers(runtime, runtime.config(), names).served:
        stored = gateway_lists.read_list(places.lists, declaration.name)
        pages = [{"tools": list(stored.tools)}] if stored else []
        for descriptor in gateway_lists.list_descriptors(places.lists, declaration, pages):
            digest = gateway_lists.approval_digest(descriptor, declaration)
            yield ServerTool(descriptor=descriptor, declaration=declaration, digest=digest)


def is_allowed(runtime: Runtime, tool: ServerTool) -> bool:
    """Whether the tool is called without a question: it only reads, or was approved."""
    return gateway_lists.is_read_only(tool.descriptor) or approvals.is_approved(
        gateway_places(runtime).approvals, tool.digest
    )


def _require_yes(runtime: Runtime, tools: Sequence[ServerTool]) -> None:
    """Ask at the terminal. Raises ApprovalRequiredError for another answer than yes."""
    names = console.format_names([tool.descriptor.id for tool in tools])
    if not (runtime.stdin_is_terminal and runtime.stderr_is_terminal):
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
        yield f"  {gateway_lists.approval_reason(descriptor)}"


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
