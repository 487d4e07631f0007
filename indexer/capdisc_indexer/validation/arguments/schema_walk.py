"""Walks a value along a JSON schema, within limits of steps and depth.

`SchemaWalk` applies the keywords that it is given to each place of the value; the tools also use
it without keywords, to resolve references. Below it: the places of a value in words, patterns that
nobody vouches for, and unknown names with the nearest known ones.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeAlias

from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.json_types import Arguments, JsonSchema
from capdisc_indexer.text.normalization import compile_late, one_line
from capdisc_indexer.text.similar_names import nearest_names

# A schema of a few lines can ask for more work than a lifetime, by references to references to
# choices. 100,000 steps take about 0.4 s.
MAX_STEPS = 100_000
# A reference to itself never ends.
MAX_LEVELS = 80
# The price of a pattern that needs a process of its own: thirty of them in one call are enough.
LOOSE_STEPS = 3_000
# This many names or choices of a keyword are looked through in the time of one step.
PARTS_A_STEP = 20

LIMIT_S = 2.0
MAX_PATTERN = 2_000
# Steps of the matcher that are over in no time.
_FEW = 10_000_000
# A repeated group doubles the ways with every character: up to this length they are few.
_SHORT = 20
_REPETITION = compile_late(r"[*+]|\{\d*,\d*\}")
_NESTED = compile_late(r"\)[*+{]")
_MATCHER = """
import re, sys
pattern, _, text = sys.stdin.buffer.read().decode("utf-8", "surrogatepass").partition("\\0")
sys.exit(10 if re.search(pattern, text) else 11)
"""


class SchemaTooComplexError(Exception):
    """The schema asks for more steps, or goes deeper, than one check may."""


@frozen
class KeywordCheck:
    """One keyword of a schema, applied to the value at one place."""

    walk: SchemaWalk
    keyword: Any
    schema: JsonSchema
    value: Any
    at: str

    def fails(self, words: str) -> list[str]:
        """The problem at this place in words, as the list that a keyword returns."""
        return [f"{place_text(self.at)}: {words}"]

    def member_problems(self, schema: Any, member: Any, name: str | int) -> list[str]:
        """The problems of a member of the value."""
        return self.walk.problems(schema, member, member_place(self.at, name))


# Gives the problems that a keyword has with a value; none where it fits.
Keyword: TypeAlias = Callable[[KeywordCheck], Iterable[str]]


class SchemaWalk:
    """One check: the whole schema, what its keywords mean, and the steps that were made so far."""

    def __init__(self, root: JsonSchema, keywords: Mapping[str, Keyword], steps: int = 0) -> None:
        self.root = root
        self.keywords = keywords
        self.steps = steps
        self.levels = 0
        # By identity, which is safe while the schema and the arguments live. Without them, the
        # choices of an `enum` would become text again for every item of a long list.
        self._keys: dict[int, str] = {}
        self._choices: dict[int, frozenset[str]] = {}
        self._patterns: dict[str, re.Pattern[str] | None] = {}

    def problems(self, schema: Any, value: Any, at: str) -> list[str]:
        """The problems of the value at the place `at`. The schema `True` allows everything,
        `False` nothing; what is not a schema has no problem with anything.
        """
        if schema is False:
            return [f"{place_text(at)}: is not allowed"]
        problems: list[str] = []
        with self.level():
            for word, keyword in as_mapping(schema).items():
                check = self.keywords.get(word)
                if check is None:
                    continue
                if isinstance(keyword, (list, dict)):
                    self.spend(len(keyword) // PARTS_A_STEP)
                problems += check(KeywordCheck(self, keyword, schema, value, at))
        return problems

    def fits(self, schema: Any, value: Any) -> bool:
        """Whether the value has no problem with the schema."""
        return not self.problems(schema, value, "")

    def matches(self, pattern: Any, text: str) -> bool:
        """Whether the text matches the pattern; what is not a pattern matches everything."""
        if not isinstance(pattern, str):
            return True
        self.spend(LOOSE_STEPS if is_loose(pattern, text) else 1)
        if pattern not in self._patterns:
            self._patterns[pattern] = _compile_pattern(pattern)
        return pattern_matches(self._patterns[pattern], text)

    def key_of(self, value: Any) -> str:
        """`value_key` of a part of the schema or of the arguments, made once."""
        if not isinstance(value, (Mapping, list, tuple)):
            return value_key(value)
        if id(value) not in self._keys:
            self._keys[id(value)] = value_key(value)
        return self._keys[id(value)]

    def choice_keys(self, choices: list[Any]) -> frozenset[str]:
        """The keys of all choices of an `enum`."""
        if id(choices) not in self._choices:
            self._choices[id(choices)] = frozenset(map(value_key, choices))
        return self._choices[id(choices)]

    def spend(self, steps: int) -> None:
        """Count these steps. Raises SchemaTooComplexError past MAX_STEPS."""
        self.steps += steps
        if self.steps > MAX_STEPS:
            raise SchemaTooComplexError

    @contextmanager
    def level(self) -> Iterator[None]:
        """One more step, one level deeper. Raises SchemaTooComplexError past MAX_STEPS or
        MAX_LEVELS.
        """
        self.spend(1)
        self.levels += 1
        if self.levels > MAX_LEVELS:
            raise SchemaTooComplexError
        try:
            yield
        finally:
            self.levels -= 1

    def target(self, reference: Any) -> Any:
        """The part of the schema that a reference such as `#/$defs/size` points to; None for a
        reference to anything else.
        """
        from urllib.parse import unquote

        if not isinstance(reference, str) or not (reference == "#" or reference.startswith("#/")):
            return None
        node: Any = self.root
        for part in unquote(reference).split("/")[1:]:
            node = _child(node, part.replace("~1", "/").replace("~0", "~"))
        return node

    def resolve_schema(self, schema: Any) -> JsonSchema:
        """The schema with its reference replaced by what that points to; {} for a ring of
        references.
        """
        resolved = as_mapping(schema)
        for _ in range(MAX_LEVELS):
            if "$ref" not in resolved:
                return resolved
            siblings = {key: value for key, value in resolved.items() if key != "$ref"}
            resolved = {**as_mapping(self.target(resolved["$ref"])), **siblings}
        return {}


def _child(node: Any, name: str) -> Any:
    if isinstance(node, list) and name.isdecimal() and int(name[:9]) < len(node):
        return node[int(name[:9])]
    return node.get(name) if isinstance(node, Mapping) else None


def as_mapping(value: object) -> JsonSchema:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def as_list(value: object) -> list[Any]:
    """The value as a list if it is one, else an empty one."""
    return list(value) if isinstance(value, (list, tuple)) else []


def value_key(value: Any) -> str:
    """A text that is the same for equal JSON values: 1 equals 1.0, and not true.

    >>> value_key([1.0, {"b": 2, "a": True}])
    '[1, {"a": true, "b": 2}]'
    """
    return json.dumps(_with_integers(value), sort_keys=True, ensure_ascii=False)


def _with_integers(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _with_integers(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_with_integers(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


# Places of a value, as a reader names them


def place_text(at: str) -> str:
    """The place in words; "" is the top."""
    return at or "the arguments"


def member_place(at: str, name: str | int) -> str:
    """The place of a member.

    >>> member_place(member_place("", "items"), 2), member_place("to", "name")
    ('items[2]', 'to.name')
    """
    if isinstance(name, int):
        return f"{at}[{name}]"
    label = one_line(name, 80)
    return f"{at}.{label}" if at else label


# Patterns: a few characters can keep a regular expression busy for years


def is_loose(pattern: str, text: str) -> bool:
    """Whether matching might take longer than a moment.

    >>> is_loose("^[a-z]+$", "x" * 500), is_loose("^(a+)+$", "x" * 500)
    (False, True)
    """
    repetitions = len(_REPETITION.findall(pattern))
    if _NESTED.search(pattern):
        return len(text) > _SHORT
    return (len(text) + 1) ** (repetitions + 1) > _FEW and repetitions > 0


def pattern_matches(pattern: re.Pattern[str] | None, text: str) -> bool:
    """Whether the pattern is found in the text. None, for a pattern that Python does not know
    (JavaScript knows more), matches everything; one that takes longer than LIMIT_S nothing.
    """
    if pattern is None:
        return True
    if is_loose(pattern.pattern, text):
        return _matches_in_process(pattern.pattern, text)
    return pattern.search(text) is not None


def _compile_pattern(pattern: str) -> re.Pattern[str] | None:
    import warnings

    if len(pattern) > MAX_PATTERN or "\0" in pattern:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return re.compile(pattern)
    except (re.error, OverflowError, RecursionError):
        return None


def _matches_in_process(pattern: str, text: str) -> bool:
    """In a process of its own, which can be ended: a thread cannot."""
    import subprocess
    import sys

    request = f"{pattern}\0{text}".encode("utf-8", "surrogatepass")
    argv = [sys.executable, "-I", "-S", "-W", "ignore", "-c", _MATCHER]
    try:
        process = subprocess.run(
            argv, input=request, capture_output=True, timeout=LIMIT_S, check=False
        )
    except (subprocess.TimeoutExpired, OSError):
        return False
    return process.returncode == 10


# Names of arguments that a schema does not list, and the nearest that it does


def unknown_names(schema: JsonSchema | None, arguments: Arguments) -> list[str]:
    """A problem for each name that the schema does not list; none where the schema says itself
    whether there may be more, or where parts of it may list names of their own.
    """
    says_itself = {"additionalProperties", "patternProperties", "unevaluatedProperties", "$ref"}
    combinations = {"allOf", "anyOf", "oneOf", "if"}
    if not schema or (says_itself | combinations) & set(schema):
        return []
    declared = [str(name) for name in as_mapping(schema.get("properties"))]
    return [
        f"{one_line(name, 80)}: is unknown{suggestion(name, declared)}"
        for name in arguments
        if name not in declared
    ]


def suggestion(name: str, names: Iterable[str]) -> str:
    """`; did you mean …?` with the most similar name; "" where none is similar."""
    close = nearest_names(name, names, 1)
    return f"; did you mean {one_line(close[0], 80)}?" if close else ""
