"""An index of a few capabilities for the commands."""

from pathlib import Path

import pytest


@pytest.fixture
def index_dir(hermetic, monkeypatch) -> Path:
    monkeypatch.setenv("CAPDISC_INDEX_DIR", str(hermetic / "index"))
    return hermetic / "index"


@pytest.fixture
def catalogue(hermetic, index_dir, capdisc, write_skill):
    """A skill and two tools, indexed; what it gives adds a tool and indexes again."""
    write_skill(
        hermetic / "tools", "merge-pdfs", "Merges PDF files into one. Use when asked to join PDFs."
    )

    def add(name: str, fields: str = "") -> None:
        path = hermetic / "tools" / name / "CAPABILITY.yaml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"name: {name}\nkind: tool\ndescription: Says {name}.\n{fields}")
        assert capdisc("index", "tools").code == 0

    add("say-hello", "run: {command: [echo, hello]}\n")
    return add
