"""How sure answers are: refusal and confidence of requests that a catalogue can answer, and of others.

python tools/bench/refusal.py ../shared/eval

Each set is asked for what it has; for what it lacks since the entries that answer were taken out (one
category after the other where it has at least five, else a quarter of the entries that are asked for); for what
another set has; and made-up words. Of each kind: the share refused; the share as sure as 95 in a hundred
of its own are (the rest could be refused at that price); and how far confidence is from the
share of right first hits (ECE). Requests for another set count as unanswerable though some of them are not ("what is the
weather" has a tool in several sets).
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from capdisc_indexer.encoders import Encoder, load_shipped_encoder
from capdisc_indexer.indexing.pipeline import build_index
from capdisc_indexer.model.frozen import replace
from capdisc_indexer.model.types import BuildOptions, Query, RankingChoices
from capdisc_indexer.retrieval.pipeline import search_index
from capdisc_indexer.store.snapshot import Index

SETS = (
    "metatool", "toollinkos", "skilltriggers", "ha_intents", "clinc150", "nestful", "toolalpaca", "toolret_mini",
    "sealtools", "tldr", "tau2",
)  # fmt: skip
OWN, LACKING, OF_EACH_OTHER, MADE_UP = 200, 100, 12, 60
KINDS = OWN_KIND, *_ = ("its own", "taken out", "of other sets", "made up")
ANSWERED = 0.95
FEW_CATEGORIES, MOST_ENTRIES = 5, 1_000
LEFT_OUT_SHARE = 0.25

Entry = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Request:
    """A text, its language, and the ids that answer it."""

    text: str
    language: str
    gold: frozenset[str]


@dataclass(frozen=True, slots=True)
class Answer:
    """How likely the first hit is said to be right, whether it is, and whether nothing was answered."""

    confidence: float
    is_right: bool
    is_refused: bool
    language: str


def main(argv: Sequence[str]) -> int:
    """Print, by set, what is refused of each kind, what is as sure as its own, and the calibration error."""
    folder = Path(argv[0])
    sets = {name: _load(folder / name) for name in SETS}
    print(
        f"{'percent refused, and as sure':30s}"
        + "".join(f"{kind:>16s}" for kind in KINDS)
        + f"{'ECE':>8s}"
    )
    rows = {}
    for name in SETS:
        rows[name] = _ask_set(name, sets)
        print(_row(name, rows[name]), flush=True)
    every = {kind: [answer for row in rows.values() for answer in row[kind]] for kind in KINDS}
    print(_row("all together", every))
    for language in ("en", "other"):
        own = [
            answer for answer in every[OWN_KIND] if (answer.language == "en") == (language == "en")
        ]
        print(f"its own, {language:6s}: {len(own):5d} requests, {_refused(own):5.1f} refused")
    errors = [_calibration_error(row[OWN_KIND]) for row in rows.values()]
    print(f"mean ECE of sets {sum(errors) / len(errors):.1f}")
    return 0


def _load(folder: Path) -> tuple[list[Entry], list[Request]]:
    lines = (folder / "corpus.jsonl").read_text(encoding="utf-8").splitlines()
    gold: dict[str, set[str]] = defaultdict(set)
    for line in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines():
        query, identifier, grade = line.split("\t")
        if float(grade) > 0:
            gold[query].add(identifier)
    queries = map(json.loads, (folder / "queries.jsonl").read_text(encoding="utf-8").splitlines())
    requests = [
        Request(query["text"], query.get("lang", "en"), frozenset(gold[query["qid"]]))
        for query in queries
    ]
    return [json.loads(line) for line in lines], [request for request in requests if request.gold]


def _ask_set(
    name: str, sets: Mapping[str, tuple[list[Entry], list[Request]]]
) -> dict[str, list[Answer]]:
    rng, (entries, requests) = random.Random(name), sets[name]
    others = [
        Request(request.text, request.language, frozenset())
        for other in SETS
        if other != name
        for request in rng.sample(sets[other][1], OF_EACH_OTHER)
    ]
    words = [Request(text, "", frozenset()) for text in made_up(rng)]
    kinds = {
        OWN_KIND: rng.sample(requests, min(OWN, len(requests))),
        "of other sets": others,
        "made up": words,
    }
    answers = {kind: _ask(entries, asked) for kind, asked in kinds.items()}
    answers["taken out"] = []
    if len(entries) < MOST_ENTRIES:
        for gone in _left_out(rng, entries, requests):
            present = [entry for entry in entries if entry["id"] not in gone]
            lacking = [request for request in requests if request.gold <= gone]
            lacking = rng.sample(lacking, min(LACKING // 2, len(lacking)))
            answers["taken out"] += _ask(present, lacking)
    return answers


def _left_out(
    rng: random.Random, entries: Sequence[Entry], requests: Sequence[Request]
) -> Iterator[set[str]]:
    """The ids of each category, of a set that has several; else some of those that are asked for."""
    categories = sorted({entry.get("category") or "" for entry in entries})
    if FEW_CATEGORIES <= len(categories) <= 4 * FEW_CATEGORIES:
        for category in categories:
            yield {entry["id"] for entry in entries if (entry.get("category") or "") == category}
    else:
        asked = sorted({identifier for request in requests for identifier in request.gold})
        yield set(rng.sample(asked, int(LEFT_OUT_SHARE * len(asked))))


def _ask(entries: Sequence[Entry], requests: Sequence[Request]) -> list[Answer]:
    with tempfile.TemporaryDirectory() as scratch:
        root, index_dir = Path(scratch) / "set", Path(scratch) / "index"
        root.mkdir()
        lines = [json.dumps(entry, ensure_ascii=False) for entry in entries]
        (root / "corpus.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
        build_index([root], index_dir, BuildOptions())
        encoder = load_shipped_encoder()
        with Index(index_dir) as index:
            return [_answer(index, encoder, request) for request in requests]


def _answer(index: Index, encoder: Encoder, request: Request) -> Answer:
    query = Query(texts=(request.text,), limit=10)
    is_refused = not search_index(index, query, encoder).hits
    unrefused = replace(query, choices=RankingChoices(refuses=False))
    ranking = search_index(index, unrefused, encoder)
    names = {ranking.hits[0].id, ranking.hits[0].id.partition(":")[2]} if ranking.hits else set()
    is_right = bool(names & request.gold)
    return Answer(ranking.confidence, is_right, is_refused, request.language)


def made_up(rng: random.Random) -> list[str]:
    """Queries of one to four words that no language has, by another recipe than those of the fit."""

    def word() -> str:
        starts, middles, ends = (
            "br dr gl kl pr schw sk sn tr v z".split(),
            "aeiouy",
            "ck ft lm mp ndle rsk sh tz x".split(),
        )
        return (
            rng.choice(starts)
            + rng.choice(middles)
            + rng.choice(("", "bb", "nq", "zz"))
            + rng.choice(ends)
        )

    return [" ".join(word() for _ in range(rng.randint(1, 4))) for _ in range(MADE_UP)]


def _row(name: str, answers: Mapping[str, Sequence[Answer]]) -> str:
    own = sorted(answer.confidence for answer in answers[OWN_KIND])
    level = own[round((1 - ANSWERED) * len(own))]
    cells = ""
    for kind in KINDS:
        some = answers[kind]
        sure = 100 * sum(answer.confidence >= level for answer in some) / max(len(some), 1)
        cells += f"{_refused(some):9.1f}{sure:7.1f}" if some else f"{'-':>9s}{'-':>7s}"
    return f"{name:30s}{cells}{_calibration_error(answers[OWN_KIND]):8.1f}"


def _refused(answers: Sequence[Answer]) -> float:
    return 100 * sum(answer.is_refused for answer in answers) / max(len(answers), 1)


def _calibration_error(answers: Sequence[Answer]) -> float:
    """In percent, over ten bins of confidence."""
    bins: dict[int, list[Answer]] = defaultdict(list)
    for answer in answers:
        bins[min(9, int(10 * answer.confidence))].append(answer)
    differences = (
        abs(sum(answer.confidence - answer.is_right for answer in some)) for some in bins.values()
    )
    return 100 * sum(differences) / max(len(answers), 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
