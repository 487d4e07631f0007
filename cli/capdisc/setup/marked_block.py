"""Keeps a block of a text file, between two marks, in step with what capdisc prints.

The marks are comments of Markdown on lines of their own. Everything outside of them belongs to
the author of the file and is never changed.
"""

from __future__ import annotations

import re
from pathlib import Path

from capdisc.context.surroundings import Runtime
from capdisc.output import console
from capdisc.setup.settings_files import check_link, check_writable, read_text, write_text
from capdisc_indexer.model.errors import InputError
from capdisc_indexer.model.frozen import frozen

_BEGIN = "<!-- capdisc:begin capdisc keeps this block: what you write into it is lost -->"
_END = "<!-- capdisc:end -->"
_MARK_LINE = re.compile(r"^[ \t]*<!--[ \t]*capdisc:(begin|end)\b.*$", re.M)
_MARK = re.compile(r"(<!--\s*capdisc):(begin|end)\b")


@frozen
class _Block:
    """Where the block stands: its begin mark, what is between the marks, and what follows."""

    start: int
    inner_start: int
    inner_end: int
    end: int


def keep_block(runtime: Runtime, file: Path, content: str) -> None:
    """Make the content the block of the file, and say on stderr whether that changed anything. A
    file without a block gets one at its end, a missing file is created.
    """
    path = runtime.expand(file)
    check_link(path, runtime.workspace, runtime.home)
    before = read_text(path)
    after = put_block(before or "", content, path)
    if after == before:
        console.print_notice(f"notice: {path} is up to date")
        return
    check_writable(path)
    write_text(path, after)
    console.print_notice(f"notice: wrote {path}")


def put_block(text: str, content: str, path: Path) -> str:
    """The text with the content between the marks. Raises InputError where marks are missing or
    stand twice; the error names the path.
    """
    line_end = "\r\n" if "\r\n" in text else "\n"
    lines = _MARK.sub(r"\1&#58;\2", content).splitlines()
    inner = "".join(line + line_end for line in lines)
    if block := _find_block(text, path):
        return text[: block.inner_start] + inner + text[block.inner_end :]
    gap = "" if not text or text.endswith("\n") else line_end
    blank_line = line_end if text.strip() else ""
    return f"{text}{gap}{blank_line}{_BEGIN}{line_end}{inner}{_END}{line_end}"


def has_block(text: str, path: Path) -> bool:
    """Whether the text has a block. Raises InputError as `put_block` does."""
    return _find_block(text, path) is not None


def remove_block(text: str, path: Path) -> str:
    """The text without its block and without the blank line before it."""
    block = _find_block(text, path)
    if block is None:
        return text
    before = re.sub(r"(\n)\r?\n\Z", r"\1", text[: block.start])
    return before + text[block.end :]


def _find_block(text: str, path: Path) -> _Block | None:
    marks = list(_MARK_LINE.finditer(text))
    kinds = [mark[1] for mark in marks]
    if not marks:
        return None
    if kinds != ["begin", "end"]:
        lines = ", ".join(
            f"{mark[1]} in line {text.count(chr(10), 0, mark.start()) + 1}" for mark in marks
        )
        raise InputError(
            f"{path} needs one begin mark of capdisc and one end mark after it: {lines}",
            "remove the marks that are too many; a new block is made at the end of the file",
        )
    begin, end = marks
    return _Block(
        begin.start(), _next_line(text, begin.end()), end.start(), _next_line(text, end.end())
    )


def _next_line(text: str, position: int) -> int:
    line_end = text.find("\n", position)
    return len(text) if line_end < 0 else line_end + 1
