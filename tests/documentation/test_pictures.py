"""The pictures of the docs are there, small, and ask nothing of the network."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from documentation.pictures import (
    PAGE_VIEWS,
    PICTURES,
    REPOSITORY,
    SCENES,
    THEMES,
    WIDTHS,
    draw_picture,
    steady_text,
)

FILES = sorted(PICTURES.glob("*.svg"))
MAX_BYTES, MAX_BYTES_TOGETHER, MAX_PAGE_BYTES = 30_000, 300_000, 200_000


def test_every_scene_is_there_in_both_widths_and_on_both_backgrounds() -> None:
    drawn = {scene.name for scene in SCENES} & {path.name.split("-")[0] for path in FILES}
    expected = {
        f"{name}-{columns}-{theme}.svg" for name in drawn for columns in WIDTHS for theme in THEMES
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


def test_the_page_of_audit_is_there_on_both_backgrounds_and_small() -> None:
    pictures = {path.name: path.read_bytes() for path in PICTURES.glob("*.png")}
    assert pictures.keys() == {
        f"{view.name}-{theme}.png" for view in PAGE_VIEWS for theme in THEMES
    }
    assert all(data.startswith(b"\x89PNG") for data in pictures.values())
    assert max(map(len, pictures.values())) < MAX_PAGE_BYTES


def test_the_pictures_are_small_together() -> None:
    assert sum(path.stat().st_size for path in FILES) < MAX_BYTES_TOGETHER


@pytest.mark.parametrize(("name", "least"), [("terminal.md", 12), ("audit.md", 4)])
def test_the_page_shows_pictures_that_exist(name, least) -> None:
    page = REPOSITORY / "docs" / name
    names = re.findall(r'"(pictures/[^"]+)"', page.read_text(encoding="utf-8"))
    assert len(names) >= least
    assert [name for name in names if not (page.parent / name).exists()] == []


def test_a_wide_line_is_wrapped_between_words() -> None:
    words = ["word" * 3] * 8
    picture = draw_picture(f"\x1b[1m{' '.join(words)}\x1b[0m", 80, "dark")
    rows = [
        row.replace("&#160;", " ").split() for row in re.findall(r">(word[^<]*)</text>", picture)
    ]
    assert rows == [words[:6], words[6:]]


def test_a_picture_shows_nothing_of_the_machine_and_the_day() -> None:
    monday = "78,571 MB free, 0.9 MB used; built 12 ms ago at 2026-11-23T08:00:59+00:00 in 6.6 s"
    friday = "9,002 MB free, 0.9 MB used; built just now at 2026-11-27T10:13:36+00:00 in 0.3 s"
    assert steady_text(monday) == steady_text(friday)
