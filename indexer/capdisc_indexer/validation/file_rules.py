"""How one file is written and what lies beside it: rules that a build does not care about."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from capdisc_indexer.model.types import Finding, LoadedFile, Severity
from capdisc_indexer.sources import SOURCES
from capdisc_indexer.sources.formats.derived_capability import ParsedCapability
from capdisc_indexer.sources.readers.field_reader import squeeze_key
from capdisc_indexer.sources.readers.yaml_nodes import Entry, MapNode, Node, is_null, place_of
from capdisc_indexer.sources.scan.scanned_files import FoundFile
from capdisc_indexer.text.normalization import one_line
from capdisc_indexer.validation.arguments import find_problems
from capdisc_indexer.validation.program_text.misuses import describe_misuse, find_misuses
from capdisc_indexer.validation.program_text.steering import is_steering, steering_hint
from capdisc_indexer.validation.skill_folder_rules import layout_rules, link_rules
from capdisc_indexer.validation.skill_rules import skill_rules

# CAPABILITY.yaml: rules of form beyond what reading it needs.

# Names of capdisc's own tools, and of the bridges of other agents, which an agent calls by name.
RESERVED_NAMES = frozenset(
    """
    call capdisc discover_capabilities execute_tool get_table_schema list_skills resolve_fact search_tool show_skill
    tool_search
    """.split()
)
_READING = re.compile(
    r"(?:^|[-_.])(?:get|list|search|find|fetch|read)(?:[-_.]|$)|^(?:get|list|search|find|fetch|read)[A-Z]"
)
_SHORTEST = 12


def manifest_rules(part: ParsedCapability, path: str) -> Iterator[Finding]:
    """What a careful author would mend in one capability."""
    descriptor = part.descriptor
    if descriptor is None:
        return
    if descriptor.name.replace("-", "_").lower() in RESERVED_NAMES:
        message = f"{descriptor.name} is the name of a tool of capdisc's own"
        yield _at(part.node, "name", path, "reserved-name", message, "choose another name")
    if (
        descriptor.id.partition(":")[2] not in (descriptor.name, descriptor.name.casefold())
        and "id" in part.node.entries
    ):
        message = f"the id {descriptor.id[:64]} is not made of the name {descriptor.name[:64]}"
        yield _at(
            part.node,
            "id",
            path,
            "id-mismatch",
            message,
            f"leave it out, or write {descriptor.kind}:{descriptor.name[:64]}",
        )
    if len(descriptor.description) < _SHORTEST:
        message = f"the description has only {len(descriptor.description)} characters"
        yield _at(
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
        yield _at(part.node, "extraction", path, "extraction-missing", message, hint)


def _at(node: MapNode, key: str, path: str, code: str, message: str, hint: str) -> Finding:
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


# How a capability says that it is run: `run` held against the schema of the manifest, its command
# read as its programs will read it, and the variables that it asks for.

_HINT = "write {command: [...]}, {mcp: {command, args, tool}} or {http: {method, url, parameters}}"
_SHOWN = 3


def run_shape(part: ParsedCapability, path: str) -> Iterator[Finding]:
    """The first things for which `capdisc run` would refuse it, or would not read."""
    run = part.descriptor.run if part.descriptor else None
    place = next(
        (entry for key, entry in part.node.entries.items() if squeeze_key(key) == "run"), part.node
    )
    for problem in (
        find_problems(_schema(), {"run": run}, closed=False)[:_SHOWN] if run is not None else ()
    ):
        yield Finding(
            code="run-shape",
            severity=Severity.WARNING,
            message=one_line(problem, 200),
            hint=_HINT,
            path=path,
            line=place.line,
            column=place.column,
        )


def program_text(part: ParsedCapability, path: str) -> Iterator[Finding]:
    """Arguments that a program of the command would run or obey, each where its word stands."""
    descriptor = part.descriptor
    for misuse in find_misuses(descriptor.run, descriptor.schema) if descriptor else ():
        message, hint = describe_misuse(misuse)
        steps: tuple[str | int, ...] = ("command", *misuse.at) if misuse.at else ("stdin",)
        line, column = place_of(_entry(part.node, "run"), steps)
        yield Finding(
            code="program-text",
            severity=Severity.ERROR,
            message=message,
            hint=hint,
            path=path,
            line=line,
            column=column,
        )


def steering_variables(part: ParsedCapability, path: str) -> Iterator[Finding]:
    """Names among the secrets that decide what programs find, load or start."""
    for name in part.descriptor.secrets if part.descriptor else ():
        if is_steering(name):
            line, column = place_of(part.node, (_key(part.node, "requiredsecrets"),))
            yield Finding(
                code="steering-variable",
                severity=Severity.ERROR,
                message=f"{name} is no secret: it decides what programs find, load or start",
                hint=steering_hint(name),
                path=path,
                line=line,
                column=column,
            )


def _key(node: MapNode, name: str) -> str:
    """The key as it is written; "" where there is none."""
    return next((key for key in node.entries if squeeze_key(key) in (name, "secrets")), "")


def _entry(node: MapNode, name: str) -> Node:
    return next(
        (entry.value for key, entry in node.entries.items() if squeeze_key(key) == name), node
    )


@cache
def _schema() -> Mapping[str, Any]:
    text = (
        Path(__file__)
        .with_name("schemas")
        .joinpath("capability.schema.json")
        .read_text(encoding="utf-8")
    )
    return {"properties": {"run": {"$ref": "#/$defs/run"}}, "$defs": json.loads(text)["$defs"]}


def check_form(file: FoundFile, loaded: LoadedFile) -> Iterator[Finding]:
    """What the format of the file, its clients or a careful author would mend. A place where
    reading failed already is not blamed again.
    """
    failed = {
        (finding.line, finding.column)
        for finding in loaded.findings
        if finding.severity is Severity.ERROR
    }
    for part in loaded.parts:
        if file.format == "skill":
            yield from (
                finding
                for finding in skill_rules(part, file.path)
                if (finding.line, finding.column) not in failed
            )
            yield from link_rules(part, file)
        elif file.format == "capability":
            yield from manifest_rules(part, file.path)
            yield from run_shape(part, file.path)
            yield from program_text(part, file.path)
            yield from steering_variables(part, file.path)
    if SOURCES[file.format].owns_folder:
        yield from layout_rules(file)
