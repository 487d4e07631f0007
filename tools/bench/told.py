"""What share of the needed capabilities does a context of N tokens tell? `capdisc render`, against what
anybody could print without it.

    PYTHON tools/bench/told.py CAPDISC FOLDER… [--sample 20] [--svg FILE]     (--svg: with the extra plot)

A need is told when its name or id stands in the text, and eight words in a row of its description or text, or its
whole first sentence. Tokens are o200k. A folder has corpus.jsonl, queries.jsonl and qrels.tsv.

- list: the same ranking, a line of name and first sentence (110 characters) for each hit
- whole texts: the same ranking, description and text of each hit
- catalogue: every entry with its description, in the order of the file
- Claude's rule: all names, then whole descriptions in the order of the file as long as there is room
- names: every name; it tells nothing, so what is printed is how many are named
"""

from __future__ import annotations

import argparse
import json
import random
import re
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from judged_sets import has_name, index_catalogue, read_lines, read_requests

from capdisc_indexer.lazy_imports import load_token_counter, matplotlib

BUDGETS = (100, 150, 300, 600, 1200, 2400)
_LINE_CHARACTERS, _WORDS_IN_A_ROW = 110, 8
_SENTENCE_END = re.compile(r"(?<=[.!?;。])\s+|\n")
_COLOURS = {"render": "#3b6ea5", "list": "#6fa8dc"}

Entry = dict[str, str]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("capdisc")
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--sample", type=int, default=20)
    parser.add_argument("--svg", type=Path)
    options = parser.parse_args()
    sets = [measure(options.capdisc, folder, options.sample) for folder in options.folders]
    ways = {
        way: [sum(told[way][place] for told in sets) / len(sets) for place in range(len(BUDGETS))]
        for way in sets[0]
    }
    print("| at most |", " | ".join(f"{budget:,}" for budget in BUDGETS), "|")
    for way, shares in ways.items():
        print(f"| {way} |", " | ".join(f"{100 * share:.1f}" for share in shares), "|")
    if options.svg:
        draw(ways, options.svg)


def measure(capdisc: str, folder: Path, sample: int) -> dict[str, list[float]]:
    """The share of needs that each way tells, by budget."""
    entries: list[Entry] = list(map(json.loads, read_lines(folder / "corpus.jsonl")))
    by_id = {entry["id"]: entry for entry in entries}
    texts_of = {(entry["name"], entry.get("description", "")): entry for entry in entries}
    requests = read_requests(folder, {})
    random.Random(1).shuffle(requests)
    requests = requests[:sample]
    sums: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        run = index_catalogue(capdisc, folder, entries, Path(scratch))
        for request in requests:
            answer = json.loads(run("search", request.text, "--json", "-k", "100"))
            hits = [
                texts_of.get((hit["name"], hit["description"] or ""), hit)
                for hit in answer["hits"]
            ]
            needs = [by_id[identifier] for identifier in request.right if identifier in by_id]
            for way, texts in list_ways(run, request.text, hits, entries).items():
                shares = sums.setdefault(way, [0.0] * len(BUDGETS))
                for place, text in enumerate(texts):
                    found = sum(
                        (has_name(text, entry["name"]) or has_name(text, entry["id"]))
                        and (way == "names" or tells(text, entry))
                        for entry in needs
                    )
                    shares[place] += found / max(len(needs), 1) / len(requests)
    print(folder.name, {way: [round(100 * share) for share in row] for way, row in sums.items()})
    return sums


def list_ways(
    run: Callable[..., str], query: str, hits: Sequence[Entry], entries: Sequence[Entry]
) -> dict[str, list[str]]:
    """The texts of each way, by budget."""
    names = [f"- {entry['name']}\n" for entry in entries]
    described = [f"- {entry['name']}: {entry.get('description', '')}\n" for entry in entries]
    return {
        "render": [run("render", query, "--budget", str(budget)) for budget in BUDGETS],
        "list": fit(f"- {hit['name']}: {first_sentence(hit)}\n" for hit in hits),
        "whole texts": fit(
            f"{hit['name']}\n{hit.get('description', '')}\n{hit.get('content') or ''}\n"
            for hit in hits
        ),
        "catalogue": fit(described),
        "Claude's rule": [fit_descriptions(names, described, budget) for budget in BUDGETS],
        "names": fit(names),
    }


def fit(pieces: Iterable[str]) -> list[str]:
    """For each budget the first pieces that fit."""
    count = load_token_counter()
    spent, ends = 0, []
    for piece in pieces:
        spent += count(piece)
        if spent > BUDGETS[-1]:
            break
        ends.append((spent, piece))
    return ["".join(piece for end, piece in ends if end <= budget) for budget in BUDGETS]


def fit_descriptions(names: Sequence[str], described: Sequence[str], budget: int) -> str:
    """All names, and the first descriptions that there is room for."""
    count, lines = load_token_counter(), list(names)
    left = budget - sum(map(count, lines))
    for place, line in enumerate(described):
        extra = count(line) - count(lines[place])
        if extra <= left:
            lines[place], left = line, left - extra
    return "".join(lines) if left >= 0 else fit(names)[BUDGETS.index(budget)]


def first_sentence(entry: Entry) -> str:
    sentence = _SENTENCE_END.split(entry.get("description", "").strip(), maxsplit=1)[0]
    if len(sentence) <= _LINE_CHARACTERS:
        return sentence
    return sentence[: _LINE_CHARACTERS - 1].rsplit(" ", 1)[0] + "…"


def tells(text: str, entry: Entry) -> bool:
    """Whether the text says what the entry does."""
    said = f" {' '.join(words(text))} "
    sentence = _SENTENCE_END.split(entry.get("description", "").strip(), maxsplit=1)[0]
    if f" {' '.join(words(sentence))} " in said:
        return True
    return any(
        f" {' '.join(run)} " in said
        for source in (entry.get("description", ""), entry.get("content") or "")
        for run in zip(*(words(source)[start:] for start in range(_WORDS_IN_A_ROW)), strict=False)
    )


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def draw(ways: dict[str, list[float]], target: Path) -> None:
    picture = matplotlib().figure.Figure(figsize=(7, 3.6), layout="constrained")
    axes = picture.subplots()
    for way, shares in ways.items():
        values = [100 * share for share in shares]
        axes.plot(BUDGETS, values, marker="o", ms=3, color=_COLOURS.get(way), label=way)
        axes.annotate(
            way, (BUDGETS[-1], values[-1]), (4, 0), textcoords="offset points", fontsize=8
        )
    axes.set_xscale("log")
    axes.set_xticks(BUDGETS, [f"{budget:,}" for budget in BUDGETS])
    axes.set_ylim(0, 100)
    axes.set_xlabel("tokens at most", fontsize=8)
    axes.set_ylabel("needed capabilities told, %", fontsize=8)
    axes.tick_params(labelsize=8)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    picture.savefig(target, metadata={"Date": None})


if __name__ == "__main__":
    main()
