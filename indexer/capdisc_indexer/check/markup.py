"""Text that poses as the frame around it, or is there for a machine and not for a person."""

from __future__ import annotations

import re
from collections.abc import Iterator

from capdisc_indexer.check.texts import Text
from capdisc_indexer.types import Finding, Severity

BLANKS = 400
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
_OUR_FRAME = re.compile(r"^(?:>>> \S+ \[[0-9a-f]{6,}\]|<<< end \[|--- Detailed Capability Reference ---)", re.MULTILINE)
_COMMENT = re.compile(r"<!--|^ {0,3}\[[^\]\n]{1,40}\]: *(?:#|<>) *[\"'(]", re.MULTILINE)
_BLANK_LINES = re.compile(r"\n(?:[ \t]*\n){200}")
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
        ((">>> ", "<<< ", "--- D"), _OUR_FRAME, "a line like those that frame capdisc's output"),
    ):
        if any(sign in text.value for sign in signs) and (found := pattern.search(text.value)):
            yield text.finding("markup-breakout", Severity.WARNING, f"the text holds {what}", _HINT, found.start())
            return


def _comment(text: Text) -> Iterator[Finding]:
    if found := _COMMENT.search(text.value):
        message = "a comment, which a model reads and a reader of the page does not see"
        yield text.finding("html-comment", Severity.WARNING, message, "remove it, or say it openly", found.start())


def _padding(text: Text) -> Iterator[Finding]:
    value = text.value
    # Two plain looks first: expressions are slow on long texts.
    is_wide = " " * BLANKS in value or "\t" * BLANKS in value or not value.isascii()
    if found := _BLANK_LINES.search(value) or (_BLANKS.search(value) if is_wide else None):
        message = "so much blank space that what follows is out of sight"
        yield text.finding("padding", Severity.WARNING, message, "remove the blanks", found.start())
