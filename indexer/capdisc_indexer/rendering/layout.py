"""In which order the parts of a context are printed, and where the half ends that stays the same
from turn to turn.
"""

from __future__ import annotations

from collections.abc import Sequence

from capdisc_indexer.model.frozen import replace
from capdisc_indexer.model.types import Context, LayoutPiece
from capdisc_indexer.rendering.formats.format import APPENDED, MEMORY, RenderFormat

# How the overview says to find more, by the means that an agent has: a shell, or tools.
OVERVIEW_HINTS = {
    "cli": 'More: capdisc search "what you need", capdisc show ID',
    "tool": "More: call tool_search with what you need",
    "none": "",
}


def with_hint(form: RenderFormat, name: str) -> RenderFormat:
    """The format with this hint below its overview. Raises KeyError for an unknown name."""
    line = form.hint(OVERVIEW_HINTS[name]) if OVERVIEW_HINTS[name] else ""
    if form.has_closing_tags:
        return _with_ending(form, line + form.endings[0])
    # The ending of any other format names the commands in its own way already.
    return form if name == "cli" else _with_ending(form, line)


def _with_ending(form: RenderFormat, ending: str) -> RenderFormat:
    return replace(form, endings=(ending, *form.endings[1:]))


# How to find and use capabilities, for the placeholder $tools of a template.
DISCOVERY_INSTRUCTIONS = {
    "cli": '- capdisc search "what you need": the capabilities that fit\n'
    "- capdisc show ID: one of them in full\n"
    "- capdisc call TOOL JSON: ask about tables, APIs, documents, skills and facts",
    "tool": "- tool_search: the capabilities that fit a need\n"
    "- search_tool: one of them in full, by its exact name\n"
    "- execute_tool: call one of them",
    "none": "",
}


# The level that each part prints.
LAYOUT_PARTS = {"overview": 0, "append": APPENDED, "memory": MEMORY, "summaries": 1, "details": 2}
DEFAULT_LAYOUT = tuple(LayoutPiece(part=name, stable=name == "overview") for name in LAYOUT_PARTS)
# Between the two halves of a split. The first half holds no text of others that could imitate it.
SPLIT_MARKER = "=== capdisc: from here on it may change from turn to turn ===\n"
SPLIT_MODES = ("prefix", "suffix", "both")


def split_layout(
    layout: Sequence[LayoutPiece],
) -> tuple[tuple[LayoutPiece, ...], tuple[LayoutPiece, ...]]:
    """The pieces before the first that may change, and the rest."""
    stable_count = next((i for i, piece in enumerate(layout) if not piece.stable), len(layout))
    return tuple(layout[:stable_count]), tuple(layout[stable_count:])


def format_layout(form: RenderFormat, context: Context) -> str:
    """The printed pieces of the context, or of the half that its split names; "" where it has no
    block.
    """
    split_mode = context.printing.split
    if not split_mode:
        return format_full_text(form, context)
    before, after = format_halves(form, context)
    return {"prefix": before, "suffix": after}.get(split_mode, f"{before}{SPLIT_MARKER}{after}")


def format_halves(form: RenderFormat, context: Context) -> tuple[str, str]:
    """The half that stays the same from turn to turn, and the half that may change."""
    before, after = split_layout(context.printing.layout or DEFAULT_LAYOUT)
    return _format_pieces(form, context, before), _format_pieces(form, context, after)


def format_full_text(form: RenderFormat, context: Context) -> str:
    """The text of both halves in one."""
    return _format_pieces(form, context, context.printing.layout or DEFAULT_LAYOUT)


def _format_pieces(form: RenderFormat, context: Context, layout: Sequence[LayoutPiece]) -> str:
    text = "".join(_join_texts([_format_piece(form, context, piece) for piece in layout]))
    if text and not text.endswith("\n"):
        text += "\n"  # which would be printed anyway, and counts
    return f"{form.opening}{text}{form.closing}" if text or form.is_catalogue else ""


def _format_piece(form: RenderFormat, context: Context, piece: LayoutPiece) -> str:
    if not piece.part:
        return form.literal(piece.text)
    level = LAYOUT_PARTS[piece.part]
    tiers = [tier for tier in context.tiers if tier.blocks and tier.level == level]
    return "".join(
        _format_tier(form, tier.level, [block.text for block in tier.blocks]) for tier in tiers
    )


def _format_tier(form: RenderFormat, level: int, texts: Sequence[str]) -> str:
    return "".join([form.headings[level], *texts, form.endings[level]])


def _join_texts(texts: Sequence[str]) -> list[str]:
    """The texts without the line ends that are too many: a part ends with one, and so does its
    line in a template; an empty part leaves no blank line.
    """
    joined: list[str] = []
    for text in texts:
        trimmed = text
        if not joined:
            trimmed = text.lstrip("\n")
        elif joined[-1].endswith("\n"):
            trimmed = text.removeprefix("\n")
        if trimmed:
            joined.append(trimmed)
    return joined
