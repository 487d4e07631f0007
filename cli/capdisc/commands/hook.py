"""capdisc hook: what fits a prompt, for the hooks of agents' clients."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from capdisc.args import params
from capdisc.args.params import argument, option, parse_seconds
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
from capdisc.output import console, standard_streams
from capdisc.output.failures import ExitCode
from capdisc_indexer.model.errors import (
    CapdiscError,
    ForeignIndexError,
    IndexStateError,
    UsageError,
)
from capdisc_indexer.model.frozen import asdict, replace
from capdisc_indexer.model.json_types import JsonObject

if TYPE_CHECKING:
    from capdisc.context.open_index import CommandContext
    from capdisc.hook.client_session import ClientSession

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
    event = hook_client.read_event(standard_streams.read_stdin_bytes(MAX_EVENT_BYTES + 1))
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
    if json:
        answer = _search_in_process(hook_client, event, limits, place, may_build=not no_build)
        console.print_document(_to_document(hook_client, answer))
        return ExitCode.OK
    if event.kind == SESSION_CHANGE:
        _forget_session(hook_client, event)
        answer = Suggestions(reason=f"{event.name}: this session starts anew")
    elif event.kind == AGENT_START:
        answer = _repeat_for_agent(hook_client, event)
    elif event.kind == TOOL_USE:
        _record_use(hook_client, event)
        answer = Suggestions(reason=f"used: {event.used or 'no skill or tool of a server'}")
    elif reason := _reason_for_silence(hook_client, event):
        answer = Suggestions(reason=reason)
    else:
        answer = _suggest_for_prompt(hook_client, event, limits, place, may_build=not no_build)
    if event.kind == PROMPT:
        answer = _leave_out_repetitions(hook_client, event, answer)
    if answer.items and not answer.is_shadow:
        console.print_result(_format_answer(hook_client, event, answer))
    if answer.reason:
        console.print_notice(f"notice: {answer.reason}")
    if answer.verdict:
        console.print_notice(f"verdict: {answer.verdict}")
    return ExitCode.OK


def _format_answer(hook_client: HookClient, event: HookEvent, answer: Suggestions) -> str:
    """The client's JSON with the lines for its model, and where it can the names for the
    person.
    """
    text = HEADING + "".join(item.line for item in answer.items) + _find_detail(answer.items)
    document = hook_client.format_context(event, text)
    if answer.is_shown and hook_client.shows_message:
        names = ", ".join(item.name for item in answer.items)
        document = {"systemMessage": f"capdisc: {names}", **document}
    return console.format_json_text(document, indent=None)


def _suggest_for_prompt(
    hook_client: HookClient,
    event: HookEvent,
    limits: Limits,
    place: Path | None,
    *,
    may_build: bool,
) -> Suggestions:
    """What fits the prompt. An index that is missing or may be old is built meanwhile; where it is
    missing, that of the home folder answers.
    """
    from capdisc.context import background_build

    runtime = surroundings.current_runtime()
    try:
        answer = _search_in_process(hook_client, event, limits, place, may_build=may_build)
    except ForeignIndexError:
        raise
    except IndexStateError as error:
        if not may_build:
            raise
        state = background_build.start_build(runtime, place, hook_client.name)
        answer = Suggestions()
        if place is None:
            from capdisc.context import open_index

            with suppress(CapdiscError), open_index.open_home_index() as ctx:
                answer = _search_index(ctx, hook_client, event, limits)
        return replace(answer, reason=f"{error.message}: {state}")
    if may_build:
        with suppress(CapdiscError):
            background_build.start_refresh(runtime, place, hook_client.name)
    return answer


def _reason_for_silence(hook_client: HookClient, event: HookEvent) -> str:
    """Why the event gets no answer, whatever the index has; "" for a prompt to the model."""
    if event.kind != PROMPT:
        if event.name == hook_client.prompt_event:
            return "the JSON has no prompt"
        return f"nothing is printed at {event.name}"
    if not event.prompt:
        return "the prompt is empty"
    return ""


def _search_in_process(
    hook_client: HookClient,
    event: HookEvent,
    limits: Limits,
    place: Path | None,
    *,
    may_build: bool,
) -> Suggestions:
    if reason := _reason_for_silence(hook_client, event):
        return Suggestions(reason=reason)
    # Not imported for an event that gets no answer.
    from capdisc.context import open_index

    with open_index.open_index(place, may_build=False) as ctx:
        if may_build and ctx.freshness.state == "behind":
            from capdisc.context import background_build

            background_build.start_update(ctx.place, hook_client.name)
        return _search_index(ctx, hook_client, event, limits)


def _search_index(
    ctx: CommandContext, hook_client: HookClient, event: HookEvent, limits: Limits
) -> Suggestions:
    from capdisc.hook.suggestions import suggest_capabilities, suggest_named

    if event.is_command:
        return suggest_named(ctx, event.prompt, limits)
    return suggest_capabilities(ctx, event.prompt, limits, _known_session(hook_client, event))


def _known_session(hook_client: HookClient, event: HookEvent) -> ClientSession:
    from capdisc.hook import client_session

    if not event.session:
        return client_session.ClientSession()
    folder = surroundings.current_runtime().user_state_dir()
    return client_session.read_session(folder, hook_client.name, event.session)


def _to_document(hook_client: HookClient, answer: Suggestions) -> JsonObject:
    return {
        "client": hook_client.name,
        "reason": answer.reason,
        "verdict": answer.verdict,
        "capabilities": [asdict(item) for item in answer.items],
    }


def _leave_out_repetitions(
    hook_client: HookClient, event: HookEvent, answer: Suggestions
) -> Suggestions:
    """The answer without what was printed before in this session. Where that cannot be known, the
    whole answer: a line that is printed twice is better than one that is lost.
    """
    if not event.session or not (answer.items or answer.turn or answer.reason):
        return answer
    from capdisc.hook import client_session

    folder = surroundings.current_runtime().user_state_dir()
    offers = {item.id: (item.digest, item.probability) for item in answer.items}
    lines = () if answer.is_shadow else [item.line for item in answer.items]
    try:
        new_ids = client_session.record_turn(
            folder,
            hook_client.name,
            event.session,
            answer.turn,
            offers,
            lines,
            answer.reason or (_REPEATED if offers else ""),
        )
    except CapdiscError as error:
        return replace(answer, reason=f"what was printed before is not known: {error.message}")
    if new_ids:
        from capdisc.hook import use_memory

        names = [item.name for item in answer.items if item.id in new_ids]
        with suppress(CapdiscError):  # a count that is lost costs no line
            use_memory.record_offer(folder, names)
    new_items = tuple(item for item in answer.items if item.id in new_ids or item.is_typed)
    repeated_ids = [item.id for item in answer.items if item not in new_items]
    if not repeated_ids:
        return answer
    return replace(
        answer,
        items=new_items,
        reason=f"{_REPEATED}: {console.format_names(repeated_ids)}",
    )


def _forget_session(hook_client: HookClient, event: HookEvent) -> None:
    if event.session:
        from capdisc.hook import client_session

        folder = surroundings.current_runtime().user_state_dir()
        client_session.forget_session(folder, hook_client.name, event.session)


def _repeat_for_agent(hook_client: HookClient, event: HookEvent) -> Suggestions:
    """What fitted the last prompt of the session: the event of a subagent has no prompt."""
    from capdisc.hook import client_session

    folder = surroundings.current_runtime().user_state_dir()
    lines = client_session.take_lines(folder, hook_client.name, event.session, event.agent)
    return Suggestions(
        items=tuple(Suggestion(id="", name="", line=line, tokens=0, digest="") for line in lines),
        reason="" if lines else "nothing new fitted the last prompt of the session",
    )


def _record_use(hook_client: HookClient, event: HookEvent) -> None:
    if event.used:
        from time import time

        from capdisc.hook import client_session, use_memory

        folder = surroundings.current_runtime().user_state_dir()
        session = client_session.read_session(folder, hook_client.name, event.session)
        use_memory.record_use(folder, event.used, session.recent_vectors, session.encoder, time())
        if event.session:
            client_session.record_name(folder, hook_client.name, event.session, event.used)


def _find_detail(items: Sequence[Suggestion]) -> str:
    """The detail of the best capability that has one."""
    return next((item.detail for item in items if item.detail), "")
