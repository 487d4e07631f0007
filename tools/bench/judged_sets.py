"""Folders of judged requests (corpus.jsonl, queries.jsonl, qrels.tsv), laid out and indexed for a measurement."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Request:
    """What somebody asks for, and the names of what is right for it."""

    text: str
    right: frozenset[str]


def has_name(text: str, name: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text) is not None


def read_lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split("\n")[:-1]


def read_requests(folder: Path, names: dict[str, str]) -> list[Request]:
    """The requests of the folder that have a right answer, by these names of ids, else by ids."""
    right: dict[str, set[str]] = {}
    for line in read_lines(folder / "qrels.tsv"):
        query, identifier, _ = line.split("\t")
        right.setdefault(query, set()).add(names.get(identifier, identifier))
    queries = map(json.loads, read_lines(folder / "queries.jsonl"))
    return [
        Request(query["text"], frozenset(right[query["qid"]]))
        for query in queries
        if query["qid"] in right
    ]


def index_catalogue(
    capdisc: str, folder: Path, entries: list[dict[str, str]], scratch: Path
) -> Callable[..., str]:
    """Index the catalogue in a workspace of its own; what runs capdisc there."""
    workspace, home = scratch / "workspace", scratch / "home"
    (workspace / ".git").mkdir(parents=True)
    home.mkdir()
    environ = {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", "NO_COLOR": "1"}

    def run(*words: str) -> str:
        done = subprocess.run(
            [capdisc, *words],
            cwd=workspace,
            env=environ,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stdout

    is_skills = sum(bool(entry.get("content")) for entry in entries) > len(entries) / 2
    for number, entry in enumerate(entries if is_skills else ()):
        folder_name = re.sub(r"[^\w-]+", "-", entry["name"].lower()).strip("-")
        place = workspace / ".claude" / "skills" / folder_name / "SKILL.md"
        if place.exists():
            place = place.parent.with_name(f"{folder_name}-{number}") / "SKILL.md"
        place.parent.mkdir(parents=True)
        place.write_text("".join(skill_lines(entry)), encoding="utf-8")
    if not is_skills:
        (workspace / "corpus.jsonl").write_bytes((folder / "corpus.jsonl").read_bytes())
    run("index", *([] if is_skills else ["corpus.jsonl"]), "--wait")
    return run


def skill_lines(entry: dict[str, str]) -> Iterator[str]:
    description = json.dumps(entry.get("description", ""), ensure_ascii=False)
    yield f"---\nname: {entry['name']}\ndescription: {description}\n---\n"
    yield entry.get("content") or ""
