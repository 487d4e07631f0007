"""Findings without the keys that they quote: what is printed goes into logs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache

from capdisc_indexer.model.frozen import replace
from capdisc_indexer.model.types import Finding
from capdisc_indexer.validation.secret_keys import key_prefixes, mask_known_keys, may_quote_a_key
from capdisc_indexer.validation.source_lines import SourceLines


def redact_findings(findings: Iterable[Finding], source: SourceLines) -> Iterator[Finding]:
    """The findings with `[secret]` for keys in messages and hints, those that a message cuts short
    among them. A path stays whole, since programs open it.
    """
    redact = _make_redactor(source)
    return (
        replace(
            finding,
            message=redact(finding.message, finding.path),
            hint=redact(finding.hint, finding.path),
        )
        for finding in findings
    )


def _make_redactor(source: SourceLines) -> Callable[[str, str], str]:
    """What takes the keys out of a text about a file, which is only read where there may be
    any.
    """
    beginnings_of = cache(lambda path: key_prefixes(source.text(path)))
    return lambda text, path: (
        mask_known_keys(text, beginnings_of(path)) if may_quote_a_key(text) else text
    )
