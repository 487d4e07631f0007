"""The words of the command line: other names, names near by, -q, paths, null bytes, JSON errors."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from capdisc.args.command_table import summarise_commands
from capdisc.commands import search as search_command
from capdisc.output.failures import ERROR_KINDS

REPOSITORY = Path(__file__).parents[2]


def test_find_is_search(capdisc, process, small) -> None:
    assert capdisc("find", "merge PDF files", "--ids").out == (
        capdisc("search", "merge PDF files", "--ids").out
    )
    assert process("find", "merge PDF files", "-k", "1", "--ids").out == "skill:merge-pdfs\n"


@pytest.mark.parametrize(
    ("words", "variable", "name"),
    [
        (("--server", "require", "-k", "1", "--ids"), "", "--server"),
        (("-k", "1", "--ids", "--server=require"), "", "--server"),
        (("--server", "off", "--ids", "--server", "off", "-k", "1"), "off", "--server"),
        (("--ids", "-k", "1", "--server"), "", "--server"),
        (("--ids", "-k", "1"), "require", "CAPDISC_SERVER"),
    ],
)
def test_the_options_of_the_warm_server_change_nothing_and_say_so_once(
    process, monkeypatch, small, words, variable, name
) -> None:
    monkeypatch.setenv("CAPDISC_SERVER", variable)
    done = process("search", "merge PDF files", *words)
    assert (done.code, done.out) == (0, "skill:merge-pdfs\n")
    assert re.findall("notice: .*", done.err) == [
        f"notice: {name} has no effect any more: the warm server is gone; "
        "for a process that stays warm: capdisc mcp"
    ]
    quiet = process("search", "--quiet", "merge PDF files", *words)
    assert (quiet.out, quiet.err) == (done.out, "")


def test_other_options_and_words_of_that_name_are_left_alone(capdisc, small) -> None:
    assert "--server" in capdisc("mcp", "--help").out
    done = capdisc("search", "--ids", "--", "--server", "merge PDF files")
    assert (done.code, done.err) == (0, "")
    done = capdisc("setup", "claude", "--server", "notes")
    assert done.err == "error: --server goes with --gateway\nhint: see: capdisc setup --help\n"


def test_watching_takes_its_option_of_the_warm_server_without_effect(capdisc, small) -> None:
    done = capdisc("watch", "--serve", "--interval", "0.01s")
    assert done.code == 2
    notice, error = done.err.splitlines()[:2]
    assert notice.startswith("notice: --serve has no effect any more: ")
    assert error.startswith("error: --interval must be at least")


@pytest.mark.parametrize("words", [(), ("--idle", "1s"), ("--help",)])
def test_the_command_of_the_warm_server_names_what_to_run(capdisc, words) -> None:
    done = capdisc("serve", *words)
    assert (done.code, done.out) == (2, "")
    assert done.err == (
        "error: the warm server is gone: each command answers by itself\n"
        "hint: for a process that stays warm for an agent: capdisc mcp\n"
    )


@pytest.mark.parametrize("words", [("version",), ("-V",), ("--version",)])
def test_the_version_has_three_spellings(capdisc, process, words) -> None:
    assert capdisc(*words).out == process(*words).out
    assert capdisc(*words).out.startswith("capdisc 0.")


@pytest.mark.parametrize("words", [("-n", "1"), ("-n1",), ("--top-k", "1"), ("--top-k=1",)])
def test_other_names_of_the_limit_are_understood(capdisc, small, words) -> None:
    assert len(capdisc("search", "merge PDF files", "--ids", *words).out.splitlines()) == 1
    assert "-n" not in capdisc("search", "--help").out.split()


def test_a_value_that_looks_like_another_name_stays_as_it_is(capdisc, small) -> None:
    found = capdisc("search", "--also", "-n", "--", "-n")
    assert "-k" not in found.err


@pytest.mark.parametrize("name", summarise_commands())
def test_help_explains_a_command(capdisc, name) -> None:
    assert capdisc("help", name).out == capdisc(name, "--help").out


def test_help_alone_is_the_overview(capdisc) -> None:
    assert capdisc("help").out == capdisc("--help").out
    assert capdisc("help", "find").out == capdisc("search", "--help").out
    wrong = capdisc("help", "serach")
    assert (wrong.code, wrong.out) == (2, "")
    assert "'search'" in wrong.err


@pytest.mark.parametrize(
    ("words", "suggestion"),
    [
        (("lint",), "'validate'"),
        (("ls",), "'list'"),
        (("serach", "pdf"), "'search'"),
        (("merge two PDF files",), "capdisc search 'merge two PDF files'"),
        (("search", "x", "--limt", "3"), "--limt. Did you mean '--limit'?"),
        (("search", "x", "--expla"), "Did you mean '--explain'?"),
        (("search", "x", "--kind", "skil"), "did you mean skill?"),
        (("search", "x", "--category", "finanse"), "did you mean finance?"),
        (("search", "x", "--tag", "inovice"), "did you mean invoice"),
        (("search", "x", "--max-risk", "hihg"), "did you mean high?"),
        (("search", "x", "--mode", "hybird"), "did you mean hybrid?"),
        (("list", "--risk", "critcal"), "did you mean critical?"),
        (("render", "x", "--format", "markdwn"), "did you mean markdown?"),
        (("graph", "--format", "mermiad"), "did you mean mermaid?"),
        (("graph", "--edge", "require"), "did you mean REQUIRES"),
        (("tools", "--format", "opnai"), "did you mean openai"),
        (("validate", ".", "--format", "jsn"), "did you mean json"),
        (("validate", ".", "--profile", "clade"), "did you mean claude"),
        (("validate", "--rule", "dupliacte-id"), "did you mean duplicate-id"),
        (("call", "serch_tool"), "did you mean: search_tool"),
        (("show", "pdff"), "capdisc search WORDS"),
        (("show", "merge-pdf"), "did you mean skill:merge-pdfs"),
        (("show", "MergePDFs!"), "did you mean skill:merge-pdfs"),
        (("session", "shw", "x"), "did you mean show?"),
        (("new", "skil", "x"), "did you mean skill?"),
        (("completion", "bsh"), "did you mean bash"),
        (("config", "set", "limt", "3"), "did you mean limit?"),
        (("config", "set", "mode", "hybird"), "did you mean hybrid?"),
        (("config", "sett", "limit", "3"), "did you mean set"),
        (("config", "set", "fresh", "reqire"), "did you mean require?"),
        (("search", "x", "--fresh", "ato"), "did you mean auto?"),
        (("setup", "cluade"), "did you mean claude?"),
        (("search", "x", "--gate", "autoo"), "did you mean auto?"),
        (("setup", "claude", "--scope", "usr"), "did you mean user?"),
        (("audit", "copilto"), "did you mean copilot?"),
    ],
)
def test_an_error_names_what_was_meant(capdisc, small, words, suggestion) -> None:
    done = capdisc(*words)
    assert (done.code, done.out) == (2, "")
    assert suggestion in done.err


def test_a_hook_at_a_terminal_names_the_client_that_was_meant(capdisc, small) -> None:
    assert "did you mean claude?" in capdisc("hook", "cluade", "--explain").err


@pytest.mark.parametrize(
    ("variable", "value", "command", "message"),
    [
        ("CAPDISC_FRESH", "ato", "list", "unknown value of fresh (CAPDISC_FRESH) 'ato'"),
        ("CAPDISC_FOLDERS", "claud", "index", "there are no folders called 'claud'"),
    ],
)
def test_a_wrong_value_of_a_variable_is_named_with_the_nearest(
    capdisc, small, monkeypatch, variable, value, command, message
) -> None:
    monkeypatch.setenv(variable, value)
    done = capdisc(command)
    assert done.code != 0 and message in done.err and "did you mean " in done.err


def test_an_encoder_that_is_no_folder_is_said_to_be_none(capdisc, small) -> None:
    done = capdisc("search", "pdf", "--encoder", "statik")
    assert done.code == 0 and "there is no folder statik; did you mean static?" in done.err


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


def test_a_name_like_no_other_gets_no_suggestion(capdisc, small) -> None:
    assert "did you mean" not in capdisc("show", "xyzzyplugh").err
    assert "did you mean" not in capdisc("run", "nosuch").err
    assert "tags here: " in capdisc("search", "x", "--tag", "xyzzyplugh").err


def test_an_unknown_setting_in_a_file_is_named_with_the_nearest(capdisc, hermetic) -> None:
    (hermetic / "capdisc.toml").write_text("limt = 3\n")
    assert "limt (did you mean limit?)" in capdisc("config").err


@pytest.mark.parametrize(
    ("variable", "message"),
    [
        ("CAPDISC_BUDGET", "must be a whole number"),
        ("CAPDISC_LOCK_TIMEOUT", "must be a number"),
        ("CAPDISC_ALLOW_SECRET_FILES", "must be true or false"),
    ],
)
def test_the_type_of_a_setting_is_said_in_words(
    capdisc, small, monkeypatch, variable, message
) -> None:
    monkeypatch.setenv(variable, "abc")
    assert f"{variable} {message}, not 'abc'" in capdisc("search", "x").err


def test_wrong_arguments_are_said_of_the_tool_that_was_typed(capdisc, small) -> None:
    done = capdisc("call", "search_tools", "{}")
    assert (
        done.err.splitlines()[0]
        == "error: the arguments do not fit search_tools: query is missing"
    )


def test_a_catalogue_for_people_alone_is_not_called_empty(capdisc, hermetic) -> None:
    path = hermetic / "skills" / "a" / "SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_text(
        "---\nname: a\ndescription: Merges PDF files. Use when asked.\n"
        "disable-model-invocation: true\n---\n\nDo it.\n"
    )
    capdisc("index", "skills")
    done = capdisc("search", "merge pdf")
    assert done.code == 1
    assert "the one capability of the index is for people alone" in done.err


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


def test_without_an_index_a_program_reads_why(capdisc, hermetic) -> None:
    """Without an index, --json and --envelope print the error on stdout (S199)."""
    assert capdisc("search", "x", "--json").json["error"]["code"] == "index"
    assert capdisc("call", "search_tool", "--envelope").json["status"] == "error"


def test_an_error_after_a_result_does_not_spoil_it(capdisc, hermetic, write_skill) -> None:
    write_skill(hermetic / "skills", "alpha")
    done = capdisc("validate", "skills", "nowhere", "--format", "json")
    assert done.code != 0
    assert "error" not in done.json
    assert capdisc("search", "x", "--", "--json").out == ""


def test_the_error_goes_to_both_streams_of_a_process(process, hermetic) -> None:
    done = process("search", "--json")
    assert done.json["error"]["message"] == "the query is empty"
    assert done.err.startswith("error: the query is empty\n")
    assert len({code for code, _ in ERROR_KINDS.values()}) == len(ERROR_KINDS)


# --quiet, --paths, --null, --open


def test_quiet_prints_results_and_errors_alone(capdisc, small) -> None:
    loud = capdisc("search", "frobnicate the quuxly zorbleflux")
    quiet = capdisc("search", "frobnicate the quuxly zorbleflux", "-q")
    assert loud.err
    assert (quiet.code, quiet.out, quiet.err) == (1, "", "")
    assert capdisc("render", "merge PDFs", "--budget", "300", "--quiet").err == ""
    assert capdisc("search", "-q").err.startswith("error: ")
    assert capdisc("search", "frobnicate the quuxly zorbleflux").err == loud.err


def test_paths_and_ids_can_end_with_null_bytes(capdisc, small) -> None:
    paths = capdisc("search", "invoice", "--paths", "-k", "2").out.splitlines()
    assert all(Path(path).is_file() for path in paths)
    ids = capdisc("search", "invoice", "-0", "-k", "2").out
    assert ids.count("\0") == 2
    assert "\n" not in ids
    assert capdisc("show", "-", "--paths", stdin=ids).out.splitlines() == paths
    assert capdisc("list", "--ids", "--null").out.split("\0")[:-1] == (
        capdisc("list", "--ids").out.splitlines()
    )


def test_a_file_of_many_capabilities_is_named_once(capdisc, hermetic) -> None:
    path = hermetic / "caps" / "CAPABILITY.yaml"
    path.parent.mkdir()
    path.write_text(
        "capabilities:\n"
        "  - {name: fold-crane, kind: tool, description: Folds a crane of paper.}\n"
        "  - {name: fold-boat, kind: tool, description: Folds a boat of paper.}\n"
    )
    capdisc("index", "caps")
    assert capdisc("list", "--paths").out == f"{path}\n"


def test_an_id_with_a_blank_survives_xargs(process, hermetic) -> None:
    path = hermetic / "caps" / "CAPABILITY.yaml"
    path.parent.mkdir()
    path.write_text("name: Burp Suite\nkind: tool\ndescription: Tests a web page for holes.\n")
    process("index", "caps")
    line = f"{sys.executable} -m capdisc list --ids -0 | xargs -0 -n1 {sys.executable} -m capdisc show"
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Tests a web page for holes." in done.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--ids", "--paths"), "--ids and --paths exclude each other"),
        (("--paths", "--json"), "--paths and --json exclude each other"),
        (("--open", "--ids"), "--open and --ids exclude each other"),
        (("-0", "--json"), "--null does not go with --json"),
        (("--open",), "--open works on a terminal only"),
    ],
)
def test_forms_that_exclude_each_other_are_refused(capdisc, small, words, message) -> None:
    done = capdisc("search", "invoice", *words)
    assert done.code == 2
    assert message in done.err


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


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("new",), "KIND: skill or tool; see: capdisc new --help"),
        (("completion",), "SHELL: bash, zsh or fish; see: capdisc completion --help"),
        (("session",), "VERB: new, show, list, "),
    ],
)
def test_a_missing_argument_is_explained(capdisc, words, hint) -> None:
    done = capdisc(*words)
    assert done.code == 2 and f"hint: {hint}" in done.err


def test_a_name_near_several_is_answered_with_a_list(capdisc, small) -> None:
    done = capdisc("validate", "--profile", "clade", str(REPOSITORY / "fixtures"))
    assert "did you mean claude-ai, claude-code or codex?" in done.err
    assert "did you mean claude?" in capdisc("audit", "cluade").err


def test_hits_of_little_relevance_alone_are_not_called_more(capdisc, small, monkeypatch) -> None:
    monkeypatch.setattr(search_command, "select_shown_hits", lambda *_: [])
    done = capdisc("search", "merge PDF files", "-k", "1")
    assert done.out == ""
    assert "notice: only 1 hit of little relevance (--explain shows it)" in done.err


def test_what_is_no_longer_scanned_comes_with_the_way_back(capdisc, hermetic, write_skill) -> None:
    write_skill(hermetic / ".claude" / "skills", "fold")
    write_skill(hermetic / "more", "boil")
    capdisc("index")
    done = capdisc("index", "--only", "more")
    assert done.err.endswith("hint: to cover the usual folders, too: capdisc index\n")
    capdisc("index")
    assert capdisc("list", "--ids").out.split() == ["skill:boil", "skill:fold"]


def test_init_needs_no_index_before_its_first_search(capdisc, hermetic) -> None:
    (hermetic / ".git").mkdir()
    done = capdisc("init")
    assert done.out.endswith('next: capdisc search "write the commit message"\n')
    found = capdisc("search", "write the commit message", "--ids")
    assert found.out.split()[0] == "skill:write-commit-message"


def test_a_first_build_counts_files_with_errors(capdisc, hermetic, write_skill) -> None:
    (hermetic / ".git").mkdir()
    skills = hermetic / ".claude" / "skills"
    write_skill(skills, "fold", "Folds paper. Use to fold.")
    (skills / "torn").mkdir()
    (skills / "torn" / "SKILL.md").write_text("")
    done = capdisc("search", "fold paper")
    assert re.search(
        r"^notice: indexed 2 files in .* s; 1 has errors: capdisc index$", done.err, re.M
    )
    assert "file-empty" in capdisc("index").err


def test_an_unknown_setting_is_named_by_the_next_search_and_by_doctor(
    capdisc, hermetic, write_skill
) -> None:
    (hermetic / ".git").mkdir()
    write_skill(hermetic / ".claude" / "skills", "fold", "Folds paper. Use to fold.")
    assert "unknown setting" not in capdisc("search", "fold paper").err
    (hermetic / "capdisc.toml").write_text("limt = 3\n")
    assert "limt (did you mean limit?)" in capdisc("search", "fold paper").err
    assert "unknown setting" not in capdisc("search", "fold paper").err
    checks = {check["name"]: check for check in capdisc("doctor", "--json").json["checks"]}
    assert checks["settings"]["state"] == "notice" and "limt" in checks["settings"]["text"]
