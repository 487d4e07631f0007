"""The tool on real corpora that lie beside the project: what is indexed, what is found, what fits.

python tools/bench/real.py ../shared
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import time
from pathlib import Path

from capdisc_indexer import encoders
from capdisc_indexer.indexing.pipeline import build_index
from capdisc_indexer.lazy_imports import load_token_counter
from capdisc_indexer.model.types import Budgets, BuildOptions, Query, Severity
from capdisc_indexer.rendering.assembly import assemble
from capdisc_indexer.rendering.capability_text import detail_text
from capdisc_indexer.rendering.formats import FORMATS
from capdisc_indexer.rendering.render_job import RenderInputs
from capdisc_indexer.rendering.token_accounting import learn_counts
from capdisc_indexer.retrieval.pipeline import search_index
from capdisc_indexer.store.snapshot import Index
from capdisc_indexer.text.token_counts import TokenCounter

BUDGET = 1_850
QUERIES = 200
SENTENCES = {
    "make an animated gif for slack from this drawing": "slack-gif-creator",
    "turn this word document into clean text and keep the tracked changes": "docx",
    "my tests fail one day and pass the next, get them stable": "test-fixing",
    "write the plan before touching any code": "writing-plans",
    "look over this pull request before I merge it": "pr-review-expert",
    "where do I find published structures of a protein": "pdb-database",
    "design postgres tables with the right indexes": "postgresql",
    "set up dashboards with grafana and prometheus": "grafana-dashboards",
    "pull the tables and the text out of a pdf": "pdf",
    "is my terraform safe": "terraform-patterns",
    "write a landing page that makes visitors sign up": "landing-page-generator",
    "try to log in as another user by changing the id in the url": "IDOR Vulnerability Testing",
}


def main(shared: Path) -> int:
    """Print the figures; 0 when every promise held."""
    with tempfile.TemporaryDirectory() as folder:
        index_dir = Path(folder)
        good = _taken_in(shared / "corpora" / "skills", index_dir)
        with Index(index_dir) as index:
            good = _found(index) and good
            good = _fits(index, shared / "eval") and good
    return 0 if good else 1


def _taken_in(root: Path, index_dir: Path) -> bool:
    first = build_index([root], index_dir, BuildOptions())
    second = build_index([root], index_dir, BuildOptions())
    c = first.counts
    share = 100 * (c["files"] - c["failed"]) / c["files"]
    print(
        f"indexed:  {c['files'] - c['failed']:,} of {c['files']:,} files ({share:.1f} %), {c['copies']} of them copies"
    )
    print(f"          {c['capabilities']:,} capabilities in {first.seconds:.1f} s; errors:")
    for finding in first.findings:
        if finding.severity is Severity.ERROR:
            print(f"          {finding.path}:{finding.line}: {finding.message}")
    print(
        f"again:    parsed {second.counts['parsed']}, embedded {second.counts['embedded']}, {second.seconds:.2f} s"
    )
    return share >= 97 and second.counts["parsed"] == second.counts["embedded"] == 0


def _found(index: Index) -> bool:
    encoder, places = encoders.load_encoder(), []
    for text, name in SENTENCES.items():
        ids = [hit.id for hit in search_index(index, Query(texts=(text,), limit=5), encoder).hits]
        names = [identifier.partition(":")[2].partition("@")[0] for identifier in ids]
        places.append(names.index(name) + 1 if name in names else None)
        print(f"          {places[-1] or '-'} {text}: {', '.join(ids)}")
    in_three, in_five = (sum(place in range(1, n + 1) for place in places) for n in (3, 5))
    print(f"found:    {in_three} of {len(SENTENCES)} in the first three, {in_five} in five")
    return in_five >= 10


def _fits(index: Index, evaluation: Path) -> bool:
    encoder, count, over, tokens = encoders.load_encoder(), load_token_counter(), 0, []
    overview = index.meta("overview")
    started = time.monotonic()
    for text in _queries(evaluation):
        ranking = search_index(index, Query(texts=(text,), limit=5), encoder)
        found = [index.with_counts(index.resolve(hit.id)) for hit in ranking.hits]
        for form in FORMATS.values():
            counter = TokenCounter(load_token_counter)
            counter.learn(overview["counts"])
            for descriptor, stored in found:
                learn_counts(counter, form, descriptor, stored)
            descriptors = [descriptor for descriptor, _ in found]
            material = RenderInputs(overview=overview["categories"], descriptors=descriptors)
            budgets = (
                Budgets(total=BUDGET)
                if form.levels != (1,)
                else Budgets(tier1=BUDGET, total=BUDGET)
            )
            context = assemble(material, ranking, form, budgets, counter)
            tokens.append(count(form.format_context(form, context)))
            over += tokens[-1] > BUDGET or tokens[-1] != context.tokens
    whole = sum(
        count(detail_text(index.full_descriptor(head))) for head in index.documents.all_headers()
    )
    print(
        f"fits:     {len(tokens):,} contexts of at most {BUDGET:,} tokens, {over} over or miscounted"
    )
    print(
        f"          {whole:,} tokens for the whole catalogue: {100 * (1 - max(tokens) / whole):.2f} % fewer"
    )
    print(f"          {time.monotonic() - started:.1f} s")
    return over == 0


def _queries(evaluation: Path) -> list[str]:
    lines = [line for path in sorted(evaluation.glob("*/queries.jsonl")) for line in path.open()]
    return [json.loads(line)["text"] for line in random.Random(0).sample(lines, QUERIES)]


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
