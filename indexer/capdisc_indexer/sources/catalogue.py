"""corpus.jsonl, capabilities.jsonl: one capability a line, the way programs and data sets write them.

A line has the keys of a CAPABILITY.yaml. It may also give any id, a flat list of parameters, and its text as `content`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from capdisc_indexer.frozen import frozen
from capdisc_indexer.sources.casing import misnamed
from capdisc_indexer.sources.catalogue_fields import FIELDS, identity, shaped
from capdisc_indexer.sources.companions import Companions
from capdisc_indexer.sources.decoding import mark_finding, wide_finding
from capdisc_indexer.sources.fields import Fields
from capdisc_indexer.sources.files import FoundFile, content_hash, source_ref
from capdisc_indexer.sources.json_lines import Line, json_lines
from capdisc_indexer.sources.manifest import descriptor
from capdisc_indexer.sources.nodes import MapNode, from_json
from capdisc_indexer.sources.parts import LongText, Part
from capdisc_indexer.types import Descriptor, Finding, Loaded, Severity

# A file that is no catalogue at all has something wrong in every line; nobody reads more than this.
MAX_FINDINGS = 100


def load(file: FoundFile, data: bytes) -> Loaded:
    """The capabilities of all lines that can be read, and a finding, with its line, for each of the others.

    Of lines that give the same id, the first counts. A capability's digest is that of its line, so that a changed
    line leaves the others as they were.
    """
    if wide := wide_finding(data, file.path):
        return Loaded(findings=(wide,))
    parts = [one if isinstance(one, Finding) else _capability(one, file) for one in json_lines(data, file.path)]
    made = [one for one in parts if isinstance(one, _Made)]
    descriptors, repeated = _first_of_each(made, file.path)
    findings = [found for one in parts for found in ([one] if isinstance(one, Finding) else one.findings)]
    findings = sorted([*findings, *repeated], key=lambda one: one.line)
    if not descriptors and not findings:
        findings = [_finding(file.path, 1, "jsonl-empty", "the file holds no capability", "write one on each line")]
    kept = {id(each) for each in descriptors}
    return Loaded(
        descriptors=descriptors,
        findings=(*mark_finding(data, file.path), *misnamed(file), *most(findings)),
        parts=tuple(_part(one, file.path, kept) for one in made if one.node is not None),
    )


def _part(one: _Made, path: str, kept: Collection[int]) -> Part:
    node = one.node or MapNode({}, one.line, 1)
    text = one.descriptor.content if one.descriptor else ""
    return Part(
        node=node,
        descriptor=one.descriptor if id(one.descriptor) in kept else None,
        longs=(LongText(value=text, path=path, line=one.line, in_place=True),) if text else (),
        long_keys=frozenset(key for key in ("content", "text", "skillContent") if key in node.entries),
    )


@frozen
class _Made:
    """What one line gave: a capability, or none and the reasons."""

    line: int
    descriptor: Descriptor | None
    findings: tuple[Finding, ...]
    node: MapNode | None = None


def _capability(line: Line, file: FoundFile) -> _Made:
    node = from_json(shaped(line.value), line.number)
    if not isinstance(node, MapNode):
        hint = 'write {"kind": ..., "name": ..., "description": ...}'
        wrong = _finding(file.path, line.number, "jsonl-not-object", "the line is no object", hint)
        return _Made(line.number, None, (wrong,))
    fields = Fields(node, file.path, FIELDS)
    given = identity(line.value, fields)
    source = source_ref(file, content_hash(line.raw), given)
    made = descriptor(fields, file, source, Companions(), given)
    return _Made(line.number, None if fields.has_error else made, tuple(fields.findings), node)


def _first_of_each(made: Sequence[_Made], path: str) -> tuple[tuple[Descriptor, ...], list[Finding]]:
    """The capabilities without those whose id an earlier line gives, and a finding for each that is left out.

    Where kind and name make the id, equal ones stay: APIs have functions of one name, told apart as those of files.
    """
    lines: dict[str, int] = {}
    kept: list[Descriptor] = []
    repeated: list[Finding] = []
    for one in made:
        if one.descriptor is None:
            continue
        given = one.descriptor.source.pointer
        if given and lines.setdefault(given, one.line) != one.line:
            repeated.append(_twice(path, one.line, given, lines[given]))
        else:
            kept.append(one.descriptor)
    return tuple(kept), repeated


def _twice(path: str, line: int, identifier: str, first: int) -> Finding:
    message = f"the id {identifier} stands in line {first} already; not read"
    return _finding(path, line, "duplicate-id", message, "give it an id of its own, or remove one of the two")


def most(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The first findings, errors before others, in the order of the lines, and how many more there are."""
    if len(findings) <= MAX_FINDINGS:
        return tuple(findings)
    ranked = sorted(findings, key=lambda one: one.severity is not Severity.ERROR)
    kept, left = ranked[:MAX_FINDINGS], ranked[MAX_FINDINGS:]
    message, hint = f"{len(left):,} more findings about this file are left out", "mend the first ones, and run it again"
    more = Finding(
        code="more-findings", severity=left[0].severity, message=message, hint=hint, path=findings[0].path,
        line=left[0].line,
    )  # fmt: skip
    return (*sorted(kept, key=lambda one: one.line), more)


def _finding(path: str, line: int, code: str, message: str, hint: str) -> Finding:
    return Finding(code=code, severity=Severity.ERROR, message=message, hint=hint, path=path, line=line)
