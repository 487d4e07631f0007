"""What a render format consists of, the marks that frame what others wrote, and the order in which
the parts of a context are printed.

Each piece of a format ends with a line end and starts with something that is neither blank nor a
slash. So no token spans two pieces: the tokens of a piece are counted once, at index time, and the
count of the printed text is the sum of its pieces.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from capdisc_indexer import lazy_imports
from capdisc_indexer.model.frozen import frozen, replace
from capdisc_indexer.model.types import Context, Descriptor, LayoutPiece

# The two levels besides the tiers: what a session remembers, and what the caller adds.
MEMORY, APPENDED = 3, 4
# Printed in place of the categories that an overview has no room for.
MORE_CATEGORIES = "+{count} more categories"
# Printed where the text of one or several sections is left out.
LEFT_OUT_MARK = "[…]\n"
# Printed below a text some of whose sections are left out; `show` prints them.
CLIPPED_MARK = "[what is left out: capdisc show {id} --section HEADING]\n"
# The same for a text that `show` cannot print.
SHORTENED_MARK = "[cut to fit the budget]\n"
# One guess in a text is right once in 10^12 times.
MARK_DIGITS = 12
# How the overview says to find more, by the means that an agent has: a shell, or tools.
OVERVIEW_HINTS = {
    "cli": 'More: capdisc search "what you need", capdisc show ID',
    "tool": "More: call tool_search with what you need",
    "none": "",
}
# The level that each part prints.
LAYOUT_PARTS = {"overview": 0, "append": APPENDED, "memory": MEMORY, "summaries": 1, "details": 2}
DEFAULT_LAYOUT = tuple(LayoutPiece(part=name, stable=name == "overview") for name in LAYOUT_PARTS)
# Between the two halves of a split. The first half holds no text of others that could imitate it.
SPLIT_MARKER = "=== capdisc: from here on it may change from turn to turn ===\n"
SPLIT_MODES = ("prefix", "suffix", "both")


@frozen(kw_only=True)
class RenderFormat:
    """The pieces of one format, and what it needs of the rest.

    `levels` are the tiers that it prints; `headings` and `endings` are by level, `opening` and
    `closing` enclose all of them. Texts of others stand between `frame_open` and `frame_close`,
    which are called with the label and the text between them, and pass through `chunk`; texts of
    a template pass through `literal`. `summary` is called with the line and the path of the file,
    and `location` with the path: one of the two prints it. `format_context` puts the whole context
    together.

    - `additive`: the printed text is exactly its pieces, so that no final count is needed.
    - `is_counted_ahead`: the index stores the token counts of the pieces. Setting it for another
      format changes what an index holds.
    - `counted_as`: the name of the format whose stored counts are those of its lines and frames;
      "" where no format has the same.
    - `has_closing_tags`: an ending closes what its heading opened, so that a hint goes before it.
    - `is_always_split`: the half that stays the same from turn to turn is printed apart, so that
      its tiers are needed without a query, too.
    - `needs_facts`: prints what is known of the query and of each result; without it, diagnostics
      go to stderr.
    - `needs_request`: repeats the user's request, which counts against the budget.
    - `is_fixed_form`: another program defines the form, which has no place for a template, a
      session or other texts.
    - `suits`: whether the format can print a capability of this kind.
    """

    name: str
    levels: tuple[int, ...]
    opening: str
    closing: str
    headings: tuple[str, str, str, str, str]
    endings: tuple[str, str, str, str, str]
    category: Callable[[str], str]
    summary: Callable[[Descriptor, str, str], str]
    frame_open: Callable[[str, str], str]
    chunk: Callable[[str], str]
    frame_close: Callable[[str, str], str]
    format_context: Callable[[RenderFormat, Context], str]
    hint: Callable[[str], str]
    location: Callable[[str], str] = lambda path: ""
    literal: Callable[[str], str] = lambda text: text
    additive: bool = True
    is_counted_ahead: bool = False
    counted_as: str = ""
    has_closing_tags: bool = False
    is_always_split: bool = False
    needs_facts: bool = False
    needs_request: bool = False
    is_fixed_form: bool = False
    suits: Callable[[str], bool] = lambda kind: True

    @property
    def is_catalogue(self) -> bool:
        """Whether the format has tier 1 alone: a list of capabilities without any text in full."""
        return self.levels == (1,)


@lru_cache(maxsize=1)  # the end of a frame has the mark of its beginning
def frame_mark(text: str, key: bytes = b"") -> str:
    """The twelve digits that mark the frame of a text: not in the text, and the same each time.
    Nobody without the key, of at most 64 bytes, can compute them: keyed BLAKE2 is a message
    authentication code by itself (RFC 7693).

    Digits, since o200k_base cuts them into threes of one token each (measured: all 1,000): every
    mark counts alike, so that an index holds the counts of frames whose marks it cannot know.
    """
    blake2b = lazy_imports.blake2b()
    digest = blake2b(text.encode("utf-8", "replace"), key=key, digest_size=16).digest()
    while (mark := f"{int.from_bytes(digest) % 10**MARK_DIGITS:0{MARK_DIGITS}d}") in text:
        digest = blake2b(digest, key=key, digest_size=16).digest()
    return mark


# The layout: which part comes where, and where the half ends that stays the same from turn to turn.


def with_hint(form: RenderFormat, name: str) -> RenderFormat:
    """The format with this hint below its overview. Raises KeyError for an unknown name."""
    line = form.hint(OVERVIEW_HINTS[name]) if OVERVIEW_HINTS[name] else ""
    if form.has_closing_tags:
        return _with_ending(form, line + form.endings[0])
    # The ending of any other format names the commands in its own way already.
    return form if name == "cli" else _with_ending(form, line)


def _with_ending(form: RenderFormat, ending: str) -> RenderFormat:
    return replace(form, endings=(ending, *form.endings[1:]))


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
