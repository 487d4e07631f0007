"""The optional fields of a skill, by the Agent Skills format and by the clients that add their own."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from capdisc_indexer import needs
from capdisc_indexer.frozen import frozen
from capdisc_indexer.sources.fields import AMBIGUOUS, Fields, split_outside
from capdisc_indexer.sources.naming import is_secret_name
from capdisc_indexer.sources.nodes import Entry, Json, MapNode, TextNode, as_written, typed

FIELDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "name": ("name",),
        "description": ("description",),
        "license": ("license",),
        "compatibility": ("compatibility",),
        "metadata": ("metadata",),
        "allowed-tools": ("allowed-tools",),
        "title": ("displayName", "title"),
        "category": ("category",),
        "tags": ("tags",),
        "keywords": ("keywords",),
        "phrases": ("phrases",),
        "examples": ("examples",),
        "triggers": ("triggers",),
        "queries": ("hypotheticalQueries",),
        "usage_hint": ("when_to_use", "usageHint"),
        "hidden": ("disable-model-invocation", "hidden"),
        "risk": ("riskLevel", "risk"),
        "version": ("version",),
    }
)
_METADATA: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "title": ("displayName", "title"),
        "category": ("category",),
        "tags": ("tags",),
        "keywords": ("keywords",),
        "internal": ("internal",),
        "client": ("openclaw", "clawdbot", "clawdis", "moltbot", "wunderland", "agentos"),
        "skillport": ("skillport",),
    }
)
_SKILLPORT: Mapping[str, tuple[str, ...]] = MappingProxyType({"category": ("category",), "tags": ("tags",)})
_CLIENT: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"requires": ("requires",), "secret": ("primaryEnv",), "systems": ("os",)}
)
_REQUIRES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"bins": ("bins",), "any_bins": ("anyBins",), "secrets": ("env",)}
)
_RISKS = frozenset({"low", "medium", "high", "critical"})


@frozen(kw_only=True)
class SkillFields:
    """What a skill says beyond name, description and body."""

    title: str
    category: str
    tags: tuple[str, ...]
    phrases: tuple[str, ...]
    secrets: tuple[str, ...]
    bins: tuple[str, ...]
    systems: tuple[str, ...]
    risk: str
    hidden: bool
    usage_hint: str
    extra: Mapping[str, Json]


def read_fields(fields: Fields, path: str) -> SkillFields:
    """Everything optional. What has the wrong type is noted in `fields` and read as if it were not there."""
    metadata = _inner(fields, "metadata", _METADATA, path)
    skillport = _inner(metadata, "skillport", _SKILLPORT, path)
    client = _inner(metadata, "client", _CLIENT, path)
    requires = _inner(client, "requires", _REQUIRES, path)
    found = SkillFields(
        title=fields.text("title") or metadata.text("title"),
        category=fields.text("category") or metadata.text("category") or skillport.text("category"),
        tags=_merged(
            fields.texts("tags"),
            fields.texts("keywords"),
            metadata.texts("tags"),
            metadata.texts("keywords"),
            skillport.texts("tags"),
        ),
        phrases=_merged(*(fields.texts(name, "\n") for name in ("phrases", "examples", "triggers", "queries"))),
        secrets=_secrets(client, requires),
        bins=_merged(requires.texts("bins"), needs.named_any(requires.texts("any_bins"))),
        systems=needs.systems(client.texts("systems")),
        risk=_risk(fields),
        hidden=fields.flag("hidden") or metadata.flag("internal"),
        usage_hint=fields.text("usage_hint"),
        extra=_extra(fields),
    )
    _warn_of_metadata(fields)
    fields.findings += [note for inner in (metadata, skillport, client, requires) for note in inner.findings]
    return found


def _inner(fields: Fields, field: str, names: Mapping[str, tuple[str, ...]], path: str) -> Fields:
    """The fields of a mapping inside; without any where there is no such mapping."""
    node = fields.value(field)
    # Below metadata, a client's key may hold any text: the format wants just that.
    if field == "metadata" and node is not None and not isinstance(node, MapNode):
        message = f"{fields.key(field)} is not a mapping"
        fields.warn(field, "metadata-shape", message, "write key: value lines below it")
    return Fields(node if isinstance(node, MapNode) else MapNode({}, 1, 1), path, names)


def _merged(*lists: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for texts in lists for text in texts))


def _secrets(client: Fields, requires: Fields) -> tuple[str, ...]:
    """The names of secrets. Whatever is no name may be the secret itself, so no message repeats it."""
    texts = _merged(requires.texts("secrets"), client.texts("secret"))
    names = tuple(text for text in texts if is_secret_name(text))
    if len(names) < len(texts):
        message = "the list of secrets holds something that is not the name of one"
        requires.warn("secrets", "secret-value", message, "write names such as API_KEY; revoke a real secret")
    return names


def _risk(fields: Fields) -> str:
    risk = fields.text("risk").lower()
    return risk if risk in _RISKS else ""


def _extra(fields: Fields) -> dict[str, Json]:
    """All that a descriptor has no place for, under the key that the format uses or else the author wrote."""
    extra: dict[str, Json] = {}
    for name in ("license", "compatibility", "version"):
        if text := fields.text(name):
            extra[name] = text
    if tools := _allowed_tools(fields):
        extra["allowed-tools"] = tools
    if metadata := fields.value("metadata"):
        # Versions and codes are common here, so only what prints as it was written becomes a number.
        extra["metadata"] = typed(metadata, exact=True)
    if fields.text("risk") and not _risk(fields):
        extra["risk"] = fields.text("risk")
    return extra | {key: as_written(entry.value) for key, entry in fields.others.items()}


def _allowed_tools(fields: Fields) -> list[Json]:
    node = fields.value("allowed-tools")
    if isinstance(node, TextNode):
        tools = split_outside(node.value, ", \n\t")
        if len(split_outside(node.value, ",")) > 1:
            message = "allowed-tools has commas between its tools"
            fields.warn("allowed-tools", "allowed-tools-type", message, "write blanks: Read Edit Bash(git:*)")
        return list(tools)
    if node is not None:
        fields.warn(
            "allowed-tools", "allowed-tools-type", "allowed-tools is a list", "write one text: Read Edit Bash(git:*)"
        )
    return list(fields.texts("allowed-tools"))


def _warn_of_metadata(fields: Fields) -> None:
    """One warning for all values that are no text to other readers, since the format wants text only."""
    node = fields.value("metadata")
    odd = [entry for entry in node.entries.values() if not _is_text(entry)] if isinstance(node, MapNode) else []
    if odd:
        keys = ", ".join(entry.key[:64] for entry in odd[:5])
        message = f"metadata holds values that are not text: {keys}"
        fields.warn_at(odd[0], "metadata-type", message, "put them in quotes")


def _is_text(entry: Entry) -> bool:
    node = entry.value
    return isinstance(node, TextNode) and not (node.is_plain and AMBIGUOUS.fullmatch(node.value))
