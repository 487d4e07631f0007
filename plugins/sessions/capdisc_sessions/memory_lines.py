"""The lines that a session adds to a prompt: its mode, the entities that results named, what was
found and used, its notes.

Names of entities come from results of any tool and are not trusted: each is cut to one line of
limited length, and never stands at the beginning of a line.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable

from capdisc_indexer.text.normalization import one_line
from capdisc_sessions.session_types import Entity, Session

ENTITIES_SHOWN, TOOLS_SHOWN = 10, 20
ENTITIES_PER_TYPE = 3
NOTES_SHOWN = 3
_NAME_CHARACTERS, _NOTE_CHARACTERS = 60, 200
_LIST_CHARACTERS = re.compile(r'[,;()\[\]"]')


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
    if not limit or not session.entities:
        return []
    shown = session.entities[-limit:]
    groups: dict[str, list[Entity]] = {}
    for entity in reversed(shown):
        groups.setdefault(entity.type, []).append(entity)
    counts = Counter(entity.type for entity in session.entities)
    lines = [
        _format_group(
            kind, [_format_entity(entity) for entity in group[:ENTITIES_PER_TYPE]], counts[kind]
        )
        for kind, group in groups.items()
    ]
    return ["Known entities:", *lines, *_remainder_lines(len(counts) - len(groups), "type")]


def _format_entity(entity: Entity) -> str:
    name = _quote_list_value(one_line(entity.name, _NAME_CHARACTERS))
    identifier = _quote_list_value(entity.id)
    return name if name == identifier else f"{name} ({identifier})"


def _quote_list_value(text: str) -> str:
    """The text as an item of a list: in quotes where it could be read as several items."""
    return json.dumps(text, ensure_ascii=False) if _LIST_CHARACTERS.search(text) else text


def _tool_lines(session: Session, limit: int) -> list[str]:
    identifiers = session.known_ids
    if not limit or not identifiers:
        return []
    groups: dict[str, list[str]] = {}
    for identifier in identifiers[:limit]:
        kind, _, name = identifier.partition(":")
        groups.setdefault(kind, []).append(
            f"{name or identifier}{_usage_note(session, identifier)}"
        )
    counts = Counter(identifier.partition(":")[0] for identifier in identifiers)
    lines = [_format_group(kind, group, counts[kind]) for kind, group in groups.items()]
    return ["Available tools:", *lines, *_remainder_lines(len(counts) - len(groups), "kind")]


def _usage_note(session: Session, identifier: str) -> str:
    usage = session.used.get(identifier)
    if usage is None:
        return ""
    return f" [used {usage.count}, last {usage.last}]" if usage.last else f" [used {usage.count}]"


def _note_lines(session: Session, limit: int) -> list[str]:
    if not limit or not session.notes:
        return []
    shown = session.notes[-limit:]
    return ["Notes:", *(f"- {one_line(note.text, _NOTE_CHARACTERS)}" for note in shown)]


def _format_group(label: str, shown: list[str], total: int) -> str:
    suffix = f" (+{total - len(shown)} more)" if total > len(shown) else ""
    return f"- {one_line(label, _NAME_CHARACTERS)}: {', '.join(shown)}{suffix}"


def _remainder_lines(count: int, noun: str) -> list[str]:
    return [f"- (+{count} more {noun}{'s' if count > 1 else ''})"] if count > 0 else []
