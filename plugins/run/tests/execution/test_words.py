"""Arguments as words of a command, and words quoted for a shell."""

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capdisc_indexer.model.errors import InputError, UsageError
from capdisc_indexer.text.normalization import UNSAFE_CHARACTERS
from capdisc_indexer.text.shell_quoting import join_words, quote_word
from capdisc_run.argv_template import build_argv
from capdisc_run.process import check_variable
from case_rows import read_rows

DASHES = ["rm", ["--", "{a}"], "{b}"]


@pytest.mark.parametrize(("command", "values", "words"), read_rows(__file__, "words"))
def test_the_words_of_a_command(command, values, words) -> None:
    assert build_argv(command, values, "path files width n yes many a b".split()) == tuple(words)


@given(st.text().filter(lambda text: "\0" not in text and not text.startswith("-")))
def test_every_text_is_one_word_and_is_not_read_again(text: str) -> None:
    words = build_argv(["x", "{a}", "--b={b}"], {"a": text, "b": "{a}"}, ["a", "b"])
    assert words == ("x", text, "--b={a}")


@pytest.mark.parametrize(("declared", "value", "is_fine"), read_rows(__file__, "dashes"))
def test_a_leading_dash_is_fine_only_where_the_schema_names_it(declared, value, is_fine) -> None:
    command, schema = (["add", "{n}"], {"n": value}), {"properties": {"n": declared}}
    if is_fine:
        assert build_argv(*command, ["n"], schema) == ("add", str(value))
    else:
        with pytest.raises(UsageError, match="dash") as raised:
            build_argv(*command, ["n"], schema)
        assert '"--"' in raised.value.hint


def test_two_dashes_that_are_an_argument_or_left_out_end_no_options() -> None:
    schema = {"properties": {"a": {"enum": ["--"]}}}
    with pytest.raises(UsageError, match="b begins with a dash"):
        build_argv(["rm", "{a}", "{b}"], {"a": "--", "b": "-rf"}, ["a", "b"], schema)
    with pytest.raises(UsageError, match="b begins with a dash"):
        build_argv(DASHES, {"b": "-rf"}, ["a", "b"])


def test_an_argument_with_a_nul_is_refused() -> None:
    with pytest.raises(UsageError, match="NUL"):
        build_argv(["x", "{a}"], {"a": "a\0b"}, ["a"])


@pytest.mark.parametrize(
    ("command", "said"), [*read_rows(__file__, "commands"), (None, "list of words")]
)
def test_a_command_that_is_no_list_of_words_with_parameters_is_refused(command, said) -> None:
    with pytest.raises(InputError, match=said):
        build_argv(command, {"program": "ls"}, ["program"])


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


def test_blanks_cannot_fill_up_a_line_and_what_is_cut_is_counted() -> None:
    assert " " * 16 not in quote_word("a" + " " * 500 + "b")
    assert quote_word("a" * 5_000, 2_000) == "a" * 2_000 + "…<3,000 more characters>"


@pytest.mark.parametrize("name", read_rows(__file__, "names"))
def test_a_name_that_says_more_to_a_shell_is_no_name(name: str) -> None:
    with pytest.raises(InputError):
        check_variable(name)
