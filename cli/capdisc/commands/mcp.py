"""capdisc mcp: the discovery tools for an agent that speaks the Model Context Protocol."""

from __future__ import annotations

import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

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
from capdisc_indexer.model.json_types import Arguments
from capdisc_indexer.model.types import Descriptor
from capdisc_indexer.remote.copy_refresh import refresh_copy
from capdisc_indexer.remote.remote_types import SharedIndex
from capdisc_indexer.rendering.formats.format import MORE_CATEGORIES
from capdisc_indexer.store.durable_files import distrust_reason
from capdisc_indexer.store.generation import read_pointer
from capdisc_indexer.store.snapshot import Index
from capdisc_indexer.tools import tool_selection
from capdisc_indexer.tools.definitions import encode_definitions
from capdisc_indexer.tools.tool_types import Executor, ToolAnswer, ToolContext

if TYPE_CHECKING:
    from capdisc_indexer.remote.remote_types import SharedIndex

# The index as a server needs it: always the newest, while calls may still answer from an older
# one.

# Follow a shared index while a server answers from its copy.

MIN_POLL_SECONDS = 10.0


def start_polling(shared: SharedIndex) -> None:
    """Look at the store now, and from then on every `fresh_for_s` seconds (10 at least), as long
    as the process lives.

    What stands in the way is said once, until it is something else; calls answer from the last
    copy meanwhile.
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
# What a server without an index offers until there is one.
_TOOLS_WITHOUT_INDEX = tuple(name for name in tools.BRIDGE_TOOLS if name != EXECUTE_TOOL)


@dataclass(slots=True)
class _OpenGeneration:
    """One generation with the number of calls that answer from it."""

    version: str
    ctx: open_index.CommandContext
    tool_ctx: ToolContext
    users: int = 0


class LiveIndex:
    """The newest generation, opened when it is first asked for."""

    def __init__(
        self,
        runtime: surroundings.Runtime,
        config: Config,
        index_dir: Path,
        shared: SharedIndex | None,
    ) -> None:
        self._here, self._config, self._index_dir, self._shared = runtime, config, index_dir, shared
        self._lock = threading.Lock()
        self._now: _OpenGeneration | None = None
        with suppress(IndexStateError):  # with arrays the same answers take half the time
            numpy()

    def version(self) -> str:
        """What is published; another text once that is something else."""
        return read_pointer(self._index_dir)

    @contextmanager
    def held(self) -> Iterator[_OpenGeneration]:
        """The newest generation, which stays open inside. Raises IndexStateError when there is
        none.
        """
        with self._lock:
            current = self._open_newest()
            current.users += 1
        try:
            yield current
        finally:
            with self._lock:
                current.users -= 1
                self._release(current)

    def _open_newest(self) -> _OpenGeneration:
        version, before = self.version(), self._now
        if before is not None and before.version == version:
            return before
        index = Index(self._index_dir, self._here.builder_id(self._index_dir, self._shared))
        ctx = open_index.CommandContext(runtime=self._here, config=self._config, index=index)
        self._now = _OpenGeneration(version=version, ctx=ctx, tool_ctx=build_tool_context(ctx))
        if before is not None:
            self._release(before)
        return self._now

    def _release(self, generation: _OpenGeneration) -> None:
        if generation is not self._now and not generation.users:
            generation.ctx.index.close()


@frozen(kw_only=True)
class DiscoveryService:
    """What agents are offered from the index: the tools of these names (all that can tell
    something, where none are named), and `run`, which makes what runs capabilities, if that is
    allowed.
    """

    live: LiveIndex
    names: tuple[str, ...]
    run: Callable[[Index, Callable[[], bool]], Executor] | None

    def tools(self) -> list[dict[str, Any]]:
        """Their definitions as `tools/list` has them."""
        try:
            with self.live.held() as now:
                definitions = tool_selection.discovery_definitions(
                    now.tool_ctx, hidden=bool(self.names)
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
        tool_documents: list[dict[str, Any]] = value["tools"]
        return tool_documents

    def answer(self, name: str, arguments: Arguments, stopped: Callable[[], bool]) -> str:
        """The answer of a tool as JSON. Raises UsageError for one that is not offered, with those
        that are.
        """
        try:
            ready = tools.bind_call(name, arguments)
        except UsageError as error:
            raise (
                error if tools.find_tool(name) else UsageError(error.message, self._offered_hint())
            ) from None
        if not self._offers(ready.tool.name):
            raise UsageError(f"{ready.tool.name} is not offered here", self._offered_hint())
        with self.live.held() as now:
            execute = self.run(now.ctx.index, stopped) if self.run else None
            answer = ready.tool.answer(
                replace(now.tool_ctx, execute=execute, offers=self._offers), ready.arguments
            )
        notices = {"notices": list(ready.notices)} if ready.notices else {}
        return console.format_json_text(answer | notices, None)

    def overview(self) -> str:
        """A line for each category, within the tokens that tier 0 has; where they are too many,
        the largest ones.
        """
        with self.live.held() as now:
            categories = now.ctx.index.overview["categories"]
            budget_tokens = int(now.ctx.config["tier0_budget"])
        count = load_token_counter()
        return _fit_categories(categories, lambda text: count(text) <= budget_tokens)

    def _offered_hint(self) -> str:
        return f"there are: {', '.join(tool['name'] for tool in self.tools())}"

    def _offers(self, name: str) -> bool:
        return (not self.names or name in self.names) and (
            name != EXECUTE_TOOL or self.run is not None
        )


def select_tools(names: Sequence[str]) -> tuple[str, ...]:
    """The tools of these names, aliases or groups, several by comma. Raises UsageError naming the
    groups there are.
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
        selected += (
            [tool.name]
            if tool
            else [candidate.name for candidate in tools.TOOLS.values() if candidate.group == name]
        )
    return tuple(dict.fromkeys(selected))


def _fit_categories(categories: Sequence[Mapping[str, Any]], fits: Callable[[str], bool]) -> str:
    """All the categories by the longest lines that fit, else as many as do with the number of the
    others.
    """
    for length in range(len(categories[0]["lines"]) if categories else 0):
        if fits(text := "\n".join(category["lines"][length] for category in categories)):
            return text
    lines = [category["lines"][-1] for category in categories]

    def first(shown: int) -> str:
        return "\n".join([*lines[:shown], MORE_CATEGORIES.format(count=len(lines) - shown)])

    shown = bisect_left(range(1, len(lines)), True, key=lambda number: not fits(first(number)))
    return first(shown) if lines else ""


def _tool_document(tool: tools.Tool) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.description,
        "inputSchema": dict(tool.input_schema),
    }


def mcp(
    tools: Annotated[
        list[str] | None,
        option(metavar="NAMES", help="Only these tools or groups of them, by comma."),
    ] = None,
    allow_run: Annotated[
        bool,
        option("--allow-run", help="execute_tool too: runs what was said yes to at a terminal."),
    ] = False,
    yes: Annotated[
        bool, option("--yes", help="With --allow-run: runs anything, asking nobody.")
    ] = False,
    index_dir: params.IndexDir = None,
) -> int:
    """Serve the discovery tools over MCP on stdin and stdout, until stdin ends.

    Answers come from the newest index; when it changes, or is there at last, clients are told that
    the tools and the overview (capdisc://tier0) have changed. Needs the extra: pip install
    'capdisc[mcp]'.

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
            f"nothing is run from this index: {provenance_warning(shared)}", "leave out --allow-run"
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
    runtime: surroundings.Runtime, yes: bool, index: Index, stopped: Callable[[], bool]
) -> Executor:
    """What runs a capability of this index, as `capdisc run` would where nobody sits."""
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
            descriptor, arguments, execution_ctx, runtime.state_dir(), yes, stopped
        )

    return run
