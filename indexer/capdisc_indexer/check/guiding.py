"""The guidance that prompts may show: what hides, breaks out or would run is left out, as it is of a capability."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from capdisc_indexer.check.hidden import hidden
from capdisc_indexer.check.markup import markup
from capdisc_indexer.check.payloads import payloads
from capdisc_indexer.check.phrases import phrases
from capdisc_indexer.check.secret_keys import masked
from capdisc_indexer.check.texts import Text
from capdisc_indexer.sources.decoding import decode
from capdisc_indexer.sources.file_bytes import read_bytes
from capdisc_indexer.sources.files import FileStat, printable
from capdisc_indexer.sources.guidance import LIMIT_BYTES, category_of
from capdisc_indexer.types import Finding, Severity


def guided(files: Sequence[FileStat]) -> tuple[dict[str, Mapping[str, str]], list[Finding]]:
    """The category as its file names it with its text, by the category in one case, and what is wrong. The first file
    of a category wins."""
    found: dict[str, Mapping[str, str]] = {}
    findings: list[Finding] = []
    for file in files:
        text = _read(file)
        problems = [text] if isinstance(text, Finding) else _wrong(text, printable(file.path))
        findings += problems
        if isinstance(text, str) and any(one.code == "hard-coded-secret" for one in problems):
            text = masked(text)
        if isinstance(text, str) and text.strip() and not any(one.severity is Severity.ERROR for one in problems):
            category = printable(category_of(file.path))
            found.setdefault(category.casefold(), {"category": category, "text": text})
    return found, findings


def _read(file: FileStat) -> str | Finding:
    data = read_bytes(file, LIMIT_BYTES)
    return data if isinstance(data, Finding) else decode(data, printable(file.path))


def _wrong(value: str, path: str) -> list[Finding]:
    text = Text(value=value, path=path, line=1)
    found = (*hidden(text), *markup(text), *payloads(text), *phrases([text]))
    return list({finding.code: finding for finding in reversed(found)}.values())
