"""What the tiers are made from, and with what."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from capdisc_indexer.model.frozen import field, frozen
from capdisc_indexer.model.types import Block, Budgets, Descriptor, PrintOptions, Ranking
from capdisc_indexer.rendering.formats.format import RenderFormat
from capdisc_indexer.rendering.summary_lines import missing_note
from capdisc_indexer.text.token_counts import TokenCounter

TOP_SUMMARIES = 5
TOP_DETAILS = 2
# Gives the lines of a session's memory that fit so many tokens, counted by the function.
SessionMemory: TypeAlias = Callable[[int, Callable[[str], int]], Sequence[str]]


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
    """What the tiers are made from: overview lines, long to short, and the capabilities, best
    first (`summaries` or `details` None: each of them; where `summaries` is None, none of
    `pinned_summaries` is among them).

    `pinned_summaries` have the first lines of tier 1 and `pinned` are shown in full before those,
    whatever fits; `missing` names what each capability lacks here, `guidance` is by category in
    one case, `appended` are the caller's own texts. With `ids_only` tier 1 has ids alone, with
    `hints` usage hints, too; with `equal_shares` the details share their room, each with
    `max_tokens_each` tokens at most (0: no limit).
    """

    overview: Sequence[Mapping[str, Any]]
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
    ids_only: bool = False
    hints: bool = False
    equal_shares: bool = False
    max_tokens_each: int = 0

    def note(self, descriptor: Descriptor) -> str:
        """What is said of secrets and programs that are missing; empty when none is."""
        return missing_note(self.missing.get(descriptor.id, ()))


@frozen(kw_only=True)
class RenderJob:
    """One context to be made. `full_tokens` fills with the tokens of details in full, by id: a fit
    that is searched for by bisection asks for all of them again in each step, which took 6 s for
    1,800 capabilities.
    """

    inputs: RenderInputs
    ranking: Ranking
    form: RenderFormat
    budgets: Budgets
    counter: TokenCounter
    printing: PrintOptions
    full_tokens: dict[str, int] = field(default_factory=dict)

    def block(self, identifier: str, text: str) -> Block:
        """The text with its count."""
        return Block(id=identifier, text=text, tokens=self.counter.count(text))
