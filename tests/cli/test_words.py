"""The words of the command line: other names, names near by, -q, paths, null bytes, JSON errors."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest

from capdisc.args.command_table import summarise_commands
from capdisc.commands import search as search_command
from capdisc.output.failures import ERROR_KINDS


@pytest.mark.parametrize("words", [("version",), ("-V",), ("--version",)])
def test_the_version_has_three_spellings(capdisc, process, words) -> None:
    assert capdisc(*words).out == process(*words).out
    assert capdisc(*words).out.startswith("capdisc 0.")


@pytest.mark.parametrize("name", summarise_commands())
def test_help_explains_a_command(capdisc, name) -> None:
    assert capdisc("help", name).out == capdisc(name, "--help").out


def test_the_short_form_of_an_id_is_understood_wherever_an_id_is(
    capdisc, hermetic, write_skill
) -> None:
    for place in ("north", "south"):
        for name in ("zebra", "yak"):
            write_skill(hermetic / place / name, name, f"Feeds the {name} of the {place}.")
    assert capdisc("index", ".").code == 0
    ids = capdisc("list", "--ids").out.split()
    long = next(name for name in ids if name.startswith("skill:zebra@"))
    short = long.removeprefix("skill:")
    folder = short.rpartition("/")[0]
    assert long in ids and len(ids) == 4, (long, folder)
    for word in (long, short):
        left = capdisc("list", "--ids", "--exclude", word)
        assert (left.err, set(left.out.split())) == ("", {*ids} - {long})
        assert long not in capdisc("search", "feed the zebra", "--ids", "--exclude", word).out
        assert capdisc("show", word, "--json").json["capabilities"][0]["id"] == long
        assert long in capdisc("graph", word, "--format", "json").out
    (hermetic / "capdisc.toml").write_text(f'pin = ["{short}"]\n')
    assert "which is to be in every" not in capdisc("render", "yak").err


# The error as a document on stdout


@pytest.mark.parametrize(
    ("words", "code", "exit_code"),
    [
        (("search", "--json"), "usage", 2),
        (("search", "x", "--limt", "3", "--json"), "usage", 2),
        (("show", "nosuch", "--json"), "usage", 2),
        (("serach", "--json"), "usage", 2),
        (("index", "nowhere", "--json"), "input", 3),
    ],
)
def test_under_json_an_error_is_a_document_on_stdout(
    capdisc, small, words, code, exit_code
) -> None:
    """Errors are JSON for programs that asked for JSON (S199)."""
    done = capdisc(*words)
    error = done.json["error"]
    assert (done.code, done.json["schema_version"]) == (exit_code, 1)
    assert (error["code"], error["exit"]) == (code, exit_code)
    assert done.err == f"error: {error['message']}\nhint: {error['hint']}\n"


def test_the_error_goes_to_both_streams_of_a_process(process, hermetic) -> None:
    done = process("search", "--json")
    assert done.json["error"]["message"] == "the query is empty"
    assert done.err.startswith("error: the query is empty\n")
    assert len({code for code, _ in ERROR_KINDS.values()}) == len(ERROR_KINDS)


# --quiet, --paths, --null, --open


def run_on_terminal(*words: str, **variables: str) -> tuple[int, str]:
    """Exit code and output of a command whose streams are a terminal."""
    leader, follower = pty.openpty()
    environ = {**os.environ, **variables}
    with subprocess.Popen(
        [sys.executable, "-m", "capdisc", *words],
        stdin=follower, stdout=follower, stderr=follower, env=environ,
    ) as child:  # fmt: skip
        os.close(follower)
        output = b""
        while True:
            try:
                output += os.read(leader, 4096)
            except OSError:
                break
    os.close(leader)
    return child.returncode, output.decode()


@pytest.mark.parametrize("command", [("search", "send an invoice"), ("show", "send-invoice")])
def test_open_starts_the_editor_with_the_first_file(small, tmp_path, command) -> None:
    editor = tmp_path / "my editor"
    editor.write_text(f'#!/bin/sh\nprintf "%s" "$2" > "{tmp_path}/opened"\n')
    editor.chmod(0o755)
    code, output = run_on_terminal(*command, "--open", EDITOR=f"'{editor}' --wait", VISUAL="")
    assert (code, output) == (0, "")
    assert (tmp_path / "opened").read_text().endswith("send-invoice/CAPABILITY.yaml")


@pytest.mark.parametrize("editor", ["no-such-editor", "false", "'"])
def test_an_editor_that_fails_is_an_error(small, editor) -> None:
    code, output = run_on_terminal("search", "invoice", "--open", VISUAL=editor)
    assert code == 3
    assert "set EDITOR to an editor" in output


def test_hits_of_little_relevance_alone_are_not_called_more(capdisc, small, monkeypatch) -> None:
    monkeypatch.setattr(search_command, "select_shown_hits", lambda *_: [])
    done = capdisc("search", "merge PDF files", "-k", "1")
    assert done.out == ""
    assert "notice: only 1 hit of little relevance (--explain shows it)" in done.err
