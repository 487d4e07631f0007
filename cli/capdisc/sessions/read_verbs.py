"""The verbs that print a session."""

from __future__ import annotations

from collections.abc import Iterator

from capdisc.context import open_index
from capdisc.output import console
from capdisc.output.exit_codes import ExitCode
from capdisc.sessions.session_command import SessionCommand
from capdisc_indexer import sessions
from capdisc_indexer.lazy_imports import load_token_counter
from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.model.types import Budgets, Descriptor, Query, Ranking
from capdisc_indexer.rendering import RenderInputs, assemble
from capdisc_indexer.rendering.formats import FORMATS
from capdisc_indexer.sessions import session_files
from capdisc_indexer.sessions.session_types import Session
from capdisc_indexer.text.token_counts import TokenCounter


def list_(command: SessionCommand) -> int:
    """Name the sessions."""
    names = sessions.list_sessions(command.state_dir)
    if command.json:
        console.print_document({"sessions": names, "state_dir": str(command.state_dir)})
    else:
        console.print_lines(names) if names else console.print_notice(
            "notice: there is no session yet"
        )
    return ExitCode.OK


def show(command: SessionCommand) -> int:
    """Print all that the session holds."""
    session = sessions.load_session(command.state_dir, command.name)
    if command.json:
        console.print_document(session_files.session_document(session))
    else:
        console.print_lines(_format_session(session))
    return ExitCode.OK


def _format_session(session: Session) -> Iterator[str]:
    yield f"session {session.name}, turn {session.turn}, begun {session.created}, changed {session.updated}"
    if session.mode:
        yield f"way of working: {session.mode}"
    for identifier in session.active:
        yield f"active      {identifier}"
    for identifier, discovery in session.discovered.items():
        yield f"discovered  {identifier}  {discovery.count} times, last in turn {discovery.turn}"
    for identifier, used in session.used.items():
        result_note = f", last {used.last}" if used.last else ""
        yield f"used        {identifier}  {used.count} times, {used.ok} ok, {used.failed} failed{result_note}"
    for entity in session.entities:
        yield f"entity      {entity.type}: {entity.name} ({entity.id}) from {entity.source}, turn {entity.turn}"
    for note in session.notes:
        yield f"note        {note.text}"


def prompt(command: SessionCommand) -> int:
    """Print the memory for an agent, and the active capabilities in full, within the budget."""
    session = sessions.load_session(command.state_dir, command.name)
    budget = command.max_tokens or int(command.runtime.config()["budget"])
    counter = TokenCounter(load_token_counter)
    lines = sessions.fit_memory_lines(session, budget, counter.exact)
    if not lines and sessions.memory_lines(session):
        raise UsageError(
            f"a budget of {budget} tokens is too small for any of it", "give a larger --max-tokens"
        )
    memory = "".join(f"{console.sanitise(line)}\n" for line in lines)
    detail = (
        _format_active(command, session, budget - counter.exact(memory), counter)
        if session.active
        else ""
    )
    if command.json:
        tokens = counter.exact(memory + detail)
        console.print_document(
            {"session": session.name, "prompt": memory + detail, "tokens": tokens, "budget": budget}
        )
    elif memory or detail:
        console.print_result(memory + detail)
    else:
        console.print_notice(f"notice: the session {session.name} is empty")
    return ExitCode.OK


def _format_active(
    command: SessionCommand, session: Session, budget: int, counter: TokenCounter
) -> str:
    """The active capabilities as `render` prints its details; what the index no longer has is
    said.
    """
    descriptors: list[Descriptor] = []
    with open_index.open_index(command.index_dir) as ctx:
        for identifier in session.active:
            if header := ctx.index.documents.headers_for([identifier], Query(texts=())):
                descriptors.append(ctx.index.full_descriptor(header[identifier]))
            else:
                console.print_notice(f"notice: {identifier} is active and no longer in the index")
    form_ = FORMATS["text"]
    material = RenderInputs(
        overview=(), descriptors=descriptors, levels=(2,), details=len(descriptors)
    )
    nothing = Ranking(query=Query(texts=()), hits=(), mode="none", confidence=0.0)
    context = assemble(material, nothing, form_, Budgets(tier2=budget, total=budget), counter)
    for tier in context.tiers:
        if tier.dropped:
            names = [
                f"{block.id} ({'cut' if block.clipped else 'left out'})" for block in tier.dropped
            ]
            console.print_notice(f"notice: not whole, to fit: {console.format_names(names)}")
    return form_.format_context(form_, context)
