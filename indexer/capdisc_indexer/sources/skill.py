"""SKILL.md: a skill by the Agent Skills format, read leniently as its clients do.

What the format forbids and a reader can still understand is a warning here; section 3 of the specification and the
fields of the clients (Claude Code, OpenClaw, skillport, Vercel) are told apart in `skill_fields`.
"""

from __future__ import annotations

from pathlib import PurePath

from capdisc_indexer.sources.casing import misnamed
from capdisc_indexer.sources.content import clip
from capdisc_indexer.sources.decoding import decode, mark_finding
from capdisc_indexer.sources.fields import Fields
from capdisc_indexer.sources.files import FoundFile, content_hash, printable, source_ref
from capdisc_indexer.sources.frontmatter import Split, split
from capdisc_indexer.sources.naming import clean_name, mended_name, name_problem
from capdisc_indexer.sources.nodes import MapNode, Node, TextNode
from capdisc_indexer.sources.parts import LongText, Part
from capdisc_indexer.sources.repair import ANY, read_leniently
from capdisc_indexer.sources.skill_fields import FIELDS, SkillFields, read_fields
from capdisc_indexer.text import title_of, visible
from capdisc_indexer.types import Descriptor, Finding, Loaded, Severity

LONG_DESCRIPTION = 1_024
MAX_DESCRIPTION = 4_096


def load(file: FoundFile, data: bytes) -> Loaded:
    """The file's skill, unless something makes it unusable, and what is wrong with it."""
    text = decode(data, file.path)
    if isinstance(text, Finding):
        return Loaded(findings=(text,))
    halves = split(text, file.path)
    node, findings = _front_matter(halves, file.path)
    noted = [*mark_finding(data, file.path), *misnamed(file), *halves.findings, *findings]
    if node is None:
        return Loaded(findings=tuple(noted))
    fields = Fields(node, file.path, FIELDS)
    skill = _skill(fields, file, data, halves)
    noted += fields.findings
    kept = None if fields.has_error else skill
    body = LongText(value=halves.body, path=file.path, line=halves.body_line)
    part = Part(node=node, descriptor=kept, longs=(body,))
    return Loaded(descriptors=(kept,) if kept else (), findings=tuple(noted), parts=(part,))


def _front_matter(halves: Split, path: str) -> tuple[MapNode | None, tuple[Finding, ...]]:
    """The block's fields; None where there is no block that can be read."""
    if halves.block is None:
        is_unclosed = any(finding.severity is Severity.ERROR for finding in halves.findings)
        return None, () if is_unclosed else (_without_block(path, halves.body),)
    documents, findings = read_leniently(halves.block, path, halves.block_line, ANY)
    if any(finding.severity is Severity.ERROR for finding in findings):
        return None, findings
    document: Node = documents[0] if documents else MapNode({}, halves.block_line, 1)
    if isinstance(document, MapNode) and len(documents) < 2:
        return document, findings
    message, hint = "the front matter is not a mapping of fields", "write lines such as name: ..."
    return None, (*findings, _finding(path, Severity.ERROR, "yaml-not-mapping", message, hint, halves.block_line))


def _skill(fields: Fields, file: FoundFile, data: bytes, halves: Split) -> Descriptor:
    folder = printable(PurePath(file.path).parent.name)
    name = _name(fields, clean_name(folder))
    description = _description(fields)
    body = halves.body.strip("\n")
    known: SkillFields = read_fields(fields, file.path)
    return Descriptor(
        id=f"skill:{name}",
        kind="skill",
        name=name,
        description=description,
        source=source_ref(file, content_hash(data)),
        title=known.title or title_of(name),
        category=known.category,
        tags=known.tags,
        phrases=known.phrases,
        secrets=known.secrets,
        bins=known.bins,
        systems=known.systems,
        risk=known.risk,
        hidden=known.hidden,
        content=_clipped(fields, file.path, body, halves.body_line),
        usage_hint=known.usage_hint,
        extra=known.extra,
    )


def _name(fields: Fields, folder: str) -> str:
    written = fields.text("name")
    is_missing = fields.value("name") is None or isinstance(fields.value("name"), TextNode)
    if not written and is_missing:  # else it is of a wrong type, which is noted
        hint = f"add a line name: {folder}"
        why = ": # begins a comment" if fields.is_commented_out("name") else ""
        fields.warn("name", "name-missing", f"the skill has no name{why}; its folder's name {folder!r} is used", hint)
        if folder and (problem := name_problem(folder)) and problem.is_harmful:
            fields.error("name", "field-value", f"the folder's name {folder[:64]!r} cannot be one", hint)
    if not written:
        return folder or "skill"
    problem = name_problem(written)
    if problem is None or not problem.is_harmful:  # what is merely against the format, this reader can bear
        return clean_name(written)
    hint = "use lower-case letters, digits and hyphens"
    mended = clean_name(mended_name(written)) or folder
    if mended == clean_name(written) or ((remaining := name_problem(mended)) and remaining.is_harmful):
        fields.error("name", problem.code, problem.message, hint)
    else:
        fields.warn("name", "field-value", f"the name {written[:64]!r} is read as {mended[:64]!r}", hint)
    return mended


def _description(fields: Fields) -> str:
    hint = "add a line description: what the skill does and when to use it"
    text = fields.required("description", hint)
    if text and not visible(text):
        fields.error("description", "field-empty", "the description shows nothing", hint)
    elif len(text) > LONG_DESCRIPTION:
        cut = f"; the first {MAX_DESCRIPTION} are read" if len(text) > MAX_DESCRIPTION else ""
        message = f"the description has {len(text)} characters, more than {LONG_DESCRIPTION}{cut}"
        fields.warn("description", "description-too-long", message, "move details into the body")
    return text[:MAX_DESCRIPTION].rstrip()


def _clipped(fields: Fields, path: str, body: str, line: int) -> str:
    kept = clip(body)
    if len(kept) < len(body):
        message = f"the body has {len(body)} characters; the first {len(kept)} are kept"
        hint = "move long parts into files that it points to"
        fields.findings.append(_finding(path, Severity.INFO, "content-cut", message, hint, line))
    return kept


def _without_block(path: str, body: str) -> Finding:
    hint = "begin the file with ---, name: ..., description: ..., ---"
    if not body.strip():
        return _finding(path, Severity.ERROR, "file-empty", "the file is empty", hint, 1)
    return _finding(path, Severity.ERROR, "frontmatter-missing", "there is no front matter", hint, 1)


def _finding(path: str, severity: Severity, code: str, message: str, hint: str, line: int) -> Finding:
    return Finding(code=code, severity=severity, message=message, hint=hint, path=path, line=line)
