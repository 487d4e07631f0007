"""Does a small language model choose better with capdisc? It names one capability for each request: with the
whole catalogue in front of it, with its names alone, and with what `capdisc render` prints within a budget.

    pip install xllamacpp        # in an environment of its own: no dependency of capdisc
    PYTHON tools/bench/choose.py CAPDISC MODEL.gguf FOLDER… [--sample 60] [--budgets 150,300]

A folder has corpus.jsonl, queries.jsonl and qrels.tsv, as those of `capdisc eval`; skills with `content`
are laid out as SKILL.md files. A grammar lets the model say only names that stand in its prompt, and the
temperature is 0. `first` is no model: it takes capdisc's first hit. A request for which capdisc prints
nothing counts as wrong. Of requests with several right answers each counts.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import tempfile
from collections.abc import Callable
from pathlib import Path

import xllamacpp
from judged_sets import Request, has_name, index_catalogue, read_lines, read_requests

_DESCRIPTION_CHARACTERS = 300
_SYSTEM = "You choose the one tool or skill that fits a request. Answer with its name alone."


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("capdisc")
    parser.add_argument("model")
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--sample", type=int, default=60)
    parser.add_argument("--budgets", default="150,300")
    options = parser.parse_args()
    server = start_model(options.model)
    for folder in options.folders:
        entries = list(map(json.loads, read_lines(folder / "corpus.jsonl")))
        requests = read_requests(folder, {entry["id"]: entry["name"] for entry in entries})
        random.Random(1).shuffle(requests)
        with tempfile.TemporaryDirectory() as scratch:
            run = index_catalogue(options.capdisc, folder, entries, Path(scratch))
            measure(server, run, entries, requests[: options.sample], options.budgets, folder.name)


def measure(
    server: xllamacpp.Server,
    run: Callable[..., str],
    entries: list[dict[str, str]],
    requests: list[Request],
    budgets: str,
    title: str,
) -> None:
    """Print a line for each way to choose: how many choices are right, and tokens of a prompt."""
    names = [entry["name"] for entry in entries]
    whole = "\n".join(
        f"- {entry['name']}: {entry.get('description', '')[:_DESCRIPTION_CHARACTERS]}"
        for entry in entries
    )
    ways: dict[str, Callable[[Request], str]] = {
        "whole catalogue": lambda request: whole,
        "names alone": lambda request: "\n".join(f"- {name}" for name in names),
    }
    for budget in budgets.split(","):
        ways[f"render {budget}"] = lambda request, budget=budget: run(  # type: ignore[misc]
            "render", request.text, "--budget", budget
        )
    for way, print_context in ways.items():
        right = tokens = told = 0
        for request in requests:
            context = print_context(request)
            offered = [name for name in names if has_name(context, name)]
            told += bool(request.right & set(offered))
            if offered:
                answer, size = ask(server, context, request.text, offered)
                right += answer in request.right
                tokens += size
        print(
            f"{title:20} {way:16} right {right:3} of {len(requests)}, told {told:3}, "
            f"{tokens / len(requests):7.0f} tokens",
            flush=True,
        )
    first = sum(
        bool(request.right & {hit["name"] for hit in search(run, request.text)[:1]})
        for request in requests
    )
    print(f"{title:20} {'first':16} right {first:3} of {len(requests)}", flush=True)


def search(run: Callable[..., str], text: str) -> list[dict[str, str]]:
    hits: list[dict[str, str]] = json.loads(run("search", text, "--json", "-k", "1"))["hits"]
    return hits


def start_model(path: str) -> xllamacpp.Server:
    params = xllamacpp.CommonParams()
    params.model.path, params.n_ctx, params.n_parallel, params.verbosity = path, 32_768, 1, 0
    params.cpuparams.n_threads = os.cpu_count() or 1
    return xllamacpp.Server(params)


def ask(
    server: xllamacpp.Server, context: str, request: str, offered: list[str]
) -> tuple[str, int]:
    """The name that the model says, and the tokens of its prompt."""
    question = f"{context}\n\nRequest: {request}\nWhich one fits? Answer with the name."
    answer = server.handle_chat_completions(
        {
            "messages": [
                {"role": "system", "content": _SYSTEM},
                {"role": "user", "content": question},
            ],
            "temperature": 0,
            "max_tokens": 64,
            "cache_prompt": True,
            "grammar": f"root ::= {' | '.join(map(json.dumps, offered))}",
        }
    )
    return answer["choices"][0]["message"]["content"], answer["usage"]["prompt_tokens"]


if __name__ == "__main__":
    main()
