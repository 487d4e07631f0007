"""Text that poses as the frame around it, or is there for a machine and not for a person."""

from __future__ import annotations

import re
from collections.abc import Iterator

from capdisc_indexer.check.guarded import OF_FORM
from capdisc_indexer.check.texts import Text
from capdisc_indexer.markdown.prose import prose
from capdisc_indexer.render.text import FRAME_LINE, FRAME_SIGNS
from capdisc_indexer.types import Finding, Severity

BLANKS = 400
BLANK_LINES = 200
FENCE = 7  # longer than anyone needs to show a fence in a fence

_WRAPPERS = (
    "assistant|available_skills|capabilities|capability|context|documents|function_calls|function_results|human|"
    "instructions|invoke|skill|skill_content|skills|system|system-reminder|tool|tool_call|tool_result|tools|user"
)
_CLOSING = re.compile(
    rf"</(?:{_WRAPPERS})\s*>|<(?:system|system-reminder|assistant|function_calls|tool_result)\s*>", re.I
)
_TOKENS = re.compile(
    r"<\|(?:im_start|im_end|im_sep|endoftext|system|user|assistant|begin_of_text|end_of_text|eot_id|start_header_id"
    r"|end_header_id|fim_[a-z]+|endofprompt)\|>|\[/?INST\]|<</?SYS>>|</?s>(?=\s*\[INST\])|<start_of_turn>|<end_of_turn>"
)
_FENCE = re.compile(rf"^ {{0,3}}(?:`{{{FENCE},}}|~{{{FENCE},}})", re.MULTILINE)
_COMMENT = re.compile(
    r"<!--(?P<own>\s{0,8}capdisc:[^>]{0,400}-->)?|^ {0,3}\[[^\]\n]{1,40}\]: *(?:#|<>) *[\"'(]", re.MULTILINE
)
_OWN = re.compile(r"\s*capdisc:\s*ignore=([a-z, -]+?)\s*-->")
_SPAN = re.compile(r"`[^`\n]+`")
_BLANK_LINES = re.compile(rf"\n(?:[ \t]*\n){{{BLANK_LINES}}}")
_BLANKS = re.compile(rf"[ \t\u00a0\u2000-\u200a\u3000]{{{BLANKS}}}")
_HINT = "write it as code, or leave it out; capdisc frames what it prints, other programs may not"


def markup(text: Text) -> Iterator[Finding]:
    """What could close or imitate a frame, is commented out, or pushes the rest out of sight."""
    yield from _breakout(text)
    if "<!--" in text.value or "]:" in text.value:
        yield from _comment(text)
    yield from _padding(text)


def _breakout(text: Text) -> Iterator[Finding]:
    for signs, pattern, what in (
        (("<",), _CLOSING, "a tag that prompts use as a wrapper"),
        (("<|", "<<", "INST]", "_turn>"), _TOKENS, "a control token of chat models"),
        (("`" * FENCE, "~" * FENCE), _FENCE, f"a code fence of {FENCE} or more marks"),
        (FRAME_SIGNS, FRAME_LINE, "a line like those that frame capdisc's output"),
    ):
        if any(map(text.value.__contains__, signs)) and (found := pattern.search(text.value)):
            yield text.finding("markup-breakout", Severity.WARNING, f"the text holds {what}", _HINT, found.start())
            return


def _comment(text: Text) -> Iterator[Finding]:
    shown = _without_code(text.value) if text.is_body else text.value
    found = next((one for one in _COMMENT.finditer(shown) if not _is_own(one["own"])), None)
    if found:
        message = "a comment, which a model reads and a reader of the page does not see"
        line = text.value.split("\n")[shown.count("\n", 0, found.start())]
        offset = text.value.index(line) if line else 0
        yield text.finding("html-comment", Severity.WARNING, message, "remove it, or say it openly", offset)


def _is_own(comment: str | None) -> bool:
    """Whether a comment only says to capdisc which rules of form to leave out."""
    own = _OWN.fullmatch(comment or "")
    return own is not None and all(code.strip() in OF_FORM for code in own[1].split(","))


def _without_code(value: str) -> str:
    """The text, line for line, with blanks in the place of code, which a reader does see."""
    lines = [""] * (value.count("\n") + 1)
    for number, line in prose(value):
        lines[number - 1] = _SPAN.sub(lambda span: " " * len(span[0]), line) if "`" in line else line
    return "\n".join(lines)


def _padding(text: Text) -> Iterator[Finding]:
    value = text.value
    # Plain looks first: expressions are slow on long texts.
    is_long = value.count("\n") > BLANK_LINES
    is_wide = " " * BLANKS in value or "\t" * BLANKS in value or not value.isascii()
    if found := (_BLANK_LINES.search(value) if is_long else None) or (_BLANKS.search(value) if is_wide else None):
        message = "so much blank space that what follows is out of sight"
        yield text.finding("padding", Severity.WARNING, message, "remove the blanks", found.start())
