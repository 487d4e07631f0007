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
from capdisc_indexer.sources.files import FoundFile, content_hash
from capdisc_indexer.sources.frontmatter import Split, split
from capdisc_indexer.sources.naming import MAX_NAME, clean_name, is_plain_name
from capdisc_indexer.sources.nodes import MapNode, Node
from capdisc_indexer.sources.repair import ANY, read_leniently
from capdisc_indexer.sources.skill_fields import FIELDS, SkillFields, read_fields
from capdisc_indexer.text import title_of
from capdisc_indexer.types import Descriptor, Finding, Loaded, Severity, SourceRef

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
    return Loaded(descriptors=() if fields.has_error else (skill,), findings=tuple(noted))


def _front_matter(halves: Split, path: str) -> tuple[MapNode | None, tuple[Finding, ...]]:
    """The block's fields; none at all where there is no block, which other readers refuse."""
    if halves.block is None:
        is_unclosed = any(finding.severity is Severity.ERROR for finding in halves.findings)
        return (None, ()) if is_unclosed else (MapNode({}, 1, 1), (_without_block(path),))
    documents, findings = read_leniently(halves.block, path, halves.block_line, ANY)
    if any(finding.severity is Severity.ERROR for finding in findings):
        return None, findings
    document: Node = documents[0] if documents else MapNode({}, halves.block_line, 1)
    if isinstance(document, MapNode) and len(documents) < 2:
        return document, findings
    message, hint = "the front matter is not a mapping of fields", "write lines such as name: ..."
    return None, (*findings, _finding(path, Severity.ERROR, "yaml-not-mapping", message, hint, halves.block_line))


def _skill(fields: Fields, file: FoundFile, data: bytes, halves: Split) -> Descriptor:
    folder = PurePath(file.path).parent.name
    name = _name(fields, clean_name(folder)) if halves.block is not None else clean_name(folder) or "skill"
    description = _description(fields, halves)
    body = halves.body.strip("\n")
    known: SkillFields = read_fields(fields, file.path)
    return Descriptor(
        id=f"skill:{name}",
        kind="skill",
        name=name,
        description=description,
        source=SourceRef(path=file.path, format=file.format, content_hash=content_hash(data), root=file.root),
        title=known.title or title_of(name),
        category=known.category,
        tags=known.tags,
        phrases=known.phrases,
        secrets=known.secrets,
        bins=known.bins,
        risk=known.risk,
        hidden=known.hidden,
        content=_clipped(fields, file.path, body, halves.body_line),
        usage_hint=known.usage_hint,
        extra=known.extra,
    )


def _name(fields: Fields, folder: str) -> str:
    name = clean_name(fields.text("name"))
    if not name:
        hint = f"add a line name: {folder}"
        fields.warn("name", "field-missing", f"the skill has no name; its folder's name {folder!r} is used", hint)
        return folder or "skill"
    if not is_plain_name(name):
        hint = "use lower-case letters, digits and hyphens"
        fields.warn("name", "field-value", "the name holds other characters than letters, digits and - _ . /", hint)
    if len(name) > MAX_NAME:
        fields.warn("name", "field-too-long", f"the name has more than {MAX_NAME} characters", "shorten it")
    return name


def _description(fields: Fields, halves: Split) -> str:
    text = fields.text("description")
    if not text and halves.block is None:
        text = first_paragraph(halves.body)
    if not text:
        hint = "add a line description: what the skill does and when to use it"
        fields.error("description", "field-missing", "the skill has no description", hint)
    elif len(text) > LONG_DESCRIPTION:
        cut = f"; the first {MAX_DESCRIPTION} are read" if len(text) > MAX_DESCRIPTION else ""
        message = f"the description has {len(text)} characters, more than {LONG_DESCRIPTION}{cut}"
        fields.warn("description", "field-too-long", message, "move details into the body")
    return text[:MAX_DESCRIPTION].rstrip()


def first_paragraph(body: str) -> str:
    """The first text of a Markdown body that is no heading; the heading where there is nothing else.

    >>> first_paragraph("# Title\\n\\nOne line\\nand more.\\n\\nSecond.")
    'One line and more.'
    """
    blocks = [block.strip() for block in body.split("\n\n", 50)[:50]]
    heading = ""
    for block in blocks:
        lines = [line.strip() for line in block.split("\n")]
        words = " ".join(line for line in lines if line and not line.startswith(("#", "<!--", "```", "![", "---")))
        if words:
            return words[:LONG_DESCRIPTION]
        heading = heading or next((line.lstrip("# ") for line in lines if line.startswith("#")), "")
    return heading[:LONG_DESCRIPTION]


def _clipped(fields: Fields, path: str, body: str, line: int) -> str:
    kept = clip(body)
    if len(kept) < len(body):
        message = f"the body has {len(body)} characters; the first {len(kept)} are kept"
        hint = "move long parts into files that it points to"
        fields.findings.append(_finding(path, Severity.INFO, "content-cut", message, hint, line))
    return kept


def _without_block(path: str) -> Finding:
    message = "there is no front matter; name and description are taken from the folder and the text"
    hint = "begin the file with ---, name: ..., description: ..., ---"
    return _finding(path, Severity.WARNING, "frontmatter-missing", message, hint, 1)


def _finding(path: str, severity: Severity, code: str, message: str, hint: str, line: int) -> Finding:
    return Finding(code=code, severity=severity, message=message, hint=hint, path=path, line=line)
