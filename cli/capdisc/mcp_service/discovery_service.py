"""What agents are offered over MCP: the tools, their answers, and the overview."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from capdisc.context import surroundings
from capdisc.mcp_service.live_index import LiveIndex
from capdisc.output import console
from capdisc_indexer import tools
from capdisc_indexer.execution.call_types import Caller
from capdisc_indexer.lazy_imports import load_token_counter
from capdisc_indexer.model.errors import (
    ApprovalRequiredError,
    IndexStateError,
    UsageError,
)
from capdisc_indexer.model.frozen import frozen, replace
from capdisc_indexer.model.json_types import Arguments, CategoryRecord, JsonObject
from capdisc_indexer.model.types import Descriptor
from capdisc_indexer.rendering.formats.format import MORE_CATEGORIES
from capdisc_indexer.store.durable_files import distrust_reason
from capdisc_indexer.store.snapshot import Index
from capdisc_indexer.text.normalization import one_line
from capdisc_indexer.tools import tool_selection
from capdisc_indexer.tools.definitions import encode_definitions
from capdisc_indexer.tools.tool_types import Executor, ToolAnswer

if TYPE_CHECKING:
    from capdisc_indexer.execution.gateway import Gateway

EXECUTE_TOOL = "execute_tool"
# The tools that a server offers before there is an index.
_TOOLS_WITHOUT_INDEX = tuple(name for name in tools.BRIDGE_TOOLS if name != EXECUTE_TOOL)


@frozen(kw_only=True)
class DiscoveryService:
    """What agents are offered from the index: the tools of these names (where none are named, all
    that have data), and `run`, which builds an executor of capabilities, None where running is not
    allowed.
    """

    live: LiveIndex
    names: tuple[str, ...]
    run: Callable[[Index, Caller], Executor] | None

    def tools(self) -> list[JsonObject]:
        """The definitions of the tools as `tools/list` of MCP has them."""
        try:
            with self.live.open_newest() as current:
                definitions = tool_selection.discovery_definitions(
                    current.tool_ctx, hidden=bool(self.names)
                )
        except IndexStateError:
            return [
                _tool_document(tools.TOOLS[name])
                for name in _TOOLS_WITHOUT_INDEX
                if self._offers(name)
            ]
        value, _ = encode_definitions(
            "mcp", [definition for definition in definitions if self._offers(definition.name)]
        )
        tool_documents: list[JsonObject] = value["tools"]
        return tool_documents

    def answer(self, name: str, arguments: Arguments, caller: Caller) -> str:
        """The answer of a tool as JSON. Raises UsageError, which lists what is offered, for
        another tool.
        """
        try:
            ready = tools.bind_call(name, arguments)
        except UsageError as error:
            if tools.find_tool(name):
                raise
            raise UsageError(error.message, self._offered_hint()) from None
        if not self._offers(ready.tool.name):
            raise UsageError(f"{ready.tool.name} is not offered here", self._offered_hint())
        with self.live.open_newest() as current:
            execute = self.run(current.ctx.index, caller) if self.run else None
            tool_ctx = replace(current.tool_ctx, execute=execute, offers=self._offers)
            answer = ready.tool.answer(tool_ctx, ready.arguments)
        notices = {"notices": list(ready.notices)} if ready.notices else {}
        return console.format_json_text(answer | notices, None)

    def overview(self) -> str:
        """A line for each category, within the budget of tier 0; where they are too many, for the
        largest ones.
        """
        with self.live.open_newest() as current:
            categories = current.ctx.index.overview["categories"]
            budget_tokens = int(current.ctx.config["tier0_budget"])
        count = load_token_counter()
        return _fit_categories(categories, lambda text: count(text) <= budget_tokens)

    def _offered_hint(self) -> str:
        return f"there are: {', '.join(tool['name'] for tool in self.tools())}"

    def _offers(self, name: str) -> bool:
        return (not self.names or name in self.names) and (
            name != EXECUTE_TOOL or self.run is not None
        )


def select_tools(names: Sequence[str]) -> tuple[str, ...]:
    """The names of the tools with these names, aliases or groups, several by comma. Raises
    UsageError, which lists the groups, for an unknown name.
    """
    requested = [name.strip() for text in names for name in text.split(",") if name.strip()]
    groups = {tool.group for tool in tools.TOOLS.values()}
    selected: list[str] = []
    for name in requested:
        tool = tools.find_tool(name)
        if tool is None and name not in groups:
            raise UsageError(
                f"there is no discovery tool {name!r}",
                f"groups: {', '.join(sorted(groups))}; capdisc tools --all --names lists the tools",
            )
        if tool:
            selected.append(tool.name)
        else:
            selected += [member.name for member in tools.TOOLS.values() if member.group == name]
    return tuple(dict.fromkeys(selected))


def _fit_categories(categories: Sequence[CategoryRecord], fits: Callable[[str], bool]) -> str:
    """All categories with the longest lines at which they fit; else as many of the shortest lines
    as fit, and how many more there are.
    """
    for length in range(len(categories[0]["lines"]) if categories else 0):
        if fits(text := "\n".join(category["lines"][length] for category in categories)):
            return text
    lines = [category["lines"][-1] for category in categories]

    def first_lines(count: int) -> str:
        return "\n".join([*lines[:count], MORE_CATEGORIES.format(count=len(lines) - count)])

    count = bisect_left(
        range(1, len(lines)), True, key=lambda number: not fits(first_lines(number))
    )
    return first_lines(count) if lines else ""


def _tool_document(tool: tools.Tool) -> JsonObject:
    return {
        "name": tool.name,
        "description": tool.description,
        "inputSchema": dict(tool.input_schema),
    }


def build_executor(
    runtime: surroundings.Runtime,
    yes: bool,
    gateway: Gateway | None,
    runs_commands: bool,
    index: Index,
    caller: Caller,
) -> Executor:
    """The function that runs a capability of this index: a tool of a server by the gateway, any
    other one, where `runs_commands`, as `capdisc run` does without a terminal.
    """
    from capdisc_indexer.execution import agent_execution
    from capdisc_indexer.execution.call_types import ExecutionContext

    execution_ctx = ExecutionContext(
        environ=runtime.environ, cwd=runtime.cwd, roots=tuple(index.scan["roots"])
    )

    def run(descriptor: Descriptor, arguments: Arguments) -> ToolAnswer:
        if doubt := distrust_reason(index.index_dir):
            raise ApprovalRequiredError(
                f"nothing is run from this index: {doubt}", "capdisc doctor says what mends it"
            )
        if gateway and gateway.serves(descriptor):
            return gateway.call(descriptor, arguments, caller)
        if not runs_commands and descriptor.run:
            raise ApprovalRequiredError(
                f"{one_line(descriptor.id, 100)} was not run: here only tools of MCP servers are",
                "start the server with --allow-run, too",
            )
        return agent_execution.run_for_agent(
            descriptor, arguments, execution_ctx, runtime.state_dir(), yes, caller.is_stopped
        )

    return run
