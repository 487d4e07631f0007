"""Surroundings for tests and transcripts of the terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

from capdisc.context import background_build
from capdisc_indexer.indexing.pipeline import build_index
from capdisc_indexer.model.types import BuildOptions


@pytest.fixture
def no_clients(monkeypatch: pytest.MonkeyPatch, hermetic: Path) -> Path:
    """No client of this machine, and a project in the current folder."""
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "OPENCODE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    for name in ("COPILOT_HOME", "QWEN_HOME", "VIRTUAL_ENV", "CONDA_PREFIX"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    (hermetic / ".git").mkdir()
    # The first command of a process writes what other distributions add there, whichever test that is.
    monkeypatch.setenv("XDG_CACHE_HOME", str(hermetic.parent / "cache"))
    return hermetic


@pytest.fixture
def no_refresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing brings an index up to date in the background."""
    monkeypatch.setattr(background_build, "start_refresh", lambda *_: None)


@pytest.fixture
def home(hermetic: Path) -> Path:
    return hermetic.parent / "home"


@pytest.fixture
def clone(hermetic: Path, write_skill) -> Path:
    """A workspace with a skill of its own and a text, and a folder beside it with a skill and a text
    that only the user should name.
    """
    (hermetic / ".git").mkdir()
    write_skill(hermetic / ".claude" / "skills", "fold", "Folds paper cranes. Use when asked.")
    write_skill(hermetic.parent / "outside", "private", "Keeps the Kanarienvogel. Use when asked.")
    for path, text in {
        hermetic / "docs" / "guide.md": "# Guide\n\nCranes have two wings.\n",
        hermetic.parent / "outside" / "notes.md": "# Notes\n\nThe Kanarienvogel sings at noon.\n",
    }.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return hermetic


@pytest.fixture
def shipped(clone: Path, write_skill) -> Path:
    """An index that came with the clone: it calls a folder outside its root."""
    outside = clone.parent / "outside"
    path = write_skill(
        outside, "lead", "Leads out. Use when asked.", "See [the notes](secret.md)."
    )
    (path.parent / "secret.md").write_text("The Kanarienvogel sings at noon.\n")
    build_index([outside], clone / "shipped", BuildOptions())
    (clone / "capdisc.toml").write_text('index_dir = "shipped"\n')
    return clone / "shipped"


@pytest.fixture
def agents(capdisc, hermetic: Path, home: Path, write_skill) -> Path:
    """AGENTS.md of a project with a skill for two clients and a tool, and a user with a skill."""
    for folder in (".claude/skills", ".agents/skills"):
        write_skill(hermetic / folder, "merge-pdfs", "Merges PDF files. Use when asked to.", "Do.")
    tool = hermetic / ".capdisc" / "capabilities" / "sql" / "CAPABILITY.yaml"
    tool.parent.mkdir(parents=True)
    tool.write_text("name: run-sql\nkind: tool\ndescription: Runs a query.\n")
    write_skill(home / ".claude" / "skills", "my-notes", "Takes notes. Use when asked.", "Do.")
    assert capdisc("index").code == 0
    return hermetic / "AGENTS.md"
