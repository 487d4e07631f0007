"""The placeholders of a command: `{name}`, `{name...}`, and `{{name}}` for the text `{name}`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from capdisc_indexer.model.frozen import fields, frozen
from capdisc_indexer.model.json_types import JsonSchema
from capdisc_indexer.validation.program_text.interpreter_words import Interpreter, Role
from capdisc_indexer.validation.program_text.steering import (
    is_always_given,
    is_closed,
    may_lead_with_dash,
)

# Settings of ssh and git, `name=value`, whose value is a command.

# ProxyCommand and its kind of ssh_config(5); of git-config(1) aliases, editors, pagers, helpers,
# filters, drivers, and what rewrites addresses, since `ext::` is an address that starts a program.
_STARTING = re.compile(
    r"command|\bcmd\b|\.cmd$|pager|editor|helper|hookspath|fsmonitor|program|alias|external|textconv"
    r"|filter|driver|process|askpass|insteadof|proxy|include|match|provider|xauth|path$|trailer",
    re.IGNORECASE,
)


def starts_programs(head: str) -> bool:
    """Whether a setting whose literal part this is can start a program by its value.

    >>> starts_programs("ProxyCommand="), starts_programs("user.name="), starts_programs("")
    (True, False, True)
    """
    name, equals, _ = head.partition("=")
    return not equals or _STARTING.search(name) is not None


# How far a command is read, and what is found on the way.


@frozen(kw_only=True)
class Misuse:
    """An argument where a program runs or obeys what stands there. `kind` is text (program text),
    stdin (a program read from stdin), program (which program is started), option (which options it
    has), variable (a variable that steers what is loaded) or unreadable (too long to be read).
    """

    kind: str
    program: str
    at: tuple[int, ...] = ()
    names: tuple[str, ...] = ()
    hint: str = ""
    when_left_out: bool = False


@frozen
class State:
    """How far the words of one program are read."""

    spec: Interpreter
    name: str
    is_embedded: bool = False
    operands: int = 0
    is_turned: bool = False
    is_given: bool = False
    is_over: bool = False
    is_rest: bool = False
    pending: Role | None = None

    @property
    def key(self) -> tuple[object, ...]:
        """What tells two states apart; an interpreter is one value of the table."""
        return id(self.spec), *(getattr(self, name) for name in fields(self) if name != "spec")


# Other braces (of awk, jq, JSON) are text as they are.
PLACEHOLDER = re.compile(r"\{\{([A-Za-z_][\w-]*)\}\}|\{([A-Za-z_][\w-]*)(\.\.\.)?\}", re.ASCII)


@frozen(kw_only=True)
class Word:
    """One word of a command. `at` is its place: its index, and the one in an inner list; `head` is
    the literal text before its first placeholder, None where it has none. `span` counts the words
    that are left out together with it where a parameter has no value (0: it always stands there).
    """

    text: str
    at: tuple[int, ...] = ()
    head: str | None = None
    names: tuple[str, ...] = ()
    span: int = 0
    is_many: bool = False
    is_closed: bool = False
    may_lead_with_dash: bool = False


def names_in(word: str) -> list[str]:
    """The parameters that the word refers to, in order, repeated ones included."""
    return [match[2] for match in PLACEHOLDER.finditer(word) if match[2]]


def command_words(command: Any, schema: JsonSchema | None) -> tuple[Word, ...]:
    """The words of the manifest's `command`, inner lists flattened; what is no word is left
    out.
    """
    words: list[Word] = []
    for index, group in enumerate(command if isinstance(command, list) else []):
        texts = (
            [(text, (index, inner)) for inner, text in enumerate(group) if isinstance(text, str)]
            if isinstance(group, list)
            else [(group, (index,))]
            if isinstance(group, str)
            else []
        )
        together = {name for text, _ in texts for name in names_in(text)}
        is_optional = any(not is_always_given(schema, name) for name in together)
        for number, (text, at) in enumerate(texts):
            span = len(texts) if is_optional and number == 0 else 0
            words.append(_word(text, at, schema, span))
    return tuple(words)


def _word(text: str, at: tuple[int, ...], schema: JsonSchema | None, span: int) -> Word:
    names = tuple(names_in(text))
    first = next((match for match in PLACEHOLDER.finditer(text) if match[2]), None)
    whole = PLACEHOLDER.fullmatch(text)
    is_many = bool(whole and whole[3])
    return Word(
        text=text,
        at=at,
        head=None if first is None else text[: first.start()],
        names=names,
        # A list of items may be empty, so that its word is none.
        span=span or int(is_many),
        is_many=is_many,
        is_closed=bool(names) and all(is_closed(schema, name) for name in names),
        may_lead_with_dash=bool(names) and may_lead_with_dash(schema, names[0]),
    )


def literal_words(texts: Iterator[str] | list[str]) -> tuple[Word, ...]:
    """Words without placeholders."""
    return tuple(Word(text=text) for text in texts)
