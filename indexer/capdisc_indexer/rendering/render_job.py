"""What is a context assembled from? The inputs of its tiers, how many lines they have, and the job
that carries both from stage to stage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from pathlib import PurePath
from typing import Any, Protocol, TypeAlias

from capdisc_indexer.model.frozen import field, frozen
from capdisc_indexer.model.json_types import CategoryRecord
from capdisc_indexer.model.types import (
    Block,
    Budgets,
    Descriptor,
    DroppedBlock,
    PrintOptions,
    Ranking,
    Tier,
)
from capdisc_indexer.rendering.capability_text import availability_note
from capdisc_indexer.rendering.render_format import RenderFormat
from capdisc_indexer.text.location import Location, locate
from capdisc_indexer.text.token_counts import TokenCounter

# Tier 1 has at most this many lines where nobody names a budget, and then of the hits near the
# best one alone (`select_context_hits`): over ten judged sets 20 lines hold 1.6 points fewer of
# the right answers for 110 tokens less, and 5 lines 11 points fewer.
TOP_SUMMARIES = 30
TOP_DETAILS = 2
# Where somebody names a budget, it may have a line for each 15 of its tokens, up to a limit: a
# short one has 15 to 25.
TOKENS_OF_A_LINE, MOST_SUMMARIES = 15, 100
# So many tokens of a budget are for the answer before the overview gets any.
ANSWER_TOKENS = 500
# Up to this budget lines go before the text of the best hits, which takes what they leave; of what
# lies above it, the text gets half.
DETAIL_FREE_TOKENS = 600
# Gives the lines of a session's memory that fit a number of tokens, counted by the function.
SessionMemory: TypeAlias = Callable[[int, Callable[[str], int]], Sequence[str]]


def count_lines(budget: int) -> int:
    """How many hits a context of this budget may list."""
    return min(MOST_SUMMARIES, max(TOP_SUMMARIES, budget // TOKENS_OF_A_LINE))


def share_for_lines(budget: int) -> int:
    """How many tokens of a budget lines may take before the text of the best hits."""
    return budget - max(0, budget - DETAIL_FREE_TOKENS) // 2


class Descriptors(Protocol):
    """Capabilities that can be walked through several times, and counted; they need not be in
    memory.
    """

    def __iter__(self) -> Iterator[Descriptor]: ...

    def __len__(self) -> int: ...


@frozen(kw_only=True)
class Guidance:
    """How the capabilities of a category are used together."""

    category: str
    text: str


@frozen(kw_only=True)
class RenderInputs:
    """What the tiers are made from.

    - `overview`: the categories, each with its lines from long to short.
    - `descriptors`: the capabilities, best first; `summaries` and `details` are how many of them
      tiers 1 and 2 take (None: all). Where `summaries` is None, none of `pinned_summaries` is
      among them.
    - `pinned_summaries` have the first lines of tier 1, and `pinned` are shown in full before the
      hits, whatever the query.
    - `missing`: what each capability lacks here, by id. `guidance`: by category in lower case.
      `appended`: the caller's own texts.
    - `is_overview_last`: the overview gets what the answer leaves, and is not the same from turn
      to turn.
    - `ids_only`: tier 1 has ids alone. `hints`: it has usage hints, too.
    - `equal_shares`: the capabilities of tier 2 share it equally, each with at most
      `max_tokens_each` tokens (0: no limit).
    - `workspace`: paths of files below it are printed relative to it.
    """

    overview: Sequence[CategoryRecord]
    descriptors: Descriptors
    levels: tuple[int, ...] = (0, 1, 2)
    summaries: int | None = TOP_SUMMARIES
    details: int | None = TOP_DETAILS
    pinned_summaries: Sequence[Descriptor] = ()
    pinned: Sequence[Descriptor] = ()
    missing: Mapping[str, Sequence[str]] = field(default_factory=dict)
    guidance: Mapping[str, Guidance] = field(default_factory=dict)
    memory: SessionMemory | None = None
    appended: Sequence[str] = ()
    is_overview_last: bool = False
    ids_only: bool = False
    hints: bool = False
    equal_shares: bool = False
    max_tokens_each: int = 0
    workspace: PurePath | None = None

    def note(self, descriptor: Descriptor) -> str:
        """The note on a capability that is switched off or to be reviewed before use, or on
        secrets and programs that are missing here; empty when nothing is.
        """
        missing = self.missing.get(descriptor.id, ())
        return availability_note(missing, descriptor.available, descriptor.warnings)


@frozen(kw_only=True)
class RenderJob:
    """One context to assemble. `in_full` are the ids whose text tier 2 prints, so that tier 1 only
    points to it (None: tier 2 is not built yet). `request_words` choose the sentence of a short
    line.

    The other fields are caches, since a fit by bisection asks for the same in each step:
    `full_tokens` has the tokens of capabilities in full by id, which took 6 s for 1,800
    capabilities; `lines` the blocks of lines by id, kind and whether tier 2 has it; `rules` those
    of where files lie, by tier; `locations` by id;
    `texts` what an excerpt is chosen from, by id and guidance; `whole_texts` the tokens of printed
    contexts.
    """

    inputs: RenderInputs
    ranking: Ranking
    form: RenderFormat
    budgets: Budgets
    counter: TokenCounter
    printing: PrintOptions
    request_words: Set[str] = frozenset()
    full_tokens: dict[str, int] = field(default_factory=dict)
    in_full: frozenset[str] | None = None
    lines: dict[tuple[str, str, str], list[Block]] = field(default_factory=dict)
    rules: dict[int, Mapping[str, str]] = field(default_factory=dict)
    locations: dict[str, Location] = field(default_factory=dict)
    texts: dict[tuple[str, str], Any] = field(default_factory=dict)
    whole_texts: dict[str, int] = field(default_factory=dict)

    def block(self, identifier: str, text: str) -> Block:
        """The text with its count."""
        return Block(id=identifier, text=text, tokens=self.counter.count(text))

    def location(self, descriptor: Descriptor) -> Location:
        """Where the capability lies, for the reader of this context."""
        location = self.locations.get(descriptor.id)
        if location is None:
            location = self.locations[descriptor.id] = locate(descriptor, self.inputs.workspace)
        return location


def make_tier(
    level: int, blocks: Sequence[Block], dropped: Sequence[DroppedBlock] = (), omitted: int = 0
) -> Tier:
    """The tier of these blocks, with their tokens."""
    return Tier(
        level=level,
        blocks=tuple(blocks),
        tokens=sum(block.tokens for block in blocks),
        dropped=tuple(dropped),
        omitted=omitted,
    )


def list_dropped(
    level: int, identifier: str, block: Block | None, full_tokens: int
) -> list[DroppedBlock]:
    """What was lost of a text of `full_tokens`, printed as this block (None: not printed)."""
    if block is not None and block.tokens == full_tokens:
        return []
    clipped = block is not None
    return [DroppedBlock(id=identifier, tier=level, tokens=full_tokens, clipped=clipped)]
