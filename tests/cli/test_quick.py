"""A plain command line is read without typer, exactly as typer reads it, or not at all."""

import functools
import inspect
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capdisc.args import command_line, command_table, typer_app
from capdisc_indexer.model.errors import UsageError

WORDS = st.sampled_from(
    [
        "pdf",
        "two words",
        "-",
        "",
        "é",
        "0",
        "1",
        "7",
        "-1",
        "2.5",
        "nan",
        "inf",
        "1e3",
        "2s",
        "--",
        "-x",
    ]
)


def read_by_typer(command, words):
    """The parameters as typer understands them; None where it refuses."""
    seen = {}
    twin = typer_app.annotate_command(command)

    @functools.wraps(twin)
    def recording(**given):
        seen.update(given)
        return 0

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer_app, "annotate_command", lambda command, seldom: recording)
        try:
            typer_app.run(["it", *words], {"it": ""}, command, "it")
        except UsageError:
            return None
    return seen


def defaults(command):
    return {
        one.name: inspect.Parameter.empty if one.is_required else one.default
        for one in command_line.list_parameters(command)
    }


def option_names(command):
    return [
        name
        for one in command_line.list_parameters(command)
        for name in command_line._plain_names(one)
    ]


@pytest.mark.parametrize("name", command_table.summarise_commands())
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_what_is_read_is_what_typer_reads(name, data) -> None:
    command = command_table.load_command(name)
    names = option_names(command)
    option = st.sampled_from(names) if names else st.nothing()
    joined = st.builds("{}={}".format, option, WORDS)
    words = data.draw(st.lists(WORDS | option | joined | st.tuples(option, WORDS), max_size=5))
    line = [word for each in words for word in (each if isinstance(each, tuple) else (each,))]
    read = command_line.parse(command, line)
    if read is not None:
        assert repr(defaults(command) | read) == repr(read_by_typer(command, line))


@pytest.mark.parametrize(
    "line",
    [
        ["search", "merge two PDF files"],
        ["search", "merge", "files", "--limit", "3", "--json", "--kind", "tool", "--kind=skill"],
        ["search", "-k", "3", "x"],
        ["render", "x", "--budget", "1850", "--format", "xml", "--index-dir", "here"],
        ["render", "x", "--min-relevance", "0.2"],
        ["show", "skill:merge-pdfs", "--json"],
        ["validate", "a", "b", "--format", "json"],
        ["list"],
        ["status", "--json"],
        ["watch", "a", "--debounce", "250ms"],
    ],
)
def test_ordinary_lines_are_read(line) -> None:
    command = command_table.load_command(line[0])
    read = command_line.parse(command, line[1:])
    assert read is not None
    assert defaults(command) | read == read_by_typer(command, line[1:])


@pytest.mark.parametrize(
    "line",
    [
        ["search", "--help"],
        ["search", "-k", "0"],
        ["search", "x", "--limt", "3"],
        ["run"],
        ["search", "x", "-k3"],
    ],
)
def test_others_are_left_to_typer(line) -> None:
    assert command_line.parse(command_table.load_command(line[0]), line[1:]) is None


@pytest.mark.parametrize("line", [["search", "x"], ["render", "x"], ["validate", "."], ["status"]])
def test_typer_is_not_imported_for_a_plain_line(line, hermetic) -> None:
    slow = ("typer", "click", "dataclasses")
    code = f"import sys; from capdisc.args.command_table import run_command; run_command({line!r}); print([m for m in {slow!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_search_imports_no_other_part_of_the_core(small) -> None:
    """A cold search stays quick only as long as it imports little."""
    code = (
        "import sys; from capdisc.args.command_table import run_command; run_command(['search', 'x'])\n"
        "packages = {name.split('.')[1] for name in sys.modules if name.startswith('capdisc_indexer.')}\n"
        "packages |= {name.partition('.')[0] for name in sys.modules}\n"
        "others = {'tools', 'execution', 'indexing', 'validation', 'rendering', 'links'}\n"
        "plugins = {'capdisc_data', 'capdisc_sessions', 'capdisc_audit', 'capdisc_remote'}\n"
        "print(*sorted(packages & (others | plugins)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == ""


@pytest.mark.parametrize("line", [["search", "x"], ["render", "x"], ["validate", "a/SKILL.md"]])
def test_slow_modules_are_not_loaded_for_ordinary_files(
    line, small, hermetic, write_skill
) -> None:
    write_skill(hermetic, "a")
    slow = ("_hashlib", "shutil", "yaml")
    code = f"import sys; from capdisc.args.command_table import run_command; print(run_command({line!r})); print([m for m in {slow!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_line_that_is_not_plain_gets_typers_words(capsys) -> None:
    assert command_table.run_command(["search", "x", "--limit", "0"]) == 2
    assert "'0' is not a number from 1 to 1000" in capsys.readouterr().err


def test_the_overview_is_printed_without_typer(hermetic) -> None:
    code = "import sys; from capdisc.args.command_table import run_command; run_command(['--help']); print('typer' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False"


def test_modules_that_a_cold_command_avoids_are_whole_for_everybody_else():
    script = (
        "from capdisc import __main__; __main__._import_pathlib()\n"
        "from capdisc_indexer import lazy_imports; lazy_imports.tantivy()\n"
        "import datetime, pathlib, pickle, urllib.parse\n"
        "day = pickle.loads(pickle.dumps(datetime.datetime(2026, 7, 31, tzinfo=datetime.UTC)))\n"
        "print(pathlib.Path('/a b').as_uri(), urllib.parse.unquote('%41'), day.isoformat())"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "file:///a%20b A 2026-07-31T00:00:00+00:00\n"
