"""Whose an id is where several files define it: the one rule of `index` and `validate`.

Ids that differ in capital letters alone are the same id: people and models mix them up, and so do
file systems. The first file in the order of the scan owns the id; what happens to a later claim
depends on how it differs.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class ClaimOutcome(StrEnum):
    """What becomes of a capability whose id an earlier one has."""

    COPY = "copy"  # the same file twice: one of them is enough
    SHADOWED = "shadowed"  # an earlier root wins
    DUPLICATE = "duplicate"  # a manifest declares its id, so that a second one is left out
    QUALIFIED = "qualified"  # collections use a name in several folders: indexed under a longer id


class IdClaim(NamedTuple):
    """A file that defines an id. `root` is whatever tells one root from another; `is_declared` says
    that a manifest names the id, rather than a folder or a list.
    """

    path: str
    content_hash: str
    root: str | int
    is_declared: bool


def fold_id(identifier: str) -> str:
    """The id without regard to capital letters, for comparing.

    >>> fold_id("skill:PDF") == fold_id("skill:pdf")
    True
    """
    return identifier.casefold()


def judge_claim(owner: IdClaim, claim: IdClaim) -> ClaimOutcome:
    """What becomes of a claim to an id that `owner` has."""
    if owner.content_hash == claim.content_hash and owner.path != claim.path:
        return ClaimOutcome.COPY
    if owner.root != claim.root:
        return ClaimOutcome.SHADOWED
    return ClaimOutcome.DUPLICATE if claim.is_declared else ClaimOutcome.QUALIFIED
