"""What is loaded ahead into the part of a context that stays the same from turn to turn: one line
for each capability that fits a pattern of the setting `preload`.

The choice is searched for once and stored in the state folder. It is made again when the patterns,
their limits or the index change, so that it never names what is gone.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from capdisc.context import open_index, query_execution
from capdisc.output import console
from capdisc.render.relevant_capabilities import offered_headers
from capdisc_indexer import lazy_imports
from capdisc_indexer.config.settings_reader import parse_json
from capdisc_indexer.model.errors import CapdiscError
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.types import LayoutPiece, Query
from capdisc_indexer.rendering.capability_text import summary_line
from capdisc_indexer.rendering.layout import DEFAULT_LAYOUT
from capdisc_indexer.text.token_counts import TokenCounter

FILE_NAME = "preload.json"
HEADING = "Loaded ahead:\n"
# What is loaded ahead has at most this share of the whole budget.
_BUDGET_SHARE = 3


@frozen(kw_only=True)
class Preload:
    """The capabilities that are loaded ahead, by id, their text, and whether their choice was
    stored before.
    """

    ids: tuple[str, ...] = ()
    text: str = ""
    is_cached: bool = False


def load_preload(
    ctx: open_index.CommandContext, query: Query, counter: TokenCounter, total_tokens: int
) -> Preload:
    """What the setting `preload` loads ahead and the query's filters let through; nothing without
    patterns. A notice says what the budget leaves out.
    """
    patterns: Sequence[str] = ctx.config["preload"]
    if not patterns:
        return Preload()
    path = ctx.runtime.state_dir() / FILE_NAME
    key = _make_key(ctx, patterns)
    stored_ids = _read_choice(path, key)
    ids = _choose_ids(ctx, patterns) if stored_ids is None else stored_ids
    if stored_ids is None:
        _write_choice(path, key, ids)
    headers = list(offered_headers(ctx, query, ids))
    lines = [f"- {summary_line(ctx.index.full_descriptor(header))}\n" for header in headers]
    shown = list(lines)
    while shown and counter.count(HEADING + "".join(shown)) > total_tokens // _BUDGET_SHARE:
        shown.pop()
    if len(shown) < len(lines):
        left_out = console.format_count(len(lines) - len(shown), "capability", "capabilities")
        console.print_notice(f"notice: loaded ahead: left out to fit: {left_out}")
    return Preload(
        ids=tuple(header["id"] for header in headers[: len(shown)]),
        text=f"{HEADING}{''.join(shown)}" if shown else "",
        is_cached=stored_ids is not None,
    )


def add_to_layout(layout: Sequence[LayoutPiece], preload: Preload) -> tuple[LayoutPiece, ...]:
    """The layout with what is loaded ahead behind the overview, or at its beginning where it has
    none, so that it stands in the prefix of a split.
    """
    pieces = list(layout or DEFAULT_LAYOUT)
    parts = [piece.part for piece in pieces]
    place = parts.index("overview") + 1 if "overview" in parts else 0
    pieces.insert(place, LayoutPiece(text=preload.text))
    return tuple(pieces)


def _choose_ids(ctx: open_index.CommandContext, patterns: Sequence[str]) -> tuple[str, ...]:
    """The capabilities that fit a pattern at least as well as the setting says; the best of all
    patterns, in the order of their ids.
    """
    limit, threshold = ctx.config["preload_limit"], ctx.config["preload_threshold"]
    relevance_of_id: dict[str, float] = {}
    for pattern in (pattern for pattern in patterns if pattern.strip()):
        ranking = query_execution.rank_query(ctx, Query(texts=(pattern,), limit=limit), None)
        for hit in ranking.hits:
            if hit.relevance >= threshold:
                relevance_of_id[hit.id] = max(hit.relevance, relevance_of_id.get(hit.id, 0.0))
    best_first = sorted(relevance_of_id, key=lambda key: (-relevance_of_id[key], key))
    return tuple(sorted(best_first[:limit]))


def _make_key(ctx: open_index.CommandContext, patterns: Sequence[str]) -> str:
    """A digest of everything that the choice depends on."""
    names = ("preload_threshold", "preload_limit", "mode", "encoder")
    values = [
        list(patterns),
        *(ctx.config[name] for name in names),
        str(ctx.index.index_dir),
        ctx.index.generation.number,
        ctx.index.generation.built_at,
    ]
    return lazy_imports.hex_sha256(json.dumps(values).encode())


def _read_choice(path: Path, key: str) -> tuple[str, ...] | None:
    """The stored choice, None where there is none for this key."""
    from capdisc_indexer.store import state_file

    try:
        record = parse_json(state_file.read_state_file(path) or b"{}")
    except (CapdiscError, ValueError):
        return None
    if not isinstance(record, dict) or record.get("key") != key:
        return None
    ids = record.get("ids")
    return tuple(str(identifier) for identifier in ids) if isinstance(ids, list) else None


def _write_choice(path: Path, key: str, ids: Sequence[str]) -> None:
    """Store the choice; where that fails, it is searched for again the next time."""
    from capdisc_indexer.store import state_file

    try:
        with state_file.lock_folder(path.parent):
            state_file.replace_state_file(
                path, json.dumps({"key": key, "ids": list(ids)}).encode()
            )
    except CapdiscError as error:
        console.print_notice(f"notice: what is loaded ahead was not stored: {error.message}")
