"""SKILL.md: a skill by the Agent Skills format, read leniently as its clients do.

What the format forbids and a reader can still understand is a warning here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePath

from capdisc_indexer.model.types import Descriptor, Finding, LoadedFile, Severity
from capdisc_indexer.sources.formats.identity_fields import (
    LONG_DESCRIPTION,
    MAX_DESCRIPTION,
    find_lead,
)
from capdisc_indexer.sources.formats.long_text_file import clip_content
from capdisc_indexer.sources.formats.naming_rules import (
    MAX_NAME,
    clean_name,
    mended_name,
    name_in_words,
    name_problem,
    usable_name,
)
from capdisc_indexer.sources.formats.parsed_capability import LongText, ParsedCapability
from capdisc_indexer.sources.formats.skill_fields import SKILL_FIELDS, read_fields
from capdisc_indexer.sources.readers.field_reader import QUOTE_THE_HASH, Fields
from capdisc_indexer.sources.readers.file_bytes import decode, mark_finding
from capdisc_indexer.sources.readers.frontmatter import FrontMatter, split_front_matter
from capdisc_indexer.sources.readers.yaml_nodes import (
    Json,
    MapNode,
    Node,
    TextNode,
    from_json,
    to_json,
)
from capdisc_indexer.sources.readers.yaml_reader import read_yaml
from capdisc_indexer.sources.readers.yaml_repair import ALL_SLIPS, read_leniently
from capdisc_indexer.sources.scan.folder_files import casing_findings
from capdisc_indexer.sources.scan.scanned_files import (
    FoundFile,
    content_hash,
    printable_path,
    source_ref,
)
from capdisc_indexer.text.normalization import compile_late, one_line, readable_title

# The names that the format allows.
SKILL_NAME = compile_late(r"(?!-)(?!.*--)[a-z0-9-]{1,64}(?<!-)")


def load(file: FoundFile, data: bytes) -> LoadedFile:
    """The skill of the file, unless an error makes it unusable, and the findings about it."""
    text = decode(data, file.path)
    if isinstance(text, Finding):
        return LoadedFile(findings=(text,))
    halves = split_front_matter(text, file.path)
    node, findings = _front_matter(halves, file.path)
    all_findings = [
        *mark_finding(data, file.path),
        *casing_findings(file),
        *halves.findings,
        *findings,
    ]
    if node is None and _is_bare(halves):  # Claude Code takes folder and first paragraph, too
        node = _bare_fields(file, halves)
    if node is None:
        return LoadedFile(findings=tuple(all_findings))
    fields = Fields(node, file.path, SKILL_FIELDS)
    skill = _skill(fields, file, data, halves)
    all_findings += fields.findings
    accepted = None if fields.has_error else skill
    body = LongText(value=halves.body, path=file.path, line=halves.body_line)
    part = ParsedCapability(node=node, descriptor=accepted, longs=(body,))
    return LoadedFile(
        descriptors=(accepted,) if accepted else (), findings=tuple(all_findings), parts=(part,)
    )


def _is_bare(halves: FrontMatter) -> bool:
    """Whether the file is a text without front matter, of YAML or of TOML."""
    is_unclosed = any(finding.severity is Severity.ERROR for finding in halves.findings)
    return halves.block is None and not is_unclosed and _has_lead(halves.body)


def _has_lead(body: str) -> bool:
    return not body.lstrip().startswith("+++") and bool(find_lead(body))


def _bare_fields(file: FoundFile, halves: FrontMatter) -> MapNode | None:
    """The fields that a text without front matter has by its folder and its first paragraph."""
    name = usable_name(printable_path(PurePath(file.path).parent.name)) or "skill"
    node = from_json({"name": name, "description": find_lead(halves.body)}, 1)
    return node if isinstance(node, MapNode) else None


def _front_matter(halves: FrontMatter, path: str) -> tuple[MapNode | None, tuple[Finding, ...]]:
    """The fields of the front matter, or None if it is missing or cannot be read; and the findings
    about it.
    """
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
    body = halves.body.strip("\n")
    name, written_name = _name(fields, clean_name(folder))
    description = _description(fields, body, name)
    skill_fields = read_fields(fields, file.path)
    return Descriptor(
        id=f"skill:{name}",
        kind="skill",
        name=name,
        description=description,
        source=source_ref(file, content_hash(data)),
        title=skill_fields.title or one_line(written_name) or readable_title(name),
        category=skill_fields.category,
        tags=skill_fields.tags,
        phrases=skill_fields.phrases,
        not_for=skill_fields.not_for,
        secrets=skill_fields.secrets,
        bins=skill_fields.bins,
        systems=skill_fields.systems,
        requires=skill_fields.requires,
        composed_with=skill_fields.composed_with,
        related=skill_fields.related,
        risk=skill_fields.risk,
        hidden=skill_fields.hidden,
        content=_clip_body(fields, file.path, body, halves.body_line),
        usage_hint=skill_fields.usage_hint,
        extra=skill_fields.extra,
        other_names=(written_name,) if written_name else (),
    )


def _name(fields: Fields, folder: str) -> tuple[str, str]:
    """The name that ids are made of, and the name as written if that is another one."""
    written = fields.text("name")
    is_missing = fields.value("name") is None or isinstance(fields.value("name"), TextNode)
    if not written and is_missing:  # else it is of a wrong type, which has a finding
        hint = f"add a line name: {folder}"
        why = ": # begins a comment" if fields.is_commented_out("name") else ""
        fields.warn(
            "name",
            "name-missing",
            f"the skill has no name{why}; its folder's name {folder!r} is used",
            hint,
        )
    hint = "use lower-case letters, digits and hyphens"
    problem = name_problem(written or folder)
    if problem and problem.is_refused:
        fields.error("name", problem.code, problem.message, hint)
    if problem is None or not problem.is_harmful:  # merely against the format
        return clean_name(written or folder) or "skill", ""
    mended = usable_name(mended_name(written)) if mended_name(written) else folder
    remaining = name_problem(mended)
    if not mended or (remaining and remaining.is_harmful):
        mended = usable_name(written) or usable_name(folder) or "skill"
    if written and mended != written:
        message = f"the name {written[:MAX_NAME]!r} is read as {mended[:MAX_NAME]!r}"
        fields.warn("name", "field-value", message, hint)
    elif written and not problem.is_refused:
        fields.warn("name", problem.code, problem.message, hint)
    return mended, written if mended != written else ""


def _description(fields: Fields, body: str, name: str) -> str:
    text = fields.text("description") if fields.has_text("description") else ""
    hint = "say what the skill does and when to use it"
    if text and not any(map(str.isalnum, text)):  # the file of an author who is still writing
        fields.error("description", "description-missing", "the description has no word", hint)
    if not text:  # Claude Code takes the first paragraph, too
        text = find_lead(body) or name_in_words(name)
        hint = "add a line description: what the skill does and when to use it"
        message = "the skill has no description"
        if not any(map(str.isalnum, text)):  # front matter that ends in the middle of its name
            fields.error("description", "description-missing", f"{message}, and no name", hint)
            return ""
        if fields.is_commented_out("description"):
            message, hint = f"{message}: # begins a comment", QUOTE_THE_HASH
        message += f"; {one_line(text, MAX_NAME)!r} is used"
        fields.warn("description", "description-missing", message, hint)
    if len(text) > LONG_DESCRIPTION:
        cut = f"; the first {MAX_DESCRIPTION:,} are read" if len(text) > MAX_DESCRIPTION else ""
        message = (
            f"the description has {len(text):,} characters, more than {LONG_DESCRIPTION:,}{cut}"
        )
        fields.warn("description", "description-too-long", message, "move details into the body")
    return text[:MAX_DESCRIPTION].rstrip()


def _clip_body(fields: Fields, path: str, body: str, line: int) -> str:
    clipped = clip_content(body)
    if len(clipped) < len(body):
        message = f"the body has {len(body):,} characters; the first {len(clipped):,} are kept"
        hint = "move long parts into files that it points to"
        fields.findings.append(_finding(path, Severity.INFO, "content-cut", message, hint, line))
    return clipped


def _without_block(path: str, body: str) -> Finding:
    hint = "begin the file with ---, name: ..., description: ..., ---"
    if not body.strip():
        return _finding(path, Severity.ERROR, "file-empty", "the file is empty", hint, 1)
    code, message = "frontmatter-missing", "there is no front matter"
    if not _has_lead(body):
        return _finding(path, Severity.ERROR, code, message, hint, 1)
    message += "; folder and first paragraph take its place"
    return _finding(path, Severity.WARNING, code, message, hint, 1)


def _finding(
    path: str, severity: Severity, code: str, message: str, hint: str, line: int
) -> Finding:
    return Finding(code=code, severity=severity, message=message, hint=hint, path=path, line=line)


# What the format demands of a skill that is handed on to others.


def read_front_matter(text: str) -> MapNode | str:
    """The fields of a SKILL.md that every reader of YAML understands, or why there are none."""
    halves = split_front_matter(text.removeprefix("\ufeff").replace("\r\n", "\n"))
    if halves.block is None:
        return "it has no front matter"
    result = read_yaml(halves.block)
    if result.finding:
        return f"its front matter is not YAML: {result.finding.message}"
    node = result.documents[0] if len(result.documents) == 1 else None
    return node if isinstance(node, MapNode) else "its front matter is no mapping of fields"


def read_conforming_fields(text: str) -> dict[str, Json] | str:
    """The front matter of a SKILL.md as JSON where it follows the Agent Skills format, else what in
    it does not.
    """
    node = read_front_matter(text)
    value = node if isinstance(node, str) else to_json(node)
    if not isinstance(value, dict):
        return str(value)
    return next(_format_problems(value), "") or value


def _format_problems(fields: Mapping[str, Json]) -> Iterator[str]:
    name, description = fields.get("name"), fields.get("description")
    if not isinstance(name, str) or not SKILL_NAME.fullmatch(name):
        yield "its name is not one that the format allows"
    if not isinstance(description, str) or not 0 < len(description.strip()) <= 1_024:
        yield "its description is missing, or has more than 1,024 characters"
    for key in ("license", "allowed-tools", "compatibility"):
        if key in fields and not isinstance(fields[key], str):
            yield f"the field {key} is no text"
    if len(str(fields.get("compatibility", ""))) > 500:
        yield "the field compatibility has more than 500 characters"
    metadata = fields.get("metadata", {})
    if not isinstance(metadata, dict) or not all(
        isinstance(inner, str) for inner in metadata.values()
    ):
        yield "the field metadata holds values that are no text"
