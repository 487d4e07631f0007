"""A small hand-written catalogue with every kind that discovery tools know."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ARTISTS = {
    "database": "music",
    "columns": [
        {"name": "ArtistId", "type": "INTEGER", "nullable": False, "primary_key": True},
        {"name": "Name", "type": "TEXT"},
    ],
    "row_count": 3,
    "samples": {"Name": {"values": ["Nina", "Otis", "Ella"], "distinct": 3, "complete": True}},
    "rows": [[1, "Nina"], [2, "Otis"], [3, "Ella"]],
    "complete": True,
}
ALBUMS = {
    "database": "music",
    "columns": [
        {"name": "AlbumId", "type": "INTEGER", "nullable": False, "primary_key": True},
        {"name": "Title", "type": "TEXT"},
        {"name": "ArtistId", "type": "INTEGER", "foreign_key": "artists.ArtistId"},
    ],
    "row_count": 40,
    "samples": {"Title": {"values": ["Blue", "Red"], "distinct": 40, "complete": False}},
    "rows": [[1, "Blue", 1], [2, "Red", 2]],
    "complete": False,
}
PARTS = {
    "database": "workshop",
    "columns": [{"name": "Bolt", "type": "TEXT"}, {"name": "Nut", "type": "TEXT"}],
}
GET_PET = {
    "api": "petstore",
    "type": "query",
    "method": "GET",
    "path": "/pets/{petId}",
    "parameters": [
        {
            "name": "petId",
            "in": "path",
            "type": "integer",
            "required": True,
            "description": "Which pet.",
        }
    ],
    "response_schema": {"type": "object", "properties": {"name": {"type": "string"}}},
}
HANDBOOK = "document:handbook"
SECTIONS = (
    ("handbook", 1, 1, [], "# Handbook\n\nHow we work."),
    ("Leave policy", 2, 2, ["handbook"], "## Leave policy\n\nThirty days a year."),
    (
        "Sick leave",
        3,
        3,
        ["handbook", "Leave policy"],
        "### Sick leave\n\nCall before nine. The code word is zanzibar.",
    ),
    ("Travel", 2, 4, ["handbook"], "## Travel\n\nTrains before planes."),
)
NOTES = """# Notes

Intro.

## First part

One.

### Inner part

Deep.

```
## not a heading
```

## Second part

Two.
"""
SKILL = """---
name: track-orders
description: Finds out where an order is. Use when a customer asks for a parcel.
allowed-tools: Read list_tables
---

# Track orders

See [the codes](references/codes.md), [the site](https://example.com/track), [below](#end),
<mailto:a@example.com> and [outside](../../secret.txt).

## End
"""


def _data(
    kind: str, identifier: str, description: str, category: str, **metadata: Any
) -> dict[str, Any]:
    name = identifier.rpartition(".")[2]
    line = {
        "id": f"{kind}:{identifier}",
        "kind": kind,
        "name": name,
        "description": description,
        "category": category,
    }
    return {**line, "metadata": metadata}


def _lines() -> list[dict[str, Any]]:
    data = [
        _data(
            "database",
            "music",
            "Artists and their albums.",
            "music",
            dbType="sqlite",
            tables=["artists", "albums"],
        ),
        _data("table", "music.artists", "People who make music.", "music", **ARTISTS),
        _data("table", "music.albums", "Long playing records of artists.", "music", **ALBUMS),
        _data(
            "table", "workshop.parts", "Compatibility of bolts and nuts.", "compatibility", **PARTS
        ),
        _data(
            "table",
            "workshop.albums",
            "Photo albums of machines.",
            "workshop",
            database="workshop",
        ),
        _data(
            "api",
            "petstore",
            "Pets in a shop.",
            "petstore",
            type="openapi",
            url="https://pets.example",
            operations=2,
        ),
        _data(
            "api",
            "zoo",
            "Animals in a zoo.",
            "zoo",
            type="openapi",
            url="https://zoo.example",
            operations=1,
        ),
        _data("operation", "petstore.getPet", "Get one pet by its number.", "petstore", **GET_PET),
        _data(
            "operation",
            "petstore.addPet",
            "Add a pet to the shop.",
            "petstore",
            api="petstore",
            method="POST",
            path="/pets",
        ),
        _data(
            "operation",
            "zoo.getPet",
            "Get a tame animal.",
            "zoo",
            api="zoo",
            method="GET",
            path="/tame",
        ),
        _data("term", "churn", "Share of customers who left.", "finance"),
        _data(
            "document",
            "handbook",
            "Rules of the company.",
            "office",
            format="markdown",
            last_updated="2024-01-15T10:30:00Z",
        ),
    ]
    sections = [
        {
            **_data(
                "section",
                f"handbook.s{chunk}",
                f"{title} in the handbook.",
                "office",
                document=HANDBOOK,
            ),
            "skillContent": text,
            "metadata": {
                "document": HANDBOOK,
                "title": title,
                "level": level,
                "chunk": chunk,
                "path": path,
            },
        }
        for title, level, chunk, path, text in SECTIONS
    ]
    notes = {
        **_data("document", "notes", "Notes in one piece.", "office", format="text"),
        "skillContent": NOTES,
    }
    return [*data, *sections, notes, *_tools()]


def _tools() -> list[dict[str, Any]]:
    rows = {
        "type": "object",
        "properties": {
            "table": {"type": "string", "description": "Which table."},
            "top": {"type": "integer", "default": 5, "description": "How many rows."},
            "order": {"enum": ["up", "down"]},
        },
        "required": ["table"],
    }
    tool = {"kind": "tool", "category": "base"}
    return [
        {
            **tool,
            "name": "base_tableList",
            "description": "Overview:\n\nLists the tables of a database. Fast.",
            "inputSchema": rows,
        },
        {
            **tool,
            "name": "base_readQuery",
            "description": "Runs a query against the warehouse.",
            "tags": ["sql"],
        },
        {
            **tool,
            "id": "tool:left.search",
            "name": "search",
            "description": "Searches the left shelf.",
            "inputSchema": {},
        },
        {
            **tool,
            "id": "tool:right.search",
            "name": "search",
            "description": "Searches the right shelf.",
            "inputSchema": {},
        },
        {
            **tool,
            "name": "list_pictures",
            "category": "images",
            "description": "Lists pictures.",
            "guidance": "Show a picture before you use it.",
            "usageHint": "When a picture is wanted.",
        },
        {
            **tool,
            "name": "crop_picture",
            "category": "images",
            "description": "Crops pictures.",
            "guidance": "Show a picture before you use it.",
        },
        {
            **tool,
            "name": "wipe_disk",
            "description": "Erases a whole disk.",
            "riskLevel": "critical",
            "requiresConfirmation": True,
            "requiredSecrets": ["DISK_KEY"],
        },
    ]


def write(folder: Path) -> Path:
    """Write the catalogue into a folder; its root."""
    root = folder / "catalogue"
    root.mkdir(parents=True)
    (root / "capabilities.jsonl").write_text("".join(json.dumps(line) + "\n" for line in _lines()))
    skill = root / "track-orders"
    (skill / "references").mkdir(parents=True)
    (skill / "SKILL.md").write_text(SKILL)
    (skill / "references" / "codes.md").write_text("# Codes\n\n7 means lost.\n")
    (folder / "secret.txt").write_text("never read")
    (root / "guidance").mkdir()
    (root / "guidance" / "images.md").write_text("Ask which folder is meant.\n")
    return root
