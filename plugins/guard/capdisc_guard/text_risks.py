"""Finds what the texts of a capability hide, pose as, order or run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set

from capdisc_guard.hidden_text import hidden_text_findings
from capdisc_guard.injection_phrases import injection_findings
from capdisc_guard.markup import markup_findings
from capdisc_guard.payloads import payload_findings
from capdisc_guard.placed_text import CapabilityText, is_plain_word
from capdisc_indexer.model.types import Finding


def find_risks(
    texts: Sequence[CapabilityText], silenceable: Set[str] = frozenset()
) -> Iterator[Finding]:
    """Findings about the texts of one capability: hidden characters, text that poses as a frame or
    hides in comments, payloads, keys, orders to the model. Of each rule, one for each field and
    one for each body. `silenceable` are the codes that a comment `capdisc: ignore=CODE` may name
    without a finding.
    """
    reported: set[tuple[str, str]] = set()
    for text in texts:
        if is_plain_word(text.value):
            continue
        for finding in (
            *hidden_text_findings(text),
            *markup_findings(text, silenceable),
            *payload_findings(text),
        ):
            place = (finding.code, text.field or f"{text.path}:{text.line}")
            if place not in reported:
                reported.add(place)
                yield finding
    yield from injection_findings(texts)
