"""Where the arguments in a shell text end up, command by command."""

import pytest

from capdisc_guard.program_text.command_words import simple_commands


def _read(text: str) -> list[str]:
    return [
        " ".join(word.text.replace("\0", "@") or "''" for word in command.words)
        + "!" * command.is_fed
        for command in simple_commands(text)
    ]


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ('echo "$1" $2', ["echo @ @"]),
        ("echo '$1' \\$1 $HOME", ["echo $1 $1 $HOME"]),
        ('echo "it\'s $1"; ls', ["echo it's @", "ls"]),
        ("a=$1; echo $a ${a%.x} $b", ["", "echo @ @ $b"]),
        ('for f in "$@"; do wc "$f"; done', ["for f in @", "wc @", "done"]),
        ("if test -f $1; then cat; fi", ["test -f @", "cat", "fi"]),
        ('echo "$(cat $1)" `id`', ["cat @", "id", "echo @ ''"]),
        ("echo $1 2>&1 | sh | cat", ["echo @ 2", "sh!", "cat!"]),
        ("echo hi | sh", ["echo hi", "sh"]),
        ("cat < $1 > out # $1", ["cat"]),
        ("echo a#$1", ["echo a#@"]),
        ("(cd x && ls $1) || { true; }", ["cd x", "ls @", "true", "}"]),
        ("X=1 Y=$1 prog", ["prog"]),
        ("echo 'open $1", ["echo open $1"]),
    ],
)
def test_commands_and_the_arguments_in_them(text: str, commands: list[str]) -> None:
    assert _read(text) == commands


def test_an_argument_in_an_assignment_before_a_program_is_told() -> None:
    [command] = simple_commands("A=1 LD_PRELOAD=$1 prog")
    assert command.assignments == ("LD_PRELOAD",)
