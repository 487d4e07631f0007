"""Shell text rewritten to take its arguments as words, or left alone."""

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capdisc_guard import find_misuses, names_in
from capdisc_indexer.validation.shell_word_fixes import rewrite_shell_text
from capdisc_run.argv_template import build_argv

REQUIRED = {
    "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
    "required": ["a", "b"],
}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("echo {a}", 'echo "$1"'),
        ('echo "{a}"', 'echo "$1"'),
        ("echo '{a}'", 'echo "$1"'),
        ("cp {a} out/{b}.txt", 'cp "$1" out/"$2".txt'),
        ("cp {b} {a} {b}", 'cp "$1" "$2" "$1"'),
        ("wc -l < {a} | sort", 'wc -l < "$1" | sort'),
        ("grep -c '^#' \"{a}\"", "grep -c '^#' \"$1\""),
        ("awk '{ print $1 }' {a}", "awk '{ print $1 }' \"$1\""),
        ("cat {a} && echo {{a}} $HOME", 'cat "$1" && echo {{a}} $HOME'),
    ],
)
def test_arguments_become_words_of_their_own(text: str, wanted: str) -> None:
    rewritten = rewrite_shell_text(["sh", "-c", text], REQUIRED)
    assert rewritten is not None
    assert rewritten[0] == wanted
    assert rewritten[1] == ["sh", *dict.fromkeys(f"{{{name}}}" for name in names_in(text))]


@pytest.mark.parametrize(
    "text",
    [
        'echo "Hello {a}"',
        "echo 'Hello {a}'",
        "{a} --version",
        "sudo {a}",
        "eval {a}",
        "python3 -c {a}",
        "ssh host {a}",
        "sed {a} file",
        "bash -c 'echo {a}'",
        "echo $(cat {a})",
        "echo `cat {a}`",
        "echo $1 {a}",
        "echo $(({a} + 1))",
        "[[ {a} == x* ]]",
        "cat <<{a}",
        "echo \\{a}",
        "# {a}",
        "f() {{ echo {a}; }}; f",
        "set -- {a}",
        "for f; do echo {a}; done",
        "echo 'open {a}",
        "echo {a...}",
        "echo {a} | sh",
        "LD_PRELOAD={a} ls",
    ],
)
def test_what_could_come_to_mean_something_else_is_left(text: str) -> None:
    assert rewrite_shell_text(["sh", "-c", text], REQUIRED) is None


@pytest.mark.parametrize(
    "command",
    [
        ["fish", "-c", "echo {a}"],
        ["sh", "-c", "echo {a}", "sh", "{b}"],
        ["sh", "-o", "errexit", "-c", "echo {a}"],
        ["env", "sh", "-c", "echo {a}"],
        ["sh", "-s", "echo {a}"],
        ["sh", ["-c", "echo {a}"]],
        ["sh", "-c", "echo"],
    ],
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
