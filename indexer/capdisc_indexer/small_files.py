"""The small files beside the stores of a generation: the state of every file, and what overviews and lists are made
from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from capdisc_indexer import state
from capdisc_indexer.columns import columns_document
from capdisc_indexer.overview import kinds, overview, static
from capdisc_indexer.render.counting import frame_counts, guidance_counts
from capdisc_indexer.state import FileState
from capdisc_indexer.tokens import TokenCounter


def write_small_files(
    target: Path,
    files: Mapping[str, FileState],
    before: state.Saved,
    guidance: Mapping[str, Mapping[str, str]],
    counter: TokenCounter,
) -> None:
    """Write them into a new folder; `guidance` is by category, as `check.guiding` gives it."""
    target.mkdir()
    state.save(target / "files.json", files, before)
    by_id = {claim.final: claim.card for one in files.values() for claim in one.claims if claim.final and claim.card}
    cards = list(by_id.values())
    guided = guidance_counts(counter, {each["category"]: each["text"] for each in guidance.values()})
    contents = {
        "overview": _overview(cards, sorted(guidance), counter),
        "guidance": {"categories": guidance, "counts": guided},
        "columns": columns_document(by_id),
    }
    write_notes(target, contents)


def write_notes(target: Path, contents: Mapping[str, Any]) -> None:
    """Write each as a file of JSON by its name."""
    for name, value in contents.items():
        (target / f"{name}.json").write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")


def _overview(cards: list[Mapping[str, Any]], guided: list[str], counter: TokenCounter) -> dict[str, Any]:
    offered = [card for card in cards if not card["hidden"]]
    lines = overview(offered)
    return {
        "categories": lines,
        "kinds": kinds(cards),
        "static": static(offered),
        "guided": guided,
        "counts": frame_counts(counter, [line for each in lines for line in each["lines"]]),
    }
