"""Arguments in the words of a command: each placeholder stays inside its word, whatever its value holds."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from capdisc_indexer.errors import InputError, UsageError
from capdisc_indexer.text import one_line

# `{{name}}` is the text `{name}`; other braces (of awk, jq, JSON) are text as they are.
_PLACE = re.compile(r"\{\{([A-Za-z_][\w-]*)\}\}|\{([A-Za-z_][\w-]*)(\.\.\.)?\}", re.ASCII)
_NUMBER = re.compile(r"-[0-9.]+(?:[eE][+-]?[0-9]+)?", re.ASCII)
_LIST = 'write the command as a list of words: command: ["git", "log", "--max-count={count}"]'


def argv(command: Any, arguments: Mapping[str, Any], known: Iterable[str]) -> tuple[str, ...]:
    """The words of the command with the values of its placeholders.

    A word whose placeholder has no value is left out; so is a list of words inside the command as a whole. `{name...}`
    gives each item of a list a word of its own. Raises InputError for a command that is none or whose placeholder is no
    parameter, UsageError for a value that the program could take for an option.

    >>> argv(["ls", ["--width", "{width}"], "--", "{paths...}"], {"paths": ["a b", "-c"]}, ["width", "paths"])
    ('ls', '--', 'a b', '-c')
    """
    if not isinstance(command, list) or not command or not isinstance(command[0], str) or not command[0].strip():
        raise InputError("its command is not a list of words that begins with a program", _LIST)
    if _names(command[0]):
        raise InputError("its command leaves the program to the arguments", "name the program itself")
    if unknown := [name for name in placeholders(command) if name not in set(known)]:
        named = ", ".join(f"{{{name}}}" for name in unknown)
        raise InputError(f"its command holds {named}, which is no parameter", "write {{name}} for the text {name}")
    words: list[str] = []
    for group in command:
        words += _group(group if isinstance(group, list) else [group], arguments, "--" in words)
    return tuple(words)


def placeholders(command: Any) -> list[str]:
    """The names in the command, each once."""
    groups = command if isinstance(command, list) else []
    words = [word for group in groups for word in (group if isinstance(group, list) else [group])]
    return list(dict.fromkeys(name for word in words if isinstance(word, str) for name in _names(word)))


def filled_in(word: str, values: Mapping[str, Any]) -> list[str]:
    """The word with these values in its places, unchecked, each item of a list by itself; none where a value is
    missing."""
    return _texts(word, values) if all(values.get(name) is not None for name in _names(word)) else []


def text_of(value: Any) -> str:
    """The value as one word: text as it is, but for halves of surrogate pairs; all else as JSON."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text.encode("utf-8", "replace").decode()


def _names(word: str) -> list[str]:
    return [match[2] for match in _PLACE.finditer(word) if match[2]]


def _group(group: Sequence[Any], arguments: Mapping[str, Any], after_dashes: bool) -> list[str]:
    if not all(isinstance(word, str) for word in group):
        raise InputError("its command holds something that is no word", _LIST)
    if any(arguments.get(name) is None for word in group for name in _names(word)):
        return []
    words: list[str] = []
    for word in group:
        words += _filled(word, arguments, after_dashes or "--" in words)
    return words


def _filled(word: str, arguments: Mapping[str, Any], after_dashes: bool) -> list[str]:
    texts = _texts(word, arguments)
    # What an agent was talked into may begin with a dash: to the program that is an option, not a value.
    leads = _PLACE.match(word)
    for text in texts:
        if "\0" in text:
            raise UsageError("an argument holds a NUL character, which no program can be given", "leave it out")
        if leads and leads[2] and text.startswith("-") and not after_dashes and not _NUMBER.fullmatch(text):
            what = f"{leads[2]} begins with a dash, which the program would take for an option: {one_line(text, 60)}"
            raise UsageError(what, f'the manifest can allow it: "--", "{word}" or "--{leads[2]}={{{leads[2]}}}"')
    return texts


def _texts(word: str, arguments: Mapping[str, Any]) -> list[str]:
    whole = _PLACE.fullmatch(word)
    if not (whole and whole[3]):
        return [_PLACE.sub(lambda match: f"{{{match[1]}}}" if match[1] else text_of(arguments[match[2]]), word)]
    value = arguments[whole[2]]
    return [text_of(item) for item in (value if isinstance(value, list) else [value])]
