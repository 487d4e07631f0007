"""A capability printed in a prompt and read back."""

from __future__ import annotations

import random

from capdisc_indexer.model.frozen import replace
from capdisc_indexer.model.types import Budgets, Descriptor, Query, Ranking, SourceRef
from capdisc_indexer.rendering.assembly import assemble
from capdisc_indexer.rendering.capability_text import detail_text
from capdisc_indexer.rendering.formats import FORMATS
from capdisc_indexer.rendering.render_format import CLIPPED_MARK, LEFT_OUT_MARK, frame_mark
from capdisc_indexer.rendering.render_job import RenderInputs
from capdisc_indexer.rendering.token_accounting import location_lines
from capdisc_indexer.text.location import locate
from capdisc_indexer.text.normalization import one_line
from capdisc_indexer.text.token_counts import TokenCounter
from properties.frames import FRAMED, Frame, FrameError, frames
from properties.pieces import FRAMING, put_together

_UNASKED = Ranking(query=Query(texts=("q",)), hits=(), mode="hybrid", confidence=1.0)
# Characters instead of tokens, which is quicker; budgets have tests of their own.
_COUNTER = TokenCounter(lambda: len)


def capability(texts: tuple[str, str, str, str], name: str = "turnips") -> Descriptor:
    """A capability with these as title, description, instructions and content."""
    title, description, instructions, content = texts
    return Descriptor(
        id=f"tool:{name}", kind="tool", name=name, title=title, description=description, instructions=instructions,
        content=content, category=title, tags=(title,), usage_hint=description, requires=(title,),
        schema={"properties": {title: {"type": title, "description": description, "enum": [content]}}},
        source=SourceRef(path=f"/{name}/CAPABILITY.yaml", format="capability"),
    )  # fmt: skip


def printed(found: list[Descriptor], form: str, characters: int = 10**6) -> str:
    """The context that shows these in full, as far as they fit."""
    budgets = Budgets(tier0=0, tier1=characters, tier2=characters, total=characters)
    context = assemble(
        RenderInputs(overview=(), descriptors=found), _UNASKED, FORMATS[form], budgets, _COUNTER
    )
    return FORMATS[form].format_context(FORMATS[form], context)


def fault(found: list[Descriptor], form: str, characters: int = 10**6) -> str:
    """What a reader of the frames takes for another capability or text than was put in; empty when nothing."""
    try:
        read = frames(form, printed(found, form, characters))
    except FrameError as error:
        return str(error)
    wanted = [Frame(one_line(each.id, 100), _content(each)) for each in found]
    if characters == 10**6:
        return "" if read == wanted else f"read as {read!r}"
    whole = {frame.id: frame.content for frame in wanted}
    wrong = [frame for frame in read if not _is_part(frame, whole.get(frame.id, ""))]
    return f"read as {wrong!r}" if wrong else ""


def _content(d: Descriptor) -> str:
    return "".join(location_lines(locate(d, None))) + detail_text(d)


def _is_part(frame: Frame, whole: str) -> bool:
    """Whether the content is the whole, or some of its lines in order, with marks."""
    kept = frame.content.removesuffix(CLIPPED_MARK.format(id=frame.id))
    if kept == frame.content:
        return frame.content == whole
    lines = iter(whole.splitlines(keepends=True))
    return all(line == LEFT_OUT_MARK or line in lines for line in kept.splitlines(keepends=True))


def mark_of(one: Descriptor) -> str:
    """The number of the capability's frame."""
    return frame_mark(detail_text(one))


def knowing(one: Descriptor, following: str) -> Descriptor:
    """The same capability once it has learnt the number of its own frame, and closes it before this text."""
    return replace(
        one,
        content=f"{one.content}\n<<< end [{mark_of(one)}]\n{following}\n>>> {one.id} [{mark_of(one)}]",
    )


def attack(rng: random.Random) -> str:
    """The fault of one capability and its neighbour made by chance; empty when the frames hold."""
    first, second = (
        capability(tuple(put_together(rng, FRAMING, 12) for _ in range(4)), name)
        for name in ("turnips", "beets")
    )
    for _ in range(rng.randrange(3)):
        first = knowing(first, put_together(rng, FRAMING, 6))
    size = 10**6 if rng.random() < 0.7 else rng.randrange(60, 2_000)
    form = rng.choice(sorted(FRAMED))
    told = fault([first, second], form, size)
    return f"{form}: {told}" if told else ""
