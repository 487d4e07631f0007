"""The settings there are: what each is for, its default, the variable that sets it, and where its
value may lie.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any

from capdisc_indexer.model.errors import InputError
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.types import DeclaredSource

# The `[[source]]` tables of a configuration: files that are read as the format that they say.

_SOURCE_KEYS = frozenset({"format", "path", "name"})
_VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_SIGNS = re.compile(r"[*?\[]")
_SOURCE_HINT = 'write [[source]] with lines such as format = "openapi" and path = "apis/shop.yaml"'


def parse_declarations(
    tables: Any, file: Path, base: Path, trusted: bool
) -> Iterator[DeclaredSource]:
    """The declarations in `file`, whose relative paths are meant from `base`; `~` is left for who
    knows the home.

    Raises InputError for what is no declaration. Formats and their options are known to those who
    read them.
    """
    for table in (
        [tables] if isinstance(tables, dict) else tables if isinstance(tables, list) else [tables]
    ):
        if not isinstance(table, dict):
            raise InputError(f"{file}: source must be a table", _SOURCE_HINT)
        # A database that is asked has an address instead, which is a secret: its name is an
        # option.
        path = _read_text(table, "path", file, needed="url_secret" not in table)
        _check_secret(table.get("url_secret", "URL"), file)
        options = {
            key.replace("-", "_"): value for key, value in table.items() if key not in _SOURCE_KEYS
        }
        yield DeclaredSource(
            format=_read_text(table, "format", file),
            path=path if path.startswith("~") else str(base / path),
            name=_read_text(table, "name", file, needed=False),
            options=options,
            origin=str(file),
            trusted=trusted,
        )


def _check_secret(name: Any, file: Path) -> None:
    """Raises InputError for what is no name; it may be the secret itself, so no message repeats
    it.
    """
    if not isinstance(name, str) or not _VARIABLE_NAME.fullmatch(name):
        message = f"{file}: url_secret of a source must be the name of an environment variable"
        raise InputError(
            message, "write a name such as DATABASE_URL, and set it in the environment"
        )


def _read_text(table: dict[str, Any], key: str, file: Path, needed: bool = True) -> str:
    value = table.get(key, "")
    if not isinstance(value, str) or (needed and not value.strip()) or "\0" in value:
        raise InputError(f"{file}: {key} of a source must be text, not {value!r}", _SOURCE_HINT)
    return value.strip()


def fixed_part(path: str) -> tuple[str, str]:
    """The folder that a path with a pattern begins with, and the pattern below it; "" where there
    is none.

    >>> fixed_part("/a/apis/*.json"), fixed_part("/a/b.json")
    (('/a/apis', '*.json'), ('/a/b.json', ''))
    """
    found = _SIGNS.search(path)
    if not found:
        return path, ""
    folder, _, _ = path[: found.start()].rpartition("/")
    return folder or "/", path[len(folder) + 1 :]


class Reach(Enum):
    """What the file of a workspace may do with a setting before its user trusts it."""

    FREE = "any value"
    INSIDE = "paths that stay inside the workspace once links are resolved"
    TIGHTEN = "what leaves every rule on that guards the reader"
    ASKED = "only the values that the setting calls harmless"
    OWN = "nothing, trusted or not: only the user's own file and environment"


@frozen
class Setting:
    """What a setting is for: its default, the environment variable that sets it, and a sentence;
    `reach` is what a workspace's file may do with it unasked, `harmless` the values that
    `Reach.ASKED` lets pass.
    """

    default: Any
    variable: str
    about: str
    reach: Reach = Reach.FREE
    harmless: tuple[str, ...] = ()


SETTINGS: dict[str, Setting] = {
    "roots": Setting(
        [], "CAPDISC_DIRS", "folders to scan beside the conventional ones", Reach.INSIDE
    ),
    "folders": Setting(
        "all",
        "CAPDISC_FOLDERS",
        "whose conventional folders: all, agents, claude, codex, gemini, …",
    ),
    "index_dir": Setting(
        "",
        "CAPDISC_INDEX_DIR",
        "where the index lies: a folder, or s3://BUCKET/PREFIX; empty: the user's cache folder",
        Reach.INSIDE,
    ),
    "encoder": Setting(
        "",
        "CAPDISC_ENCODER",
        "static, or a sentence-transformers model; empty: as the index was made",
        Reach.ASKED,  # a folder or a name on a hub: loading a model may run what comes with it
        ("", "static"),
    ),
    "mode": Setting("auto", "CAPDISC_MODE", "auto, hybrid, lexical or vector"),
    "limit": Setting(10, "CAPDISC_LIMIT", "how many hits a search prints"),
    "budget": Setting(3000, "CAPDISC_BUDGET", "tokens that a rendered context may have in all"),
    "tier0_budget": Setting(200, "CAPDISC_TIER0_BUDGET", "tokens of the overview"),
    "tier1_budget": Setting(800, "CAPDISC_TIER1_BUDGET", "tokens of the summaries"),
    "tier2_budget": Setting(2000, "CAPDISC_TIER2_BUDGET", "tokens of the details"),
    "memory_budget": Setting(
        200, "CAPDISC_MEMORY_BUDGET", "tokens of a session's memory in a rendered context"
    ),
    "tokenizer": Setting(
        "o200k",
        "CAPDISC_TOKENIZER",
        "whose tokens a rendered context counts: o200k, claude, chars4",
    ),
    "tier1_top_k": Setting(5, "CAPDISC_TIER1_TOP_K", "how many summaries"),
    "tier2_top_k": Setting(2, "CAPDISC_TIER2_TOP_K", "how many details"),
    "lock_timeout": Setting(10.0, "CAPDISC_LOCK_TIMEOUT", "seconds to wait for another writer"),
    "pin": Setting(
        [], "CAPDISC_PIN", "names of capabilities that every list of tools and every prompt has"
    ),
    "progressive": Setting(
        "on",
        "CAPDISC_PROGRESSIVE",
        "tools without a query: on (the few that find), off (all), auto",
    ),
    "store.fresh_for": Setting(
        0.0, "CAPDISC_STORE_FRESH_FOR", "seconds until a shared index is looked at again"
    ),
    "store.allow": Setting(
        [],
        "CAPDISC_STORE_ALLOW",
        "addresses that a workspace's file may name as the index",
        Reach.OWN,
    ),
    "allow_secret_files": Setting(
        False,
        "CAPDISC_ALLOW_SECRET_FILES",
        "read declared sources that hold keys, passwords or tokens",
        Reach.OWN,
    ),
    "validate.profile": Setting(
        "spec", "CAPDISC_VALIDATE_PROFILE", "whose rules: see capdisc validate --help"
    ),
    "validate.select": Setting(
        [], "CAPDISC_VALIDATE_SELECT", "only these rules; empty: all of them", Reach.TIGHTEN
    ),
    "validate.ignore": Setting([], "CAPDISC_VALIDATE_IGNORE", "rules to leave out", Reach.TIGHTEN),
}


# Read where ours is not set: folders that were named for another program of the same format.
ALIAS_VARIABLES = {"roots": ("WUNDERLAND_CAPABILITY_DIRS",)}

# Not taken from a workspace's file, which came with what it would allow.
USER_ONLY_SETTINGS = frozenset(
    name for name, setting in SETTINGS.items() if setting.reach is Reach.OWN
)

# Where a number may lie; the others start at 1 and have no end.
VALUE_RANGES: dict[str, tuple[float, float]] = {
    "limit": (1, 1000),
    "lock_timeout": (0, 86_400),
    "store.fresh_for": (0, 86_400),
    "tier0_budget": (0, math.inf),
    "tier1_budget": (0, math.inf),
    "tier2_budget": (0, math.inf),
    "memory_budget": (0, math.inf),
}
