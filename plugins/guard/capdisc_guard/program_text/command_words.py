"""The words of a command and their placeholders: `{name}`, `{name...}`, and `{{name}}` for the
text `{name}`; and the text of a `sh -c`, split into simple commands.

It is split far enough to see where its own arguments (`$1`, `$@`) go. This is no parser of a
shell: what it cannot read counts as plain text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from capdisc_guard.program_text.steering import (
    is_always_given,
    is_closed,
    may_lead_with_dash,
)
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.json_types import JsonSchema
from capdisc_indexer.text.normalization import compile_late

# Other braces (of awk, jq, JSON) are text as they are.
PLACEHOLDER = compile_late(r"\{\{([A-Za-z_][\w-]*)\}\}|\{([A-Za-z_][\w-]*)(\.\.\.)?\}", re.ASCII)
_TOKEN = compile_late(
    r"(?P<escape>\\.)|(?P<substitution>\$\(|`)|(?P<expansion>\$(?:\{[^}]*\}|[A-Za-z_]\w*|[0-9@*]))"
    r"|(?P<quote>\")|(?P<single>'[^']*'?)|(?P<comment>\#[^\n]*)|(?P<blank>[ \t]+)|(?P<redirection>&?[<>]+&?)"
    r"|(?P<end>\|\||&&|[;&|\n()])|(?P<plain>[^\\$`\"'#\s<>&;|()]+|.)",
    re.DOTALL,
)
_ASSIGNMENT = compile_late(r"(?P<name>[A-Za-z_]\w*)\+?=")
_POSITIONAL = compile_late(r"[0-9]+|[@*]")
_KEYWORDS = frozenset({"if", "then", "elif", "else", "do", "while", "until", "!", "{", "("})
# Substitutions inside one another; nobody writes more.
_MAX_DEPTH = 8
# Stands for an argument of the text inside a word.
_ARGUMENT = "\0"


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

    @property
    def literal(self) -> str:
        """Its text up to the first placeholder."""
        return self.text if self.head is None else self.head


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


@frozen(kw_only=True)
class SimpleCommand:
    """One program with its words, without keywords and leading assignments. `assignments` are the
    variables that get an argument. `is_fed` says that an earlier command pipes an argument to it.
    """

    words: tuple[Word, ...]
    assignments: tuple[str, ...] = ()
    is_fed: bool = False


def simple_commands(text: str) -> Iterator[SimpleCommand]:
    """The commands of the text in order. A variable that got an argument counts as one."""
    argument_variables: set[str] = set()
    is_fed = False
    for words, ends_with_pipe in _Splitter(text, argument_variables, 0).split():
        plain = [_shell_word(text) for text in words]
        while plain and plain[0].text in _KEYWORDS:
            plain.pop(0)
        if (
            len(plain) > 2
            and plain[0].text in ("for", "select")
            and any(word.names for word in plain[2:])
        ):
            argument_variables.add(plain[1].text)
        assignments = []
        while plain and (match := _ASSIGNMENT.match(plain[0].text)):
            if plain.pop(0).names:
                argument_variables.add(match["name"])
                assignments.append(match["name"])
        if plain or assignments:
            yield SimpleCommand(words=tuple(plain), assignments=tuple(assignments), is_fed=is_fed)
        is_fed = ends_with_pipe and (is_fed or any(word.names for word in plain))


def _shell_word(text: str) -> Word:
    head, mark, _ = text.partition(_ARGUMENT)
    return Word(text=text, head=head if mark else None, names=("",) if mark else ())


class _Splitter:
    """Reads the words of one text, piece by piece. The caller adds to `argument_variables`
    meanwhile.
    """

    def __init__(self, text: str, argument_variables: set[str], depth: int) -> None:
        self._text, self._argument_variables, self._depth = text, argument_variables, depth
        self._words: list[str] = []
        self._parts: list[str] | None = None  # of the word that is being read
        self._is_quoted = self._skips = False

    def split(self) -> Iterator[tuple[list[str], bool]]:
        """The words of each command, and whether a pipe follows it."""
        at = 0
        while at < len(self._text):
            match = _TOKEN.match(self._text, at)
            if match is None:  # never, as the last alternative takes any character
                break
            kind, token, at = match.lastgroup, match[0], match.end()
            if kind == "substitution":
                inner, at = _read_substitution(self._text, at)
                yield from self._read_inner(inner)
            elif kind == "expansion":
                self._add(_ARGUMENT if self._is_argument(token) else token)
            elif kind == "escape":
                self._add(token[1:])
            elif self._is_plain(kind):
                # A single quote or a hash that begins nothing here: what follows is read by
                # itself.
                self._add(token[0] if kind in ("single", "comment") else token)
                at = match.start() + 1 if kind in ("single", "comment") else at
            elif kind == "quote":
                self._is_quoted = not self._is_quoted
                self._add("")
            elif kind == "single":
                self._add(token.strip("'"))
            elif kind != "comment":
                self._close()
                if kind != "blank":
                    self._skips = kind == "redirection"
                if kind == "end" and self._words:
                    yield self._words, token == "|"
                    self._words = []
        self._close()
        if self._words:
            yield self._words, False

    def _is_plain(self, kind: str | None) -> bool:
        is_inside = self._is_quoted or (kind == "comment" and self._parts is not None)
        return kind == "plain" or (is_inside and kind != "quote")

    def _add(self, text: str) -> None:
        self._parts = self._parts if self._parts is not None else []
        self._parts.append(text)

    def _close(self) -> None:
        if self._parts is not None:
            self._words += [] if self._skips else ["".join(self._parts)]
            self._skips = False
        self._parts = None

    def _is_argument(self, token: str) -> bool:
        name = token.strip("${}#!")
        name = match[0] if (match := re.match(r"\w+|[@*]", name)) else ""
        return _POSITIONAL.fullmatch(name) is not None or name in self._argument_variables

    def _read_inner(self, inner: str) -> Iterator[tuple[list[str], bool]]:
        commands = (
            list(_Splitter(inner, self._argument_variables, self._depth + 1).split())
            if self._depth < _MAX_DEPTH
            else []
        )
        yield from commands
        self._add(
            _ARGUMENT if any(_ARGUMENT in word for words, _ in commands for word in words) else ""
        )


def _read_substitution(text: str, at: int) -> tuple[str, int]:
    """The text between the backticks or the parentheses that open before `at`, and the place after
    them.
    """
    if text[at - 1] == "`":
        end = text.find("`", at)
        return (text[at:], len(text)) if end < 0 else (text[at:end], end + 1)
    depth, place = 1, at
    while place < len(text) and depth:
        depth += {"(": 1, ")": -1}.get(text[place], 0)
        place += 1
    return text[at : place - 1 if depth == 0 else place], place
