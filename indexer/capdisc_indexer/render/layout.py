"""In which order the parts of a context are printed, and where what stays the same from turn to turn ends."""

from __future__ import annotations

from collections.abc import Sequence

from capdisc_indexer.render.format import ADDED, MEMORY, Format
from capdisc_indexer.types import Context, Piece

# The parts by name, with the level that each prints.
PARTS = {"overview": 0, "append": ADDED, "memory": MEMORY, "summaries": 1, "details": 2}
USUAL = tuple(Piece(part=name, stable=name == "overview") for name in PARTS)
# Between the two halves of a split; the first one holds nothing that could imitate it.
BORDER = "=== capdisc: from here on it may change from turn to turn ===\n"
SPLITS = ("prefix", "suffix", "both")


def halves(layout: Sequence[Piece]) -> tuple[tuple[Piece, ...], tuple[Piece, ...]]:
    """The pieces up to the first that may change, and the rest."""
    kept = next((i for i, piece in enumerate(layout) if not piece.stable), len(layout))
    return tuple(layout[:kept]), tuple(layout[kept:])


def concatenated(form: Format, context: Context) -> str:
    """The pieces one after the other, or the half that is asked for; nothing at all when there is no block."""
    wanted = context.printing.split
    if not wanted:
        return whole(form, context)
    before, after = split(form, context)
    return {"prefix": before, "suffix": after}.get(wanted, f"{before}{BORDER}{after}")


def split(form: Format, context: Context) -> tuple[str, str]:
    """What stays the same from turn to turn, and what may change."""
    before, after = halves(context.printing.layout or USUAL)
    return _enclosed(form, context, before), _enclosed(form, context, after)


def whole(form: Format, context: Context) -> str:
    """The text in one."""
    return _enclosed(form, context, context.printing.layout or USUAL)


def _enclosed(form: Format, context: Context, layout: Sequence[Piece]) -> str:
    text = "".join(_joined([_text(form, context, piece) for piece in layout]))
    text += "" if text.endswith("\n") or not text else "\n"  # which would be printed anyway, and counts
    return f"{form.opening}{text}{form.closing}" if text or form.levels == (1,) else ""


def _text(form: Format, context: Context, piece: Piece) -> str:
    if not piece.part:
        return form.literal(piece.text)
    level = PARTS[piece.part]
    tiers = [tier for tier in context.tiers if tier.blocks and tier.level == level]
    return "".join(_tier(form, tier.level, [block.text for block in tier.blocks]) for tier in tiers)


def _tier(form: Format, level: int, texts: Sequence[str]) -> str:
    return "".join([form.headings[level], *texts, form.endings[level]])


def _joined(texts: Sequence[str]) -> list[str]:
    """The texts; a part that has a line of its own in a template gives its line end to it, and its line when empty."""
    made: list[str] = []
    for text in texts:
        kept = text.lstrip("\n") if not made else text.removeprefix("\n") if made[-1].endswith("\n") else text
        made += [kept] if kept else []
    return made
