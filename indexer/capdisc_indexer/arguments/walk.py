"""One check under way: where references lead, and how much may still be looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeAlias

from capdisc_indexer.arguments import patterns
from capdisc_indexer.text import one_line

# A schema of a few lines can ask for more than a lifetime of looking, by references to references to choices.
MAX_STEPS = 100_000
# A reference to itself never ends.
MAX_LEVELS = 80
# What a pattern costs that needs a process of its own: thirty of them in one call are enough.
LOOSE_STEPS = 3_000


class TooInvolvedError(Exception):
    """The schema asks for more looking than is given to it."""


class Walk:
    """The whole schema, what its keywords mean, and how far the check has come."""

    def __init__(self, root: Mapping[str, Any], keywords: Mapping[str, Keyword], steps: int = 0) -> None:
        self.root = root
        self.keywords = keywords
        self.steps = steps
        self.levels = 0

    def problems(self, schema: Any, value: Any, at: str) -> list[str]:
        """What is wrong with the value. `True` lets all pass, `False` nothing; what is no schema says nothing."""
        if schema is False:
            return [f"{place(at)}: is not allowed"]
        with self.level():
            return [
                problem
                for word, wanted in mapping(schema).items()
                if word in self.keywords
                for problem in self.keywords[word](self, wanted, schema, value, at)
            ]

    def fits(self, schema: Any, value: Any) -> bool:
        """Whether nothing is wrong with the value."""
        return not self.problems(schema, value, "")

    def matches(self, pattern: Any, text: str) -> bool:
        """Whether the text matches; what is no pattern lets all pass."""
        if not isinstance(pattern, str):
            return True
        self.steps += LOOSE_STEPS if patterns.is_loose(pattern, text) else 0
        return patterns.matches(pattern, text)

    @contextmanager
    def level(self) -> Iterator[None]:
        """One more step, one level deeper. Raises TooInvolvedError at the end of either."""
        self.steps += 1
        self.levels += 1
        if self.steps > MAX_STEPS or self.levels > MAX_LEVELS:
            raise TooInvolvedError
        try:
            yield
        finally:
            self.levels -= 1

    def target(self, reference: Any) -> Any:
        """What a reference into the schema itself points to; None for any other."""
        from urllib.parse import unquote

        if not isinstance(reference, str) or not (reference == "#" or reference.startswith("#/")):
            return None
        found: Any = self.root
        for part in unquote(reference).split("/")[1:]:
            found = _step(found, part.replace("~1", "/").replace("~0", "~"))
        return found

    def resolved(self, schema: Any) -> Mapping[str, Any]:
        """The schema with what its reference points to."""
        one = mapping(schema)
        for _ in range(MAX_LEVELS):
            if "$ref" not in one:
                return one
            beside = {key: value for key, value in one.items() if key != "$ref"}
            one = {**mapping(self.target(one["$ref"])), **beside}
        return {}


Keyword: TypeAlias = Callable[[Walk, Any, Mapping[str, Any], Any, str], list[str]]


def _step(value: Any, part: str) -> Any:
    if isinstance(value, list) and part.isdecimal() and int(part[:9]) < len(value):
        return value[int(part[:9])]
    return value.get(part) if isinstance(value, Mapping) else None


def mapping(value: Any) -> Mapping[str, Any]:
    """The value where it is a mapping, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def listed(value: Any) -> list[Any]:
    """The value where it is a list, else an empty one."""
    return list(value) if isinstance(value, (list, tuple)) else []


def place(at: str) -> str:
    """Where in the arguments, as a reader names it."""
    return at or "the arguments"


def below(at: str, name: str | int) -> str:
    """The place of a member.

    >>> below(below("", "items"), 2), below("to", "name")
    ('items[2]', 'to.name')
    """
    if isinstance(name, int):
        return f"{at}[{name}]"
    label = one_line(name, 80)
    return f"{at}.{label}" if at else label
