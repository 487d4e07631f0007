"""The pages stay short: what is written for one of them makes something else shorter."""

from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent.parent
PAGES = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]
# Written by `just docs`.
REFERENCE = "commands.md"
MOST_WORDS = 24_868
MOST_WORDS_OF_THE_REFERENCE = 4_750
MOST_WORDS_OF_A_PAGE = 1_500
# The page with every format and every place of a client.
LONGER_PAGES = {"sources.md": 1_700}


def count_words(page: Path) -> int:
    """The words of a page as `wc -w` counts them."""
    return len(page.read_text(encoding="utf-8").split())


def test_all_pages_together_can_be_read() -> None:
    assert sum(count_words(page) for page in PAGES if page.name != REFERENCE) <= MOST_WORDS


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_can_be_read_at_a_sitting(page) -> None:
    most = MOST_WORDS_OF_THE_REFERENCE if page.name == REFERENCE else MOST_WORDS_OF_A_PAGE
    assert count_words(page) <= LONGER_PAGES.get(page.name, most)
