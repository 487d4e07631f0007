"""What is refused: requests that the catalogue can answer, requests for another catalogue, and made-up words.

python tests/bench/refusal.py ../shared/eval

The level of refusal was set with other made-up words than these. Requests for another set count as unanswerable though
some of them are not ("what is the weather" has a tool in several sets), so the share refused of them is a lower bound.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from unittest.mock import patch

from capdisc_indexer import encoders
from capdisc_indexer.evaluation import query_files
from capdisc_indexer.indexing.pipeline import build_index
from capdisc_indexer.model.types import BuildOptions, Query
from capdisc_indexer.retrieval import calibration, pipeline
from capdisc_indexer.retrieval.pipeline import search_index
from capdisc_indexer.store.snapshot import Index

SETS = (
    "metatool",
    "toollinkos",
    "skilltriggers",
    "ha_intents",
    "clinc150",
    "nestful",
    "toolalpaca",
)
OWN, OF_EACH_OTHER, MADE_UP = 150, 25, 100
KINDS = ("its own", "of other sets", "made up")
ANSWERED = 0.95


def main(argv: Sequence[str]) -> int:
    """Print, by set, the share refused of each kind, at the shipped level and where 95 % of its own are answered."""
    path, encoder = Path(argv[0]), argv[1] if len(argv) > 1 else encoders.SHIPPED_ENCODER
    texts = {name: _queries(path / name) for name in SETS}
    found = {name: _relevances(path / name, encoder, _asked(name, texts)) for name in SETS}
    every = {kind: [value for name in SETS for value in found[name][kind]] for kind in KINDS}
    level = sorted(every["its own"])[round((1 - ANSWERED) * len(every["its own"]))]
    print(f"{'refused, in percent':22s}" + "".join(f"{kind:>16s}" for kind in KINDS))
    for name in SETS:
        print(_row(name, found[name], calibration.MIN_RELEVANCE))
    print(_row(f"all, level {calibration.MIN_RELEVANCE:.2f}", every, calibration.MIN_RELEVANCE))
    print(_row(f"all, level {level:.2f}", every, level))
    return 0


def _queries(folder: Path) -> list[str]:
    return [
        each.text
        for each in query_files.parse_queries(
            (folder / "queries.jsonl").read_bytes(), "queries.jsonl"
        )
    ]


def _asked(name: str, texts: dict[str, list[str]]) -> dict[str, list[str]]:
    rng = random.Random(name)
    others = [rng.sample(each, OF_EACH_OTHER) for other, each in texts.items() if other != name]
    own = rng.sample(texts[name], min(OWN, len(texts[name])))
    return dict(
        zip(KINDS, (own, [text for each in others for text in each], made_up(rng)), strict=True)
    )


def made_up(rng: random.Random) -> list[str]:
    """Queries of one to four words that no language has, by another recipe than the index's own probes."""

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


def _relevances(folder: Path, encoder: str, asked: dict[str, list[str]]) -> dict[str, list[float]]:
    """The best relevance that each query finds when nothing is refused; more by what the level for
    this text is lower than the usual one.
    """
    level = calibration.MIN_RELEVANCE
    with (
        tempfile.TemporaryDirectory() as scratch,
        patch.object(pipeline, "refuse_irrelevant", lambda hits, *_: list(hits)),
    ):
        build_index(
            [folder], Path(scratch) / "index", BuildOptions(encoder=encoder, encoder_required=True)
        )
        used = encoders.load_encoder(encoder)
        with Index(Path(scratch) / "index") as index:
            best = {
                kind: [
                    search_index(index, Query(texts=(text,), limit=20), used).hits
                    for text in texts
                ]
                for kind, texts in asked.items()
            }
    reader = encoders.load_shipped_encoder()
    return {
        kind: [
            max((hit.relevance for hit in hits), default=0.0)
            + level
            - calibration.least_relevance([text], reader)
            for text, hits in zip(asked[kind], best[kind], strict=True)
        ]
        for kind in best
    }


def _row(name: str, values: dict[str, list[float]], level: float) -> str:
    shares = (
        100 * sum(value < level for value in values[kind]) / len(values[kind]) for kind in KINDS
    )
    return f"{name:22s}" + "".join(f"{share:16.1f}" for share in shares)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
