"""Whole outputs on the small catalogue. `just golden` writes them anew; read the diff before you commit it."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

HERE = Path(__file__).parent
REPOSITORY = HERE.parent.parent
WRITE = bool(os.environ.get("CAPDISC_WRITE_GOLDEN"))
QUERY = "send the customer an invoice"
CASES = {
    "render.txt": ("render", QUERY, "--budget", "900"),
    "render.md": ("render", QUERY, "--budget", "900", "--format", "markdown"),
    "render.xml": ("render", QUERY, "--budget", "900", "--format", "xml"),
    "render.json": ("render", QUERY, "--budget", "900", "--format", "json"),
    "messages.json": ("render", QUERY, "--budget", "600", "--format", "messages"),
    "split.txt": ("render", QUERY, "--budget", "500", "--split", "both"),
    "styles/tools.txt": ("render", "--style", "tools"),
    "styles/full.txt": ("render", "--style", "full", "--budget", "2500"),
    "styles/minimal.txt": ("render", "--template", "minimal", "--hint", "tool"),
    "styles/planner.txt": ("render", "--template", "planner"),
    "styles/phased.txt": ("render", QUERY, "--template", "phased", "--budget", "700"),
    "skills.xml": ("render", "--format", "skills-xml", "--budget", "5000"),
    "overview.txt": ("render",),
    "show.txt": ("show", "tool:send-invoice"),
    "show.json": ("show", "tool:sales-report", "--json"),
    "list.txt": ("list",),
    "search.txt": ("search", QUERY, "--explain"),
    "broken.txt": ("validate", str(REPOSITORY / "fixtures" / "catalogs" / "broken")),
}


@pytest.mark.golden
@pytest.mark.parametrize("name", CASES)
def test_the_output_is_what_it_was(capdisc, small, name, tmp_path, monkeypatch) -> None:
    # What is missing here is said in the output, so that here must be the same everywhere.
    """The shape of each part and their order are those of the file (S131, S132, S140, S142)."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("capdisc.context.surroundings.today", lambda: "2026-07-31")
    made = capdisc(*CASES[name])
    printed = (made.out + made.err).replace(str(REPOSITORY), "REPOSITORY")
    # Each version of Python has its own words for broken JSON, and its own idea of the column.
    printed = re.sub(
        r"schema.json:4:\d+: (.*)not JSON: .*", r"schema.json:4:…: \1not JSON: …", printed
    )
    printed = re.sub(r"(schema.json:4:…: .*\n  \| .*\n  \| ) *\^", r"\1^", printed)
    if "--json" in CASES[name]:  # one line in a pipe; indented, a change of it can be read
        printed = json.dumps(json.loads(printed), indent=2, ensure_ascii=False) + "\n"
    path = HERE / name
    if WRITE:
        path.write_text(printed, encoding="utf-8")
    assert printed == path.read_text(encoding="utf-8")
