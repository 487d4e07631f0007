"""Every block of the README is run and must print what the README shows."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from adopting import adopt

REPOSITORY = Path(__file__).resolve().parent.parent
README = (REPOSITORY / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", README, re.S | re.M)
SET_UP = README.split("## Set up", 1)[1].split("\n## ", 1)[0]
CONSOLE = [body for language, body in BLOCKS if language == "console"]
SHELL = [body for language, body in BLOCKS if language == "sh"]
WRITE = bool(os.environ.get("CAPDISC_WRITE_GOLDEN"))


@pytest.fixture
def shell(small, tmp_path, monkeypatch):
    """Run a script in a copy of the shipped fixtures, with stand-ins for the programs that models answer through."""
    work = tmp_path / "clone"
    shutil.copytree(REPOSITORY / "fixtures", work / "fixtures")
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("llm", "claude"):
        (programs / name).write_text("#!/bin/sh\ncat\n")
        (programs / name).chmod(0o755)
    here = programs / "capdisc"
    here.write_text(f'#!/bin/sh\nexec {sys.executable} -m capdisc "$@"\n')
    here.chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{programs}:{os.environ['PATH']}",
        "CAPDISC_INDEX_DIR": str(tmp_path / "ix"),
    }
    adopt(shutil.copytree(small, tmp_path / "ix"))

    def run(script: str, ends: int = 0) -> str:
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", script], cwd=work, env=environment, capture_output=True, text=True,
            stdin=subprocess.DEVNULL, check=False,
        )  # fmt: skip
        assert done.returncode == ends, done.stderr
        return done.stdout + done.stderr

    return run


@pytest.mark.golden
@pytest.mark.parametrize("block", CONSOLE, ids=lambda body: body.splitlines()[0][:60])
def test_a_transcript_shows_what_the_commands_print(shell, block) -> None:
    if "capdisc index" in block:
        shell("rm -r $CAPDISC_INDEX_DIR")
    made = ""
    for command in re.findall(r"^\$ (.*)$", block, re.M):
        ends = 1 if "fixtures/catalogs/broken" in command else 0
        made += f"$ {command}\n{_steady(shell(command, ends))}"
    if WRITE:
        readme = REPOSITORY / "README.md"
        readme.write_text(readme.read_text(encoding="utf-8").replace(block, made), encoding="utf-8")
    assert made == block or WRITE


def _steady(output: str) -> str:
    return re.sub(r"\b\d+\.\d s\b", "1.2 s", output)


PIPES = [body for body in SHELL if body not in SET_UP]


@pytest.mark.parametrize("block", PIPES, ids=lambda body: body.splitlines()[0][:60])
def test_a_pipeline_carries_the_context(shell, block) -> None:
    assert "skill:merge-pdfs" in shell(block)


def test_the_hook_adds_the_context_of_a_prompt(shell, tmp_path) -> None:
    (settings,) = [json.loads(body) for language, body in BLOCKS if language == "json"]
    command = settings["hooks"]["UserPromptSubmit"][0]["hooks"][0]["command"]
    if not shutil.which("jq"):
        stand_in = f"#!{sys.executable}\nimport json, sys\nprint(json.load(sys.stdin)['prompt'])\n"
        (tmp_path / "bin" / "jq").write_text(stand_in)
        (tmp_path / "bin" / "jq").chmod(0o755)
    assert "skill:merge-pdfs" in shell(
        f"""echo '{{"prompt": "merge these PDF files"}}' | {command}"""
    )


def test_the_manifest_is_valid_and_found(capdisc, hermetic, monkeypatch) -> None:
    (manifest,) = [body for language, body in BLOCKS if language == "yaml"]
    name = yaml.safe_load(manifest)["name"]
    path = hermetic / "caps" / name / "CAPABILITY.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(manifest)
    monkeypatch.setenv("CAPDISC_INDEX_DIR", str(hermetic / "index"))
    assert capdisc("validate", str(path), "--strict").out == ""
    assert capdisc("index", "caps").code == 0
    assert capdisc("search", "book a room for Tuesday", "--ids").out == f"tool:{name}\n"


def test_the_sources_of_the_configuration_are_read(capdisc, hermetic, monkeypatch) -> None:
    (settings,) = [body for language, body in BLOCKS if language == "toml"]
    (hermetic / "capdisc.toml").write_text(settings)
    (hermetic / "handbook").mkdir()
    (hermetic / "handbook" / "leave.md").write_text(
        "# Leave\n\n## Sick days\n\nCall before nine o'clock.\n"
    )
    (hermetic / "exports").mkdir()
    (hermetic / "exports" / "orders.csv").write_text("order,customer\n1,Ann\n2,Bo\n")
    (hermetic / ".mcp.json").write_text('{"mcpServers": {}}')
    monkeypatch.setenv("CAPDISC_INDEX_DIR", str(hermetic / "index"))
    assert capdisc("index").code == 0
    kinds = {each["kind"] for each in capdisc("list", "--json").json["capabilities"]}
    assert kinds >= {"document", "section", "table"}


def test_there_are_exactly_two_set_up_commands(shell) -> None:
    commands = re.findall(r"```sh\n(.*?)```", SET_UP, re.S)
    assert len(commands) == 2
    # CI runs the second as printed, and the first installs before it runs: what is left of it is run here.
    rest = commands[0].split("&&", 2)[2].replace(".venv/bin/", "")
    assert "tool:send-invoice" in shell(rest)


def test_every_block_is_of_a_kind_that_is_tested() -> None:
    assert {language for language, _ in BLOCKS} <= {"sh", "console", "json", "toml", "yaml"}


def test_every_command_is_in_the_table() -> None:
    from capdisc.args.command_table import COMMANDS

    table = README.split("## Commands", 1)[1].split("\n## ", 1)[0]
    for command in COMMANDS:
        assert f"`{command}" in table, command
