"""The optional fields of a skill, by the Agent Skills format and by the clients that add their own
(Claude Code, OpenClaw, skillport, Vercel).

Every field is optional: a value of a wrong type becomes a warning and counts as absent.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from capdisc_indexer.model import records
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.risks import risk_level
from capdisc_indexer.model.types import Severity
from capdisc_indexer.sources.formats.manifest import read_risk
from capdisc_indexer.sources.formats.naming_rules import is_secret_name
from capdisc_indexer.sources.readers.field_reader import AMBIGUOUS_SCALAR, Fields, split_outside
from capdisc_indexer.sources.readers.yaml_nodes import (
    Entry,
    Json,
    MapNode,
    TextNode,
    as_written,
    to_json,
)

SKILL_FIELDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
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
        "not_for": ("notFor", "doNotUseFor"),
        "usage_hint": ("when_to_use", "usageHint"),
        "hidden": ("disable-model-invocation", "hidden"),
        "risk": ("riskLevel", "risk"),
        "version": ("version",),
        "requires": ("requires", "requiredTools"),
        "composed_with": ("composedWith",),
        "related": ("related", "relatedTo", "relatedTools"),
        "systems": ("os", "platforms"),
    }
)
_METADATA_FIELDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "title": ("displayName", "title"),
        "category": ("category",),
        "tags": ("tags",),
        "keywords": ("keywords",),
        "not_for": ("notFor", "doNotUseFor"),
        "internal": ("internal",),
        "requires": ("requires", "requiredTools"),
        "client": ("openclaw", "clawdbot", "clawdis", "moltbot", "wunderland", "agentos"),
        "skillport": ("skillport",),
    }
)
_SKILLPORT_FIELDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"category": ("category",), "tags": ("tags",)}
)
_CLIENT_FIELDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"requires": ("requires",), "secret": ("primaryEnv",), "systems": ("os",)}
)
_REQUIRES_FIELDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"bins": ("bins",), "any_bins": ("anyBins",), "secrets": ("env",)}
)


@frozen(kw_only=True)
class SkillFields:
    """The fields of a skill beyond name, description and body."""

    title: str
    category: str
    tags: tuple[str, ...]
    phrases: tuple[str, ...]
    not_for: tuple[str, ...]
    secrets: tuple[str, ...]
    bins: tuple[str, ...]
    systems: tuple[str, ...]
    requires: tuple[str, ...]
    composed_with: tuple[str, ...]
    related: tuple[str, ...]
    risk: str
    hidden: bool
    usage_hint: str
    extra: Mapping[str, Json]


def read_fields(fields: Fields, path: str) -> SkillFields:
    """The optional fields; `fields` has a warning for each of a wrong type afterwards."""
    metadata = _inner(fields, "metadata", _METADATA_FIELDS, path)
    skillport = _inner(metadata, "skillport", _SKILLPORT_FIELDS, path)
    client = _inner(metadata, "client", _CLIENT_FIELDS, path)
    requires = _inner(client, "requires", _REQUIRES_FIELDS, path)
    skill_fields = SkillFields(
        title=fields.text("title") or metadata.text("title"),
        category=fields.text("category")
        or metadata.text("category")
        or skillport.text("category"),
        tags=_merge_tags(
            fields.texts("tags"),
            fields.texts("keywords"),
            metadata.texts("tags"),
            metadata.texts("keywords"),
            skillport.texts("tags"),
        ),
        phrases=_merge_tags(
            *(fields.texts(name, "\n") for name in ("phrases", "examples", "triggers", "queries"))
        ),
        not_for=_merge_tags(*(part.texts("not_for", ",;\n") for part in (fields, metadata))),
        secrets=_secrets(client, requires),
        bins=_merge_tags(requires.texts("bins"), records.any_of_name(requires.texts("any_bins"))),
        systems=records.parse_systems((*fields.texts("systems"), *client.texts("systems"))),
        requires=_merge_tags(_required_names(fields), _required_names(metadata)),
        composed_with=fields.texts("composed_with"),
        related=fields.texts("related"),
        risk=read_risk(fields),
        hidden=fields.flag("hidden") or metadata.flag("internal"),
        usage_hint=fields.text("usage_hint"),
        extra=_extra(fields),
    )
    _warn_of_metadata(fields)
    for inner in (metadata, skillport, client, requires):
        fields.findings += inner.findings
    return skill_fields


def _inner(fields: Fields, field: str, names: Mapping[str, tuple[str, ...]], path: str) -> Fields:
    """The fields of the mapping in a field; none if it is not a mapping."""
    node = fields.value(field)
    # Below metadata, the key of a client may hold any text: the format asks for text there.
    if field == "metadata" and node is not None and not isinstance(node, MapNode):
        message = f"{fields.key(field)} is not a mapping"
        fields.warn(field, "metadata-shape", message, "write key: value lines below it")
    return Fields(node if isinstance(node, MapNode) else MapNode({}, 1, 1), path, names)


def _merge_tags(*lists: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for texts in lists for text in texts))


def _required_names(fields: Fields) -> tuple[str, ...]:
    """The capabilities that a skill requires. OpenClaw's `requires` is a mapping of programs and
    secrets, and names none.
    """
    return () if isinstance(fields.value("requires"), MapNode) else fields.texts("requires")


def _secrets(client: Fields, requires: Fields) -> tuple[str, ...]:
    """The names of secrets. A text that is not a name may be a secret itself, so no message
    repeats it.
    """
    texts = _merge_tags(requires.texts("secrets"), client.texts("secret"))
    names = tuple(text for text in texts if is_secret_name(text))
    if len(names) < len(texts):
        message = "the list of secrets holds something that is not the name of one"
        requires.warn(
            "secrets", "secret-value", message, "write names such as API_KEY; revoke a real secret"
        )
    return names


def _extra(fields: Fields) -> dict[str, Json]:
    """The fields that a descriptor has no place for, under the key of the format or else of the
    author.
    """
    extra: dict[str, Json] = {}
    for name in ("license", "compatibility", "version"):
        if text := fields.text(name):
            extra[name] = text
    if tools := _allowed_tools(fields):
        extra["allowed-tools"] = tools
    if metadata := fields.value("metadata"):
        # Versions and codes are common here, so only a number that prints as written becomes one.
        extra["metadata"] = to_json(metadata, exact=True)
    if not risk_level(fields.quiet_text("risk")) and fields.quiet_text("risk"):
        extra["risk"] = fields.quiet_text("risk")
    return extra | {key: as_written(entry.value) for key, entry in fields.others.items()}


def _allowed_tools(fields: Fields) -> list[Json]:
    node = fields.value("allowed-tools")
    if isinstance(node, TextNode):
        tools = split_outside(node.value, ", \n\t")
        if len(split_outside(node.value, ",")) > 1:
            message = "allowed-tools has commas between its tools"
            fields.note(
                "allowed-tools",
                Severity.INFO,
                "allowed-tools-type",
                message,
                "write blanks: Read Edit Bash(git:*)",
            )
        return list(tools)
    if node is not None:
        fields.note(
            "allowed-tools",
            Severity.INFO,
            "allowed-tools-type",
            "allowed-tools is a list",
            "write one text: Read Edit Bash(git:*)",
        )
    return list(fields.texts("allowed-tools"))


def _warn_of_metadata(fields: Fields) -> None:
    """Adds one warning for all values that other readers do not take for text, since the format
    allows text only.
    """
    node = fields.value("metadata")
    entries = node.entries.values() if isinstance(node, MapNode) else ()
    untyped = [entry for entry in entries if not _is_text(entry)]
    if untyped:
        keys = ", ".join(entry.key[:64] for entry in untyped[:5])
        message = f"metadata holds values that are not text: {keys}"
        fields.warn_at(untyped[0], "metadata-type", message, "put them in quotes")


def _is_text(entry: Entry) -> bool:
    node = entry.value
    return isinstance(node, TextNode) and not (
        node.is_plain and AMBIGUOUS_SCALAR.fullmatch(node.value)
    )
