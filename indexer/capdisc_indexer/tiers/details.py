"""Tier 2: the best ones in full, after what is to be known of their categories."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from capdisc_indexer.frozen import replace
from capdisc_indexer.render.content import detail_text, guidance_id, guidance_text
from capdisc_indexer.render.format import SHORTENED
from capdisc_indexer.tiers.fitting import WORTHWHILE, framed
from capdisc_indexer.tiers.material import Guidance, Job
from capdisc_indexer.tiers.summaries import lines
from capdisc_indexer.types import Block, Descriptor, Dropped, Tier

# What guidance may take of the room while capabilities want it, too.
_GUIDANCE_SHARE = 1 / 3
# Of many capabilities, a line each says more than so little of each.
_LEAST_SHARE = 3 * WORTHWHILE


def details(job: Job, room: int) -> Tier:
    """The capabilities in order; what is too long is cut and marked, and the next is still tried."""
    first = {d.id: d for d in (*job.material.pinned, *islice(job.material.descriptors, job.material.details))}
    wanted = list(first.values())
    blocks, dropped = _guidance(job, wanted, room)
    room -= sum(block.tokens for block in blocks)
    if job.material.evenly:
        every = _evenly(job, wanted, room)
        return _tier([*blocks, *every.blocks], [*dropped, *every.dropped])
    for d in _said_once(wanted):
        block, whole = detail(job, d, room)
        room -= block.tokens if block else 0
        blocks += [block] if block else []
        dropped += _short(d.id, block, whole)
    return _tier(blocks, dropped)


def detail(job: Job, d: Descriptor, room: int) -> tuple[Block | None, int]:
    """One capability as far as it fits, and the tokens of the whole."""
    return framed(job, d.id, detail_text(d), room, job.material.note(d))


def _tier(blocks: Sequence[Block], dropped: Sequence[Dropped]) -> Tier:
    return Tier(level=2, blocks=tuple(blocks), tokens=sum(block.tokens for block in blocks), dropped=tuple(dropped))


def _short(identifier: str, block: Block | None, whole: int) -> list[Dropped]:
    if block is not None and block.tokens == whole:
        return []
    return [Dropped(id=identifier, tier=2, tokens=whole, clipped=block is not None)]


def _said_once(wanted: Iterable[Descriptor]) -> Iterable[Descriptor]:
    """The capabilities, guidance that one before has word for word left out."""
    said: set[str] = set()
    for d in wanted:
        yield replace(d, guidance="") if d.guidance.strip() in said else d
        said |= {d.guidance.strip()} - {""}


def _guidance(job: Job, wanted: Sequence[Descriptor], room: int) -> tuple[list[Block], list[Dropped]]:
    """What is to be known of the categories of these, each once."""
    blocks: list[Block] = []
    dropped: list[Dropped] = []
    room = int(room * _GUIDANCE_SHARE)
    for one in _categories(job, wanted):
        identifier = guidance_id(one.category)
        block, whole = framed(job, identifier, guidance_text(one.text), room, mark=SHORTENED)
        room -= block.tokens if block else 0
        blocks += [block] if block else []
        dropped += _short(identifier, block, whole)
    return blocks, dropped


def _categories(job: Job, wanted: Sequence[Descriptor]) -> list[Guidance]:
    known = job.material.guidance
    return [known[name] for name in dict.fromkeys(d.category.casefold() for d in wanted) if name in known]


def _evenly(job: Job, wanted: Sequence[Descriptor], room: int) -> Tier:
    """Each of many in full while all fit, else with an even share; a line each where a share would hold too little."""
    wholes = [_whole(job, d) for d in wanted]
    share = _share(wholes, min(room, job.material.each or room), room)
    if share < min(max(wholes, default=0), _LEAST_SHARE):
        return _as_lines(job, wanted, wholes, room)
    made = [(d.id, *detail(job, d, share)) for d in wanted]
    blocks = [block for _, block, _ in made if block]
    return _tier(blocks, [one for identifier, block, whole in made for one in _short(identifier, block, whole)])


def _whole(job: Job, d: Descriptor) -> int:
    """The tokens of a capability in full, counted once."""
    if d.id not in job.wholes:
        job.wholes[d.id] = detail(job, d, -1)[1]
    return job.wholes[d.id]


def _as_lines(job: Job, wanted: Sequence[Descriptor], wholes: Sequence[int], room: int) -> Tier:
    blocks = lines(job, wanted, room, 2).blocks
    shown = {block.id for block in blocks}
    pairs = zip(wanted, wholes, strict=True)
    return _tier(blocks, [Dropped(id=d.id, tier=2, tokens=whole, clipped=d.id in shown) for d, whole in pairs])


def _share(wholes: Sequence[int], most: int, room: int) -> int:
    """The largest share, up to `most`, at which all of them together have room."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if sum(min(each, middle) for each in wholes) <= room else (low, middle - 1)
    return low
