"""What is the answer to a prompt made of, and within which limits?"""

from __future__ import annotations

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
    """A capability that fits: its line, the part of its text to print with it ("": none), and
    their tokens. `digest` changes with what the capability says; `probability` is how likely it is
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
