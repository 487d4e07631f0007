"""Checks the form of one file and of the folder around it: rules that `capdisc validate` reports
and a build ignores.

`check_form` calls the rules for skills, which have modules of their own; the rules for
CAPABILITY.yaml are here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache

import capdisc_guard
from capdisc_indexer.model.json_types import JsonSchema
from capdisc_indexer.model.types import Descriptor, Finding, LoadedFile, Severity
from capdisc_indexer.sources.format_table import SOURCES
from capdisc_indexer.sources.formats.parsed_capability import ParsedCapability
from capdisc_indexer.sources.readers.field_reader import squeeze_key
from capdisc_indexer.sources.readers.yaml_nodes import Entry, MapNode, TextNode, is_null, place_of
from capdisc_indexer.sources.scan.scanned_files import FoundFile
from capdisc_indexer.text.normalization import compile_late, one_line, visible_text
from capdisc_indexer.validation.arguments import find_problems
from capdisc_indexer.validation.capability_strings import finding_at
from capdisc_indexer.validation.claude_code_rules import PROMPT_FIELDS, check_prompt_file
from capdisc_indexer.validation.rules import manifest_schema
from capdisc_indexer.validation.skill_folder_rules import check_layout, check_links
from capdisc_indexer.validation.skill_rules import check_skill, placeholder_problem, vague_problem

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
_RUN_HINT = (
    "write {command: [...]}, {mcp: {command, args, tool}} or {http: {method, url, parameters}}"
)
_MAX_PROBLEMS = 3


def check_form(file: FoundFile, loaded: LoadedFile) -> Iterator[Finding]:
    """Findings about how the file is written, by its format and its clients, and about what lies
    next to it. A place where reading failed has its finding already, and gets no second one.
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
        elif file.format in PROMPT_FIELDS:
            yield from check_prompt_file(part.node, file.path, file.format)
    if SOURCES[file.format].owns_folder:
        yield from check_layout(file)


def check_manifest(part: ParsedCapability, path: str) -> Iterator[Finding]:
    """Findings about one capability of a CAPABILITY file: name, id, description, extraction, run
    and secrets.
    """
    descriptor, node = part.descriptor, part.node
    if descriptor is None:
        return
    for key, code, message, hint in _field_problems(descriptor, node.entries):
        yield finding_at(node.entries.get(key, node), path, code, message, hint)
    run = _entry_of(node, "run")
    if descriptor.run is not None:
        problems = find_problems(_run_schema(), {"run": descriptor.run}, closed=False)
        for problem in problems[:_MAX_PROBLEMS]:
            yield finding_at(run or node, path, "run-shape", one_line(problem, 200), _RUN_HINT)
    for misuse in capdisc_guard.find_misuses(descriptor.run, descriptor.schema):
        message, hint = capdisc_guard.describe_misuse(misuse)
        steps: tuple[str | int, ...] = ("command", *misuse.at) if misuse.at else ("stdin",)
        place = place_of(run.value if run else node, steps)
        yield finding_at(place, path, "program-text", message, hint, Severity.ERROR)
    secrets = _entry_of(node, "requiredsecrets", "secrets") or node
    for name in filter(capdisc_guard.is_steering, descriptor.secrets):
        message = f"{name} is not a secret: it decides what programs find, load or start"
        hint = capdisc_guard.steering_hint(name)
        yield finding_at(secrets, path, "steering-variable", message, hint, Severity.ERROR)


def _field_problems(
    descriptor: Descriptor, entries: Mapping[str, Entry]
) -> Iterator[tuple[str, str, str, str]]:
    """The key, code, message and hint of each problem of the fields that all kinds have."""
    name, entry = descriptor.name[:64], entries.get("description")
    if descriptor.name.replace("-", "_").lower() in RESERVED_NAMES:
        message = f"{descriptor.name} is the name of one of capdisc's own tools"
        yield "name", "reserved-name", message, "choose another name"
    own_id = descriptor.id.partition(":")[2]
    if own_id not in (descriptor.name, descriptor.name.casefold()) and "id" in entries:
        message = f"the id {descriptor.id[:64]} is not made of the name {name}"
        yield "id", "id-mismatch", message, f"leave it out, or write {descriptor.kind}:{name}"
    if entry and isinstance(entry.value, TextNode):
        length = len(descriptor.description)
        if placeholder := placeholder_problem(entry.value.value):
            yield "description", *placeholder
        elif visible_text(entry.value.value) and length < _MIN_DESCRIPTION:
            yield "description", *vague_problem(length, "say what it does, in a sentence")
    extraction = entries.get("extraction")
    if extraction and is_null(extraction.value) and _READING.search(descriptor.name):
        message = f"{descriptor.name} reads something, and nothing says what to remember of it"
        hint = "write extraction: path, type, nameField, idField"
        yield "extraction", "extraction-missing", message, hint


def _entry_of(node: MapNode, *squeezed: str) -> Entry | None:
    """The entry of a key however it is spelt."""
    return next(
        (entry for key, entry in node.entries.items() if squeeze_key(key) in squeezed), None
    )


@cache
def _run_schema() -> JsonSchema:
    """The schema of a manifest, as far as it is about `run`."""
    text = manifest_schema("capability")
    return {"properties": {"run": {"$ref": "#/$defs/run"}}, "$defs": json.loads(text)["$defs"]}
