"""The verbs that change a session."""

from __future__ import annotations

from typing import Any

from capdisc.context import open_index
from capdisc.output import console, standard_streams
from capdisc.output.exit_codes import ExitCode
from capdisc.sessions.session_command import SessionCommand
from capdisc_indexer import sessions
from capdisc_indexer.model.errors import InputError, UsageError
from capdisc_indexer.sessions import session_files, transitions
from capdisc_indexer.sessions.extraction import Extraction, extract_entities, parse_rule
from capdisc_indexer.sessions.session_types import Session
from capdisc_indexer.sources.readers import json_reader

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
