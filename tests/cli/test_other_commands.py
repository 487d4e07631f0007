"""index, show, list, status, config, init, new, validate."""

import os
import shutil
import stat
import subprocess
import sys

import pytest

from capdisc_indexer.encoders.static_encoder import MODEL_FOLDER


@pytest.fixture
def here(hermetic, monkeypatch):
    monkeypatch.setenv("CAPDISC_INDEX_DIR", str(hermetic / "index"))
    return hermetic


def test_index_prints_one_summary_line_and_nothing_else(capdisc, here, write_skill) -> None:
    """Indexing prints one summary line on stdout and nothing on stderr (S205)."""
    write_skill(here / "skills", "alpha")
    done = capdisc("index", "skills")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("1 capability from 1 file (1 added); parsed 1, embedded 1")


def test_index_names_each_bad_file_and_says_so_by_its_exit_code(
    capdisc, here, write_skill
) -> None:
    """Bad files are named and set the exit code without an option (S165)."""
    write_skill(here / "skills", "alpha")
    bad = here / "skills" / "bad" / "CAPABILITY.yaml"
    bad.parent.mkdir()
    bad.write_text("- bad\n")
    done = capdisc("index", "skills", "--json")
    assert done.code == 1
    assert done.json["counts"]["failed"] == 1
    assert done.json["findings"][0]["path"] == str(bad)
    assert f"{bad}:" in done.err
    assert "hint: " in done.err


def test_index_takes_the_conventional_folders_in_order(capdisc, here, write_skill) -> None:
    write_skill(here / ".claude" / "skills", "both", "From the workspace. Use when asked.")
    home = here.parent / "home"
    write_skill(home / ".claude" / "skills", "both", "From the user. Use when asked.")
    write_skill(home / ".capdisc" / "capabilities", "mine", "Mine. Use when asked.")
    done = capdisc("index")
    assert "shadowed" in done.out
    assert capdisc("list", "--ids").out.split() == ["skill:both", "skill:mine"]
    assert "From the workspace" in capdisc("show", "both").out
    assert "From the user" not in capdisc("show", "both").out


def test_folders_of_the_environment_win_over_the_workspace(
    capdisc, here, write_skill, monkeypatch
) -> None:
    write_skill(here / ".claude" / "skills", "both", "From the workspace. Use when asked.")
    write_skill(here / "extra", "both", "From the environment. Use when asked.")
    monkeypatch.setenv("CAPDISC_DIRS", os.pathsep.join(["extra"]))
    capdisc("index")
    assert "From the environment" in capdisc("show", "both").out


@pytest.mark.parametrize(
    ("argv", "code", "message"),
    [
        (("index",), 3, "there is nothing to index here"),
        (("index", "nowhere"), 3, "nowhere"),
        (("search", "x"), 4, "there is no index yet"),
        (("status",), 4, "there is no index yet"),
    ],
)
def test_a_missing_folder_or_index_is_said_plainly(capdisc, here, argv, code, message) -> None:
    done = capdisc(*argv)
    assert (done.code, done.out) == (code, "")
    assert message in done.err
    assert "hint: " in done.err


def test_an_unreadable_file_is_a_finding_and_the_rest_is_indexed(
    capdisc, here, write_skill
) -> None:
    write_skill(here / "skills", "alpha")
    (here / "skills" / "gone").mkdir()
    (here / "skills" / "gone" / "SKILL.md").symlink_to("no-such-file")
    done = capdisc("index", "skills")
    assert "1 capability from" in done.out
    assert "gone" in done.err


def test_the_index_folder_is_for_its_owner_alone(capdisc, here, write_skill) -> None:
    write_skill(here / "skills", "alpha")
    capdisc("index", "skills")
    assert stat.S_IMODE((here / "index").stat().st_mode) == 0o700


def test_a_read_only_index_still_answers(capdisc, here, write_skill, monkeypatch) -> None:
    write_skill(here / "skills", "alpha", "Folds paper cranes. Use when asked.")
    capdisc("index", "skills")
    before = sorted(str(path) for path in (here / "index").rglob("*"))
    real = os.access
    # Root may write anywhere, so the answer of a folder without write permission is given by hand.
    monkeypatch.setattr(
        os, "access", lambda path, mode: False if mode == os.W_OK else real(path, mode)
    )
    assert capdisc("search", "fold a crane", "--ids").out == "skill:alpha\n"
    assert sorted(str(path) for path in (here / "index").rglob("*")) == before


def test_a_missing_model_means_words_alone_with_a_notice(
    capdisc, here, write_skill, monkeypatch
) -> None:
    """Without a model words alone are searched, with a notice (S176, S200)."""
    write_skill(here / "skills", "alpha", "Folds paper cranes. Use when asked.")
    monkeypatch.setenv("CAPDISC_ENCODER", str(here / "no-model"))
    done = capdisc("index", "skills")
    assert "words alone" in done.err
    assert done.code == 0
    found = capdisc("search", "fold a crane", "--json")
    assert found.json["mode"] == "lexical"
    assert "words alone" in found.json["degraded"][0]
    assert "words alone" in found.err
    monkeypatch.delenv("CAPDISC_ENCODER")
    mended = capdisc("index", "skills", "--encoder", "static", "--json").json
    assert mended["counts"]["embedded"] == 1
    assert capdisc("search", "fold a crane", "--json").json["mode"] == "hybrid"


def test_show_prints_everything_and_where_it_comes_from(capdisc, small) -> None:
    out = capdisc("show", "tool:send-invoice").out
    assert out.startswith("# ")
    assert "## Input Schema" in out
    assert "Requires: " in out
    assert "Source: " in out


def test_show_json_round_trips_the_schema(capdisc, small) -> None:
    found = capdisc("show", "send-invoice", "--json").json["capabilities"][0]
    assert found["schema"]["type"] == "object"
    assert found["id"] == "tool:send-invoice"


def test_show_of_an_unknown_id_names_the_nearest(capdisc, small) -> None:
    done = capdisc("show", "merge-pdf")
    assert done.code == 2
    assert "skill:merge-pdfs" in done.err


def test_show_reads_ids_from_a_pipe(capdisc, small) -> None:
    out = capdisc("show", "-", stdin="skill:merge-pdfs\ntool:git-status\n").out
    assert "Id: skill:merge-pdfs" in out
    assert "Id: tool:git-status" in out


def test_list_groups_by_category_and_cost_adds_up(capdisc, small) -> None:
    assert "documents (" in capdisc("list").out
    cost = capdisc("list", "--cost", "--json").json
    assert cost["total"] == sum(each["tokens"] for each in cost["each"])
    assert cost["tokenizer"] == "o200k_base"


def test_status_says_what_and_where(capdisc, small) -> None:
    facts = capdisc("status", "--json").json
    assert facts["index_dir"] == str(small)
    assert facts["capabilities"] == sum(facts["kinds"].values()) > 30
    assert str(small) in capdisc("status").out


def test_config_says_where_each_value_comes_from(capdisc, here, monkeypatch) -> None:
    """`config` names the file, variable or default behind each value (S191)."""
    (here / "capdisc.toml").write_text("budget = 900\ntier1TopK = 3\nnonsense = 1\n")
    monkeypatch.setenv("CAPDISC_LIMIT", "4")
    done = capdisc("config", "--json")
    found = {each["name"]: (each["value"], each["from"]) for each in done.json["settings"]}
    assert found["budget"] == (900, str(here / "capdisc.toml"))
    assert found["tier1_top_k"] == (3, str(here / "capdisc.toml"))
    assert found["limit"] == (4, "CAPDISC_LIMIT")
    assert found["mode"] == ("auto", "default")
    assert "nonsense" in done.err


def test_a_broken_configuration_is_a_clear_error(capdisc, here) -> None:
    (here / "capdisc.toml").write_text("budget = \n")
    done = capdisc("config")
    assert (done.code, done.out) == (3, "")
    assert "capdisc.toml" in done.err


def test_init_then_index_then_search_works(capdisc, here) -> None:
    assert capdisc("init").code == 0
    assert capdisc("index").code == 0
    hits = capdisc("search", "write the commit message for my changes", "--ids").out
    assert hits.startswith("skill:write-commit-message")
    again = capdisc("init")
    assert (again.code, again.out) == (3, "")


@pytest.mark.parametrize(
    ("folders", "expected"),
    [
        ((), ".agents/skills"),
        ((".claude",), ".claude/skills"),
        ((".github", "../home/.claude"), ".claude/skills"),
        (("../home/.codex", ".gemini"), ".gemini/skills"),
        ((".claude", ".cursor/skills"), ".cursor/skills"),
    ],
)
def test_skills_go_where_the_client_of_the_person_reads(capdisc, here, folders, expected) -> None:
    for folder in folders:
        (here / folder).mkdir(parents=True)
    written = capdisc("new", "skill", "tidy-changelog", "--json").json["written"]
    assert written == [str(here / expected / "tidy-changelog" / "SKILL.md")]


def test_of_two_folders_the_one_with_most_skills_is_taken(capdisc, here, write_skill) -> None:
    home = here.parent / "home"
    for name in ("one", "two"):
        write_skill(home / ".claude" / "skills", name)
    write_skill(home / ".agents" / "skills", "three")
    done = capdisc("new", "skill", "my-report")
    assert done.out.splitlines()[:2] == [
        f"wrote {here}/.claude/skills/my-report/SKILL.md",
        "read by Claude Code, opencode, Cursor, Copilot CLI, Cline, Crush",
    ]
    assert "asks to my" not in (here / ".claude/skills/my-report/SKILL.md").read_text()
    # What the workspace has counts more.
    for name in ("four", "five"):
        write_skill(here / ".agents" / "skills", name)
    assert "/.agents/skills/" in capdisc("init").out


def test_the_examples_of_init_are_valid_and_the_tool_runs(capdisc, here) -> None:
    capdisc("init", "--in", "skills")
    checked = capdisc("validate", "skills", ".capdisc", "--strict")
    assert (checked.code, checked.out) == (0, "")
    capdisc("index", "skills", ".capdisc/capabilities")
    (here / "essay.txt").write_text("three short words")
    done = capdisc("run", "count-words", '{"path": "essay.txt"}', "--yes")
    assert done.out.split() == ["3", "essay.txt"]


def test_the_first_line_of_a_new_manifest_names_a_schema_that_accepts_it(capdisc, here) -> None:
    import json

    import jsonschema
    import yaml

    capdisc("new", "tool", "zip-folder", "--description", "Packs: a folder # into a zip.")
    path = here / ".capdisc" / "capabilities" / "zip-folder" / "CAPABILITY.yaml"
    text = path.read_text()
    schema = (path.parent / text.splitlines()[0].partition("$schema=")[2]).resolve()
    manifest = yaml.safe_load(text)
    jsonschema.validate(manifest, json.loads(schema.read_text()))
    assert manifest["description"] == "Packs: a folder # into a zip."


@pytest.mark.parametrize("kind", ["skill", "tool"])
def test_new_writes_a_capability_that_validates(capdisc, here, kind) -> None:
    """`new` writes a skeleton that passes validation (S71); only its text is still to be written."""
    assert capdisc("new", kind, "tidy-changelog", "--in", "caps").code == 0
    checked = capdisc("validate", "caps", "--json")
    codes = {finding["code"] for finding in checked.json["findings"]}
    assert checked.code == 0 and codes <= {"description-placeholder"}
    assert capdisc("new", kind, "tidy-changelog", "--in", "caps").code == 3
    assert capdisc("new", kind, "Bad Name", "--in", "caps").code == 2


def test_validate_points_at_file_and_line(capdisc, here) -> None:
    (here / "x").mkdir()
    (here / "x" / "CAPABILITY.yaml").write_text("name: x\nkind: tool\n")
    done = capdisc("validate", "x")
    assert done.code == 1
    assert done.out.startswith("x/CAPABILITY.yaml:1:")
    assert "description" in done.out


def test_the_version_is_printed_with_little_loaded() -> None:
    code = (
        "import os, sys; from capdisc import __main__; sys.argv[1:] = ['--version']; "
        "os._exit = lambda status: sys.exit(print('capdisc_indexer.platforms' in sys.modules)); "
        "__main__.main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    version, is_loaded = done.stdout.splitlines()
    assert version.startswith("capdisc 0.")
    assert is_loaded == "False"


def test_version_and_help(capdisc, process) -> None:
    assert process("--version").out.startswith("capdisc 0.")
    shown = capdisc("--help")
    assert shown.code == 0
    for command in (
        "index",
        "search",
        "render",
        "show",
        "list",
        "config",
        "new",
        "validate",
    ):
        assert command in shown.out
        assert "Example: capdisc" in capdisc(command, "--help").out


def test_a_reader_that_stops_early_is_no_error(small) -> None:
    script = f"{sys.executable} -m capdisc list | head -1; test ${{PIPESTATUS[0]}} -eq 0"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_full_disk_under_stdout_is_one_line(small) -> None:
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m capdisc list > /dev/full"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode not in (0, 70)
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "argv",
    [
        ("--help",),
        ("search", "merge PDF files"),
        ("render", "merge PDF files"),
        ("validate", "skills"),
        ("tools", "merge PDF files"),
        ("call", "search_tool", '{"query": "merge PDF files"}'),
    ],
)
def test_cold_commands_import_nothing_heavy(small, hermetic, write_skill, argv) -> None:
    write_skill(hermetic / "skills", "alpha")
    heavy = [
        "lancedb",
        "pyarrow",
        "torch",
        "sentence_transformers",
        "numpy",
        "rich",
        "pydantic",
        "asyncio",
    ]
    listed = f"[name for name in {heavy!r} if name in sys.modules]"
    script = f"import sys; from capdisc.args import command_table; command_table.run_command({list(argv)!r}); print({listed}, file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stderr.splitlines()[-1] == "[]"


def test_roots_in_a_file_are_meant_from_that_file(capdisc, here, write_skill, monkeypatch) -> None:
    write_skill(here / "shared", "alpha")
    (here / "capdisc.toml").write_text('roots = ["shared"]\n')
    (here / "sub").mkdir()
    monkeypatch.chdir(here / "sub")
    assert capdisc("index").out.startswith("1 capability")


def test_a_configured_folder_that_is_missing_is_said(
    capdisc, here, write_skill, monkeypatch
) -> None:
    write_skill(here / ".claude" / "skills", "alpha")
    monkeypatch.setenv("CAPDISC_DIRS", "/no/such/folder")
    done = capdisc("index")
    assert done.code == 0
    assert "/no/such/folder does not exist (from CAPDISC_DIRS)" in done.err


@pytest.mark.parametrize("line", ["roots = [1]", "limit = 0", "budget = -5", 'limit = "many"'])
def test_a_setting_of_the_wrong_kind_is_a_clear_error(capdisc, here, line) -> None:
    (here / "capdisc.toml").write_text(f"{line}\n")
    done = capdisc("index")
    assert (done.code, done.out) == (3, "")
    assert "must be" in done.err


def test_the_home_folder_is_no_workspace_of_what_lies_below_it(
    capdisc, here, write_skill, monkeypatch
) -> None:
    home = here.parent / "home"
    write_skill(home / ".capdisc" / "capabilities", "mine")
    project = home / "project"
    write_skill(project / ".claude" / "skills", "ours")
    monkeypatch.chdir(project)
    capdisc("index")
    assert capdisc("list", "--ids").out.split() == ["skill:mine", "skill:ours"]


def test_without_arguments_there_is_help(capdisc) -> None:
    done = capdisc()
    assert (done.code, done.err) == (0, "")
    assert "render" in done.out


def test_a_folder_of_other_things_is_never_made_an_index(capdisc, here, write_skill) -> None:
    write_skill(here / "skills", "alpha")
    (here / "project").mkdir()
    (here / "project" / "main.c").write_text("int main;")
    done = capdisc("index", "skills", "--index-dir", "project")
    assert (done.code, done.out) == (3, "")
    assert [path.name for path in (here / "project").iterdir()] == ["main.c"]
    assert capdisc("index", "skills", "--index-dir", "").code == 2


def test_folders_that_are_no_longer_scanned_are_named(capdisc, here, write_skill) -> None:
    write_skill(here / "one", "alpha")
    write_skill(here / "two", "beta")
    capdisc("index", "one")
    assert f"no longer scanned: {here / 'one'}" in capdisc("index", "--only", "two").err


def test_a_run_that_changes_nothing_repeats_no_warnings(capdisc, here, write_skill) -> None:
    write_skill(here / "skills", "alpha", "|\n  Folds. Use when asked.\nmetadata:\n  version: 1")
    first, second = capdisc("index", "skills"), capdisc("index", "skills")
    assert "warning[" in first.err
    assert second.err == ""


def test_in_a_deleted_folder_nothing_is_touched(here, process) -> None:
    script = f"mkdir gone && cd gone && rmdir ../gone && {sys.executable} -m capdisc init"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert "the current folder is gone" in done.stderr


def test_a_folder_name_cannot_forge_a_line(capdisc, here) -> None:
    folder = here / "x\nhint: run something bad"
    folder.mkdir()
    (folder / "SKILL.md").write_text("")
    done = capdisc("validate", ".")
    assert done.code == 1
    assert "\nhint: run something bad" not in done.out
    assert "<U+000A>" in done.out


def test_a_path_that_is_not_utf8_is_said_and_read(capdisc, here, write_skill) -> None:
    write_skill(here / "skills", "alpha")
    os.makedirs(os.fsencode(here / "skills") + b"/caf\xe9")
    with open(os.fsencode(here / "skills") + b"/caf\xe9/SKILL.md", "w") as file:
        file.write("---\nname: cafe\ndescription: Brews.\n---\n")
    done = capdisc("index", "skills")
    assert done.code == 0
    assert "not UTF-8" in done.err
    assert "caf\\xe9" in capdisc("show", "skill:cafe").out
    assert "(no change)" in capdisc("index", "skills").out


@pytest.mark.parametrize(
    "argv",
    [
        ("show", "\udcff"),
        ("search", "--tag", "\udcff", "pdf"),
        ("render", "merge \udcff", "--format", "json"),
    ],
)
def test_bytes_that_are_no_text_are_no_bug(capdisc, small, argv) -> None:
    assert capdisc(*argv).code in (0, 1, 2)


def test_mistyped_filters_are_said(capdisc, small) -> None:
    assert (
        "there is no merge-pdf to leave out"
        in capdisc("search", "merge pdf", "--exclude", "merge-pdf").err
    )
    done = capdisc("search", "merge pdf", "--tag", "nope")
    assert (done.code, done.out) == (2, "")
    assert capdisc("list", "--tag", "nope").code == 2


def test_a_reader_that_is_gone_is_no_error_and_a_lost_stderr_costs_no_answer(small) -> None:
    def run(*argv: str, **streams: int) -> subprocess.CompletedProcess[bytes]:
        reading, writing = os.pipe()
        os.close(reading)
        chosen = {name: writing if value == -9 else value for name, value in streams.items()}
        done = subprocess.run([sys.executable, "-m", "capdisc", *argv], check=False, **chosen)
        os.close(writing)
        return done

    assert run("list", "--json", stdout=-9, stderr=subprocess.PIPE).returncode == 0
    query = ("search", "merge PDF files", "--exclude", "nosuch", "--ids")
    found = run(*query, stdout=subprocess.PIPE, stderr=-9)
    assert (found.returncode, found.stdout.split()[0]) == (0, b"skill:merge-pdfs")
    assert run("search", "--bogus", stdout=subprocess.PIPE, stderr=-9).returncode == 2


@pytest.mark.parametrize("harm", ["MANIFEST", "meta/overview.json"])
def test_after_damage_the_encoder_and_the_folders_are_still_known(
    capdisc, here, write_skill, harm
) -> None:
    write_skill(here / "skills", "alpha")
    shutil.copytree(MODEL_FOLDER, here / "mine")
    capdisc("index", "skills", "--encoder", "mine")
    path = here / "index" / "gens" / "00000001" / harm
    path.write_bytes(path.read_bytes() + b" ")
    done = capdisc("index", "--json").json
    assert "rebuilding it" in done["degraded"][0]
    assert done["roots"] == [str(here / "skills")]
    assert str(here / "mine") in (here / "index" / "gens" / "00000002" / "MANIFEST").read_text()


def test_an_encoder_in_a_file_is_meant_from_that_file(
    capdisc, here, write_skill, monkeypatch
) -> None:
    write_skill(here / "skills", "alpha", "Folds paper cranes. Use when asked.")
    shutil.copytree(MODEL_FOLDER, here / "mine")
    (here / "capdisc.toml").write_text('encoder = "./mine"\nroots = ["skills"]\n')
    (here / "sub").mkdir()
    monkeypatch.chdir(here / "sub")
    capdisc("trust", "--yes")
    assert capdisc("index").err == ""
    found = capdisc("search", "fold a crane", "--json")
    assert (found.json["mode"], found.err) == ("hybrid", "")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("capdisc.toml", "lock_timeout = -5"),
        ("capdisc.toml", "lock_timeout = nan"),
        ("capdisc.toml", "tier1_top_k = 0"),
        ("capdisc.toml", "limit = 100000"),
        ("pyproject.toml", "[[tool.capdisc]]\nlimit = 3"),
    ],
)
def test_settings_out_of_range_are_clear_errors(capdisc, here, name, text) -> None:
    (here / name).write_text(f"{text}\n")
    done = capdisc("config")
    assert (done.code, done.out) == (3, "")
    assert "must be" in done.err


def test_a_mistyped_command_is_answered_with_the_nearest(capdisc) -> None:
    done = capdisc("serch", "pdf")
    assert (done.code, done.out) == (2, "")
    assert done.err.count("Did you mean 'search'?") == 1
    assert done.err.count("Did you mean") == 1


def test_help_names_the_values_of_options_in_words(capdisc) -> None:
    printed = capdisc("graph", "--help").out
    assert (
        "--depth N" in printed
        and "--format table|json|dot|mermaid" in printed
        and "<" not in printed.split("Options:")[1].replace("<=", "")
    )


def test_status_counts_the_findings_that_index_reports(capdisc, hermetic) -> None:
    """Also those about ids, and about a link that no file of the index comes from."""
    for folder in ("a", "b"):
        path = hermetic / "skills" / folder / "SKILL.md"
        path.parent.mkdir(parents=True)
        path.write_text(f"---\nname: sort\ndescription: Sorts {folder}.\n---\nSort.\n")
    (hermetic / "skills" / "broken").mkdir()
    (hermetic / "skills" / "broken" / "SKILL.md").write_text("---\nname: broken\n")
    (hermetic / "skills" / "c").symlink_to(hermetic.parent / "nowhere")
    built = capdisc("index", "skills", "--json").json["findings"]
    counted = capdisc("status", "--json").json
    for severity in ("error", "warning"):
        assert counted[f"{severity}s"] == sum(one["severity"] == severity for one in built) > 0
    assert "duplicate-id" in {one["code"] for one in built}
    assert "; form is checked by: capdisc validate" in capdisc("status").out
