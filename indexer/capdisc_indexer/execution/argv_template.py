"""Arguments in the words of a command: each placeholder stays inside its word, whatever its value
holds.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from capdisc_indexer.model.errors import InputError, UsageError
from capdisc_indexer.text.normalization import one_line
from capdisc_indexer.validation.program_text.argument_schemas import allows_dash
from capdisc_indexer.validation.program_text.placeholders import PLACEHOLDER, names_in

_LIST_HINT = 'write the command as a list of words: command: ["git", "log", "--max-count={count}"]'


def build_argv(
    command: Any,
    arguments: Mapping[str, Any],
    parameter_names: Iterable[str],
    schema: Mapping[str, Any] | None = None,
) -> tuple[str, ...]:
    """The words of the command with the values of its placeholders.

    A word whose placeholder has no value is left out; so is a list of words inside the command as
    a whole. `{name...}` gives each item of a list a word of its own. Raises InputError for a
    command that is none or whose placeholder is no parameter, UsageError for a value that the
    program could take for an option: one that begins with a dash, in a word that begins with it,
    unless `--` stands before or the parameter's schema says that it is meant (see `allows_dash`).

    >>> build_argv(["ls", ["--width", "{width}"], "--", "{paths...}"], {"paths": ["a b", "-c"]}, ["width", "paths"])
    ('ls', '--', 'a b', '-c')
    """
    if (
        not isinstance(command, list)
        or not command
        or not isinstance(command[0], str)
        or not command[0].strip()
    ):
        raise InputError(
            "its command is not a list of words that begins with a program", _LIST_HINT
        )
    if names_in(command[0]):
        raise InputError(
            "its command leaves the program to the arguments", "name the program itself"
        )
    if unknown := [name for name in placeholders(command) if name not in set(parameter_names)]:
        named = ", ".join(f"{{{name}}}" for name in unknown)
        raise InputError(
            f"its command holds {named}, which is no parameter",
            "write {{name}} for the text {name}",
        )
    words: list[str] = []
    after_dashes = False
    for group in command:
        inner = group if isinstance(group, list) else [group]
        filled = _fill_group(inner, arguments, schema, after_dashes)
        # Only a `--` of the manifest's own ends the options, not one that is an argument.
        after_dashes = after_dashes or (bool(filled) and "--" in inner)
        words += filled
    return tuple(words)


def placeholders(command: Any) -> list[str]:
    """The names in the command, each once."""
    groups = command if isinstance(command, list) else []
    words = [word for group in groups for word in (group if isinstance(group, list) else [group])]
    return list(
        dict.fromkeys(name for word in words if isinstance(word, str) for name in names_in(word))
    )


def fill_placeholders(word: str, values: Mapping[str, Any]) -> list[str]:
    """The word with these values in its places, unchecked, each item of a list by itself; none
    where a value is missing.
    """
    return (
        _substitute(word, values)
        if all(values.get(name) is not None for name in names_in(word))
        else []
    )


def argument_text(value: Any) -> str:
    """The value as one word: text as it is, but for halves of surrogate pairs; all else as
    JSON.
    """
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text.encode("utf-8", "replace").decode()


def _fill_group(
    group: Sequence[Any],
    arguments: Mapping[str, Any],
    schema: Mapping[str, Any] | None,
    after_dashes: bool,
) -> list[str]:
    if not all(isinstance(word, str) for word in group):
        raise InputError("its command holds something that is no word", _LIST_HINT)
    if any(arguments.get(name) is None for word in group for name in names_in(word)):
        return []
    words: list[str] = []
    for word in group:
        words += _fill_word(word, arguments, schema, after_dashes)
        after_dashes = after_dashes or word == "--"
    return words


def _fill_word(
    word: str,
    arguments: Mapping[str, Any],
    schema: Mapping[str, Any] | None,
    after_dashes: bool,
) -> list[str]:
    texts = _substitute(word, arguments)
    if any("\0" in text for text in texts):
        raise UsageError(
            "an argument holds a NUL character, which no program can be given", "leave it out"
        )
    # What an agent was talked into may begin with a dash: to the program that is an option, not a
    # value.
    leading = PLACEHOLDER.match(word)
    if leading and leading[2] and not after_dashes:
        for text, value in zip(texts, _items(word, arguments, leading[2]), strict=True):
            if text.startswith("-") and not allows_dash(schema, leading[2], value):
                raise _is_an_option(leading[2], word, text)
    return texts


def _is_an_option(name: str, word: str, text: str) -> UsageError:
    what = "begins with a dash, which the program would take for an option"
    hint = f'the manifest can allow it: "--", "{word}" or "--{name}={{{name}}}", or a schema that names the dash'
    return UsageError(f"{name} {what}: {one_line(text, 60)}", hint)


def _items(word: str, arguments: Mapping[str, Any], name: str) -> Sequence[Any]:
    """The values behind the texts of a word: the items of a list where each has a word of its
    own.
    """
    whole, value = PLACEHOLDER.fullmatch(word), arguments[name]
    return value if whole and whole[3] and isinstance(value, list) else [value]


def _substitute(word: str, arguments: Mapping[str, Any]) -> list[str]:
    placeholder = PLACEHOLDER.fullmatch(word)
    if not (placeholder and placeholder[3]):
        return [
            PLACEHOLDER.sub(
                lambda match: f"{{{match[1]}}}" if match[1] else argument_text(arguments[match[2]]),
                word,
            )
        ]
    value = arguments[placeholder[2]]
    return [argument_text(item) for item in (value if isinstance(value, list) else [value])]
