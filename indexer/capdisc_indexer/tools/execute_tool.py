"""execute_tool: a capability by its name. Without leave to run it, the answer is the call for the
agent to make.
"""

from __future__ import annotations

from typing import Any

from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.model.json_types import Arguments, CapabilityHeader
from capdisc_indexer.model.types import Descriptor
from capdisc_indexer.text.normalization import one_line
from capdisc_indexer.tools.capability_search import capability_metadata, record_list, text_value
from capdisc_indexer.tools.definitions.builders import capability_schema
from capdisc_indexer.tools.definitions.parameter_schema import restore_names
from capdisc_indexer.tools.name_lookup import container_name
from capdisc_indexer.tools.search_tool import exact_matches
from capdisc_indexer.tools.tool_types import (
    Tool,
    ToolAnswer,
    ToolContext,
    input_schema,
    name_schema,
)
from capdisc_indexer.validation.arguments import fill_defaults, find_problems
from capdisc_indexer.validation.arguments.schema_walk import as_mapping


def _execute(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    called, call_arguments = arguments["tool_name"], arguments["arguments"]
    headers = exact_matches(ctx, called)
    if not headers and (tool := _find_discovery_tool(called)):
        return _call_discovery_tool(ctx, tool.name, call_arguments)
    descriptor = _require_capability(ctx, called, headers)
    call_arguments = restore_names(capability_schema(descriptor), call_arguments)
    if wrong := find_problems(descriptor.schema, call_arguments):
        what = f"arguments that {one_line(descriptor.id, 100)} does not take: {'; '.join(wrong)}"
        raise UsageError(
            what,
            f'capdisc call search_tool \'{{"query": "{one_line(descriptor.id, 100)}"}}\' says which',
        )
    filled_arguments = fill_defaults(descriptor.schema, call_arguments)
    if descriptor.run:
        # Here, too: an agent that is told the command fills it in by itself.
        from capdisc_indexer.validation.program_text.misuses import refuse_misuses

        refuse_misuses(descriptor.id, descriptor.run, descriptor.schema)
    if ctx.execute is not None:
        # What is run fills in the defaults as its file has them; here their keys are masked.
        return ctx.execute(descriptor, call_arguments if descriptor.run else filled_arguments)
    message = "This was not run. Make the call yourself, or let capdisc run make it."
    return {
        "executed": False,
        "tool": descriptor.id,
        "arguments": filled_arguments,
        "call": describe_call(descriptor),
        "message": message,
    }


def _find_discovery_tool(called: str) -> Tool | None:
    """The discovery tools are called by name too, by who was given no more than the few. They are
    listed above this module, so they are looked up late.
    """
    from capdisc_indexer import tools

    return tools.find_tool(called.removeprefix("capdisc:"))


def _call_discovery_tool(ctx: ToolContext, name: str, arguments: Arguments) -> ToolAnswer:
    from capdisc_indexer import tools

    if not ctx.offers(name):
        raise UsageError(f"{name} is not offered here", "call one of the tools that are listed")
    return tools.call_tool(ctx, name, arguments)


def _require_capability(
    ctx: ToolContext, called: str, headers: list[CapabilityHeader]
) -> Descriptor:
    callable_first = [
        header for header in headers if header["kind"] not in ("skill", "document", "section")
    ] or headers
    if len(callable_first) == 1:
        return ctx.index.full_descriptor(callable_first[0])
    if headers:
        listed = ", ".join(one_line(header["id"], 80) for header in callable_first[:10])
        raise UsageError(
            f"more than one capability is called {one_line(called, 80)!r}", f"say which: {listed}"
        )
    return ctx.index.descriptor(called)  # which says what comes nearest


def describe_call(descriptor: Descriptor) -> dict[str, Any]:
    """How the capability is called, as far as its files say: a command, a tool of an MCP server,
    an HTTP request.
    """
    facts, run = capability_metadata(descriptor), as_mapping(descriptor.run)
    if text_value(facts, "method") and text_value(facts, "path"):
        request = {
            "api": container_name(descriptor),
            "method": text_value(facts, "method"),
            "path": text_value(facts, "path"),
        }
        return {
            "http": request
            | {
                "url": text_value(as_mapping(run.get("http")), "url"),
                "parameters": record_list(facts, "parameters"),
            }
        }
    run_parts = {key: run[key] for key in ("command", "mcp", "http") if key in run}
    return run_parts or {"name": descriptor.name}


TOOLS = (
    Tool(
        name="execute_tool",
        description="Call a tool that search_tool found.",
        input_schema=input_schema(
            "tool_name",
            tool_name=name_schema("Its name or id."),
            arguments={"type": "object", "default": {}, "description": "What it takes, by name."},
        ),
        answer=_execute,
        group="discovery",
        aliases=("executeTool",),
    ),
)
