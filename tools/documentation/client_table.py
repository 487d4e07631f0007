"""Compiles the table of clients to the JSON that capdisc reads, and writes the tables of the pages that
list clients: `just docs` runs it.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from capdisc_indexer.config import client_table
from capdisc_indexer.config.client_table import client_sections, settings_folders

FOLDER = Path(client_table.__file__).parent.parent / "clients"
SOURCE, PATH = FOLDER / "clients.toml", FOLDER / client_table.TABLE_FILE


def format_table() -> str:
    """The text of the file: a line for each kind of section, with those of all clients."""
    entries = tomllib.loads(SOURCE.read_text(encoding="utf-8"))
    kinds = {"precedence": entries.pop("precedence")}
    common = entries.pop("all")
    union = {"title": "all clients", "skills": _unite_folders(entries, common)}
    for client, entry in {"all": union, **entries}.items():
        for kind, section in entry.items():
            kinds.setdefault(kind, {})[client] = section
    return "".join(f"{_to_json(line)}\n" for line in kinds.items())


def _unite_folders(entries: dict[str, Any], common: dict[str, list[str]]) -> dict[str, list[str]]:
    """The folders of skills of every client, those that they share with `all` last."""
    return {
        scope: [
            *(
                name
                for name in dict.fromkeys(_skill_folders(entries, scope))
                if name not in common[scope] and name not in common["left_out"]
            ),
            *common[scope],
        ]
        for scope in ("workspace", "user")
    }


def _skill_folders(entries: dict[str, Any], scope: str) -> Iterator[str]:
    for entry in entries.values():
        yield from entry.get("skills", {}).get(scope, ())


def _to_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)  # a date as YYYY-MM-DD


# The tables of the pages, each between two comments.


def format_page(name: str) -> str:
    """The text of the page docs/NAME with the table of clients that belongs into it."""
    text = (DOCS / name).read_text(encoding="utf-8")
    start, end = text.index(TABLE_START) + len(TABLE_START), text.index(TABLE_END)
    header, *rows = [f"| {' | '.join(cells)} |" for cells in PAGES[name]()]
    line = re.sub(r"[^|]+", "---", header)
    return "\n".join([text[:start], header, line, *rows, text[end:]])


def _list_servers() -> Iterator[list[str]]:
    yield ["client", "the user's file", "a file of the workspace"]
    titles = client_sections("title")
    for client, section in client_sections("servers", ranking="servers").items():
        files = section.get("read", section)
        addition = ", also its entry for this project" if "project_table" in section else ""
        user, workspace = (_list_paths(files.get(scope, ())) for scope in ("user", "workspace"))
        yield [titles[client], user + addition, workspace]


def _list_places() -> Iterator[list[str]]:
    yield ["client", "kind", "in the workspace", "in your home"]
    for client, title in client_sections("title").items():
        for kind in ("agents", "commands"):
            if section := client_sections(kind).get(client):
                scopes = (_list_paths(section.get(scope, ())) for scope in ("workspace", "user"))
                yield [title, kind[:-1], *scopes]


def _list_budgets() -> Iterator[list[str]]:
    # The module reads the table, which may be about to be written.
    from capdisc_audit.client_listings import CLIENT_LISTINGS
    from capdisc_audit.listing_budgets import LARGE_WINDOW, ListingSettings, listing_budget

    yield ["client", "budget", "one description", "order", "on overflow"]
    for rule in CLIENT_LISTINGS.values():
        budget = f"{rule.budget:,} {rule.unit}" if rule.budget else "none known"
        if rule.share:
            windows = [rule.window] + [LARGE_WINDOW] * (len(rule.token_units) > 1)
            parts = [
                f"{listing_budget(rule, ListingSettings(window=window)):,} of {window:,} tokens"
                for window in windows
            ]
            budget = f"{rule.share:.0%} of the window, in {rule.unit}: {', '.join(parts)}"
        if rule.own:
            budget += f"; {rule.own:,} are for its own {rule.own_skills} skills"
        limit = f"{rule.max_description:,} characters" if rule.max_description else "none known"
        yield [f"{rule.title} {rule.version}", budget, limit, rule.order, rule.overflow]


def _list_sources() -> Iterator[list[str]]:
    yield ["client", "what", "read or seen in", "date"]
    titles = client_sections("title")
    for client, sources in client_sections("sources").items():
        for source in sources:
            yield [titles[client], source["figure"], source["source"], source["date"]]


def _list_paths(paths: Sequence[str]) -> str:
    folders = settings_folders(Path("~"), Path(), {}, "linux")
    names = (path.format_map(folders).removeprefix("./") for path in paths)
    return ", ".join(f"`{name}`" for name in names) or "–"


DOCS = Path(__file__).resolve().parent.parent.parent / "docs"
TABLE_START, TABLE_END = "<!-- Written by `just docs` from clients.toml. -->", "<!-- end -->"
PAGES: dict[str, Callable[[], Iterator[list[str]]]] = {
    "audit.md": _list_budgets,
    "gateway.md": _list_servers,
    "internals/clients.md": _list_sources,
    "sources.md": _list_places,
}


def write_table() -> None:
    """Write the file."""
    PATH.write_text(format_table(), encoding="utf-8")


def write_pages() -> None:
    """Write the tables of the pages."""
    for name in PAGES:
        (DOCS / name).write_text(format_page(name), encoding="utf-8")
