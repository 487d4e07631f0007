"""How other commands record in sessions and in the log what they print, and read it again: the
service `sessions`, which `capdisc.context.session_memory` calls; and the lines that a session adds
to a prompt: its mode, the entities that results named, what was found and used, its notes.

Names of entities come from results of any tool and are not trusted: each is cut to one line of
limited length, and never stands at the beginning of a line.
"""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from capdisc.context import surroundings
from capdisc.output import console
from capdisc_indexer.model.errors import CapdiscError
from capdisc_indexer.model.types import ModeChoice
from capdisc_indexer.rendering.render_job import SessionMemory
from capdisc_indexer.text.normalization import one_line
from capdisc_sessions import request_log, session_files
from capdisc_sessions.session_types import Entity, Session, choose_mode

ENTITIES_SHOWN, TOOLS_SHOWN = 10, 20
ENTITIES_PER_TYPE = 3
NOTES_SHOWN = 3
_NAME_CHARACTERS, _NOTE_CHARACTERS = 60, 200
_LIST_CHARACTERS = re.compile(r'[,;()\[\]"]')


def remember_printed(runtime: surroundings.Runtime, name: str, ids: Sequence[str]) -> None:
    """Record in the session that these capabilities are about to be printed.

    Where there is something to record, a session that does not exist yet is begun, with a notice.
    """
    if ids:
        announce_new_session(runtime, name)
    elif not session_files.session_exists(runtime.state_dir(), name):
        return
    session_files.record_discoveries(runtime.state_dir(), name, ids)


def announce_new_session(runtime: surroundings.Runtime, name: str) -> None:
    """Say that the session is about to be begun, if it is not."""
    if not session_files.session_exists(runtime.state_dir(), name):
        console.print_notice(f"notice: {name} is a new session")


def remember_request(runtime: surroundings.Runtime, name: str, text: str) -> None:
    """Store the mode that a request sets, if the session exists."""
    session_files.record_request(runtime.state_dir(), name, text)


def log_event(
    runtime: surroundings.Runtime,
    event: str,
    ids: Sequence[str],
    query: Sequence[str] = (),
    session: str | None = None,
    ok: bool = True,
) -> None:
    """Add an event to the local log. Where it cannot be written, a notice says why."""
    entry = request_log.LogEvent(
        at=time.time(),
        event=event,
        query="\n".join(query),
        ids=tuple(ids),
        session=session or "",
        ok=ok,
    )
    try:
        request_log.append_event(runtime.state_dir(), entry)
    except (CapdiscError, OSError) as error:
        console.print_notice(f"notice: the log was not written: {error}")


def load_memory(state_dir: Path, name: str) -> tuple[SessionMemory | None, Sequence[str]]:
    """The lines of the session, which shorten themselves to fit, and the ids of its active
    capabilities; None and no ids for a session that does not exist yet.
    """
    session = session_files.find_session(state_dir, name)
    if session is None:
        return None, ()
    return (
        lambda budget, count: fit_memory_lines(session, budget, count),
        session.active,
    )


def load_ids(state_dir: Path, name: str) -> tuple[Sequence[str], Sequence[str]]:
    """The active ids and those of what was found in the session; none for one that does not exist
    yet.
    """
    session = session_files.find_session(state_dir, name)
    return (session.active, list(session.discovered)) if session else ((), ())


def choose_session_mode(state_dir: Path, name: str | None, text: str) -> ModeChoice:
    """The mode that a request sets, or else that of the session."""
    session = session_files.find_session(state_dir, name) if name else None
    return choose_mode(text, session.mode if session else "")


def load_use_shares(state_dir: Path) -> Mapping[str, float]:
    """The share of each capability in all uses of the log, by id."""
    return request_log.use_shares(request_log.read_events(state_dir))


# The lines that a session adds to a prompt.


def memory_lines(
    session: Session,
    entities: int = ENTITIES_SHOWN,
    tools: int = TOOLS_SHOWN,
    notes: int = NOTES_SHOWN,
) -> tuple[str, ...]:
    """The lines of a session: its mode; of the last `entities`, up to three of each type; up to
    `tools` capabilities by kind; the last `notes`. What is left out is counted. An empty session
    has no lines.
    """
    mode_lines = [f"Way of working: {session.mode}"] if session.mode else []
    return (
        *mode_lines,
        *_entity_lines(session, entities),
        *_tool_lines(session, tools),
        *_note_lines(session, notes),
    )


def fit_memory_lines(
    session: Session, budget: int, count: Callable[[str], int]
) -> tuple[str, ...]:
    """The most lines that fit into `budget` tokens, as `count` counts them with their line ends;
    capabilities go first, then entities, then notes. No lines where not even one of each fits.
    """
    entities, tools, notes = ENTITIES_SHOWN, TOOLS_SHOWN, NOTES_SHOWN
    while entities or tools or notes:
        lines = memory_lines(session, entities, tools, notes)
        if count("".join(f"{line}\n" for line in lines)) <= budget:
            return lines
        entities, tools, notes = _reduce_counts(entities, tools, notes)
    return ()


def _reduce_counts(entities: int, tools: int, notes: int) -> tuple[int, int, int]:
    if tools > ENTITIES_PER_TYPE:
        return entities, tools - 1, notes
    if entities > ENTITIES_PER_TYPE:
        return entities - 1, tools, notes
    if notes:
        return entities, tools, notes - 1
    return (entities, tools - 1, notes) if tools else (entities - 1, tools, notes)


def _entity_lines(session: Session, limit: int) -> list[str]:
    shown = session.entities[-limit:] if limit else ()
    groups: dict[str, list[str]] = {}
    for entity in reversed(shown):
        groups.setdefault(entity.type, []).append(_format_entity(entity))
    counts = Counter(entity.type for entity in session.entities)
    return _format_groups("Known entities:", groups, counts, "type", ENTITIES_PER_TYPE)


def _format_entity(entity: Entity) -> str:
    name = _quote_list_value(one_line(entity.name, _NAME_CHARACTERS))
    identifier = _quote_list_value(entity.id)
    return name if name == identifier else f"{name} ({identifier})"


def _quote_list_value(text: str) -> str:
    """The text as an item of a list: in quotes where it could be read as several items."""
    return json.dumps(text, ensure_ascii=False) if _LIST_CHARACTERS.search(text) else text


def _tool_lines(session: Session, limit: int) -> list[str]:
    groups: dict[str, list[str]] = {}
    for identifier in session.known_ids[:limit]:
        kind, _, name = identifier.partition(":")
        text = f"{name or identifier}{_usage_note(session, identifier)}"
        groups.setdefault(kind, []).append(text)
    counts = Counter(identifier.partition(":")[0] for identifier in session.known_ids)
    return _format_groups("Available tools:", groups, counts, "kind", limit)


def _usage_note(session: Session, identifier: str) -> str:
    usage = session.used.get(identifier)
    if usage is None:
        return ""
    return f" [used {usage.count}, last {usage.last}]" if usage.last else f" [used {usage.count}]"


def _note_lines(session: Session, limit: int) -> list[str]:
    shown = session.notes[-limit:] if limit else ()
    lines = [f"- {one_line(note.text, _NOTE_CHARACTERS)}" for note in shown]
    return ["Notes:", *lines] if lines else []


def _format_groups(
    heading: str, groups: Mapping[str, list[str]], counts: Mapping[str, int], noun: str, most: int
) -> list[str]:
    """A line for each group with at most `most` members; what is left out is counted."""
    if not groups:
        return []
    lines = []
    for label, members in groups.items():
        shown, total = members[:most], counts[label]
        suffix = f" (+{total - len(shown)} more)" if total > len(shown) else ""
        lines.append(f"- {one_line(label, _NAME_CHARACTERS)}: {', '.join(shown)}{suffix}")
    if left_out := len(counts) - len(groups):
        lines.append(f"- (+{left_out} more {noun}{'s' if left_out > 1 else ''})")
    return [heading, *lines]
