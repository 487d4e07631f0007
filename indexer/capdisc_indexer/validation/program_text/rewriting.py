"""Shell text with arguments in it, rewritten so that they reach it as `"$1"`, `"$2"`, ….

Only where that says the same for every value that is one plain word: the text is the last word,
each placeholder stands bare or is the whole of a quoted part, and nothing else in the text depends
on arguments, on nested shells, or on how quotes are read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from capdisc_indexer.model.json_types import JsonSchema
from capdisc_indexer.validation.program_text.interpreters import program_name
from capdisc_indexer.validation.program_text.misuses import find_misuses
from capdisc_indexer.validation.program_text.placeholders import PLACEHOLDER, names_in
from capdisc_indexer.validation.program_text.steering import is_always_given

# Shells in which "$1" is the first argument, and stays one word.
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "mksh", "ash"})
_FLAGS = re.compile(r"-[aefhlmnuvx]*")
_WITH_TEXT = re.compile(r"-[aefhlmnuvx]*c[aefhlmnuvx]*")
# Outside of single quotes: other arguments, substitutions, arithmetic, tests with patterns, here
# documents, escapes, comments, functions, and words that change the arguments.
_UNSURE = re.compile(
    r"\$[0-9@*#]|\$[({]|`|\\|<<|\(\(|\[\[|#|\(\s*\)|(?<![\w-])(?:eval|set|shift|getopts|source|select)(?![\w-])"
    r"|(?<![\w-])for\s+\w+\s*(?:;|\n|do\b)"
)
_MAX_ARGUMENTS = 9


def rewrite_shell_text(
    command: Any, schema: JsonSchema | None
) -> tuple[str, list[str | list[str]]] | None:
    """The new text, and the words that follow it; None where the command is to be left as it is.

    >>> rewrite_shell_text(["sh", "-c", "cp {a} out/{b}"], None)
    ('cp "$1" out/"$2"', [['sh', '{a}', '{b}']])
    """
    if not isinstance(command, list) or not _is_simple(command):
        return None
    program, *options, text = command
    shell = program_name(program)
    names = list(dict.fromkeys(names_in(text)))
    if not names or len(names) > _MAX_ARGUMENTS or (new_text := _replaced(text, names)) is None:
        return None
    words = [shell, *(f"{{{name}}}" for name in names)]
    # In a list of its own: else an argument that is left out would move the next one to its place.
    is_loose = len(names) > 1 and not all(is_always_given(schema, name) for name in names)
    following: list[str | list[str]] = [words] if is_loose else [*words]
    if find_misuses({"command": [program, *options, new_text, *following]}, schema):
        return None
    return new_text, following


def _is_simple(command: list[Any]) -> bool:
    """Whether it is a shell, flags of which the last one says that text follows, and that text."""
    if len(command) < 3 or not all(isinstance(word, str) for word in command):
        return False
    program, *flags, last, _ = command
    if program_name(program) not in _SHELLS or names_in(program):
        return False
    return _WITH_TEXT.fullmatch(last) is not None and all(map(_FLAGS.fullmatch, flags))


def comparable_run(run: Mapping[str, Any] | None) -> Any:
    """How it is run, the same before and after the rewriting."""
    if not run or not isinstance(command := run.get("command"), list):
        return run
    if rewritten := rewrite_shell_text(command, None):
        command = [*command[:-1], rewritten[0], *rewritten[1]]
    flat = [word for group in command for word in (group if isinstance(group, list) else [group])]
    return {**run, "command": flat}


def _replaced(text: str, names: list[str]) -> str | None:
    """The text with `"$1"` and so on; None where a placeholder stands inside other quoted text."""
    parts: list[str] = []
    quote, opened, at = "", -1, 0
    while at < len(text):
        match = PLACEHOLDER.match(text, at)
        if match and match[2]:
            end, number = match.end(), names.index(match[2]) + 1
            is_whole = opened == at - 1 and text.startswith(quote, end)
            if match[3] or (quote and not is_whole):
                return None
            if quote:
                parts.pop()
                at, quote = end + 1, ""
            else:
                at = end
            parts.append(f'"${number}"')
            continue
        # `{{name}}` is the text `{name}`, which is looked at as such.
        piece = match[0] if match else text[at]
        if quote != "'" and _UNSURE.match(text, at):
            return None
        if piece in ("'", '"') and quote in ("", piece):
            quote, opened = ("", -1) if quote else (piece, at)
        parts.append(piece)
        at += len(piece)
    return None if quote else "".join(parts)
