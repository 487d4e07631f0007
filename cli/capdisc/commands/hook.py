"""capdisc hook: what fits a prompt, for the hooks of agents' clients."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from capdisc.args import params
from capdisc.args.command_line import argument, option, parse_seconds
from capdisc.context import surroundings
from capdisc.hook.answer import (
    HEADING,
    Limits,
    Suggestion,
    Suggestions,
)
from capdisc.hook.clients import (
    AGENT_START,
    CLIENTS,
    MAX_EVENT_BYTES,
    PROMPT,
    SESSION_CHANGE,
    TOOL_USE,
    HookClient,
    HookEvent,
    find_client,
)
from capdisc.output import command_process, console
from capdisc.output.command_process import ExitCode
from capdisc_indexer.model.errors import (
    CapdiscError,
    ForeignIndexError,
    IndexStateError,
    UsageError,
)
from capdisc_indexer.model.frozen import asdict, frozen, replace

if TYPE_CHECKING:
    from capdisc.context.open_index import CommandContext

_REPEATED = "printed before in this session"
DEFAULT_BUDGET, DEFAULT_DETAIL_BUDGET, DEFAULT_LIMIT = 150, 1_000, 3


def hook(
    client: Annotated[str, argument(metavar="CLIENT", help=f"{', '.join(CLIENTS)}.")],
    max_tokens: Annotated[
        int | None,
        option(
            "--budget", min=1, help="At most this many tokens.  [default: 150; 1000 with --detail]"
        ),
    ] = None,
    limit: Annotated[
        int, option("-k", "--limit", min=1, max=10, help="At most this many capabilities.")
    ] = DEFAULT_LIMIT,
    detail: Annotated[
        bool,
        option(help="Add the part of the best one's text that fits, if it fits whole."),
    ] = False,
    gate: Annotated[
        str,
        option(
            help='auto: talk such as "thanks!" gets nothing; off: all is answered.',
            choices=("auto", "off"),
        ),
    ] = "auto",
    explain: Annotated[
        bool, option(help="Say on stderr why nothing, or not more, is printed.")
    ] = False,
    deadline: Annotated[
        float | None,
        option(
            metavar="TIME",
            parser=parse_seconds,
            help="Print nothing if it takes longer: 800ms, 2s.  [default: 800ms]",
        ),
    ] = None,
    no_build: Annotated[
        bool, option(help="Never build an index, nor bring it up to date.")
    ] = False,
    index_dir: params.IndexDir = None,
    json: Annotated[
        bool, option(help="Print what fits as JSON for programs, and remember nothing.")
    ] = False,
) -> int:
    """Suggest skills for a prompt: reads the JSON of a client's hook from stdin and prints the
    client's JSON with a line for each capability that fits, or nothing.

    capdisc setup writes the hook into a client's settings. It does not repeat itself in a session,
    and always ends with status 0, so that it never blocks a prompt: capdisc doctor shows what went
    wrong. A missing index is built in the background.

    Example: echo '{"prompt": "merge two PDF files"}' | capdisc hook claude
    """
    hook_client = find_client(client)
    if surroundings.is_terminal(sys.stdin):
        raise UsageError(
            "this command reads the JSON of a client's hook, and stdin is a terminal",
            f'try: echo \'{{"prompt": "merge two PDF files"}}\' | capdisc hook {hook_client.name}',
        )
    event = hook_client.read_event(command_process.read_stdin_bytes(MAX_EVENT_BYTES + 1))
    place = index_dir.absolute() if index_dir and ":/" not in str(index_dir) else index_dir
    if event.folder:
        surroundings.enter_folder(event.folder)
    limits = Limits(
        budget_tokens=max_tokens or (DEFAULT_DETAIL_BUDGET if detail else DEFAULT_BUDGET),
        capabilities=limit,
        detail=detail,
        gate=gate,
        client=hook_client.name,
    )
    request = HookRequest(
        client=hook_client, event=event, limits=limits, place=place, may_build=not no_build
    )
    if json:
        answer = _search_in_process(request)
        document = {
            "client": hook_client.name,
            "reason": answer.reason,
            "verdict": answer.verdict,
            "capabilities": [asdict(item) for item in answer.items],
        }
        console.print_document(document)
        return ExitCode.OK
    answer = _answer_event(request)
    if answer.items and not answer.is_shadow:
        console.print_result(_format_answer(request, answer))
    if answer.reason:
        console.print_notice(f"notice: {answer.reason}")
    if answer.verdict:
        console.print_notice(f"verdict: {answer.verdict}")
    return ExitCode.OK


@frozen(kw_only=True)
class HookRequest:
    """An event of a client, and how it may be answered."""

    client: HookClient
    event: HookEvent
    limits: Limits
    place: Path | None
    may_build: bool

    @property
    def session_key(self) -> tuple[Path, str, str]:
        """Where the session of the event is remembered: a folder, the client, and its session."""
        folder = surroundings.current_runtime().user_state_dir()
        return folder, self.client.name, self.event.session


def _answer_event(request: HookRequest) -> Suggestions:
    event = request.event
    if event.kind == SESSION_CHANGE:
        _forget_session(request)
        return Suggestions(reason=f"{event.name}: this session starts over")
    if event.kind == AGENT_START:
        return _repeat_for_agent(request)
    if event.kind == TOOL_USE:
        _record_use(request)
        return Suggestions(reason=f"used: {event.used or 'no skill or tool of a server'}")
    reason = _reason_to_skip_event(request)
    answer = Suggestions(reason=reason) if reason else _suggest_for_prompt(request)
    return _leave_out_repetitions(request, answer) if event.kind == PROMPT else answer


def _format_answer(request: HookRequest, answer: Suggestions) -> str:
    """The client's JSON: lines for its model and, where it can show them, names for the person."""
    lines = "".join(item.line for item in answer.items)
    detail = next((item.detail for item in answer.items if item.detail), "")  # of the best one
    document = request.client.format_context(request.event, HEADING + lines + detail)
    if answer.is_shown and request.client.shows_message:
        names = ", ".join(item.name for item in answer.items)
        document = {"systemMessage": f"capdisc: {names}", **document}
    return console.format_json_text(document, indent=None)


def _suggest_for_prompt(request: HookRequest) -> Suggestions:
    """What fits the prompt. An index that is missing or may be old is built meanwhile; where it is
    missing, that of the home folder answers.
    """
    from capdisc.context import background_build

    runtime, place, client = surroundings.current_runtime(), request.place, request.client.name
    try:
        answer = _search_in_process(request)
    except ForeignIndexError:
        raise
    except IndexStateError as error:
        if not request.may_build:
            raise
        state = background_build.start_build(runtime, place, client)
        answer = Suggestions()
        if place is None:
            from capdisc.context import open_index

            with suppress(CapdiscError), open_index.open_home_index() as ctx:
                answer = _search_index(ctx, request)
        return replace(answer, reason=f"{error.message}: {state}")
    if request.may_build:
        with suppress(CapdiscError):
            background_build.start_refresh(runtime, place, client)
    return answer


def _reason_to_skip_event(request: HookRequest) -> str:
    """Why the event gets no answer, whatever the index has; "" for a prompt to the model."""
    event = request.event
    if event.kind != PROMPT:
        if event.name == request.client.prompt_event:
            return "the JSON has no prompt"
        return f"nothing is printed at {event.name}"
    return "" if event.prompt else "the prompt is empty"


def _search_in_process(request: HookRequest) -> Suggestions:
    if reason := _reason_to_skip_event(request):
        return Suggestions(reason=reason)
    # Not imported for an event that gets no answer.
    from capdisc.context import open_index

    with open_index.open_index(request.place, may_build=False) as ctx:
        if request.may_build and ctx.freshness.state == "behind":
            from capdisc.context import background_build

            background_build.start_update(ctx.place, request.client.name)
        return _search_index(ctx, request)


def _search_index(ctx: CommandContext, request: HookRequest) -> Suggestions:
    from capdisc.hook import client_session
    from capdisc.hook.suggestions import suggest_capabilities, suggest_named

    event, limits = request.event, request.limits
    if event.is_command:
        return suggest_named(ctx, event.prompt, limits)
    session = (
        client_session.read_session(*request.session_key)
        if event.session
        else client_session.ClientSession()
    )
    return suggest_capabilities(ctx, event.prompt, limits, session)


def _leave_out_repetitions(request: HookRequest, answer: Suggestions) -> Suggestions:
    """The answer without what was printed before in this session. Where that cannot be known, the
    whole answer: a line that is printed twice is better than one that is lost.
    """
    if not request.event.session or not (answer.items or answer.turn or answer.reason):
        return answer
    from capdisc.hook import client_session

    offers = {item.id: (item.digest, item.probability) for item in answer.items}
    lines = () if answer.is_shadow else [item.line for item in answer.items]
    reason = answer.reason or (_REPEATED if offers else "")
    try:
        new_ids = client_session.record_turn(
            *request.session_key, answer.turn, offers, lines, reason
        )
    except CapdiscError as error:
        return replace(answer, reason=f"what was printed before is not known: {error.message}")
    if new_ids:
        from capdisc.hook import use_memory

        names = [item.name for item in answer.items if item.id in new_ids]
        with suppress(CapdiscError):  # a count that is lost costs no line
            use_memory.record_offer(request.session_key[0], names)
    new_items = tuple(item for item in answer.items if item.id in new_ids or item.is_typed)
    repeated_ids = [item.id for item in answer.items if item not in new_items]
    if not repeated_ids:
        return answer
    reason = f"{_REPEATED}: {console.format_names(repeated_ids)}"
    return replace(answer, items=new_items, reason=reason)


def _forget_session(request: HookRequest) -> None:
    if request.event.session:
        from capdisc.hook import client_session

        client_session.forget_session(*request.session_key)


def _repeat_for_agent(request: HookRequest) -> Suggestions:
    """What fitted the last prompt of the session: the event of a subagent has no prompt."""
    from capdisc.hook import client_session

    lines = client_session.take_lines(*request.session_key, request.event.agent)
    return Suggestions(
        items=tuple(Suggestion(id="", name="", line=line, tokens=0, digest="") for line in lines),
        reason="" if lines else "nothing new fitted the last prompt of the session",
    )


def _record_use(request: HookRequest) -> None:
    if used := request.event.used:
        from time import time

        from capdisc.hook import client_session, use_memory

        folder, _, session_name = request.session_key
        session = client_session.read_session(*request.session_key)
        use_memory.record_use(folder, used, session.recent_vectors, session.encoder, time())
        if session_name:
            client_session.record_name(*request.session_key, used)
