"""Look at what a file says, beyond what reading it needs; a capability with an error is left
out.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from capdisc_indexer import lazy_imports
from capdisc_indexer.model.frozen import replace
from capdisc_indexer.model.json_types import JsonSchema
from capdisc_indexer.model.types import Descriptor, Finding, LoadedFile, Severity
from capdisc_indexer.sources import SOURCES
from capdisc_indexer.sources.formats.derived_capability import ParsedCapability
from capdisc_indexer.sources.scan.scanned_files import FoundFile
from capdisc_indexer.text.normalization import STOP_WORDS, simple_words
from capdisc_indexer.validation.capability_strings import (
    CapabilityText,
    capability_texts,
    is_plain_word,
)
from capdisc_indexer.validation.hidden_text import hidden_text_findings
from capdisc_indexer.validation.injection_phrases import injection_findings
from capdisc_indexer.validation.markup_rules import markup_findings
from capdisc_indexer.validation.masking import (
    holds_key,
    line_beginnings,
    mask_descriptor,
    redact_samples,
)
from capdisc_indexer.validation.payloads import payload_findings
from capdisc_indexer.validation.secret_keys import mask_keys

# JSON schemas are shown and never followed or run; what would harm a program that does is said
# here.

MAX_NODES = 10_000  # of the schema with every reference written out
MAX_VALUES = 1_000
LONG_PATTERN = 500  # characters; looking for the worst ones takes quadratic time itself

# A repeated group that itself repeats: (a+)+, (\w*)*, (a|a)+ and the like take exponential time in
# most engines.
_CATASTROPHIC = re.compile(
    r"\((?:[^()\\]|\\.)*(?:[+*]|\{\d+,\d*\}|\|)(?:[^()\\]|\\.)*\)(?:[+*]|\{\d+,\d*\})"
)


def schema_rules(schema: JsonSchema, path: str, line: int = 1) -> Iterator[Finding]:
    """What is wrong with one schema: the first finding of each kind."""
    reported: set[str] = set()
    for code, severity, message, hint in _problems(schema):
        if code not in reported:
            reported.add(code)
            yield Finding(
                code=code, severity=severity, message=message, hint=hint, path=path, line=line
            )


def _problems(schema: JsonSchema) -> Iterator[tuple[str, Severity, str, str]]:
    references = []
    for key, value in _members(schema):
        if key in ("$ref", "$dynamicRef") and isinstance(value, str):
            references.append(value)
            yield from _reference(value)
        elif key == "pattern" and isinstance(value, str) and _is_catastrophic(value):
            message = "a pattern that takes exponential time on some inputs, or is too long to tell"
            yield "schema-pattern", Severity.WARNING, message, "repeat no group that repeats inside"
        elif key == "enum" and isinstance(value, list) and len(value) > MAX_VALUES:
            yield (
                "schema-too-large",
                Severity.WARNING,
                f"a choice of {len(value):,} values",
                "describe them instead",
            )
    if any(reference.startswith("#") for reference in references):
        yield from _expansion(schema)


def _is_catastrophic(pattern: str) -> bool:
    return len(pattern) > LONG_PATTERN or bool(_CATASTROPHIC.search(pattern))


def _reference(target: str) -> Iterator[tuple[str, Severity, str, str]]:
    if target.startswith("#"):
        return
    is_local = target.lower().startswith(("file:", "/", "..")) or "\\" in target
    severity = Severity.ERROR if is_local else Severity.WARNING
    what = "a file of this machine" if is_local else "another document"
    yield (
        "schema-remote-ref",
        severity,
        f"a reference to {what}, which is never read",
        "write the schema out",
    )


def _members(value: Any) -> Iterator[tuple[str, Any]]:
    """Every key with its value, at any depth; what a schema is depth-limited to was checked when
    it was read.
    """
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield str(key), inner
            yield from _members(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _members(inner)


def _expansion(schema: JsonSchema) -> Iterator[tuple[str, Severity, str, str]]:
    size = _size(schema, schema, frozenset(), {})
    if size < 0:
        message = "a reference leads back to itself"
        yield "schema-cycle", Severity.WARNING, message, "describe the inner levels in words"
    elif size > MAX_NODES:
        message = f"{size:.0e} values with every reference written out"
        yield "schema-too-large", Severity.WARNING, message, "make it flatter"


def _size(value: Any, schema: JsonSchema, above: frozenset[str], sizes: dict[str, int]) -> int:
    """The number of values with references written out, counted without writing any; -1 for a ring
    of references.
    """
    if isinstance(value, list):
        return _sum(_size(inner, schema, above, sizes) for inner in value)
    if not isinstance(value, Mapping):
        return 1
    size = _sum(_size(inner, schema, above, sizes) for key, inner in value.items() if key != "$ref")
    target = value.get("$ref")
    if size < 0 or not isinstance(target, str) or not target.startswith("#"):
        return size
    if target in above:
        return -1
    if target not in sizes:
        sizes[target] = _size(_referenced_schema(schema, target), schema, above | {target}, sizes)
    return -1 if sizes[target] < 0 else size + sizes[target]


def _sum(sizes: Iterator[int]) -> int:
    total = 1
    for size in sizes:
        if size < 0:
            return -1
        total += size
    return total


def _referenced_schema(schema: JsonSchema, target: str) -> Any:
    """What a reference such as `#/$defs/Size` leads to; None where that is nothing."""
    node: Any = schema
    for step in target.lstrip("#").split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        node = node.get(name) if isinstance(node, Mapping) else None
    return node


# How a capability is worded: words repeated to be found, and text that costs more tokens than it
# looks.

MAX_REPEATS = 8
MAX_SHARE = 0.25  # of the words that one of them makes up; in public skills at most 0.22
# Of several words together: the share of those that stand at least OFTEN times; in public skills
# at most 0.31.
OFTEN = 6
SHARE_TOGETHER = 0.5
MAX_DENSITY = 1.5  # tokens a character; Chinese and Thai stay below 1.0, English below 0.3
DENSE_BYTES = 2.2  # bytes a character, below which no text is as dense as that
SAMPLE_CHARACTERS = 20_000

_DESCRIBING = frozenset(
    {"description", "whentouse", "usagehint"}
)  # phrases may repeat a word: each is a request
_RARE = re.compile(
    "[^\x00-\u04ff\u0590-\u06ff\u0900-\u0d7f\u0e00-\u0e7f\u3000-\u30ff\u4e00-\u9fff\uac00-\ud7af]"
)


def wording_findings(texts: Sequence[CapabilityText]) -> Iterator[Finding]:
    """Words repeated beyond use in what describes the capability, and the first text that is dense
    in tokens.
    """
    yield from _stuffing(
        [text for text in texts if text.field.replace("_", "").lower() in _DESCRIBING]
    )
    dense = (density_finding for text in texts if (density_finding := _density(text)))
    yield from list(dense)[:1]


def _stuffing(texts: Sequence[CapabilityText]) -> Iterator[Finding]:
    words = [word.lower() for text in texts for word in simple_words(text.value) if len(word) > 2]
    telling = Counter(word for word in words if word not in STOP_WORDS)
    for word, times in telling.most_common(1):
        if times >= MAX_REPEATS and times >= MAX_SHARE * len(words):
            message = f"the word {word[:64]!r} stands {times} times among {len(words)}"
            hint = "say it once; a word counts no more for being repeated"
            yield texts[0].finding("keyword-stuffing", Severity.WARNING, message, hint)
            return
    repeated = [times for times in telling.values() if times >= OFTEN]
    if len(repeated) > 1 and sum(repeated) >= SHARE_TOGETHER * len(words):
        message = (
            f"{len(repeated)} words make up {sum(repeated)} of the {len(words)} by being repeated"
        )
        hint = "say each once; a word counts no more for being repeated"
        yield texts[0].finding("keyword-stuffing", Severity.WARNING, message, hint)


def _density(text: CapabilityText) -> Finding | None:
    value = text.value[:SAMPLE_CHARACTERS]
    if value.isascii() or len(value) < 64 or len(_RARE.findall(value)) * 2 < len(value):
        return None
    if len(value.encode("utf-8", "replace")) < DENSE_BYTES * len(value):
        return None
    tokens = lazy_imports.load_token_counter()(value)
    if tokens < MAX_DENSITY * len(value):
        return None
    message = f"{tokens / len(value):.1f} tokens a character: the text costs far more than its length shows"
    return text.finding("token-density", Severity.WARNING, message, "write it in plain letters")


# What a reader of a result should know before trusting it. One character that shows nothing, as
# generators of pages leave behind each heading, is no such thing; a message in such characters is
# an error.
REVIEW_CODES = frozenset(
    """
    bidi-control control-character encoded-payload hard-coded-secret html-comment impersonation injection-phrase
    keyword-stuffing markup-breakout padding remote-execution suspicious-url
    """.split()
)
HARD_CODED = "hard-coded-secret"
LARGE_BYTES = 100_000  # what readers load without a second thought


def check_content(file: FoundFile, loaded: LoadedFile, data: bytes = b"") -> LoadedFile:
    """The same with the findings of every content rule, without the capabilities that one of them
    refuses, and with the keys in the others masked. `data` is what was loaded.
    """
    all_findings = [*loaded.findings, *_large(file)]
    parts = []
    for part in loaded.parts:
        findings = list(content_findings(part, file.path))
        parts.append(replace(part, descriptor=_with_warnings(part.descriptor, findings)))
        all_findings += findings
    # What is run, and what is kept beside the fields, is no text that the rules look at.
    if any(one.code == HARD_CODED for one in all_findings) or any(map(_runs_with_key, parts)):
        parts = _masked(file, parts, data)
    descriptors = tuple(part.descriptor for part in parts if part.descriptor)
    return LoadedFile(
        descriptors=descriptors, findings=tuple(dict.fromkeys(all_findings)), parts=tuple(parts)
    )


def _with_warnings(descriptor: Descriptor | None, findings: Sequence[Finding]) -> Descriptor | None:
    """The capability with the codes that its results are marked by; None when something refuses
    it.
    """
    if descriptor is None or any(finding.severity is Severity.ERROR for finding in findings):
        return None
    codes = {finding.code for finding in findings} & REVIEW_CODES
    descriptor = redact_samples(descriptor)
    return replace(descriptor, warnings=tuple(sorted(codes))) if codes else descriptor


def _runs_with_key(part: ParsedCapability) -> bool:
    descriptor = part.descriptor
    if descriptor is None or not (descriptor.run or descriptor.extra):
        return False
    extra = {
        key: value for key, value in descriptor.extra.items() if key not in ("samples", "rows")
    }
    return holds_key([descriptor.run, extra])


def _masked(file: FoundFile, parts: list[ParsedCapability], data: bytes) -> list[ParsedCapability]:
    """The parts with their keys masked, for which the rules looked: so that no text is looked
    through twice.
    """
    beginnings = line_beginnings(parts)
    if file.format == "document":
        # Its names, sections and their digests are made of the text, so they are made again of one
        # without keys.
        hidden = mask_keys(data.decode("utf-8", "replace")).encode("utf-8", "replace")
        again = SOURCES[file.format].load(file, hidden).parts
        if len(again) == len(parts):
            parts = [_again(part, other) for part, other in zip(parts, again, strict=True)]
    return [
        replace(part, descriptor=mask_descriptor(part.descriptor, beginnings))
        if part.descriptor
        else part
        for part in parts
    ]


def _again(part: ParsedCapability, other: ParsedCapability) -> ParsedCapability:
    if part.descriptor is None or other.descriptor is None:
        return replace(part, descriptor=None)
    return replace(part, descriptor=replace(other.descriptor, warnings=part.descriptor.warnings))


def content_findings(part: ParsedCapability, path: str) -> Iterator[Finding]:
    """What one capability says or hides. Of one rule, each field and the body are named once."""
    strings = list(capability_texts(part, path))
    reported: set[tuple[str, str]] = set()
    for text in strings:
        if is_plain_word(text.value):
            continue
        for finding in (
            *hidden_text_findings(text),
            *markup_findings(text),
            *payload_findings(text),
        ):
            place = (finding.code, text.field or f"{text.path}:{text.line}")
            if place not in reported:
                reported.add(place)
                yield finding
    yield from injection_findings(strings)
    yield from wording_findings(strings)
    yield from _schema(part, path)


def _schema(part: ParsedCapability, path: str) -> Iterator[Finding]:
    if part.schema:
        yield from schema_rules(part.schema, part.schema_path)
    inline = {} if part.schema or part.descriptor is None else part.descriptor.schema or {}
    for schema in (inline, (part.descriptor.output_schema or {}) if part.descriptor else {}):
        yield from schema_rules(schema, path, part.node.line)


def _large(file: FoundFile) -> Iterator[Finding]:
    sizes = [
        (file.path, file.size),
        *((companion.path, companion.size) for companion in file.companions),
    ]
    for path, size in sizes:
        if size > LARGE_BYTES and SOURCES[file.format].owns_folder:
            message = f"{os.path.basename(path)} has {size // 1000:,} kB"
            hint = "move long parts into files that it points to"
            yield Finding(
                code="file-large", severity=Severity.WARNING, message=message, hint=hint, path=path
            )
