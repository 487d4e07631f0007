"""capdisc validate: its findings, formats and exit codes."""

from __future__ import annotations

import itertools
import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from product_lists import REPORT_FORMATS

HOOKS = Path(__file__).resolve().parents[2] / ".pre-commit-hooks.yaml"
GOOD = "name: {0}\nkind: tool\ndescription: Folds paper cranes of any size.\n"
BROKEN = "---\nname: cranes\ndescription: Use when: someone folds\nversion: 1.0\n---\nFold it.\n"


@pytest.fixture
def put(hermetic):
    """Write a file below the working folder: `put("a/SKILL.md", text)`."""

    def write(relative, content):
        path = hermetic / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.fixture
def broken(put):
    return put("cranes/SKILL.md", BROKEN)


@pytest.fixture
def tools(put):
    """Three manifests, each with a mistake of its own."""
    put("a/CAPABILITY.yaml", "kind: tool\ndescription: Folds paper cranes.\n")
    put("b b/CAPABILITY.yaml", GOOD.format("b") + "nonsense: 1\ncolour: red\n")
    put("c/CAPABILITY.yaml", "name: c\nkind: tool\n")
    return ["a/CAPABILITY.yaml", "b b/CAPABILITY.yaml", "c/CAPABILITY.yaml"]


def test_a_line_with_a_secret_is_not_repeated(capdisc, put) -> None:
    key = "AKIA" + "IOSFODNN7" + "SAMPLE1"
    put(
        "a/SKILL.md",
        f"---\nname: a\ndescription: Folds cranes when asked to.\n---\nUse {key} \u202ehere.\n",
    )
    for name in REPORT_FORMATS:
        said = capdisc("validate", "a", "--format", name)
        assert "hard-coded-secret" in said.out
        assert key not in said.out + said.err


def test_what_lies_behind_a_link_that_leads_out_is_never_shown(capdisc, put, hermetic) -> None:
    secret = hermetic.parent / "outside.md"
    secret.write_text("the secret line\n")
    (hermetic / "a").mkdir()
    (hermetic / "a" / "SKILL.md").symlink_to(secret)
    done = capdisc("validate", "a")
    assert "symlink" in done.out
    assert "secret line" not in done.out


def test_a_workflow_command_cannot_be_forged_by_a_name_or_a_text(capdisc, put) -> None:
    put("a,b:100%\n::error::c/CAPABILITY.yaml", "name: a\nkind: tool\n")
    (line,) = capdisc(
        "validate", ".", "--format", "github", "--select", "field-missing"
    ).out.splitlines()
    assert line.startswith(
        "::error file=a%2Cb%3A100%25%0A%3A%3Aerror%3A%3Ac/CAPABILITY.yaml,line=1,col=1,title=field-missing::"
    )


def test_a_finding_keeps_its_fingerprint_when_its_line_moves(capdisc, put) -> None:
    def prints(text):
        put("a/CAPABILITY.yaml", text)
        results = capdisc("validate", "a", "--format", "sarif").json["runs"][0]["results"]
        return [one["partialFingerprints"]["primaryLocationLineHash"] for one in results]

    before = prints(GOOD.format("a") + "nonsense: 1\ncolour: red\n")
    assert len(set(before)) == 2
    assert prints("# a comment\n" + GOOD.format("a") + "nonsense: 1\ncolour: red\n") == before
    assert prints(GOOD.format("a") + "nonsense: 2\ncolour: red\n")[1:] == before[1:]


@pytest.mark.parametrize("name", ["concise", "full", "github", "json-lines"])
def test_every_split_into_batches_says_the_same(capdisc, tools, name) -> None:
    for order in itertools.permutations(tools):
        together = capdisc("validate", "--format", name, *order).out
        assert together == "".join(capdisc("validate", "--format", name, one).out for one in order)


def test_a_deleted_file_is_one_line_and_costs_no_other(capdisc, tools) -> None:
    done = capdisc("validate", "--format", "concise", tools[0], "gone/SKILL.md", tools[2])
    assert done.code == 2
    assert [line.split(":")[0] for line in done.out.splitlines()] == [tools[0], tools[2]]
    assert [line for line in done.err.splitlines() if line.startswith("error: ")] == [
        f"error: cannot find {os.getcwd()}/gone/SKILL.md: No such file or directory"
    ]


def test_a_broken_configuration_is_status_2(capdisc, put) -> None:
    put("capdisc.toml", "validate = \n")
    assert capdisc("validate", ".").code == 2


def test_without_a_path_the_conventional_folders_are_checked(capdisc, put) -> None:
    put(".agents/skills/cranes/SKILL.md", BROKEN)
    done = capdisc("validate", "--format", "concise")
    assert done.code == 1
    assert done.out.startswith(".agents/skills/cranes/SKILL.md:3:1: yaml-unquoted-colon")


def test_without_a_path_the_workspace_alone_is_checked(capdisc, put, hermetic) -> None:
    put(".git/HEAD", "")
    put("../home/.claude/skills/own/SKILL.md", BROKEN)
    put("../home/.claude/agents/helper.md", "no header")
    empty = capdisc("validate")
    assert empty.code == 2 and "capdisc validate --user" in empty.err
    put(".claude/skills/cranes/SKILL.md", BROKEN)

    def files(*words: str) -> set[str]:
        found = capdisc("validate", "--json", *words).json["findings"]
        return {Path(each["path"]).parent.name for each in found}

    assert files() == {"cranes"}
    assert files("--user") == {"own", "agents"}
    assert capdisc("validate", "--user", ".").code == 2


def test_in_the_home_folder_the_user_s_own_folders_are_checked(
    capdisc, put, hermetic, monkeypatch
) -> None:
    put("../home/.claude/skills/own/SKILL.md", BROKEN)
    monkeypatch.chdir(hermetic.parent / "home")
    monkeypatch.setenv("PWD", str(hermetic.parent / "home"))
    assert "own" in capdisc("validate").out


def test_the_profile_follows_the_folders(capdisc, put) -> None:
    text = "---\nname: cranes\ndescription: Folds cranes when asked to.\nmodel: x\n---\nFold.\n"
    put(".claude/skills/cranes/SKILL.md", text)

    def profile(*words: str) -> str:
        return capdisc("validate", "--json", *words).json["profile"]

    assert profile() == profile(".claude/skills/cranes/SKILL.md") == "claude-code"
    assert "only folders of Claude Code" in capdisc("validate").err
    assert profile("--profile", "spec") == "spec"
    put(".claude/worktrees/other/skills/cranes/SKILL.md", text)
    assert profile(".claude/worktrees/other") == "spec"
    put("capdisc.toml", '[validate]\nprofile = "codex"\n')
    assert profile() == "codex"
    put("capdisc.toml", "")
    put(".agents/skills/other/SKILL.md", text.replace("cranes", "other"))
    assert profile() == "spec"


def test_more_than_200_findings_are_counted_by_rule(capdisc, put) -> None:
    for number in range(201):
        put(f"many/b{number}/CAPABILITY.yaml", "name: A B\nkind: tool\n")
    done = capdisc("validate", "many")
    assert done.code == 1 and len(done.out.splitlines()) < 20
    assert "field-missing" in done.out and "--all" in done.out
    assert done.out.count("CAPABILITY.yaml:") == 0
    assert capdisc("validate", "many", "--all").out.count("b100/CAPABILITY.yaml:") >= 1
    for form in ("concise", "json", "github"):
        assert capdisc("validate", "many", "--format", form).out.count("b100/CAPABILITY.yaml") >= 1


def test_settings_choose_rules_and_options_replace_them(capdisc, put, broken, hermetic) -> None:
    put("capdisc.toml", '[validate]\nignore = ["yaml-"]\nprofile = "claude"\n')
    capdisc("trust", "--yes")
    found = capdisc("validate", "cranes", "--json")
    assert (found.json["profile"], found.json["silenced"]) == ("claude-ai", 1)
    assert f"not shown, by {hermetic / 'capdisc.toml'}" in found.err
    assert capdisc(
        "validate", "cranes", "--json", "--ignore", "client-field", "--profile", "spec"
    ).json["findings"][0]["code"] == ("yaml-unquoted-colon")


def test_settings_of_validate_show_their_origin(capdisc, put, hermetic, monkeypatch) -> None:
    put("pyproject.toml", '[tool.capdisc.validate]\nselect = "name-"\nnonsense = 1\n')
    monkeypatch.setenv("CAPDISC_VALIDATE_IGNORE", "name-case,name-hyphens")
    done = capdisc("config", "--json")
    found = {each["name"]: (each["value"], each["from"]) for each in done.json["settings"]}
    assert found["validate.select"] == (["name-"], str(hermetic / "pyproject.toml"))
    assert found["validate.ignore"] == (["name-case,name-hyphens"], "CAPDISC_VALIDATE_IGNORE")
    assert found["validate.profile"] == ("spec", "default")
    assert "validate.nonsense" in done.err


def test_a_result_goes_to_a_file_and_never_over_what_is_checked(capdisc, broken) -> None:
    done = capdisc("validate", "cranes", "--format", "sarif", "--output", "log.sarif")
    assert (done.code, done.out) == (1, "")
    assert json.loads((broken.parent.parent / "log.sarif").read_text())["version"] == "2.1.0"
    over = capdisc("validate", "cranes", "--output", "cranes/SKILL.md")
    assert (over.code, broken.read_text()) == (2, BROKEN)


def test_fix_and_write_put_the_file_right_and_keep_its_mode(capdisc, broken) -> None:
    broken.chmod(0o640)
    done = capdisc("validate", "cranes", "--fix", "--write", "--format", "concise")
    assert done.code == 0
    assert "fixed cranes/SKILL.md: yaml-unquoted-colon, ambiguous-scalar" in done.err
    assert "yaml-" not in done.out
    assert 'description: "Use when: someone folds"\nversion: "1.0"\n' in broken.read_text()
    assert stat.S_IMODE(broken.stat().st_mode) == 0o640
    assert [path.name for path in broken.parent.iterdir()] == ["SKILL.md"]
    before = broken.stat()
    assert capdisc("validate", "cranes", "--fix", "--write").code == 0
    assert broken.stat() == before


def test_a_link_is_never_written_through(capdisc, put, hermetic) -> None:
    real = put("real/cranes.md", BROKEN)
    (hermetic / "cranes").mkdir()
    (hermetic / "cranes" / "SKILL.md").symlink_to(real)
    done = capdisc("validate", ".", "--fix", "--write")
    assert done.code == 2
    assert "is a link; not written" in done.err
    assert real.read_text() == BROKEN


def test_a_piped_text_is_checked_alone_under_the_name_that_it_is_given(capdisc, put) -> None:
    done = capdisc("validate", "-", "--format", "concise", stdin=BROKEN)
    assert done.code == 1
    assert done.out.startswith("SKILL.md:3:1: yaml-unquoted-colon")
    assert "name-folder-mismatch" not in done.out
    assert capdisc("validate", "-", stdin="name: a\nkind: tool\n").out.startswith(
        "CAPABILITY.yaml:1:1: error"
    )
    put("other/SKILL.md", "")
    named = capdisc(
        "validate", "-", "--stdin-filename", "other/SKILL.md", "--format", "concise", stdin=BROKEN
    )
    assert "other/SKILL.md:2:1: name-folder-mismatch" in named.out


def test_nothing_beside_a_piped_text_is_read(capdisc, put) -> None:
    put("a/schema.json", "not JSON")
    put("a/long.md", "secret text \u202e")
    text = GOOD.format("a") + "skillContent: long.md\n"
    done = capdisc("validate", "-", "--stdin-filename", "a/CAPABILITY.yaml", stdin=text)
    assert (done.code, done.out) == (0, "")
    climbing = capdisc(
        "validate",
        "-",
        "--format",
        "concise",
        stdin=GOOD.format("a") + "skillContent: ../../../../x\n",
    )
    assert "path-escape" in climbing.out


def test_a_piped_text_shows_its_line_and_its_fix(capdisc) -> None:
    assert "  | description: Use when: someone folds" in capdisc("validate", "-", stdin=BROKEN).out
    assert (
        '+description: "Use when: someone folds"'
        in capdisc("validate", "-", "--fix", stdin=BROKEN).out
    )


def test_a_piped_text_need_not_be_utf8(process, hermetic) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "capdisc", "validate", "-", "--format", "concise"], input=b"name: caf\xe9\n",
        capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stdout.startswith(b"CAPABILITY.yaml:1:10: encoding")


def test_all_rules_are_listed(capdisc) -> None:
    rows = capdisc("validate", "--rules").out.splitlines()
    listed = capdisc("validate", "--rules", "--json").json["rules"]
    assert [row.split()[0] for row in rows[1:]] == [one["code"] for one in listed]
    assert any(re.match(r"byte-order-mark +info +file +yes ", row) for row in rows)


def test_a_schema_is_json_for_editors(capdisc) -> None:
    for kind in ("capability", "skill"):
        schema = json.loads(capdisc("validate", "--schema", kind).out)
        assert schema["$schema"].endswith("2020-12/schema")
        assert schema["$id"] == f"urn:capdisc:schema:{kind}:1"


@pytest.mark.parametrize("name", REPORT_FORMATS)
def test_no_format_obeys_what_a_file_or_its_name_says(capdisc, put, name) -> None:
    put(
        "x\x1b[2J\u202e/CAPABILITY.yaml",
        'name: "a\\e[2J"\nkind: tool\ndescription: b\n\u2028: 1\n',
    )
    said = capdisc("validate", ".", "--format", name)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u202e]", said.out)


def test_one_file_imports_nothing_that_it_does_not_need(put, tmp_path) -> None:
    put("a/CAPABILITY.yaml", GOOD.format("a"))
    heavy = ["rich", "tantivy", "tomllib", "numpy", "lancedb", "asyncio", "hashlib.sha256", "capdisc_indexer.indexing.pipeline",
             "capdisc_indexer.validation.fixes", "capdisc.validate.fixing"]  # fmt: skip
    script = (
        f"import sys; from capdisc.args import command_table; command_table.run_command(['validate', 'a/CAPABILITY.yaml']);"
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


def test_the_hooks_name_what_is_checked(capdisc, put, tools) -> None:
    hooks = {one["id"]: one for one in yaml.safe_load(HOOKS.read_text())}
    for name in (
        "a/CAPABILITY.yaml",
        "SKILL.md",
        "x/skill.MD",
        "CAPABILITY.yml",
        "y/capabilities.jsonl",
    ):
        assert all(re.search(hook["files"], name) for hook in hooks.values()), name
    assert not any(re.search(hook["files"], "a/README.md") for hook in hooks.values())
    single = hooks["capdisc-validate"]
    done = capdisc(*single["entry"].split()[1:], *single["args"], *tools)
    assert (done.code, len(done.out.splitlines()) > 3) == (1, True)
    assert capdisc(*hooks["capdisc-validate-all"]["entry"].split()[1:]).code == 1
