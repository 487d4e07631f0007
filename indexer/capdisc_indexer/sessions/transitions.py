"""What happens to a session, each step a function from the last state to the next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from capdisc_indexer.model.frozen import frozen, replace
from capdisc_indexer.sessions.session_types import (
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
    next_mode,
)
from capdisc_indexer.text.normalization import one_line, visible_text

# The things that a result names, found by the rule that the capability declares and by nothing
# else.
#
# `extraction: {path, type, nameField, idField: id, isArray: false}`. `path` is `$root` or keys
# joined by dots. Where a result may be of several types, `typeField` names the field that says
# which, in the item or at the top; `nameFields` are tried in order.

ROOT_PATH = "$root"
MAX_EXTRACTED = 5
_MAX_PATH_STEPS = 16


@frozen(kw_only=True)
class ExtractionRule:
    """Where the things of a result stand. `type` is what they are where no `type_field` says
    it.
    """

    path: tuple[str, ...]
    type: str = ""
    type_field: str = ""
    name_fields: tuple[str, ...] = ()
    id_field: str = "id"
    is_array: bool = False


@frozen(kw_only=True)
class Extraction:
    """What a result named. `total` are the items that stood at the path; `why` says why there is
    nothing, or less.
    """

    entities: tuple[Entity, ...] = ()
    total: int = 0
    why: str = ""


def parse_rule(declared: Mapping[str, Any]) -> ExtractionRule | str:
    """The rule, or what is wrong with what was declared. Keys may be written in camelCase or with
    underscores.
    """
    declared_values = {
        key.replace("_", "").replace("-", "").lower(): value for key, value in declared.items()
    }
    path, names = (
        declared_values.get("path", ROOT_PATH),
        declared_values.get("namefields", declared_values.get("namefield", ())),
    )
    names = (names,) if isinstance(names, str) else names
    texts = {key: declared_values.get(key, "") for key in ("type", "typefield")} | {
        "idfield": declared_values.get("idfield", "id")
    }
    if not isinstance(path, str) or not all(isinstance(value, str) for value in texts.values()):
        return "path, type, typeField and idField must be text"
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        return "nameField must be text, nameFields a list of texts"
    if not texts["type"] and not texts["typefield"]:
        return "neither type nor typeField is declared"
    steps = (
        ()
        if path.strip() in (ROOT_PATH, "")
        else tuple(path.strip().removeprefix(f"{ROOT_PATH}.").split("."))
    )
    if len(steps) > _MAX_PATH_STEPS:
        return f"the path has more than {_MAX_PATH_STEPS} parts"
    return ExtractionRule(
        path=steps,
        type=texts["type"],
        type_field=texts["typefield"],
        name_fields=tuple(names),
        id_field=texts["idfield"] or "id",
        is_array=declared_values.get("isarray") is True,
    )


def extract_entities(rule: ExtractionRule, result: Any, source: str) -> Extraction:
    """The things that the result of `source` names, the first five of them."""
    value, shown = _value_at(result, rule.path), one_line(".".join(rule.path) or ROOT_PATH, 80)
    if value is None:
        return Extraction(why=f"the result has nothing at {shown}")
    if isinstance(value, list) != rule.is_array:
        mismatch = (
            "a list, which isArray does not say"
            if isinstance(value, list)
            else "no list, which isArray says"
        )
        return Extraction(why=f"{shown} is {mismatch}")
    items = value if rule.is_array else [value]
    parsed_items = [_build_entity(rule, item, result, source) for item in items[:MAX_EXTRACTED]]
    entities = tuple(entity for entity in parsed_items if isinstance(entity, Entity))
    reasons = list(dict.fromkeys(reason for reason in parsed_items if isinstance(reason, str)))
    if len(items) > MAX_EXTRACTED:
        reasons.append(f"{len(items)} items at {shown}, the first {MAX_EXTRACTED} are kept")
    return Extraction(entities=entities, total=len(items), why="; ".join(reasons))


def _value_at(value: Any, path: Sequence[str]) -> Any:
    for key in path:
        if not isinstance(value, Mapping):
            return None
        value = value.get(key)
    return value


def _build_entity(rule: ExtractionRule, item: Any, result: Any, source: str) -> Entity | str:
    """The thing that an item is, or why it is none."""
    if not isinstance(item, Mapping):
        return "an item is no mapping"
    kind = _clean_text(item.get(rule.type_field)) if rule.type_field else ""
    if rule.type_field and not kind and isinstance(result, Mapping):
        kind = _clean_text(result.get(rule.type_field))
    kind, identifier = kind or _clean_text(rule.type), _clean_text(item.get(rule.id_field))
    if not kind:
        return f"an item has no {one_line(rule.type_field, 40)}"
    if not identifier or identifier.endswith("…"):
        return f"an item has no {one_line(rule.id_field, 40)} of at most {MAX_TEXT} characters"
    named = (_clean_text(item.get(field)) for field in rule.name_fields)
    return Entity(
        type=kind, id=identifier, name=next(filter(None, named), identifier), source=source, turn=0
    )


def _clean_text(value: Any) -> str:
    """The value as text; "" for what is no text or number, and for what shows nothing."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    text = one_line(str(value), MAX_TEXT)
    return text if visible_text(text) else ""


_Counted = TypeVar("_Counted", Discovery, Usage)


def add_discoveries(session: Session, ids: Sequence[str]) -> Session:
    """A new turn in which these capabilities were found."""
    turn = session.turn + 1
    discovered = dict(session.discovered)
    for identifier in dict.fromkeys(ids):
        discovered[identifier] = Discovery(
            count=discovered[identifier].count + 1 if identifier in discovered else 1, turn=turn
        )
    return replace(session, turn=turn, discovered=_keep_latest(discovered))


def record_use(session: Session, identifier: str, result: str = "") -> Session:
    """The capability was used once more; `result` is "ok", "failed" or ""."""
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
    """A result was looked at and named these; one that was known moves to the end, with its latest
    name.
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
    """The capabilities are shown in every prompt from now on."""
    return replace(session, active=tuple(dict.fromkeys([*session.active, *ids]))[-MAX_IDS:])


def drop_capabilities(session: Session, ids: Sequence[str]) -> Session:
    """The capabilities are neither shown nor offered any more."""
    return replace(
        session,
        active=tuple(identifier for identifier in session.active if identifier not in ids),
        discovered={key: value for key, value in session.discovered.items() if key not in ids},
        used={key: value for key, value in session.used.items() if key not in ids},
    )


def add_note(session: Session, text: str) -> Session:
    """The line is kept, cut to 2,000 characters; what it says about the way of working is taken
    over.
    """
    note = SessionNote(text=one_line(text, MAX_NOTE), turn=session.turn)
    return replace(
        session, notes=(*session.notes, note)[-MAX_NOTES:], mode=next_mode(text, session.mode)
    )


def clear_session(session: Session, tools_only: bool) -> Session:
    """The session without anything, or without its capabilities alone, as after an agent's
    compaction.
    """
    if tools_only:
        return replace(session, discovered={}, used={}, active=())
    return Session(name=session.name, created=session.created, updated=session.updated)


def _keep_latest(counts: Mapping[str, _Counted]) -> dict[str, _Counted]:
    """At most MAX_IDS of them, those of the latest turns; the order in which they came."""
    if len(counts) <= MAX_IDS:
        return dict(counts)
    latest_ids = set(
        sorted(counts, key=lambda identifier: (-counts[identifier].turn, identifier))[:MAX_IDS]
    )
    return {key: value for key, value in counts.items() if key in latest_ids}
