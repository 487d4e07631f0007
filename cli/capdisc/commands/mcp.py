"""capdisc mcp: the discovery tools for an agent that speaks the Model Context Protocol."""

from __future__ import annotations

import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

from capdisc.args import params
from capdisc.args.params import option
from capdisc.context import open_index, surroundings, workspace_trust
from capdisc.context.open_index import build_tool_context
from capdisc.context.shared_index import provenance_warning
from capdisc.output import console, standard_streams
from capdisc_indexer import tools
from capdisc_indexer.config.configuration import Config
from capdisc_indexer.lazy_imports import load_token_counter, numpy
from capdisc_indexer.model.errors import (
    ApprovalRequiredError,
    CapdiscError,
    IndexStateError,
    UsageError,
)
from capdisc_indexer.model.frozen import frozen, replace
from capdisc_indexer.model.json_types import Arguments, CategoryRecord, JsonObject
from capdisc_indexer.model.types import Descriptor
from capdisc_indexer.remote import SharedIndex
from capdisc_indexer.remote.copy_refresh import refresh_copy
from capdisc_indexer.rendering.formats.format import MORE_CATEGORIES
from capdisc_indexer.store.durable_files import distrust_reason
from capdisc_indexer.store.generation import read_pointer
from capdisc_indexer.store.snapshot import Index
from capdisc_indexer.tools import tool_selection
from capdisc_indexer.tools.definitions import encode_definitions
from capdisc_indexer.tools.tool_types import Executor, ToolAnswer, ToolContext

# A shared index is looked at again and again while a server answers from its copy.

MIN_POLL_SECONDS = 10.0


def start_polling(shared: SharedIndex) -> None:
    """Copy what is new in the store now, and then every `fresh_for_s` seconds (at least 10) from a
    thread, until the process ends.

    A problem is printed once, until it is another one; meanwhile calls answer from the last copy.
    """
    problem = _refresh_copy(shared, "")
    threading.Thread(target=_poll_forever, args=(shared, problem), daemon=True).start()


def _poll_forever(shared: SharedIndex, problem: str) -> None:
    while True:
        time.sleep(max(shared.fresh_for_s, MIN_POLL_SECONDS))
        problem = _refresh_copy(shared, problem)


def _refresh_copy(shared: SharedIndex, last_problem: str) -> str:
    try:
        problem = "; ".join(refresh_copy(shared))
    except (CapdiscError, OSError) as error:
        problem = str(error)
    if problem and problem != last_problem:
        console.print_notice(f"notice: {problem}")
    return problem


EXECUTE_TOOL = "execute_tool"
# The tools that a server offers before there is an index.
_TOOLS_WITHOUT_INDEX = tuple(name for name in tools.BRIDGE_TOOLS if name != EXECUTE_TOOL)


@dataclass(slots=True)
class _OpenGeneration:
    """One generation, and how many calls answer from it now."""

    version: str
    ctx: open_index.CommandContext
    tool_ctx: ToolContext
    users: int = 0


class LiveIndex:
    """The newest generation, opened for its first call; an older one stays open until the last
    call that answers from it ends.
    """

    def __init__(
        self,
        runtime: surroundings.Runtime,
        config: Config,
        index_dir: Path,
        shared: SharedIndex | None,
    ) -> None:
        self._runtime, self._config = runtime, config
        self._index_dir, self._shared = index_dir, shared
        self._lock = threading.Lock()
        self._newest: _OpenGeneration | None = None
        with suppress(IndexStateError):  # with numpy the same answers take half the time
            numpy()

    def version(self) -> str:
        """The name of what is published, which changes with every generation."""
        return read_pointer(self._index_dir)

    @contextmanager
    def open_newest(self) -> Iterator[_OpenGeneration]:
        """The newest generation, which stays open inside. Raises IndexStateError where none is
        published.
        """
        with self._lock:
            current = self._load_newest()
            current.users += 1
        try:
            yield current
        finally:
            with self._lock:
                current.users -= 1
                self._release(current)

    def _load_newest(self) -> _OpenGeneration:
        version, previous = self.version(), self._newest
        if previous is not None and previous.version == version:
            return previous
        index = Index(self._index_dir, self._runtime.builder_id(self._index_dir, self._shared))
        ctx = open_index.CommandContext(runtime=self._runtime, config=self._config, index=index)
        self._newest = _OpenGeneration(version=version, ctx=ctx, tool_ctx=build_tool_context(ctx))
        if previous is not None:
            self._release(previous)
        return self._newest

    def _release(self, generation: _OpenGeneration) -> None:
        if generation is not self._newest and not generation.users:
            generation.ctx.index.close()


@frozen(kw_only=True)
class DiscoveryService:
    """What agents are offered from the index: the tools of these names (where none are named, all
    that have data), and `run`, which builds an executor of capabilities, None where running is not
    allowed.
    """

    live: LiveIndex
    names: tuple[str, ...]
    run: Callable[[Index, Callable[[], bool]], Executor] | None

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

    def answer(self, name: str, arguments: Arguments, is_stopped: Callable[[], bool]) -> str:
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
            execute = self.run(current.ctx.index, is_stopped) if self.run else None
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


def mcp(
    tools: Annotated[
        list[str] | None,
        option(metavar="NAMES", help="Only these tools or groups of tools, separated by commas."),
    ] = None,
    allow_run: Annotated[
        bool,
        option(
            "--allow-run",
            help="Also execute_tool, which runs calls that you agreed to at a terminal.",
        ),
    ] = False,
    yes: Annotated[
        bool, option("--yes", help="With --allow-run: run anything without asking.")
    ] = False,
    index_dir: params.IndexDir = None,
) -> int:
    """Serve the discovery tools over MCP on stdin and stdout, until stdin ends.

    Answers come from the newest index. When it changes, or there is one at last, clients get a
    notification that the tools and the overview (capdisc://tier0) have changed. Needs the extra:
    pip install 'capdisc[mcp]'.

    Example: capdisc mcp --tools discovery < /dev/null
    """
    if yes and not allow_run:
        raise UsageError("--yes goes with --allow-run", "without it nothing is run")
    names = select_tools(tools or ())
    if EXECUTE_TOOL in (tools or ()) and not allow_run:
        raise UsageError(f"{EXECUTE_TOOL} goes with --allow-run", "without it nothing is run")
    from capdisc_indexer.execution.mcp_server import ToolService, serve

    runtime = surroundings.current_runtime()
    config = runtime.config()
    workspace_trust.announce_settings(config)
    shared = runtime.shared_index(index_dir, config)
    live = LiveIndex(runtime, config, runtime.index_dir(index_dir, config), shared)
    if shared and allow_run:
        raise ApprovalRequiredError(
            f"nothing is run from this index: {provenance_warning(shared)}",
            "leave out --allow-run",
        )
    run = partial(_build_executor, runtime, yes) if allow_run else None
    service = DiscoveryService(live=live, names=names, run=run)
    surroundings.limit_malloc_arenas()
    with standard_streams.silence_native_stderr():
        if shared:
            start_polling(shared)
        serve(
            ToolService(
                tools=service.tools,
                answer=service.answer,
                overview=service.overview,
                version=live.version,
            )
        )
    return 0


def _build_executor(
    runtime: surroundings.Runtime, yes: bool, index: Index, is_stopped: Callable[[], bool]
) -> Executor:
    """The function that runs a capability of this index as `capdisc run` does without a
    terminal.
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
        return agent_execution.run_for_agent(
            descriptor, arguments, execution_ctx, runtime.state_dir(), yes, is_stopped
        )

    return run
