"""Are short skills of a project found beside a large library of others in the home folder?

python tools/bench/own_skills.py ../shared/corpora/skills
python tools/bench/own_skills.py ../shared/corpora/skills --without-prior

The project's are those of `own_skills.toml`, each with two requests. Beside them the requests for others: the first
sentences of skills of the library.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from pathlib import Path

from capdisc_indexer.encoders import load_shipped_encoder
from capdisc_indexer.indexing.pipeline import build_index
from capdisc_indexer.model.types import BuildOptions, Query, RankingChoices
from capdisc_indexer.retrieval.pipeline import search_index
from capdisc_indexer.store.snapshot import Index

OWN = Path(__file__).with_suffix(".toml")
SEED, OTHERS, SHOWN = 20261126, 100, 3


def main(argv: Sequence[str]) -> int:
    """Print how many requests have their skill first and among three, and how often one of the
    project comes first where another skill was asked for.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library", type=Path)
    parser.add_argument("--without-prior", action="store_true")
    options = parser.parse_args(argv)
    own = tomllib.loads(OWN.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as scratch:
        home, project = Path(scratch) / "home", Path(scratch) / "project"
        shutil.copytree(options.library, home)
        for name, skill in own.items():
            folder = project / "skills" / name
            folder.mkdir(parents=True)
            head = f"---\nname: {name}\ndescription: {skill['about']}\n---\n"
            (folder / "SKILL.md").write_text(head + skill["body"] + "\n", encoding="utf-8")
        build_index([project, home], Path(scratch) / "index", BuildOptions())
        workspace = "" if options.without_prior else str(project)
        choices = RankingChoices(workspace=workspace)
        with Index(Path(scratch) / "index") as index:
            _print_figures(index, own, choices)
    return 0


def _print_figures(
    index: Index, own: dict[str, dict[str, list[str]]], choices: RankingChoices
) -> None:
    own_ids = {f"skill:{name}" for name in own}
    places = []
    for name, skill in own.items():
        for text in skill["requests"]:
            ids = _search(index, text, choices)
            places.append(next((n for n, key in enumerate(ids) if key == f"skill:{name}"), 99))
            if places[-1]:
                print(f"  {places[-1] + 1:3d}  {name}: {text}  ({', '.join(ids[:SHOWN])})")
    headers = list(index.documents.all_headers(Query(texts=())))
    others = [header for header in headers if header["id"].partition("@")[0] not in own_ids]
    drawn = random.Random(SEED).sample(sorted(others, key=json.dumps), OTHERS)
    sentences = [header["description"].split(". ")[0] for header in drawn]
    firsts = [_search(index, text, choices)[:1] for text in sentences]
    mistaken = sum(bool(own_ids.intersection(ids)) for ids in firsts)
    kept = sum(header["id"] in ids for header, ids in zip(drawn, firsts, strict=True))
    print(f"own skill first: {sum(place == 0 for place in places)} of {len(places)}")
    print(f"among the first three: {sum(place < SHOWN for place in places)}")
    print(f"for others: an own one first {mistaken}, the right one first {kept} of {OTHERS}")


def _search(index: Index, text: str, choices: RankingChoices) -> list[str]:
    ranking = search_index(index, Query(texts=(text,), choices=choices), load_shipped_encoder())
    return [hit.id for hit in ranking.hits]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
