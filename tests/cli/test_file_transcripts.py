"""What is typed about files, links, sources and secrets, and what must come: the transcripts next to
this file, in the form of `tests/rows/transcript.py`.

`files` are written first; the text of a SKILL.md of one line is its description.
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

import pytest

from rows.conftest import run_line
from rows.transcript import find_failure

__all__ = ["run_line"]
FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "sources"
TRANSCRIPTS = [
    pytest.param(case, id=f"{path.stem}: {name}")
    for path in sorted(Path(__file__).with_name("transcripts").glob("*.toml"))
    for name, case in tomllib.loads(path.read_text("utf-8")).items()
]


@pytest.mark.parametrize("case", TRANSCRIPTS)
def test_what_is_typed_gives_what_the_transcript_says(
    case, hermetic, run_line, monkeypatch
) -> None:
    if "in_home" in case:
        monkeypatch.chdir(Path.home())
    for name, text in case.get("files", {}).items():
        path = hermetic / Path(name).expanduser()
        path.parent.mkdir(parents=True, exist_ok=True)
        is_skill = path.name == "SKILL.md" and "\n" not in text
        front = f"---\nname: {path.parent.name}\ndescription: {text}\n---\nDo it.\n"
        path.write_text(front if is_skill else text, encoding="utf-8")
    failure = find_failure(case["typed"], run_line, {**os.environ, "FIXTURES": str(FIXTURES)})
    if failure:
        pytest.fail(failure, pytrace=False)
