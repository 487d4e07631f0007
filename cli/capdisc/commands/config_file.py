"""Which configuration file holds a setting, and how is one value in it changed or removed?

tomlkit changes the one value, so that comments and order stay. The result is read again before it
is written, and the file is replaced in one step.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from capdisc.context import freshness, surroundings, user_files
from capdisc.setup.settings_files import check_link
from capdisc_indexer.config.client_table import client_sections
from capdisc_indexer.config.configuration import find_workspace_file, snake_case
from capdisc_indexer.config.settings import (
    SETTINGS,
    USER_ONLY_SETTINGS,
    check_type,
    parse_variable,
)
from capdisc_indexer.config.settings_reader import parse_toml, read_text
from capdisc_indexer.model.errors import InputError, UsageError
from capdisc_indexer.retrieval.pipeline import MODES
from capdisc_indexer.text.similar_names import suggest_names, unknown_choice
from capdisc_indexer.text.token_counts import TOKENIZERS
from capdisc_indexer.validation.finding_selection import code_matches, unknown_code_error
from capdisc_indexer.validation.rules import PROFILES, load_rules

# The values of settings that are names. Files and variables are checked where they are used.
SETTING_CHOICES: Mapping[str, Collection[str]] = MappingProxyType(
    {
        "folders": tuple(client_sections("skills")),
        "mode": MODES,
        "fresh": freshness.MODES,
        "tokenizer": tuple(TOKENIZERS),
        "progressive": ("on", "off", "auto"),
        "validate.profile": tuple(PROFILES),
    }
)
_RULE_SETTINGS = ("validate.select", "validate.ignore")
_PATH_SETTINGS = ("roots", "index_dir")


def find_file(runtime: surroundings.Runtime, is_workspace: bool) -> Path:
    """The user's own file, or that of the workspace; it need not exist. Raises LinkRefusedError
    for a link out of the workspace.
    """
    if not is_workspace:
        return runtime.user_config
    file = find_workspace_file(runtime.workspace) or runtime.workspace / "capdisc.toml"
    check_link(file, runtime.workspace, runtime.home)
    return file


def require_setting(name: str) -> str:
    """The name of the setting as the table of settings has it. Raises UsageError, with the nearest
    names, for one that it does not have.
    """
    known_name = snake_case(name)
    if known_name not in SETTINGS:
        raise UsageError(
            f"unknown setting {name[:80]!r}",
            f"{suggest_names(known_name, SETTINGS)} capdisc config names all".strip(),
        )
    return known_name


def parse_value(name: str, texts: Sequence[str]) -> Any:
    """The value of the setting that the typed words give. Raises UsageError for a name that it
    does not take, and InputError for another type or range.
    """
    if isinstance(SETTINGS[name].default, list):
        if name in _RULE_SETTINGS:
            for pattern in texts:
                if not any(code_matches(code, [pattern]) for code in load_rules()):
                    raise unknown_code_error(pattern)
        return check_type(name, list(texts), "the value")
    if len(texts) != 1:
        raise UsageError(f"{name} takes one value", f"write: capdisc config set {name} VALUE")
    choices = SETTING_CHOICES.get(name)
    if choices and texts[0] not in choices:
        raise unknown_choice(name, texts[0], choices)
    return parse_variable(name, texts[0], "the value", os.pathsep)


def change_setting(
    runtime: surroundings.Runtime, name: str, value: Any, *, is_workspace: bool
) -> Path:
    """Set the value in the file, which is made where it is missing, and return its path. Raises
    UsageError for a setting that a workspace's file may not decide.
    """
    file = find_file(runtime, is_workspace)
    if is_workspace and name in USER_ONLY_SETTINGS:
        raise UsageError(
            f"{name} counts only in your own file",
            f"leave out --workspace: it is {runtime.user_config}",
        )
    if name in _PATH_SETTINGS and value:
        write = partial(_path_text, runtime, _base_folder(file) if is_workspace else None)
        value = [write(text) for text in value] if isinstance(value, list) else write(value)
    _edit_file(file, lambda table: _set_value(table, name, value))
    return file


def remove_setting(runtime: surroundings.Runtime, name: str, *, is_workspace: bool) -> Path:
    """Remove the value from the file and return its path. Raises InputError where it has none."""
    file = find_file(runtime, is_workspace)
    _edit_file(file, lambda table: _remove_value(file, table, name))
    return file


def _path_text(runtime: surroundings.Runtime, base: Path | None, text: str) -> str:
    """The path as the file has to name it: what is typed begins in the current folder, what a file
    says begins in its own. `base` is the folder of a workspace's file, which may move with it.
    """
    if "://" in text or text.startswith("~"):
        return text
    path = runtime.expand(Path(text))
    if base and path.is_relative_to(base):
        return str(path.relative_to(base))
    return path.as_posix()


def _base_folder(file: Path) -> Path:
    return file.parent.parent if file.parent.name == ".capdisc" else file.parent


def _edit_file(file: Path, change: Callable[[Any], None]) -> None:
    """Apply the change to the table of settings in the file."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        text = read_text(file) if file.exists() else ""
        parse_toml(text)
        document = tomlkit.parse(text)
        table: Any = document
        if file.name == "pyproject.toml":
            table = document["tool"]["capdisc"]
        change(table)
        edited = tomlkit.dumps(document)
        parse_toml(edited)
        file.parent.mkdir(parents=True, exist_ok=True)
        user_files.write_file(file, edited.encode())
    except (OSError, ValueError, TOMLKitError, LookupError, TypeError) as error:
        raise InputError(
            f"{file} cannot be changed: {_explain(error)}",
            "make it writable, or set the variable that capdisc config names"
            if isinstance(error, OSError)
            else "change it by hand: capdisc config edit",
        ) from error


def _explain(error: Exception) -> str:
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)


def _set_value(table: Any, name: str, value: Any) -> None:
    holder, key = _find_place(table, name)
    holder[key] = value


def _remove_value(file: Path, table: Any, name: str) -> None:
    holder, key = _find_place(table, name)
    if key not in holder:
        raise InputError(f"{file} does not set {name}", "capdisc config says what does")
    del holder[key]


def _find_place(table: Any, name: str) -> tuple[Any, str]:
    """The table with the setting and its key there, in the spelling that the file has."""
    section, _, key = name.rpartition(".")
    if section:
        spelling = _find_key(table, section)
        if spelling not in table:
            table[spelling] = {}
        table = table[spelling]
    return table, _find_key(table, key)


def _find_key(table: Any, name: str) -> str:
    return next((str(key) for key in table if snake_case(str(key)) == name), name)
