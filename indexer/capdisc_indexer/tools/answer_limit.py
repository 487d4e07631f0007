"""An answer within a limit of tokens: what is too much is left out of its longest lists and texts,
and said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.tools.tool_types import ToolAnswer

# Shorter texts are names, and a part of a name is worth nothing.
_MAX_NAME_CHARACTERS = 80


def truncate_answer(
    answer: ToolAnswer, limit: int, count: Callable[[ToolAnswer], int]
) -> ToolAnswer:
    """The answer as it is where it fits; else with `truncated` true and, in `left_out`, how many
    items of each list or characters of each text are missing. `count` gives the tokens of an
    answer as it is printed. Raises UsageError where nothing of use would remain.
    """
    if count(answer) <= limit:
        return answer
    left_out: dict[str, int] = {}
    for path, value in sorted(_long_values(answer, ()), key=lambda entry: -_text_size(entry[1])):
        fitting_length = _largest_fit(answer, path, value, left_out, limit, count)
        left_out[".".join(path)] = len(value) - max(fitting_length, 0)
        answer = _replace_value(answer, path, value[: max(fitting_length, 0)])
        if fitting_length >= 0:
            return _mark_truncated(answer, left_out)
    raise UsageError(
        f"the answer does not fit into {limit} tokens",
        "give a larger --max-tokens, or ask for less",
    )


def _largest_fit(
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
        if count(_mark_truncated(_replace_value(answer, path, value[:middle]), missing)) <= limit:
            low = middle
        else:
            high = middle - 1
    return low


def _mark_truncated(answer: ToolAnswer, left_out: Mapping[str, int]) -> ToolAnswer:
    return {**answer, "truncated": True, "left_out": dict(left_out)}


def _long_values(
    value: Mapping[str, Any], path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], Any]]:
    for key, member in value.items():
        if isinstance(member, Mapping):
            yield from _long_values(member, (*path, key))
        elif (isinstance(member, list) and member) or (
            isinstance(member, str) and len(member) > _MAX_NAME_CHARACTERS
        ):
            yield (*path, key), member


def _text_size(value: Any) -> int:
    return len(str(value))


def _replace_value(answer: Mapping[str, Any], path: tuple[str, ...], value: Any) -> ToolAnswer:
    inner = value if len(path) == 1 else _replace_value(answer[path[0]], path[1:], value)
    return {**answer, path[0]: inner}
