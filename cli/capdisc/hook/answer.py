"""What is the answer to a prompt made of, and what fits into its budget?"""

from __future__ import annotations

from collections.abc import Sequence

from capdisc.hook.client_session import SessionTurn
from capdisc_indexer.model.frozen import frozen

HEADING = "Skills and tools here that may fit this request (read the file before use):\n"


@frozen(kw_only=True)
class Limits:
    """How much is printed: tokens in all, capabilities, and whether a part of the best one's text
    is added; for the model of which client. `gate` is a mode of `--gate`.
    """

    budget_tokens: int
    capabilities: int
    detail: bool
    gate: str
    client: str


@frozen(kw_only=True)
class Suggestion:
    """A capability that fits: its line, the part of its text to print with it ("": none), and their
    tokens. `digest` changes with what the capability says; `probability` is how likely it is
    wanted, 0..1. One whose name was typed (`is_typed`) is printed however often.
    """

    id: str
    name: str
    line: str
    tokens: int
    digest: str
    probability: float = 1.0
    is_typed: bool = False
    detail: str = ""
    detail_tokens: int = 0


@frozen(kw_only=True)
class Suggestions:
    """What fits a prompt, best first, and `reason`: why nothing does, or what was left out.
    `verdict` says in words what was decided by, `turn` is what the session remembers of it.
    With `is_shown` the person sees what was added; with `is_shadow` nothing is printed.
    """

    items: tuple[Suggestion, ...] = ()
    reason: str = ""
    verdict: str = ""
    turn: SessionTurn | None = None
    is_shown: bool = False
    is_shadow: bool = False


def count_texts(tokenizer: str, texts: Sequence[str]) -> list[int]:
    """The tokens of each text. Raises UsageError for an unknown tokenizer."""
    from capdisc_indexer.text.token_counts import find_tokenizer, make_counter

    counter = make_counter(find_tokenizer(tokenizer))
    return [counter.count(text) for text in texts]


def choose_length(heading: int, sizes: Sequence[Sequence[int]], budget: int) -> tuple[int, int]:
    """How many lines fit into the budget, and the position of their length, the longest first: as
    many lines as possible, then the longest that all of them can have. `sizes[line][length]` are
    tokens. (0, 0) where not even one line fits.

    >>> choose_length(10, [[20, 12], [20, 12]], 40)
    (2, 1)
    """
    for number in range(len(sizes), 0, -1):
        for length in range(len(sizes[0])):
            if heading + sum(line[length] for line in sizes[:number]) <= budget:
                return number, length
    return 0, 0
