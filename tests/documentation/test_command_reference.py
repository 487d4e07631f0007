"""docs/commands.md says what the commands declare."""

import re

import pytest

from capdisc.args.command_table import COMMANDS
from capdisc.commands.help import EXIT_CODE_MEANINGS
from capdisc.output.failures import ExitCode
from documentation import completion_table
from documentation.command_reference import PAGE, reference

TEXT = PAGE.read_text(encoding="utf-8")


def test_the_page_is_what_the_generator_writes() -> None:
    assert reference() == TEXT, "run: just docs"


def test_every_exit_code_is_explained() -> None:
    assert set(EXIT_CODE_MEANINGS) >= set(ExitCode)


def test_the_table_of_completion_is_what_the_generator_writes() -> None:
    written = completion_table.PATH.read_text(encoding="utf-8")
    assert written == completion_table.format_table(), "run: just docs"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_of_the_help_is_on_the_page(capdisc, command) -> None:
    section = TEXT.split(f"\n## capdisc {command}\n", 1)[1].split("\n## ", 1)[0]
    help_text = capdisc(command, "--help").out.split("\nOptions:\n", 1)[1]
    in_help = {
        word
        for line in re.findall(r"^  (-.*?)(?:   |$)", help_text, re.M)
        for word in re.findall(r"(?<![\w-])--?[a-z][\w-]*", line)
    }
    on_page = set(re.findall(r"(?<![\w-])--?[a-z][\w-]*", section))
    assert in_help - {"-h", "--help"} <= on_page
