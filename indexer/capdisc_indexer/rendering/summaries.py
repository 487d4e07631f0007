"""Builds tier 1: a line for each of the first hits. As many hits as fit get a short line; what is
left makes lines longer, from the first on.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain, islice

from capdisc_indexer.model.frozen import frozen, replace
from capdisc_indexer.model.types import Block, Descriptor, DroppedBlock, Tier
from capdisc_indexer.rendering.capability_text import (
    name_line,
    pointer_line,
    shorter_descriptions,
    shorter_lines,
    shortest_line,
    summary_line,
)
from capdisc_indexer.rendering.render_job import Descriptors, RenderJob, make_tier, share_for_lines
from capdisc_indexer.text.location import find_common_rules, location_rule

# After this many lines in a row that do not fit, no more are tried. Without a limit, a shorter
# line for the last tokens of a budget was looked for in all of 80,000 capabilities, and one of
# hits named the seventeenth in place of the first.
_MAX_MISSES_OF_HITS, _MAX_MISSES = 3, 200
# Before hits with less than this share of the best score get a line, this many of the first get a
# longer one. It costs 0.1 of 82 points of what 150 tokens tell, and reads better.
_NEAR_SHARE, _LONGER_LINES = 0.5, 3
# Where the paths follow from the ids is looked for in this many of the first capabilities.
_RULED_LINES = 100


def build_summaries(job: RenderJob, tokens_left: int) -> Tier:
    """Tier 1 of at most `tokens_left` tokens. Of hits those that do not fit are counted, not
    named: in JSON their names would cost as many tokens as the lines. A short line is not reported
    as a loss.
    """
    descriptors = _select_descriptors(job)
    tokens_left = min(tokens_left, _tokens_beside_details(job))
    tier = fit_lines(job, descriptors, tokens_left, 1)
    if job.inputs.summaries is None:
        return tier
    left_out = sum(not block.clipped for block in tier.dropped)
    return replace(tier, dropped=(), omitted=tier.omitted + left_out)


def _tokens_beside_details(job: RenderJob) -> int:
    """The most tokens of the lines as long as the details have not taken theirs."""
    if job.in_full is not None or not _has_details(job) or job.inputs.summaries is None:
        return job.budgets.total
    return share_for_lines(job.budgets.total)


def _has_details(job: RenderJob) -> bool:
    return 2 in job.inputs.levels and 2 in job.form.levels


def _select_descriptors(job: RenderJob) -> Descriptors:
    """The pinned capabilities, then the first hits, or all of them, each once."""
    pinned = [d for d in job.inputs.pinned_summaries if job.form.suits(d.kind)]
    if job.inputs.summaries is None:
        return _ChainedDescriptors(pinned, job.inputs.descriptors)
    suitable = (d for d in job.inputs.descriptors if job.form.suits(d.kind))
    return list({d.id: d for d in (*pinned, *islice(suitable, job.inputs.summaries))}.values())


class _ChainedDescriptors:
    """A few capabilities, then many that need not be in memory."""

    def __init__(self, pinned: Sequence[Descriptor], hits: Descriptors) -> None:
        self._pinned, self._hits = pinned, hits

    def __iter__(self) -> Iterator[Descriptor]:
        return chain(self._pinned, self._hits)

    def __len__(self) -> int:
        return len(self._pinned) + len(self._hits)


def fit_lines(job: RenderJob, descriptors: Descriptors, tokens_left: int, level: int) -> Tier:
    """A tier of lines for these capabilities, of at most `tokens_left` tokens; `dropped` names
    what was shortened or left out for it.

    In a listing a line may be the id alone; of hits only that of the first one, where no line
    fits. Before the text of the best hits is chosen, only hits near the best one have long lines.
    """
    if level not in job.rules:
        job.rules[level] = _find_rules(job, descriptors)
    rules = job.rules[level]
    is_listing = level != 1 or job.inputs.summaries is None
    is_before_details = not is_listing and job.in_full is None and _has_details(job)
    if not is_before_details:
        full = _choose_lines(job, descriptors, tokens_left, rules, is_listing, is_longest=True)
        if not full.left_out:
            return make_tier(level, [lines[-1] for lines in full.lines], [])
    short = _choose_lines(job, descriptors, tokens_left, rules, is_listing)
    if not (short.lines or is_listing):
        first = list(islice(descriptors, 1))
        short = _choose_lines(job, first, tokens_left, rules, is_listing=True)
    long_ids = _find_near_ids(job) if is_before_details else None
    blocks = _lengthen_lines(short.lines, tokens_left, long_ids)
    dropped = [
        DroppedBlock(id=lines[-1].id, tier=level, tokens=lines[-1].tokens, clipped=True)
        for lines, block in zip(short.lines, blocks, strict=True)
        if block.tokens < lines[-1].tokens
    ]
    dropped += [
        DroppedBlock(id=block.id, tier=level, tokens=block.tokens) for block in short.left_out
    ]
    omitted = len(descriptors) - len(short.lines) - len(short.left_out)
    return make_tier(level, blocks, dropped, omitted)


@frozen
class _ChosenLines:
    """For each capability that has a line those that it may have, short ones first, and the
    longest lines of those that were tried and have none.
    """

    lines: Sequence[Sequence[Block]]
    left_out: Sequence[Block]


def _choose_lines(
    job: RenderJob,
    descriptors: Descriptors,
    tokens_left: int,
    rules: Mapping[str, str],
    is_listing: bool,
    *,
    is_longest: bool = False,
) -> _ChosenLines:
    """The capabilities whose shortest line fits, in order; with `is_longest` whose longest one
    does, up to the first where that does not.
    """
    chosen: list[Sequence[Block]] = []
    left_out: list[Block] = []
    told_rules: set[str] = set()
    misses = 0
    near = () if is_listing or is_longest else _find_near_ids(job)
    for d in descriptors:
        if near and d.id not in near:
            tokens_left -= _skip_shortest_lines(chosen, tokens_left)
            near = ()
        place = _describe_place(job, d, rules, told_rules)
        lines = _line_blocks(job, d, place, is_listing)
        block = lines[-1 if is_longest else 0]
        if block.tokens <= tokens_left:
            chosen.append(lines)
            tokens_left -= block.tokens
            told_rules.add(place)
            misses = 0
            continue
        left_out.append(lines[-1])
        misses += 1
        if is_longest or misses == (_MAX_MISSES if is_listing else _MAX_MISSES_OF_HITS):
            break
    return _ChosenLines(chosen, left_out)


def _find_near_ids(job: RenderJob) -> Collection[str]:
    """The pinned capabilities, and the hits that come near the best one by their score."""
    hits = job.ranking.hits
    min_score = _NEAR_SHARE * max((hit.score for hit in hits), default=0.0)
    near_ids = {hit.id for hit in hits if hit.score >= min_score}
    return near_ids | {d.id for d in job.inputs.pinned_summaries}


def _skip_shortest_lines(chosen: list[Sequence[Block]], tokens_left: int) -> int:
    """Take the shortest line from the choice of the first capabilities, as far as the tokens
    reach. Returns how many they need for that.
    """
    spent = 0
    for place, lines in enumerate(chosen[:_LONGER_LINES]):
        extra_tokens = lines[1].tokens - lines[0].tokens if len(lines) > 1 else 0
        if 0 < extra_tokens <= tokens_left - spent:
            chosen[place], spent = lines[1:], spent + extra_tokens
    return spent


def _lengthen_lines(
    lines: Sequence[Sequence[Block]], tokens_left: int, ids: Collection[str] | None
) -> list[Block]:
    """A line of each, at first the shortest: as many of those with these ids (None: of all) as fit
    become longer by one step, the first before others, then by the next.
    """
    blocks = [choices[0] for choices in lines]
    tokens_left -= sum(block.tokens for block in blocks)
    for length in range(1, max(map(len, lines), default=0)):
        for place, choices in enumerate(lines):
            extra_tokens = choices[min(length, len(choices) - 1)].tokens - blocks[place].tokens
            if 0 < extra_tokens <= tokens_left and (ids is None or choices[0].id in ids):
                tokens_left -= extra_tokens
                blocks[place] = choices[min(length, len(choices) - 1)]
    return blocks


def _line_blocks(job: RenderJob, d: Descriptor, place: str, is_listing: bool) -> Sequence[Block]:
    """The lines that the capability may have, short ones first, made once for a job."""
    key = (d.id, f"{place}\n{is_listing}", f"{d.id in (job.in_full or ())}")
    if key not in job.lines:
        blocks = [
            _line_block(job, shortened, line, place)
            for shortened, line in _list_lines(job, d, is_listing)
        ]
        job.lines[key] = sorted(blocks, key=_count_block)
    return job.lines[key]


def _count_block(block: Block) -> int:
    return block.tokens


def _list_lines(job: RenderJob, d: Descriptor, is_listing: bool) -> list[tuple[Descriptor, str]]:
    """The texts of the lines, each with what it is about: a format without level 0 prints the
    description itself instead of a line.
    """
    inputs, note = job.inputs, job.inputs.note(d)
    if 0 not in job.form.levels:
        return [(shortened, "") for shortened in (*shorter_descriptions(d), d)]
    if inputs.ids_only:
        return [(d, name_line(d))]
    if d.id in (job.in_full or ()):
        return [(d, shortest_line(d)), (d, pointer_line(d, note))]
    lines = [*shorter_lines(d, note, job.request_words), summary_line(d, note, inputs.hints)]
    return [(d, line) for line in ([shortest_line(d), *lines] if is_listing else lines)]


def _line_block(job: RenderJob, d: Descriptor, line: str, place: str) -> Block:
    """The line, with where the capability's file lies."""
    location = job.form.location(place) if place else ""
    pieces = [piece for piece in (job.form.summary(d, line, place), location) if piece]
    return Block(id=d.id, text="".join(pieces), tokens=sum(map(job.counter.count, pieces)))


# Where the files lie. Where the paths of several capabilities of a kind follow from their ids, the
# first of them says the rule, and the others say nothing.


def _find_rules(job: RenderJob, descriptors: Descriptors) -> Mapping[str, str]:
    """The rule of each kind that more than one of the first capabilities follow."""
    if job.form.is_catalogue:
        return {}
    first = islice(descriptors, _RULED_LINES)
    return find_common_rules((d.id, d.kind, job.location(d).path) for d in first)


def _describe_place(
    job: RenderJob, d: Descriptor, rules: Mapping[str, str], told_rules: set[str]
) -> str:
    """The path of the capability's file, or the rule that it follows; "" if already told."""
    location = job.location(d)
    rule = rules.get(d.kind, "")
    if not rule or location_rule(d.id, d.kind, location.path) != rule:
        return location.path
    return "" if rule in told_rules else rule
