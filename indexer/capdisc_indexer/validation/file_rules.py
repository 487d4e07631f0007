"""Checks the form of one file and of the folder around it: rules that `capdisc validate` reports
and a build ignores.

`check_form` calls the rules for skills, which have modules of their own; the rules for
CAPABILITY.yaml are here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache

import capdisc_guard
from capdisc_indexer.model.json_types import JsonSchema
from capdisc_indexer.model.types import Finding, LoadedFile, Severity
from capdisc_indexer.sources.format_table import SOURCES
from capdisc_indexer.sources.formats.parsed_capability import ParsedCapability
from capdisc_indexer.sources.readers.field_reader import squeeze_key
from capdisc_indexer.sources.readers.yaml_nodes import Entry, MapNode, TextNode, is_null, place_of
from capdisc_indexer.sources.scan.scanned_files import FoundFile
from capdisc_indexer.text.normalization import compile_late, one_line, visible_text
from capdisc_indexer.validation.arguments import find_problems
from capdisc_indexer.validation.claude_code_rules import PROMPT_FIELDS, check_prompt_file
from capdisc_indexer.validation.rules import manifest_schema
from capdisc_indexer.validation.skill_folder_rules import check_layout, check_links
from capdisc_indexer.validation.skill_rules import check_skill, placeholder_finding


def check_form(file: FoundFile, loaded: LoadedFile) -> Iterator[Finding]:
    """Findings about how the file is written, by its format and its clients, and about what lies
    beside it. A place where reading failed has its finding already, and gets no second one.
    """
    failed_places = {
        (finding.line, finding.column)
        for finding in loaded.findings
        if finding.severity is Severity.ERROR
    }
    for part in loaded.parts:
        if file.format == "skill":
            yield from (
                finding
                for finding in check_skill(part, file.path)
                if (finding.line, finding.column) not in failed_places
            )
            yield from check_links(part, file)
        elif file.format == "capability":
            yield from check_manifest(part, file.path)
            yield from check_run_shape(part, file.path)
            yield from check_program_text(part, file.path)
            yield from check_steering_variables(part, file.path)
        elif file.format in PROMPT_FIELDS:
            yield from check_prompt_file(part.node, file.path, file.format)
    if SOURCES[file.format].owns_folder:
        yield from check_layout(file)


# Names of capdisc's own tools, and of the bridges to other agents, which an agent calls by name.
RESERVED_NAMES = frozenset(
    """
    call capdisc discover_capabilities execute_tool get_table_schema list_skills resolve_fact search_tool show_skill
    tool_search
    """.split()
)
_READING = compile_late(
    r"(?:^|[-_.])(?:get|list|search|find|fetch|read)(?:[-_.A-Z]|$)"
    r"|[a-z0-9](?:Get|List|Search|Find|Fetch|Read)(?:[A-Z]|$)"
)
_MIN_DESCRIPTION = 12  # characters


def check_manifest(part: ParsedCapability, path: str) -> Iterator[Finding]:
    """Warnings about name, id, description and extraction of one capability."""
    descriptor = part.descriptor
    if descriptor is None:
        return
    if descriptor.name.replace("-", "_").lower() in RESERVED_NAMES:
        message = f"{descriptor.name} is the name of a tool of capdisc's own"
        yield _finding_at(part.node, "name", path, "reserved-name", message, "choose another name")
    if (
        descriptor.id.partition(":")[2] not in (descriptor.name, descriptor.name.casefold())
        and "id" in part.node.entries
    ):
        message = f"the id {descriptor.id[:64]} is not made of the name {descriptor.name[:64]}"
        yield _finding_at(
            part.node,
            "id",
            path,
            "id-mismatch",
            message,
            f"leave it out, or write {descriptor.kind}:{descriptor.name[:64]}",
        )
    if finding := placeholder_finding(part.node, path):
        yield finding
    elif _has_text(part.node, "description") and len(descriptor.description) < _MIN_DESCRIPTION:
        count = len(descriptor.description)
        message = f"the description has only {count} character{'s' if count != 1 else ''}"
        yield _finding_at(
            part.node,
            "description",
            path,
            "description-vague",
            message,
            "say what it does, in a sentence",
        )
    extraction = part.node.entries.get("extraction")
    if extraction and is_null(extraction.value) and _READING.search(descriptor.name):
        message = f"{descriptor.name} reads something, and nothing says what to remember of it"
        hint = "write extraction: path, type, nameField, idField"
        yield _finding_at(part.node, "extraction", path, "extraction-missing", message, hint)


def _finding_at(node: MapNode, key: str, path: str, code: str, message: str, hint: str) -> Finding:
    place: Entry | MapNode = node.entries.get(key, node)
    return Finding(
        code=code,
        severity=Severity.WARNING,
        message=message,
        hint=hint,
        path=path,
        line=place.line,
        column=place.column,
    )


_RUN_HINT = (
    "write {command: [...]}, {mcp: {command, args, tool}} or {http: {method, url, parameters}}"
)
_MAX_PROBLEMS = 3


def check_run_shape(part: ParsedCapability, path: str) -> Iterator[Finding]:
    """The first problems of `run` with the schema of the manifest: parts that `capdisc run` would
    refuse, or would not read.
    """
    run = part.descriptor.run if part.descriptor else None
    if run is None:
        return
    place: Entry | MapNode = _run_entry(part.node) or part.node
    for problem in find_problems(_run_schema(), {"run": run}, closed=False)[:_MAX_PROBLEMS]:
        yield Finding(
            code="run-shape",
            severity=Severity.WARNING,
            message=one_line(problem, 200),
            hint=_RUN_HINT,
            path=path,
            line=place.line,
            column=place.column,
        )


def check_program_text(part: ParsedCapability, path: str) -> Iterator[Finding]:
    """Arguments of the command that a program in it would run or obey, at the place of the word."""
    descriptor = part.descriptor
    for misuse in (
        capdisc_guard.find_misuses(descriptor.run, descriptor.schema) if descriptor else ()
    ):
        message, hint = capdisc_guard.describe_misuse(misuse)
        steps: tuple[str | int, ...] = ("command", *misuse.at) if misuse.at else ("stdin",)
        run_entry = _run_entry(part.node)
        line, column = place_of(run_entry.value if run_entry else part.node, steps)
        yield Finding(
            code="program-text",
            severity=Severity.ERROR,
            message=message,
            hint=hint,
            path=path,
            line=line,
            column=column,
        )


def check_steering_variables(part: ParsedCapability, path: str) -> Iterator[Finding]:
    """Secrets whose names are variables that decide what programs find, load or start."""
    for name in part.descriptor.secrets if part.descriptor else ():
        if capdisc_guard.is_steering(name):
            line, column = place_of(part.node, (_secrets_key(part.node),))
            yield Finding(
                code="steering-variable",
                severity=Severity.ERROR,
                message=f"{name} is no secret: it decides what programs find, load or start",
                hint=capdisc_guard.steering_hint(name),
                path=path,
                line=line,
                column=column,
            )


def _secrets_key(node: MapNode) -> str:
    """The key of the secrets as it is written; "" where there is none."""
    for key in node.entries:
        if squeeze_key(key) in ("requiredsecrets", "secrets"):
            return key
    return ""


def _run_entry(node: MapNode) -> Entry | None:
    for key, entry in node.entries.items():
        if squeeze_key(key) == "run":
            return entry
    return None


def _has_text(node: MapNode, key: str) -> bool:
    entry = node.entries.get(key)
    return bool(entry and isinstance(entry.value, TextNode) and visible_text(entry.value.value))


@cache
def _run_schema() -> JsonSchema:
    """The schema of a manifest, as far as it is about `run`."""
    text = manifest_schema("capability")
    return {"properties": {"run": {"$ref": "#/$defs/run"}}, "$defs": json.loads(text)["$defs"]}
