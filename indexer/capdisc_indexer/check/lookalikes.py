"""Names that a reader takes for another's: drawn alike, or a slip of the finger away."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence

from capdisc_indexer.check.members import Member, at
from capdisc_indexer.sources.naming import LOOKALIKES, MAX_NAME
from capdisc_indexer.types import Finding, Severity

ALIKE = 8  # characters from which one letter more or less is a slip or a trick, and not another word

# So that at most one cut in 64 looks like another's.
_BITS_A_CUT = 64
_DIGITS = str.maketrans("0135", "oles")


def lookalikes(members: Sequence[Member]) -> Iterator[Finding]:
    """Names that a reader takes for an earlier one: drawn alike, or a letter away."""
    shared = _shared_cuts({member.name for member in members})
    drawn: dict[str, Member] = {}
    near: dict[str, Member] = {}
    for member in members:
        if member.has_mixed_scripts:
            message = "the title mixes letters of scripts that look alike"
            yield _finding(member, message, "write it in one")
        skeleton = _skeleton(member.name)
        cuts = [cut for cut in _cuts_of(member.name, skeleton) if hash(cut) in shared]
        other = _other(member, drawn.setdefault(skeleton, member), cuts, near)
        if other and _is_slip(other.name, member.name):
            message = f"the name is easily taken for {other.name} of {other.path}"
            yield _finding(member, message, "choose a name that differs more")
        for cut in cuts:
            near.setdefault(cut, member)


def _shared_cuts(names: Iterable[str]) -> set[int]:
    """The hashes of those cuts that several names may have; a few too many, and none too few.

    A large collection has millions of cuts, and next to none of them twice: 40,000 names of 16 letters took 53 MB in a
    dictionary, and shared 4,607 cuts. 64 bits for each cut tell which are worth keeping, in 8 MB.
    """
    skeletons = {name: _skeleton(name) for name in names}
    bits = _BITS_A_CUT * sum(len(skeleton) + 1 for skeleton in skeletons.values())
    seen = bytearray(bits // 8 + 1)
    shared: set[int] = set()
    for name, skeleton in skeletons.items():
        for cut in set(_cuts_of(name, skeleton)):
            value = hash(cut)
            place, bit = divmod(value % bits, 8)
            if seen[place] >> bit & 1:
                shared.add(value)
            seen[place] |= 1 << bit
    return shared


def _other(member: Member, twin: Member, cuts: Sequence[str], near: Mapping[str, Member]) -> Member | None:
    """Who has another name that is drawn like this one, or is a letter away from it; capitals make no other name."""
    name = member.name
    if twin.name == name:
        twin = next((near[cut] for cut in cuts if cut in near and near[cut].name != name), member)
    return None if twin.name.casefold() == name.casefold() else twin


def _finding(member: Member, message: str, hint: str) -> Finding:
    return at(member, "confusable-name", Severity.WARNING, message, hint)


def _skeleton(name: str) -> str:
    plain = unicodedata.normalize("NFKC", name).translate(LOOKALIKES).translate(_DIGITS).lower()
    return re.sub(r"[^\w]|_", "", plain.replace("rn", "m").replace("vv", "w"))[:MAX_NAME]


def _cuts_of(name: str, skeleton: str) -> list[str]:
    """The skeleton, and the skeleton without each letter: two names share one if they are an edit apart. A short name
    has none, since most short words are an edit apart."""
    if len(name) < ALIKE:
        return []
    return [skeleton, *(skeleton[:index] + skeleton[index + 1 :] for index in range(len(skeleton)))]


def _is_slip(first: str, second: str) -> bool:
    """Whether two names differ as slips do, and not as singular and plural, numbers or words do."""
    a, b = first.lower(), second.lower()
    if re.sub(r"\d+", "", a) == re.sub(r"\d+", "", b) or a.rstrip("s") == b.rstrip("s"):
        return False
    parts_a, parts_b = re.split(r"[-_. /:]+", a), re.split(r"[-_. /:]+", b)
    if len(parts_a) != len(parts_b):
        return "".join(parts_a) == "".join(parts_b)
    odd = [(x, y) for x, y in zip(parts_a, parts_b, strict=True) if x != y]
    return all(min(len(x), len(y)) >= 5 or _skeleton(x) == _skeleton(y) for x, y in odd)
