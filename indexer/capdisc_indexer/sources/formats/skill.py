"""SKILL.md: a skill by the Agent Skills format, read leniently as its clients do.

What the format forbids and a reader can still understand is a warning here.
"""

from __future__ import annotations

from pathlib import PurePath

from capdisc_indexer.model.types import Descriptor, Finding, LoadedFile, Severity
from capdisc_indexer.sources.formats.long_text_file import clip_content
from capdisc_indexer.sources.formats.naming_rules import clean_name, mended_name, name_problem
from capdisc_indexer.sources.formats.parsed_capability import LongText, ParsedCapability
from capdisc_indexer.sources.formats.skill_fields import SKILL_FIELDS, read_fields
from capdisc_indexer.sources.readers.field_reader import Fields
from capdisc_indexer.sources.readers.file_bytes import decode, mark_finding
from capdisc_indexer.sources.readers.frontmatter import FrontMatter, split_front_matter
from capdisc_indexer.sources.readers.yaml_nodes import MapNode, Node, TextNode
from capdisc_indexer.sources.readers.yaml_repair import ALL_SLIPS, read_leniently
from capdisc_indexer.sources.scan.folder_files import casing_findings
from capdisc_indexer.sources.scan.scanned_files import (
    FoundFile,
    content_hash,
    printable_path,
    source_ref,
)
from capdisc_indexer.text.normalization import readable_title, visible_text

LONG_DESCRIPTION = 1_024
MAX_DESCRIPTION = 4_096


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
    name = _name(fields, clean_name(folder))
    description = _description(fields)
    body = halves.body.strip("\n")
    skill_fields = read_fields(fields, file.path)
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
        not_for=skill_fields.not_for,
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
    if not written and is_missing:  # else it is of a wrong type, which has a finding
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
    if problem is None or not problem.is_harmful:  # merely against the format
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
