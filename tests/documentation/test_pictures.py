"""The pictures of docs/terminal.md are there, small, and ask nothing of the network."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from documentation.pictures import PICTURES, REPOSITORY, SCENES, WIDTHS, draw_picture

FILES = sorted(PICTURES.glob("*.svg"))
MAX_BYTES, MAX_BYTES_TOGETHER = 30_000, 300_000


def test_every_scene_is_there_in_both_widths_and_on_both_backgrounds() -> None:
    drawn = {scene.name for scene in SCENES} & {path.name.split("-")[0] for path in FILES}
    expected = {
        f"{name}-{columns}-{theme}.svg"
        for name in drawn
        for columns in WIDTHS
        for theme in ("dark", "light")
    }
    assert {path.name for path in FILES} == expected
    assert {"index", "search", "render", "graph", "help", "doctor"} <= drawn


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_picture_is_small_and_whole_in_itself(path) -> None:
    text = path.read_text(encoding="utf-8")
    ElementTree.fromstring(text)
    assert len(text.encode()) < MAX_BYTES
    assert re.findall(r"https?://(?!www\.w3\.org/2000/svg)", text) == []
    assert "/tmp" not in text


def test_the_pictures_are_small_together() -> None:
    assert sum(path.stat().st_size for path in FILES) < MAX_BYTES_TOGETHER


def test_the_page_shows_pictures_that_exist() -> None:
    page = REPOSITORY / "docs" / "terminal.md"
    names = re.findall(r'"(pictures/[^"]+)"', page.read_text(encoding="utf-8"))
    assert len(names) >= 12
    assert [name for name in names if not (page.parent / name).exists()] == []


def test_a_wide_line_is_wrapped_as_a_terminal_wraps() -> None:
    picture = draw_picture("\x1b[1m" + "ab" * 50 + "\x1b[0m", 80, "dark")
    texts = re.findall(r">([ab]+)</text>", picture)
    assert [len(text) for text in texts] == [80, 20]
