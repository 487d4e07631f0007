"""How does an agent read an answer that has more tokens than one answer may have?

In pages. A page of JSON is JSON of the same form with the part of the entries that fits; a page of
text ends where a section, a paragraph or a line ends. A cursor names the answer by its digest and
the place where the next page begins, so that nothing is kept between two calls, and a cursor of an
answer that has changed is recognised.
"""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, TypeAlias

from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.model.json_types import JsonObject
from capdisc_indexer.text.normalization import one_line
from capdisc_indexer.text.sections import split_sections
from capdisc_indexer.text.token_counts import split_chunks
from capdisc_indexer.tools.tool_types import ToolAnswer

# Every answer of a tool over MCP keeps within this many o200k tokens.
MAX_ANSWER_TOKENS = 4_000
CURSOR_KEY = "next_cursor"
# An entry of a list that has more than this share of a page is divided into its own members.
_ENTRY_SHARE = 5 / 8
# A long text in JSON is cut at lines, where it has any, into pieces of this many characters for
# each token of a page: few, since one character may have eight tokens when it is escaped.
_PIECE_CHARACTERS = 1 / 8
# The line that says that more follows.
_MORE_TOKENS = 40
# How much of what fits a page may give up to end before a section, or with a paragraph.
_SECTION_SHARE, _PARAGRAPH_SHARE = 0.6, 0.25
_CURSOR = re.compile(r"([0-9a-f]{8})((?:-\d{1,12}){1,2})")

CountTokens: TypeAlias = Callable[[str], int]
EncodeJson: TypeAlias = Callable[[object], str]
_Path: TypeAlias = tuple[str | int, ...]


# Cursors.


def digest_text(text: str) -> str:
    """Eight hexadecimal digits that another text does not have."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]


def format_cursor(digest: str, *numbers: int) -> str:
    """The cursor that leads to this place of the answer with this digest."""
    return "-".join([digest, *map(str, numbers)])


def split_cursor(cursor: str) -> tuple[str, tuple[int, ...]]:
    """The digest and the numbers of a cursor. Raises UsageError for any other text."""
    match = _CURSOR.fullmatch(cursor.strip())
    if match is None:
        raise UsageError(
            f"{one_line(cursor, 60)!r} is not a cursor",
            "give the cursor of an earlier answer, or leave it out",
        )
    return match[1], tuple(int(number) for number in match[2].split("-")[1:])


def read_cursor(cursor: str, digest: str, answer_name: str = "the answer") -> tuple[int, ...]:
    """The numbers of a cursor of the answer with this digest. Raises UsageError for a cursor of
    another one.
    """
    own_digest, numbers = split_cursor(cursor)
    if own_digest != digest:
        raise UsageError(
            f"{answer_name} is another one than that of this cursor: it or the index has changed "
            "since, or the other arguments differ",
            "make the call again without the cursor, or with the arguments it came from",
        )
    return numbers


def _find_start(cursor: str, digest: str, total: int) -> int:
    """Where the page of this cursor begins in an answer with this many parts ("": the first)."""
    start = read_cursor(cursor, digest)[0] if cursor else 0
    if start >= total > 0:
        raise UsageError("nothing follows this cursor", "the answer before was the last part")
    return start


# Pages of JSON.


def page_answer(
    answer: ToolAnswer,
    cursor: str,
    encode: EncodeJson,
    count: CountTokens,
    limit: int = MAX_ANSWER_TOKENS,
) -> str:
    """The answer as JSON; the part of it behind the cursor where there is one. What does not fit
    is left to `next_cursor`. Raises UsageError for a cursor that does not belong to the answer.
    """
    text = encode(answer)
    if not cursor and _fits(text, limit, count):
        return text
    digest = digest_text(text)
    entries = list(_AnswerSplitter(encode, count, limit).split(answer, ()))
    start = _find_start(cursor, digest, len(entries))

    def page(end: int) -> str:
        part = _join_entries(entries[start:end])
        following = {CURSOR_KEY: format_cursor(digest, end)} if end < len(entries) else {}
        return encode(part | following)

    end = _largest_end(start, len(entries), lambda end: _fits(page(end), limit, count))
    if end > start:
        return page(end)
    path, value = entries[start]
    entries[start] = _replace_entry(path, value)
    return page(start + 1)


def _fits(text: str, limit: int, count: CountTokens) -> bool:
    return len(text.encode("utf-8", "replace")) <= limit or count(text) <= limit


def _largest_end(start: int, total: int, fits: Callable[[int], bool]) -> int:
    """The largest end after `start` that fits, found in steps that double; `start` where none
    does.
    """
    low, step = start, 1
    while low < total and fits(min(low + step, total)):
        low, step = min(low + step, total), step * 2
    high = min(low + step, total + 1)  # does not fit, or is behind the last one
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


class _AnswerSplitter:
    """Divides an answer into the parts that no page divides."""

    def __init__(self, encode: EncodeJson, count: CountTokens, limit: int) -> None:
        self._encode, self._count = encode, count
        self._entry_tokens = int(limit * _ENTRY_SHARE)
        self._piece_characters = max(int(limit * _PIECE_CHARACTERS), 1)

    def split(self, value: object, path: _Path) -> Iterator[tuple[_Path, object]]:
        """The parts with the keys and positions that lead to them. Single values of the answer
        itself come first: they say what the lists are about.
        """
        if path and _fits(self._encode(value), self._entry_tokens, self._count):
            yield path, value
        elif isinstance(value, Mapping) and value:
            items = list(value.items())
            if not path:
                items.sort(key=lambda item: self._is_long(item[1]))
            for key, member in items:
                yield from self.split(member, (*path, str(key)))
        elif isinstance(value, (list, tuple)) and value:
            for position, item in enumerate(value):
                yield from self.split(item, (*path, position))
        elif isinstance(value, str):
            for piece in self._split_text(value):
                yield path, piece
        elif path:
            yield path, value

    def _is_long(self, value: object) -> bool:
        if isinstance(value, str):
            return len(value) > self._piece_characters
        return isinstance(value, (Mapping, list, tuple))

    def _split_text(self, text: str) -> Iterator[str]:
        """The text in pieces that end with lines, where these are not longer."""
        piece, most = "", self._piece_characters
        for line in text.splitlines(keepends=True):
            for start in range(0, len(line), most):
                part = line[start : start + most]
                if piece and len(piece) + len(part) > most:
                    yield piece
                    piece = ""
                piece += part
        yield piece


def _join_entries(entries: Sequence[tuple[_Path, object]]) -> JsonObject:
    """The answer that these neighbouring entries are a part of."""
    root: JsonObject = {}
    last_path: _Path = ()
    containers: list[Any] = [root]  # those that lead to the last entry, from the outermost
    for path, value in entries:
        common = _common_length(path, last_path)
        if path and path == last_path and isinstance(value, str):  # the next piece of a text
            container, key = containers[-1], path[-1]
            place = key if isinstance(key, str) else -1
            container[place] += value
            continue
        del containers[common + 1 :]
        for depth in range(common, len(path) - 1):
            child: Any = {} if isinstance(path[depth + 1], str) else []
            _put(containers[-1], path[depth], child)
            containers.append(child)
        _put(containers[-1], path[-1], value)
        last_path = path
    return root


def _common_length(path: _Path, last_path: _Path) -> int:
    """How many containers both paths lead through."""
    length = 0
    for part, last_part in zip(path[:-1], last_path[:-1], strict=False):
        if part != last_part:
            break
        length += 1
    return length


def _put(container: Any, key: str | int, value: object) -> None:
    if isinstance(container, list):
        container.append(value)
    else:
        container[key] = value


def _replace_entry(path: _Path, value: object) -> tuple[_Path, object]:
    """What stands for an entry that has no page: its beginning, under names that are cut."""
    names: _Path = tuple(one_line(part, 80) if isinstance(part, str) else part for part in path)
    return names[:8], f"{one_line(str(value), 200)} (left out: too large)"


# Pages of text.


def page_text(text: str, cursor: str, count: CountTokens, limit: int = MAX_ANSWER_TOKENS) -> str:
    """The text; the part of it behind the cursor where there is one. Where more follows, the last
    line says so. Raises UsageError for a cursor that does not belong to the text.
    """
    digest = digest_text(text)
    start = _find_start(cursor, digest, len(text))
    if _fits(text[start:], limit, count):
        return text[start:]
    stop = fit_text(text, start, len(text), limit - _MORE_TOKENS, count)
    return f'{text[start:stop].rstrip()}\n(more with cursor "{format_cursor(digest, stop)}")'


def fit_text(text: str, start: int, end: int, limit: int, count: CountTokens) -> int:
    """Where a page of `text[start:end]` of at most `limit` tokens ends: at the end of it, before a
    section, behind a paragraph or a line, or else anywhere. Always behind `start`, where `limit`
    is some tokens.
    """
    if _fits(text[start:end], limit, count):
        return end
    chunks = _first_chunks(text[start:end], limit, count)
    if not chunks:
        return _fit_characters(text, start, end, limit, count)
    ends = [start + length for length in accumulate(map(len, chunks))]
    section_starts = [section.start for section in split_sections(text)]
    for share, borders in (
        (_SECTION_SHARE, section_starts),
        (_PARAGRAPH_SHARE, [stop for stop in ends if text.endswith("\n\n", 0, stop)]),
    ):
        border = borders[position - 1] if (position := bisect_right(borders, ends[-1])) else 0
        if border > start and border - start >= (ends[-1] - start) * (1 - share):
            return border
    return ends[-1]


def _first_chunks(text: str, limit: int, count: CountTokens) -> list[str]:
    """The first chunks of the text that fit together."""
    fitting, tokens = [], 0
    for chunk in split_chunks(text):
        tokens += count(chunk)
        if tokens > limit:
            break
        fitting.append(chunk)
    return fitting


def _fit_characters(text: str, start: int, end: int, limit: int, count: CountTokens) -> int:
    """The same for a text whose first line alone is too long: behind a blank near the end of what
    fits, where there is one.
    """
    most = min(end - start, limit * 20)
    length = _largest_end(0, most, lambda size: _fits(text[start : start + size], limit, count))
    length = max(length, 1)
    blank = text.rfind(" ", start, start + length)
    return blank + 1 if blank > start + length // 2 else start + length
