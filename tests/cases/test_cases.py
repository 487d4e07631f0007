"""Rules as files: the input, and beside it what `capdisc validate` says about it.

A `.case` file holds what it shows, files after `-- PATH --`, and after `-- transcript --` command lines with what they
print and their exit status. `CAPDISC_WRITE_GOLDEN=1` writes the transcripts again. `texts.toml` has single texts and the
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

HERE = Path(__file__).parent
CASES = sorted(HERE.glob("*.case"))
TEXTS: dict[str, dict[str, list[str]]] = tomllib.loads((HERE / "texts.toml").read_text("utf-8"))
TRANSCRIPT = "-- transcript --\n"
# A file that holds the text as each section of texts.toml says.
PLACES = {
    "body": ("SKILL.md", "---\nname: {0}\ndescription: Sorts issues. Use when many.\n---\n{1}\n"),
    "field": ("CAPABILITY.yaml", "name: {0}\nkind: tool\ndescription: |\n  {1}\n"),
    "description": ("CAPABILITY.yaml", "name: {0}\nkind: tool\ndescription: {1}\n"),
}


def expand(text: str) -> str:
    """The text with `<<ab*3>>` written out, `<<U+200B>>` as that character, and without `<<>>`."""
    text = re.sub(
        r"<<U\+([0-9A-F]+)>>", lambda code: chr(int(code[1], 16)), text.replace("<<>>", "")
    )
    return re.sub(r"<<((?s:.+?))\*(\d+)>>", lambda run: run[1] * int(run[2]), text)


def write_files(text: str, folder: Path) -> None:
    """Write the files of a case."""
    _, *parts = re.split(r"^-- (.+) --\n", text, flags=re.MULTILINE)
    for name, content in zip(parts[::2], parts[1::2], strict=True):
        path = folder / expand(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(expand(content).encode())


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
        printed += f"$ {command}\n{done.out}{done.err}{status}".replace(str(hermetic), "WORK")
    if os.environ.get("CAPDISC_WRITE_GOLDEN"):
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
