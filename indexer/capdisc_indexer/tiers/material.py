"""What the tiers are made from, and with what."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from capdisc_indexer.frozen import field, frozen
from capdisc_indexer.render.format import Format
from capdisc_indexer.render.lines import missing_note
from capdisc_indexer.tokens import TokenCounter
from capdisc_indexer.types import Block, Budgets, Descriptor, Printing, Ranking

TOP_SUMMARIES = 5
TOP_DETAILS = 2
# Gives the lines of a session's memory that fit so many tokens, counted by the function.
Memory: TypeAlias = Callable[[int, Callable[[str], int]], Sequence[str]]


class Descriptors(Protocol):
    """Capabilities that can be walked through several times, and counted; they need not be in memory."""

    def __iter__(self) -> Iterator[Descriptor]: ...

    def __len__(self) -> int: ...


@frozen(kw_only=True)
class Guidance:
    """How the capabilities of a category are used together."""

    category: str
    text: str


@frozen(kw_only=True)
class Material:
    """What the tiers are made from: overview lines, long to short, and the capabilities, best first (`summaries` or
    `details` None: each of them; where `summaries` is None, none of `always` is among them).

    `always` have the first lines of tier 1 and `pinned` are shown in full before those, whatever fits; `missing` names
    what each capability lacks here, `guidance` is by category in one case, `added` are the caller's own texts. With
    `names` tier 1 has ids alone, with `hints` usage hints, too; with `evenly` the details share their room, each with
    `each` tokens at most (0: no limit).
    """

    overview: Sequence[Mapping[str, Any]]
    descriptors: Descriptors
    levels: tuple[int, ...] = (0, 1, 2)
    summaries: int | None = TOP_SUMMARIES
    details: int | None = TOP_DETAILS
    always: Sequence[Descriptor] = ()
    pinned: Sequence[Descriptor] = ()
    missing: Mapping[str, Sequence[str]] = field(default_factory=dict)
    guidance: Mapping[str, Guidance] = field(default_factory=dict)
    memory: Memory | None = None
    added: Sequence[str] = ()
    names: bool = False
    hints: bool = False
    evenly: bool = False
    each: int = 0

    def note(self, descriptor: Descriptor) -> str:
        """What is said of secrets and programs that are missing; empty when none is."""
        return missing_note(self.missing.get(descriptor.id, ()))


@frozen(kw_only=True)
class Job:
    """One context to be made. `wholes` fills with the tokens of details in full, by id: a fit that is searched for by
    bisection asks for all of them again in each step, which took 6 s for 1,800 capabilities."""

    material: Material
    ranking: Ranking
    form: Format
    budgets: Budgets
    counter: TokenCounter
    printing: Printing
    wholes: dict[str, int] = field(default_factory=dict)

    def block(self, identifier: str, text: str) -> Block:
        """The text with its count."""
        return Block(id=identifier, text=text, tokens=self.counter.count(text))
