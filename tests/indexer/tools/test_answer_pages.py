"""Answers that are too long for one page: every page fits, and together they are the answer."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capdisc_indexer.lazy_imports import load_token_counter
from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.tools.answer_pages import (
    CURSOR_KEY,
    fit_text,
    format_cursor,
    page_answer,
    page_text,
    read_cursor,
    split_cursor,
)

LIMIT = 300
COUNT = load_token_counter()
WORDS = st.text('abc 12é漢\n"\\', max_size=60)
ROWS = st.lists(st.dictionaries(WORDS, WORDS | st.integers() | st.none(), max_size=4), max_size=40)


def encode(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def read_all(answer, limit: int = LIMIT) -> list[dict]:
    """The pages of an answer; each fits."""
    pages, cursor = [], ""
    while True:
        text = page_answer(answer, cursor, encode, COUNT, limit)
        assert COUNT(text) <= limit
        pages.append(json.loads(text))
        cursor = pages[-1].pop(CURSOR_KEY, "")
        if not cursor:
            return pages


def test_an_answer_that_fits_is_printed_as_it_is() -> None:
    answer = {"tools": [{"name": "a"}], "total": 1}
    assert page_answer(answer, "", encode, COUNT) == encode(answer)


@settings(max_examples=60, deadline=None)
@given(rows=ROWS, others=ROWS, total=st.integers())
def test_lists_are_divided_between_their_entries(rows, others, total) -> None:
    answer = {"rows": rows, "others": others, "total": total}
    pages = read_all(answer)
    for name, entries in (("rows", rows), ("others", others)):
        assert [row for page in pages for row in page.get(name, [])] == entries
    assert pages[0]["total"] == total


@settings(max_examples=40, deadline=None)
@given(lines=st.lists(WORDS, max_size=80))
def test_a_long_text_in_an_answer_loses_nothing(lines) -> None:
    content = "\n".join(lines)
    pages = read_all({"name": "x", "content": content, "sections": [{"title": "y"}]})
    assert "".join(page.get("content", "") for page in pages) == content


def test_an_entry_that_is_larger_than_a_page_is_divided_itself() -> None:
    rows = [{"name": f"n{n}", "text": "word " * 4_000} for n in range(2)]
    pages = read_all({"rows": rows}, 4_000)
    texts = [row.get("text", "") for page in pages for row in page["rows"]]
    assert "".join(texts) == "word " * 8_000


def test_what_no_page_can_hold_is_left_out_with_a_mark() -> None:
    pages = read_all({"k" * 9_000: 1, "small": 2})
    assert any("left out" in str(value) for page in pages for value in page.values())
    assert [page["small"] for page in pages if "small" in page] == [2]


NAMES = [{"name": f"n{n}"} for n in range(500)]


@pytest.fixture
def cursor() -> str:
    """What the first page of NAMES leads to."""
    return json.loads(page_answer({"rows": NAMES}, "", encode, COUNT, LIMIT))[CURSOR_KEY]


def test_a_cursor_of_a_changed_answer_is_refused_kindly(cursor) -> None:
    with pytest.raises(UsageError, match="changed since") as caught:
        page_answer({"rows": NAMES[1:]}, cursor, encode, COUNT, LIMIT)
    assert "without the cursor" in caught.value.hint


def test_nothing_follows_the_last_entry(cursor) -> None:
    behind = format_cursor(split_cursor(cursor)[0], 10_000)
    with pytest.raises(UsageError, match="nothing follows"):
        page_answer({"rows": NAMES}, behind, encode, COUNT, LIMIT)


@pytest.mark.parametrize("cursor", ["", "x", "abc-1", "0123456z-1", "01234567", "01234567--1"])
def test_a_text_that_is_no_cursor_is_refused(cursor: str) -> None:
    with pytest.raises(UsageError, match="not a cursor"):
        split_cursor(cursor)


def test_a_cursor_carries_its_numbers() -> None:
    assert read_cursor(format_cursor("0123abcd", 5, 70), "0123abcd") == (5, 70)


@settings(max_examples=80, deadline=None)
@given(
    text=st.lists(
        st.sampled_from(["# A\n", "## B\n", "word word\n", "\n", "x" * 400, "```\n", "漢字"])
    ).map("".join),
    limit=st.integers(20, 200),
)
def test_the_pages_of_a_text_are_the_text(text: str, limit: int) -> None:
    start, pages = 0, []
    while start < len(text):
        stop = fit_text(text, start, len(text), limit, COUNT)
        assert stop > start
        assert COUNT(text[start:stop]) <= limit
        pages.append(text[start:stop])
        start = stop
    assert "".join(pages) == text


def test_a_page_ends_before_a_section_rather_than_in_it() -> None:
    text = "".join(f"## Part {n}\n\n" + "A line of words.\n" * 12 for n in range(20))
    stop = fit_text(text, 0, len(text), 200, COUNT)
    assert text[stop:].startswith("## Part")


def test_a_text_answer_names_its_cursor_in_its_last_line() -> None:
    text = "".join(f"line {n}\n" for n in range(200))
    lines, cursor = [], ""
    while True:
        page = page_text(text, cursor, COUNT, LIMIT)
        assert COUNT(page) <= LIMIT
        head, mark, tail = page.partition('\n(more with cursor "')
        lines += head.splitlines()
        if not mark:
            break
        cursor = tail.removesuffix('")')
    assert lines == text.splitlines()
