"""The guidance that prompts may show: what hides, breaks out or would run is left out, as it is of
a capability.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from capdisc_indexer.model.types import Finding, Severity
from capdisc_indexer.sources.readers.file_bytes import read_bytes
from capdisc_indexer.sources.readers.text_decoding import decode
from capdisc_indexer.sources.scan.guidance_files import LIMIT_BYTES, category_of
from capdisc_indexer.sources.scan.scanned_files import FileStat, printable_path
from capdisc_indexer.validation.capability_strings import CapabilityText
from capdisc_indexer.validation.hidden_text import hidden_text_findings
from capdisc_indexer.validation.injection_phrases import injection_findings
from capdisc_indexer.validation.markup_rules import markup_findings
from capdisc_indexer.validation.payloads import payload_findings
from capdisc_indexer.validation.secret_keys import mask_keys


def load_guidance(files: Sequence[FileStat]) -> tuple[dict[str, Mapping[str, str]], list[Finding]]:
    """The category as its file names it with its text, by the category in one case, and what is
    wrong. The first file of a category wins.
    """
    guidance: dict[str, Mapping[str, str]] = {}
    findings: list[Finding] = []
    for file in files:
        text = _read(file)
        problems = [text] if isinstance(text, Finding) else _wrong(text, printable_path(file.path))
        findings += problems
        if isinstance(text, str) and any(
            problem.code == "hard-coded-secret" for problem in problems
        ):
            text = mask_keys(text)
        if (
            isinstance(text, str)
            and text.strip()
            and not any(one.severity is Severity.ERROR for one in problems)
        ):
            category = printable_path(category_of(file.path))
            guidance.setdefault(category.casefold(), {"category": category, "text": text})
    return guidance, findings


def _read(file: FileStat) -> str | Finding:
    data = read_bytes(file, LIMIT_BYTES)
    return data if isinstance(data, Finding) else decode(data, printable_path(file.path))


def _wrong(value: str, path: str) -> list[Finding]:
    text = CapabilityText(value=value, path=path, line=1)
    problems = (
        *hidden_text_findings(text),
        *markup_findings(text),
        *payload_findings(text),
        *injection_findings([text]),
    )
    return list({finding.code: finding for finding in reversed(problems)}.values())
