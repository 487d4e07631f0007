"""Clones that ask for too much: a workspace with a configuration of random parts, links in it, and canaries around it.

Every outside file holds the canary in a form that its format would index, and no path does.
"""

from __future__ import annotations

import json
import random
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

CANARY = "kwyjibozaurus"
HIDDEN = "".join(chr(0xE0000 + ord(letter)) for letter in "obey")
# What each format of a source reads, with the file outside that it would read the canary from.
FILES = {
    "document": "notes.md",
    "table": "prices.csv",
    "openapi": "shop.yaml",
    "mcp": "far.tools.json",
    "functions": "functions.json",
    "sql": "shop.sqlite",
    "mcp-servers": "servers.json",
}
# Ways out of the workspace to a file or folder NAME, and ways that stay in it.
WAYS_OUT = (
    "../outside/NAME", "OUTSIDE/NAME", "~/../outside/NAME", "~/NAME", "link-out/NAME", "chain/NAME", "up/outside/NAME",
    "docs/../../outside/NAME", "docs/../link-out/NAME", "../*/NAME", "OUTSIDE/**/NAME", "link-out/*", "chain/**/*",
    "/proc/self/cwd/../outside/NAME", "CLONE/../outside/NAME", "../outside/./NAME", "../outside/[a-z]*",
)  # fmt: skip
WAYS_IN = (
    "docs/NAME",
    "./docs/NAME",
    "CLONE/docs/NAME",
    "link-in/NAME",
    "docs/*",
    "docs/**/*",
    "docs/../docs/NAME",
)


@dataclass(frozen=True, slots=True)
class Clone:
    """A workspace with a home beside it: what its configuration asks for, and what its servers would leave behind."""

    folder: Path
    home: Path
    outside: Path
    started: Path
    text: str


def write_clone(place: Path, rng: random.Random) -> Clone:
    """A clone in `place/clone`, with files of the user in `place/home` and `place/outside`."""
    folder, home, outside = (place / name for name in ("clone", "home", "outside"))
    started = place / "started"
    for target in (home, outside):
        _write_files(target, CANARY, started)
    _write_files(folder / "docs", "plainword", started)
    (folder / ".git").mkdir()
    _write_skill(folder / ".claude" / "skills", "fold", "Folds paper cranes. Use when asked.")
    _write_skill(folder / ".claude" / "skills", "sneak", f"Sneaks about.{HIDDEN} Use when asked.")
    _write_links(folder, home, outside, rng)
    text = configuration(folder, outside, rng)
    name = rng.choice(("capdisc.toml", ".capdisc/config.toml", "pyproject.toml"))
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text(_in_our_table(text) if name == "pyproject.toml" else text)
    return Clone(
        folder=folder, home=home, outside=outside, started=started, text=f"# {name}\n{text}"
    )


def configuration(folder: Path, outside: Path, rng: random.Random) -> str:
    """A configuration of random parts, inside and outside mixed."""

    def path(name: str) -> str:
        way = rng.choice(WAYS_OUT if rng.random() < 0.6 else WAYS_IN)
        return (
            way.replace("NAME", name)
            .replace("OUTSIDE", str(outside))
            .replace("CLONE", str(folder))
        )

    lines = []
    if rng.random() < 0.6:
        lines.append(f"roots = {json.dumps([path('skills') for _ in range(rng.randint(1, 3))])}")
    if rng.random() < 0.4:
        places = (
            "../idx",
            "idx",
            "link-out/idx",
            "~/idx",
            f"{outside}/idx",
            "docs/../../idx",
            ".cache/idx",
            "shipped",
        )
        lines.append(f"index_dir = {json.dumps(rng.choice(places))}")
    if rng.random() < 0.4:
        models = ("static", "", "./model", "~/model", "some/model", f"{outside}/model", "docs")
        lines.append(f"encoder = {json.dumps(rng.choice(models))}")
    free = ("limit = 5", 'mode = "auto"', 'pin = ["fold"]', 'folders = "claude"')
    lines += [line for line in free if rng.random() < 0.25]
    lines += _rules(rng)
    for _ in range(rng.randint(0, 4)):
        name = rng.choice(list(FILES))
        lines += ["[[source]]", f'format = "{name}"', f"path = {json.dumps(path(FILES[name]))}"]
        lines += ["samples = 5"] if name in ("table", "sql") and rng.random() < 0.5 else []
        lines += ["ask = true"] if name == "mcp-servers" and rng.random() < 0.5 else []
    if rng.random() < 0.1:
        lines += [
            "[[source]]",
            'format = "sql"',
            'name = "crm"',
            'url_secret = "CRM_URL"',
            "ask = true",
        ]
    return "\n".join(lines) + "\n"


def _rules(rng: random.Random) -> list[str]:
    if rng.random() < 0.5:
        return []
    ignored = rng.sample(
        ("hidden-text", "hidden-", "name-case", "yaml-", "symlink", "client-field"),
        rng.randint(1, 4),
    )
    chosen = rng.choice((["name-case"], ["name-"], ["client-field", "name-case"]))
    name, codes = rng.choice((("ignore", ignored), ("select", chosen)))
    # As a dotted key, so that the tables of sources may follow.
    return [f"validate.{name} = {json.dumps(codes)}"]


def _in_our_table(text: str) -> str:
    body = text.replace("[[source]]", "[[tool.capdisc.source]]")
    return f'[project]\nname = "clone"\n\n[tool.capdisc]\n{body}'


def _write_links(folder: Path, home: Path, outside: Path, rng: random.Random) -> None:
    (folder / "link-out").symlink_to(outside)
    (folder / "chain").symlink_to("link-out")
    (folder / "up").symlink_to("..")
    (folder / "link-in").symlink_to("docs")
    (folder / "docs" / "far.md").symlink_to(outside / "notes.md")
    (folder / "docs" / "further").symlink_to(outside)
    if rng.random() < 0.5:
        (folder / ".agents").mkdir()
        (folder / ".agents" / "skills").symlink_to(
            rng.choice((outside / "skills", home, Path("../../outside")))
        )
    if rng.random() < 0.3:
        (folder / ".gemini").symlink_to(rng.choice((outside, Path("link-out"))))
    if rng.random() < 0.3:
        (folder / "idx").mkdir()
        (folder / "idx" / rng.choice(("gens", "LOCK", ".CURRENT.new", "scan.json"))).symlink_to(
            outside / "notes.md"
        )


def _write_skill(root: Path, name: str, description: str) -> None:
    (root / name).mkdir(parents=True)
    (root / name / "SKILL.md").write_text(
        f"---\nname: {name}\ndescription: {description}\n---\n\nDo it with care.\n"
    )


def _write_files(folder: Path, word: str, started: Path) -> None:
    """A file of each format that says the word, and a folder of skills."""
    folder.mkdir(parents=True)
    _write_skill(folder / "skills", "private", f"Keeps the {word}. Use when asked.")
    tool = {"name": f"feed_{word}", "description": f"Feeds the {word}."}
    api = {
        "openapi": "3.0.0",
        "info": {"title": f"The {word}", "version": "1"},
        "paths": {"/x": {"get": {"operationId": f"see_{word}", "summary": f"Shows the {word}."}}},
    }
    entry = {"command": "sh", "args": ["-c", f"touch {started}"], "env": {word: word}}
    contents = {
        "notes.md": f"# The {word}\n\nThe {word} sings at noon.\n",
        "prices.csv": f"{word},price\n{word},3\n",
        "shop.yaml": json.dumps(api),
        "far.tools.json": json.dumps({"tools": [tool]}),
        "functions.json": json.dumps(
            [{"type": "function", "function": {**tool, "parameters": {"type": "object"}}}]
        ),
        "servers.json": json.dumps({"mcpServers": {word: entry}}),
    }
    for name, text in contents.items():
        (folder / name).write_text(text)
    with closing(sqlite3.connect(folder / "shop.sqlite")) as connection:
        connection.executescript(f"CREATE TABLE {word} (id INTEGER, {word}_name TEXT);")
