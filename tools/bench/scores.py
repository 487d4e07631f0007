"""What search finds on the eleven judged sets beside the project, beside the figures of the notes.

python tools/bench/scores.py ../shared/eval --encoder static
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from capdisc_audit import query_files
from capdisc_audit.evaluation import EvalGroup, EvalSummary, run_queries, summarise_run
from capdisc_audit.query_files import resolve_judgements
from capdisc_indexer import encoders
from capdisc_indexer.indexing.pipeline import build_index
from capdisc_indexer.model.frozen import asdict
from capdisc_indexer.model.types import BuildOptions
from capdisc_indexer.store.snapshot import Index
from capdisc_indexer.store.table_search import open_local_search

# nDCG@10 in the notes: of the best fusion there, set by set, and the means of three recipes over all eight.
NOTED = {
    "metatool": 70.6, "toolret_mini": 53.8, "toollinkos": 48.4, "skilltriggers": 52.0, "ha_intents": 31.4,
    "clinc150": 87.5, "nestful": 85.4, "toolalpaca": 85.4,
}  # fmt: skip
# Sets that came later; the notes have no fusion of theirs.
LATER = ("sealtools", "tldr", "tau2")
MEANS = {"words alone": 58.1, "words and static": 63.0, "words and MiniLM": 64.3}
LINKED, REQUIRED = "toollinkos", "toollinkos+req"
SHOWN, WIDTHS = ("R@5", "C@10", "refused"), (7, 7, 9)
DEPTH = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """One set's figures with one encoder; `build_s` in seconds, `lost` counts judged ids that the index lacks."""

    name: str
    summary: EvalSummary
    build_s: float
    lost: int


def main(argv: Sequence[str]) -> int:
    """Print a table for every encoder; 0 when each set could be read."""
    options = _options(argv)
    record = {}
    for encoder in options.encoder or [encoders.SHIPPED_ENCODER]:
        print(f"\n{encoder}\n{_HEADING}")
        scored = []
        for name, folder in _sets(options.path, options.only):
            scored.append(
                score(name, folder, encoder, options.mode, options.engine, options.reranker)
            )
            print(*_lines(scored[-1]), sep="\n", flush=True)
        _print_means(scored)
        record[encoder] = [_record(each) for each in scored]
    if options.json:
        options.json.write_text(json.dumps(record, indent=1))
    return 0


def score(
    name: str,
    folder: Path,
    encoder: str,
    mode: str = "auto",
    engine: str = "matrix",
    reranker: str | None = None,
) -> Scored:
    """Index the set's corpus.jsonl and ask all of its queries. `name` may ask for the set with typed edges."""
    queries = query_files.parse_queries((folder / "queries.jsonl").read_bytes(), "queries.jsonl")
    judged = query_files.parse_judgements((folder / "qrels.tsv").read_bytes(), "qrels.tsv")
    with tempfile.TemporaryDirectory() as scratch:
        root = _typed(folder, Path(scratch) / "set") if name == REQUIRED else folder
        started = time.monotonic()
        build_index(
            [root],
            Path(scratch) / "index",
            BuildOptions(encoder=encoder, encoder_required=True, reranker=reranker),
        )
        taken = time.monotonic() - started
        with Index(Path(scratch) / "index") as index:
            if engine == "lancedb":
                index.table = open_local_search(index.index_dir, index.generation)
            gold = resolve_judgements(index, judged)
            found = run_queries(
                index, queries, encoders.load_encoder(encoder), mode, DEPTH, lambda *_: None
            )
    summary = summarise_run(queries, gold.grades, found)
    return Scored(
        name=name, summary=summary, build_s=taken, lost=len(gold.unknown) + len(gold.ambiguous)
    )


def _options(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("path", type=Path, help="the folder of the sets")
    parser.add_argument(
        "--encoder", action="append", metavar="NAME", help="static, or a model; repeatable"
    )
    parser.add_argument("--mode", default="auto")
    parser.add_argument("--reranker", metavar="NAME", help="for --mode rerank")
    parser.add_argument("--engine", default="matrix", choices=("matrix", "lancedb"))
    parser.add_argument(
        "--only", action="append", metavar="SET", help="this set alone; repeatable"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures")
    return parser.parse_args(argv)


def _sets(path: Path, only: Sequence[str] | None) -> Iterator[tuple[str, Path]]:
    """Each set with its folder; the one with relations twice, as it is and with its relations typed."""
    for name in (*NOTED, *LATER):
        for variant in (name, REQUIRED) if name == LINKED else (name,):
            if not only or variant in only:
                yield variant, path / name


def _typed(folder: Path, target: Path) -> Path:
    """A copy of the set in which what is `related` is `requires`, as its notes say that it is meant."""
    target.mkdir()
    with (folder / "corpus.jsonl").open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    changed = [
        {("requires" if key == "related" else key): value for key, value in row.items()}
        for row in rows
    ]
    (target / "corpus.jsonl").write_text(
        "".join(f"{json.dumps(row)}\n" for row in changed), encoding="utf-8"
    )
    return target


_HEADING = (
    f"{'set':16s}{'n':>5s}{'nDCG@10':>9s}{'±':>6s}{'noted':>7s}{'R@5':>7s}{'C@10':>7s}{'refused':>9s}"
    f"{'ms':>6s}{'build s':>9s}"
)


def _lines(scored: Scored) -> Iterator[str]:
    """The set's row, a row for each of its languages, and a word on judged ids that are not there."""
    for group in scored.summary.groups:
        if group.name == "all":
            noted = f"{NOTED[scored.name]:7.1f}" if scored.name in NOTED else " " * 7
            times = f"{scored.summary.latency[50]:6.1f}{scored.build_s:9.1f}"
            yield _row(scored.name, group, noted) + times
        elif group.name.startswith("lang="):
            yield _row(f"  {group.name}", group, " " * 7)
    if scored.lost:
        yield f"  judged ids that the index lacks: {scored.lost}"
    yield from (f"  {text}" for text in scored.summary.degraded)


def _row(name: str, group: EvalGroup, noted: str) -> str:
    ndcg = f"{group.means['nDCG@10']:9.1f}{group.half_widths['nDCG@10']:6.1f}"
    rest = "".join(
        f"{group.means[metric]:{width}.1f}" for metric, width in zip(SHOWN, WIDTHS, strict=True)
    )
    return f"{name:16s}{group.n:5d}{ndcg}{noted}{rest}"


def _print_means(scored: Sequence[Scored]) -> None:
    """Means over the sets, whichever way the one with relations is read, and without it."""
    found = {each.name: each.summary.groups[0].means for each in scored}
    rest = [name for name in NOTED if name != LINKED]
    kinds = {
        "mean of 11 +req": [*rest, REQUIRED, *LATER],
        "mean of 8 +req": [*rest, REQUIRED],
        "mean of 8": [*rest, LINKED],
        "mean of 7": rest,
    }
    for label, names in kinds.items():
        if all(name in found for name in names):
            noted = f"{_mean(NOTED, names):7.1f}" if NOTED.keys() >= set(names) else " " * 7
            shown = (
                _mean({name: found[name][metric] for name in names}, names)
                for metric in ("nDCG@10", *SHOWN)
            )
            ndcg, *others = shown
            cells = "".join(
                f"{value:{width}.1f}" for value, width in zip(others, WIDTHS, strict=True)
            )
            print(f"{label:16s}{'':5s}{ndcg:9.1f}{'':6s}{noted}{cells}")
    print("noted means of 8:", ", ".join(f"{name} {value}" for name, value in MEANS.items()))


def _mean(values: Mapping[str, float], names: Sequence[str]) -> float:
    return sum(values[name] for name in names) / len(names)


def _record(scored: Scored) -> dict[str, object]:
    return {
        "set": scored.name,
        "build_s": scored.build_s,
        "lost": scored.lost,
        **asdict(scored.summary),
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
