"""The settings: what each one is for, its default, the variable that sets it, its range, and what
the file of a workspace may do with it. Also the `[[source]]` and `[[overlay]]` tables of a
configuration.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from enum import Enum
from pathlib import Path, PurePosixPath
from typing import Any, TypeAlias

from capdisc_indexer.model.errors import InputError
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.json_types import JsonObject
from capdisc_indexer.model.risks import RISK_CHOICES, risk_level
from capdisc_indexer.model.types import OVERLAY_FIELDS, DeclaredSource, Overlay, Presets
from capdisc_indexer.text.normalization import compile_late


class Reach(Enum):
    """What the file of a workspace may do with a setting without a grant of its user."""

    FREE = "any value"
    INSIDE = "paths that stay inside the workspace once links are resolved"
    TIGHTEN = "any value that leaves every rule on that guards the reader"
    HARMLESS = "only the values that the setting lists as harmless"
    OWN = "nothing, trusted or not: only the user's own file and environment"


# The least and the greatest value of a number.
_SHARE, _A_DAY, _A_THOUSAND = (0, 1), (0, 86_400), (1, 1000)
_FROM_ZERO, _FROM_ONE = (0, math.inf), (1, math.inf)


@frozen
class Setting:
    """A setting: its default, which also decides its type, what it is for, and within which limits
    a number has to be; `harmless` are the values that `Reach.HARMLESS` lets pass. `own_variable`
    is the environment variable where its name does not follow the setting's; `aliases` are read
    where that is not set: another program of the same format uses them.
    """

    name: str
    default: Any
    about: str
    reach: Reach = Reach.FREE
    harmless: tuple[str, ...] = ()
    limits: tuple[float, float] = _FROM_ONE
    own_variable: str = ""
    aliases: tuple[str, ...] = ()

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return self.own_variable or f"CAPDISC_{self.name.upper().replace('.', '_')}"

    @property
    def variables(self) -> tuple[str, ...]:
        """The same with the aliases, the strongest first."""
        return (self.variable, *self.aliases)


# Values by the name of their setting, each of the type of its default.
SettingValues: TypeAlias = Mapping[str, Any]

_SETTINGS = (
    Setting(
        "roots",
        [],
        "folders to scan besides the conventional ones",
        Reach.INSIDE,
        own_variable="CAPDISC_DIRS",
        aliases=("WUNDERLAND_CAPABILITY_DIRS",),
    ),
    Setting("folders", "all", "whose conventional folders: all, agents, claude, codex, gemini, …"),
    Setting(
        "index_dir",
        "",
        "where the index lies: a folder, or s3://BUCKET/PREFIX; empty: the user's cache folder",
        Reach.INSIDE,
    ),
    Setting(
        "collection_name",
        "",
        "the name of another index next to the usual one: letters, digits, - and _",
    ),
    Setting(
        "encoder",
        "",
        "static, or a sentence-transformers model; empty: as the index was made",
        Reach.HARMLESS,  # a folder or a name on a hub: loading a model may run what comes with it
        ("", "static"),
    ),
    Setting(
        "reranker",
        "",
        "an encoder that reorders the first hits in mcp, or none; empty: as the index was made",
        Reach.HARMLESS,
        ("", "none"),
    ),
    Setting("mode", "auto", "auto, hybrid, lexical, vector or rerank"),
    Setting("limit", 10, "how many hits a search prints", limits=_A_THOUSAND),
    Setting(
        "min_relevance",
        0.05,
        "the least relevance, 0 to 1, of a hit that is shown, printed or offered",
        limits=_SHARE,
    ),
    Setting(
        "graph_boost",
        0.15,
        "the share of its partners' scores, 0 to 1, that a hit gains; 0: none",
        limits=_SHARE,
    ),
    Setting(
        "preload", [], "patterns: what fits one has a line in the stable part of every prompt"
    ),
    Setting(
        "preload_threshold",
        0.3,
        "the least relevance, 0 to 1, of what is loaded ahead",
        limits=_SHARE,
    ),
    Setting(
        "preload_limit", 50, "how many capabilities are loaded ahead at most", limits=_A_THOUSAND
    ),
    Setting("split_queries", True, "whether a query of several clauses is searched in parts, too"),
    Setting(
        "synonyms",
        "",
        "a file of synonyms for queries, with lines such as ticket = issue, bug report",
        Reach.INSIDE,
    ),
    Setting(
        "log", False, "keep a local log of requests and uses: see capdisc log --help", Reach.OWN
    ),
    Setting(
        "hook.show",
        True,
        "a line on your screen where capdisc hook adds to a prompt, in clients that can show one",
        Reach.OWN,
    ),
    Setting(
        "hook.mode",
        "speak",
        "speak, or shadow: capdisc hook only counts what it would add, for capdisc audit",
        Reach.OWN,
    ),
    Setting(
        "usage_boost",
        0.0,
        "by which share of its score, 0 to 1, what the log says is used most rises; 0: none",
        Reach.OWN,
        limits=_SHARE,
    ),
    Setting("use_graph_reranking", True, "whether a search with mode auto follows relations"),
    Setting("budget", 3000, "tokens that a rendered context may have in all"),
    Setting("tier0_budget", 200, "tokens of the overview", limits=_FROM_ZERO),
    Setting("tier1_budget", 800, "tokens of the summaries", limits=_FROM_ZERO),
    Setting("tier2_budget", 2000, "tokens of the details", limits=_FROM_ZERO),
    Setting(
        "memory_budget",
        200,
        "tokens of a session's memory in a rendered context",
        limits=_FROM_ZERO,
    ),
    Setting(
        "body.passages", 200, "how many passages of a body are indexed; 0: none", limits=_FROM_ZERO
    ),
    Setting("body.bytes", 262_144, "of how many bytes of a body passages are indexed"),
    Setting(
        "template", "", "auto: the prompt that render prints is chosen by the words of the query"
    ),
    Setting("tokenizer", "o200k", "whose tokens a rendered context counts: o200k, claude, chars4"),
    Setting("tier1_top_k", 30, "how many summaries at most"),
    Setting("tier2_top_k", 2, "how many details"),
    Setting("lock_timeout", 10.0, "seconds to wait for another writer", limits=_A_DAY),
    Setting(
        "keep_indexes_days",
        60,
        "days without use after which an index in the cache folder is removed; 0: never",
        Reach.OWN,
    ),
    Setting(
        "fresh",
        "auto",
        "a look at the folders before an answer: auto (take in what changed), require, off",
    ),
    Setting(
        "engine",
        "auto",
        "what finds the candidates: matrix (text index and matrix), lancedb (its table), auto",
    ),
    Setting(
        "table",
        "aside",
        "how the LanceDB table, where there is one, follows: aside (hourly), wait (at once), off",
    ),
    Setting("preset", [], "names from the table presets whose members come along with hits"),
    Setting("pin", [], "names of capabilities that every list of tools and every prompt has"),
    Setting(
        "progressive",
        "on",
        "tools without a query: on (the few that find), off (all), auto",
        aliases=("PROGRESSIVE_DISCLOSURE",),
    ),
    Setting(
        "store.fresh_for", 0.0, "seconds until a shared index is looked at again", limits=_A_DAY
    ),
    Setting(
        "store.allow", [], "addresses that a workspace's file may name as the index", Reach.OWN
    ),
    Setting(
        "allow_secret_files",
        False,
        "read declared sources that hold keys, passwords or tokens",
        Reach.OWN,
    ),
    Setting("validate.profile", "spec", "whose rules: see capdisc validate --help"),
    Setting("validate.select", [], "only these rules; empty: all of them", Reach.TIGHTEN),
    Setting("validate.ignore", [], "rules to leave out", Reach.TIGHTEN),
)
SETTINGS: Mapping[str, Setting] = {setting.name: setting for setting in _SETTINGS}

# Names that AgentOS and constat have for the same settings, and a table of theirs.
ALIAS_NAMES = {
    "tier0_token_budget": "tier0_budget",
    "tier1_token_budget": "tier1_budget",
    "tier2_token_budget": "tier2_budget",
    "tier1_min_relevance": "min_relevance",
    "graph_boost_factor": "graph_boost",
    "embedding_model_id": "encoder",
    "context_preload.seed_patterns": "preload",
    "context_preload.similarity_threshold": "preload_threshold",
    "context_preload.max_tables": "preload_limit",
}

# Never taken from a workspace's file, which came along with what it would allow.
USER_ONLY_SETTINGS = frozenset(
    name for name, setting in SETTINGS.items() if setting.reach is Reach.OWN
)

# The values of settings, checked.

_TRUE_WORDS = frozenset({"1", "true", "yes", "on"})
_FALSE_WORDS = frozenset({"0", "false", "no", "off"})
_SOURCE_KEYS = frozenset({"format", "path", "name"})
_VARIABLE_NAME = compile_late(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_PATTERN_CHARACTERS = compile_late(r"[*?\[]")
_WEB_ADDRESS = compile_late(r"https?://", re.IGNORECASE)
_SOURCE_HINT = 'write [[source]] with lines such as format = "openapi" and path = "apis/shop.yaml"'
_OVERLAY_HINT = (
    'write [[overlay]] with lines such as id = "table:shop.invoices" and phrases = ["who paid"]'
)
_PRESETS_HINT = 'write [presets] with lines such as research = ["web-search", "summarizer"]'


def parse_variable(name: str, text: str, origin: str, path_separator: str) -> Any:
    """The value that the text of a variable gives a setting. Raises InputError for a text that is
    no such value.
    """
    default = SETTINGS[name].default
    if isinstance(default, list):
        return [part for part in text.split(path_separator) if part]
    if isinstance(default, bool):
        return _parse_boolean(text, origin)
    try:
        return _check_range(name, type(default)(text), origin)
    except ValueError as error:
        raise InputError(
            f"{origin} must be {_type_name(default)}, not {text!r}", "see: capdisc config"
        ) from error


def _parse_boolean(text: str, origin: str) -> bool:
    if text.lower() in _TRUE_WORDS:
        return True
    if text.lower() in _FALSE_WORDS:
        return False
    raise InputError(f"{origin} must be true or false, not {text!r}", "see: capdisc config")


def check_type(name: str, value: Any, origin: str) -> Any:
    """The value as its setting has it. Raises InputError for another type or out of range."""
    default = SETTINGS[name].default
    if isinstance(default, float) and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    checked = _check_kind(default, value, f"{origin}: {name}", "see: capdisc config")
    return _check_range(name, checked, origin)


def _check_kind(default: Any, value: Any, label: str, hint: str) -> Any:
    """The value as one of the type of `default`; a text also as a list of one."""
    if isinstance(default, list) and isinstance(value, str):
        return [value]
    has_wrong_items = isinstance(value, list) and not all(isinstance(item, str) for item in value)
    if type(value) is not type(default) or has_wrong_items:
        raise InputError(f"{label} must be {_type_name(default)}, not {value!r}", hint)
    return value


def _type_name(default: Any) -> str:
    """What a setting with this default takes, in words."""
    if isinstance(default, list):
        return "a list of texts"
    names = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}
    return names[type(default)]


def _check_range(name: str, value: Any, origin: str) -> Any:
    if isinstance(value, bool):
        return value
    minimum, maximum = SETTINGS[name].limits
    if isinstance(value, int | float) and not minimum <= value <= maximum:
        limits = (
            f"at least {minimum}" if maximum == math.inf else f"between {minimum} and {maximum:g}"
        )
        raise InputError(f"{origin}: {name} must be {limits}, not {value}", "see: capdisc config")
    return value


# The `[[source]]` tables of a configuration: files to read, each as the format that it names.


def parse_declarations(
    declarations: object, file: Path, base: Path, trusted: bool
) -> Iterator[DeclaredSource]:
    """The sources that `file` declares; their relative paths start at `base`, `~` stays for who
    knows the home folder.

    Raises InputError for what is not a declaration. Formats and their options are checked later,
    by those who read them.
    """
    tables = declarations if isinstance(declarations, list) else [declarations]
    for table in tables:
        if not isinstance(table, dict):
            raise InputError(f"{file}: source must be a table", _SOURCE_HINT)
        # A live database has an address instead of a path. The address is a secret: an option
        # names the environment variable that holds it.
        place = _read_place(table, file)
        _check_secret_name(table.get("url_secret", "URL"), file)
        options = {
            key.replace("-", "_"): value
            for key, value in table.items()
            if key not in (*_SOURCE_KEYS, "content") and not (key == "url" and place.url == value)
        }
        yield DeclaredSource(
            format=_read_text(table, "format", file),
            path=place.url or _absolute_path(place.path, base),
            url=place.url,
            text=place.text,
            name=_read_text(table, "name", file, is_required=False) or _name_of_address(place.url),
            options=options,
            origin=str(file),
            trusted=trusted,
        )


def parse_overlays(tables: object, file: Path, is_own: bool) -> Iterator[Overlay]:
    """The overlays of the tables `[[overlay]]` in `file`. Raises InputError for another key or
    type.
    """
    for table in tables if isinstance(tables, list) else [tables]:
        if not isinstance(table, dict) or not table.get("id"):
            raise InputError(f"{file}: overlay must be a table with an id", _OVERLAY_HINT)
        values: dict[str, Any] = {}
        for key, value in table.items():
            name, label = "risk" if key == "riskLevel" else key, f"{file}: {key} of an overlay"
            if name not in ("id", *OVERLAY_FIELDS):
                raise InputError(
                    f"{file}: an overlay has no key {key!r}",
                    f"its keys: id, {', '.join(OVERLAY_FIELDS)}",
                )
            is_list = name in ("phrases", "tags", "requires")
            checked = _check_kind([] if is_list else "", value, label, _OVERLAY_HINT)
            if name == "risk" and not (checked := risk_level(checked)):
                raise InputError(
                    f"{label} cannot be {value!r}", f"one of: {', '.join(RISK_CHOICES)}"
                )
            texts = [text for item in checked if (text := item.strip())] if is_list else ()
            values[name] = tuple(texts) if is_list else checked.strip()
        yield Overlay(origin=str(file), is_own=is_own, **values)


def parse_presets(table: object, file: Path) -> Presets:
    """The names of the members by preset, from the table `[presets]` of a configuration. Raises
    InputError for anything but a table of lists of texts.
    """
    if not isinstance(table, dict):
        raise InputError(f"{file}: presets must be a table", _PRESETS_HINT)
    presets: dict[str, tuple[str, ...]] = {}
    for name, members in table.items():
        if not isinstance(members, list) or not all(isinstance(text, str) for text in members):
            raise InputError(f"{file}: the preset {name} must be a list of names", _PRESETS_HINT)
        presets[name] = tuple(dict.fromkeys(members))
    return presets


@frozen(kw_only=True)
class _Place:
    """Where a source lies: a path, an address on the web, or the declaration itself."""

    path: str = ""
    url: str = ""
    text: str = ""


def _read_place(table: JsonObject, file: Path) -> _Place:
    """The place of a source: `path`, which may be an address, `url` without a path, or `content`.
    Raises InputError for two of them, or none.
    """
    if "content" in table:
        if "path" in table or "url" in table:
            raise InputError(f"{file}: a source has content or a path, not both", _SOURCE_HINT)
        _read_text(table, "name", file)
        return _Place(text=_read_text(table, "content", file))
    path = _read_text(table, "path", file, is_required=False)
    url = path or _read_text(table, "url", file, is_required=False)
    if _WEB_ADDRESS.match(url):
        return _Place(url=url)
    return _Place(path=_read_text(table, "path", file, is_required="url_secret" not in table))


def _name_of_address(url: str) -> str:
    """`handbook` for https://example.com/docs/handbook.md; the host where nothing follows it."""
    _, _, rest = url.partition("://")
    path = PurePosixPath(rest.partition("?")[0].partition("#")[0])
    return path.stem if len(path.parts) > 1 else str(path)


def _absolute_path(path: str, base: Path) -> str:
    return path if path.startswith(("~", "$")) else (base / path).as_posix()


def fixed_part(path: str) -> tuple[str, str]:
    """The folder above the first pattern in a path, and the rest; the path and "" where it has no
    pattern.

    >>> fixed_part("/a/apis/*.json"), fixed_part("/a/b.json")
    (('/a/apis', '*.json'), ('/a/b.json', ''))
    """
    match = _PATTERN_CHARACTERS.search(path)
    if not match:
        return path, ""
    folder, _, _ = path[: match.start()].rpartition("/")
    return folder or "/", path[len(folder) + 1 :]


def _check_secret_name(name: object, file: Path) -> None:
    """Raises InputError for what is not the name of a variable, without repeating it: it may be
    the secret itself.
    """
    if not isinstance(name, str) or not _VARIABLE_NAME.fullmatch(name):
        message = f"{file}: url_secret of a source must be the name of an environment variable"
        raise InputError(
            message, "write a name such as DATABASE_URL, and set it in the environment"
        )


def _read_text(table: JsonObject, key: str, file: Path, is_required: bool = True) -> str:
    value = table.get(key, "")
    if not isinstance(value, str) or (is_required and not value.strip()) or "\0" in value:
        raise InputError(f"{file}: {key} of a source must be text, not {value!r}", _SOURCE_HINT)
    return value.strip()
