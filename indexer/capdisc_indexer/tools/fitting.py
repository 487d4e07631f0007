"""An answer within a limit of tokens: what is too much is left out of its longest lists and texts, and said."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from capdisc_indexer.errors import UsageError
from capdisc_indexer.tools.values import ToolAnswer

# Shorter texts are names, and a part of a name is worth nothing.
_SHORT = 80


def within(answer: ToolAnswer, limit: int, count: Callable[[ToolAnswer], int]) -> ToolAnswer:
    """The answer as it is where it fits; else with `truncated` true and, in `left_out`, how many items of each list or
    characters of each text are missing. `count` gives the tokens of an answer as it is printed. Raises UsageError where
    nothing of use would remain."""
    if count(answer) <= limit:
        return answer
    left_out: dict[str, int] = {}
    for path, value in sorted(_long(answer, ()), key=lambda found: -_weight(found[1])):
        kept = _most(answer, path, value, left_out, limit, count)
        left_out[".".join(path)] = len(value) - max(kept, 0)
        answer = _with(answer, path, value[: max(kept, 0)])
        if kept >= 0:
            return _marked(answer, left_out)
    raise UsageError(f"the answer does not fit into {limit} tokens", "give a larger --max-tokens, or ask for less")


def _most(
    answer: ToolAnswer,
    path: tuple[str, ...],
    value: Any,
    left_out: Mapping[str, int],
    limit: int,
    count: Callable[[ToolAnswer], int],
) -> int:
    """How much of the value can stay, by bisection; -1 where not even nothing of it fits."""
    low, high = -1, len(value) - 1
    while low < high:
        middle = (low + high + 1) // 2
        missing = {**left_out, ".".join(path): len(value) - middle}
        if count(_marked(_with(answer, path, value[:middle]), missing)) <= limit:
            low = middle
        else:
            high = middle - 1
    return low


def _marked(answer: ToolAnswer, left_out: Mapping[str, int]) -> ToolAnswer:
    return {**answer, "truncated": True, "left_out": dict(left_out)}


def _long(value: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for key, each in value.items():
        if isinstance(each, Mapping):
            yield from _long(each, (*path, key))
        elif (isinstance(each, list) and each) or (isinstance(each, str) and len(each) > _SHORT):
            yield (*path, key), each


def _weight(value: Any) -> int:
    return len(str(value))


def _with(answer: Mapping[str, Any], path: tuple[str, ...], value: Any) -> ToolAnswer:
    inner = value if len(path) == 1 else _with(answer[path[0]], path[1:], value)
    return {**answer, path[0]: inner}
