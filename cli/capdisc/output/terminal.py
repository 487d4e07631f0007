"""What does a person at a terminal see? Tables, trees and panels, drawn by rich.

Where stdout is not a terminal, or a dumb one, `find_screen` gives None, and commands print their
plain lines. rich is imported only while something is drawn: a cold search of 130 ms of processor
time takes 170 with its table.

Callers hand in texts with the names of styles. Every text passes the sanitiser, and none is read
as rich's markup, so text of others can neither steer the terminal nor colour itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from capdisc.output import console
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.text.normalization import compile_late

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table
    from rich.text import Text
    from rich.tree import Tree

    from capdisc.context.surroundings import Runtime

# The eight colours of every terminal, which its theme makes legible on its own background; blue
# and bright colours are not used, since common themes of one background or the other lose them.
STYLES = {
    "": "",
    "ok": "green",
    "notice": "cyan",
    "warning": "yellow",
    "error": "bold red",
    "heading": "bold",
    "title": "bold not dim",  # in a frame that is dimmed
    "name": "bold",
    "detail": "dim",
    "option": "bold cyan",
    "value": "magenta",
    "skill": "cyan",
    "tool": "green",
    "agent": "magenta",
    "command": "yellow",
}
_KIND_CODES = {"skill": 36, "tool": 32, "agent": 35, "command": 33}
# A text and the name of its style.
Piece: TypeAlias = tuple[str, str]
# The pieces of one cell or line; a plain text has no style.
Line: TypeAlias = "str | Piece | Sequence[Piece]"

MIN_COLUMNS = 24
# rich takes a third of a millisecond for a row: longer tables are printed as a pipe gets them.
MAX_ROWS = 1_000
# Eighths of a cell, and cells of a full bar.
_EIGHTHS, BAR_CELLS = " ▏▎▍▌▋▊▉", 5
_ESCAPES = compile_late(r"\x1b\[[0-9;]*m")


@frozen(kw_only=True)
class Screen:
    """The terminal that a result is drawn for. Without `colour` it is drawn in plain text."""

    columns: int
    colour: bool


@frozen(kw_only=True)
class ColumnStyle:
    """How a column of a table is drawn. A `wrapped` one takes the lines that it needs; in any
    other a cell is one line, cut to the width. `max_width` 0 is no limit; one column may be
    `flexible`, and takes what the others leave. `print_rows` shows one with `only` either on a
    "screen" or in a "pipe".
    """

    title: str = ""
    only: str = ""
    is_number: bool = False
    wrapped: bool = False
    flexible: bool = False
    max_width: int = 0


@frozen(kw_only=True)
class Branch:
    """A line of a tree with what hangs below it."""

    label: Line
    branches: Sequence[Branch] = ()


def find_screen(runtime: Runtime) -> Screen | None:
    """The terminal that stdout is; None for a pipe, a file or a terminal that obeys no codes."""
    return make_screen(runtime) if runtime.draws_results else None


def make_screen(runtime: Runtime) -> Screen:
    """The terminal that stdout is, for a caller that knows that it is one (`draws_results`)."""
    return Screen(columns=max(runtime.columns, MIN_COLUMNS), colour=runtime.colour)


def style_of_kind(kind: str) -> str:
    """The style of a kind of capability; "" for kinds without one."""
    return kind if kind in _KIND_CODES else ""


def colour_text(text: str, kind: str, screen: Screen) -> str:
    """The text, sanitised, in the colour of a kind, without rich: for lists of any length."""
    safe = console.sanitise(text)
    code = _KIND_CODES.get(kind)
    return f"\x1b[{code}m{safe}\x1b[0m" if code and screen.colour else safe


def format_bar(share: float) -> str:
    """A bar of five cells for a share of 0..1, in steps of an eighth of a cell."""
    eighths = round(min(max(share, 0.0), 1.0) * BAR_CELLS * 8)
    full, part = divmod(eighths, 8)
    return ("█" * full + (_EIGHTHS[part] if part else "")).ljust(BAR_CELLS)


def print_rows(
    screen: Screen | None, columns: Sequence[ColumnStyle], rows: Sequence[Sequence[Line | int]]
) -> None:
    """Print the rows: drawn on a screen, else, or where they are many, as aligned plain lines."""
    is_drawn = screen is not None and 0 < len(rows) <= MAX_ROWS
    places = [
        place
        for place, column in enumerate(columns)
        if column.only in ("", "screen" if is_drawn else "pipe")
    ]
    columns = [columns[place] for place in places]
    cells = ([row[place] for place in places] for row in rows)
    if screen and is_drawn:
        numbers = ([f"{c:,}" if isinstance(c, int) else c for c in row] for row in cells)
        print_table(screen, columns, numbers)
    else:
        plain = [[_plain_text(cell) for cell in row] for row in cells]
        console.print_lines(console.format_table([column.title for column in columns], plain))


def _plain_text(cell: Line | int) -> str:
    if isinstance(cell, (str, int)):
        return str(cell)
    return "".join(text for text, _ in _as_pieces(cell))


def _as_pieces(line: Piece | Sequence[Piece]) -> Sequence[Piece]:
    return [line] if isinstance(line[0], str) else line  # type: ignore[list-item,return-value]


def print_table(
    screen: Screen, columns: Sequence[ColumnStyle], rows: Iterable[Sequence[Line]]
) -> None:
    """Print a table with its titles, if a column has one."""
    console.print_result(_draw(screen, _build_table(columns, rows)))


def print_tree(screen: Screen, root: Branch) -> None:
    """Print a tree from its root downwards."""
    from rich.tree import Tree

    tree = Tree(_build_text(root.label), guide_style=STYLES["detail"])
    _add_branches(tree, root.branches)
    console.print_result(_draw(screen, tree))


def print_panel(
    screen: Screen, title: str, columns: Sequence[ColumnStyle], rows: Iterable[Sequence[Line]]
) -> None:
    """Print a table in a frame as wide as the screen, with a title in its upper edge."""
    from rich.panel import Panel

    panel = Panel(
        _build_table(columns, rows),
        title=_build_text((title, "title")),
        title_align="left",
        border_style=STYLES["detail"],
    )
    console.print_result(_draw(screen, panel))


def print_fields(screen: Screen | None, lines: Iterable[str]) -> None:
    """Print lines of a label, two blanks or more, and a text: on a screen the labels as headings,
    the texts broken next to them.
    """
    if screen is None:
        console.print_lines(lines)
        return
    fields = [re.split(r"\s{2,}", line, maxsplit=1) for line in lines]
    rows = [((label, "heading"), "".join(text)) for label, *text in fields]
    print_table(screen, (ColumnStyle(), ColumnStyle(wrapped=True, flexible=True)), rows)


def print_paragraph(screen: Screen | None, line: Line, indent: int = 0) -> None:
    """Print a text, broken between its words where it is wider than the screen."""
    if screen is None:
        console.print_lines([_plain_text(line)])
        return
    from rich.padding import Padding

    console.print_result(_draw(screen, Padding(_build_text(line), (0, 0, 0, indent))))


def _build_table(columns: Sequence[ColumnStyle], rows: Iterable[Sequence[Line]]) -> Table:
    from rich.table import Table

    table = Table(
        box=None,
        pad_edge=False,
        padding=(0, 2, 0, 0),
        show_header=any(column.title for column in columns),
        header_style=STYLES["heading"],
        expand=any(column.flexible for column in columns),
    )
    for column in columns:
        table.add_column(
            _build_text(column.title),
            justify="right" if column.is_number else "left",
            no_wrap=not column.wrapped,
            overflow="fold" if column.wrapped else "ellipsis",
            ratio=1 if column.flexible else None,
            max_width=column.max_width or None,
        )
    for row in rows:
        table.add_row(*map(_build_text, row))
    return table


def _add_branches(tree: Tree, branches: Sequence[Branch]) -> None:
    for branch in branches:
        _add_branches(tree.add(_build_text(branch.label)), branch.branches)


def _build_text(line: Line) -> Text:
    from rich.text import Text

    if isinstance(line, str):
        return Text(console.sanitise(line))
    text = Text()
    for words, style in _as_pieces(line):
        text.append(console.sanitise(words), STYLES[style])
    return text


def _draw(screen: Screen, drawing: RenderableType) -> str:
    """The drawing as lines of text without blanks at their ends."""
    from io import StringIO

    from rich.console import Console

    target = StringIO()
    Console(
        file=target,
        width=screen.columns,
        force_terminal=True,
        color_system="standard" if screen.colour else None,
        markup=False,
        emoji=False,
        highlight=False,
        legacy_windows=False,
        _environ={},  # what the environment says is in `screen`
    ).print(drawing)
    return "\n".join(map(_strip_end, target.getvalue().splitlines()))


def _strip_end(line: str) -> str:
    """The line without the blanks that fill it, whatever codes stand between them: a terminal that
    is made narrower would wrap them.
    """
    end = len(line)
    while match := re.search(r"( +|\x1b\[[0-9;]*m)\Z", line[:end]):
        end = match.start()
    kept, tail = line[:end], "".join(_ESCAPES.findall(line[end:]))
    return kept + ("\x1b[0m" if tail and "\x1b" in kept else "")
