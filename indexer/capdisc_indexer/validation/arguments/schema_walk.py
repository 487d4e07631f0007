"""One check under way: where references lead, and how much may still be looked at."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeAlias

from capdisc_indexer.model.json_types import Arguments, JsonSchema
from capdisc_indexer.text.normalization import one_line

# Patterns of schemas, matched without trusting them: a few characters can keep a regular
# expression busy for years.

LIMIT_S = 2.0
MAX_PATTERN = 2_000
# Steps that surely end at once.
_FEW = 10_000_000
# A repetition of a group doubles the ways with every character.
_SHORT = 20
_REPETITION = re.compile(r"[*+]|\{\d*,\d*\}")
_NESTED = re.compile(r"\)[*+{]")
_MATCHER = """
import re, sys
pattern, _, text = sys.stdin.buffer.read().decode("utf-8", "surrogatepass").partition("\\0")
sys.exit(10 if re.search(pattern, text) else 11)
"""


def is_loose(pattern: str, text: str) -> bool:
    """Whether matching might not come to an end soon.

    >>> is_loose("^[a-z]+$", "x" * 500), is_loose("^(a+)+$", "x" * 500)
    (False, True)
    """
    repetitions = len(_REPETITION.findall(pattern))
    if _NESTED.search(pattern):
        return len(text) > _SHORT
    return (len(text) + 1) ** (repetitions + 1) > _FEW and repetitions > 0


def pattern_matches(pattern: str, text: str) -> bool:
    """Whether the pattern is found in the text. A pattern that is none here (JavaScript knows
    more) lets all pass; one that does not come to an end in two seconds lets nothing pass.
    """
    compiled = _compile_pattern(pattern)
    if compiled is None:
        return True
    return (
        _matches_apart(pattern, text)
        if is_loose(pattern, text)
        else compiled.search(text) is not None
    )


def _compile_pattern(pattern: str) -> re.Pattern[str] | None:
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return (
                re.compile(pattern) if len(pattern) <= MAX_PATTERN and "\0" not in pattern else None
            )
    except (re.error, OverflowError, RecursionError):
        return None


def _matches_apart(pattern: str, text: str) -> bool:
    """In a process of its own, which can be ended."""
    import subprocess
    import sys

    request = f"{pattern}\0{text}".encode("utf-8", "surrogatepass")
    argv = [sys.executable, "-I", "-S", "-W", "ignore", "-c", _MATCHER]
    try:
        return (
            subprocess.run(
                argv, input=request, capture_output=True, timeout=LIMIT_S, check=False
            ).returncode
            == 10
        )
    except (subprocess.TimeoutExpired, OSError):
        return False


# A schema of a few lines can ask for more than a lifetime of looking, by references to references
# to choices.
MAX_STEPS = 100_000
# A reference to itself never ends.
MAX_LEVELS = 80
# What a pattern costs that needs a process of its own: thirty of them in one call are enough.
LOOSE_STEPS = 3_000


class SchemaTooComplexError(Exception):
    """The schema asks for more looking than is given to it."""


class SchemaWalk:
    """The whole schema, what its keywords mean, and how far the check has come."""

    def __init__(
        self, root: Mapping[str, Any], keywords: Mapping[str, Keyword], steps: int = 0
    ) -> None:
        self.root = root
        self.keywords = keywords
        self.steps = steps
        self.levels = 0

    def problems(self, schema: Any, value: Any, at: str) -> list[str]:
        """What is wrong with the value. `True` lets all pass, `False` nothing; what is no schema
        says nothing.
        """
        if schema is False:
            return [f"{place_text(at)}: is not allowed"]
        with self.level():
            return [
                problem
                for word, keyword in as_mapping(schema).items()
                if word in self.keywords
                for problem in self.keywords[word](self, keyword, schema, value, at)
            ]

    def fits(self, schema: Any, value: Any) -> bool:
        """Whether nothing is wrong with the value."""
        return not self.problems(schema, value, "")

    def matches(self, pattern: Any, text: str) -> bool:
        """Whether the text matches; what is no pattern lets all pass."""
        if not isinstance(pattern, str):
            return True
        self.steps += LOOSE_STEPS if is_loose(pattern, text) else 0
        return pattern_matches(pattern, text)

    @contextmanager
    def level(self) -> Iterator[None]:
        """One more step, one level deeper. Raises TooInvolvedError at the end of either."""
        self.steps += 1
        self.levels += 1
        if self.steps > MAX_STEPS or self.levels > MAX_LEVELS:
            raise SchemaTooComplexError
        try:
            yield
        finally:
            self.levels -= 1

    def target(self, reference: Any) -> Any:
        """What a reference into the schema itself points to; None for any other."""
        from urllib.parse import unquote

        if not isinstance(reference, str) or not (reference == "#" or reference.startswith("#/")):
            return None
        node: Any = self.root
        for part in unquote(reference).split("/")[1:]:
            node = _step(node, part.replace("~1", "/").replace("~0", "~"))
        return node

    def resolve_schema(self, schema: Any) -> Mapping[str, Any]:
        """The schema with what its reference points to."""
        schema_object = as_mapping(schema)
        for _ in range(MAX_LEVELS):
            if "$ref" not in schema_object:
                return schema_object
            siblings = {key: value for key, value in schema_object.items() if key != "$ref"}
            schema_object = {**as_mapping(self.target(schema_object["$ref"])), **siblings}
        return {}


Keyword: TypeAlias = Callable[[SchemaWalk, Any, Mapping[str, Any], Any, str], list[str]]


def _step(value: Any, part: str) -> Any:
    if isinstance(value, list) and part.isdecimal() and int(part[:9]) < len(value):
        return value[int(part[:9])]
    return value.get(part) if isinstance(value, Mapping) else None


def as_mapping(value: Any) -> Mapping[str, Any]:
    """The value where it is a mapping, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def as_list(value: Any) -> list[Any]:
    """The value where it is a list, else an empty one."""
    return list(value) if isinstance(value, (list, tuple)) else []


def place_text(at: str) -> str:
    """Where in the arguments, as a reader names it."""
    return at or "the arguments"


def member_place(at: str, name: str | int) -> str:
    """The place of a member.

    >>> below(below("", "items"), 2), below("to", "name")
    ('items[2]', 'to.name')
    """
    if isinstance(name, int):
        return f"{at}[{name}]"
    label = one_line(name, 80)
    return f"{at}.{label}" if at else label


# Names of arguments: those that a schema does not know, with the nearest that it does.


def compact_name(name: str) -> str:
    """The name without case and separators, so that spellings of it are one.

    >>> compact("base_readQuery") == compact("base-read-query") == compact("BASE_READQUERY")
    True
    """
    return "".join(filter(str.isalnum, name)).lower()


def nearest_names(name: str, names: Iterable[str], limit: int = 3) -> list[str]:
    """The known names that come closest, best first."""
    from difflib import get_close_matches

    by_form = {compact_name(name_text): name_text for name_text in names}
    return [
        by_form[form]
        for form in get_close_matches(compact_name(name[:100]), by_form, n=limit, cutoff=0.6)
    ]


def unknown_names(schema: JsonSchema | None, arguments: Arguments) -> list[str]:
    """A problem for each name that the schema does not list; none where it says itself whether
    there may be more.
    """
    if not schema or {
        "additionalProperties",
        "patternProperties",
        "unevaluatedProperties",
        "$ref",
    } & set(schema):
        return []
    if {"allOf", "anyOf", "oneOf", "if"} & set(schema):  # which may list names of their own
        return []
    declared = [str(name) for name in as_mapping(schema.get("properties"))]
    return [
        f"{one_line(name, 80)}: is unknown{suggestion(name, declared)}"
        for name in arguments
        if name not in declared
    ]


def suggestion(name: str, names: Iterable[str]) -> str:
    """`; did you mean …?`, where something comes close."""
    close = nearest_names(name, names, 1)
    return f"; did you mean {one_line(close[0], 80)}?" if close else ""
