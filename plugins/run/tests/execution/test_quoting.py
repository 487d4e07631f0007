"""Words quoted for a shell."""

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capdisc_indexer.model.errors import InputError
from capdisc_indexer.text.normalization import UNSAFE_CHARACTERS
from capdisc_indexer.text.shell_quoting import join_words, quote_word
from capdisc_run.process import check_variable

_TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)


@settings(max_examples=40, deadline=None)
@given(st.lists(_TEXTS | st.text("\n\t\r\x1b '\"\\\\$`!a0\x85\u202e", max_size=20), max_size=5))
def test_a_shell_reads_what_was_meant(words: list[str]) -> None:
    script = f"printf '%s\\0' {join_words(words)}" if words else "true"
    done = subprocess.run(
        ["bash", "-c", script], env={"LC_ALL": "C.UTF-8"}, capture_output=True, check=True
    )
    assert done.stdout.decode() == "".join(f"{word}\0" for word in words)


@given(st.text())
def test_nothing_breaks_the_line_or_steers_the_terminal(text: str) -> None:
    line = quote_word(text)
    assert not UNSAFE_CHARACTERS.search(line)
    assert len(line.splitlines()) == 1
    assert "\t" not in line


def test_blanks_cannot_fill_up_a_line() -> None:
    assert " " * 16 not in quote_word("a" + " " * 500 + "b")


def test_what_is_cut_is_counted() -> None:
    assert quote_word("a" * 5_000, 2_000) == "a" * 2_000 + "…<3,000 more characters>"


@pytest.mark.parametrize("name", ["", "1A", "A B", "A-B", "A;id", "$A", "A\n", "`id`", "É"])
def test_a_name_that_says_more_to_a_shell_is_no_name(name: str) -> None:
    with pytest.raises(InputError):
        check_variable(name)
