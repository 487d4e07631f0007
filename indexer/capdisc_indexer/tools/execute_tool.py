"""execute_tool: runs a capability by its name, or describes the call for the agent to make.

It runs only where the context has an executor.
"""

from __future__ import annotations

import capdisc_guard
from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.model.json_types import Arguments, CapabilityHeader, JsonObject
from capdisc_indexer.model.types import Descriptor
from capdisc_indexer.text.normalization import one_line
from capdisc_indexer.tools.call_binding import bind_arguments
from capdisc_indexer.tools.capability_lookup import (
    ambiguous_error,
    capability_metadata,
    container_name,
    record_list,
    text_value,
)
from capdisc_indexer.tools.discovery_tools import exact_matches, find_discovery_tool
from capdisc_indexer.tools.function_definitions import capability_schema
from capdisc_indexer.tools.parameter_schema import restore_names
from capdisc_indexer.tools.tool_types import Tool, ToolAnswer, ToolContext, load_tools
from capdisc_indexer.validation.arguments import fill_defaults, find_problems
from capdisc_indexer.validation.schema_walk import as_mapping

# Kinds that come second where they share a name with a capability of another kind.
_READ_KINDS = ("skill", "document", "section")


def _execute(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    name, call_arguments = arguments["tool_name"], arguments["arguments"]
    headers = exact_matches(ctx, name)
    if not headers and (tool := find_discovery_tool(ctx, name)):
        return _call_discovery_tool(ctx, tool, call_arguments)
    descriptor = _require_capability(ctx, name, headers)
    call_arguments = restore_names(capability_schema(descriptor), call_arguments)
    if problems := find_problems(descriptor.schema, call_arguments):
        identifier = one_line(descriptor.id, 100)
        raise UsageError(
            f"the arguments do not fit {identifier}: {'; '.join(problems)}",
            f'capdisc call search_tool \'{{"query": "{identifier}"}}\' says which',
        )
    if descriptor.run:
        # Also where nothing is run: an agent that is told the command fills it in by itself.
        capdisc_guard.refuse_misuses(descriptor.id, descriptor.run, descriptor.schema)
    filled_arguments = fill_defaults(descriptor.schema, call_arguments)
    if ctx.execute is not None:
        # A run fills in the defaults from the capability's file; those of the index have their
        # keys masked.
        return ctx.execute(descriptor, call_arguments if descriptor.run else filled_arguments)
    return unexecuted_call(descriptor, filled_arguments)


def unexecuted_call(descriptor: Descriptor, arguments: Arguments, reason: str = "") -> ToolAnswer:
    """The answer that nothing was run, with the call for somebody else to make."""
    why = f": {reason}" if reason else ""
    return {
        "executed": False,
        "tool": descriptor.id,
        "arguments": arguments,
        "call": describe_call(descriptor),
        "message": f"This was not run{why}. Make the call yourself, or let capdisc run make it.",
    }


def _call_discovery_tool(ctx: ToolContext, tool: Tool, arguments: Arguments) -> ToolAnswer:
    if not ctx.offers(tool.name):
        raise UsageError(
            f"{tool.name} is not offered here", "call one of the tools that are listed"
        )
    call = bind_arguments(ctx.tools, tool.name, arguments)
    return call.tool.answer(ctx, call.arguments)


def _require_capability(
    ctx: ToolContext, name: str, headers: list[CapabilityHeader]
) -> Descriptor:
    """The capability that the name means. Raises UsageError where it may mean several, and where
    it means none.
    """
    candidates = [header for header in headers if header["kind"] not in _READ_KINDS] or headers
    if len(candidates) > 1:
        raise ambiguous_error("capability", name, (header["id"] for header in candidates))
    if candidates:
        return ctx.index.full_descriptor(candidates[0])
    return ctx.index.descriptor(name)  # raises with the nearest names


def describe_call(descriptor: Descriptor) -> JsonObject:
    """How the capability is called, as far as its files say: `http` with the request, `command`,
    `mcp` with a tool of a server, or the `name` alone.
    """
    metadata, run = capability_metadata(descriptor), as_mapping(descriptor.run)
    if text_value(metadata, "method") and text_value(metadata, "path"):
        return {
            "http": {
                "api": container_name(descriptor),
                "method": text_value(metadata, "method"),
                "path": text_value(metadata, "path"),
                "url": text_value(as_mapping(run.get("http")), "url"),
                "parameters": record_list(metadata, "parameters"),
            }
        }
    run_parts = {key: run[key] for key in ("command", "mcp", "http") if key in run}
    return run_parts or {"name": descriptor.name}


TOOLS = load_tools("discovery", {"execute_tool": _execute})
