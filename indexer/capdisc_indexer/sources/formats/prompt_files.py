"""Agents and commands of clients: Markdown files with front matter, and the TOML files of Gemini
CLI and Codex.

An agent is a role with its own instructions, a command a prompt that its user calls by name.
Clients differ in the fields; those that say what it is for, and whether a model may choose it,
have one meaning here, and the others are kept as they are written.
"""

from __future__ import annotations

import re
from pathlib import PurePath

from capdisc_indexer.model.types import Descriptor, Finding, LoadedFile
from capdisc_indexer.sources.formats.field_table import field_plan
from capdisc_indexer.sources.formats.naming_rules import clean_name, mended_name, name_problem
from capdisc_indexer.sources.formats.parsed_capability import (
    LongText,
    ParsedCapability,
    clip_content,
    load_part,
    read_toml,
)
from capdisc_indexer.sources.readers.field_reader import MAX_DESCRIPTION, Fields
from capdisc_indexer.sources.readers.file_bytes import decode, mark_finding
from capdisc_indexer.sources.readers.frontmatter import FrontMatter, split_front_matter
from capdisc_indexer.sources.readers.yaml_nodes import MapNode, as_written, map_node
from capdisc_indexer.sources.readers.yaml_reader import read_front_matter
from capdisc_indexer.sources.scan.scanned_files import (
    FoundFile,
    content_hash,
    printable_path,
    source_ref,
)
from capdisc_indexer.text.normalization import one_line, readable_title, visible_text

# Of a description that is taken from the text.
_FIRST_LINE_CHARACTERS = 300
_ENDINGS = re.compile(r"(?:\.(?:agent|chatmode|prompt))?\.(?:md|toml)\Z", re.IGNORECASE)
_NOT_PART_OF_NAME = re.compile(r"[^\w.-]+")
_HEADING = re.compile(r"#+\s*")


def load(file: FoundFile, data: bytes) -> LoadedFile:
    """The agent or command of the file, unless an error makes it unusable, and the findings."""
    text = decode(data, file.path)
    if isinstance(text, Finding):
        return LoadedFile(findings=(text,))
    halves, node, findings = _read_parts(file, text)
    if node is None:
        return LoadedFile(findings=findings)
    fields = field_plan("prompt").open(node, file.path)
    body = (fields.text("body") or halves.body).strip("\n")
    if not _is_prompt(file, fields, halves):
        return LoadedFile()  # a README next to the agents, which no client takes for one
    descriptor = _descriptor(file, data, fields, body)
    part = ParsedCapability(
        node=node,
        descriptor=None if fields.has_error else descriptor,
        longs=(LongText(value=body, path=file.path, line=halves.body_line),),
    )
    return load_part(part, (*mark_finding(data, file.path), *findings, *fields.findings))


def _read_parts(
    file: FoundFile, text: str
) -> tuple[FrontMatter, MapNode | None, tuple[Finding, ...]]:
    """The text around the fields, the fields (None: unreadable), and the findings about both."""
    if file.path.lower().endswith(".toml"):
        halves = FrontMatter()
        value = read_toml(file, text, "correct the file at this place")
        if isinstance(value, Finding):
            return halves, None, (value,)
        return halves, map_node(value), ()
    halves = split_front_matter(text, file.path)
    if halves.block is None:
        return halves, MapNode({}, 1, 1), halves.findings
    node, findings = read_front_matter(halves, file.path)
    return halves, node, (*halves.findings, *findings)


def _is_prompt(file: FoundFile, fields: Fields, halves: FrontMatter) -> bool:
    is_readme = PurePath(file.path).stem.lower() == "readme"
    return not is_readme or halves.block is not None or fields.value("name") is not None


def _descriptor(file: FoundFile, data: bytes, fields: Fields, body: str) -> Descriptor:
    parts = [_ENDINGS.sub("", part) for part in PurePath(printable_path(file.relative)).parts]
    kind = file.format
    name = _name(fields, parts) if kind == "agent" else _clean(".".join(parts))
    description = fields.text("description")
    if not visible_text(description):
        description = _first_line(body)
        # Clients show the first line of a command that has none.
        if kind == "agent":
            hint = "add a line description: what the agent does and when to use it"
            fields.warn("description", "description-vague", "the agent has no description", hint)
    if not visible_text(description):
        description = f"The {kind} {name}."
    return Descriptor(
        id=f"{kind}:{name}",
        kind=kind,
        name=name,
        description=description[:MAX_DESCRIPTION].rstrip(),
        source=source_ref(file, content_hash(data)),
        title=f"/{':'.join((*_prefix(file), *parts))}"
        if kind == "command"
        else readable_title(name),
        content=clip_content(body),
        **field_plan("prompt").read(fields)
        | {"extra": {key: as_written(entry.value) for key, entry in fields.others.items()}},
    )


def _prefix(file: FoundFile) -> tuple[str, ...]:
    """The name of the plugin, which begins the names of its commands."""
    return (file.name,) if file.name else ()


def _name(fields: Fields, parts: list[str]) -> str:
    """The name of an agent: what its file says, else the name of the file."""
    written = fields.text("name")
    problem = name_problem(written) if written else None
    if written and (problem is None or not problem.is_harmful):
        return clean_name(written)
    fallback = _clean(parts[-1])
    if written and problem:
        mended = _clean(mended_name(written)) or fallback
        fields.warn("name", problem.code, f"the name {written[:64]!r} is read as {mended[:64]!r}")
        return mended
    return fallback


def _clean(name: str) -> str:
    """The name of a file as it can stand in an id."""
    return _NOT_PART_OF_NAME.sub("-", clean_name(name)).strip("-.")[:64] or "unnamed"


def _first_line(body: str) -> str:
    lines = (_HEADING.sub("", line).strip() for line in body.splitlines())
    return one_line(next(filter(None, lines), ""), _FIRST_LINE_CHARACTERS)
