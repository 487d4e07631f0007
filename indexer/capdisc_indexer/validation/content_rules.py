"""Checks what a file says, beyond what reading it needs; a build runs this too.

`check_content` runs every content rule, leaves out a capability that has an error, and masks keys
in the others. The rules for schemas and for wording are below it; those for hidden text, markup,
orders and payloads are in `capdisc_guard`.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import capdisc_guard
from capdisc_indexer.model.frozen import replace
from capdisc_indexer.model.json_types import JsonSchema
from capdisc_indexer.model.types import Descriptor, Finding, LoadedFile, Severity
from capdisc_indexer.sources.format_table import SOURCES
from capdisc_indexer.sources.formats.parsed_capability import ParsedCapability
from capdisc_indexer.sources.readers.field_reader import squeeze_key
from capdisc_indexer.sources.readers.file_bytes import decode, read_bytes
from capdisc_indexer.sources.readers.yaml_nodes import place_of
from capdisc_indexer.sources.scan.folder_tree import LIMIT_BYTES, category_of
from capdisc_indexer.sources.scan.scanned_files import FileStat, FoundFile, printable_path
from capdisc_indexer.text.normalization import STOP_WORDS, compile_late, simple_words
from capdisc_indexer.text.o200k import load_counter
from capdisc_indexer.validation.arguments import find_problems
from capdisc_indexer.validation.capability_strings import (
    FILE_START,
    capability_texts,
    finding_at,
)
from capdisc_indexer.validation.finding_selection import SILENCEABLE

# Codes that a result is marked with, for a reader to know before trusting it. One invisible
# character is not among them, as generators of pages leave one behind each heading; a message in
# such characters is an error.
REVIEW_CODES = frozenset(
    """
    bidi-control control-character encoded-payload hard-coded-secret html-comment impersonation
    injection-phrase keyword-stuffing markup-breakout padding remote-execution suspicious-url
    """.split()
)
HARD_CODED = "hard-coded-secret"
LARGE_BYTES = 100_000  # what readers load without a second thought

MAX_NODES = 10_000  # of the schema with every reference written out
MAX_VALUES = 1_000
LONG_PATTERN = 500  # characters; the search below takes quadratic time itself

# A repeated group that itself repeats: (a+)+, (\w*)*, (a|a)+ and the like take exponential time in
# most engines.
_CATASTROPHIC = compile_late(
    r"\((?:[^()\\]|\\.)*(?:[+*]|\{\d+,\d*\}|\|)(?:[^()\\]|\\.)*\)(?:[+*]|\{\d+,\d*\})"
)

MAX_REPEATS = 8
MAX_SHARE = 0.25  # of the words that one of them makes up; in public skills at most 0.22
# Of several words together: the share of those that stand at least OFTEN times; in public skills
# at most 0.31.
OFTEN = 6
SHARE_TOGETHER = 0.5
MAX_DENSITY = 1.5  # tokens a character; Chinese and Thai stay below 1.0, English below 0.3
DENSE_BYTES = 2.2  # bytes a character, below which no text is as dense as that
SAMPLE_CHARACTERS = 20_000

# Not phrases, which may repeat a word, as each is a request of its own.
_DESCRIBING = frozenset({"description", "whentouse", "usagehint"})
_RARE = compile_late(
    "[^\x00-\u04ff\u0590-\u06ff\u0900-\u0d7f\u0e00-\u0e7f\u3000-\u30ff\u4e00-\u9fff\uac00-\ud7af]"
)


def check_content(file: FoundFile, loaded: LoadedFile, data: bytes = b"") -> LoadedFile:
    """The loaded file with the findings of every content rule, without the capabilities that have
    an error, and with the keys in the others masked. `data` are the bytes that were loaded.
    """
    all_findings = [*loaded.findings, *_large_file_findings(file)]
    parts = []
    for part in loaded.parts:
        findings = list(content_findings(part, file.path))
        parts.append(replace(part, descriptor=_with_warnings(part.descriptor, findings)))
        all_findings += findings
    # The rules do not look at what is run, nor at extra data besides the fields.
    has_key_finding = any(finding.code == HARD_CODED for finding in all_findings)
    if has_key_finding or any(map(_runs_with_key, parts)):
        parts = _mask_parts(file, parts, data)
    descriptors = tuple(part.descriptor for part in parts if part.descriptor)
    unique = tuple(dict.fromkeys(all_findings))
    return replace(loaded, descriptors=descriptors, findings=unique, parts=tuple(parts))


def _with_warnings(
    descriptor: Descriptor | None, findings: Sequence[Finding]
) -> Descriptor | None:
    """The capability with the codes that its results are marked with; None if a finding is an
    error.
    """
    if descriptor is None or any(finding.severity is Severity.ERROR for finding in findings):
        return None
    codes = {finding.code for finding in findings} & REVIEW_CODES
    descriptor = capdisc_guard.redact_samples(descriptor)
    return replace(descriptor, warnings=tuple(sorted(codes))) if codes else descriptor


def _runs_with_key(part: ParsedCapability) -> bool:
    descriptor = part.descriptor
    if descriptor is None or not (descriptor.run or descriptor.extra):
        return False
    extra = {
        key: value for key, value in descriptor.extra.items() if key not in ("samples", "rows")
    }
    return capdisc_guard.holds_key([descriptor.run, extra])


def _mask_parts(
    file: FoundFile, parts: list[ParsedCapability], data: bytes
) -> list[ParsedCapability]:
    """The parts with their keys masked."""
    beginnings = capdisc_guard.line_beginnings(parts)
    descriptors = [part.descriptor for part in parts]
    if file.format == "document":
        # Its names, sections and their digests come from the text, so it is loaded again from a
        # text without keys.
        masked_text = capdisc_guard.mask_keys(data.decode("utf-8", "replace"))
        masked = SOURCES[file.format].load(file, masked_text.encode("utf-8", "replace")).parts
        if len(masked) == len(parts):
            descriptors = [
                replace(new.descriptor, warnings=old.warnings) if old and new.descriptor else None
                for old, new in zip(descriptors, masked, strict=True)
            ]
    return [
        replace(part, descriptor=old and capdisc_guard.mask_descriptor(old, beginnings))
        for part, old in zip(parts, descriptors, strict=True)
    ]


def content_findings(part: ParsedCapability, path: str) -> Iterator[Finding]:
    """Findings about one capability; of each rule, one for each field and one for the body."""
    texts = list(capability_texts(part, path))
    yield from capdisc_guard.find_risks(texts, SILENCEABLE)
    yield from _wording_findings(texts)
    yield from _findings_of_schemas(part, path)


def _findings_of_schemas(part: ParsedCapability, path: str) -> Iterator[Finding]:
    descriptor = part.descriptor
    if part.schema:
        yield from _schema_findings(part.schema, part.schema_path)
    if descriptor is None:
        return
    for schema in ({} if part.schema else descriptor.schema, descriptor.output_schema):
        yield from _schema_findings(schema or {}, path, part.node.line)
    keys = [key for key in part.node.entries if squeeze_key(key) == "inputexamples"]
    for number, example in enumerate(descriptor.input_examples, 1):
        if problems := find_problems(descriptor.schema, example):
            place = place_of(part.node, (*keys[:1], number - 1))
            message = f"example {number} of the inputs does not fit the schema: {problems[0]}"
            hint = "correct the example, or the schema"
            yield finding_at(place, path, "example-mismatch", message, hint)


def _large_file_findings(file: FoundFile) -> Iterator[Finding]:
    sizes = [(part.path, part.size) for part in (file, *file.companions)]
    for path, size in sizes if SOURCES[file.format].owns_folder else ():
        if size > LARGE_BYTES:
            message = f"{os.path.basename(path)} has {size // 1000:,} kB"
            hint = "move long parts into files that it points to"
            yield finding_at(FILE_START, path, "file-large", message, hint)


# Rules for JSON schemas. capdisc shows schemas and never follows or runs them; these rules name
# what would harm a program that does.


def _schema_findings(schema: JsonSchema, path: str, line: int = 1) -> Iterator[Finding]:
    """The first finding of each kind for one schema."""
    reported: set[str] = set()
    for code, message, hint, severity in _schema_problems(schema):
        if code not in reported:
            reported.add(code)
            yield finding_at((line, 1), path, code, message, hint, severity)


def _schema_problems(schema: JsonSchema) -> Iterator[tuple[str, str, str, Severity]]:
    warning, has_references = Severity.WARNING, False
    for key, value in _schema_members(schema):
        if key in ("$ref", "$dynamicRef") and isinstance(value, str):
            if value.startswith("#"):
                has_references = True
                continue
            is_local = value.lower().startswith(("file:", "/", "..")) or "\\" in value
            what = "a file of this machine" if is_local else "another document"
            severity = Severity.ERROR if is_local else warning
            message = f"a reference to {what}, which is never read"
            yield "schema-remote-ref", message, "write the schema out", severity
        elif key == "pattern" and isinstance(value, str) and _is_catastrophic(value):
            message = (
                "a pattern that takes exponential time on some inputs, or is too long to tell"
            )
            yield "schema-pattern", message, "repeat no group that repeats inside", warning
        elif key == "enum" and isinstance(value, list) and len(value) > MAX_VALUES:
            message = f"a choice of {len(value):,} values"
            yield "schema-too-large", message, "describe them instead", warning
    size = _expanded_size(schema, schema, frozenset(), {}) if has_references else 0
    if size < 0:
        message = "a reference leads back to itself"
        yield "schema-cycle", message, "describe the inner levels in words", warning
    elif size > MAX_NODES:
        message = f"{size:.0e} values with every reference written out"
        yield "schema-too-large", message, "make it flatter", warning


def _is_catastrophic(pattern: str) -> bool:
    return len(pattern) > LONG_PATTERN or bool(_CATASTROPHIC.search(pattern))


def _schema_members(value: Any) -> Iterator[tuple[str, Any]]:
    """Every key with its value, at any depth. Recursive, since the reader limits the depth."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield str(key), inner
            yield from _schema_members(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _schema_members(inner)


def _expanded_size(
    value: Any, schema: JsonSchema, above: frozenset[str], sizes: dict[str, int]
) -> int:
    """The number of values that the schema would have with every reference written out, counted
    without writing any; -1 for a ring of references.
    """
    if isinstance(value, Mapping):
        members = [inner for key, inner in value.items() if key != "$ref"]
        target = value.get("$ref")
    else:
        members, target = value if isinstance(value, list) else [], None
    total = 1
    for inner in members:
        size = _expanded_size(inner, schema, above, sizes)
        if size < 0:
            return -1
        total += size
    if not isinstance(target, str) or not target.startswith("#"):
        return total
    if target in above:
        return -1
    if target not in sizes:
        sizes[target] = _expanded_size(
            _referenced_schema(schema, target), schema, above | {target}, sizes
        )
    return -1 if sizes[target] < 0 else total + sizes[target]


def _referenced_schema(schema: JsonSchema, target: str) -> Any:
    """The part that a reference such as `#/$defs/Size` leads to; None for a dangling one."""
    node: Any = schema
    for step in target.lstrip("#").split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        node = node.get(name) if isinstance(node, Mapping) else None
    return node


# Rules for wording: words repeated to be found, and text that costs more tokens than it seems to.


def _wording_findings(texts: Sequence[capdisc_guard.CapabilityText]) -> Iterator[Finding]:
    """A finding for words repeated in what describes the capability, and one for the first text
    that is dense in tokens.
    """
    described = [text for text in texts if text.field.replace("_", "").lower() in _DESCRIBING]
    if stuffing := _stuffing_problem(described):
        yield described[0].finding("keyword-stuffing", *stuffing)
    for text in texts:
        if density := _token_density(text.value[:SAMPLE_CHARACTERS]):
            message = (
                f"{density:.1f} tokens a character: the text costs far more than its length shows"
            )
            yield text.finding("token-density", message, "write it in plain letters")
            return


def _stuffing_problem(texts: Sequence[capdisc_guard.CapabilityText]) -> tuple[str, str] | None:
    """The message and the hint; None for texts that repeat their words as usual."""
    words = [word.lower() for text in texts for word in simple_words(text.value) if len(word) > 2]
    counts = Counter(word for word in words if word not in STOP_WORDS)
    for word, times in counts.most_common(1):
        if times >= MAX_REPEATS and times >= MAX_SHARE * len(words):
            message = f"the word {word[:64]!r} is {times:,} of {len(words):,} words"
            return message, "say it once; a word counts no more for being repeated"
    repeated = [times for times in counts.values() if times >= OFTEN]
    if len(repeated) > 1 and sum(repeated) >= SHARE_TOGETHER * len(words):
        message = f"{len(repeated):,} words make up {sum(repeated):,} of the {len(words):,} by being repeated"
        return message, "say each once; a word counts no more for being repeated"
    return None


def _token_density(value: str) -> float:
    """The tokens per character of a text that is dense in them; 0 for any other text."""
    if (
        value.isascii()
        or len(value) < 64
        or len(value.encode("utf-8", "replace")) < DENSE_BYTES * len(value)
        or len(_RARE.findall(value)) * 2 < len(value)
    ):
        return 0.0
    density = load_counter()(value) / len(value)
    return density if density >= MAX_DENSITY else 0.0


# Guidance that prompts may show. A file with an error is left out, as a capability would be.


def load_guidance(files: Sequence[FileStat]) -> tuple[dict[str, Mapping[str, str]], list[Finding]]:
    """`{"category": …, "text": …}` of each category by its name in one case, and the findings. The
    first file of a category wins.
    """
    guidance: dict[str, Mapping[str, str]] = {}
    findings: list[Finding] = []
    for file in files:
        path = printable_path(file.path)
        data = read_bytes(file, LIMIT_BYTES)
        text = data if isinstance(data, Finding) else decode(data, path)
        if isinstance(text, Finding):
            findings.append(text)
            continue
        about_text = text_findings(text, path)
        findings += about_text
        if any(finding.code == HARD_CODED for finding in about_text):
            text = capdisc_guard.mask_keys(text)
        has_error = any(finding.severity is Severity.ERROR for finding in about_text)
        if text.strip() and not has_error:
            category = printable_path(category_of(file.path))
            guidance.setdefault(category.casefold(), {"category": category, "text": text})
    return guidance, findings


def text_findings(value: str, path: str) -> list[Finding]:
    """The first finding of each rule about a text that an agent reads."""
    text = capdisc_guard.CapabilityText(value=value, path=path, line=1)
    findings = list(capdisc_guard.find_risks([text], SILENCEABLE))
    return list({finding.code: finding for finding in reversed(findings)}.values())
