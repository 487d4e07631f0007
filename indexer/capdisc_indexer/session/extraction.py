"""The things that a result names, found by the rule that the capability declares and by nothing else.

`extraction: {path, type, nameField, idField: id, isArray: false}`. `path` is `$root` or keys joined by dots. Where a
result may be of several types, `typeField` names the field that says which, in the item or at the top; `nameFields`
are tried in order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from capdisc_indexer.frozen import frozen
from capdisc_indexer.session.values import MAX_TEXT, Entity
from capdisc_indexer.text import one_line, visible

ROOT = "$root"
MAX_ITEMS = 5
_MAX_PATH = 16


@frozen(kw_only=True)
class Rule:
    """Where the things of a result stand. `type` is what they are where no `type_field` says it."""

    path: tuple[str, ...]
    type: str = ""
    type_field: str = ""
    name_fields: tuple[str, ...] = ()
    id_field: str = "id"
    is_array: bool = False


@frozen(kw_only=True)
class Extraction:
    """What a result named. `total` are the items that stood at the path; `why` says why there is nothing, or less."""

    entities: tuple[Entity, ...] = ()
    total: int = 0
    why: str = ""


def rule_of(declared: Mapping[str, Any]) -> Rule | str:
    """The rule, or what is wrong with what was declared. Keys may be written in camelCase or with underscores."""
    given = {key.replace("_", "").replace("-", "").lower(): value for key, value in declared.items()}
    path, names = given.get("path", ROOT), given.get("namefields", given.get("namefield", ()))
    names = (names,) if isinstance(names, str) else names
    texts = {key: given.get(key, "") for key in ("type", "typefield")} | {"idfield": given.get("idfield", "id")}
    if not isinstance(path, str) or not all(isinstance(value, str) for value in texts.values()):
        return "path, type, typeField and idField must be text"
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        return "nameField must be text, nameFields a list of texts"
    if not texts["type"] and not texts["typefield"]:
        return "neither type nor typeField is declared"
    steps = () if path.strip() in (ROOT, "") else tuple(path.strip().removeprefix(f"{ROOT}.").split("."))
    if len(steps) > _MAX_PATH:
        return f"the path has more than {_MAX_PATH} parts"
    return Rule(
        path=steps,
        type=texts["type"],
        type_field=texts["typefield"],
        name_fields=tuple(names),
        id_field=texts["idfield"] or "id",
        is_array=given.get("isarray") is True,
    )


def extract(rule: Rule, result: Any, source: str) -> Extraction:
    """The things that the result of `source` names, the first five of them."""
    place, shown = _at(result, rule.path), one_line(".".join(rule.path) or ROOT, 80)
    if place is None:
        return Extraction(why=f"the result has nothing at {shown}")
    if isinstance(place, list) != rule.is_array:
        wanted = "a list, which isArray does not say" if isinstance(place, list) else "no list, which isArray says"
        return Extraction(why=f"{shown} is {wanted}")
    items = place if rule.is_array else [place]
    found = [_entity(rule, item, result, source) for item in items[:MAX_ITEMS]]
    entities = tuple(each for each in found if isinstance(each, Entity))
    reasons = list(dict.fromkeys(each for each in found if isinstance(each, str)))
    if len(items) > MAX_ITEMS:
        reasons.append(f"{len(items)} items at {shown}, the first {MAX_ITEMS} are kept")
    return Extraction(entities=entities, total=len(items), why="; ".join(reasons))


def _at(value: Any, path: Sequence[str]) -> Any:
    for key in path:
        if not isinstance(value, Mapping):
            return None
        value = value.get(key)
    return value


def _entity(rule: Rule, item: Any, result: Any, source: str) -> Entity | str:
    """The thing that an item is, or why it is none."""
    if not isinstance(item, Mapping):
        return "an item is no mapping"
    kind = _text(item.get(rule.type_field)) if rule.type_field else ""
    if rule.type_field and not kind and isinstance(result, Mapping):
        kind = _text(result.get(rule.type_field))
    kind, identifier = kind or _text(rule.type), _text(item.get(rule.id_field))
    if not kind:
        return f"an item has no {one_line(rule.type_field, 40)}"
    if not identifier or identifier.endswith("…"):
        return f"an item has no {one_line(rule.id_field, 40)} of at most {MAX_TEXT} characters"
    named = (_text(item.get(field)) for field in rule.name_fields)
    return Entity(type=kind, id=identifier, name=next(filter(None, named), identifier), source=source, turn=0)


def _text(value: Any) -> str:
    """The value as text; "" for what is no text or number, and for what shows nothing."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    text = one_line(str(value), MAX_TEXT)
    return text if visible(text) else ""
