"""A long text within some tokens: whole, or cut at a border and marked."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from capdisc_indexer.render.format import CLIPPED, SHORTENED
from capdisc_indexer.text import one_line
from capdisc_indexer.tiers.material import Job
from capdisc_indexer.tokens import chunks
from capdisc_indexer.types import Block

# Below this a detail would show little more than its summary does.
WORTHWHILE = 40
# What a cut may give up to end before a heading, and to end a paragraph.
_SECTION_SHARE, _PARAGRAPH_SHARE = 1 / 3, 1 / 6
# A line that would leave so much of the room empty is cut itself.
_EMPTY_SHARE = 1 / 2


def framed(
    job: Job, identifier: str, text: str, room: int, lead: str = "", mark: str = CLIPPED
) -> tuple[Block | None, int]:
    """The text in its frame, after a line of ours, as far as it fits, and the tokens of the whole."""
    label = one_line(identifier, 100)
    start = [job.form.frame_open(label, text), *([job.form.chunk(f"{lead}\n")] if lead else [])]
    end = job.form.frame_close(label, text)
    return enclosed(job, identifier, (start, text, [end]), mark.format(id=identifier), room)


def enclosed(
    job: Job, identifier: str, parts: tuple[Sequence[str], str, Sequence[str]], mark: str, room: int
) -> tuple[Block | None, int]:
    """The same with what comes before and after it, piece by piece as it is printed."""
    count, chunk = job.counter.count, job.form.chunk
    start, text, end = parts
    frame = sum(map(count, (*start, *end)))
    pieces = chunks(text)
    whole = frame + sum(count(chunk(piece)) for piece in pieces)
    if whole <= room:
        return Block(id=identifier, text="".join([*start, *map(chunk, pieces), *end]), tokens=whole), whole
    kept = cut(pieces, room - frame - count(chunk(mark)), lambda piece: count(chunk(piece)))
    used = frame + count(chunk(mark)) + sum(count(chunk(piece)) for piece in kept)
    if not kept or used > room or used < min(WORTHWHILE, whole):
        return None, whole
    return Block(id=identifier, text="".join([*start, *map(chunk, kept), chunk(mark), *end]), tokens=used), whole


def shortened(text: str, room: int, count: Callable[[str], int]) -> str:
    """The text, which ends with a line end, or as much of it as fits with a mark; empty where not even that fits."""
    if count(text) <= room:
        return text
    kept = cut(chunks(text), room - count(SHORTENED), count)
    made = "".join([*kept, SHORTENED])
    return made if count(made) <= room else ""


def cut(pieces: Sequence[str], room: int, count: Callable[[str], int]) -> list[str]:
    """As many of the first pieces as have room, ending before a heading or with a paragraph where that costs little.
    A piece that would leave most of the room empty is cut at a word."""
    used = [0]
    for piece in pieces:
        if used[-1] + count(piece) > room:
            break
        used.append(used[-1] + count(piece))
    fitting = len(used) - 1
    if used[-1] < room * _EMPTY_SHARE and fitting < len(pieces):
        part = _part(pieces[fitting], room - used[-1], count)
        return [*pieces[:fitting], *([part] if part else [])]
    return list(pieces[: _border(pieces, used)])


def _border(pieces: Sequence[str], used: Sequence[int]) -> int:
    """How many pieces to keep so that the cut comes at a border."""
    fitting = len(used) - 1
    while fitting > 1 and pieces[fitting - 1].startswith("#"):  # a heading without what it is the heading of
        fitting -= 1
    for share, is_border in ((_SECTION_SHARE, _before_heading), (_PARAGRAPH_SHARE, _after_paragraph)):
        least = used[fitting] * (1 - share)
        kept = next((i for i in range(fitting, 0, -1) if used[i] >= least and is_border(pieces, i)), 0)
        if kept:
            return kept
    return fitting


def _before_heading(pieces: Sequence[str], i: int) -> bool:
    return i < len(pieces) and pieces[i].startswith("#")


def _after_paragraph(pieces: Sequence[str], i: int) -> bool:
    return pieces[i - 1].endswith("\n\n")


def _part(piece: str, room: int, count: Callable[[str], int]) -> str:
    """The longest beginning of the piece that fits, to the end of a word; empty when there is none."""
    low, high = 0, len(piece)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count(_ended(piece[:middle])) <= room else (low, middle - 1)
    head, blank, _ = piece[:low].rpartition(" ")
    kept = head if blank and len(head) > low // 2 else piece[:low]
    return _ended(kept) if kept.strip() and count(_ended(kept)) <= room else ""


def _ended(text: str) -> str:
    return f"{text.rstrip()}…\n"
