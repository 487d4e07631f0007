"""The verbs that change a session."""

from __future__ import annotations

from typing import Any

from capdisc import asking, output, streams
from capdisc.exit_codes import ExitCode
from capdisc.sessions.order import Order
from capdisc_indexer import session as sessions
from capdisc_indexer import strict_json
from capdisc_indexer.errors import InputError, UsageError
from capdisc_indexer.session import form, steps
from capdisc_indexer.session.extraction import Extraction, extract, rule_of
from capdisc_indexer.session.values import Session

MAX_RESULT = 4 * 1024 * 1024
# Results without an entity before it is said that a rule may be wrong.
MANY = 3


def new(order: Order) -> int:
    """Begin a session."""
    return _told(order, sessions.begin(order.state_dir, order.name), f"began {order.name}")


def use(order: Order) -> int:
    """Count a use of a capability, and whether it worked."""
    identifier = _known(order, [order.one_id()])[0]
    changed = sessions.change(order.state_dir, order.name, lambda last: steps.used(last, identifier, order.result))
    used = changed.used[identifier]
    times = f"{used.count} time{'s' if used.count > 1 else ''}"
    return _told(order, changed, f"{identifier}: used {times}, {used.ok} ok, {used.failed} failed")


def add(order: Order) -> int:
    """Show capabilities in every prompt of the session."""
    ids = _known(order, order.ids())
    changed = sessions.change(order.state_dir, order.name, lambda last: steps.added(last, ids))
    return _told(order, changed, *(f"added {identifier}" for identifier in ids))


def drop(order: Order) -> int:
    """Forget capabilities, also such as the index no longer has."""
    given, last = order.ids(), sessions.load(order.state_dir, order.name)
    ids = [identifier if identifier in last.known else _known(order, [identifier])[0] for identifier in given]
    if missing := [identifier for identifier in ids if identifier not in last.known]:
        raise UsageError(
            f"the session {order.name} does not hold {output.listed(missing)}", f"capdisc session show {order.name}"
        )
    changed = sessions.change(order.state_dir, order.name, lambda now: steps.dropped(now, ids))
    return _told(order, changed, *(f"dropped {identifier}" for identifier in ids))


def note(order: Order) -> int:
    """Keep a line of text."""
    text = " ".join(streams.stdin_text() if word == "-" else word for word in order.words).strip()
    if not text:
        raise UsageError("the note is empty", f'say it: capdisc session note {order.name} "step 1 gave 12 rows"')
    changed = sessions.change(order.state_dir, order.name, lambda last: steps.noted(last, text))
    return _told(order, changed, f"noted{f' ({changed.mode})' if changed.mode else ''}")


def clear(order: Order) -> int:
    """Empty the session, its capabilities alone, or take it away."""
    if order.delete:
        sessions.remove(order.state_dir, order.name)
        output.lines([f"deleted {order.name}"])
        return ExitCode.OK
    changed = sessions.change(
        order.state_dir, order.name, lambda last: steps.cleared(last, order.tools), anew=not order.tools
    )
    return _told(order, changed, f"cleared {order.name}{' of its tools' if order.tools else ''}")


def observe(order: Order) -> int:
    """Take what a result on stdin names into the session."""
    with asking.opened(order.index_dir) as asked:
        descriptor = asked.index.descriptor(order.one_id())
    sessions.load(order.state_dir, order.name)  # before anybody waits for stdin
    found = _extracted(descriptor.id, descriptor.extract, _result())
    changed = sessions.change(order.state_dir, order.name, lambda last: steps.observed(last, found.entities))
    if order.json:
        output.document({"entities": found.entities, "total": found.total, "why": found.why})
    else:
        output.lines(f"{each.type}: {each.name} ({each.id})" for each in found.entities) if found.entities else None
    _warn(descriptor.id, found, changed)
    return ExitCode.OK


def _extracted(identifier: str, declared: Any, result: Any) -> Extraction:
    if declared is None:
        return Extraction(why="it declares no extraction")
    rule = rule_of(declared)
    return (
        Extraction(why=f"its extraction says nothing: {rule}")
        if isinstance(rule, str)
        else extract(rule, result, identifier)
    )


def _result() -> Any:
    data = streams.stdin_bytes(MAX_RESULT + 1)
    if len(data) > MAX_RESULT:
        raise InputError(f"the result has more than {MAX_RESULT // 1024 // 1024} MiB", "pass on a part of it")
    try:
        return strict_json.loads(data)
    except ValueError as error:
        raise InputError(f"the result on stdin is not JSON: {str(error)[:200]}", "pipe the tool's result in") from error


def _warn(identifier: str, found: Extraction, changed: Session) -> None:
    if found.why:
        output.notice(f"notice: {'no entity from' if not found.entities else 'from'} {identifier}: {found.why}")
    if changed.observed >= MANY and changed.barren == changed.observed:
        output.notice(f"notice: none of {changed.observed} results gave an entity: look at the rules (extraction)")


def _known(order: Order, names: list[str]) -> list[str]:
    """The ids behind the names. Raises UsageError naming the nearest for one that the index does not have."""
    sessions.load(order.state_dir, order.name)
    with asking.opened(order.index_dir) as asked:
        return [asked.index.descriptor(name).id for name in names]


def _told(order: Order, changed: Session, *lines: str) -> int:
    if order.json:
        output.document(form.to_document(changed))
    else:
        output.lines(lines)
    return ExitCode.OK
