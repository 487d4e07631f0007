"""Compiles the table of clients to the JSON that capdisc reads: `just docs` runs it."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from capdisc_indexer.config import client_table

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


def write_table() -> None:
    """Write the file."""
    PATH.write_text(format_table(), encoding="utf-8")
