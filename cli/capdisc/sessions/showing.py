"""The verbs that print a session."""

from __future__ import annotations

from collections.abc import Iterator

from capdisc import asking, output
from capdisc.exit_codes import ExitCode
from capdisc.sessions.order import Order
from capdisc_indexer import session as sessions
from capdisc_indexer.engines import token_count
from capdisc_indexer.errors import UsageError
from capdisc_indexer.render import FORMATS
from capdisc_indexer.session import form
from capdisc_indexer.session.values import Session
from capdisc_indexer.tiers import Material, assemble
from capdisc_indexer.tokens import TokenCounter
from capdisc_indexer.types import Budgets, Descriptor, Query, Ranking


def list_(order: Order) -> int:
    """Name the sessions."""
    found = sessions.names(order.state_dir)
    if order.json:
        output.document({"sessions": found, "state_dir": str(order.state_dir)})
    else:
        output.lines(found) if found else output.notice("notice: there is no session yet")
    return ExitCode.OK


def show(order: Order) -> int:
    """Print all that the session holds."""
    session = sessions.load(order.state_dir, order.name)
    if order.json:
        output.document(form.to_document(session))
    else:
        output.lines(_shown(session))
    return ExitCode.OK


def _shown(session: Session) -> Iterator[str]:
    yield f"session {session.name}, turn {session.turn}, begun {session.created}, changed {session.updated}"
    if session.mode:
        yield f"way of working: {session.mode}"
    for identifier in session.active:
        yield f"active      {identifier}"
    for identifier, found in session.discovered.items():
        yield f"discovered  {identifier}  {found.count} times, last in turn {found.turn}"
    for identifier, used in session.used.items():
        last = f", last {used.last}" if used.last else ""
        yield f"used        {identifier}  {used.count} times, {used.ok} ok, {used.failed} failed{last}"
    for entity in session.entities:
        yield f"entity      {entity.type}: {entity.name} ({entity.id}) from {entity.source}, turn {entity.turn}"
    for note in session.notes:
        yield f"note        {note.text}"


def prompt(order: Order) -> int:
    """Print the memory for an agent, and the active capabilities in full, within the budget."""
    session = sessions.load(order.state_dir, order.name)
    budget = order.max_tokens or int(order.here.config()["budget"])
    counter = TokenCounter(token_count)
    lines = sessions.memory_within(session, budget, counter.exact)
    if not lines and sessions.memory_lines(session):
        raise UsageError(f"a budget of {budget} tokens is too small for any of it", "give a larger --max-tokens")
    memory = "".join(f"{output.safe(line)}\n" for line in lines)
    detail = _active(order, session, budget - counter.exact(memory), counter) if session.active else ""
    if order.json:
        tokens = counter.exact(memory + detail)
        output.document({"session": session.name, "prompt": memory + detail, "tokens": tokens, "budget": budget})
    elif memory or detail:
        output.result(memory + detail)
    else:
        output.notice(f"notice: the session {session.name} is empty")
    return ExitCode.OK


def _active(order: Order, session: Session, budget: int, counter: TokenCounter) -> str:
    """The active capabilities as `render` prints its details; what the index no longer has is said."""
    descriptors: list[Descriptor] = []
    with asking.opened(order.index_dir) as asked:
        for identifier in session.active:
            if head := asked.index.documents.passing([identifier], Query(texts=())):
                descriptors.append(asked.index.whole(head[identifier]))
            else:
                output.notice(f"notice: {identifier} is active and no longer in the index")
    form_ = FORMATS["text"]
    material = Material(overview=(), descriptors=descriptors, levels=(2,), details=len(descriptors))
    nothing = Ranking(query=Query(texts=()), hits=(), mode="none", confidence=0.0)
    context = assemble(material, nothing, form_, Budgets(tier2=budget, total=budget), counter)
    for tier in context.tiers:
        if tier.dropped:
            names = [f"{one.id} ({'cut' if one.clipped else 'left out'})" for one in tier.dropped]
            output.notice(f"notice: not whole, to fit: {output.listed(names)}")
    return form_.printed(form_, context)
