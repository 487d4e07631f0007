"""A session as the JSON of its file. A person may edit it, so nothing in it is taken on trust."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from capdisc_indexer import strict_json
from capdisc_indexer.frozen import fields, is_value, shallow
from capdisc_indexer.session.modes import MODES
from capdisc_indexer.session.values import (
    MAX_ENTITIES,
    MAX_IDS,
    MAX_NOTE,
    MAX_NOTES,
    MAX_TEXT,
    Entity,
    Found,
    Note,
    Session,
    Used,
)
from capdisc_indexer.text import one_line

SCHEMA_VERSION = 1
_MAX_COUNT = 10**9


def to_bytes(session: Session) -> bytes:
    """The file's content, indented for a reader."""
    return (json.dumps(to_document(session), ensure_ascii=False, indent=2) + "\n").encode("utf-8", "replace")


def to_document(session: Session) -> dict[str, Any]:
    """The session as JSON values."""
    values = {key: _plain(getattr(session, key)) for key in fields(Session)}
    return {"schema_version": SCHEMA_VERSION, "session": values.pop("name"), **values}


def from_bytes(data: bytes, name: str) -> Session:
    """The session. Raises ValueError, saying what is wrong, for anything that `to_bytes` does not write."""
    document = _mapping(strict_json.loads(data))
    if document.get("schema_version") != SCHEMA_VERSION:
        raise ValueError(f"it is of version {document.get('schema_version')!r:.20}, not {SCHEMA_VERSION}")
    return Session(
        name=name,
        created=_text(document, "created"),
        updated=_text(document, "updated"),
        turn=_count(document, "turn"),
        mode=_text(document, "mode") if _text(document, "mode") in MODES else "",
        discovered={key: _found(each) for key, each in _ids(document, "discovered").items()},
        used={key: _used(each) for key, each in _ids(document, "used").items()},
        active=tuple(one_line(_string(each), MAX_TEXT) for each in _items(document, "active", MAX_IDS)),
        entities=tuple(_entity(_mapping(each)) for each in _items(document, "entities", MAX_ENTITIES)),
        notes=tuple(_note(_mapping(each)) for each in _items(document, "notes", MAX_NOTES)),
        observed=_count(document, "observed"),
        barren=_count(document, "barren"),
    )


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return shallow(value) if is_value(value) else value


def _found(value: Any) -> Found:
    entry = _mapping(value)
    return Found(count=_count(entry, "count"), turn=_count(entry, "turn"))


def _used(value: Any) -> Used:
    entry, last = _mapping(value), _text(_mapping(value), "last")
    if last not in ("ok", "failed", ""):
        raise ValueError("a last result is neither ok nor failed")
    count, ok, failed, turn = (_count(entry, key) for key in ("count", "ok", "failed", "turn"))
    return Used(count=count, ok=ok, failed=failed, last=last, turn=turn)


def _entity(entry: Mapping[str, Any]) -> Entity:
    texts = {key: _text(entry, key) for key in ("type", "id", "name", "source")}
    return Entity(**texts, turn=_count(entry, "turn"))


def _note(entry: Mapping[str, Any]) -> Note:
    return Note(text=_text(entry, "text", MAX_NOTE), turn=_count(entry, "turn"))


def _mapping(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("something in it is no mapping")  # noqa: TRY004 - one kind of error for a damaged file
    return value


def _ids(document: Mapping[str, Any], key: str) -> dict[str, Any]:
    entries = _mapping(document.get(key, {}))
    return {one_line(each, MAX_TEXT): entries[each] for each in list(entries)[-MAX_IDS:]}


def _items(document: Mapping[str, Any], key: str, most: int) -> list[Any]:
    value = document.get(key, [])
    if not isinstance(value, list):
        raise ValueError(f"{key} is no list")  # noqa: TRY004
    return value[-most:]


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("something in it is no text")  # noqa: TRY004
    return value


def _text(entry: Mapping[str, Any], key: str, limit: int = MAX_TEXT) -> str:
    return one_line(_string(entry.get(key, "")), limit)


def _count(entry: Mapping[str, Any], key: str) -> int:
    value = entry.get(key, 0)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _MAX_COUNT:
        raise ValueError(f"{key} is no count")
    return value
