"""Rules as files: the input, and beside it what `capdisc validate` says about it.

A `.case` file holds what it shows, files after `-- PATH --`, and after `-- transcript --` command lines with what they
print and their exit status. `just golden` writes the transcripts again. `texts.toml` has single texts and the
codes of their findings.
"""

from __future__ import annotations

import os
import re
import shlex
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from capdisc_indexer.model.version import __version__
from case_files import expand, write_files

HERE = Path(__file__).parent
CASES = sorted(HERE.glob("*.case"))
TEXTS: dict[str, dict[str, list[str]]] = tomllib.loads((HERE / "texts.toml").read_text("utf-8"))
TRANSCRIPT = "-- transcript --\n"
WRITE = bool(os.environ.get("CAPDISC_WRITE_GOLDEN"))
# A file that holds the text as each section of texts.toml says.
PLACES = {
    "body": ("SKILL.md", "---\nname: {0}\ndescription: Sorts issues. Use when many.\n---\n{1}\n"),
    "field": ("CAPABILITY.yaml", "name: {0}\nkind: tool\ndescription: |\n  {1}\n"),
    "description": ("CAPABILITY.yaml", "name: {0}\nkind: tool\ndescription: {1}\n"),
}


@pytest.mark.golden
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_a_case_prints_what_stands_beside_it(
    capdisc: Callable[..., Any], hermetic: Path, case: Path
) -> None:
    inputs, _, expected = case.read_text("utf-8").partition(TRANSCRIPT)
    write_files(inputs, hermetic)
    printed = ""
    for command in re.findall(r"^\$ (.+)$", expected, re.MULTILINE):
        done = capdisc(*shlex.split(command)[1:])
        status = f"[{done.code}]\n" if done.code else ""
        printed += f"$ {command}\n{done.out}{done.err}{status}"
    printed = printed.replace(str(hermetic), "WORK").replace(f'"{__version__}"', '"VERSION"')
    if WRITE:
        case.write_text(f"{inputs}{TRANSCRIPT}{printed}", "utf-8")
    assert printed and printed == case.read_text("utf-8").partition(TRANSCRIPT)[2]


@pytest.mark.parametrize("place", TEXTS)
def test_a_text_has_the_findings_that_it_is_listed_under(
    capdisc: Callable[..., Any], hermetic: Path, place: str
) -> None:
    filename, template = PLACES[place]
    rows = [(code, text) for code, texts in TEXTS[place].items() for text in texts]
    for number, (_, text) in enumerate(rows):
        path = hermetic / f"t{number}" / filename
        path.parent.mkdir()
        path.write_text(template.format(path.parent.name, expand(text)), "utf-8")
    found = {text: "" for _, text in rows}
    for finding in capdisc("validate", ".", "--json").json["findings"]:
        if finding["severity"] != "info":
            _, text = rows[int(finding["path"].split("/")[0][1:])]
            found[text] += f", {finding['severity']} {finding['code']}"
    assert {text: codes.removeprefix(", ") for text, codes in found.items()} == {
        text: code for code, text in rows
    }
