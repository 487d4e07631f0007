"""Every field of manifests, skills, agents and commands: one row each, with the keys that the
files of each format have for it, and one reader for all.

A field is optional. A value of a wrong type becomes a warning and counts as absent.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any, TypeAlias

from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.json_types import JsonObject
from capdisc_indexer.model.records import any_of_name, parse_systems
from capdisc_indexer.model.risks import RISK_CHOICES, UNKNOWN_RISK, risk_level
from capdisc_indexer.model.types import Severity
from capdisc_indexer.sources.formats.naming_rules import is_secret_name
from capdisc_indexer.sources.readers.field_reader import Fields
from capdisc_indexer.sources.readers.yaml_nodes import MapNode, to_json

# Every definition of the tool repeats them, and a model learns the form from a few.
MAX_EXAMPLES = 20

# The mappings of a document and the names of a field in them, in the order of their preference.
_Places: TypeAlias = Sequence[tuple[Fields, str]]
_Read: TypeAlias = Callable[[_Places], Any]


@frozen
class FieldRow:
    """One field of a descriptor, its type, and its keys in the files of each format; case,
    `_` and `-` in a key do not matter.

    Blanks separate keys with one meaning, the preferred one first, and commas keys whose values
    are put together. `metadata.tags` is the key `tags` in the mapping `metadata`. A `target` that
    begins with `extra.` becomes one of the further fields. `type` is a name of `_READERS`; without
    one, the format reads the value itself.
    """

    target: str
    type: str = ""
    manifest: str = ""
    skill: str = ""
    prompt: str = ""
    catalogue: str = ""  # beyond the keys of a manifest, which a line of a catalogue has, too


_NOT_FOR = "notFor doNotUseFor"
_REQUIRES = "requires requiredTools"
_RELATED = "related relatedTo relatedTools"
_SYSTEMS = "os platforms"
_TITLE = "displayName title"
_RISK = "riskLevel risk"
FIELD_ROWS = (
    FieldRow("name", "", "name", "name", "name"),
    FieldRow("kind", "", "kind"),
    FieldRow("description", "", "description", "description", "description"),
    FieldRow("id", "", "id"),
    FieldRow("overlay", "", "overlay"),
    FieldRow("title", "text", _TITLE, f"{_TITLE}, metadata.{_TITLE}"),
    FieldRow(
        "category",
        "text",
        "category",
        "category, metadata.category, skillport.category",
        "category",
    ),
    FieldRow(
        "tags",
        "list",
        "tags, keywords",
        "tags, keywords, metadata.tags, metadata.keywords, skillport.tags",
        "tags",
    ),
    FieldRow(
        "phrases",
        "lines",
        "phrases, examples, hypotheticalQueries",
        "phrases, examples, triggers, hypotheticalQueries",
    ),
    FieldRow("not_for", "subjects", _NOT_FOR, f"{_NOT_FOR}, metadata.{_NOT_FOR}"),
    FieldRow("requires", "list", _REQUIRES),
    FieldRow("requires", "requirements", skill=f"{_REQUIRES}, metadata.{_REQUIRES}"),
    FieldRow("composed_with", "list", "composedWith", "composedWith"),
    FieldRow("related", "list", _RELATED, _RELATED),
    FieldRow("edges", "", "edges"),
    FieldRow("secrets", "secrets", "requiredSecrets secrets"),
    FieldRow("secrets", "secrets (of a skill)", skill="requires.env, client.primaryEnv"),
    FieldRow("bins", "list", "requiredBins bins"),
    FieldRow("bins", "programs", skill="requires.bins, requires.anyBins"),
    FieldRow("systems", "systems", _SYSTEMS, f"{_SYSTEMS}, client.os"),
    FieldRow("risk", "risk", _RISK, _RISK),
    FieldRow("has_side_effects", "flag (unreadable: true)", "hasSideEffects"),
    FieldRow("confirm", "flag (unreadable: true)", "requiresConfirmation"),
    FieldRow("available", "flag (default: true)", "available"),
    FieldRow(
        "hidden",
        "flag",
        "hidden",
        "disable-model-invocation hidden, metadata.internal",
        "disable-model-invocation hidden disable",
    ),
    FieldRow("schema", "", "inputSchema schema parameters"),
    FieldRow("output_schema", "mapping", "outputSchema"),
    FieldRow("input_examples", "examples", "inputExamples"),
    FieldRow("content", "", "skillContent"),
    # The text itself, never the name of a file: a generated text may look like one.
    FieldRow("text", catalogue="content"),
    FieldRow("body", "", prompt="prompt developer_instructions"),
    FieldRow(
        "usage_hint", "text", "usageHint", "when_to_use usageHint", "argument-hint when_to_use"
    ),
    FieldRow("guidance", "", "guidance"),
    FieldRow("instructions", "text", "instructions"),
    FieldRow("extract", "mapping", "extraction"),
    FieldRow("run", "mapping", "run"),
    FieldRow("extra.license", "text", "license", "license"),
    FieldRow("extra.compatibility", "text", skill="compatibility"),
    FieldRow("extra.version", "text", "version", "version"),
    FieldRow("extra.author", "text", "author"),
    FieldRow("extra.homepage", "text", "homepage"),
    FieldRow("extra.install_hint", "text", "installHint"),
    FieldRow("extra.metadata", "mapping (exact)", "metadata"),
    FieldRow("metadata", "", skill="metadata"),
    FieldRow("allowed-tools", "", skill="allowed-tools"),
)
# The mappings in the metadata of a skill: the one that each stands in, and its keys there. Clients
# of one family have theirs under the name of the client.
_CLIENTS = ("openclaw", "clawdbot", "clawdis", "moltbot", "wunderland", "agentos")
_MAPPINGS: Mapping[str, tuple[str, tuple[str, ...]]] = MappingProxyType(
    {
        "metadata": ("", ()),
        "skillport": ("metadata", ("skillport",)),
        "client": ("metadata", _CLIENTS),
        "requires": ("client", ("requires",)),
    }
)


def _merge(lists: Iterable[Iterable[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for texts in lists for text in texts))


def _texts(separators: str = ",") -> _Read:
    return lambda places: _merge(fields.texts(field, separators) for fields, field in places)


def _text(places: _Places) -> str:
    return next((text for fields, field in places if (text := fields.text(field))), "")


def _flag(default: bool = False, unreadable: bool | None = None) -> _Read:
    return lambda places: any(
        fields.flag(field, default, unreadable=unreadable) for fields, field in places
    )


def _mapping(exact: bool = False) -> _Read:
    return lambda places: next(fields.mapping(field, exact=exact) for fields, field in places)


def _systems(places: _Places) -> tuple[str, ...]:
    return parse_systems(text for fields, field in places for text in fields.texts(field))


def _programs(places: _Places) -> tuple[str, ...]:
    """The names of programs that are all needed, and one name for those of which one is enough."""
    needed, alternatives = (fields.texts(field) for fields, field in places)
    return _merge((needed, any_of_name(alternatives)))


def _names(places: _Places) -> tuple[str, ...]:
    """The capabilities that a skill requires. OpenClaw's `requires` is a mapping of programs and
    secrets, and names none.
    """
    return _merge(
        fields.texts(field)
        for fields, field in places
        if not isinstance(fields.value(field), MapNode)
    )


def _secrets(severity: Severity) -> _Read:
    """Reads the names of secrets. A text that is not a name may be a secret itself, so no message
    repeats it.
    """

    def read(places: _Places) -> tuple[str, ...]:
        names: list[str] = []
        for fields, field in places:
            texts = fields.texts(field)
            names += filter(is_secret_name, texts)
            if not all(map(is_secret_name, texts)):
                message = f"{fields.key(field)} holds something that is not the name of a secret"
                hint = "write names such as API_KEY; if a real secret stood here, revoke it"
                fields.note(field, severity, "secret-value", message, hint)
        return _merge((names,))

    return read


def _risk(places: _Places) -> str:
    """The level of risk; for a text that names none it is UNKNOWN_RISK, with a warning."""
    ((fields, field),) = places
    if fields.value(field) is None:
        return ""
    if level := risk_level(fields.text(field)):
        return level
    choices = ", ".join(RISK_CHOICES)
    message = f"{fields.key(field)} is not one of {choices}; read as {UNKNOWN_RISK}"
    fields.warn(field, "field-value", message, "use one of them")
    return UNKNOWN_RISK


def _examples(places: _Places) -> tuple[JsonObject, ...]:
    """The arguments of example calls; an example that is not a mapping is left out, with a
    warning.
    """
    ((fields, field),) = places
    if (node := fields.value(field)) is None:
        return ()
    value, key = to_json(node), fields.key(field)
    items = value if isinstance(value, list) else [value]
    examples = [item for item in items if isinstance(item, dict)]
    if len(examples) < len(items):
        message = f"{key} holds an example that is not a mapping"
        hint = "write a list, each item with the arguments of one call"
        fields.warn(field, "field-type", message, hint)
    if len(examples) > MAX_EXAMPLES:
        message = f"{key} has {len(examples):,} items; the first {MAX_EXAMPLES:,} are read"
        fields.warn(field, "too-many-items", message, "keep the telling ones")
    return tuple(examples[:MAX_EXAMPLES])


# What `FieldRow.type` names. A flag that asks for caution must not fail open.
_READERS: Mapping[str, _Read] = MappingProxyType(
    {
        "secrets": _secrets(Severity.ERROR),
        "secrets (of a skill)": _secrets(Severity.WARNING),
        "lines": _texts("\n"),
        "subjects": _texts(",;\n"),
        "list": _texts(),
        "flag (unreadable: true)": _flag(unreadable=True),
        "flag (default: true)": _flag(default=True),
        "flag": _flag(),
        "mapping (exact)": _mapping(exact=True),
        "mapping": _mapping(),
        "examples": _examples,
        "risk": _risk,
        "systems": _systems,
        "programs": _programs,
        "requirements": _names,
        "text": _text,
    }
)


@frozen
class FieldPlan:
    """How the fields of one format are read: by mapping ("" for the document) the keys of each
    field, and by target the reader with the places of the field.
    """

    names: Mapping[str, Mapping[str, tuple[str, ...]]]
    readers: Sequence[tuple[str, _Read, Sequence[tuple[str, str]]]]

    def open(self, node: MapNode, path: str) -> Fields:
        """The fields of a document."""
        return Fields(node, path, self.names[""])

    def read(self, fields: Fields, targets: Collection[str] = ()) -> JsonObject:
        """The values by field of Descriptor, of these `targets` (empty: of all) that have a
        reader; `fields` has a finding for each that cannot be used.
        """
        of = {"": fields}
        for name in list(self.names)[1:]:
            outer, _ = _MAPPINGS[name]
            of[name] = of[outer].within(of[outer].value(name), self.names[name])
        values: JsonObject = {}
        extra: JsonObject = {}
        for target, read, places in self.readers:
            if not targets or target in targets:
                value = read([(of[mapping], field) for mapping, field in places])
                group, _, name = target.rpartition(".")
                if not group:
                    values[target] = value
                elif value:
                    extra[name] = value
        return values if targets else {**values, "extra": extra}


@cache
def field_plan(format_name: str) -> FieldPlan:
    """How the fields of a `manifest`, `catalogue`, `skill` or `prompt` are read."""
    names: dict[str, dict[str, tuple[str, ...]]] = {"": {}}
    readers = []
    for row in FIELD_ROWS:
        places: list[tuple[str, str]] = []
        written = getattr(row, format_name) or (row.manifest if format_name == "catalogue" else "")
        for place in filter(None, written.split(", ")):
            mapping, _, spellings = place.rpartition(".")
            keys = tuple(spellings.split())
            field = keys[0] if mapping or places else row.target.rpartition(".")[2]
            names.setdefault(mapping, {})[field] = keys
            places.append((mapping, field))
        if places and row.type:
            readers.append((row.target, _READERS[row.type], tuple(places)))
    inner = [name for name in _MAPPINGS if name in names]
    for name in inner:
        outer, keys = _MAPPINGS[name]
        if outer:
            names[outer][name] = keys
    return FieldPlan({"": names[""]} | {name: names[name] for name in inner}, tuple(readers))
