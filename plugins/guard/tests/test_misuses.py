"""Arguments inside program text: found wherever a program would run them, and only there."""

import json
import tomllib
from pathlib import Path

import pytest

from capdisc_guard import find_misuses, refuse_misuses
from capdisc_guard.program_text.command_reading import MAX_STEPS
from capdisc_indexer.model.errors import ApprovalRequiredError

NAMES = "abxyfgs"
SCHEMA = {
    "properties": {**{name: {"type": "string"} for name in NAMES}, "n": {"type": "integer"}},
    "required": [*NAMES, "n"],
}

COMMANDS = tomllib.loads(Path(__file__).with_name("commands.toml").read_text("utf-8"))


@pytest.mark.parametrize("command", COMMANDS["run"], ids=json.dumps)
def test_an_argument_that_a_program_would_run_or_obey_is_found(command) -> None:
    """Each command hands an argument to a program that would run or obey it."""
    assert find_misuses({"command": command}, SCHEMA)


@pytest.mark.parametrize("command", COMMANDS["safe"], ids=json.dumps)
def test_an_argument_that_stays_a_value_is_left_alone(command) -> None:
    assert find_misuses({"command": command}, SCHEMA) == ()


@pytest.mark.parametrize("command", COMMANDS["run_from_stdin"], ids=json.dumps)
@pytest.mark.parametrize("stdin", ["json", "{x}"])
def test_a_program_on_stdin_is_none_of_the_arguments(command, stdin) -> None:
    assert find_misuses({"command": command, "stdin": stdin}, SCHEMA)
    assert find_misuses({"command": command}, SCHEMA) == ()


@pytest.mark.parametrize("command", COMMANDS["read_from_stdin"], ids=json.dumps)
def test_data_on_stdin_is_left_alone(command) -> None:
    assert find_misuses({"command": command, "stdin": "json"}, SCHEMA) == ()


@pytest.mark.parametrize("name", ["sed", "psql", "make"])
def test_numbers_and_choices_are_fine_where_there_is_no_other_way(name: str) -> None:
    command = {
        "sed": ["sed", "{v}", "f"], "psql": ["psql", "-c", "select {v}"], "make": ["make", "{v}"]
    }[name]  # fmt: skip
    for declared, count in [
        ({"type": "integer"}, 0), ({"enum": ["all", "clean"]}, 0), ({"type": "string"}, 1), ({}, 1),
        ({"type": ["integer", "string"]}, 1), ({"enum": ["a", {"b": 1}]}, 1),
    ]:  # fmt: skip
        schema = {"properties": {"v": declared}, "required": ["v"]}
        assert len(find_misuses({"command": command}, schema)) == count, declared


def test_a_shell_has_another_way_so_a_number_is_refused_there_too() -> None:
    assert find_misuses({"command": ["sh", "-c", "sleep {n}"]}, SCHEMA)


def test_what_moves_to_the_place_of_a_word_that_is_left_out_is_found() -> None:
    command = ["jq", "--arg", "k", "{a}", ".[$k]", "{x}"]
    assert find_misuses({"command": command}, SCHEMA) == ()
    loose = {"properties": SCHEMA["properties"], "required": ["x"]}
    [misuse] = find_misuses({"command": command}, loose)
    assert (misuse.at, misuse.when_left_out) == ((5,), True)
    assert find_misuses({"command": ["jq", ["--arg", "k", "{a}"], ".[$k]", "{x}"]}, loose) == ()


def test_a_parameter_that_may_be_null_may_be_left_out() -> None:
    schema = {"properties": {"a": {"type": ["string", "null"]}, "x": {}}, "required": ["a", "x"]}
    assert find_misuses({"command": ["jq", "--arg", "k", "{a}", ".[$k]", "{x}"]}, schema)


def test_a_value_that_may_begin_with_a_dash_is_no_operand_of_an_interpreter() -> None:
    schema = {"properties": {"x": {"enum": ["-c", "a.sh"]}}, "required": ["x"]}
    assert find_misuses({"command": ["sh", "{x}"]}, schema)
    assert find_misuses({"command": ["sh", "--", "{x}"]}, schema) == ()


def test_the_error_says_what_to_write() -> None:
    with pytest.raises(ApprovalRequiredError, match=r"sh would run \{x\}") as raised:
        refuse_misuses("tool:a", {"command": ["sh", "-c", "echo {x}"]}, SCHEMA)
    assert r"echo \"$1\"" in raised.value.hint
    with pytest.raises(ApprovalRequiredError) as raised:
        refuse_misuses("tool:a", {"command": ["python3", "-c", "print({x})"]}, SCHEMA)
    assert "sys.argv[1]" in raised.value.hint


@pytest.mark.parametrize(
    ("command", "kinds"),
    [
        (["env"] * 50_000 + ["{x}"], ["unreadable"]),
        (["sh", "-c", "$(" * 50_000, "{x}"], []),
        (["sh", "-c", "sh -c '" * 1_000, "{x}"], []),
        (["ls", *(f"{{a{number}}}" for number in range(5_000)), "sh", "-c", "{x}"], []),
        (["sed", *(f"{{a{number}}}" for number in range(MAX_STEPS))], ["unreadable", "text"]),
        (["bash", "-" * 100_000 + "{x}"], ["option"]),
    ],
    ids=["wrappers", "substitutions", "shells", "left-out", "many", "dashes"],
)
def test_a_hostile_command_is_read_within_bounds(command, kinds) -> None:
    assert [misuse.kind for misuse in find_misuses({"command": command}, None)] == kinds


def test_what_is_no_command_is_nothing() -> None:
    for run in (
        None,
        {},
        {"command": "sh -c {x}"},
        {"command": []},
        {"command": [3, [4, "{x}"]]},
        {"mcp": {}},
    ):
        assert find_misuses(run, SCHEMA) == ()
