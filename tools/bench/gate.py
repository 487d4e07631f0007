"""How many turns of talk get a context, and how many requests: the gate, beside a cut of relevance.

python tools/bench/gate.py ../shared/eval
python tools/bench/gate.py ../shared/eval --sizes 120 --show

Talk is `chatter/turns.txt`; requests are as many queries of the other sets, each for something that
its catalogue has. Catalogues hold 9, 18, 120 and 2,500 capabilities of one set, filled up from the
others where it has too few. Intents for talk (yes, thanks, repeat), which clinc150 has, are left
out: to such a catalogue they are requests.
Nothing of these sets was used to fit the gate; turns that are word for word among its phrases
("thanks") are counted, and what passes is given without them as well.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from capdisc_indexer.encoders import Encoder, load_shipped_encoder
from capdisc_indexer.indexing.pipeline import build_index
from capdisc_indexer.model.types import BuildOptions, Query, Ranking, RankingChoices, Verdict
from capdisc_indexer.retrieval.pipeline import search_index
from capdisc_indexer.store.snapshot import Index

SEED, SIZES = 20261122, (9, 18, 120, 2_500)
GOLD_SHARE = 0.6
"""How much of a catalogue is drawn because a query asks for it."""
SMALL_TALK = ("small_talk", "meta")
LIMIT = 20
TRAINING = Path(__file__).parents[2] / "indexer" / "training"
PHRASES = tuple(TRAINING / f"gate_{name}.toml" for name in ("phrases", "sentences", "turns"))
TALK = "talk"

Passes = Callable[[Ranking, Verdict], bool]
WAYS: dict[str, Passes] = {
    "a hit of relevance 0.05": lambda ranking, _: _reaches(ranking, 0.05),
    "a hit of relevance 0.3": lambda ranking, _: _reaches(ranking, 0.3),
    "search": lambda _, verdict: verdict.fits,
    "the gate": lambda _, verdict: verdict.is_request,
}


@dataclass(frozen=True, slots=True)
class DataSet:
    """A catalogue's entries by id, and the queries with the ids that answer them."""

    entries: Mapping[str, Mapping[str, Any]]
    queries: Sequence[tuple[str, frozenset[str]]]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one way said of one text."""

    size: int
    data_set: str
    kind: str
    text: str
    passes: Mapping[str, bool]
    score: float
    is_found: bool


def main(argv: Sequence[str]) -> int:
    """Print the shares by size and by data set."""
    arguments = _arguments(argv)
    turns = (arguments.folder / "chatter" / "turns.txt").read_text(encoding="utf-8").splitlines()
    turns = [turn for turn in turns if turn.strip()]
    data_sets = {
        path.parent.name: load_data_set(path.parent)
        for path in sorted(arguments.folder.glob("*/queries.jsonl"))
    }
    encoder = load_shipped_encoder()
    outcomes = [
        outcome
        for size in arguments.sizes
        for name in data_sets
        for outcome in ask_catalogue(data_sets, name, size, turns, encoder)
    ]
    _print_sizes(outcomes, turns)
    _print_data_sets(outcomes)
    if arguments.show:
        _print_exceptions(outcomes)
    return 0


def load_data_set(folder: Path) -> DataSet:
    """The set in the folder, without its queries for small talk."""
    lines = (folder / "corpus.jsonl").read_text(encoding="utf-8").splitlines()
    read = [entry for entry in map(json.loads, lines) if entry.get("category") not in SMALL_TALK]
    entries = {entry["id"]: entry for entry in read}
    gold: dict[str, set[str]] = defaultdict(set)
    for line in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines():
        query, identifier, grade = line.split("\t")
        if float(grade) > 0 and identifier in entries:
            gold[query].add(identifier)
    lines = (folder / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    queries = [(query["text"], frozenset(gold[query["qid"]])) for query in map(json.loads, lines)]
    return DataSet(entries, [(text, ids) for text, ids in queries if ids])


def ask_catalogue(
    data_sets: Mapping[str, DataSet], name: str, size: int, turns: Sequence[str], encoder: Encoder
) -> Iterator[Outcome]:
    """Requests for what a catalogue of the set has, and all turns of talk, said to it."""
    rng, own = random.Random(f"{SEED} {name} {size}"), data_sets[name]
    keys = _draw_keys(rng, own, size)
    entries = [own.entries[key] for key in keys]
    others = [
        entry
        for other, one in data_sets.items()
        if other != name
        for entry in one.entries.values()
    ]
    entries += rng.sample(others, size - len(entries))
    requests = [text for text, ids in own.queries if ids <= keys]
    requests = rng.sample(requests, min(-(-len(turns) // len(data_sets)), len(requests)))
    with tempfile.TemporaryDirectory() as scratch:
        root, index_dir = Path(scratch) / "catalogue", Path(scratch) / "index"
        root.mkdir()
        lines = [
            json.dumps(entry | {"id": f"c{number}", "kind": "tool"}, ensure_ascii=False)
            for number, entry in enumerate(entries)
        ]
        (root / "capabilities.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
        build_index([root], index_dir, BuildOptions())
        with Index(index_dir) as index:
            assert len(index.documents) > 0.85 * size, f"{name}: {len(index.documents)} of {size}"
            for kind, texts in (("requests", requests), (TALK, turns)):
                for text in texts:
                    unrefused = RankingChoices(refuses=False)
                    query = Query(texts=(text,), limit=LIMIT, choices=unrefused)
                    ranking = search_index(index, query, encoder)
                    verdict = search_index(index, Query(texts=(text,)), encoder).gate
                    assert verdict is not None
                    passes = {way: passing(ranking, verdict) for way, passing in WAYS.items()}
                    score, is_found = verdict.score, verdict.fits
                    yield Outcome(size, name, kind, text, passes, score, is_found)


def _draw_keys(rng: random.Random, data_set: DataSet, size: int) -> set[str]:
    """Ids for the catalogue: those that some queries ask for, then any."""
    keys: set[str] = set()
    for _, ids in rng.sample(data_set.queries, len(data_set.queries)):
        if len(keys | ids) <= max(GOLD_SHARE * size, 1):
            keys |= ids
    rest = [key for key in data_set.entries if key not in keys]
    return keys | set(rng.sample(rest, min(size - len(keys), len(rest))))


def _reaches(ranking: Ranking, relevance: float) -> bool:
    return any(hit.relevance >= relevance for hit in ranking.hits)


def _share(outcomes: Sequence[Outcome], way: str) -> float:
    return 100 * sum(one.passes[way] for one in outcomes) / max(len(outcomes), 1)


def _print_sizes(outcomes: Sequence[Outcome], turns: Sequence[str]) -> None:
    known = _fitted_phrases()
    fitted = {turn for turn in turns if _plain(turn) in known}
    print(f"{len(turns)} turns of talk, {len(fitted)} of them phrases that the gate was fitted to")
    sizes = _sizes(outcomes)
    print(f"{'context for, in percent':26s}" + "".join(f"{size:>27,}" for size in sizes))
    print(" " * 26 + f"{'talk':>9s}{'unseen':>9s}{'requests':>9s}" * len(sizes))
    counts = ""
    rows = dict.fromkeys((*WAYS, "the gate, of what is found"), "")
    for size in sizes:
        talk = [one for one in outcomes if one.size == size and one.kind == TALK]
        unseen = [one for one in talk if one.text not in fitted]
        asked = [one for one in outcomes if one.size == size and one.kind != TALK]
        columns = (talk, unseen, asked)
        counts += "".join(f"{len(some):9,}" for some in columns)
        for way in WAYS:
            rows[way] += "".join(f"{_share(some, way):9.1f}" for some in columns)
        found = [[one for one in some if one.is_found] for some in columns]
        rows["the gate, of what is found"] += "".join(
            f"{_share(some, 'the gate'):9.1f}" for some in found
        )
    for title, row in {"how many": counts, **rows}.items():
        print(f"{title:26s}{row}")


def _print_data_sets(outcomes: Sequence[Outcome]) -> None:
    print("\nthe gate by data set: talk and requests (how many)")
    for name in dict.fromkeys(one.data_set for one in outcomes):
        row = ""
        for size in _sizes(outcomes):
            some = [one for one in outcomes if one.size == size and one.data_set == name]
            asked = [one for one in some if one.kind != TALK]
            talk = [one for one in some if one.kind == TALK]
            row += (
                f"{_share(talk, 'the gate'):10.1f}{_share(asked, 'the gate'):8.1f} ({len(asked)})"
            )
        print(f"{name:16s}{row}")


def _print_exceptions(outcomes: Sequence[Outcome]) -> None:
    """Talk that passes, by how often; requests that do not."""
    passing: dict[str, int] = defaultdict(int)
    for one in outcomes:
        if one.kind == TALK and one.passes["the gate"]:
            passing[one.text] += 1
    print("\ntalk that passes:")
    for text, count in sorted(passing.items(), key=lambda item: -item[1]):
        print(f"{count:4d}  {text}")
    print("\nrequests that do not:")
    for one in outcomes:
        if one.kind != TALK and not one.passes["the gate"]:
            found = "" if one.is_found else "nothing found: "
            print(f"{one.size:6,} {one.data_set:14s} {one.score:.3f} {found}{one.text[:120]}")


def _sizes(outcomes: Sequence[Outcome]) -> list[int]:
    return sorted({one.size for one in outcomes})


def _plain(text: str) -> str:
    return text.lower().strip(" .!?,")


def _fitted_phrases() -> set[str]:
    contents = [tomllib.loads(path.read_text(encoding="utf-8")) for path in PHRASES]
    return {
        _plain(phrase)
        for content in contents
        for parts in content.values()
        for phrases in parts.values()
        for phrase in phrases.split(" | ")
    }


def _arguments(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="the judged sets")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="of the catalogues")
    parser.add_argument("--show", action="store_true", help="the texts that went wrong")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
