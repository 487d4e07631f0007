"""A reader of printed contexts: each line belongs to a frame or to one content."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from xml.etree import ElementTree

_OPEN = re.compile(r">>> (?P<id>[^\n]+) \[(?P<nonce>[0-9]{12})\]")
_FENCE = re.compile(r"(?P<fence>`{4,})markdown")
_PATH = re.compile(r"  (?:[a-z]+:NAME is in )?/")
_TEXT_LINES = (
    "Available capabilities:",
    "Relevant capabilities:",
    "--- Detailed Capability Reference ---",
    "More: ",
)
_MARKDOWN_LINES = (
    "## Available capabilities",
    "## Relevant capabilities",
    "## Capability reference",
)


class FrameError(Exception):
    """A line that is neither frame nor content."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One capability in full, as it was framed."""

    id: str
    content: str


def frames(form: str, printed: str) -> list[Frame]:
    """The framed contents in their order. Raises FrameError where anything stands outside a frame that the format
    does not put there."""
    return FRAMED[form](printed)


def _text(printed: str) -> list[Frame]:
    def open_frame(line: str, above: str) -> tuple[str, str] | None:
        opened = _OPEN.fullmatch(line)
        return opened and (opened["id"], f"<<< end [{opened['nonce']}]")

    return _read_lines(printed, open_frame, ("- ", *_TEXT_LINES))


def _markdown(printed: str) -> list[Frame]:
    def open_frame(line: str, heading: str) -> tuple[str, str] | None:
        opened = _FENCE.fullmatch(line)
        return opened and (heading.removeprefix("### "), opened["fence"])

    return _read_lines(printed, open_frame, ("- ", "### "), ("", *_MARKDOWN_LINES))


def _read_lines(
    printed: str,
    open_frame: Callable[[str, str], tuple[str, str] | None],
    beginnings: tuple[str, ...],
    whole_lines: tuple[str, ...] = (),
) -> list[Frame]:
    """The frames among lines that begin or are so; a frame has the id of its line, or of the last
    heading."""
    found, above, heading = [], "", ""
    lines = iter(printed.removesuffix("\n").split("\n") if printed else [])
    for line in lines:
        if opened := open_frame(line, heading):
            found.append(Frame(opened[0], _until(opened[1], lines)))
        elif not (line in whole_lines or line.startswith(beginnings) or _is_path(line, above)):
            raise FrameError(f"outside of any frame: {line[:80]!r}")
        heading = line if line.startswith("### ") else heading
        above = line
    return found


def _is_path(line: str, above: str) -> bool:
    """Whether this is the line below a summary that names its file, or the rule that it follows."""
    return bool(_PATH.match(line)) and above.startswith("- ")


def _until(closing: str, lines: object) -> str:
    kept = []
    for line in lines:
        if line == closing:
            return "".join(f"{each}\n" for each in kept)
        kept.append(line)
    raise FrameError("a frame is never closed")


def _xml(printed: str) -> list[Frame]:
    try:
        root = ElementTree.fromstring(printed) if printed else ElementTree.Element("capabilities")
    except ElementTree.ParseError as error:
        raise FrameError(f"not XML: {error}") from error
    strange = {each.tag for each in root.iter()} - {
        "capabilities", "overview", "relevant", "reference", "category", "capability", "detail",
    }  # fmt: skip
    if strange:
        raise FrameError(f"elements of no format: {', '.join(sorted(strange))}")
    return [
        Frame(each.get("id", ""), (each.text or "").removeprefix("\n"))
        for each in root.iter("detail")
    ]


FRAMED: dict[str, Callable[[str], list[Frame]]] = {
    "text": _text,
    "markdown": _markdown,
    "xml": _xml,
}
