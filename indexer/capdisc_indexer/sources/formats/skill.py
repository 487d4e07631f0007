"""SKILL.md: a skill by the Agent Skills format, read leniently as its clients do.

What the format forbids and a reader can still understand is a warning here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePath

from capdisc_indexer.model.risks import risk_level
from capdisc_indexer.model.types import Descriptor, Finding, LoadedFile, Severity, has_errors
from capdisc_indexer.sources.formats.field_table import field_plan
from capdisc_indexer.sources.formats.identity_fields import find_lead
from capdisc_indexer.sources.formats.naming_rules import (
    MAX_NAME,
    clean_name,
    mended_name,
    name_in_words,
    name_problem,
    usable_name,
)
from capdisc_indexer.sources.formats.parsed_capability import (
    LongText,
    ParsedCapability,
    clip_content,
    load_part,
)
from capdisc_indexer.sources.readers.field_reader import (
    AMBIGUOUS_SCALAR,
    QUOTE_THE_HASH,
    Fields,
    clip_description,
    split_outside,
)
from capdisc_indexer.sources.readers.file_bytes import decode, mark_finding
from capdisc_indexer.sources.readers.frontmatter import FrontMatter, split_front_matter
from capdisc_indexer.sources.readers.yaml_nodes import (
    Json,
    MapNode,
    Node,
    TextNode,
    as_written,
    map_node,
    to_json,
)
from capdisc_indexer.sources.readers.yaml_reader import read_front_matter, read_yaml
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
    findings = [*mark_finding(data, file.path), *casing_findings(file), *halves.findings]
    node = None
    if halves.block is not None:
        node, block_findings = read_front_matter(halves, file.path)
        findings += block_findings
    elif not has_errors(halves.findings):
        node = _bare_fields(file, halves)
        findings.append(_without_block(file.path, halves.body))
    if node is None:
        return LoadedFile(findings=tuple(findings))
    fields = field_plan("skill").open(node, file.path)
    skill = _skill(fields, file, data, halves)
    part = ParsedCapability(
        node=node,
        descriptor=None if fields.has_error else skill,
        longs=(LongText(value=halves.body, path=file.path, line=halves.body_line),),
    )
    return load_part(part, (*findings, *fields.findings))


def _bare_fields(file: FoundFile, halves: FrontMatter) -> MapNode | None:
    """The fields that a text without front matter has by its folder and its first paragraph, as
    Claude Code takes them, too; None for a text without one, and for front matter of TOML.
    """
    if not _has_lead(halves.body):
        return None
    name = usable_name(printable_path(PurePath(file.path).parent.name)) or "skill"
    return map_node({"name": name, "description": find_lead(halves.body)})


def _has_lead(body: str) -> bool:
    return not body.lstrip().startswith("+++") and bool(find_lead(body))


def _skill(fields: Fields, file: FoundFile, data: bytes, halves: FrontMatter) -> Descriptor:
    folder = printable_path(PurePath(file.path).parent.name)
    body = halves.body.strip("\n")
    name, written_name = _name(fields, clean_name(folder))
    values = field_plan("skill").read(fields)
    extra = values.pop("extra") | _extra(fields)
    return Descriptor(
        id=f"skill:{name}",
        kind="skill",
        name=name,
        description=_description(fields, body, name),
        source=source_ref(file, content_hash(data)),
        title=values.pop("title") or one_line(written_name) or readable_title(name),
        content=_clip_body(fields, file.path, body, halves.body_line),
        extra=extra,
        other_names=(written_name,) if written_name else (),
        **values,
    )


def _name(fields: Fields, folder: str) -> tuple[str, str]:
    """The name that ids are made of, and the name as written if that is another one."""
    written = fields.text("name")
    is_missing = fields.value("name") is None or isinstance(fields.value("name"), TextNode)
    if not written and is_missing:  # else it is of a wrong type, which has a finding
        hint = f"add a line name: {folder}"
        why = ": # begins a comment" if fields.is_commented_out("name") else ""
        message = f"the skill has no name{why}; its folder's name {folder!r} is used"
        fields.warn("name", "name-missing", message, hint)
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
    return clip_description(fields, text, "description-too-long", "the body")


def _clip_body(fields: Fields, path: str, body: str, line: int) -> str:
    clipped = clip_content(body)
    if len(clipped) < len(body):
        message = f"the body has {len(body):,} characters; the first {len(clipped):,} are kept"
        hint = "move long parts into files that it points to"
        fields.findings.append(Finding("content-cut", Severity.INFO, message, hint, path, line))
    return clipped


def _extra(fields: Fields) -> dict[str, Json]:
    """The further fields that have no row, under the key of the format or else of the author."""
    extra: dict[str, Json] = {}
    if tools := _allowed_tools(fields):
        extra["allowed-tools"] = tools
    if (node := fields.value("metadata")) is not None:
        _check_metadata(fields, node)
        # Versions and codes are common here, so only a number that prints as written becomes one.
        extra["metadata"] = to_json(node, exact=True)
    if (risk := fields.quiet_text("risk")) and not risk_level(risk):
        extra["risk"] = risk
    return extra | {key: as_written(entry.value) for key, entry in fields.others.items()}


def _allowed_tools(fields: Fields) -> list[Json]:
    key, node = "allowed-tools", fields.value("allowed-tools")
    if isinstance(node, TextNode):
        has_commas = len(split_outside(node.value, ",")) > 1
        problem, hint = f"{key} has commas between its tools" if has_commas else "", "write blanks"
        tools = split_outside(node.value, ", \n\t")
    else:
        problem, hint = "" if node is None else f"{key} is a list", "write one text"
        tools = [*fields.texts(key)]
    if problem:
        fields.note(key, Severity.INFO, f"{key}-type", problem, f"{hint}: Read Edit Bash(git:*)")
    return list(tools)


def _check_metadata(fields: Fields, node: Node) -> None:
    """Adds one warning for all values that other readers do not take for text, since the format
    allows text only.
    """
    entries = node.entries.values() if isinstance(node, MapNode) else ()
    if not isinstance(node, MapNode):
        message = f"{fields.key('metadata')} is not a mapping"
        fields.warn("metadata", "metadata-shape", message, "write key: value lines below it")
    if untyped := [entry for entry in entries if not _is_text(entry.value)]:
        keys = ", ".join(entry.key[:64] for entry in untyped[:5])
        message = f"metadata holds values that are not text: {keys}"
        fields.warn_at(untyped[0], "metadata-type", message, "put them in quotes")


def _is_text(node: Node) -> bool:
    return isinstance(node, TextNode) and not (
        node.is_plain and AMBIGUOUS_SCALAR.fullmatch(node.value)
    )


def _without_block(path: str, body: str) -> Finding:
    hint = "begin the file with ---, name: ..., description: ..., ---"
    if not body.strip():
        return Finding("file-empty", Severity.ERROR, "the file is empty", hint, path)
    code, message = "frontmatter-missing", "there is no front matter"
    if not _has_lead(body):
        return Finding(code, Severity.ERROR, message, hint, path)
    message += "; folder and first paragraph take its place"
    return Finding(code, Severity.WARNING, message, hint, path)


# What the format demands of a skill that is handed on to others.


def read_strict_fields(text: str) -> MapNode | str:
    """The fields of a SKILL.md that every reader of YAML understands, or why there are none."""
    halves = split_front_matter(text.removeprefix("\ufeff").replace("\r\n", "\n"))
    if halves.block is None:
        return "it has no front matter"
    result = read_yaml(halves.block)
    if result.finding:
        return f"its front matter is not YAML: {result.finding.message}"
    node = result.documents[0] if len(result.documents) == 1 else None
    return node if isinstance(node, MapNode) else "its front matter is not a mapping of fields"


def read_conforming_fields(text: str) -> dict[str, Json] | str:
    """The front matter of a SKILL.md as JSON where it follows the Agent Skills format, else what
    in it does not.
    """
    node = read_strict_fields(text)
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
            yield f"the field {key} is not text"
    if len(str(fields.get("compatibility", ""))) > 500:
        yield "the field compatibility has more than 500 characters"
    metadata = fields.get("metadata", {})
    if not isinstance(metadata, dict) or not all(
        isinstance(inner, str) for inner in metadata.values()
    ):
        yield "the field metadata holds values that are not text"
