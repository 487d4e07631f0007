"""What a person sees on a terminal, and that a pipe gets none of it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from capdisc.args.command_table import COMMANDS, _load_command, list_parameters
from capdisc.args.params import Param
from capdisc.output import console, help_panels
from capdisc_indexer.rendering.layout import OVERVIEW_HINTS
from capdisc_indexer.retrieval.pipeline import MODES
from capdisc_indexer.retrieval.request_gate import GATE_MODES
from capdisc_indexer.store.text_queries import RISKS
from pseudo_terminal import run_on_terminal


def options_with_choices() -> dict[tuple[str, str], Param]:
    return {
        (name, parameter.name): parameter.param
        for name in COMMANDS
        for parameter in list_parameters(_load_command(name))
        if parameter.param.choices
    }


@pytest.mark.parametrize("columns", [80, 120])
def test_help_fills_the_terminal_with_panels_of_options(hermetic, columns) -> None:
    shown = run_on_terminal(["render", "--help"], hermetic, columns=columns, rows=200)
    frames = [line for line in shown.lines if line.startswith(("╭", "│", "╰"))]
    assert {len(line) for line in frames} == {columns}
    titles = [line.split()[1] for line in frames if line.startswith("╭")]
    assert titles[:4] == ["Arguments", "Searching", "Filters", "Budget"]
    assert "auto|hybrid|lexical|vector|no-graph" in shown.plain
    assert shown.code == 0


def test_a_command_with_few_options_has_them_in_one_panel(hermetic) -> None:
    shown = run_on_terminal(["doctor", "-h"], hermetic, rows=100)
    assert [line.split()[1] for line in shown.lines if line.startswith("╭")] == ["Options"]
    assert "Example: capdisc doctor --deep" in shown.plain


def test_the_overview_names_every_command_by_topic(hermetic) -> None:
    shown = run_on_terminal([], hermetic, columns=100, rows=100)
    named = {line.split()[1] for line in shown.lines if line.startswith("│ ") and line[2] != " "}
    assert named == set(COMMANDS)
    assert shown.code == 0


def test_help_in_a_pipe_is_plain_and_imports_no_rich(hermetic) -> None:
    script = (
        "import sys; from capdisc.args import command_table; "
        "command_table.run_command(['search', '--help']); "
        "sys.exit('rich' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("Usage: capdisc search")
    assert not {"╭", "\x1b"} & set(done.stdout)


def test_every_option_names_a_panel_that_help_knows() -> None:
    named = {
        parameter.param.panel
        for name in COMMANDS
        for parameter in list_parameters(_load_command(name))
    }
    assert named <= {"", *help_panels.PANELS}


def test_the_choices_of_help_are_those_that_commands_accept() -> None:
    expected = {
        "mode": MODES,
        "max_risk": RISKS,
        "gate": GATE_MODES,
        "hint": tuple(OVERVIEW_HINTS),
    }
    declared = options_with_choices()
    for (command, name), param in declared.items():
        if name in expected:
            assert set(param.choices) == set(expected[name]), (command, name)
    assert {name for _, name in declared} >= set(expected)


@pytest.mark.parametrize(
    ("environ", "is_coloured"),
    [
        ({}, True),
        ({"NO_COLOR": "1"}, False),
        ({"TERM": "dumb"}, False),
        ({"CLICOLOR": "0"}, False),
        ({"NO_COLOR": "1", "CLICOLOR_FORCE": "1"}, False),
        ({"TERM": "dumb", "FORCE_COLOR": "1"}, True),
    ],
)
def test_errors_and_hints_have_their_colours_where_those_are_wanted(
    hermetic, environ, is_coloured
) -> None:
    shown = run_on_terminal(["show", "--nonsense"], hermetic, environ=environ)
    assert shown.plain.startswith("error: ")
    assert ("\x1b[1;31merror:" in shown.text) is is_coloured
    assert ("\x1b[32mhint:" in shown.text) is is_coloured


@pytest.mark.parametrize("name", ["FORCE_COLOR", "CLICOLOR_FORCE"])
def test_colours_in_a_pipe_have_to_be_asked_for(process, hermetic, name) -> None:
    assert "\x1b" not in process("show", "--nonsense").err
    assert "\x1b" not in process("show", "--nonsense", env={name: "0"}).err
    assert "\x1b[1;31merror:" in process("show", "--nonsense", env={name: "1"}).err


def test_only_the_label_of_a_finding_is_coloured() -> None:
    line = "a.md:3:1: warning[name-case]: write error: here"
    assert console.colour_label(line) == line.replace(
        "warning[name-case]:", "\x1b[33mwarning[name-case]:\x1b[0m"
    )
    assert console.colour_label("nothing fits") == "nothing fits"
