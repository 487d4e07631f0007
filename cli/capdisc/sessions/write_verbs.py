"""The verbs that change a session."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from capdisc.context import open_index, surroundings
from capdisc.output import console, standard_streams, user_files
from capdisc.output.failures import ExitCode
from capdisc_indexer import sessions
from capdisc_indexer.lazy_imports import load_token_counter
from capdisc_indexer.model.errors import InputError, UsageError
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.types import Budgets, Descriptor, Query, Ranking
from capdisc_indexer.rendering import RenderInputs, assemble
from capdisc_indexer.rendering.formats import FORMATS
from capdisc_indexer.sessions import session_files, transitions
from capdisc_indexer.sessions.session_types import Session
from capdisc_indexer.sessions.transitions import Extraction, extract_entities, parse_rule
from capdisc_indexer.sources.readers import json_reader
from capdisc_indexer.text.token_counts import TokenCounter

# One call of `capdisc session`, as it was typed.


@frozen(kw_only=True)
class SessionCommand:
    """The session that is meant and what is to be done with it. `result` is "ok", "failed" or
    "".
    """

    runtime: surroundings.Runtime
    name: str
    words: tuple[str, ...]
    result: str
    tools: bool
    delete: bool
    max_tokens: int | None
    index_dir: Path | None
    json: bool

    @property
    def state_dir(self) -> Path:
        """Where the sessions lie."""
        return self.runtime.state_dir()

    def ids(self) -> list[str]:
        """The ids or names that were given, those on stdin for `-`. Raises UsageError where there
        is none.
        """
        identifiers = [line.strip() for word in self.words for line in self._lines(word)]
        if not any(identifiers):
            raise UsageError(
                "no id was given", "capdisc search QUERY --ids prints some; - reads them from stdin"
            )
        return [identifier for identifier in dict.fromkeys(identifiers) if identifier]

    def one_id(self) -> str:
        """The only id. Raises UsageError where there is none or another one."""
        identifiers = self.ids()
        if len(identifiers) > 1:
            raise UsageError("this takes one id", "call it once for each")
        return identifiers[0]

    def _lines(self, word: str) -> list[str]:
        return (
            standard_streams.read_stdin_text(user_files.MAX_FILE_BYTES).splitlines()
            if word == "-"
            else [word]
        )


# The verbs that print a session.


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


MAX_RESULT = 4 * 1024 * 1024
# Results without an entity before it is said that a rule may be wrong.
MIN_BARREN_RESULTS = 3


def new(command: SessionCommand) -> int:
    """Begin a session."""
    return _print_outcome(
        command, sessions.create_session(command.state_dir, command.name), f"began {command.name}"
    )


def use(command: SessionCommand) -> int:
    """Count a use of a capability, and whether it worked."""
    identifier = _resolve_ids(command, [command.one_id()])[0]
    changed = sessions.update_session(
        command.state_dir,
        command.name,
        lambda session: transitions.record_use(session, identifier, command.result),
    )
    used = changed.used[identifier]
    times = f"{used.count} time{'s' if used.count > 1 else ''}"
    return _print_outcome(
        command, changed, f"{identifier}: used {times}, {used.ok} ok, {used.failed} failed"
    )


def add(command: SessionCommand) -> int:
    """Show capabilities in every prompt of the session."""
    ids = _resolve_ids(command, command.ids())
    changed = sessions.update_session(
        command.state_dir,
        command.name,
        lambda session: transitions.activate_capabilities(session, ids),
    )
    return _print_outcome(command, changed, *(f"added {identifier}" for identifier in ids))


def drop(command: SessionCommand) -> int:
    """Forget capabilities, also such as the index no longer has."""
    given_ids, session = command.ids(), sessions.load_session(command.state_dir, command.name)
    ids = [
        identifier if identifier in session.known_ids else _resolve_ids(command, [identifier])[0]
        for identifier in given_ids
    ]
    if missing := [identifier for identifier in ids if identifier not in session.known_ids]:
        raise UsageError(
            f"the session {command.name} does not hold {console.format_names(missing)}",
            f"capdisc session show {command.name}",
        )
    changed = sessions.update_session(
        command.state_dir, command.name, lambda now: transitions.drop_capabilities(now, ids)
    )
    return _print_outcome(command, changed, *(f"dropped {identifier}" for identifier in ids))


def note(command: SessionCommand) -> int:
    """Keep a line of text."""
    text = " ".join(
        standard_streams.read_stdin_text() if word == "-" else word for word in command.words
    ).strip()
    if not text:
        raise UsageError(
            "the note is empty",
            f'say it: capdisc session note {command.name} "step 1 gave 12 rows"',
        )
    changed = sessions.update_session(
        command.state_dir, command.name, lambda session: transitions.add_note(session, text)
    )
    return _print_outcome(command, changed, f"noted{f' ({changed.mode})' if changed.mode else ''}")


def clear(command: SessionCommand) -> int:
    """Empty the session, its capabilities alone, or take it away."""
    if command.delete:
        sessions.delete_session(command.state_dir, command.name)
        console.print_lines([f"deleted {command.name}"])
        return ExitCode.OK
    changed = sessions.update_session(
        command.state_dir,
        command.name,
        lambda session: transitions.clear_session(session, command.tools),
        anew=not command.tools,
    )
    return _print_outcome(
        command, changed, f"cleared {command.name}{' of its tools' if command.tools else ''}"
    )


def observe(command: SessionCommand) -> int:
    """Take what a result on stdin names into the session."""
    with open_index.open_index(command.index_dir) as ctx:
        descriptor = ctx.index.descriptor(command.one_id())
    sessions.load_session(command.state_dir, command.name)  # before anybody waits for stdin
    extraction = _extract_result(descriptor.id, descriptor.extract, _read_result())
    changed = sessions.update_session(
        command.state_dir,
        command.name,
        lambda session: transitions.record_observation(session, extraction.entities),
    )
    if command.json:
        console.print_document(
            {"entities": extraction.entities, "total": extraction.total, "why": extraction.why}
        )
    else:
        console.print_lines(
            f"{entity.type}: {entity.name} ({entity.id})" for entity in extraction.entities
        ) if extraction.entities else None
    _print_warnings(descriptor.id, extraction, changed)
    return ExitCode.OK


def _extract_result(identifier: str, declared: Any, result: Any) -> Extraction:
    if declared is None:
        return Extraction(why="it declares no extraction")
    rule = parse_rule(declared)
    return (
        Extraction(why=f"its extraction says nothing: {rule}")
        if isinstance(rule, str)
        else extract_entities(rule, result, identifier)
    )


def _read_result() -> Any:
    data = standard_streams.read_stdin_bytes(MAX_RESULT + 1)
    if len(data) > MAX_RESULT:
        raise InputError(
            f"the result has more than {MAX_RESULT // 1024 // 1024} MiB", "pass on a part of it"
        )
    try:
        return json_reader.loads(data)
    except ValueError as error:
        raise InputError(
            f"the result on stdin is not JSON: {str(error)[:200]}", "pipe the tool's result in"
        ) from error


def _print_warnings(identifier: str, extraction: Extraction, changed: Session) -> None:
    if extraction.why:
        console.print_notice(
            f"notice: {'no entity from' if not extraction.entities else 'from'} {identifier}: {extraction.why}"
        )
    if changed.observed >= MIN_BARREN_RESULTS and changed.barren == changed.observed:
        console.print_notice(
            f"notice: none of {changed.observed} results gave an entity: look at the rules (extraction)"
        )


def _resolve_ids(command: SessionCommand, names: list[str]) -> list[str]:
    """The ids behind the names. Raises UsageError naming the nearest for one that the index does
    not have.
    """
    sessions.load_session(command.state_dir, command.name)
    with open_index.open_index(command.index_dir) as ctx:
        return [ctx.index.descriptor(name).id for name in names]


def _print_outcome(command: SessionCommand, changed: Session, *lines: str) -> int:
    if command.json:
        console.print_document(session_files.session_document(changed))
    else:
        console.print_lines(lines)
    return ExitCode.OK
