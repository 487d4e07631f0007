"""What each part of the ranking is worth: every part off, one at a time, on the judged sets beside the project.

python tests/bench/ablation.py ../shared/eval
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

from capdisc_indexer import encoders, engines
from capdisc_indexer.build import build
from capdisc_indexer.evaluation import forms
from capdisc_indexer.evaluation.asking import answers
from capdisc_indexer.evaluation.gold import resolved
from capdisc_indexer.evaluation.metrics import means, measures
from capdisc_indexer.index import Index
from capdisc_indexer.spelling import Wording
from capdisc_indexer.types import BuildOptions

CORE = "capdisc_indexer."


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the ranking, and what stands in for each of its names when it is off. Some are built into an index."""

    name: str
    off: dict[str, Any]
    built_in: bool = False
    mode: str = "auto"


def _unstemmed() -> Any:
    t = engines.tantivy()
    filters = (t.Filter.remove_long(60), t.Filter.lowercase(), t.Filter.ascii_fold())
    builder = t.TextAnalyzerBuilder(t.Tokenizer.simple())
    for each in filters:
        builder = builder.filter(each)
    return builder.build()


def _as_typed(documents: Any, text: str) -> Wording:
    return Wording(tuple(dict.fromkeys(documents.analyse(" ".join(documents.words(text))))), text)


PARTS = (
    Part("everything on", {}),
    Part("vectors", {}, mode="lexical"),
    Part("words", {}, mode="vector"),
    Part("graph", {}, mode="no-graph"),
    Part("late interaction", {"discover._reader": lambda *_: None}),
    Part("  of the query", {"ranking.MEETS_QUERY": 0.0}),
    Part("  of the name", {"ranking.MEETS_NAME": 0.0}),
    Part("  of the description", {"ranking.MEETS_DESCRIPTION": 0.0}),
    Part("clauses", {"wishes.clauses": lambda text: ()}),
    Part("spelling", {"candidates.worded": _as_typed}),
    Part("words' share by what is known", {"ranking.LEXICAL_SHARE": 0.5, "candidates.coverage": lambda *_: 1.0}),
    Part("query stop words", {"text.STOP_WORDS": frozenset()}),
    Part("name field", {"store.matching.NAME_WEIGHT": 1e-6}),
    Part("collapse of near copies", {"discover.collapse": lambda hits, heads: hits}),
    Part("refusal", {"judgement.LEAST_RELEVANCE": -2.0}),
    Part("a vector for each phrase", {
        "encoding.embedding_texts": lambda d: (_described(d),), "publishing.embedding_texts": lambda d: (_described(d),)
    }, built_in=True),
    Part("identifier splitting", {"text.split_identifiers": lambda text: ""}, built_in=True),
    Part("stemming", {"store.schema.analyser": _unstemmed, "store.lexical.analyser": _unstemmed,
                      "store.writer.analyser": _unstemmed}, built_in=True),
    Part("pairs of unspaced scripts", {"text.bigrams": lambda text: text}, built_in=True),
)  # fmt: skip


def _described(descriptor: Any) -> str:
    from capdisc_indexer.embedding_text import description_text

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
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", type=Path, help="the folder of the sets")
    parser.add_argument("--encoder", default=encoders.SHIPPED)
    return parser.parse_args(argv)


def _figures(name: str, folder: Path, encoder: str) -> Iterator[tuple[Part, float]]:
    with tempfile.TemporaryDirectory() as scratch:
        root = scores._typed(folder, Path(scratch) / "set") if name == scores.REQUIRED else folder
        whole = Path(scratch) / "whole"
        build([root], whole, BuildOptions(encoder=encoder, encoder_required=True))
        for number, part in enumerate(PARTS):
            with _off(part):
                index_dir = Path(scratch) / f"{number}" if part.built_in else whole
                if part.built_in:
                    build([root], index_dir, BuildOptions(encoder=encoder, encoder_required=True))
                yield part, _figure(folder, index_dir, encoder, part.mode)


def _figure(folder: Path, index_dir: Path, encoder: str, mode: str) -> float:
    queries = forms.queries((folder / "queries.jsonl").read_bytes(), "queries.jsonl")
    judged = forms.judgements((folder / "qrels.tsv").read_bytes(), "qrels.tsv")
    with Index(index_dir) as index:
        gold = resolved(index, judged)
        found = answers(index, queries, encoders.load(encoder), mode, scores.DEPTH, lambda *_: None)
    rows = [measures([key for key, _ in found.hits[each.qid]], gold.grades[each.qid]) for each in queries]
    return 100 * means(rows)[0]


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
    print(f"{'without':31s}" + "".join(f"{name[:7]:>9s}" for name in names) + f"{'mean':>8s}{'loss':>7s}")
    for part in PARTS:
        row = found[part.name]
        print(
            f"{part.name:31s}" + "".join(f"{value:9.1f}" for value in row) + f"{mean(row):8.2f}{whole - mean(row):7.2f}"
        )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
