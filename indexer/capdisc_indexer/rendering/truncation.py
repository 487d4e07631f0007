"""Fits a long text into some tokens: whole, or cut where a section or a paragraph ends, with a
mark.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from capdisc_indexer.model.types import Block
from capdisc_indexer.rendering.render_format import SHORTENED_MARK
from capdisc_indexer.rendering.render_job import RenderJob
from capdisc_indexer.text.normalization import one_line
from capdisc_indexer.text.token_counts import split_chunks

# A detail of fewer tokens would show little more than its summary does.
MIN_DETAIL_TOKENS = 40
# How much of what fits a cut may give up to end before a heading, or with a paragraph.
_SECTION_SHARE, _PARAGRAPH_SHARE = 1 / 3, 1 / 6
# Where leaving out a line would leave so much of the tokens unused, the line itself is cut.
_EMPTY_SHARE = 1 / 2


def frame_text(
    job: RenderJob, identifier: str, text: str, tokens_left: int
) -> tuple[Block | None, int]:
    """The text in its frame, cut to fit (None: not even a part fits), and the tokens that it has
    in full.
    """
    label = one_line(identifier, 100)
    start, end = job.form.frame_open(label, text), job.form.frame_close(label, text)
    return enclose_text(job, identifier, ([start], text, [end]), tokens_left)


def enclose_text(
    job: RenderJob,
    identifier: str,
    parts: tuple[Sequence[str], str, Sequence[str]],
    tokens_left: int,
) -> tuple[Block | None, int]:
    """The same for `parts`: the printed pieces before the text, the text, the pieces after it."""
    chunk = job.form.chunk
    start, text, end = parts
    pieces = split_chunks(text)

    def count(piece: str) -> int:
        return job.counter.count(chunk(piece))

    def enclose(kept: Sequence[str], tokens: int) -> Block:
        return Block(id=identifier, text="".join([*start, *map(chunk, kept), *end]), tokens=tokens)

    frame = sum(map(job.counter.count, (*start, *end)))
    full_tokens = frame + sum(map(count, pieces))
    if full_tokens <= tokens_left:
        return enclose(pieces, full_tokens), full_tokens
    fitting = cut_pieces(pieces, tokens_left - frame - count(SHORTENED_MARK), count)
    shortened = [*fitting, SHORTENED_MARK]
    used_tokens = frame + sum(map(count, shortened))
    if not fitting or not min(MIN_DETAIL_TOKENS, full_tokens) <= used_tokens <= tokens_left:
        return None, full_tokens
    return enclose(shortened, used_tokens), full_tokens


def shorten_text(text: str, tokens_left: int, count: Callable[[str], int]) -> str:
    """The text, which ends with a line end, or as much of it as fits with a mark; "" where not
    even the mark fits.
    """
    if count(text) <= tokens_left:
        return text
    fitting = cut_pieces(split_chunks(text), tokens_left - count(SHORTENED_MARK), count)
    shorter = "".join([*fitting, SHORTENED_MARK])
    return shorter if count(shorter) <= tokens_left else ""


def cut_pieces(pieces: Sequence[str], tokens_left: int, count: Callable[[str], int]) -> list[str]:
    """As many of the first pieces as fit, ending before a heading or with a paragraph where that
    costs little. A piece that is longer than what is left is cut at a word where leaving it out
    would waste most of the tokens.
    """
    running_totals = [0]
    for piece in pieces:
        if running_totals[-1] + count(piece) > tokens_left:
            break
        running_totals.append(running_totals[-1] + count(piece))
    fitting = len(running_totals) - 1
    if running_totals[-1] < tokens_left * _EMPTY_SHARE and fitting < len(pieces):
        part = _cut_piece(pieces[fitting], tokens_left - running_totals[-1], count)
        return [*pieces[:fitting], *([part] if part else [])]
    return list(pieces[: _find_border(pieces, running_totals)])


def _find_border(pieces: Sequence[str], running_totals: Sequence[int]) -> int:
    """How many pieces to keep so that the cut comes at a border."""
    fitting = len(running_totals) - 1
    while fitting > 1 and pieces[fitting - 1].startswith("#"):  # a heading without its section
        fitting -= 1
    places = range(1, min(fitting + 1, len(pieces)))
    headings = [place for place in places if pieces[place].startswith("#")]
    paragraphs = [place for place in range(1, fitting + 1) if pieces[place - 1].endswith("\n\n")]
    for share, borders in ((_SECTION_SHARE, headings), (_PARAGRAPH_SHARE, paragraphs)):
        min_tokens = running_totals[fitting] * (1 - share)
        if borders and running_totals[borders[-1]] >= min_tokens:
            return borders[-1]
    return fitting


def _cut_piece(piece: str, tokens_left: int, count: Callable[[str], int]) -> str:
    """The longest beginning of the piece that fits, up to the end of a word; "" when none does."""
    low, high = 0, len(piece)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (
            (middle, high)
            if count(_add_ellipsis(piece[:middle])) <= tokens_left
            else (low, middle - 1)
        )
    beginning, blank, _ = piece[:low].rpartition(" ")
    fitting = beginning if blank and len(beginning) > low // 2 else piece[:low]
    return (
        _add_ellipsis(fitting)
        if fitting.strip() and count(_add_ellipsis(fitting)) <= tokens_left
        else ""
    )


def _add_ellipsis(text: str) -> str:
    return f"{text.rstrip()}…\n"
