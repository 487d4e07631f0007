"""Arguments as words of a command."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capdisc_indexer.model.errors import InputError, UsageError
from capdisc_run.argv_template import build_argv

HOSTILE = "; rm -rf / $(id) `id` | cat > x && '\"\n{path}"


def test_a_value_stays_in_its_word_whatever_it_holds() -> None:
    assert build_argv(["cp", "{path}", "out-{path}"], {"path": HOSTILE}, ["path"]) == (
        "cp",
        HOSTILE,
        f"out-{HOSTILE}",
    )


@given(st.text().filter(lambda text: "\0" not in text and not text.startswith("-")))
def test_every_text_is_one_word_and_is_not_read_again(text: str) -> None:
    words = build_argv(["x", "{a}", "--b={b}"], {"a": text, "b": "{a}"}, ["a", "b"])
    assert words == ("x", text, "--b={a}")


def test_what_is_no_text_is_written_as_json() -> None:
    values = {"n": 3, "yes": True, "many": [1, "a b"]}
    words = build_argv(["x", "{n}", "{yes}", "{many}"], values, values)
    assert words == ("x", "3", "true", '[1, "a b"]')


def test_three_dots_give_each_item_a_word_of_its_own() -> None:
    assert build_argv(["x", "--", "{files...}"], {"files": ["a b", "-c"]}, ["files"]) == (
        "x",
        "--",
        "a b",
        "-c",
    )
    assert build_argv(["x", "{files...}"], {"files": []}, ["files"]) == ("x",)
    assert build_argv(["x", "{files...}"], {"files": "one"}, ["files"]) == ("x", "one")


def test_a_word_without_its_value_is_left_out_and_so_is_a_list_of_words() -> None:
    command = ["x", ["--width", "{width}"], "{path}", "end"]
    assert build_argv(command, {"path": "a"}, ["width", "path"]) == ("x", "a", "end")
    assert build_argv(command, {"width": 5, "path": None}, ["width", "path"]) == (
        "x",
        "--width",
        "5",
        "end",
    )


def test_braces_that_are_no_placeholder_stay() -> None:
    words = build_argv(["jq", "{name: .x}", "{{print}}", '{"a":{"b":1}}', "{}"], {}, [])
    assert words == ("jq", "{name: .x}", "{print}", '{"a":{"b":1}}', "{}")


@pytest.mark.parametrize("value", ["-rf", "--output=/etc/passwd", "-"])
def test_a_value_that_the_program_could_take_for_an_option_is_refused(value: str) -> None:
    with pytest.raises(UsageError, match="dash") as raised:
        build_argv(["rm", "{path}"], {"path": value}, ["path"])
    assert '"--"' in raised.value.hint


def test_a_leading_dash_is_fine_behind_two_dashes_and_inside_a_word() -> None:
    assert build_argv(["rm", "--", "{path}"], {"path": "-rf"}, ["path"]) == ("rm", "--", "-rf")
    assert build_argv(["rm", "--path={path}"], {"path": "-rf"}, ["path"]) == ("rm", "--path=-rf")


@pytest.mark.parametrize(
    ("declared", "value"),
    [
        ({"type": "number"}, -1.5e3),
        ({"type": ["integer", "null"]}, -9),
        ({"enum": ["-v", "quiet"]}, "-v"),
        ({"const": "-v"}, "-v"),
        ({"type": "string", "pattern": "^-?[0-9]+$"}, "-9"),
        ({"type": "string", "pattern": "^(?:-v|--verbose)$"}, "--verbose"),
        ({"type": "string", "pattern": "^[-+][0-9]+$"}, "-9"),
    ],
)
def test_a_leading_dash_is_fine_where_the_schema_names_it(declared, value) -> None:
    """Numbers, choices and patterns of the schema may begin with a dash."""
    schema = {"properties": {"n": declared}}
    assert build_argv(["add", "{n}"], {"n": value}, ["n"], schema) == ("add", str(value))


@pytest.mark.parametrize(
    ("declared", "value"),
    [
        ({}, "-9"),
        ({}, -9),
        ({"type": "string"}, "-9"),
        ({"type": "string", "pattern": "^[a-z-]+$"}, "-rf"),
        ({"type": "string", "pattern": ".*"}, "--config=x"),
        ({"enum": ["fast", "-v"]}, "-w"),
        ({"type": "number"}, float("-inf")),
    ],
)
def test_a_leading_dash_that_no_schema_names_is_refused(declared, value) -> None:
    """Most programs take `-9` for an option, not for a number."""
    with pytest.raises(UsageError, match="dash"):
        build_argv(["kill", "{n}"], {"n": value}, ["n"], {"properties": {"n": declared}})


def test_two_dashes_that_are_an_argument_or_left_out_end_no_options() -> None:
    schema = {"properties": {"a": {"enum": ["--"]}}}
    with pytest.raises(UsageError, match="b begins with a dash"):
        build_argv(["rm", "{a}", "{b}"], {"a": "--", "b": "-rf"}, ["a", "b"], schema)
    with pytest.raises(UsageError, match="b begins with a dash"):
        build_argv(["rm", ["--", "{a}"], "{b}"], {"b": "-rf"}, ["a", "b"])
    assert (
        build_argv(["rm", ["--", "{a}"], "{b}"], {"a": "x", "b": "-rf"}, ["a", "b"])[-1] == "-rf"
    )


def test_an_argument_with_a_nul_is_refused() -> None:
    with pytest.raises(UsageError, match="NUL"):
        build_argv(["x", "{a}"], {"a": "a\0b"}, ["a"])


@pytest.mark.parametrize(
    "command",
    [
        "ls -l",
        [],
        None,
        [3],
        [["ls"]],
        ["{program}"],
        [""],
        ["ls", 3],
        ["ls", ["a", None]],
        {"a": "b"},
    ],
)
def test_a_command_that_is_no_list_of_words_is_refused(command: object) -> None:
    with pytest.raises(InputError):
        build_argv(command, {"program": "ls"}, ["program"])


def test_a_placeholder_that_is_no_parameter_is_named() -> None:
    with pytest.raises(InputError, match=r"\{pat\}, \{x\}"):
        build_argv(["cp", "{pat}", "{x}", "{path}"], {"path": "a"}, ["path"])
