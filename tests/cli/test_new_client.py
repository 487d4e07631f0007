"""A client that one entry of the table describes is known to every command."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import capdisc
import capdisc_indexer
from conftest import Result

ENTRY = """
[fabel]
title = "Fabel"
programs = ["fabel"]
settings = ["{fabel}"]
secrets = [".fabel/login.md"]
folders.fabel = { variable = "FABEL_HOME", default = "{home}/.fabel" }
skills = { workspace = [".fabel/skills"], user = [".fabel/skills"] }
agents = { workspace = [".fabel/agents"], user = [".fabel/agents"] }
commands = { workspace = [".fabel/commands"] }
plugins = { folder = "{fabel}/plugins", manifests = ["fabel.json"] }
next = { user = "say /reload in Fabel" }
validation = { like = "spec", error = ["name-folder-mismatch"] }
[fabel.servers]
user = ["{fabel}/servers.json"]
workspace = ["{workspace}/.fabel/servers.json"]
table = ["tools", "mcp"]
fields = { type = "stdio" }
[fabel.hook]
dialect = "claude"
user = ["{fabel}/hooks.json"]
workspace = ["{workspace}/.fabel/hooks.json"]
lists = ["OnPrompt"]
prompt_event = "OnPrompt"
change_events = ["OnStart"]
[fabel.listing]
version = "1.0"
line = "dash"
fit = "stop at first"
budget = 60
order = "by name"
overflow = "leaves out the rest"
sources = [{ figure = "60 characters", source = "a fable", date = 2026-11-26 }]
"""
COMPILE = "import client_table, completion_table; client_table.write_table(); completion_table.write_table()"
DOCUMENTATION = Path(__file__).parents[2] / "tools" / "documentation"
Run = Callable[..., Result]


@pytest.fixture(scope="module")
def packages(tmp_path_factory) -> Path:
    """A copy of the product whose table has the entry; its other files are links to the real ones."""
    folder = tmp_path_factory.mktemp("packages")
    for package in (capdisc, capdisc_indexer):
        source = Path(package.__file__).parent
        ignore = shutil.ignore_patterns("__pycache__")
        shutil.copytree(source, folder / source.name, ignore=ignore, copy_function=os.symlink)
    clients = folder / "capdisc_indexer" / "clients"
    additions = {folder / "capdisc" / "args" / "completion.json": ""} | {
        path: ENTRY * (path.suffix == ".toml") for path in clients.iterdir()
    }
    for path, addition in additions.items():
        text = path.read_text(encoding="utf-8")
        path.unlink()
        path.write_text(text + addition, encoding="utf-8")
    subprocess.run(
        [sys.executable, "-c", COMPILE],
        env={**os.environ, "PYTHONPATH": f"{folder}:{DOCUMENTATION}:{DOCUMENTATION.parent}"},
        check=True,
    )
    return folder


@pytest.fixture
def run(process, packages) -> Run:
    """Runs a command line of the copy, and expects this exit status."""

    def run_command(*words: str, status: int = 0, stdin: str = "") -> Result:
        result = process(*words, stdin=stdin, env={"PYTHONPATH": str(packages)})
        assert result.code == status, result.err
        return result

    return run_command


@pytest.fixture
def home(hermetic) -> Path:
    return hermetic.parent / "home"


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def write_skill(folder: Path, name: str, body: str = "Fold the edge twice.") -> None:
    text = f"---\nname: {name}\ndescription: Hems a skirt with the {name} stitch.\n---\n{body}\n"
    write(folder / name / "SKILL.md", text)


def listed_ids(run: Run) -> set[str]:
    return set(run("list", "--ids").out.split())


def test_its_skills_agents_commands_and_plugins_are_indexed(run, home, hermetic) -> None:
    write_skill(hermetic / ".fabel/skills", "blind")
    write_skill(home / ".fabel/skills", "cross")
    write(home / ".fabel/agents/tailor.md", "---\nname: tailor\ndescription: Sews.\n---\nSew.\n")
    write(hermetic / ".fabel/commands/press.md", "---\ndescription: Irons a seam.\n---\nIron.\n")
    write(home / ".fabel/plugins/kit/fabel.json", '{"name": "kit"}')
    write_skill(home / ".fabel/plugins/kit/skills", "whip")
    run("index")
    own = {"skill:blind", "skill:cross", "agent:tailor", "command:press"}
    assert own <= listed_ids(run)
    assert any("whip" in identifier for identifier in listed_ids(run))
    write_skill(home / ".claude/skills", "zigzag")
    run("config", "set", "folders", "fabel")
    run("index")
    assert own <= listed_ids(run) and "skill:zigzag" not in listed_ids(run)


def test_its_servers_are_found(run, home, hermetic) -> None:
    write_skill(hermetic / ".fabel/skills", "blind")
    servers: dict[str, Any] = {"tools": {"mcp": {"loom": {"command": "loom"}}}}
    write(home / ".fabel/servers.json", json.dumps(servers))
    assert "the MCP server loom was not asked" in run("index").err


def test_setup_writes_and_takes_out_its_hook_and_server(run, home, hermetic, monkeypatch) -> None:
    assert "fabel" in run("setup").out
    done = run("setup", "fabel", "--yes")
    assert "say /reload in Fabel" in done.err
    written = json.loads((home / ".fabel/servers.json").read_text())
    server = written["tools"]["mcp"]["capdisc"]
    assert (server["type"], server["args"][-1]) == ("stdio", "mcp")
    (group,) = json.loads((home / ".fabel/hooks.json").read_text())["hooks"]["OnPrompt"]
    assert group["hooks"][0]["command"].endswith(" hook fabel")
    run("setup", "fabel", "--undo", "--yes")
    assert not (home / ".fabel").exists()
    monkeypatch.setenv("FABEL_HOME", str(hermetic / "moved"))
    run("setup", "fabel", "--yes", "--mcp")
    assert (hermetic / "moved" / "servers.json").is_file()


def test_its_hook_is_answered_and_doctor_names_it(run, hermetic) -> None:
    write_skill(hermetic / ".fabel/skills", "blind")
    run("index")
    event = json.dumps(
        {"hook_event_name": "OnPrompt", "prompt": "hem a skirt with the blind stitch please"}
    )
    answer = run("hook", "fabel", "--deadline", "60s", stdin=event).out
    assert json.loads(answer)["hookSpecificOutput"]["hookEventName"] == "OnPrompt"
    assert "blind" in answer
    run("hook", "fabel", "--deadline", "60s", stdin="{")
    assert "fabel, just now" in run("doctor").out


def test_audit_lists_by_its_rule(run, hermetic) -> None:
    for name in ("blind", "cross", "whip"):
        write_skill(hermetic / ".fabel/skills", name)
    run("index")
    (listing,) = run("audit", "fabel", "--json").json["clients"]
    assert (listing["client"], listing["budget"]) == ("fabel", 60)
    assert "left-out" in json.dumps(listing)
    assert "\n  fabel " in run("audit").out


def test_validate_has_its_profile_and_its_secrets_are_not_read(run, hermetic) -> None:
    write(
        hermetic / ".fabel/skills/hem/SKILL.md", "---\nname: blind\ndescription: Hems.\n---\nDo.\n"
    )
    checked = run("validate", "--profile", "fabel", "--json", status=1).json
    assert "name-folder-mismatch" in json.dumps(checked)
    write(hermetic / ".fabel/login.md", "# Login\n\nhunter2-the-secret\n")
    write(hermetic / "capdisc.toml", '[[source]]\nformat = "document"\npath = ".fabel/login.md"\n')
    run("trust", "--yes")
    assert "secret-file" in run("index", "--json", status=1).out


@pytest.mark.parametrize(
    "words", ["setup", "hook", "audit", "config set folders", "validate --profile"]
)
def test_completion_and_help_name_it(run, words) -> None:
    offered = run("--complete", *words.split(), "").out
    assert "fabel" in [line.partition("\t")[0] for line in offered.splitlines()]
    if not words.startswith("config"):
        assert "fabel" in run(words.split()[0], "--help").out
