"""How a session changes: each transition is a function from a session to the next one; and how
entities are extracted from the result of a capability.

Entities are found by the rule that the capability declares, and by nothing else:
`extraction: {path, type, nameField, idField: id, isArray: false}`. `path` is `$root`, or keys
joined by dots. Where a result may hold several types, `typeField` names the field with the type,
in the item or at the top. `nameFields` are tried in order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from capdisc_indexer.model.frozen import frozen, replace
from capdisc_indexer.text.normalization import one_line, visible_text
from capdisc_sessions.session_types import (
    MAX_ENTITIES,
    MAX_IDS,
    MAX_NOTE,
    MAX_NOTES,
    MAX_TEXT,
    Discovery,
    Entity,
    Session,
    SessionNote,
    Usage,
    choose_mode,
)

ROOT_PATH = "$root"
MAX_EXTRACTED = 5
_MAX_PATH_STEPS = 16


@frozen(kw_only=True)
class ExtractionRule:
    """Where the entities of a result stand; `type` is theirs where no `type_field` gives one."""

    path: tuple[str, ...]
    type: str = ""
    type_field: str = ""
    name_fields: tuple[str, ...] = ()
    id_field: str = "id"
    is_array: bool = False


@frozen(kw_only=True)
class Extraction:
    """The entities that a result named. `total` counts the items at the path; `why` says why fewer
    or no entities were extracted.
    """

    entities: tuple[Entity, ...] = ()
    total: int = 0
    why: str = ""


_CountT = TypeVar("_CountT", Discovery, Usage)


def parse_rule(declared: Mapping[str, object]) -> ExtractionRule | str:
    """The rule, or what is wrong with the declaration. Keys may be written in camelCase or with
    underscores.
    """
    values = {
        key.replace("_", "").replace("-", "").lower(): value for key, value in declared.items()
    }
    path, type_name = values.get("path", ROOT_PATH), values.get("type", "")
    type_field, id_field = values.get("typefield", ""), values.get("idfield", "id")
    names = values.get("namefields", values.get("namefield", ()))
    names = (names,) if isinstance(names, str) else names
    if not (
        isinstance(path, str)
        and isinstance(type_name, str)
        and isinstance(type_field, str)
        and isinstance(id_field, str)
    ):
        return "path, type, typeField and idField must be text"
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        return "nameField must be text, nameFields a list of texts"
    if not type_name and not type_field:
        return "neither type nor typeField is declared"
    keys = path.strip().removeprefix(f"{ROOT_PATH}.").split(".")
    if path.strip() in (ROOT_PATH, ""):
        keys = []
    if len(keys) > _MAX_PATH_STEPS:
        return f"the path has more than {_MAX_PATH_STEPS} parts"
    return ExtractionRule(
        path=tuple(keys),
        type=type_name,
        type_field=type_field,
        name_fields=tuple(names),
        id_field=id_field or "id",
        is_array=values.get("isarray") is True,
    )


def extract_entities(rule: ExtractionRule, result: Any, source: str) -> Extraction:
    """The first five entities that the result of the capability `source` names."""
    value = _value_at(result, rule.path)
    place = one_line(".".join(rule.path) or ROOT_PATH, 80)
    if value is None:
        return Extraction(why=f"the result has nothing at {place}")
    if rule.is_array and not isinstance(value, list):
        return Extraction(why=f"{place} is not a list, but isArray is set")
    items = value if isinstance(value, list) else [value]
    parsed_items = [_build_entity(rule, item, result, source) for item in items[:MAX_EXTRACTED]]
    entities = tuple(entity for entity in parsed_items if isinstance(entity, Entity))
    reasons = list(dict.fromkeys(reason for reason in parsed_items if isinstance(reason, str)))
    if len(items) > MAX_EXTRACTED:
        reasons.append(f"{len(items)} items at {place}, the first {MAX_EXTRACTED} are kept")
    return Extraction(entities=entities, total=len(items), why="; ".join(reasons))


def _value_at(value: Any, path: Sequence[str]) -> Any:
    for key in path:
        if not isinstance(value, Mapping):
            return None
        value = value.get(key)
    return value


def _build_entity(rule: ExtractionRule, item: Any, result: Any, source: str) -> Entity | str:
    """The entity that an item describes, or why there is none."""
    if not isinstance(item, Mapping):
        return "an item is not an object"
    kind = _clean_text(item.get(rule.type_field)) if rule.type_field else ""
    if rule.type_field and not kind and isinstance(result, Mapping):
        kind = _clean_text(result.get(rule.type_field))
    kind, identifier = kind or _clean_text(rule.type), _clean_text(item.get(rule.id_field))
    if not kind:
        return f"an item has no {one_line(rule.type_field, 40)}"
    if not identifier or identifier.endswith("…"):
        return f"an item has no {one_line(rule.id_field, 40)} of at most {MAX_TEXT} characters"
    names = (_clean_text(item.get(field)) for field in rule.name_fields)
    name = next(filter(None, names), identifier)
    return Entity(type=kind, id=identifier, name=name, source=source, turn=0)


def _clean_text(value: Any) -> str:
    """The value as one line; "" for what is neither text nor number, or has no visible
    character.
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    text = one_line(str(value), MAX_TEXT)
    return text if visible_text(text) else ""


def add_discoveries(session: Session, ids: Sequence[str]) -> Session:
    """The session after a new turn in which these capabilities were found."""
    turn = session.turn + 1
    discovered = dict(session.discovered)
    for identifier in dict.fromkeys(ids):
        discovered[identifier] = Discovery(
            count=discovered[identifier].count + 1 if identifier in discovered else 1, turn=turn
        )
    return replace(session, turn=turn, discovered=_keep_latest(discovered))


def record_use(session: Session, identifier: str, result: str = "") -> Session:
    """The session after one more use of the capability; `result` is "ok", "failed" or ""."""
    previous = session.used.get(identifier, Usage(count=0))
    now = Usage(
        count=previous.count + 1,
        ok=previous.ok + (result == "ok"),
        failed=previous.failed + (result == "failed"),
        last=result or previous.last,
        turn=session.turn,
    )
    return replace(session, used=_keep_latest({**session.used, identifier: now}))


def record_observation(session: Session, entities: Sequence[Entity]) -> Session:
    """The session after a result that named these entities; a known entity moves to the end, with
    its latest name.
    """
    latest_entities = {
        (entity.type, entity.id): replace(entity, turn=session.turn) for entity in entities
    }
    older_entities = [
        entity for entity in session.entities if (entity.type, entity.id) not in latest_entities
    ]
    return replace(
        session,
        entities=tuple([*older_entities, *latest_entities.values()][-MAX_ENTITIES:]),
        observed=session.observed + 1,
        barren=session.barren + (not entities),
    )


def activate_capabilities(session: Session, ids: Sequence[str]) -> Session:
    """The session in which every prompt shows these capabilities in full."""
    return replace(session, active=tuple(dict.fromkeys([*session.active, *ids]))[-MAX_IDS:])


def drop_capabilities(session: Session, ids: Sequence[str]) -> Session:
    """The session without these capabilities."""
    return replace(
        session,
        active=tuple(identifier for identifier in session.active if identifier not in ids),
        discovered={key: value for key, value in session.discovered.items() if key not in ids},
        used={key: value for key, value in session.used.items() if key not in ids},
    )


def add_note(session: Session, text: str) -> Session:
    """The session with this note, cut to 2,000 characters, and with the mode that the note asks
    for.
    """
    note = SessionNote(text=one_line(text, MAX_NOTE), turn=session.turn)
    return replace(
        session,
        notes=(*session.notes, note)[-MAX_NOTES:],
        mode=choose_mode(text, session.mode).mode,
    )


def clear_session(session: Session, tools_only: bool) -> Session:
    """The session emptied; with `tools_only`, without its capabilities alone, as after an agent's
    compaction.
    """
    if tools_only:
        return replace(session, discovered={}, used={}, active=())
    return Session(name=session.name, created=session.created, updated=session.updated)


def _keep_latest(counts: Mapping[str, _CountT]) -> dict[str, _CountT]:
    """The MAX_IDS entries of the latest turns, in the order in which they came."""
    if len(counts) <= MAX_IDS:
        return dict(counts)
    latest_ids = set(
        sorted(counts, key=lambda identifier: (-counts[identifier].turn, identifier))[:MAX_IDS]
    )
    return {key: value for key, value in counts.items() if key in latest_ids}
