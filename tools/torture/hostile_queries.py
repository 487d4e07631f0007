"""Queries meant to break parsers, filters and terminals, with what each may lead to."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

from capdisc_indexer.encoders import Encoder
from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.model.types import Query
from capdisc_indexer.retrieval.pipeline import search_index
from capdisc_indexer.store.snapshot import Index
from hostile.judge import steering
from hostile.streams import say
from properties.pieces import ASKING, put_together

FOUND, NOTHING, USAGE = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Asked:
    """A query under a name of its own, and the statuses that it may end with."""

    name: str
    text: str
    statuses: tuple[int, ...] = (FOUND, NOTHING)


_EITHER = (FOUND, NOTHING, USAGE)
TABLE = (
    Asked("plain", "convert temperature", (FOUND,)),
    Asked("empty", "", (USAGE,)),
    Asked("blank", "   \t\n", (USAGE,)),
    Asked("zero byte", "a\x00b", _EITHER),
    Asked("bytes that are not UTF-8", "\udc80\udcff", _EITHER),
    # The text engine's own parser is ended by signal 11 at 181 of these, in a thread with a small stack.
    Asked("200 brackets", "(" * 200, _EITHER),
    Asked("20,001 brackets", "(" * 20_001, _EITHER),
    Asked("10,000 times NOT", "NOT " * 10_000 + "a", _EITHER),
    Asked("10,001 quotes", '"' * 10_001, _EITHER),
    Asked("fields", "name:evil AND kind:tool"),
    Asked("regular expression", "body:/(a+)+$/"),
    Asked("match all", "* OR *:*"),
    Asked("ranges", "[a TO z] {1 TO 2} >=3 a~9 b^99999999999"),
    Asked("filter injection", "x' OR '1'='1"),
    Asked("statement injection", "'; DROP TABLE caps; --"),
    Asked("half a megabyte", "word " * 100_000, _EITHER),
    Asked("one long word", "x" * 2_000_000, _EITHER),
    Asked("combining marks", "\u0301" * 10_000, _EITHER),
    Asked("hidden characters", "\u202eevil\u202c \U000e0041\U000e0042"),
    Asked("terminal sequences", "\x1b[2J\x1b]52;c;AAAA\x07"),
    Asked("console markup", "[bold red]x[/nope]"),
    Asked("an option", "--help; touch PWNED"),
    Asked("format strings", "%s%s%n {0} ${x} {{y}}"),
)


def faults(asked: Asked, index: Path) -> list[str]:
    """What is wrong with the answers of `search` and `render` to this query, on a terminal and to a program."""
    found = []
    for command in (
        ("search", "--explain"),
        ("search", "--json"),
        ("search", "--ids"),
        ("render",),
    ):
        for on_terminal in (False, True):
            said = say(
                " ".join(command),
                [*command, "--index-dir", str(index), "--", asked.text],
                on_terminal,
            )
            if said.status not in (*asked.statuses, *((FOUND,) if command == ("render",) else ())):
                found.append(f"{said.label}: status {said.status}: {said.err[:300]}")
            if shown := steering(said):
                found.append(f"{said.label}: says {shown!r}")
    return found


def answered(rng: random.Random, index: Index, encoder: Encoder | None) -> str:
    """The fault of an answer to a query made by chance; empty when there is none."""
    texts = tuple(put_together(rng, ASKING, 24) for _ in range(rng.choice((1, 1, 1, 3))))
    mode = rng.choice(("auto", "lexical", "vector"))
    try:
        found = search_index(index, Query(texts=texts, limit=rng.randrange(1, 20)), encoder, mode)
    except UsageError:
        return "" if not any(text.strip() for text in texts) else f"refused: {texts!r}"
    except BaseException as error:
        return f"{type(error).__name__}: {error}: {texts!r}"
    is_sound = all(0 <= hit.relevance <= 1 for hit in found.hits) and 0 <= found.confidence <= 1
    return "" if is_sound else f"out of range: {texts!r}"
