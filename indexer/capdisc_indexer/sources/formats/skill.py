"""SKILL.md: a skill by the Agent Skills format, read leniently as its clients do.

What the format forbids and a reader can still understand is a warning here; section 3 of the
specification and the fields of the clients (Claude Code, OpenClaw, skillport, Vercel) are told
apart in `skill_fields`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from types import MappingProxyType

from capdisc_indexer.model import records
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.types import Descriptor, Finding, LoadedFile, Severity
from capdisc_indexer.sources.formats.derived_capability import LongText, ParsedCapability
from capdisc_indexer.sources.formats.long_text_file import clip_content
from capdisc_indexer.sources.formats.naming_rules import (
    clean_name,
    is_secret_name,
    mended_name,
    name_problem,
)
from capdisc_indexer.sources.readers.field_reader import AMBIGUOUS_SCALAR, Fields, split_outside
from capdisc_indexer.sources.readers.frontmatter import (
    ALL_SLIPS,
    FrontMatter,
    read_leniently,
    split_front_matter,
)
from capdisc_indexer.sources.readers.text_decoding import decode, mark_finding
from capdisc_indexer.sources.readers.yaml_nodes import (
    Entry,
    Json,
    MapNode,
    Node,
    TextNode,
    as_written,
    to_json,
)
from capdisc_indexer.sources.scan.folder_files import casing_findings
from capdisc_indexer.sources.scan.scanned_files import (
    FoundFile,
    content_hash,
    printable_path,
    source_ref,
)
from capdisc_indexer.text.normalization import readable_title, visible_text

# The optional fields of a skill, by the Agent Skills format and by the clients that add their own.

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
_SKILLPORT: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"category": ("category",), "tags": ("tags",)}
)
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
    """Everything optional. What has the wrong type is noted in `fields` and read as if it were not
    there.
    """
    metadata = _inner(fields, "metadata", _METADATA, path)
    skillport = _inner(metadata, "skillport", _SKILLPORT, path)
    client = _inner(metadata, "client", _CLIENT, path)
    requires = _inner(client, "requires", _REQUIRES, path)
    skill_fields = SkillFields(
        title=fields.text("title") or metadata.text("title"),
        category=fields.text("category") or metadata.text("category") or skillport.text("category"),
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
        secrets=_secrets(client, requires),
        bins=_merge_tags(requires.texts("bins"), records.any_of_name(requires.texts("any_bins"))),
        systems=records.parse_systems(client.texts("systems")),
        risk=_risk(fields),
        hidden=fields.flag("hidden") or metadata.flag("internal"),
        usage_hint=fields.text("usage_hint"),
        extra=_extra(fields),
    )
    _warn_of_metadata(fields)
    fields.findings += [
        note for inner in (metadata, skillport, client, requires) for note in inner.findings
    ]
    return skill_fields


def _inner(fields: Fields, field: str, names: Mapping[str, tuple[str, ...]], path: str) -> Fields:
    """The fields of a mapping inside; without any where there is no such mapping."""
    node = fields.value(field)
    # Below metadata, a client's key may hold any text: the format wants just that.
    if field == "metadata" and node is not None and not isinstance(node, MapNode):
        message = f"{fields.key(field)} is not a mapping"
        fields.warn(field, "metadata-shape", message, "write key: value lines below it")
    return Fields(node if isinstance(node, MapNode) else MapNode({}, 1, 1), path, names)


def _merge_tags(*lists: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for texts in lists for text in texts))


def _secrets(client: Fields, requires: Fields) -> tuple[str, ...]:
    """The names of secrets. Whatever is no name may be the secret itself, so no message repeats
    it.
    """
    texts = _merge_tags(requires.texts("secrets"), client.texts("secret"))
    names = tuple(text for text in texts if is_secret_name(text))
    if len(names) < len(texts):
        message = "the list of secrets holds something that is not the name of one"
        requires.warn(
            "secrets", "secret-value", message, "write names such as API_KEY; revoke a real secret"
        )
    return names


def _risk(fields: Fields) -> str:
    risk = fields.text("risk").lower()
    return risk if risk in _RISKS else ""


def _extra(fields: Fields) -> dict[str, Json]:
    """All that a descriptor has no place for, under the key that the format uses or else the
    author wrote.
    """
    extra: dict[str, Json] = {}
    for name in ("license", "compatibility", "version"):
        if text := fields.text(name):
            extra[name] = text
    if tools := _allowed_tools(fields):
        extra["allowed-tools"] = tools
    if metadata := fields.value("metadata"):
        # Versions and codes are common here, so only what prints as it was written becomes a
        # number.
        extra["metadata"] = to_json(metadata, exact=True)
    if fields.text("risk") and not _risk(fields):
        extra["risk"] = fields.text("risk")
    return extra | {key: as_written(entry.value) for key, entry in fields.others.items()}


def _allowed_tools(fields: Fields) -> list[Json]:
    node = fields.value("allowed-tools")
    if isinstance(node, TextNode):
        tools = split_outside(node.value, ", \n\t")
        if len(split_outside(node.value, ",")) > 1:
            message = "allowed-tools has commas between its tools"
            fields.warn(
                "allowed-tools",
                "allowed-tools-type",
                message,
                "write blanks: Read Edit Bash(git:*)",
            )
        return list(tools)
    if node is not None:
        fields.warn(
            "allowed-tools",
            "allowed-tools-type",
            "allowed-tools is a list",
            "write one text: Read Edit Bash(git:*)",
        )
    return list(fields.texts("allowed-tools"))


def _warn_of_metadata(fields: Fields) -> None:
    """One warning for all values that are no text to other readers, since the format wants text
    only.
    """
    node = fields.value("metadata")
    odd = (
        [entry for entry in node.entries.values() if not _is_text(entry)]
        if isinstance(node, MapNode)
        else []
    )
    if odd:
        keys = ", ".join(entry.key[:64] for entry in odd[:5])
        message = f"metadata holds values that are not text: {keys}"
        fields.warn_at(odd[0], "metadata-type", message, "put them in quotes")


def _is_text(entry: Entry) -> bool:
    node = entry.value
    return isinstance(node, TextNode) and not (
        node.is_plain and AMBIGUOUS_SCALAR.fullmatch(node.value)
    )


LONG_DESCRIPTION = 1_024
MAX_DESCRIPTION = 4_096


def load(file: FoundFile, data: bytes) -> LoadedFile:
    """The file's skill, unless something makes it unusable, and what is wrong with it."""
    text = decode(data, file.path)
    if isinstance(text, Finding):
        return LoadedFile(findings=(text,))
    halves = split_front_matter(text, file.path)
    node, findings = _front_matter(halves, file.path)
    noted = [*mark_finding(data, file.path), *casing_findings(file), *halves.findings, *findings]
    if node is None:
        return LoadedFile(findings=tuple(noted))
    fields = Fields(node, file.path, SKILL_FIELDS)
    skill = _skill(fields, file, data, halves)
    noted += fields.findings
    accepted = None if fields.has_error else skill
    body = LongText(value=halves.body, path=file.path, line=halves.body_line)
    part = ParsedCapability(node=node, descriptor=accepted, longs=(body,))
    return LoadedFile(
        descriptors=(accepted,) if accepted else (), findings=tuple(noted), parts=(part,)
    )


def _front_matter(halves: FrontMatter, path: str) -> tuple[MapNode | None, tuple[Finding, ...]]:
    """The block's fields; None where there is no block that can be read."""
    if halves.block is None:
        is_unclosed = any(finding.severity is Severity.ERROR for finding in halves.findings)
        return None, () if is_unclosed else (_without_block(path, halves.body),)
    documents, findings = read_leniently(halves.block, path, halves.block_line, ALL_SLIPS)
    if any(finding.severity is Severity.ERROR for finding in findings):
        return None, findings
    document: Node = documents[0] if documents else MapNode({}, halves.block_line, 1)
    if isinstance(document, MapNode) and len(documents) < 2:
        return document, findings
    message, hint = "the front matter is not a mapping of fields", "write lines such as name: ..."
    return None, (
        *findings,
        _finding(path, Severity.ERROR, "yaml-not-mapping", message, hint, halves.block_line),
    )


def _skill(fields: Fields, file: FoundFile, data: bytes, halves: FrontMatter) -> Descriptor:
    folder = printable_path(PurePath(file.path).parent.name)
    name = _name(fields, clean_name(folder))
    description = _description(fields)
    body = halves.body.strip("\n")
    skill_fields: SkillFields = read_fields(fields, file.path)
    return Descriptor(
        id=f"skill:{name}",
        kind="skill",
        name=name,
        description=description,
        source=source_ref(file, content_hash(data)),
        title=skill_fields.title or readable_title(name),
        category=skill_fields.category,
        tags=skill_fields.tags,
        phrases=skill_fields.phrases,
        secrets=skill_fields.secrets,
        bins=skill_fields.bins,
        systems=skill_fields.systems,
        risk=skill_fields.risk,
        hidden=skill_fields.hidden,
        content=_clip_body(fields, file.path, body, halves.body_line),
        usage_hint=skill_fields.usage_hint,
        extra=skill_fields.extra,
    )


def _name(fields: Fields, folder: str) -> str:
    written = fields.text("name")
    is_missing = fields.value("name") is None or isinstance(fields.value("name"), TextNode)
    if not written and is_missing:  # else it is of a wrong type, which is noted
        hint = f"add a line name: {folder}"
        why = ": # begins a comment" if fields.is_commented_out("name") else ""
        fields.warn(
            "name",
            "name-missing",
            f"the skill has no name{why}; its folder's name {folder!r} is used",
            hint,
        )
        if folder and (problem := name_problem(folder)) and problem.is_harmful:
            fields.error(
                "name", "field-value", f"the folder's name {folder[:64]!r} cannot be one", hint
            )
    if not written:
        return folder or "skill"
    problem = name_problem(written)
    if (
        problem is None or not problem.is_harmful
    ):  # what is merely against the format, this reader can bear
        return clean_name(written)
    hint = "use lower-case letters, digits and hyphens"
    mended = clean_name(mended_name(written)) or folder
    if mended == clean_name(written) or (
        (remaining := name_problem(mended)) and remaining.is_harmful
    ):
        fields.error("name", problem.code, problem.message, hint)
    else:
        fields.warn(
            "name", "field-value", f"the name {written[:64]!r} is read as {mended[:64]!r}", hint
        )
    return mended


def _description(fields: Fields) -> str:
    hint = "add a line description: what the skill does and when to use it"
    text = fields.required_text("description", hint)
    if text and not visible_text(text):
        fields.error("description", "field-empty", "the description shows nothing", hint)
    elif len(text) > LONG_DESCRIPTION:
        cut = f"; the first {MAX_DESCRIPTION} are read" if len(text) > MAX_DESCRIPTION else ""
        message = f"the description has {len(text)} characters, more than {LONG_DESCRIPTION}{cut}"
        fields.warn("description", "description-too-long", message, "move details into the body")
    return text[:MAX_DESCRIPTION].rstrip()


def _clip_body(fields: Fields, path: str, body: str, line: int) -> str:
    clipped = clip_content(body)
    if len(clipped) < len(body):
        message = f"the body has {len(body)} characters; the first {len(clipped)} are kept"
        hint = "move long parts into files that it points to"
        fields.findings.append(_finding(path, Severity.INFO, "content-cut", message, hint, line))
    return clipped


def _without_block(path: str, body: str) -> Finding:
    hint = "begin the file with ---, name: ..., description: ..., ---"
    if not body.strip():
        return _finding(path, Severity.ERROR, "file-empty", "the file is empty", hint, 1)
    return _finding(
        path, Severity.ERROR, "frontmatter-missing", "there is no front matter", hint, 1
    )


def _finding(
    path: str, severity: Severity, code: str, message: str, hint: str, line: int
) -> Finding:
    return Finding(code=code, severity=severity, message=message, hint=hint, path=path, line=line)
