"""Whether search finds the sections that stand deep in long bodies, and names them.

python tools/bench/sections.py ../shared

The requests are headings of real skills from beyond the first 2,000 characters of a body, of two content words or
more, that only one skill has; and, with --sentences, the first sentences of such sections. A skill counts as found
where it, or a near copy that stands for it, is among the first five.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from capdisc_indexer import encoders
from capdisc_indexer.encoders import Encoder
from capdisc_indexer.indexing.pipeline import build_index
from capdisc_indexer.model.types import BuildOptions, Query
from capdisc_indexer.retrieval.pipeline import search_index
from capdisc_indexer.store.snapshot import Index
from capdisc_indexer.text.embedding_text import BODY_CHARACTERS
from capdisc_indexer.text.normalization import simple_words, without_stop_words
from capdisc_indexer.text.sections import find_section, split_sections

_MIN_REQUESTS = 300
_MIN_WORDS = 2
_DEPTH = 5
# A sentence of 40 to 140 characters that is a paragraph.
_SENTENCE = re.compile(r"(?:^|\n\n)([A-Z][a-z][^\n|`]{40,140}[.:])\s*(?:\n|$)")
# The least shares in per cent: of skills among the first five, and of sections that are named right.
_LEAST_FOUND, _LEAST_NAMED = 85, 75


@dataclass(frozen=True, slots=True)
class Request:
    """A request, and what answers it: a capability, and where its section starts."""

    text: str
    id: str
    start: int


def main(argv: Sequence[str]) -> int:
    """Print the table; 1 where too few are found or named."""
    options = _options(argv)
    encoder = encoders.load_encoder()
    with tempfile.TemporaryDirectory() as scratch:
        where = options.index or Path(scratch) / "index"
        if not options.index:
            build_index([options.path / "corpora" / "skills"], where, BuildOptions())
        with Index(where) as index:
            bodies = {
                header["id"]: index.full_descriptor(header).content
                for header in index.documents.all_headers()
            }
            kinds = {"headings": _unique(_headings(bodies))}
            if options.sentences:
                kinds["sentences"] = _unique(_sentences(bodies))
            print(f"{'':12}{'n':>7}{'first':>8}{'in five':>9}{'section':>9}{'refused':>9}")
            good = [
                _print_row(index, encoder, bodies, kind, _sample(requests, options.count))
                for kind, requests in kinds.items()
            ]
    return 0 if good[0] else 1


def _options(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path, help="the folder that holds corpora/skills")
    parser.add_argument("--count", type=int, default=1_000, help="how many requests")
    parser.add_argument("--sentences", action="store_true", help="first sentences, too")
    parser.add_argument("--index", type=Path, help="an index of these skills; else one is built")
    return parser.parse_args(argv)


def _headings(bodies: dict[str, str]) -> Iterator[Request]:
    for identifier, body in bodies.items():
        for section in split_sections(body):
            if section.level:
                yield Request(section.heading.strip(), identifier, section.start)


def _sentences(bodies: dict[str, str]) -> Iterator[Request]:
    for identifier, body in bodies.items():
        sections = split_sections(body)
        ends = [*(section.start for section in sections[1:]), len(body)]
        for section, end in zip(sections, ends, strict=True):
            own_text = body[section.start : end].partition("\n")[2]
            if section.level and (match := _SENTENCE.search(own_text)):
                yield Request(match[1], identifier, section.start)


def _unique(requests: Iterator[Request]) -> list[Request]:
    """Those from deep in a body that say something, and that no other place says."""
    every = list(requests)
    counts = Counter(request.text.lower() for request in every)
    return [
        request
        for request in every
        if counts[request.text.lower()] == 1
        and request.start > BODY_CHARACTERS
        and len(without_stop_words(simple_words(request.text))) >= _MIN_WORDS
    ]


def _sample(requests: list[Request], count: int) -> list[Request]:
    return random.Random(17).sample(requests, min(count, len(requests)))


def _print_row(
    index: Index, encoder: Encoder, bodies: dict[str, str], kind: str, requests: list[Request]
) -> bool:
    """One row in per cent; whether enough was found and named, of enough requests."""
    first = found = named = refused = 0
    for request in requests:
        ranking = search_index(index, Query(texts=(request.text,), limit=_DEPTH), encoder)
        refused += not ranking.hits
        for rank, hit in enumerate(ranking.hits):
            if request.id in (hit.id, *hit.copies):
                found, first = found + 1, first + (rank == 0)
                section = find_section(bodies[hit.id], hit.section) if hit.section else None
                is_copy = hit.id != request.id and hit.section.lower() == request.text.lower()
                named += is_copy or (section is not None and section.start == request.start)
                break
    shares = [100 * value / max(len(requests), 1) for value in (first, found, named, refused)]
    cells = "".join(
        f"{share:{width}.1f}" for share, width in zip(shares, (8, 9, 9, 9), strict=True)
    )
    print(f"{kind:12}{len(requests):7,}{cells}", flush=True)
    is_enough = len(requests) >= _MIN_REQUESTS
    return is_enough and shares[1] >= _LEAST_FOUND and shares[2] >= _LEAST_NAMED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
