"""Findings without the keys that they quote: what is printed goes into logs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache

from capdisc_indexer.check.secret_keys import beginnings, may_quote_a_key, without_keys
from capdisc_indexer.check.sourcetext import SourceText
from capdisc_indexer.frozen import replace
from capdisc_indexer.types import Finding


def keyless(findings: Iterable[Finding], source: SourceText) -> Iterator[Finding]:
    """The findings with `[secret]` for keys in messages and hints, those that a message cuts short among them. A path
    stays whole, since programs open it."""
    told = _teller(source)
    return (replace(one, message=told(one.message, one.path), hint=told(one.hint, one.path)) for one in findings)


def _teller(source: SourceText) -> Callable[[str, str], str]:
    """What takes the keys out of a text about a file, which is only read where there may be any."""
    known = cache(lambda path: beginnings(source.text(path)))
    return lambda text, path: without_keys(text, known(path)) if may_quote_a_key(text) else text
