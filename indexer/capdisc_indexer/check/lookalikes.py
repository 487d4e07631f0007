"""Names that a reader takes for another's: drawn alike, or a slip of the finger away."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence

from capdisc_indexer.check.members import Member, at
from capdisc_indexer.sources.naming import LOOKALIKES, MAX_NAME, scripts
from capdisc_indexer.types import Finding, Severity

ALIKE = 8  # characters from which one letter more or less is a slip or a trick, and not another word

_DIGITS = str.maketrans("0135", "oles")


def lookalikes(members: Sequence[Member]) -> Iterator[Finding]:
    """Names that a reader takes for an earlier one: drawn alike, or a letter away."""
    drawn: dict[str, Member] = {}
    near: dict[str, Member] = {}
    for each in members:
        if len(scripts(each.one.title)) > 1:
            message = "the title mixes letters of scripts that look alike"
            yield _finding(each, message, "write it in one")
        skeleton = _skeleton(each.one.name)
        cuts = list(_cuts(skeleton)) if len(each.one.name) >= ALIKE else []
        other = _other(each, drawn.setdefault(skeleton, each), cuts, near)
        if other and _is_slip(other.one.name, each.one.name):
            message = f"the name is easily taken for {other.one.name} of {other.path}"
            yield _finding(each, message, "choose a name that differs more")
        for cut in cuts:
            near.setdefault(cut, each)


def _other(each: Member, twin: Member, cuts: Sequence[str], near: Mapping[str, Member]) -> Member | None:
    """Who has another name that is drawn like this one, or is a letter away from it; capitals make no other name."""
    name = each.one.name
    if twin.one.name == name:
        twin = next((near[cut] for cut in cuts if cut in near and near[cut].one.name != name), each)
    return None if twin.one.name.casefold() == name.casefold() else twin


def _finding(each: Member, message: str, hint: str) -> Finding:
    return at(each, "confusable-name", Severity.WARNING, message, hint)


def _skeleton(name: str) -> str:
    plain = unicodedata.normalize("NFKC", name).translate(LOOKALIKES).translate(_DIGITS).lower()
    return re.sub(r"[^\w]|_", "", plain.replace("rn", "m").replace("vv", "w"))[:MAX_NAME]


def _cuts(name: str) -> Iterator[str]:
    """The name, and the name without each letter: two names share one if they are an edit apart."""
    yield name
    for index in range(len(name)):
        yield name[:index] + name[index + 1 :]


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
