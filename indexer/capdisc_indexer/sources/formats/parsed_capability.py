"""What all formats make of a file: capabilities with their texts for the content rules, findings
about the file, and the inputs that a JSON schema declares, as names and types short enough for a
list.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from capdisc_indexer.model.frozen import frozen, replace
from capdisc_indexer.model.json_types import JsonSchema
from capdisc_indexer.model.types import Descriptor, Finding, LoadedFile, Parameter, Severity
from capdisc_indexer.sources.readers.yaml_nodes import Json, MapNode, map_node, plain_value
from capdisc_indexer.sources.scan.scanned_files import FoundFile, printable_path
from capdisc_indexer.text.normalization import one_line

MAX_CONTENT_BYTES = 64 * 1024
MAX_PARAMETERS = 64
_MAX_DEPTH = 3
_MAX_CHOICES = 12
_MAX_TYPE_CHARACTERS = 120


@frozen(kw_only=True)
class LongText:
    """A text of many lines, its file, and its first line there; with `in_place`, the lines of its
    other lines are unknown.
    """

    value: str
    path: str
    line: int = 1
    in_place: bool = False


@frozen(kw_only=True)
class ParsedCapability:
    """One capability as its file has it, for the content rules: the fields with their places, and
    every long text. `descriptor` is None if the capability was refused.

    `long_keys` are the keys that hold or name the long texts; `schema` comes from a schema.json
    next to the manifest.
    """

    node: MapNode
    descriptor: Descriptor | None
    longs: tuple[LongText, ...] = ()
    long_keys: frozenset[str] = frozenset()
    schema: Mapping[str, Json] | None = None
    schema_path: str = ""


def clip_content(text: str) -> str:
    """The text up to the last full line within MAX_CONTENT_BYTES, or up to that limit if lines are
    very long.
    """
    data = text.encode("utf-8", "replace")
    if len(data) <= MAX_CONTENT_BYTES:
        return text
    clipped = data[:MAX_CONTENT_BYTES].decode("utf-8", "ignore")
    end = clipped.rfind("\n") + 1
    return clipped[:end] if end > len(clipped) // 2 else clipped


def made_part(
    descriptor: Descriptor, fields: Mapping[str, Json] = {}, longs: tuple[LongText, ...] = ()
) -> ParsedCapability:
    """A derived capability, with its own texts and those of `fields` for the content rules."""
    field_values: dict[str, Json] = {
        "name": descriptor.name,
        "title": descriptor.title,
        "description": descriptor.description,
    }
    return ParsedCapability(
        node=map_node({**field_values, **fields}), descriptor=descriptor, longs=longs
    )


def load_part(part: ParsedCapability, findings: Iterable[Finding]) -> LoadedFile:
    """What is read of one capability: itself, unless it was refused, and the findings about it."""
    return LoadedFile(parts=(part,), findings=tuple(findings))


# What a whole file becomes, as opposed to the tables, operations and sections in it.
_WHOLE_KINDS = frozenset({"database", "document", "api"})
_MAX_DECLARED_DESCRIPTION = 1_000


def add_declared_description(loaded: LoadedFile, file: FoundFile) -> LoadedFile:
    """The file with the `description` of its declaration before what the file itself says: of the
    database, document or API, or of the one table that it is.
    """
    declared = one_line(file.options["description"], _MAX_DECLARED_DESCRIPTION)
    parts = list(loaded.parts)
    places = [number for number, part in enumerate(parts) if part.descriptor]
    place = next(
        (number for number in places if parts[number].descriptor.kind in _WHOLE_KINDS),
        0 if places and len(parts) == 1 else None,
    )
    if place is None or not declared:
        return loaded
    part, end = parts[place], "" if declared.endswith((".", "!", "?")) else "."
    described = replace(
        part.descriptor, description=f"{declared}{end} {part.descriptor.description}".strip()
    )
    # Among its fields, so that the content rules read it.
    added = map_node({"description of the source": declared})
    node = replace(part.node, entries={**part.node.entries, **added.entries})
    parts[place] = replace(part, node=node, descriptor=described)
    return replace(loaded, parts=tuple(parts))


def join_loaded(*results: LoadedFile, before: Iterable[Finding] = ()) -> LoadedFile:
    """The content and findings of several parts of one file, in order, after those `before`."""
    return LoadedFile(
        parts=tuple(part for result in results for part in result.parts),
        findings=(*before, *(finding for result in results for finding in result.findings)),
        overlays=tuple(overlay for result in results for overlay in result.overlays),
    )


def sample_count(file: FoundFile) -> int:
    """The number of samples that the declaration of the file asks for; 0 by default."""
    return int(file.options.get("samples", 0))


def changed_at(file: FoundFile) -> str:
    """The time of the last change of the file in UTC, or "" if its stamp is not a time."""
    try:
        return datetime.fromtimestamp(file.mtime_ns / 1e9, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (OverflowError, OSError, ValueError):
        return ""


def file_finding(
    file: FoundFile, severity: Severity, code: str, message: str, hint: str, line: int = 1
) -> Finding:
    """A finding about the file."""
    return Finding(code, severity, message, hint, printable_path(file.path), line)


def read_toml(file: FoundFile, text: str, hint: str) -> dict[str, Json] | Finding:
    """The content of a file in TOML, or the finding that says why there is none."""
    from capdisc_indexer.config.settings_reader import parse_toml

    try:
        return {key: plain_value(value) for key, value in parse_toml(text).items()}
    except ValueError as error:
        message = f"it is not TOML: {one_line(str(error), 200)}"
        return file_finding(file, Severity.ERROR, "toml-syntax", message, hint)


def read_parameters(schema: JsonSchema | None) -> tuple[Parameter, ...]:
    """The top-level properties, at most MAX_PARAMETERS. References are named, never followed.

    >>> read_parameters({"properties": {"tags": {"type": "array", "items": {"type": "string"}}}, "required": ["tags"]})
    (Parameter(name='tags', type='array<string>', required=True, description=''),)
    """
    if schema is None or not isinstance(properties := schema.get("properties"), Mapping):
        return ()
    required = {name for name in _list_under(schema, "required") if isinstance(name, str)}
    shown = list(properties.items())[:MAX_PARAMETERS]
    return tuple(_parameter(str(name), declared, name in required) for name, declared in shown)


def type_text(declared: object, depth: int = 0) -> str:
    """The type in one word: `string`, `array<string>`, `a|b` for choices, `any` if none is
    declared.

    >>> type_text({"enum": ["low", "high"]}), type_text({"type": ["string", "null"]}), type_text({"$ref": "#/x/Size"})
    ('low|high', 'string|null', 'Size')
    """
    if not isinstance(declared, Mapping) or depth > _MAX_DEPTH:
        return "any"
    if choices := _list_under(declared, "enum"):
        return _join_words(str(choice) for choice in choices)
    if isinstance(reference := declared.get("$ref"), str):
        return reference.rpartition("/")[2] or "any"
    if options := _list_under(declared, "anyOf") or _list_under(declared, "oneOf"):
        return _join_words(type_text(option, depth + 1) for option in options)
    if "const" in declared:
        return str(declared["const"])[:_MAX_TYPE_CHARACTERS]
    return _plain_type(declared, depth)


def _plain_type(declared: Mapping[str, object], depth: int) -> str:
    if names := _list_under(declared, "type"):
        return _join_words(str(name) for name in names)
    name = declared.get("type")
    if name == "array" or (name is None and "items" in declared):
        inner = type_text(declared.get("items"), depth + 1)
        return "array" if inner == "any" else f"array<{inner}>"
    if isinstance(name, str):
        return name
    return "object" if "properties" in declared else "any"


def _parameter(name: str, declared: object, is_required: bool) -> Parameter:
    text = declared.get("description") if isinstance(declared, Mapping) else None
    description = " ".join(text.split()) if isinstance(text, str) else ""
    return Parameter(
        name=name, type=type_text(declared), required=is_required, description=description
    )


def _list_under(declared: Mapping[str, object], key: str) -> list[object]:
    value = declared.get(key)
    return value if isinstance(value, list) else []


def _join_words(words: Iterable[str]) -> str:
    unique = list(dict.fromkeys(words))
    shown = [*unique[:_MAX_CHOICES], "..."] if len(unique) > _MAX_CHOICES else unique
    text = "|".join(shown)
    return text if len(text) <= _MAX_TYPE_CHARACTERS else text[:_MAX_TYPE_CHARACTERS] + "..."
