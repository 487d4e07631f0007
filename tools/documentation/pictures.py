"""Draws docs/pictures from what the commands print and write: `just pictures` runs it.

Each *.svg is a capture of a real pseudo-terminal, 80 and 120 columns wide, turned into SVG by rich;
each *.png is a part of the page of `audit --html` in a headless Chromium. The commands run in a
home of their own, and times and sizes are fixed, so that the pictures show nothing of the machine
and the day, and two runs give the same files.
"""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

REPOSITORY = Path(__file__).resolve().parent.parent.parent
PICTURES = REPOSITORY / "docs" / "pictures"
sys.path.insert(0, str(REPOSITORY / "tests"))

from capdisc.args.command_table import summarise_commands  # noqa: E402
from capdisc.hook import client_session, use_memory  # noqa: E402
from chromium import PROGRAM, open_page  # noqa: E402
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
    Scene("search", ("search", "merge two pdfs", "-k", "5")),
    Scene("render", ("render", "merge two pdfs", "--budget", "350")),
    Scene("graph", ("graph", "send-invoice", "--depth", "2")),
    Scene("help", ("search", "--help")),
    Scene("doctor", ("doctor",)),
    Scene("audit", ("audit", "claude")),
)
THEMES = ("dark", "light")
# What differs from run to run, and what the pictures have instead.
_UNSTEADY = (
    (r"\b[\d,]+ MB free", "21,275 MB free"),
    (r"\b\d+\.\d s\b", "0.4 s"),
    (r"\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d", "2026-11-27T09:15:04"),
    (r"\b(?:just now|[\d.,]+ (?:ms|s|seconds?|minutes?) ago)", "just now"),
    (r"\bof [\d,]+ that may be watched", "of 192,536 that may be watched"),
    (r"/ad-(?=[0-9a-f]{8})", "/ada-"),
)


class PageView(NamedTuple):
    """A picture of the page: its name, the height, and what is done in the page before."""

    name: str
    height: int
    script: str


PAGE_VIEWS = (
    PageView("page-clients", 850, "scrollTo(0, 0)"),
    PageView(
        "page-overlaps",
        960,
        "choose(skills.find(({ name }) => name === 'merge-pdfs'));"
        "document.getElementById('overlaps').scrollIntoView()",
    ),
)
# Beside the skills of the office, each of them like one of those.
_RIVALS = {
    "combine-pdf-files": "Combines several PDF documents into a single file in the order that you "
    "choose. Use for putting scans, contracts or chapters together.",
    "release-announcement": "Writes a press release for journalists with a headline, a lead, quotes "
    "and contact details. Use for announcing a product or an event to the press.",
    "weekly-menu": "Plans meals for a week by diet, time and leftovers, and writes the grocery list. "
    "Use when somebody asks what to cook this week.",
    "review-changes": "Reviews a code change for bugs, style and missing tests before it is merged. "
    "Use when somebody asks for a code review.",
}
# What was suggested in each session of the week, and what was used.
_WEEK = (
    (9, ("merge-pdfs", "code-review"), ("merge-pdfs", "code-review")),
    (14, ("code-review", "git-rebase"), ("code-review", "git-rebase")),
    (7, ("create-invoice",), ()),
    (11, ("code-review", "expense-report"), ("code-review", "incident-postmortem")),
)


def main() -> int:
    """Draw every picture, in the colours of a dark and of a light screen."""
    PICTURES.mkdir(exist_ok=True)
    for scene, columns, text in capture_scenes():
        for theme in THEMES:
            path = PICTURES / f"{scene.name}-{columns}-{theme}.svg"
            path.write_text(draw_picture(text, columns, theme), encoding="utf-8")
    if not PROGRAM:
        print("the pictures of the page stay: there is no Chromium on PATH", file=sys.stderr)
        return 0
    for name, picture in draw_page():
        (PICTURES / name).write_bytes(picture)
    return 0


@contextmanager
def make_home() -> Iterator[Path]:
    """A home for a while."""
    home = Path(tempfile.gettempdir()) / "u/ada"[: len(SHOWN_HOME) - len("/tmp/")]
    if len(str(home)) != len(SHOWN_HOME):
        raise SystemExit("set TMPDIR=/tmp: the home in the pictures has as many characters")
    home.mkdir(parents=True, mode=0o700)  # fails where somebody has one
    try:
        yield home
    finally:
        shutil.rmtree(home)


def capture_scenes() -> Iterator[tuple[Scene, int, str]]:
    """Each scene with its width and what the terminal shows, behind the line that was typed."""
    with make_home() as home:
        work = _write_home(home)
        # Without the table, which a process in the background brings up to date.
        environ = {"HOME": str(home), "PAGER": "cat", "CAPDISC_TABLE": "off"}
        for scene in (scene for scene in SCENES if scene.words[0] in summarise_commands()):
            for columns in WIDTHS:
                argv = [*scene.words, *(["--rebuild"] if scene.name == "index" else [])]
                screen = run_on_terminal(
                    argv, work, columns=columns, rows=200, environ=_clean_environ() | environ
                )
                typed = f"\x1b[1m$ capdisc {_join_words(scene.words)}\x1b[0m\n"
                shown = _last_drawing(screen.text).replace(str(home), SHOWN_HOME)
                yield scene, columns, typed + steady_text(shown)


def steady_text(text: str) -> str:
    """The text without what the machine and the day decide."""
    for pattern, replacement in _UNSTEADY:
        text = re.sub(pattern, replacement, text)
    return text


def draw_page() -> Iterator[tuple[str, bytes]]:
    """The parts of the page as PNG, by the names of their files."""
    with make_home() as home, tempfile.TemporaryDirectory() as profile:
        work = _write_office(home)
        environ = {name: text for name, text in os.environ.items() if name not in _clean_environ()}
        environ |= {"HOME": str(home), "CAPDISC_TABLE": "off"}
        for words in (("index",), ("audit", "--html", "page.html")):
            argv = [sys.executable, "-m", "capdisc", *words]
            subprocess.run(argv, cwd=work, env=environ, check=True, capture_output=True)
        page = work / "page.html"
        text = page.read_text(encoding="utf-8")
        page.write_text(re.sub(r'"made":"[^"]*"', '"made":"2026-11-27"', text), encoding="utf-8")
        for view in PAGE_VIEWS:
            with open_page(page, Path(profile) / view.name, height=view.height) as browser:
                browser.evaluate(view.script)
                for theme in THEMES:
                    browser.set_scheme(theme)
                    browser.settle()
                    yield f"{view.name}-{theme}.png", browser.draw()


def draw_picture(text: str, columns: int, theme: str) -> str:
    """The text with its codes as SVG, in the colours of a dark or of a light terminal."""
    from io import StringIO

    from rich.console import Console
    from rich.terminal_theme import DEFAULT_TERMINAL_THEME, SVG_EXPORT_THEME
    from rich.text import Text

    console = Console(record=True, width=columns, file=StringIO(), force_terminal=True)
    lines = map(Text.from_ansi, text.splitlines())
    rows = [row for line in lines for row in line.wrap(console, columns)]
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


def _write_office(home: Path) -> Path:
    """A home with the skills of an office, some of which overlap, and a week of the hook; the folder
    of a project.
    """
    skills = home / ".claude" / "skills"
    shutil.copytree(REPOSITORY / "fixtures" / "catalogs" / "office", skills)
    for name, about in _RIVALS.items():
        (skills / name).mkdir()
        text = f"---\nname: {name}\ndescription: {about}\n---\n\n# {name}\n"
        (skills / name / "SKILL.md").write_text(text)
    state = home / ".local" / "state" / "capdisc"
    state.mkdir(parents=True, mode=0o700)
    usage = {}
    for number, (turns, suggested, used) in enumerate(_WEEK):
        offers = {f"skill:{name}": (name, 0.9) for name in suggested}
        for turn in range(turns):
            client_session.record_turn(state, "claude", f"{number}", None, {} if turn else offers)
        for name in used:
            client_session.record_name(state, "claude", f"{number}", name)
            use_memory.record_use(state, name, [], "", time.time())
            usage[name] = {"usageCount": 3, "lastUsedAt": int(1_000 * time.time())}
    (home / ".claude.json").write_text(json.dumps({"skillUsage": usage}))
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
