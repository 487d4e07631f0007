"""The story of each design, as the page about them has it: typed line by line in a shell."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from designs.conftest import copy_design

PAGE = Path(__file__).resolve().parents[2] / "docs" / "internals" / "five-designs.md"
# The first word of each paragraph with a script below it, and the folder of its workspace.
FOLDERS = {
    "constat": "constat", "Teradata": "teradata", "AgentOS": "agentos", "PB": "pbj", "Dynamic": "cms",
}  # fmt: skip
STORIES = {
    FOLDERS[word]: (script.splitlines(), int(here), int(there or 0))
    for word, here, there, script in re.findall(
        r"^\*\*(\w+).*?\b(\d+) keystrokes(?:,\s+(\d+)\s+in\s+the\s+design)?.*?^```sh\n(.*?)^```",
        PAGE.read_text(encoding="utf-8"),
        re.M | re.S,
    )
}
WITH_SETTINGS = ("teradata",)
Tell = Callable[[str], list[str]]


@pytest.fixture
def tell(hermetic, tmp_path) -> Tell:
    """Type the script of a design in a copy of its workspace; returns what each line prints."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "capdisc").write_text(f'#!/bin/sh\nexec {sys.executable} -m capdisc "$@"\n')
    (programs / "capdisc").chmod(0o755)
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}

    def run_script(name: str) -> list[str]:
        workspace = copy_design(name, hermetic)
        (workspace / ".git").mkdir()  # which makes it a workspace
        if name not in WITH_SETTINGS:
            (workspace / "capdisc.toml").unlink(missing_ok=True)
        printed = []
        for line in STORIES[name][0]:
            if line == "capdisc watch":
                printed.append(_watch(workspace, environment))
                continue
            done = subprocess.run(
                ["bash", "-o", "pipefail", "-c", line], cwd=workspace, env=environment,
                stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
            )  # fmt: skip
            assert done.returncode == 0, (line, done.stderr)
            printed.append(done.stdout)
        return printed

    return run_script


def _watch(workspace: Path, environment: dict[str, str]) -> str:
    """What `watch` prints first, for a manifest that was written before it began."""
    folder = workspace / ".wunderland" / "capabilities" / "fold-crane"
    folder.mkdir()
    (folder / "CAPABILITY.yaml").write_text("kind: tool\nname: fold-crane\ndescription: Folds.\n")
    with subprocess.Popen(
        ["capdisc", "watch"], cwd=workspace, env=environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        assert process.stdout
        line = process.stdout.readline()
        process.terminate()
    return line


@pytest.mark.parametrize("name", FOLDERS.values())
def test_the_keystrokes_of_a_story_are_counted(name) -> None:
    """Those of all lines but the first, which stands for the set-up that no design counts."""
    lines, here, there = STORIES[name]
    assert sum(map(len, lines[1:])) == here
    assert here < there or name == "cms"


def test_vip_spending(tell) -> None:
    """Without a settings file: the fact, the tables that fit, and their columns (S41, S21, S20)."""
    _, fact, tables, columns = tell("constat")
    assert "A customer with lifetime value exceeding $100,000" in fact
    assert tables.index("table:chinook.invoices") < tables.index("table:chinook.customers")
    assert all(f"  {name} (" in columns for name in ("InvoiceDate", "Total", "FirstName"))


def test_search_read_execute(tell) -> None:
    _, found, full, result = tell("teradata")
    assert "base_tableList" in found.splitlines()[0]
    assert "database_name (string|null): database whose tables are listed" in full
    assert result == '["demo.customers", "demo.orders"]\n'


def test_discover_tools_prompt_and_watch(tell) -> None:
    """Without the ten settings of the fixture, too."""
    _, prompt, tools, change = tell("agentos")
    assert ">>> tool:web-search" in prompt
    assert '"web-search"' in tools
    assert '"cli-executor"' not in tools
    assert "1 added" in change


def test_peanut_butter(tell) -> None:
    """Tables and pages that are named are read, without a settings file."""
    _, catalogue, content, tools, prompt = tell("pbj")
    assert "peanut_butter_compatibility" in catalogue
    assert "oil separates" in content
    assert '"search_content"' in tools
    assert "pages/sandwich_guide.md" in prompt


def test_turn_by_turn(tell) -> None:
    """The second turn knows the entity of the first, and offers the tools of both."""
    _, first, entity, second, tools = tell("cms")
    assert ">>> tool:cms_createPage" in first
    assert "About (p1)" in entity
    assert "- page: About (p1)" in second
    assert "**Section Workflow:**" in second
    assert '"cms_createPage"' in tools
    assert '"cms_addSectionToPage"' in tools
