"""Where the arguments in a shell text end up, command by command."""

import pytest

from capdisc_guard.program_text.command_words import simple_commands
from case_rows import read_rows


def _read(text: str) -> list[str]:
    return [
        " ".join(word.text.replace("\0", "@") or "''" for word in command.words)
        + "!" * command.is_fed
        for command in simple_commands(text)
    ]


@pytest.mark.parametrize(("text", "commands"), read_rows(__file__, "commands"))
def test_commands_and_the_arguments_in_them(text: str, commands: list[str]) -> None:
    assert _read(text) == commands


def test_an_argument_in_an_assignment_before_a_program_is_told() -> None:
    [command] = simple_commands("A=1 LD_PRELOAD=$1 prog")
    assert command.assignments == ("LD_PRELOAD",)
