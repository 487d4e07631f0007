"""Entries that want to be found for everything, and relations that lead nowhere."""

from __future__ import annotations

from itertools import product

from hostile.case import accepted, warned
from hostile.checks import at_most_of_five, ranks_first
from hostile.writing import fields, files, manifest

_STUFFED = "convert temperature celsius " * 12
_STUFFED_BY_MANY = "convert temperature celsius fahrenheit degrees units kelvin scale " * 12
_ACTS = ("Pulls", "Weighs", "Washes", "Sorts", "Counts", "Stores", "Sells", "Sows")
_CROPS = (
    "turnips",
    "beets",
    "carrots",
    "leeks",
    "onions",
    "beans",
    "peas",
    "cabbages",
    "radishes",
    "parsnips",
)
_PLACES = (
    "in the barn",
    "behind the shed",
    "beside the river",
    "under glass",
    "on the upper field",
)


def _flood() -> dict[str, str]:
    return {
        f"flood/{number:02}/CAPABILITY.yaml": fields(
            name=f"temperature-{number:02}",
            description=f"Converts a temperature between degrees Celsius and Fahrenheit, take {number}.",
        )
        for number in range(60)
    }


def _clique() -> dict[str, str]:
    tags = "tags: [root, soil, autumn, spade, row]\n"
    return {
        f"{number:03}/CAPABILITY.yaml": fields(
            tags, name=f"row-{number:03}", description=" ".join(words)
        )
        for number, words in enumerate(product(_ACTS, _CROPS, _PLACES))
    }


def _numbered_clique() -> dict[str, str]:
    tags = "tags: [root, soil, autumn, spade, row]\n"
    return {
        f"{number:03}/CAPABILITY.yaml": fields(
            tags, name=f"row-{number:03}", description=f"Pulls row {number} of it."
        )
        for number in range(400)
    }


def _needing(*needed: str) -> dict[str, str]:
    """Tools in a row, each of which needs the next of these."""
    return {
        f"{number}/CAPABILITY.yaml": fields(f"requires: [{name}]\n", name=f"step-{number}")
        for number, name in enumerate(needed)
    }


CASES = (
    warned(
        "rank-keyword-stuffing",
        "keyword-stuffing",
        manifest(fields(description=_STUFFED)),
        checks=(ranks_first("tool:beside-rank-keyword-stuffing"),),
    ),
    warned(
        "rank-keyword-stuffing-by-many-words",
        "keyword-stuffing",
        manifest(fields(description=_STUFFED_BY_MANY)),
        checks=(ranks_first("tool:beside-rank-keyword-stuffing-by-many-words"),),
    ),
    warned(
        "rank-flood-near-duplicates",
        "near-duplicate-flood",
        files(_flood()),
        roots=("beside-rank-flood-near-duplicates", "flood"),
        checks=(at_most_of_five("tool:temperature-", 3),),
    ),
    accepted("rank-tag-clique", files(_clique()), seconds=10),
    accepted("rank-tag-clique-by-number", files(_numbered_clique()), seconds=10),
    warned(
        "graph-dependency-cycle", "dependency-cycle", files(_needing("step-1", "step-2", "step-0"))
    ),
    warned("graph-missing-dependency", "dependency-missing", files(_needing("nobody-has-this"))),
)
