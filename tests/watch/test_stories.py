"""What a watch tells while folders, links, lists and roots change: the stories of `test_stories.toml`."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from capdisc_indexer.model.types import BuildOptions, DeclaredSource, LinkRules
from case_rows import read_rows

FUNCTIONS = read_rows(__file__, "functions")


@pytest.mark.parametrize("story", read_rows(__file__, "stories"), ids=lambda story: story["shows"])
def test_a_story_of_changes_is_told(story, root, hermetic: Path, watching, described) -> None:
    def run(line: str) -> None:
        subprocess.run(["sh", "-ec", f"{FUNCTIONS}{line}"], cwd=hermetic, check=True)

    def place(name: str) -> Path:
        return hermetic / name

    run(story.get("before", ""))
    build = BuildOptions(
        sources=tuple(
            DeclaredSource(**{**each, "path": str(place(each["path"]))})
            for each in story.get("sources", ())
        ),
        links=LinkRules(
            own_places=tuple(str(place(name)) for name in story.get("own_places", ()))
        ),
        confined={
            str(place(name)): (str(place(to)),) for name, to in story.get("confined", {}).items()
        },
    )
    roots, optional = (
        [place(name) for name in names]
        for names in (story.get("watch", ["skills"]), story.get("optional", ()))
    )
    turns = watching(*roots, build=build, optional=frozenset(optional), **story.get("pace", {}))
    for step in story["steps"]:
        run(step.get("do", ""))
        turn = next(turns)
        while "until" in step and sorted(described()) != step["until"]:
            turn = next(turns)
        told: dict[str, Any] = {
            "do": step.get("do"),
            "until": step.get("until"),
            "report": turn.report is not None,
            "notices": [text.replace(str(hermetic), "HERE") for text in turn.notices],
            "errors": len(turn.errors),
            "ids": sorted(described()),
            "described": described(),
        }
        if turn.report is not None:
            names = ("added", "updated", "removed")
            told["changes"] = [turn.report.counts[name] for name in names]
        for name, wanted in step.items():
            found = told[name]
            is_part = name == "described" and wanted.items() <= found.items()
            assert is_part or found == wanted, (name, json.dumps(told))
