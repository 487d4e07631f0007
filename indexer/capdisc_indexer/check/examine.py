"""Look at what a file says, beyond what reading it needs; a capability with an error is left out."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from capdisc_indexer.check.hidden import hidden
from capdisc_indexer.check.markup import markup
from capdisc_indexer.check.masking import holds_key, line_beginnings, mask_descriptor
from capdisc_indexer.check.payloads import payloads
from capdisc_indexer.check.phrases import phrases
from capdisc_indexer.check.samples import without_keys
from capdisc_indexer.check.schema_rules import schema_rules
from capdisc_indexer.check.secret_keys import masked
from capdisc_indexer.check.texts import is_plain_word, texts
from capdisc_indexer.check.wording import wording
from capdisc_indexer.frozen import replace
from capdisc_indexer.sources import SOURCES
from capdisc_indexer.sources.files import FoundFile
from capdisc_indexer.sources.parts import Part
from capdisc_indexer.types import Descriptor, Finding, Loaded, Severity

# What a reader of a result should know before trusting it. One character that shows nothing, as generators of pages
# leave behind each heading, is no such thing; a message in such characters is an error.
WARY = frozenset(
    """
    bidi-control control-character encoded-payload hard-coded-secret html-comment impersonation injection-phrase
    keyword-stuffing markup-breakout padding remote-execution suspicious-url
    """.split()
)
HARD_CODED = "hard-coded-secret"
LARGE_BYTES = 100_000  # what readers load without a second thought


def examine(file: FoundFile, loaded: Loaded, data: bytes = b"") -> Loaded:
    """The same with the findings of every content rule, without the capabilities that one of them refuses, and with the
    keys in the others masked. `data` is what was loaded."""
    found = [*loaded.findings, *_large(file)]
    parts = []
    for part in loaded.parts:
        findings = list(content(part, file.path))
        parts.append(replace(part, descriptor=_marked(part.descriptor, findings)))
        found += findings
    # What is run, and what is kept beside the fields, is no text that the rules look at.
    if any(one.code == HARD_CODED for one in found) or any(map(_runs_with_key, parts)):
        parts = _masked(file, parts, data)
    descriptors = tuple(part.descriptor for part in parts if part.descriptor)
    return Loaded(descriptors=descriptors, findings=tuple(dict.fromkeys(found)), parts=tuple(parts))


def _marked(descriptor: Descriptor | None, findings: Sequence[Finding]) -> Descriptor | None:
    """The capability with the codes that its results are marked by; None when something refuses it."""
    if descriptor is None or any(one.severity is Severity.ERROR for one in findings):
        return None
    codes = {one.code for one in findings} & WARY
    descriptor = without_keys(descriptor)
    return replace(descriptor, warnings=tuple(sorted(codes))) if codes else descriptor


def _runs_with_key(part: Part) -> bool:
    descriptor = part.descriptor
    if descriptor is None or not (descriptor.run or descriptor.extra):
        return False
    extra = {key: value for key, value in descriptor.extra.items() if key not in ("samples", "rows")}
    return holds_key([descriptor.run, extra])


def _masked(file: FoundFile, parts: list[Part], data: bytes) -> list[Part]:
    """The parts with their keys masked, for which the rules looked: so that no text is looked through twice."""
    beginnings = line_beginnings(parts)
    if file.format == "document":
        # Its names, sections and their digests are made of the text, so they are made again of one without keys.
        hidden = masked(data.decode("utf-8", "replace")).encode("utf-8", "replace")
        again = SOURCES[file.format].load(file, hidden).parts
        if len(again) == len(parts):
            parts = [_again(part, other) for part, other in zip(parts, again, strict=True)]
    return [
        replace(part, descriptor=mask_descriptor(part.descriptor, beginnings)) if part.descriptor else part
        for part in parts
    ]


def _again(part: Part, other: Part) -> Part:
    if part.descriptor is None or other.descriptor is None:
        return replace(part, descriptor=None)
    return replace(part, descriptor=replace(other.descriptor, warnings=part.descriptor.warnings))


def content(part: Part, path: str) -> Iterator[Finding]:
    """What one capability says or hides. Of one rule, each field and the body are named once."""
    every = list(texts(part, path))
    seen: set[tuple[str, str]] = set()
    for text in every:
        if is_plain_word(text.value):
            continue
        for finding in (*hidden(text), *markup(text), *payloads(text)):
            place = (finding.code, text.field or f"{text.path}:{text.line}")
            if place not in seen:
                seen.add(place)
                yield finding
    yield from phrases(every)
    yield from wording(every)
    yield from _schema(part, path)


def _schema(part: Part, path: str) -> Iterator[Finding]:
    if part.schema:
        yield from schema_rules(part.schema, part.schema_path)
    inline = {} if part.schema or part.descriptor is None else part.descriptor.schema or {}
    for schema in (inline, (part.descriptor.output_schema or {}) if part.descriptor else {}):
        yield from schema_rules(schema, path, part.node.line)


def _large(file: FoundFile) -> Iterator[Finding]:
    sizes = [(file.path, file.size), *((each.path, each.size) for each in file.companions)]
    for path, size in sizes:
        if size > LARGE_BYTES and SOURCES[file.format].owns_folder:
            message = f"{os.path.basename(path)} has {size // 1000:,} kB"
            hint = "move long parts into files that it points to"
            yield Finding(code="file-large", severity=Severity.WARNING, message=message, hint=hint, path=path)
