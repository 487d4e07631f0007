"""What each part of the ranking is worth: every part off, one at a time, on the judged sets beside the project.

python tools/bench/ablation.py ../shared/eval
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import scores

from capdisc_audit import query_files
from capdisc_audit.evaluation import column_means, compute_metrics, run_queries
from capdisc_audit.query_files import resolve_judgements
from capdisc_indexer import encoders, lazy_imports
from capdisc_indexer.indexing.pipeline import build_index
from capdisc_indexer.model.frozen import replace
from capdisc_indexer.model.types import BuildOptions
from capdisc_indexer.retrieval.body_passages import PassageEvidence
from capdisc_indexer.retrieval.late_interaction import SIGNALS, Signal
from capdisc_indexer.retrieval.query_analysis import CorrectedQuery
from capdisc_indexer.store.snapshot import Index

CORE = "capdisc_indexer."


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the ranking, and what stands in for each of its names when it is off. Some are built into an index."""

    name: str
    off: dict[str, Any]
    built_in: bool = False
    mode: str = "auto"


def _unstemmed() -> Any:
    t = lazy_imports.tantivy()
    filters = (t.Filter.remove_long(60), t.Filter.lowercase(), t.Filter.ascii_fold())
    builder = t.TextAnalyzerBuilder(t.Tokenizer.simple())
    for each in filters:
        builder = builder.filter(each)
    return builder.build()


def _as_typed(index: Index, text: str) -> CorrectedQuery:
    documents = index.documents
    return CorrectedQuery(
        tuple(dict.fromkeys(documents.analyse(" ".join(documents.words(text))))), text
    )


def _without(signal: Signal) -> tuple[Signal, ...]:
    return tuple(replace(other, weight=0.0) if other is signal else other for other in SIGNALS)


PARTS = (
    Part("everything on", {}),
    Part("vectors", {}, mode="lexical"),
    Part("words", {}, mode="vector"),
    Part("graph", {}, mode="no-graph"),
    Part("late interaction", {"retrieval.pipeline._rerank_encoder": lambda *_: None}),
    *(
        Part(f"  {signal.name}", {"retrieval.late_interaction.SIGNALS": _without(signal)})
        for signal in SIGNALS
    ),
    Part("phrases together", {"retrieval.late_interaction.CENTROID_WEIGHT": 0.0}),
    Part("clauses", {"retrieval.query_analysis.content_clauses": lambda text: ()}),
    Part("passages of bodies", {"retrieval.pipeline.find_passages": lambda *_: PassageEvidence()}),
    Part("spelling", {"retrieval.query_analysis.correct_spelling": _as_typed}),
    Part("words' share by what is known", {"retrieval.fusion.LEXICAL_SHARE": 0.5, "retrieval.candidates.coverage": lambda *_: 1.0}),
    Part("query stop words", {"text.normalization.STOP_WORDS": frozenset()}),
    Part("name field", {"store.text_queries.NAME_WEIGHT": 1e-6}),
    Part("collapse of near copies", {"retrieval.pipeline.merge_near_duplicates": lambda hits, heads: hits}),
    Part("refusal", {"retrieval.pipeline.judge": lambda *_: None}),
    Part("a vector for each phrase", {
        "indexing.document_changes.embedding_texts": lambda d: (_described(d),), "indexing.commit.embedding_texts": lambda d: (_described(d),)
    }, built_in=True),
    Part("identifier splitting", {"text.normalization.split_identifiers": lambda text: ""}, built_in=True),
    Part("stemming", {"store.text_queries.build_analyser": _unstemmed, "store.documents.build_analyser": _unstemmed}, built_in=True),
    Part("pairs of unspaced scripts", {"text.normalization.bigrams": lambda text: text}, built_in=True),
)  # fmt: skip


def _described(descriptor: Any) -> str:
    from capdisc_indexer.text.embedding_text import description_text

    return description_text(descriptor)


def main(argv: Sequence[str]) -> int:
    """Print nDCG@10 by part and set, and the loss on average."""
    options = _options(argv)
    sets = [each for each in scores._sets(options.path, None) if each[0] != scores.LINKED]
    found: dict[str, list[float]] = {part.name: [] for part in PARTS}
    for name, folder in sets:
        for part, figure in _figures(name, folder, options.encoder):
            found[part.name].append(figure)
        print(f"{name} done", file=sys.stderr, flush=True)
    _print([name for name, _ in sets], found)
    return 0


def _options(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("path", type=Path, help="the folder of the sets")
    parser.add_argument("--encoder", default=encoders.SHIPPED_ENCODER)
    return parser.parse_args(argv)


def _figures(name: str, folder: Path, encoder: str) -> Iterator[tuple[Part, float]]:
    with tempfile.TemporaryDirectory() as scratch:
        root = scores._typed(folder, Path(scratch) / "set") if name == scores.REQUIRED else folder
        whole = Path(scratch) / "whole"
        build_index([root], whole, BuildOptions(encoder=encoder, encoder_required=True))
        for number, part in enumerate(PARTS):
            with _off(part):
                index_dir = Path(scratch) / f"{number}" if part.built_in else whole
                if part.built_in:
                    build_index(
                        [root], index_dir, BuildOptions(encoder=encoder, encoder_required=True)
                    )
                yield part, _figure(folder, index_dir, encoder, part.mode)


def _figure(folder: Path, index_dir: Path, encoder: str, mode: str) -> float:
    queries = query_files.parse_queries((folder / "queries.jsonl").read_bytes(), "queries.jsonl")
    judged = query_files.parse_judgements((folder / "qrels.tsv").read_bytes(), "qrels.tsv")
    with Index(index_dir) as index:
        gold = resolve_judgements(index, judged)
        found = run_queries(
            index, queries, encoders.load_encoder(encoder), mode, scores.DEPTH, lambda *_: None
        )
    rows = [
        compute_metrics([key for key, _ in found.hits[each.qid]], gold.grades[each.qid])
        for each in queries
    ]
    return 100 * column_means(rows)[0]


@contextmanager
def _off(part: Part) -> Iterator[None]:
    with ExitStack() as stack:
        for target, stand_in in part.off.items():
            stack.enter_context(patch(CORE + target, stand_in))
        yield


def mean(row: Sequence[float]) -> float:
    """The plain mean."""
    return sum(row) / len(row)


def _print(names: Sequence[str], found: dict[str, list[float]]) -> None:
    whole = mean(found[PARTS[0].name])
    print(
        f"{'without':31s}"
        + "".join(f"{name[:7]:>9s}" for name in names)
        + f"{'mean':>8s}{'loss':>7s}"
    )
    for part in PARTS:
        row = found[part.name]
        print(
            f"{part.name:31s}"
            + "".join(f"{value:9.1f}" for value in row)
            + f"{mean(row):8.2f}{whole - mean(row):7.2f}"
        )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
