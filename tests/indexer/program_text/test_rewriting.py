"""Shell text rewritten to take its arguments as words, or left alone."""

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capdisc_guard import find_misuses, names_in
from capdisc_indexer.validation.fixes.shell_words import rewrite_shell_text
from capdisc_run.argv_template import build_argv
from case_rows import read_rows

REQUIRED = {
    "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
    "required": ["a", "b"],
}


@pytest.mark.parametrize(
    ("text", "wanted"),
    read_rows(__file__, "arguments_become_words_of_their_own"),
)
def test_arguments_become_words_of_their_own(text: str, wanted: str) -> None:
    rewritten = rewrite_shell_text(["sh", "-c", text], REQUIRED)
    assert rewritten is not None
    assert rewritten[0] == wanted
    assert rewritten[1] == ["sh", *dict.fromkeys(f"{{{name}}}" for name in names_in(text))]


@pytest.mark.parametrize(
    "text",
    read_rows(__file__, "what_could_come_to_mean_something_else_is_left"),
)
def test_what_could_come_to_mean_something_else_is_left(text: str) -> None:
    assert rewrite_shell_text(["sh", "-c", text], REQUIRED) is None


@pytest.mark.parametrize(
    "command",
    read_rows(__file__, "only_the_simple_form_is_rewritten"),
)
def test_only_the_simple_form_is_rewritten(command) -> None:
    assert rewrite_shell_text(command, REQUIRED) is None


def test_arguments_that_may_be_left_out_stand_together() -> None:
    """Else the second would move to the place of the first."""
    assert rewrite_shell_text(["bash", "-ec", "cp {a} {b}"], None) == (
        'cp "$1" "$2"', [["bash", "{a}", "{b}"]]
    )  # fmt: skip
    assert rewrite_shell_text(["/bin/sh", "-c", "ls {a}"], None) == ('ls "$1"', ["sh", "{a}"])


@given(
    value=st.text(alphabet="ab ;$`'\"\\|&<>(){}*?~#\n-", max_size=12).filter(
        lambda text: not text.startswith("-")
    )
)
@pytest.mark.parametrize(
    "text", ["printf %s {a}", 'printf %s "{a}"', "printf %s '{a}'", "printf %s x{a}y"]
)
def test_what_is_rewritten_prints_every_value_as_it_is(text: str, value: str) -> None:
    rewritten = rewrite_shell_text(["sh", "-c", text], REQUIRED)
    assert rewritten is not None
    command = ["sh", "-c", rewritten[0], *rewritten[1]]
    assert find_misuses({"command": command}, REQUIRED) == ()
    words = build_argv(command, {"a": value}, ["a"], REQUIRED)
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout == text.removeprefix("printf %s ").strip("\"'").replace("{a}", value)
