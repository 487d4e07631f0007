"""Finds text that poses as the frame around it, or is there for a machine and not for a person."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from itertools import groupby, zip_longest

from capdisc_guard.injection_phrases import gives_orders
from capdisc_guard.placed_text import CapabilityText, find_places
from capdisc_indexer.model.types import Finding
from capdisc_indexer.text.markdown import without_code
from capdisc_indexer.text.normalization import FRAME_LINE, FRAME_SIGNS, compile_late

MAX_BLANKS = 400
BLANK_LINES = 200
MAX_FENCE = 7  # longer than anyone needs to show a fence in a fence

_WRAPPERS = (
    "assistant|available_skills|capabilities|capability|context|documents|function_calls|function_results|human|"
    "instructions|invoke|skill|skill_content|skills|system|system-reminder|tool|tool_call|tool_result|tools|user"
)
_CLOSING = compile_late(
    rf"</(?:{_WRAPPERS})\s*>|<(?:system|system-reminder|assistant|function_calls|tool_result)\s*>",
    re.I,
)
_TOKENS = compile_late(
    r"<\|(?:im_start|im_end|im_sep|endoftext|system|user|assistant|begin_of_text|end_of_text|eot_id|start_header_id"
    r"|end_header_id|fim_[a-z]+|endofprompt)\|>|\[/?INST\]|<</?SYS>>|</?s>(?=\s*\[INST\])|<start_of_turn>|<end_of_turn>"
)
_FENCE = compile_late(rf"^ {{0,3}}(?:`{{{MAX_FENCE},}}|~{{{MAX_FENCE},}})", re.MULTILINE)
_COMMENT_MARK, _DEFINITION_MARK = "<!--", "]:"
_DEFINITION = compile_late(r" {0,3}\[[^\]\n]{1,40}\]: *(?:#|<>) *[\"'(]([^\n]*)")
_COMMENT_CHARACTERS = 20_000  # of one comment that are looked at
_SUPPRESSION_MARK = "capdisc:"
_SUPPRESSION = compile_late(r"\s*capdisc:\s*ignore=([a-z, -]+?)\s*")
_BLANK_LINES = compile_late(rf"\n(?:[ \t]*\n){{{BLANK_LINES}}}")
_BLANK = r"[ \t\u00a0\u2000-\u200a\u3000]"
_BLANKS = compile_late(rf"{_BLANK}{{{MAX_BLANKS}}}")
# Of this many blanks in a row, every hundredth character of a text shows four.
_SPARSE_BLANKS = compile_late(rf"{_BLANK}{{{MAX_BLANKS // 100}}}")
_MIN_CELL_SHARE = (
    0.4  # of the width that the longest cell of the column takes; wide letters count twice there
)
_RULE_SIGNS = frozenset(":- ")
# Signs of which the text must hold one, a pattern, and what that finds.
_FRAMES = (
    (("<",), _CLOSING, "a tag that prompts use as a wrapper"),
    (("<|", "<<", "INST]", "_turn>"), _TOKENS, "a control token of chat models"),
    (("`" * MAX_FENCE, "~" * MAX_FENCE), _FENCE, f"a code fence of {MAX_FENCE} or more marks"),
    (FRAME_SIGNS, FRAME_LINE, "a line like those that frame capdisc's output"),
)
_HINT = "write it as code, or leave it out; capdisc frames what it prints, other programs may not"


def markup_findings(
    text: CapabilityText, silenceable: Set[str] = frozenset()
) -> Iterator[Finding]:
    """Findings for text that could close or imitate a frame, gives orders in a comment, or pushes
    the rest out of sight. Comments may silence rules with the codes `silenceable`.
    """
    for signs, pattern, what in _FRAMES:
        if any(map(text.value.__contains__, signs)) and (
            match := _match_outside_code(pattern, text)
        ):
            yield text.finding("markup-breakout", f"the text holds {what}", _HINT, match.start())
            break
    if (start := _ordering_comment(text, silenceable)) is not None:
        message = "a comment that gives orders, which a model reads and a reader of the page does not see"
        yield text.finding("html-comment", message, "remove it, or say it openly", start)
    if (start := _padding_offset(text.value)) is not None:
        message = "so much blank space that what follows is out of sight"
        yield text.finding("padding", message, "remove the blanks", start)


def _match_outside_code(pattern: re.Pattern[str], text: CapabilityText) -> re.Match[str] | None:
    """The first match outside code, since code shows a mark as what it is; fences and frame lines
    count everywhere.
    """
    match = pattern.search(text.value)
    if match is None or pattern in (_FENCE, FRAME_LINE) or not text.is_body:
        return match
    return pattern.search(without_code(text.value))


def _ordering_comment(text: CapabilityText, silenceable: Set[str]) -> int | None:
    """The offset of the first comment with orders, other than to silence one of these rules."""
    if _COMMENT_MARK not in text.value and _DEFINITION_MARK not in text.value:
        return None
    shown = without_code(text.value) if text.is_body else text.value
    end = 0
    for start in _comment_starts(shown):
        if start < end:
            continue  # inside the comment before
        comment, end = _comment_text(shown, text.value, start)
        suppression = _SUPPRESSION.fullmatch(comment)
        if suppression and silenceable >= set(map(str.strip, suppression[1].split(","))):
            continue
        if gives_orders(comment) or _SUPPRESSION_MARK in comment:
            return start
    return None


def _comment_starts(shown: str) -> list[int]:
    """Where comments begin, and link definitions that hold one. Plain searches for their marks
    take a tenth of the time of an expression.
    """
    starts = list(find_places(shown, _COMMENT_MARK))
    place = shown.find(_DEFINITION_MARK)
    while place >= 0:
        line_start = shown.rfind("\n", 0, place) + 1
        if _DEFINITION.match(shown, line_start):
            starts.append(line_start)
        line_end = shown.find("\n", place)
        place = shown.find(_DEFINITION_MARK, line_end) if line_end >= 0 else -1
    return sorted(starts)


def _comment_text(shown: str, value: str, start: int) -> tuple[str, int]:
    """The text of the comment that starts there, and where it ends: at the end of the text if
    nothing closes it.
    """
    if not shown.startswith(_COMMENT_MARK, start):
        definition = _DEFINITION.match(shown, start)
        return (definition[1], definition.end()) if definition else ("", start)
    start += len(_COMMENT_MARK)
    end = value.find("-->", start)
    stop = len(value) if end < 0 else end
    return value[start : min(stop, start + _COMMENT_CHARACTERS)], stop


def _padding_offset(value: str) -> int | None:
    """The offset of blank lines, or of blanks in a line, that push the rest out of sight."""
    # Plain searches first: expressions are slow on long texts.
    is_long = value.count("\n") > BLANK_LINES
    if is_long and (lines := _BLANK_LINES.search(value)):
        return lines.start()
    is_wide = _SPARSE_BLANKS.search(value[::100]) and (
        " " * MAX_BLANKS in value or "\t" * MAX_BLANKS in value or not value.isascii()
    )
    return _unexplained_blanks(value) if is_wide and _BLANKS.search(value) else None


def _unexplained_blanks(value: str) -> int | None:
    """The offset of the first run of blanks that no table needs to align its cells."""
    line_start = 0
    for is_table, group in groupby(value.split("\n"), key=_is_row):
        lines = list(group)
        widest = _widest_cells(lines) if is_table else []
        for line in lines:
            column = counted_to = 0
            for run in _BLANKS.finditer(line):
                column += line.count("|", counted_to, run.start())
                counted_to = run.start()
                if column >= len(widest) or widest[column] < _MIN_CELL_SHARE * len(run[0]):
                    return line_start + run.start()
            line_start += len(line) + 1
    return None


def _is_row(line: str) -> bool:
    return line.lstrip().startswith("|")


def _widest_cells(rows: Sequence[str]) -> list[int]:
    """The length of the longest text in each column of a table, without the line of dashes below
    its head.
    """
    lengths = []
    for row in rows:
        cells = map(str.strip, row.split("|"))
        lengths.append([len(cell) if set(cell) - _RULE_SIGNS else 0 for cell in cells])
    return [max(column) for column in zip_longest(*lengths, fillvalue=0)]
