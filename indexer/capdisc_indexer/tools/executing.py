"""execute_tool: a capability by its name. Without leave to run it, the answer is the call for the agent to make."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from capdisc_indexer.arguments import filled, problems
from capdisc_indexer.arguments.walk import mapping
from capdisc_indexer.errors import UsageError
from capdisc_indexer.text import one_line
from capdisc_indexer.tools.definitions.made import schema_of
from capdisc_indexer.tools.definitions.parameters import own_names
from capdisc_indexer.tools.held import held, records, text
from capdisc_indexer.tools.inputs import inputs, name
from capdisc_indexer.tools.lookup import whole_of
from capdisc_indexer.tools.searching import exact
from capdisc_indexer.tools.values import Desk, Tool, ToolAnswer
from capdisc_indexer.types import Descriptor


def _execute(desk: Desk, arguments: Mapping[str, Any]) -> ToolAnswer:
    called, given = arguments["tool_name"], arguments["arguments"]
    heads = exact(desk, called)
    if not heads and (tool := _discovery_tool(called)):
        return _asked(desk, tool.name, given)
    descriptor = _wanted(desk, called, heads)
    given = own_names(schema_of(descriptor), given)
    if wrong := problems(descriptor.schema, given):
        what = f"arguments that {one_line(descriptor.id, 100)} does not take: {'; '.join(wrong)}"
        raise UsageError(what, f'capdisc call search_tool \'{{"query": "{one_line(descriptor.id, 100)}"}}\' says which')
    whole = filled(descriptor.schema, given)
    if descriptor.run:
        # Here, too: an agent that is told the command fills it in by itself.
        from capdisc_indexer.program_text.misuses import refuse_misuses

        refuse_misuses(descriptor.id, descriptor.run, descriptor.schema)
    if desk.execute is not None:
        # What is run fills in the defaults as its file has them; here their keys are masked.
        return desk.execute(descriptor, given if descriptor.run else whole)
    message = "This was not run. Make the call yourself, or let capdisc run make it."
    return {
        "executed": False,
        "tool": descriptor.id,
        "arguments": whole,
        "call": call_of(descriptor),
        "message": message,
    }


def _discovery_tool(called: str) -> Tool | None:
    """The discovery tools are called by name too, by who was given no more than the few. They are listed above this
    module, so they are looked up late."""
    from capdisc_indexer import tools

    return tools.tool_named(called.removeprefix("capdisc:"))


def _asked(desk: Desk, name: str, given: Mapping[str, Any]) -> ToolAnswer:
    from capdisc_indexer import tools

    if not desk.offers(name):
        raise UsageError(f"{name} is not offered here", "call one of the tools that are listed")
    return tools.call(desk, name, given)


def _wanted(desk: Desk, called: str, heads: list[dict[str, Any]]) -> Descriptor:
    callable_first = [head for head in heads if head["kind"] not in ("skill", "document", "section")] or heads
    if len(callable_first) == 1:
        return desk.index.whole(callable_first[0])
    if heads:
        listed = ", ".join(one_line(head["id"], 80) for head in callable_first[:10])
        raise UsageError(f"more than one capability is called {one_line(called, 80)!r}", f"say which: {listed}")
    return desk.index.descriptor(called)  # which says what comes nearest


def call_of(descriptor: Descriptor) -> dict[str, Any]:
    """How the capability is called, as far as its files say: a command, a tool of an MCP server, an HTTP request."""
    facts, run = held(descriptor), mapping(descriptor.run)
    if text(facts, "method") and text(facts, "path"):
        request = {"api": whole_of(descriptor), "method": text(facts, "method"), "path": text(facts, "path")}
        return {
            "http": request | {"url": text(mapping(run.get("http")), "url"), "parameters": records(facts, "parameters")}
        }
    known = {key: run[key] for key in ("command", "mcp", "http") if key in run}
    return known or {"name": descriptor.name}


TOOLS = (
    Tool(
        name="execute_tool",
        description="Call a tool that search_tool found.",
        input_schema=inputs(
            "tool_name",
            tool_name=name("Its name or id."),
            arguments={"type": "object", "default": {}, "description": "What it takes, by name."},
        ),
        answer=_execute,
        group="discovery",
        aliases=("executeTool",),
    ),
)
