"""Rules across many files: names that look like others, without storing every spelling of every name; long rings."""

from __future__ import annotations

import random
from collections.abc import Callable

from capdisc_indexer.validation import catalogue_rules
from capdisc_indexer.validation.capability_strings import CatalogueMember
from capdisc_indexer.validation.competing_descriptions import ListedWords


def test_no_pair_of_alike_names_is_missed_among_many() -> None:
    choices = random.Random(11)
    words = ["merge", "convert", "invoice", "report", "summary", "deploy", "translate", "calendar"]
    names = [
        f"{choices.choice(words)}-{choices.choice(words)}-{choices.choice(words)}"
        for _ in range(150)
    ]
    names += [_slip(choices, choices.choice(names)) for _ in range(150)]
    members = [_member(name, place) for place, name in enumerate(names)]
    found = [
        (finding.path, finding.message) for finding in catalogue_rules.find_lookalikes(members)
    ]
    assert found == list(_by_comparing_all(members)) and len(found) > 50


def test_a_ring_of_thousands_is_one_finding(codes: Callable[..., list[str]]) -> None:
    lines = [
        f'{{"name": "n{n}", "kind": "tool", "description": "Part {n * n}.", "requires": ["n{(n + 1) % 6000}"]}}'
        for n in range(6000)
    ]
    found = codes({"capabilities.jsonl": "\n".join(lines)})
    assert found.count("warning dependency-cycle") == 1


def _slip(choices: random.Random, name: str) -> str:
    place = choices.randrange(len(name))
    return name[:place] + choices.choice(["", "x", name[place] * 2]) + name[place + 1 :]


def _by_comparing_all(members: list[CatalogueMember]):
    """The rule word for word: the earliest name that shares a spelling, of all that are kept by spelling."""
    drawn: dict[str, CatalogueMember] = {}
    near: dict[str, CatalogueMember] = {}
    for member in members:
        skeleton = catalogue_rules._skeleton(member.name)
        cuts = catalogue_rules._cuts_of(member.name, skeleton)
        other = catalogue_rules._lookalike(member, drawn.setdefault(skeleton, member), cuts, near)
        if other and catalogue_rules._is_slip(other.name, member.name):
            yield member.path, f"the name is easily taken for {other.name} of {other.path}"
        for cut in cuts:
            near.setdefault(cut, member)


def _member(name: str, place: int) -> CatalogueMember:
    return CatalogueMember(
        id=f"tool:{name}", name=name, kind="tool", category="", path=f"/{place}", root_order=0, content_hash=str(place),
        is_declared=True, has_mixed_scripts=False, description_digest=b"", needs=(), line=1, column=1,
        listed=ListedWords(),
    )  # fmt: skip
