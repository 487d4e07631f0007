"""What the engine of the second design finds and prints, beside capdisc: same catalogue, same vectors.

python tools/bench/second_engine.py ../shared --modules build/second-engine

The engine is the npm package @framers/agentos, driven by second_engine.mjs. Its embedding function
is the static encoder of capdisc, its vector store its own, its settings its defaults, and
then its ranking without its limits (5 summaries of a relevance of 0.3 or more). capdisc is measured
as it comes, and with its limit, 5 summaries. Without node or the package nothing is measured, and
the exit status is 0.

hit@k: a right answer is among the first k; none: nothing was found; in full: a right answer is in
tier 2; lines and details: how many there are in tiers 1 and 2; then tokens of o200k_base of tier 0,
and of the whole prompt.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

import capdisc_indexer as cd
from capdisc_audit import query_files
from capdisc_audit.evaluation import discounted_gain
from capdisc_audit.query_files import EvalQuery, Grades, resolve_judgements
from capdisc_indexer import encoders
from capdisc_indexer.text.token_counts import find_tokenizer

# The package names graphology as an optional dependency; without it the engine does not start.
PACKAGES = {"@framers/agentos": "0.9.164", "graphology": "0.26.0"}
HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
# Skills with bodies, plugins of one sentence, functions with parameters, and our own fixtures.
JUDGED_SETS = ("skilltriggers", "metatool", "nestful")
OFFICE = "office"
DEPTH = 10
# How many summaries the engine prints at most, as it comes.
ENGINE_SUMMARIES = 5
# Nothing of its ranking is held back: no least relevance, ten summaries of any length.
UNLIMITED: Mapping[str, float] = {
    "tier1TopK": DEPTH,
    "tier1MinRelevance": -1,
    "tier1TokenBudget": 1_000_000,
}
_COLUMNS = (
    *("hit@1", "hit@5", "hit@10", "nDCG@10", "none", "in full"),
    *("lines", "details", "tier 0", "mean", "max"),
)


@dataclass(frozen=True, slots=True)
class Answer:
    """One request's answer: ids, best first; those with a summary and those printed in full; the
    overview of all capabilities and the whole prompt.
    """

    ids: Sequence[str]
    summaries: Sequence[str]
    details: Sequence[str]
    overview: str
    text: str


def main(argv: Sequence[str]) -> int:
    """Print a table of four lines a set; 0 also where there is nothing to measure with."""
    options = _options(argv)
    if reason := _find_obstacle(options.modules):
        print(f"not measured: {reason}")
        return 0
    print(f"{'':28}{'n':>5}{''.join(f'{name:>9}' for name in _COLUMNS)}")
    for name, catalogue, judgements in _sets(options.path, options.only):
        _measure_set(name, catalogue, judgements, options.modules)
    return 0


def _options(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("path", type=Path, help="the folder that holds eval/")
    parser.add_argument(
        "--modules",
        type=Path,
        default=REPOSITORY / "build" / "second-engine",
        help="the folder that holds node_modules",
    )
    parser.add_argument("--only", action="append", metavar="SET", help="repeatable")
    return parser.parse_args(argv)


def _find_obstacle(modules: Path) -> str:
    """Why the package cannot be run, with the command that helps; "" if it can."""
    if shutil.which("node") is None:
        return "there is no node; install Node.js 20 or newer"
    missing = [
        name
        for name in PACKAGES
        if not (modules / "node_modules" / name / "package.json").is_file()
    ]
    if missing:
        names = " ".join(f"{name}@{version}" for name, version in PACKAGES.items())
        install = f"npm install --prefix {modules} --ignore-scripts --omit=optional --omit=peer"
        return f"{modules} does not hold {' and '.join(missing)}; {install} {names}"
    return ""


def _sets(path: Path, only: Sequence[str] | None) -> Iterator[tuple[str, Path, Path]]:
    """The name of each set, the folder of its catalogue, and that of its queries."""
    sets = [
        (OFFICE, REPOSITORY / "fixtures" / "catalogs" / OFFICE, REPOSITORY / "tests" / "relevance")
    ]
    sets += [(name, path / "eval" / name, path / "eval" / name) for name in JUDGED_SETS]
    for name, catalogue, judgements in sets:
        if only and name not in only:
            continue
        if judgements.is_dir():
            yield name, catalogue, judgements
        else:
            print(f"{name}: {judgements} is not there")


def _measure_set(name: str, catalogue: Path, judgements: Path, modules: Path) -> None:
    queries = query_files.parse_queries(
        (judgements / "queries.jsonl").read_bytes(), "queries.jsonl"
    )
    judged = query_files.parse_judgements((judgements / "qrels.tsv").read_bytes(), "qrels.tsv")
    with tempfile.TemporaryDirectory() as scratch:
        cd.build([catalogue], Path(scratch) / "index")
        with cd.open_index(Path(scratch) / "index") as index:
            grades = resolve_judgements(index.index, judged).grades
            queries = tuple(query for query in queries if query.qid in grades)
            capabilities = list(_capabilities(index))
            print(f"{name}, {len(capabilities):,} capabilities", flush=True)
            for label, limit in (("capdisc", None), ("  at most five", ENGINE_SUMMARIES)):
                answers = [_ask_capdisc(index, query, catalogue, limit) for query in queries]
                _print_row(label, queries, grades, answers)
    with closing(SecondEngine(modules, capabilities)) as engine:
        for label, config in (("second design", {}), ("  without its limits", UNLIMITED)):
            answers = [engine.ask(query.text, config) for query in queries]
            _print_row(label, queries, grades, answers)


def _capabilities(index: cd.OpenIndex) -> Iterator[dict[str, Any]]:
    """Every capability of the index as the package's `CapabilityDescriptor`."""
    for header in index.index.documents.all_headers():
        descriptor = index.index.full_descriptor(header)
        yield {
            "id": descriptor.id,
            # The package encodes and prints parameters of tools only.
            "kind": "tool" if descriptor.schema else descriptor.kind,
            "name": descriptor.name,
            "displayName": descriptor.title or descriptor.name,
            "description": descriptor.description,
            "category": descriptor.category or "general",
            "tags": descriptor.tags,
            "requiredSecrets": descriptor.secrets,
            "requiredTools": [name.removeprefix("tool:") for name in descriptor.requires],
            "available": descriptor.available,
            "fullSchema": descriptor.schema,
            "fullContent": descriptor.content or None,
            "sourceRef": {"type": "manifest", "manifestPath": "", "entryId": descriptor.id},
        }


def _ask_capdisc(
    index: cd.OpenIndex, query: EvalQuery, workspace: Path, limit: int | None
) -> Answer:
    """The answers of `search` and of `render`, as they come or with at most `limit` hits."""
    hits = index.search(query.text, limit=limit or DEPTH).hits
    rendered = index.render(query.text, limit=limit, mark_key=b"bench", workspace=workspace)
    blocks = {tier.level: tier.blocks for tier in rendered.context.tiers}
    return Answer(
        ids=[identifier for hit in hits for identifier in (hit.id, *hit.copies)],
        summaries=[block.id for block in blocks.get(1, ())],
        details=[block.id for block in blocks.get(2, ())],
        overview="\n".join(block.text for block in blocks.get(0, ())),
        text=rendered.text,
    )


class SecondEngine:
    """The package in a process of its own, with a catalogue of capabilities."""

    def __init__(self, modules: Path, capabilities: Sequence[Mapping[str, Any]]) -> None:
        self._encoder = encoders.load_encoder()
        self._process = subprocess.Popen(
            ["node", str(HERE / "second_engine.mjs"), str(modules)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )
        count = self._exchange({"capabilities": capabilities})["ready"]
        if count != len(capabilities):
            raise RuntimeError(f"the package holds {count} of {len(capabilities)} capabilities")

    def close(self) -> None:
        """End the process."""
        self._process.communicate()

    def ask(self, text: str, config: Mapping[str, float]) -> Answer:
        """What it discovers for a request, with these settings in place of its defaults."""
        found = self._exchange({"query": text, "config": config})
        return Answer(ids=found["summaries"], **found)

    def _exchange(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to a message; vectors that it asks for on the way are given."""
        while True:
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            self._process.stdin.write(json.dumps(message) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
            if not line:
                raise RuntimeError("the package has ended; its message stands above")
            answer: dict[str, Any] = json.loads(line)
            if "texts" not in answer:
                return answer
            message = {"vectors": self._encoder.encode(answer["texts"]).tolist()}


def _print_row(
    label: str,
    queries: Sequence[EvalQuery],
    grades: Mapping[str, Grades],
    answers: Sequence[Answer],
) -> None:
    """One line of the table; shares and nDCG in percent."""
    count = find_tokenizer("o200k").load()
    shares = [
        _shares(answer, grades[query.qid]) for query, answer in zip(queries, answers, strict=True)
    ]
    tokens = [count(answer.text) for answer in answers]
    figures = [
        *(100 * mean(column) for column in zip(*shares, strict=True)),
        mean(len(answer.summaries) for answer in answers),
        mean(len(answer.details) for answer in answers),
    ]
    counts = (count(answers[0].overview), round(mean(tokens)), max(tokens))
    cells = [f"{figure:9.1f}" for figure in figures] + [f"{number:9,}" for number in counts]
    print(f"  {label:26}{len(answers):5}{''.join(cells)}", flush=True)


def _shares(answer: Answer, gold: Grades) -> tuple[float, ...]:
    """The figures of one answer, each 0 to 1, in the order of the columns up to "in full"."""
    ids = list(dict.fromkeys(answer.ids))
    gains = [gold.get(identifier, 0.0) for identifier in ids]
    return (
        *(float(any(gains[:depth])) for depth in (1, 5, DEPTH)),
        discounted_gain(gains) / discounted_gain(sorted(gold.values(), reverse=True)),
        float(not ids),
        float(any(identifier in gold for identifier in answer.details)),
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
