"""Draws docs/pictures/*.svg from what the commands print on a terminal: `just pictures` runs it.

Each picture is a capture of a real pseudo-terminal, 80 and 120 columns wide, turned into SVG by
rich. The commands run in a home of their own, so that no picture shows the machine it was made on.
"""

from __future__ import annotations

import html
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

REPOSITORY = Path(__file__).resolve().parent.parent.parent
PICTURES = REPOSITORY / "docs" / "pictures"
sys.path.insert(0, str(REPOSITORY / "tests"))

from capdisc.args.command_table import summarise_commands  # noqa: E402
from pseudo_terminal import run_on_terminal  # noqa: E402

WIDTHS = (80, 120)
# A home of as many characters as the one that is shown, so that columns stay aligned.
SHOWN_HOME = "/home/ada"
# Of the font of 20 pixels that rich draws with.
_CELL_WIDTH, _LINE_HEIGHT, _MARGIN = 12.04, 24.4, 8
# What rich writes around its text, without its frame and without fonts from the network.
TEMPLATE = """\
<svg viewBox="0 0 WIDTH HEIGHT" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace; font-size: {char_height}px; }}
{styles}
</style>
<rect width="100%" height="100%" fill="BACKGROUND"/>
{backgrounds}
<g class="{unique_id}-matrix" transform="translate(8 4)">
{matrix}
</g>
</svg>
"""


class Scene(NamedTuple):
    """A picture: its name, and the words of the command line in it."""

    name: str
    words: tuple[str, ...]


SCENES = (
    Scene("index", ("index",)),
    Scene("search", ("search", "put two PDF files into one", "-k", "5")),
    Scene("render", ("render", "put two PDF files into one", "--budget", "350")),
    Scene("graph", ("graph", "send-invoice", "--depth", "2")),
    Scene("help", ("search", "--help")),
    Scene("doctor", ("doctor",)),
    Scene("audit", ("audit", "claude")),
)


def main() -> int:
    """Draw every picture, in the colours of a dark and of a light terminal."""
    PICTURES.mkdir(exist_ok=True)
    for scene, columns, text in capture_scenes():
        for theme in ("dark", "light"):
            path = PICTURES / f"{scene.name}-{columns}-{theme}.svg"
            path.write_text(draw_picture(text, columns, theme), encoding="utf-8")
    return 0


def capture_scenes() -> Iterator[tuple[Scene, int, str]]:
    """Each scene with its width and what the terminal shows, behind the line that was typed."""
    home = Path(tempfile.gettempdir()) / "u/ada"[: len(SHOWN_HOME) - len("/tmp/")]
    if len(str(home)) != len(SHOWN_HOME):
        raise SystemExit("set TMPDIR=/tmp: the home in the pictures has as many characters")
    home.mkdir(parents=True, mode=0o700)  # fails where somebody has one
    try:
        work = _write_home(home)
        environ = {"HOME": str(home), "PAGER": "cat"}
        for scene in (scene for scene in SCENES if scene.words[0] in summarise_commands()):
            for columns in WIDTHS:
                argv = [*scene.words, *(["--rebuild"] if scene.name == "index" else [])]
                screen = run_on_terminal(
                    argv, work, columns=columns, rows=200, environ=_clean_environ() | environ
                )
                typed = f"\x1b[1m$ capdisc {_join_words(scene.words)}\x1b[0m\n"
                yield (
                    scene,
                    columns,
                    typed + _last_drawing(screen.text).replace(str(home), SHOWN_HOME),
                )
    finally:
        shutil.rmtree(home)


def draw_picture(text: str, columns: int, theme: str) -> str:
    """The text with its codes as SVG, in the colours of a dark or of a light terminal."""
    from io import StringIO

    from rich.console import Console
    from rich.terminal_theme import DEFAULT_TERMINAL_THEME, SVG_EXPORT_THEME
    from rich.text import Text

    console = Console(record=True, width=columns, file=StringIO(), force_terminal=True)
    rows = [
        row
        for line in map(Text.from_ansi, text.splitlines())
        for row in line.divide(range(columns, len(line), columns))  # as a terminal wraps
    ]
    for row in rows:
        console.print(row, highlight=False)
    colours = SVG_EXPORT_THEME if theme == "dark" else DEFAULT_TERMINAL_THEME
    background = "#{:02x}{:02x}{:02x}".format(*colours.background_color)
    svg = console.export_svg(
        theme=colours,
        code_format=TEMPLATE.replace("BACKGROUND", background),
        unique_id="t",
        font_aspect_ratio=_CELL_WIDTH / 20,
    )
    svg = re.sub(r' clip-path="[^"]*"', "", svg)
    svg = re.sub(r"<text[^>]*>\n</text>", "\n", svg)  # the ends of lines
    svg = re.sub(r'x="([\d.]+)" y="([\d.]+)" textLength="[\d.]+">([^<]*)</text>', _place_text, svg)
    svg = re.sub(r'<text class="[^"]*" ?></text>', "", svg)
    height = round(_LINE_HEIGHT * len(rows) + 2 * _MARGIN)
    svg = svg.replace("WIDTH", str(round(_CELL_WIDTH * columns + 2 * _MARGIN)))
    return re.sub(r"\s*\n", "\n", svg.replace("HEIGHT", str(height)))


def _place_text(match: re.Match[str]) -> str:
    """The attributes and the text of an element without the blanks around the text: not every
    program that draws SVG keeps those.
    """
    text = match[3]
    inner = re.sub(r"^(?:&#160;)+|(?:&#160;)+$", "", text)
    if not inner:
        return "></text>"
    indent = len(re.match(r"(?:&#160;)*", text)[0]) // len("&#160;")  # type: ignore[index]
    width = len(html.unescape(inner)) * _CELL_WIDTH
    x = float(match[1]) + indent * _CELL_WIDTH
    return f'x="{x:.1f}" y="{match[2]}" textLength="{width:.1f}">{inner}</text>'


def _write_home(home: Path) -> Path:
    """A home with a few skills, some of which have findings, and a project; its folder."""
    skills = home / ".claude" / "skills"
    shutil.copytree(REPOSITORY / "fixtures" / "catalogs" / "small", skills)
    for name in (
        "merge-pdfs",
        "write-newsletter",
        "review-pull-request",
        "meeting-notes",
        "clean-csv",
    ):
        path = skills / name / "SKILL.md"
        if path.exists():
            path.write_text(
                path.read_text().replace(
                    "\ndescription:", "\nmetadata:\n  updated: 2026-01-01\ndescription:", 1
                )
            )
    (skills / "Tidy_Desk").mkdir()
    (skills / "Tidy_Desk" / "SKILL.md").write_text("---\nname: Tidy_Desk\n---\nTidy it.\n")
    work = home / "shop"
    (work / ".git").mkdir(parents=True)
    return work


def _clean_environ() -> Mapping[str, str]:
    """Nothing of this session that a command would obey."""
    names = [name for name in os.environ if name.startswith(("CAPDISC_", "XDG_", "LESS"))]
    return dict.fromkeys((*names, "NO_COLOR", "FORCE_COLOR", "CLICOLOR"), "")


def _last_drawing(text: str) -> str:
    """The text without the progress bar, which draws over itself and is erased at the end."""
    return re.sub(r"(?s)\A.*\x1b\[2K", "", text).lstrip("\n")


def _join_words(words: Sequence[str]) -> str:
    return " ".join(f'"{word}"' if " " in word else word for word in words)


if __name__ == "__main__":
    if subprocess.run([sys.executable, "-c", "import rich"], check=False).returncode:
        sys.exit("rich is missing: just setup")
    sys.exit(main())
