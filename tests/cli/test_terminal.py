"""What a person sees on a terminal, and that a pipe gets none of it."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from capdisc.args import help_panels
from capdisc.args.command_line import Param, list_parameters, option_words
from capdisc.args.command_table import load_command, summarise_commands
from capdisc.context import freshness
from capdisc.context.surroundings import Runtime
from capdisc.output import console
from capdisc_indexer.model.risks import RISK_CHOICES
from capdisc_indexer.rendering.render_format import OVERVIEW_HINTS
from capdisc_indexer.retrieval.pipeline import MODES
from capdisc_indexer.retrieval.verdict import GATE_MODES
from pseudo_terminal import run_on_terminal


def options_with_choices() -> dict[tuple[str, str], Param]:
    return {
        (name, parameter.name): parameter.param
        for name in summarise_commands()
        for parameter in list_parameters(load_command(name))
        if parameter.param.choices
    }


@pytest.mark.parametrize("columns", [80, 120])
def test_help_fills_the_terminal_with_panels_of_options(hermetic, columns) -> None:
    shown = run_on_terminal(["render", "--help", "--all"], hermetic, columns=columns, rows=200)
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
    shown = run_on_terminal(["help", "--all"], hermetic, columns=100, rows=100)
    assert _drawn_names(shown) == list(dict.fromkeys(_drawn_names(shown)))
    assert set(_drawn_names(shown)) == set(summarise_commands())
    assert shown.code == 0


def _drawn_names(shown) -> list[str]:
    return [line.split()[1] for line in shown.lines if line.startswith("│ ") and line[2] != " "]


def test_the_first_help_fits_on_a_screen(hermetic) -> None:
    shown = run_on_terminal([], hermetic, columns=80, rows=24)
    assert _drawn_names(shown) == list(help_panels.MAIN_COMMANDS)
    assert len(help_panels.MAIN_COMMANDS) == 14
    assert len(shown.lines) < 24
    assert shown.lines[-1] == "Others, such as hook, watch and tools: capdisc help --all"


@pytest.mark.parametrize("name", summarise_commands())
def test_a_command_shows_the_options_that_people_use(process, hermetic, name) -> None:
    options = {
        option_words(parameter)[0]
        for parameter in list_parameters(load_command(name))
        if parameter.param.names is not None
    }
    first, whole = process(name, "--help").out, process(name, "--help", "--all").out
    assert options <= set(re.findall(r"--?[\w-]+", whole))
    shown = options & set(re.findall(r"^  (?:-., )?(--?[\w-]+)", first, re.M))
    shown |= options & set(re.findall(r"^  (-.), ", first, re.M))
    assert len(shown) <= 12
    count = len(options) - len(shown)
    more = f"{count} more option{'s' * (count != 1)}: capdisc {name} --help --all"
    assert (more in first) == (first != whole) == (len(shown) < len(options))
    drawn = run_on_terminal([name, "--help"], hermetic, rows=200).plain
    assert (more in drawn) == (more in first)


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
        for name in summarise_commands()
        for parameter in list_parameters(load_command(name))
    }
    assert named <= {"", *help_panels.PANELS}


def test_the_choices_of_help_are_those_that_commands_accept() -> None:
    expected = {
        "mode": MODES,
        "max_risk": RISK_CHOICES,
        "gate": GATE_MODES,
        "fresh": freshness.MODES,
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


HITS = ["search", "put two PDF files into one", "-k", "4"]


@pytest.mark.parametrize("columns", [64, 80, 120])
def test_hits_are_a_table_that_fits_the_width(hermetic, small, columns) -> None:
    shown = run_on_terminal(HITS, hermetic, columns=columns)
    assert max(map(len, shown.lines)) <= columns
    first = shown.lines[0].split()
    assert first[0] == "1"
    assert set(first[1]) <= set("█▉▊▋▌▍▎▏")
    assert first[2:4] == ["skill", "merge-pdfs"]


@pytest.mark.parametrize("columns", [30, 44, 63])
def test_a_narrow_terminal_has_descriptions_below_names(hermetic, small, columns) -> None:
    shown = run_on_terminal(HITS, hermetic, columns=columns)
    assert max(map(len, shown.lines)) <= columns
    assert shown.lines[0].split()[2:] == ["merge-pdfs"]
    assert shown.lines[1].strip().startswith("Joins several")


def test_hits_are_numbered_without_gaps(capdisc, hermetic, write_skill) -> None:
    for number, words in enumerate(("Merges PDF files.", "Merges cells.", "Boils eggs.")):
        write_skill(
            hermetic / "skills", f"skill-{number}", description=f"{words} Use it for that."
        )
    assert capdisc("index", "skills").code == 0
    piped = capdisc("search", "boil an egg").out.splitlines()
    drawn = run_on_terminal(["search", "boil an egg"], hermetic).lines
    for lines in (piped, drawn):
        ranks = [int(line[:2]) for line in lines if line[:2].strip().isdigit()]
        assert ranks == list(range(1, len(ranks) + 1))


def test_a_pipe_gets_no_table_and_imports_no_rich(hermetic, small) -> None:
    script = (
        "import sys; from capdisc.args import command_table; "
        f"command_table.run_command({HITS!r}); "
        "loaded = {'rich', 'capdisc.output.pager', 'capdisc.args.help_panels', 'subprocess'}; "
        "print(sorted(loaded & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stderr == "[]\n"
    assert "█" not in done.stdout
    assert done.stdout.splitlines()[0].startswith(" 1  skill:merge-pdfs")


def test_a_terminal_that_obeys_no_codes_gets_what_a_pipe_gets(process, hermetic, small) -> None:
    dumb = run_on_terminal(HITS, hermetic, columns=140, environ={"TERM": "dumb"})
    assert dumb.text == process(*HITS).out


def test_without_colour_the_table_is_the_same_text(hermetic, small) -> None:
    coloured = run_on_terminal(HITS, hermetic)
    plain = run_on_terminal(HITS, hermetic, environ={"NO_COLOR": "1"})
    assert "\x1b[" in coloured.text
    assert "\x1b[" not in plain.text
    assert plain.text == coloured.plain


HOSTILE = (
    "[bold red]Pulls[/nope] \x1b[2J\x1b]8;;https://example.com\x07turnips [link=x]here[/] :smile:"
)


@pytest.mark.parametrize(
    "argv",
    [("search", "pull turnips"), ("list",), ("show", "alpha"), ("show", "alpha", "--links")],
)
def test_text_of_others_neither_steers_the_terminal_nor_colours_itself(
    capdisc, hermetic, write_skill, argv
) -> None:
    body = f"# {HOSTILE}\n\n[{HOSTILE}](https://example.com/[red]x[/red])\n"
    write_skill(
        hermetic / "skills",
        "alpha",
        description="'[bold red]Pulls[/nope] turnips :smile:'",
        body=body,
    )
    capdisc("index", "skills")
    shown = run_on_terminal(argv, hermetic, columns=200, rows=200)
    assert "\x1b[2J" not in shown.text
    assert "\x1b]" not in shown.text
    assert "[/" in shown.plain
    assert ":smile:" in shown.plain or "--links" in argv


def test_every_name_that_a_terminal_shows_is_one_that_show_takes(
    capdisc, hermetic, write_skill
) -> None:
    folders = ("one/skills", "two/skills", "three/deep/skills", "skills")
    for folder in folders:
        write_skill(
            hermetic / "roots" / folder, "pdf", description=f"Merges PDF files in {folder}."
        )
    write_skill(hermetic / "roots" / "skills", "csv", description="Reads CSV tables.")
    capdisc("index", "roots")
    ids = capdisc("list", "--ids").out.splitlines()
    rows = run_on_terminal(["list"], hermetic, columns=200).lines
    names = [row.split()[0] for row in rows if row.startswith("  ")]
    shown_ids = [capdisc("show", name).out.split("Id: ")[1].split()[0] for name in names]
    assert sorted(shown_ids) == sorted(ids)
    assert "csv" in names
    assert max(map(len, names)) < max(map(len, ids))


def test_an_abbreviation_that_fits_two_is_refused(capdisc, hermetic, write_skill) -> None:
    for folder in ("a/x/skills", "b/x/skills", "c/x/skills"):
        write_skill(hermetic / "roots" / folder, "pdf", description=f"Merges files in {folder}.")
    capdisc("index", "roots")
    refused = capdisc("show", "pdf@x/skills")
    assert refused.code == 2
    assert "there is no capability" in refused.err


def test_links_and_relations_are_trees(hermetic, office, capdisc, write_skill) -> None:
    tree = run_on_terminal(["graph", "schedule-email", "--depth", "2"], hermetic).lines
    assert tree[0] == "tool:schedule-email"
    assert tree[1].startswith("├── tool:send-email  requires 1")
    assert any(line.startswith("│   └── ") for line in tree)


@pytest.mark.parametrize(("command", "columns"), [("doctor", 70), ("status", 70), ("config", 240)])
def test_reports_fit_the_width_and_say_what_a_pipe_says(
    process, hermetic, small, command, columns
) -> None:
    shown = run_on_terminal([command], hermetic, columns=columns, rows=900)
    assert max(map(len, shown.lines)) <= columns
    words = {word.strip("()") for word in process(command).out.split()}
    drawn = {word.strip("()") for word in shown.plain.split()}
    assert shown.code == 0
    assert len(words - drawn) <= 6  # long paths are broken


@pytest.mark.parametrize("columns", [60, 120])
@pytest.mark.parametrize(
    "words",
    [
        ("list", "--cost"),
        ("list", "--categories"),
        ("list", "--shadowed"),
        ("audit",),
        ("audit", "claude"),
    ],
)
def test_lists_and_audits_are_tables_that_say_what_a_pipe_says(
    process, hermetic, small, words, columns
) -> None:
    piped = process(*words)
    shown = run_on_terminal([*words], hermetic, columns=columns, rows=900)
    assert (shown.code, piped.code) == (0, 0)
    assert "\x1b" not in piped.out
    assert not shown.lines or max(map(len, shown.lines)) <= columns
    assert len(set(piped.out.split()) - set(shown.plain.split())) <= 4  # cut words
    plain = run_on_terminal(
        [*words], hermetic, columns=columns, rows=900, environ={"NO_COLOR": "1"}
    )
    assert [line for line in plain.lines if line][-20:] == [line for line in shown.lines if line][
        -20:
    ]
    if piped.out:
        assert "\x1b[" in shown.text


def test_ids_that_others_have_are_a_table(hermetic, capdisc, write_skill) -> None:
    for folder in ("north", "south"):
        write_skill(hermetic / folder / "skills", "zebra", f"Feeds zebras in the {folder}.")
    assert capdisc("index", "north", "south").code == 0
    shown = run_on_terminal(["list", "--shadowed"], hermetic, columns=400)
    assert shown.lines[0].split() == ["file", "why"]
    assert "skill:zebra" in shown.plain and "rename or remove" in shown.plain


PAGER = f"{sys.executable} -c \"import sys; print('PAGED', len(sys.stdin.read().splitlines()))\""


@pytest.mark.parametrize(
    ("argv", "rows", "environ", "is_paged"),
    [
        (["list"], 20, {"CAPDISC_PAGER": PAGER}, True),
        (["list"], 20, {"PAGER": PAGER}, False),
        (["list"], 200, {"CAPDISC_PAGER": PAGER}, False),
        (["list", "--no-pager"], 20, {"CAPDISC_PAGER": PAGER}, False),
        (["list", "--json"], 20, {"CAPDISC_PAGER": PAGER}, False),
        (["list", "--ids"], 20, {"CAPDISC_PAGER": PAGER}, False),
        (["list"], 20, {"PAGER": PAGER, "CAPDISC_PAGER": ""}, False),
        (["list"], 20, {"CAPDISC_PAGER": PAGER, "TERM": "dumb"}, False),
        (["show", "send-email", "send-invoice", "merge-pdfs"], 12, {"CAPDISC_PAGER": PAGER}, True),
        (["render", "--help"], 20, {"CAPDISC_PAGER": PAGER}, True),
        (["render", "book a room", "--budget", "3000"], 4, {"CAPDISC_PAGER": PAGER}, False),
        (["status"], 4, {"CAPDISC_PAGER": PAGER}, False),
    ],
)
def test_only_what_is_longer_than_the_screen_is_paged(
    hermetic, small, argv, rows, environ, is_paged
) -> None:
    shown = run_on_terminal(argv, hermetic, rows=rows, environ=environ)
    assert shown.plain.startswith("PAGED ") is is_paged
    assert shown.code == 0


def test_a_pager_that_is_missing_or_left_early_costs_nothing(hermetic, small) -> None:
    missing = {"CAPDISC_PAGER": "/no/such/pager -x"}
    shown = run_on_terminal(["list"], hermetic, rows=10, environ=missing)
    assert "notice: the pager /no/such/pager cannot be started" in shown.plain
    assert "merge-pdfs" in shown.plain
    left = run_on_terminal(["list"], hermetic, rows=10, environ={"CAPDISC_PAGER": "true"})
    assert (left.code, left.text) == (0, "")


def test_notices_behind_a_result_stay_behind_it(hermetic, small) -> None:
    argv = ["search", "put two PDF files into one zzyzx"]
    shown = run_on_terminal(argv, hermetic, rows=50)
    assert shown.lines[0].lstrip().startswith("1")
    assert shown.lines[-1].startswith("notice: ")


def test_a_long_work_without_a_terminal_says_that_it_goes_on(
    capdisc, hermetic, write_skill, monkeypatch
) -> None:
    for number in range(3):
        write_skill(hermetic / "skills", f"skill-{number}")
    assert "Reading" not in capdisc("index", "skills").err
    monkeypatch.setattr(console, "PROGRESS_LINE_S", 0.0)
    lines = capdisc("index", "skills", "--rebuild").err.splitlines()
    assert any(line.startswith("Reading: ") and " of 3, " in line for line in lines)


def test_findings_come_by_rule_with_counts(capdisc, hermetic, write_skill) -> None:
    for number in range(6):
        path = write_skill(hermetic / "skills", f"tidy-{number}")
        path.write_text(
            path.read_text().replace(
                "description:", "metadata:\n  updated: 2026-01-01\ndescription:"
            )
        )
    (hermetic / "skills" / "bad").mkdir()
    (hermetic / "skills" / "bad" / "SKILL.md").write_text("---\nname: bad\n")
    done = capdisc("index", "skills")
    lines = done.err.splitlines()
    assert "error[" in lines[0]
    assert sum("warning[metadata-type]" in line for line in lines) == 3
    assert "  and 3 more metadata-type" in lines
    assert not any(line.startswith("notice: ") for line in lines)
    assert "hint: capdisc index --json lists all" in done.err
    drawn = run_on_terminal(["index", "skills", "--rebuild"], hermetic)
    assert "warning[metadata-type]: 6 findings" in drawn.plain
    assert "  skills/tidy-0/SKILL.md:" in drawn.plain


def _warning_codes(text: str) -> list[str]:
    return re.findall(r"warning\[([a-z-]+)\]", text)


def test_a_later_build_warns_of_what_changed_and_of_nothing_else(
    capdisc, hermetic, write_skill
) -> None:
    skills = hermetic / "skills"
    for place in ("first", "second"):
        path = write_skill(skills / place, "tidy")
        path.write_text(path.read_text().replace("---\n\n", f"risk: of {place}\n---\n\n"))
    write_skill(skills, "odd").rename(skills / "odd" / "skill.md")
    write_skill(skills, "odd")  # of the two, one is read
    known = ["duplicate-id", "field-value", "field-value", "misnamed-manifest"]
    assert sorted(_warning_codes(capdisc("index", "skills").err)) == known

    write_skill(skills, "another")
    added = capdisc("index", "skills")
    assert (_warning_codes(added.err), "1 added" in added.out) == ([], True)

    path.write_text(path.read_text() + "\nMore.\n")
    write_skill(skills, "tidy", "Tidies a third time. Use when asked.")
    changed = capdisc("index", "skills").err
    assert sorted(_warning_codes(changed)) == ["duplicate-id", "field-value"]

    write_skill(skills, "a-last-one")
    findings = capdisc("index", "skills", "--json").json["findings"]
    codes = sorted(one["code"] for one in findings if one["severity"] == "warning")
    assert codes == sorted([*known, "duplicate-id"])


def test_findings_of_validate_have_coloured_labels_and_carets(
    process, hermetic, write_skill
) -> None:
    write_skill(hermetic / "skills", "Bad_Name")
    shown = run_on_terminal(["validate", "skills"], hermetic, columns=200)
    piped = process("validate", "skills")
    assert "\x1b[1;31merror[name-case]:\x1b[0m" in shown.text
    assert "\x1b[1;33m  | " in shown.text
    assert piped.out in shown.plain
    assert "\x1b" not in piped.out


def test_the_diff_of_fixes_is_coloured_as_one(hermetic, write_skill) -> None:
    path = write_skill(hermetic / "skills", "alpha")
    path.write_text(
        path.read_text().replace("description:", "allowed-tools: Read, Grep\ndescription:")
    )
    shown = run_on_terminal(["validate", "skills", "--fix"], hermetic, columns=200)
    assert "\x1b[31m-allowed-tools: Read, Grep\x1b[0m" in shown.text
    assert "\x1b[32m+allowed-tools: Read Grep\x1b[0m" in shown.text


def test_each_capability_stays_on_its_line_in_a_narrow_terminal(
    capdisc, small, monkeypatch
) -> None:
    monkeypatch.setattr(Runtime, "columns", 80)
    lines = capdisc("list").out.splitlines()
    assert max(map(len, lines)) <= 80 and any(line.endswith("…") for line in lines)
