"""What a session says in a prompt: the things met last, what can be used, and the last notes.

Names in it come from results of any tool, so each has one line, a length, and a place at which no line begins.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping

from capdisc_indexer.session.values import Entity, Session
from capdisc_indexer.text import one_line

ENTITIES, TOOLS = 10, 20
PER_TYPE = 3
NOTES = 3
_NAME, _NOTE = 60, 200

_LISTED = re.compile(r'[,;()\[\]"]')


def memory_lines(session: Session, entities: int = ENTITIES, tools: int = TOOLS, notes: int = NOTES) -> tuple[str, ...]:
    """The lines, none for an empty session: the way of working; of the last `entities` up to three of each type; up to
    `tools` capabilities by kind; the last notes. What is left out is counted."""
    working = [f"Way of working: {session.mode}"] if session.mode else []
    return (*working, *_known(session, entities), *_available(session, tools), *_noted(session, notes))


def memory_within(session: Session, budget: int, count: Callable[[str], int]) -> tuple[str, ...]:
    """As many of the lines as `budget` tokens hold, counted as one text with line ends; fewer tools first, then fewer
    things and notes. Nothing at all where not even one of each fits."""
    entities, tools, notes = ENTITIES, TOOLS, NOTES
    while entities or tools or notes:
        lines = memory_lines(session, entities, tools, notes)
        if count("".join(f"{line}\n" for line in lines)) <= budget:
            return lines
        entities, tools, notes = _fewer(entities, tools, notes)
    return ()


def _fewer(entities: int, tools: int, notes: int) -> tuple[int, int, int]:
    if tools > PER_TYPE:
        return entities, tools - 1, notes
    if entities > PER_TYPE:
        return entities - 1, tools, notes
    if notes:
        return entities, tools, notes - 1
    return (entities, tools - 1, notes) if tools else (entities - 1, tools, notes)


def _known(session: Session, limit: int) -> list[str]:
    shown = session.entities[len(session.entities) - limit :] if 0 < limit < len(session.entities) else session.entities
    if not limit or not shown:
        return []
    groups: dict[str, list[Entity]] = {}
    for each in reversed(shown):
        groups.setdefault(each.type, []).append(each)
    every = _counted(each.type for each in session.entities)
    lines = [_group(kind, [_thing(each) for each in group[:PER_TYPE]], every[kind]) for kind, group in groups.items()]
    return ["Known entities:", *lines, *_others(len(every) - len(groups), "type")]


def _thing(entity: Entity) -> str:
    name, identifier = _value(one_line(entity.name, _NAME)), _value(entity.id)
    return name if name == identifier else f"{name} ({identifier})"


def _value(text: str) -> str:
    """The text as it stands in a list; in quotes where it could pass for several items of one."""
    return json.dumps(text, ensure_ascii=False) if _LISTED.search(text) else text


def _available(session: Session, limit: int) -> list[str]:
    known = session.known
    if not limit or not known:
        return []
    groups: dict[str, list[str]] = {}
    for identifier in known[:limit]:
        kind, _, name = identifier.partition(":")
        groups.setdefault(kind, []).append(f"{name or identifier}{_use(session, identifier)}")
    every = _counted(each.partition(":")[0] for each in known)
    lines = [_group(kind, group, every[kind]) for kind, group in groups.items()]
    return ["Available tools:", *lines, *_others(len(every) - len(groups), "kind")]


def _use(session: Session, identifier: str) -> str:
    used = session.used.get(identifier)
    if used is None:
        return ""
    return f" [used {used.count}, last {used.last}]" if used.last else f" [used {used.count}]"


def _noted(session: Session, limit: int) -> list[str]:
    lines = [f"- {one_line(note.text, _NOTE)}" for note in session.notes[-limit:]] if limit else []
    return ["Notes:", *lines] if lines else []


def _counted(keys: Iterable[str]) -> Mapping[str, int]:
    counts: dict[str, int] = {}
    for key in keys:
        counts[key] = counts.get(key, 0) + 1
    return counts


def _group(label: str, shown: list[str], total: int) -> str:
    more = f" (+{total - len(shown)} more)" if total > len(shown) else ""
    return f"- {one_line(label, _NAME)}: {', '.join(shown)}{more}"


def _others(count: int, noun: str) -> list[str]:
    return [f"- (+{count} more {noun}{'s' if count > 1 else ''})"] if count > 0 else []
