"""What agents get over MCP: the answers of the tools in pages, the prompt, and the resources."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from capdisc.context import open_index, session_memory, surroundings
from capdisc.context.user_files import STDIN
from capdisc.mcp_service.live_index import LiveIndex
from capdisc.mcp_service.served_skills import SkillOffer
from capdisc.mcp_service.tool_offer import (
    ALL_TOOLS,
    ToolOffer,
    needs_index,
    offer_tools,
    server_instructions,
)
from capdisc.output import console
from capdisc.render.context import build_context
from capdisc.render.render_context import prepare_render
from capdisc.render.render_options import RenderOptions
from capdisc_indexer.lazy_imports import load_token_counter
from capdisc_indexer.model.errors import (
    ApprovalRequiredError,
    CapdiscError,
    IndexStateError,
    UsageError,
)
from capdisc_indexer.model.frozen import field, frozen, replace
from capdisc_indexer.model.json_types import Arguments, JsonObject
from capdisc_indexer.model.types import Descriptor
from capdisc_indexer.plugins import registry
from capdisc_indexer.store.durable_files import distrust_reason
from capdisc_indexer.store.snapshot import Index
from capdisc_indexer.text.normalization import one_line
from capdisc_indexer.tools.agent_tools import (
    AGENT_TOOLS,
    READ_TOOL,
    SOURCES_KEY,
    TEXT_KEY,
    overview_text,
)
from capdisc_indexer.tools.answer_pages import (
    MAX_ANSWER_TOKENS,
    CountTokens,
    digest_text,
    fit_text,
    page_answer,
    page_text,
    split_cursor,
)
from capdisc_indexer.tools.call_binding import BoundCall, bind_arguments
from capdisc_indexer.tools.call_context import Caller, Consent
from capdisc_indexer.tools.capability_reading import ReadRequest, read_capability
from capdisc_indexer.tools.discovery_tools import NOTHING_INDEXED
from capdisc_indexer.tools.function_definitions import (
    EXECUTE_TOOL,
    RUN_TOOL,
    RUN_TOOLS,
    WRITING_TOOLS,
)
from capdisc_indexer.tools.tool_types import Executor, ToolAnswer
from capdisc_indexer.validation.schema_walk import as_mapping

if TYPE_CHECKING:
    from capdisc_run.gateway import Gateway

_NOTHING = "Nothing here fits this task: {task}"
_MAX_COMPLETIONS = 100
_MAX_KEPT_RESULTS = 8
_MAX_KEPT_CHARACTERS = 8_000_000
# Room for the words around the message and the hint of an error.
_ERROR_TOKENS = MAX_ANSWER_TOKENS // 2 - 50

_encode = partial(console.format_json_text, indent=None)


class ResultStore:
    """The last results that cannot be asked for again, since the call would run again. They are
    read on by the digest in a cursor; the oldest go first.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._texts: OrderedDict[str, tuple[ToolAnswer, int]] = OrderedDict()

    def keep(self, answer: ToolAnswer) -> None:
        """Keep the answer until newer ones take its place."""
        text = _encode(answer)
        with self._lock:
            self._texts[digest_text(text)] = (answer, len(text))
            while len(self._texts) > 1 and (
                len(self._texts) > _MAX_KEPT_RESULTS
                or sum(size for _, size in self._texts.values()) > _MAX_KEPT_CHARACTERS
            ):
                self._texts.popitem(last=False)

    def find(self, cursor: str) -> ToolAnswer:
        """The answer that the cursor belongs to. Raises UsageError where it is not kept."""
        digest, _ = split_cursor(cursor)
        with self._lock:
            if digest in self._texts:
                return self._texts[digest][0]
        raise UsageError(
            "the result of this cursor is no longer kept",
            "run it again without the cursor, if it may run twice",
        )


@frozen(kw_only=True)
class DiscoveryService:
    """What agents are offered from the index: the tools of these names, the capabilities `pins`,
    its `skills`, and `run`, which builds an executor of capabilities, None where running is not
    allowed. All methods may raise CapdiscError.
    """

    live: LiveIndex
    names: tuple[str, ...]
    run: Callable[[Index, Caller], Executor] | None
    skills: SkillOffer
    pins: tuple[str, ...] = ()
    results: ResultStore = field(default_factory=ResultStore)

    @property
    def instructions(self) -> str:
        """What a client tells its model about the server."""
        return server_instructions(self.names)

    def tools(self) -> list[JsonObject]:
        """The definitions of the tools as `tools/list` of MCP has them."""
        offer = self._offer_tools()
        for name in offer.missing:
            console.print_notice(f"notice: the pinned {name} does not exist")
        return offer.documents

    def _offer_tools(self) -> ToolOffer:
        if needs_index(self.names, self.pins):
            with suppress(IndexStateError), self.live.open_newest() as current:
                return offer_tools(self.names, current.tool_ctx, self.pins)
        return offer_tools(self.names, None)

    def answer(self, name: str, arguments: Arguments, caller: Caller) -> tuple[str, bool]:
        """The answer of a tool, at most MAX_ANSWER_TOKENS long: a text, or JSON; and whether it
        tells of a tool of a server that failed. Raises UsageError, which lists what is offered,
        for another tool.
        """
        try:
            return self._answer(name, arguments, caller)
        except CapdiscError as error:
            error.message, error.hint = map(_shorten_error, (error.message, error.hint))
            raise

    def _answer(self, name: str, arguments: Arguments, caller: Caller) -> tuple[str, bool]:
        name, arguments = self._name_run_tool(name, arguments)
        own_arguments, cursor = _take_cursor(name, arguments)
        keeps_result = name in WRITING_TOOLS
        if cursor and keeps_result and self._offers(name):
            result = self.results.find(cursor)
            return page_answer(result, cursor, _encode, load_token_counter()), _has_failed(result)
        call = self._bind_call(name, own_arguments)
        answer = self._call_tool(call, caller)
        if TEXT_KEY in answer and answer.keys() <= {TEXT_KEY, SOURCES_KEY}:
            return page_text(answer[TEXT_KEY], cursor, load_token_counter()), False
        answer = answer | ({"notices": list(call.notices)} if call.notices else {})
        page = page_answer(answer, cursor, _encode, load_token_counter())
        if keeps_result:
            self.results.keep(answer)
        return page, _has_failed(answer)

    def _name_run_tool(self, name: str, arguments: Arguments) -> tuple[str, Arguments]:
        """The call of a pinned capability as one of the tool that runs capabilities, so that the
        same rules hold; any other call as it is.
        """
        if not self.pins or self._offers(name):
            return name, arguments
        definition = self._offer_tools().pinned.get(name)
        if definition is None:
            return name, arguments
        cursor = ""
        if "cursor" not in as_mapping(as_mapping(definition.schema).get("properties")):
            arguments, cursor = _take_cursor(name, arguments)
        tool, key = (RUN_TOOL, "id") if self._offers(RUN_TOOL) else (EXECUTE_TOOL, "tool_name")
        return tool, {key: definition.id, "arguments": arguments, "cursor": cursor}

    def _bind_call(self, name: str, arguments: Arguments) -> BoundCall:
        try:
            call = bind_arguments(ALL_TOOLS, name, arguments)
        except UsageError as error:
            if name in ALL_TOOLS:
                raise
            raise UsageError(error.message, self._offered_hint()) from None
        if not self._offers(call.tool.name):
            needs_leave = call.tool.name in RUN_TOOLS and self.run is None
            reason = ": nothing is run without --allow-run" if needs_leave else ""
            raise UsageError(f"{call.tool.name} is not offered here{reason}", self._offered_hint())
        return call

    def _call_tool(self, call: BoundCall, caller: Caller) -> ToolAnswer:
        builds = call.tool.name in AGENT_TOOLS
        with self.live.open_newest(builds=builds, is_stopped=caller.is_stopped) as current:
            execute = self.run(current.ctx.index, caller) if self.run else None
            tool_ctx = replace(current.tool_ctx, execute=execute, offers=self._offers)
            answer = call.tool.answer(tool_ctx, call.arguments)
            session_memory.record_call(current.ctx, call, answer)
            return answer

    def prompt(self, task: str) -> str:
        """What an agent is told of the capabilities that fit a task."""
        with self.live.open_newest(builds=True) as current:
            return render_prompt(current.ctx, task)

    def capability(self, identifier: str) -> str:
        """The text of one capability as `read_capability` answers it."""
        with self.live.open_newest() as current:
            request = ReadRequest(name=identifier)
            return read_capability(current.tool_ctx, request, load_token_counter())

    def complete_id(self, beginning: str) -> list[str]:
        """The first ids that begin so, with or without their kind."""
        with self.live.open_newest() as current:
            ids = current.ctx.index.columns.ids
            return [
                identifier
                for identifier in ids
                if identifier.startswith(beginning)
                or identifier.partition(":")[2].startswith(beginning)
            ][:_MAX_COMPLETIONS]

    def overview(self) -> str:
        """A line for each category within the budget of tier 0; if too many, for the largest ones."""
        with self.live.open_newest() as current:
            categories = current.ctx.index.overview["categories"]
            budget_tokens = int(current.ctx.config["tier0_budget"])
        count = load_token_counter()
        text = overview_text(categories, lambda text: count(text) <= budget_tokens)
        return text or NOTHING_INDEXED

    def _offered_hint(self) -> str:
        return f"there are: {', '.join(tool['name'] for tool in self._offer_tools().documents)}"

    def _offers(self, name: str) -> bool:
        return name in self.names


def _take_cursor(name: str, arguments: Arguments) -> tuple[Arguments, str]:
    """The arguments of the tool itself, and the cursor, which it does not know."""
    cursor = arguments.get("cursor") or ""
    if name == READ_TOOL or not cursor:
        return {key: value for key, value in arguments.items() if key != "cursor" or value}, ""
    if not isinstance(cursor, str):
        raise UsageError("a cursor is a string", "give it as the answer before named it")
    return {key: value for key, value in arguments.items() if key != "cursor"}, cursor


def _shorten_error(text: str) -> str:
    count: CountTokens = load_token_counter()
    stop = fit_text(text, 0, len(text), _ERROR_TOKENS, count)
    return text if stop == len(text) else f"{text[:stop].rstrip()} …"


def _has_failed(answer: ToolAnswer) -> bool:
    """Whether this is what a tool of an MCP server answered as it failed."""
    return "server" in answer and answer.get("status", "ok") != "ok"


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
    from capdisc_indexer.tools.call_context import ExecutionContext

    execution_ctx = ExecutionContext(
        environ=runtime.environ, cwd=runtime.cwd, roots=tuple(index.scan["roots"])
    )

    def run(descriptor: Descriptor, arguments: Arguments) -> ToolAnswer:
        if doubt := distrust_reason(index.index_dir):
            raise ApprovalRequiredError(
                f"nothing is run from this index: {doubt}", "capdisc doctor says how to fix it"
            )
        if gateway and gateway.serves(descriptor):
            yes_caller = replace(caller, confirm=lambda *_: Consent.ONCE)
            return gateway.call(descriptor, arguments, yes_caller if yes else caller)
        if not runs_commands and descriptor.run:
            raise ApprovalRequiredError(
                f"{one_line(descriptor.id, 100)} was not run: only tools of MCP servers are here",
                "start this server with --allow-run, too",
            )
        answer: ToolAnswer = registry.load_service("agent-runner").run_for_agent(
            descriptor, arguments, execution_ctx, runtime.state_dir(), yes, caller.is_stopped
        )
        return answer

    return run


def render_prompt(ctx: open_index.CommandContext, task: str) -> str:
    """The context that `capdisc render --tier 1,2` prints for the task, within the budget of the
    settings; a sentence where nothing fits. Raises UsageError for a task without words.
    """
    if task.strip() in ("", STDIN):  # the stdin of a server holds the protocol
        raise UsageError("the task is empty", "say in a sentence what has to be done")
    options = RenderOptions(words=[task], tier="1,2", hint="none")
    render_ctx = prepare_render(ctx, options)
    if render_ctx.relevant.is_empty:
        return _NOTHING.format(task=task)
    return render_ctx.form.format_context(render_ctx.form, build_context(render_ctx))
