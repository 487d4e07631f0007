"""The words of a command and their placeholders: `{name}`, `{name...}`, and `{{name}}` for the
text `{name}`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.json_types import JsonSchema
from capdisc_indexer.validation.program_text.steering import (
    is_always_given,
    is_closed,
    may_lead_with_dash,
)

# Other braces (of awk, jq, JSON) are text as they are.
PLACEHOLDER = re.compile(r"\{\{([A-Za-z_][\w-]*)\}\}|\{([A-Za-z_][\w-]*)(\.\.\.)?\}", re.ASCII)


def names_in(word: str) -> list[str]:
    """The parameters that the word refers to, in order, repeated ones included."""
    return [match[2] for match in PLACEHOLDER.finditer(word) if match[2]]


@frozen(kw_only=True)
class Word:
    """One word of a command.

    `at` is its place: its index, and that in an inner list. `head` is the literal text before its
    first placeholder, None for a word without any. `span` is the number of words that are left out
    together with it when a parameter has no value; 0 for a word that always stands there.
    """

    text: str
    at: tuple[int, ...] = ()
    head: str | None = None
    names: tuple[str, ...] = ()
    span: int = 0
    is_many: bool = False
    is_closed: bool = False
    may_lead_with_dash: bool = False


def command_words(command: object, schema: JsonSchema | None) -> tuple[Word, ...]:
    """The words of the manifest's `command`, inner lists flattened, other values left out."""
    words: list[Word] = []
    for index, group in enumerate(command if isinstance(command, list) else []):
        texts = _texts_of_group(group, index)
        names = {name for text, _ in texts for name in names_in(text)}
        is_optional = any(not is_always_given(schema, name) for name in names)
        for number, (text, at) in enumerate(texts):
            span = len(texts) if is_optional and number == 0 else 0
            words.append(_word(text, at, schema, span))
    return tuple(words)


def _texts_of_group(group: object, index: int) -> list[tuple[str, tuple[int, ...]]]:
    """The texts of one item of the command, a word or an inner list, with their places."""
    if isinstance(group, str):
        return [(group, (index,))]
    if isinstance(group, list):
        return [
            (text, (index, inner)) for inner, text in enumerate(group) if isinstance(text, str)
        ]
    return []


def _word(text: str, at: tuple[int, ...], schema: JsonSchema | None, span: int) -> Word:
    names = tuple(names_in(text))
    first = next((match for match in PLACEHOLDER.finditer(text) if match[2]), None)
    only = PLACEHOLDER.fullmatch(text)
    is_many = bool(only and only[3])
    return Word(
        text=text,
        at=at,
        head=None if first is None else text[: first.start()],
        names=names,
        # A list may be empty, so that its word vanishes.
        span=span or int(is_many),
        is_many=is_many,
        is_closed=bool(names) and all(is_closed(schema, name) for name in names),
        may_lead_with_dash=bool(names) and may_lead_with_dash(schema, names[0]),
    )


def literal_words(texts: Iterator[str] | list[str]) -> tuple[Word, ...]:
    """Words without placeholders."""
    return tuple(Word(text=text) for text in texts)


@frozen(kw_only=True)
class Misuse:
    """An argument at a place where a program would run or obey it.

    `kind` is text (program text), stdin (a program read from stdin), program (which program is
    started), option (which options it has), variable (a variable that steers what is loaded) or
    unreadable (the command is too long to be checked). `program` is the one that would run or obey
    it, `at` the place of the word, `names` are the parameters. `when_left_out` says that it only
    happens in a call that leaves a parameter before it out.
    """

    kind: str
    program: str
    at: tuple[int, ...] = ()
    names: tuple[str, ...] = ()
    hint: str = ""
    when_left_out: bool = False
