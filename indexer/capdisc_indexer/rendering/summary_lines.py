"""A capability on one line: in full, then shorter and shorter."""

from __future__ import annotations

from collections.abc import Sequence

from capdisc_indexer.model.frozen import replace
from capdisc_indexer.model.types import Descriptor
from capdisc_indexer.text.normalization import one_line

DESCRIPTION_CHARACTERS = 240
SHOWN_PARAMETERS = 3
# What a description keeps where the line is too long; after that, the id stands alone.
SHORTER_LENGTHS = (120, 50)
_ID_CHARACTERS = 100


def summary_line(descriptor: Descriptor, note: str = "", hint: bool = False) -> str:
    """The capability in one sentence or two: id, description, first parameters, what it requires;
    `note` comes last.

    No field can break the line, and none is longer than its share.
    """
    d = descriptor
    parts = [f"{_short_id(d)}: {_end_sentence(one_line(d.description, DESCRIPTION_CHARACTERS))}"]
    if d.parameters and d.kind != "table":  # whose description names its columns
        names = [one_line(p.name, 40) for p in d.parameters[:SHOWN_PARAMETERS]]
        parts.append(
            f"Params: {', '.join(names)}{', …' if len(d.parameters) > SHOWN_PARAMETERS else ''}."
        )
    if d.requires:
        parts.append(f"Requires: {', '.join(one_line(name, 60) for name in d.requires[:5])}.")
    if hint and d.usage_hint:
        parts.append(f"Hint: {_end_sentence(one_line(d.usage_hint, SHORTER_LENGTHS[0]))}")
    return _append_notes(" ".join(parts), d, note)


def shorter_lines(descriptor: Descriptor, note: str = "") -> list[str]:
    """The same with less and less of its description, at last the id alone. What warns stays as
    long as it can.
    """
    d = descriptor
    lines = [
        f"{_short_id(d)}: {_end_sentence(one_line(d.description, limit))}"
        for limit in SHORTER_LENGTHS
    ]
    return [*(_append_notes(line, d, note) for line in lines), _short_id(d)]


def shorter_descriptions(descriptor: Descriptor) -> Sequence[Descriptor]:
    """The capability with shorter descriptions, for a form that has no line."""
    return [
        replace(descriptor, description=one_line(descriptor.description, limit))
        for limit in SHORTER_LENGTHS
    ]


def name_line(descriptor: Descriptor) -> str:
    """The id alone."""
    return _short_id(descriptor)


def missing_note(names: Sequence[str]) -> str:
    """What is said of a capability that lacks secrets or programs here."""
    return f"[missing: {', '.join(one_line(name, 60) for name in names)}]" if names else ""


def _short_id(descriptor: Descriptor) -> str:
    return one_line(descriptor.id, _ID_CHARACTERS)


def _append_notes(line: str, d: Descriptor, note: str) -> str:
    return " ".join(part for part in (line, "Ask before use." if d.confirm else "", note) if part)


def _end_sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?", "…", "。")) else f"{text}."
