"""What a session says in a prompt: the things met last, what can be used, and the last notes.

Names in it come from results of any tool, so each has one line, a length, and a place at which no
line begins.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping

from capdisc_indexer.sessions.session_types import Entity, Session
from capdisc_indexer.text.normalization import one_line

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
    """The lines, none for an empty session: the way of working; of the last `entities` up to three
    of each type; up to `tools` capabilities by kind; the last notes. What is left out is counted.
    """
    working = [f"Way of working: {session.mode}"] if session.mode else []
    return (
        *working,
        *_entity_lines(session, entities),
        *_tool_lines(session, tools),
        *_note_lines(session, notes),
    )


def fit_memory_lines(session: Session, budget: int, count: Callable[[str], int]) -> tuple[str, ...]:
    """As many of the lines as `budget` tokens hold, counted as one text with line ends; fewer
    tools first, then fewer things and notes. Nothing at all where not even one of each fits.
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
    shown = (
        session.entities[len(session.entities) - limit :]
        if 0 < limit < len(session.entities)
        else session.entities
    )
    if not limit or not shown:
        return []
    groups: dict[str, list[Entity]] = {}
    for entity in reversed(shown):
        groups.setdefault(entity.type, []).append(entity)
    counts = _count_keys(entity.type for entity in session.entities)
    lines = [
        _format_group(
            kind, [_format_entity(entity) for entity in group[:ENTITIES_PER_TYPE]], counts[kind]
        )
        for kind, group in groups.items()
    ]
    return ["Known entities:", *lines, *_remainder_lines(len(counts) - len(groups), "type")]


def _format_entity(entity: Entity) -> str:
    name, identifier = (
        _quote_list_value(one_line(entity.name, _NAME_CHARACTERS)),
        _quote_list_value(entity.id),
    )
    return name if name == identifier else f"{name} ({identifier})"


def _quote_list_value(text: str) -> str:
    """The text as it stands in a list; in quotes where it could pass for several items of one."""
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
    counts = _count_keys(identifier.partition(":")[0] for identifier in identifiers)
    lines = [_format_group(kind, group, counts[kind]) for kind, group in groups.items()]
    return ["Available tools:", *lines, *_remainder_lines(len(counts) - len(groups), "kind")]


def _usage_note(session: Session, identifier: str) -> str:
    used = session.used.get(identifier)
    if used is None:
        return ""
    return f" [used {used.count}, last {used.last}]" if used.last else f" [used {used.count}]"


def _note_lines(session: Session, limit: int) -> list[str]:
    lines = (
        [f"- {one_line(note.text, _NOTE_CHARACTERS)}" for note in session.notes[-limit:]]
        if limit
        else []
    )
    return ["Notes:", *lines] if lines else []


def _count_keys(keys: Iterable[str]) -> Mapping[str, int]:
    counts: dict[str, int] = {}
    for key in keys:
        counts[key] = counts.get(key, 0) + 1
    return counts


def _format_group(label: str, shown: list[str], total: int) -> str:
    suffix = f" (+{total - len(shown)} more)" if total > len(shown) else ""
    return f"- {one_line(label, _NAME_CHARACTERS)}: {', '.join(shown)}{suffix}"


def _remainder_lines(count: int, noun: str) -> list[str]:
    return [f"- (+{count} more {noun}{'s' if count > 1 else ''})"] if count > 0 else []
