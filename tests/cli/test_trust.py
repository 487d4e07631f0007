"""capdisc trust: what a workspace's files, links and indexes may do before and after a yes."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from capdisc.context import surroundings
from capdisc_indexer.indexing.pipeline import build_index
from capdisc_indexer.model.types import BuildOptions

CANARY = "Kanarienvogel"
HIDDEN = "---\nname: sneak\ndescription: Sneaks.{} Use when asked.\n---\n\nDo it.\n".format(
    "".join(chr(0xE0000 + ord(letter)) for letter in "obey")
)


@pytest.fixture
def home(hermetic: Path) -> Path:
    return hermetic.parent / "home"


@pytest.fixture
def outside(hermetic: Path, write_skill) -> Path:
    """A folder beside the workspace, with a skill and a text that only the user should name."""
    folder = hermetic.parent / "outside"
    write_skill(folder, "private", f"Keeps the {CANARY}. Use when asked.")
    (folder / "notes.md").write_text(f"# Notes\n\nThe {CANARY} sings at noon.\n")
    return folder


@pytest.fixture
def clone(hermetic: Path, write_skill) -> Path:
    """A workspace with a skill of its own and a text."""
    (hermetic / ".git").mkdir()
    write_skill(hermetic / ".claude" / "skills", "fold", "Folds paper cranes. Use when asked.")
    (hermetic / "docs").mkdir()
    (hermetic / "docs" / "guide.md").write_text("# Guide\n\nCranes have two wings.\n")
    return hermetic


def configure(clone: Path, text: str, name: str = "capdisc.toml") -> Path:
    path = clone / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return path


def listed(capdisc) -> set[str]:
    done = capdisc("list", "--ids")
    return set(done.out.split())


def document(path: object) -> str:
    return f'[[source]]\nformat = "document"\npath = "{path}"\n'


OUTSIDE = [
    'roots = ["../outside"]\n',
    'roots = ["{outside}"]\n',
    document("../outside/notes.md"),
    document("{outside}"),
    document("../outside/*.md"),
    document("docs/../../outside/**/*.md"),
    document("~/../outside/notes.md"),
]


@pytest.mark.parametrize("text", OUTSIDE)
def test_a_clone_reads_nothing_outside_until_it_is_trusted(capdisc, clone, outside, text) -> None:
    """Once the configuration of a cloned workspace made `index` read any text of the user."""
    configure(clone, text.format(outside=outside))
    done = capdisc("index")
    assert done.code == 0
    assert done.err.count("left out until you trust it") == 1 and "capdisc trust" in done.err
    assert str(outside) in done.err
    assert listed(capdisc) == {"skill:fold"}
    assert CANARY not in capdisc("search", "what sings at noon", "--json").out
    assert capdisc("trust", "--yes").code == 0
    assert "left out" not in capdisc("index").err
    assert CANARY in capdisc("list", "--json").out


def test_credentials_are_not_read_unasked(capdisc, clone, home) -> None:
    """The case in which it was found: credentials and keys as declared sources."""
    (home / ".aws").mkdir()
    (home / ".aws" / "credentials").write_text(f"[default]\naws_secret_access_key = {CANARY}\n")
    configure(clone, document("~/.aws/credentials") + document("/etc/passwd"))
    assert capdisc("index").code == 0
    assert listed(capdisc) == {"skill:fold"}


def test_what_lies_inside_needs_no_trust(capdisc, clone, write_skill) -> None:
    write_skill(clone / "more", "knit", "Knits socks. Use when asked.")
    configure(
        clone,
        f'roots = ["more"]\nindex_dir = "idx"\nlimit = 3\npin = ["fold"]\n{document("docs/*.md")}',
    )
    done = capdisc("index")
    assert (done.code, done.err) == (0, "")
    assert {"skill:fold", "skill:knit", "document:guide"} <= listed(capdisc)
    assert (clone / "idx" / "CURRENT").exists()
    shown = capdisc("trust")
    assert shown.code == 0 and "asks for nothing beyond its own folder" in shown.out


def test_the_rest_goes_on_where_a_part_waits(capdisc, clone, outside, write_skill) -> None:
    write_skill(clone / "more", "knit", "Knits socks. Use when asked.")
    configure(clone, f'roots = ["../outside", "more"]\n{document("docs")}{document("../outside")}')
    done = capdisc("index", "--json")
    assert done.code == 0
    assert done.json["degraded"] == [
        "left out until the user trusts this workspace: roots, source; run: capdisc trust"
    ]
    assert {"skill:fold", "skill:knit", "document:guide"} <= listed(capdisc)
    assert "skill:private" not in listed(capdisc)
    found = capdisc("search", "fold a crane", "--json")
    assert found.json["degraded"] == done.json["degraded"]
    assert found.err.count("left out until you trust it") == 1


def test_an_error_in_what_waits_is_an_error_still(capdisc, clone, outside) -> None:
    for text in (
        '[[source]]\nformat = "mongodb"\npath = "../outside"\n',
        'roots = [1]\nindex_dir = "../outside"\n',
    ):
        configure(clone, text)
        assert capdisc("index").code == 3


def test_links_count_by_where_they_lead(capdisc, clone, outside) -> None:
    (clone / "link").symlink_to(outside)
    (clone / "docs" / "far.md").symlink_to(outside / "notes.md")
    (clone / "docs" / "near.md").symlink_to(clone / "docs" / "guide.md")
    configure(clone, f'roots = ["link"]\n{document("link/notes.md")}{document("docs/*.md")}')
    done = capdisc("index", "--json")
    assert "roots, source" in done.json["degraded"][0]
    codes = {(finding["code"], Path(finding["path"]).name) for finding in done.json["findings"]}
    assert ("symlink", "far.md") in codes
    assert CANARY not in capdisc("list", "--json").out
    assert "document:guide" in listed(capdisc)


def test_a_single_file_that_is_a_link_out_waits(capdisc, clone, outside) -> None:
    (clone / "notes.md").symlink_to(outside / "notes.md")
    configure(clone, document("notes.md"))
    capdisc("index")
    assert listed(capdisc) == {"skill:fold"}


def test_a_clone_can_bring_links_in_the_place_of_conventional_folders(
    capdisc, clone, outside
) -> None:
    (clone / ".agents").mkdir()
    (clone / ".agents" / "skills").symlink_to(outside)
    (clone / ".gemini").symlink_to(outside.parent)
    done = capdisc("index", "--json")
    assert f"link {clone}/.agents/skills -> {outside}" in done.err
    assert done.json["degraded"] == [
        "left out until the user trusts this workspace: link; run: capdisc trust"
    ]
    assert listed(capdisc) == {"skill:fold"}
    assert "left out until you trust it: link" in capdisc("validate").err
    assert capdisc("trust", "--yes").code == 0
    assert capdisc("index").code == 0
    assert listed(capdisc) == {"skill:fold", "skill:private"}
    (clone / ".agents" / "skills").unlink()
    (clone / ".agents" / "skills").symlink_to(outside / "private")
    assert f"-> {outside}/private" in capdisc("index").err


def test_a_link_to_what_the_user_s_own_folders_hold_needs_no_trust(
    capdisc, clone, home, write_skill
) -> None:
    write_skill(home / ".claude" / "skills", "knit", "Knits socks. Use when asked.")
    (clone / ".agents").mkdir()
    (clone / ".agents" / "skills").symlink_to(home / ".claude" / "skills")
    assert capdisc("index").err == ""
    assert listed(capdisc) == {"skill:fold", "skill:knit"}


@pytest.mark.parametrize("value", ["./model", "model", "/anywhere/model", "some-hub/some-model"])
def test_no_model_is_loaded_that_only_the_workspace_names(capdisc, clone, value) -> None:
    (clone / "model").mkdir()
    configure(clone, f'encoder = "{value}"\n')
    done = capdisc("index", "--json")
    assert done.json["encoder"].startswith("capdisc-static")
    assert "encoder" in done.json["degraded"][0]
    assert capdisc("search", "fold a crane", "--json").json["mode"] == "hybrid"


def test_a_folder_that_is_called_as_the_shipped_encoder_is_not_taken_for_it(
    capdisc, clone
) -> None:
    (clone / "static").mkdir()
    configure(clone, 'encoder = "static"\n')
    done = capdisc("index", "--json")
    assert (done.err, done.json["degraded"]) == ("", [])
    assert done.json["encoder"].startswith("capdisc-static")


@pytest.mark.parametrize("value", ["../idx", "{home}/idx", "~/idx", "link/idx", "docs/../../idx"])
def test_an_index_folder_outside_waits(capdisc, clone, home, outside, value) -> None:
    (clone / "link").symlink_to(outside)
    configure(clone, f'index_dir = "{value.format(home=home)}"\n')
    assert "index_dir" in capdisc("index").err
    assert not any(list(folder.rglob("idx")) for folder in (clone.parent, home))
    assert capdisc("search", "fold a crane", "--ids").out.split() == ["skill:fold"]


def test_what_the_environment_sets_is_not_left_out(capdisc, clone, outside, monkeypatch) -> None:
    monkeypatch.setenv("CAPDISC_DIRS", str(outside))
    configure(clone, 'roots = ["../outside"]\n')
    assert capdisc("index").err == ""
    assert "skill:private" in listed(capdisc)


def test_the_user_s_own_file_needs_no_trust(capdisc, clone, outside, home) -> None:
    own = home / ".config" / "capdisc" / "config.toml"
    own.parent.mkdir(parents=True)
    own.write_text(f'roots = ["{outside}"]\n{document(outside / "notes.md")}')
    assert capdisc("index").err == ""
    assert {"skill:private", "document:notes"} <= listed(capdisc)


def test_what_a_workspace_may_not_say_does_not_hide_what_the_user_says(
    capdisc, clone, outside, home
) -> None:
    own = home / ".config" / "capdisc" / "config.toml"
    own.parent.mkdir(parents=True)
    own.write_text(f'roots = ["{outside}"]\n')
    configure(clone, 'roots = ["/nowhere"]\n')
    assert "roots /nowhere" in capdisc("index").err
    assert "skill:private" in listed(capdisc)


# --- rules ---


@pytest.fixture
def sneaky(clone: Path) -> Path:
    path = clone / ".claude" / "skills" / "sneak" / "SKILL.md"
    path.parent.mkdir()
    path.write_text(HIDDEN)
    return path


@pytest.mark.parametrize(
    "line", ['ignore = ["hidden-text"]', 'ignore = ["hidden-"]', 'select = ["name-"]']
)
def test_a_workspace_cannot_silence_what_guards_its_reader(capdisc, clone, sneaky, line) -> None:
    """Once a pull request could switch its own check off."""
    configure(clone, f"[validate]\n{line}\n")
    for argv in (("validate",), ("validate", str(sneaky))):
        done = capdisc(*argv)
        assert done.code == 1 and "hidden-text" in done.out
        assert done.err.count("left out until you trust it: validate.") == 1
    assert "left out" not in capdisc("validate", "--quiet").err
    assert capdisc("trust", "--yes").code == 0
    assert capdisc("validate").code == 0


def test_rules_of_form_are_the_workspace_s_own_choice(capdisc, clone, sneaky) -> None:
    configure(
        clone,
        '[validate]\nignore = ["name-folder-mismatch", "client-field"]\nprofile = "strict"\n',
    )
    skill = clone / ".claude" / "skills" / "fold" / "SKILL.md"
    skill.write_text(skill.read_text().replace("name: fold", "name: folding"))
    done = capdisc("validate", "--json")
    assert "left out" not in done.err
    assert {finding["code"] for finding in done.json["findings"]} == {"hidden-text"}


def test_what_is_typed_silences_whatever_the_file_says(capdisc, clone, sneaky) -> None:
    configure(clone, '[validate]\nignore = ["hidden-text"]\n')
    done = capdisc("validate", "--ignore", "hidden-text")
    assert done.code == 0 and "left out" not in done.err


def test_no_profile_is_milder_where_a_rule_guards_the_reader() -> None:
    from capdisc_indexer.validation.finding_selection import is_guarded
    from capdisc_indexer.validation.rules import ONLY, PROFILES

    assert not [code for code in ONLY if is_guarded(code)]
    milder = {
        (profile, code)
        for profile, table in PROFILES.items()
        for code in table
        if is_guarded(code) and table[code] != "error"
    }
    # Claude Code mends both as capdisc does, so that no two of its readers disagree.
    mended = ("yaml-reserved-start", "yaml-unquoted-colon")
    assert milder == {("claude-code", code) for code in mended}


# --- programs and databases ---


def test_a_program_of_the_workspace_is_started_only_as_it_was_seen(capdisc, clone) -> None:
    """`--ask-servers` says that servers are to be asked, not that these may be started."""
    started = clone.parent / "started"

    def servers(*args: str) -> None:
        entry = {"command": "sh", "args": ["-c", *args], "env": {"TOKEN": "x"}}
        (clone / ".mcp.json").write_text(json.dumps({"mcpServers": {"near": entry}}))

    servers(f"touch {started}")
    configure(clone, '[[source]]\nformat = "mcp-servers"\npath = ".mcp.json"\n')
    done = capdisc("index", "--ask-servers")
    assert "the server near is not asked: it waits for your trust" in done.err
    assert not started.exists()
    shown = capdisc("trust")
    assert shown.code == 5 and "server near: sh -c" in shown.out and "with TOKEN" in shown.out
    assert capdisc("trust", "--yes").code == 0
    assert "waits for your trust" not in capdisc("index", "--ask-servers").err
    servers(f"touch {started}2")
    assert "it waits for your trust" in capdisc("index", "--ask-servers").err
    assert not Path(f"{started}2").exists()


PROGRAMS = {
    "python3 server.py": ("server.py", {}),
    "./server --stdio": ("server", {}),
    "node dist/index.js": ("dist/index.js", {}),
    "sh -c 'cd tools && exec ./serve'": ("tools/serve", {}),
    "python3 -m notes.serve": ("notes/serve.py", {}),
    "python3 -m notes": ("src/notes/__main__.py", {"PYTHONPATH": "lib:src"}),
    "node server.js": ("hook.js", {"NODE_OPTIONS": "--require ./hook.js"}),
    "notes-server": ("bin/notes-server", {"PATH": "{clone}/bin:/usr/bin"}),
    "python3 ${PLACE}/server.py": ("tools/server.py", {}),
}


def declare_server(clone: Path, command: str, **fields: object) -> None:
    first, *args = shlex.split(command)
    entry = {"command": first, "args": args, **fields}
    (clone / ".mcp.json").write_text(json.dumps({"mcpServers": {"near": entry}}))


@pytest.mark.parametrize("command", PROGRAMS)
def test_a_server_waits_again_once_a_file_that_it_names_changes(
    capdisc, clone, monkeypatch, command
) -> None:
    """An edit of a script that an entry names, as a pull makes it, once started unseen."""
    monkeypatch.setenv("PLACE", "tools")
    name, variables = PROGRAMS[command]
    program = clone / name
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    env = {key: value.format(clone=clone) for key, value in variables.items()}
    declare_server(clone, command, env=env)
    assert capdisc("trust", "--yes").code == 0
    assert capdisc("trust").code == 0
    program.write_text("#!/bin/sh\ntouch /tmp/evil\n")
    shown = capdisc("trust")
    assert shown.code == 5
    assert f"+ file {program} -> " in shown.out
    assert "  server near: " in shown.out and "+ server" not in shown.out
    assert "left out: file " in capdisc("doctor").out
    assert capdisc("trust", "--yes").code == 0
    assert capdisc("trust").code == 0


def test_another_clone_in_the_place_of_a_trusted_one_waits(capdisc, clone) -> None:
    (clone / "server.py").write_text("print('one')\n")
    declare_server(clone, "python3 server.py")
    assert capdisc("trust", "--yes").code == 0
    (clone / "server.py").unlink()
    (clone / "server.py").symlink_to(clone / "other.py")
    (clone / "other.py").write_text("print('two')\n")
    assert f"+ file {clone}/server.py" in capdisc("trust").out


def test_trust_that_was_given_before_files_counted_waits(capdisc, clone, home) -> None:
    """The grants of earlier releases hold the line of the server alone."""
    (clone / "server.py").write_text("print('one')\n")
    declare_server(clone, "python3 server.py")
    assert capdisc("trust", "--yes").code == 0
    (path,) = (home / ".local/state/capdisc/trust/workspaces").glob("*.json")
    grant = json.loads(path.read_text())
    grant["allows"] = [line for line in grant["allows"] if not line.startswith("file ")]
    path.write_text(json.dumps(grant))
    assert f"+ file {clone}/server.py" in capdisc("trust").out


ENVIRONMENT_NAMES = {
    ".mcp.json": (
        {"url": "http://127.0.0.1:9/mcp?k=${AWS_KEY}", "headers": {"X-A": "${GH_TOKEN:-none}"}},
        "mcpServers",
        "AWS_KEY, GH_TOKEN",
    ),
    ".vscode/mcp.json": (
        {"command": "x-${env:PLACE}", "args": ["--k=${env:KEY}"], "env": {"A": "${env:HIDDEN}"}},
        "servers",
        "PLACE, KEY, HIDDEN",
    ),
    ".gemini/settings.json": (
        {"command": "x", "args": ["$KEY", "${OTHER}"], "cwd": "$PLACE"},
        "mcpServers",
        "KEY, OTHER, PLACE",
    ),
    "opencode.json": (
        {"type": "remote", "url": "https://{env:HOST}/", "headers": {"A": "{env:KEY}"}},
        "mcp",
        "HOST, KEY",
    ),
}


@pytest.mark.parametrize("file", ENVIRONMENT_NAMES)
def test_every_variable_that_a_server_takes_is_named_before_the_yes(capdisc, clone, file) -> None:
    entry, table, names = ENVIRONMENT_NAMES[file]

    def write(entry: object) -> None:
        (clone / file).parent.mkdir(exist_ok=True)
        (clone / file).write_text(json.dumps({table: {"web": entry}}))

    write(entry)
    shown = capdisc("trust")
    assert shown.code == 5 and f"taking from your environment: {names} -> " in shown.out
    document = json.loads(capdisc("trust", "--json").out)
    assert names in document["requests"][0]["value"]
    assert "left out: server web" in capdisc("doctor").out
    assert capdisc("trust", "--yes").code == 0
    write({**entry, "headers": {"X-B": "${ANOTHER}"}, "env": {"B": "${ANOTHER}"}})
    again = capdisc("trust")
    assert again.code == 5 and "ANOTHER" in again.out


def test_a_database_waits(capdisc, clone, monkeypatch) -> None:
    monkeypatch.setenv("CRM_URL", "sqlite:///x")
    configure(clone, '[[source]]\nformat = "sql"\nname = "crm"\nurl_secret = "CRM_URL"\n')
    done = capdisc("index", "--ask-servers")
    assert "source sql crm -> the database at $CRM_URL" in done.err
    assert "could not be asked" not in done.err


# --- giving and taking ---


def test_off_a_terminal_nothing_is_allowed_without_a_yes(capdisc, clone, outside) -> None:
    path = configure(clone, 'roots = ["../outside"]\n')
    done = capdisc("trust")
    assert done.code == 5
    assert done.out == f"{path} asks for:\n  + roots {clone}/../outside -> {outside}\n"
    assert "capdisc trust --yes" in done.err
    shown = capdisc("trust", "--json")
    assert shown.code == 5 and shown.json["trusted"] is False
    assert shown.json["requests"] == [
        {
            "setting": "roots",
            "value": f"{clone}/../outside",
            "place": str(outside),
            "from": str(path),
            "allowed": False,
        }
    ]
    assert "roots" in capdisc("index").err


@pytest.mark.parametrize(
    ("answer", "code"), [("y\n", 0), ("yes\n", 0), ("\n", 5), ("n\n", 5), ("", 5)]
)
def test_at_a_terminal_it_asks(capdisc, clone, outside, monkeypatch, answer, code) -> None:
    configure(clone, 'roots = ["../outside"]\n')
    with monkeypatch.context() as patched:
        patched.setattr(surroundings, "is_terminal", lambda stream: True)
        assert capdisc("trust", stdin=answer).code == code
    assert ("roots" in capdisc("index").err) is bool(code)


@pytest.mark.parametrize("name", ["capdisc.toml", ".capdisc/config.toml", "pyproject.toml"])
def test_a_changed_file_asks_again(capdisc, clone, outside, name) -> None:
    text = (
        'roots = ["{root}"]\n'
        if name != "pyproject.toml"
        else '[tool.capdisc]\nroots = ["{root}"]\n'
    )
    path = configure(clone, text.format(root=outside), name)
    assert capdisc("trust", "--yes").code == 0
    assert "left out" not in capdisc("index").err
    path.write_text(path.read_text() + "limit = 4\n")
    assert "left out" in capdisc("index").err
    assert listed(capdisc) == {"skill:fold"}
    assert "changed, asks again" in capdisc("trust", "--list").out
    assert capdisc("trust", "--yes").code == 0
    assert "left out" not in capdisc("index").err


def test_of_a_file_of_many_programs_only_our_table_counts(capdisc, clone, outside) -> None:
    path = configure(clone, f'[tool.capdisc]\nroots = ["{outside}"]\n', "pyproject.toml")
    capdisc("trust", "--yes")
    path.write_text(
        '[project]\nname = "x"\n' + path.read_text() + "[tool.other]\nx = 2026-01-02\n"
    )
    assert "left out" not in capdisc("index").err


def test_a_link_that_leads_elsewhere_since_asks_again(capdisc, clone, outside) -> None:
    """The file is as it was; what was allowed is the place."""
    (clone / "link").symlink_to(outside)
    configure(clone, 'roots = ["link"]\n')
    capdisc("trust", "--yes")
    capdisc("index")
    assert "skill:private" in listed(capdisc)
    (clone / "link").unlink()
    (clone / "link").symlink_to(outside / "private")
    assert f"link -> {outside}/private" in capdisc("index").err
    assert "skill:private" not in listed(capdisc)


def test_trust_is_listed_and_taken_back(capdisc, clone, outside) -> None:
    configure(clone, 'roots = ["../outside"]\n')
    assert capdisc("trust", "--list").out == "nothing is trusted\n"
    capdisc("trust", "--yes")
    (entry,) = capdisc("trust", "--list", "--json").json["workspaces"]
    assert (entry["workspace"], entry["state"]) == (str(clone), "trusted")
    assert entry["allows"] == [f"roots {clone}/../outside -> {outside}"]
    capdisc("index")
    assert "skill:private" in listed(capdisc)
    assert capdisc("trust", "--revoke").out == f"no longer trusted: {clone}\n"
    assert "left out" in capdisc("index").err
    assert listed(capdisc) == {"skill:fold"}
    assert "nothing was trusted" in capdisc("trust", "--revoke").out


def test_roots_that_are_trusted_no_longer_are_not_remembered_either(
    capdisc, hermetic, outside
) -> None:
    """Without folders an index takes those of the last run: not those that the workspace asked for."""
    configure(hermetic, 'roots = ["../outside"]\n')
    capdisc("trust", "--yes")
    assert capdisc("index").code == 0
    capdisc("trust", "--revoke")
    assert "(1 removed)" in capdisc("index").out
    assert capdisc("list", "--ids").out == ""


def test_another_workspace_can_be_named(capdisc, clone, outside, monkeypatch, tmp_path) -> None:
    path = configure(clone, 'roots = ["../outside"]\n')
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert f"roots {clone}/../outside -> {outside}" in capdisc("trust", str(clone)).out
    assert capdisc("trust", str(path), "--yes").code == 0
    assert capdisc("trust", "--revoke", str(clone)).out == f"no longer trusted: {clone}\n"


@pytest.mark.parametrize(
    "argv", [["nope"], ["docs/guide.md"], ["--list", "docs"], ["--revoke", "--yes"], ["tool:x"]]
)
def test_what_cannot_be_trusted_is_said(capdisc, clone, argv) -> None:
    done = capdisc("trust", *argv)
    assert done.code == 2 and "hint: " in done.err


def test_a_line_of_the_file_cannot_forge_another(capdisc, clone) -> None:
    configure(clone, 'roots = ["../x\\n  + roots /nothing \\u001b[2J"]\n')
    lines = capdisc("trust").out.splitlines()
    assert len(lines) == 2
    assert "\x1b" not in lines[1]


def test_where_state_cannot_be_kept_that_is_said(
    capdisc, clone, outside, home, monkeypatch
) -> None:
    (home / "plain").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "plain"))
    configure(clone, 'roots = ["../outside"]\n')
    for argv in (("trust", "--yes"), ("index",)):
        done = capdisc(*argv)
        assert done.code == 3 and "CAPDISC_STATE_DIR" in done.err
    assert capdisc("validate").code == 0


def test_state_that_came_with_a_clone_is_not_believed(
    capdisc, clone, outside, monkeypatch
) -> None:
    """Whoever keeps state in the workspace would let it vouch for itself."""
    configure(clone, 'roots = ["../outside"]\n')
    monkeypatch.setenv("XDG_STATE_HOME", str(clone.parent / "attacker"))
    capdisc("trust", "--yes")
    (clone.parent / "attacker").rename(clone / "state")
    for name in ("XDG_STATE_HOME", "CAPDISC_STATE_DIR"):
        monkeypatch.setenv(
            name, str(clone / "state" / ("capdisc" if name == "CAPDISC_STATE_DIR" else ""))
        )
        assert "roots" in capdisc("index").err
        monkeypatch.delenv(name)


def test_what_is_kept_is_private(capdisc, clone, outside, home) -> None:
    configure(clone, 'roots = ["../outside"]\n')
    capdisc("trust", "--yes")
    capdisc("index")
    kept = home / ".local" / "state" / "capdisc" / "trust"
    assert {path.stat().st_mode & 0o077 for path in (kept, *kept.rglob("*"))} == {0}


def test_config_and_doctor_name_what_waits(capdisc, clone, outside) -> None:
    configure(clone, 'roots = ["../outside"]\n[validate]\nignore = ["hidden-text"]\n')
    capdisc("index")
    shown = capdisc("config", "--json").json
    assert [request["setting"] for request in shown["waiting"]] == ["roots", "validate.ignore"]
    assert {setting["name"]: setting["value"] for setting in shown["settings"]}["roots"] == []
    assert "waiting for your trust" in capdisc("config").out
    (check,) = [
        check for check in capdisc("doctor", "--json").json["checks"] if check["name"] == "trust"
    ]
    assert (check["state"], check["fix"]) == ("notice", "capdisc trust")


# --- indexes ---


@pytest.fixture
def shipped(clone: Path, outside: Path, write_skill) -> Path:
    """An index that came with the clone: it calls a folder outside its root."""
    path = write_skill(
        outside, "lead", "Leads out. Use when asked.", "See [the notes](secret.md)."
    )
    (path.parent / "secret.md").write_text(f"The {CANARY} sings at noon.\n")
    build_index([outside], clone / "shipped", BuildOptions())
    configure(clone, 'index_dir = "shipped"\n')
    return clone / "shipped"


READERS = [
    ("show", "lead"), ("show", "lead", "--link", "secret.md"), ("search", "lead out"), ("render", "lead out"),
    ("list",), ("status",), ("tools", "lead"), ("graph",), ("call", "list_skills"), ("run", "lead", "--dry-run"),
]  # fmt: skip


@pytest.mark.parametrize("argv", READERS, ids=" ".join)
def test_an_index_that_came_along_is_not_believed(capdisc, shipped, argv) -> None:
    """Once `show a --link secret.md` printed a file below the root that the index claimed."""
    done = capdisc(*argv)
    assert (done.code, done.out) == (4, "")
    assert f"the index in {shipped} was not built by you" in done.err
    assert f"capdisc trust {shipped}" in done.err


def test_indexing_there_takes_nothing_of_it(capdisc, shipped, outside) -> None:
    done = capdisc("index", "--json")
    assert "not built by you: rebuilding it, and reusing nothing of it" in done.json["degraded"][0]
    assert done.json["roots"] == [str(shipped.parent / ".claude" / "skills")]
    assert done.json["counts"]["added"] == 1
    assert listed(capdisc) == {"skill:fold"}
    assert capdisc("index").err == ""


def test_roots_and_memory_of_a_foreign_index_are_not_taken_where_nothing_is_configured(
    capdisc, hermetic, outside
) -> None:
    build_index([outside], hermetic / "shipped", BuildOptions())
    for damage in (None, "CURRENT", "MANIFEST"):
        for path in (hermetic / "shipped").rglob(damage) if damage else ():
            path.write_text("0")
        done = capdisc("index", "--index-dir", "shipped")
        assert done.code == 3 and "there is nothing to index here" in done.err
        assert str(outside) not in capdisc("doctor", "--index-dir", "shipped").out


def test_doctor_says_whose_it_is_not(capdisc, shipped, outside) -> None:
    done = capdisc("doctor", "--json")
    assert done.code == 4 and str(outside) not in done.out
    (check,) = [check for check in done.json["checks"] if check["name"] == "generation"]
    assert (
        "not built by you" in check["text"]
        and check["fix"] == f"capdisc index --index-dir {shipped}"
    )


def test_an_index_can_be_adopted(capdisc, shipped, outside) -> None:
    shown = capdisc("trust", "shipped")
    assert shown.code == 5 and str(outside) in shown.out and "you)" in shown.out
    assert capdisc("list").code == 4
    assert capdisc("trust", "shipped", "--yes").code == 0
    assert "skill:lead" in listed(capdisc)
    assert "trusted already" in capdisc("trust", "shipped").err
    assert str(shipped) in capdisc("trust", "--list").out
    assert capdisc("trust", "--revoke", "shipped").out == f"no longer trusted: {shipped}\n"
    assert capdisc("list").code == 4


def test_an_index_is_taken_back_without_its_workspace(capdisc, clone, outside) -> None:
    configure(clone, 'index_dir = "idx"\nroots = ["../outside"]\n')
    capdisc("trust", "--yes")
    capdisc("index")
    assert capdisc("trust", "--revoke", "idx", "--json").json["revoked"] == [str(clone / "idx")]
    assert "trusted as it is now" in capdisc("trust").out
    assert capdisc("list").code == 4


def test_a_file_with_the_name_of_an_index_s_does_not_make_a_workspace_one(
    capdisc, clone, outside
) -> None:
    configure(clone, 'roots = ["../outside"]\n')
    (clone / "CURRENT").write_text("1 x\n")
    (clone / "gens").mkdir()
    for argv in (("trust",), ("trust", ".")):
        assert f"roots {clone}/../outside -> {outside}" in capdisc(*argv).out


def test_what_an_index_would_bring_to_the_next_build_is_shown(
    capdisc, hermetic, outside, write_skill
) -> None:
    """A later look is recorded beside the generations, without a digest."""
    write_skill(hermetic / "skills", "fold")
    build_index([hermetic / "skills"], hermetic / "shipped", BuildOptions())
    record = {"number": 1, "roots": [str(outside)], "scanned_at_ns": 1, "stats": {}}
    (hermetic / "shipped" / "scan.json").write_text(json.dumps(record))
    assert f"{hermetic}/skills, {outside}" in capdisc("trust", "shipped").out


def test_an_index_is_believed_only_where_it_was_built(capdisc, clone) -> None:
    capdisc("index", "--index-dir", "one")
    assert capdisc("list", "--index-dir", "one").code == 0
    (clone / "one").rename(clone / "two")
    assert "was not built by you" in capdisc("list", "--index-dir", "two").err


def test_one_of_an_older_version_has_to_be_built_again(capdisc, clone) -> None:
    capdisc("index", "--index-dir", "one")
    from capdisc_indexer.store import publication

    manifest = clone / "one" / "gens" / "00000001" / "MANIFEST"
    record = json.loads(manifest.read_bytes())
    del record["builder_id"]
    manifest.write_text(json.dumps(record | {"schema_version": 7}))
    (clone / "one" / "CURRENT").write_text(publication.format_pointer(1, manifest.read_bytes()))
    done = capdisc("list", "--index-dir", "one")
    assert done.code == 4 and done.err.count("\n") == 2 and "run: capdisc index" in done.err
    assert capdisc("index", "--index-dir", "one").code == 0
    assert capdisc("list", "--index-dir", "one").code == 0


def test_links_in_an_index_folder_that_came_along_lead_nowhere(capdisc, clone, home) -> None:
    """What a build writes there, and takes away, stays there."""
    precious = home / "precious"
    precious.mkdir()
    (precious / "00000001").mkdir()
    (precious / "rc").write_text("keep me")
    (clone / "idx").mkdir()
    (clone / "idx" / "CURRENT").write_text("")
    for name in ("LOCK", ".CURRENT.new", ".scan.json.new", ".stamps.bin.new"):
        (clone / "idx" / name).symlink_to(precious / "rc")
    configure(clone, 'index_dir = "idx"\n')
    assert capdisc("index").code == 4
    (clone / "idx" / "LOCK").unlink()
    (clone / "idx" / "gens").symlink_to(precious)
    done = capdisc("index")
    assert done.code == 4 and "it is a link" in done.err
    (clone / "idx" / "gens").unlink()
    assert capdisc("index").code == 0
    assert (precious / "rc").read_text() == "keep me"
    assert sorted(path.name for path in precious.iterdir()) == ["00000001", "rc"]


def test_two_first_builds_at_once_agree(clone, write_skill) -> None:
    argv = [sys.executable, "-m", "capdisc", "index", "--index-dir", "idx", "--lock-timeout", "60"]
    builds = [
        subprocess.Popen(argv, stderr=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(2)
    ]
    assert [child.wait(timeout=120) for child in builds] == [0, 0]
    for child in builds:
        child.communicate()
    done = subprocess.run(
        [*argv[:3], "list", "--ids", "--index-dir", "idx"], capture_output=True, check=False
    )
    assert done.stdout.split() == [b"skill:fold"]


def test_searching_a_workspace_that_waits_for_nothing_reads_no_grant(clone, capdisc) -> None:
    configure(clone, 'roots = ["docs"]\nlimit = 3\n')
    capdisc("index")
    code = (
        "import sys; from capdisc.args import command_table; from capdisc_indexer.store import state_file\n"
        "state_file.load_grant = None\n"  # whoever reads a grant fails
        "code = command_table.run_command(['search', 'fold'])\n"
        "sys.exit(code or any(name in sys.modules for name in ('capdisc.commands.trust_grants', 'shlex')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=False, env=dict(os.environ)
    )
    assert done.returncode == 0
