"""Commands as they are typed, with what must come of them: each case of transcripts/*.txt.

A case begins with a line `# what it shows`, and goes on with:

    with small              a fixture of conftest.py, such as a catalogue that is indexed
    with person             from here on a person sits at stdin and stderr
    with nobody             from here on nobody does
    env CAPDISC_LOG=1       a variable of the environment
    file caps/list.json     the indented lines below it are the text of this file
    files bakery            the files in bakery.files, next to the transcripts
    skill caps/fold Folds.  a SKILL.md in this folder, with this description
    in ~                    the folder in which the lines are typed
    each client file        the case is typed once for each of the indented lines below, with the
                            words of that line for `<client>` and `<file>`
    $ capdisc search x      a typed line; tests/rows/transcript.py says what may stand below it

`<home>`, `<work>`, `<top>`, `<program>`, `<python>` and `<tests>` stand for the paths of the home
folder, of the folder in which a case begins, of the folder above both, of capdisc, of Python and of
these tests. `CAPDISC_WRITE_GOLDEN=1` writes the exact outputs (`= line`) of all
cases without `each` again.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from textwrap import dedent

import pytest

from capdisc.context import surroundings
from case_files import write_files
from rows.transcript import PROGRAM, type_step

FOLDER = Path(__file__).parent / "transcripts"
FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "sources"
EACH = re.compile(r"^each (.+)\n((?: {4}.+\n)+)", flags=re.M)
IS_WRITING = bool(os.environ.get("CAPDISC_WRITE_GOLDEN"))


@pytest.fixture
def person(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(surroundings, "is_terminal", lambda stream: stream is not sys.stdout)


@pytest.fixture
def nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(surroundings, "is_terminal", lambda stream: False)


def read_cases() -> Iterator[object]:
    for path in sorted(FOLDER.glob("*.txt")):
        for case in re.split(r"^(?=# )", path.read_text(encoding="utf-8"), flags=re.M)[1:]:
            name = f"{path.stem}: {case.splitlines()[0][2:]}"
            if not (each := EACH.search(case)):
                yield pytest.param(path, case, id=name)
                continue
            for line in each[2].splitlines():
                words = dict(zip(each[1].split(), shlex.split(line), strict=True))
                typed = fill_in(case.replace(each[0], ""), words)
                yield pytest.param(path, typed, id=f"{name}: {line.strip()}")


def fill_in(text: str, words: Mapping[str, str]) -> str:
    """The text with the word of each `<name>`."""
    return re.sub(r"<(\w+)>", lambda name: words.get(name[1], name[0]), text)


def write_file(name: str, text: str) -> None:
    path = Path(name).expanduser()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


@pytest.mark.golden
@pytest.mark.parametrize(("path", "case"), list(read_cases()))
def test_what_is_typed_gives_what_is_written(path, case, request, capdisc, monkeypatch) -> None:
    monkeypatch.setenv("FIXTURES", str(FIXTURES))
    folders = {"home": Path.home(), "work": Path.cwd(), "top": Path.cwd().parent}
    folders |= {"tests": FOLDER.parents[1], "python": Path(sys.executable)}
    places = {name: folder.as_posix() for name, folder in folders.items()}
    places["program"] = PROGRAM
    written, before = "", ""
    for part in re.split(
        r"^(?=(?:with|env|files?|skill|in|\$) )", fill_in(case, places), flags=re.M
    ):
        word, _, rest = part.partition(" ")
        line, _, lines = rest.partition("\n")
        if word == "with":
            request.getfixturevalue(line)
        elif word == "env":
            monkeypatch.setenv(*line.split("=", 1))
        elif word == "file":
            write_file(line, f"{dedent(lines).rstrip()}\n")
        elif word == "files":
            write_files((FOLDER / f"{line}.files").read_text(encoding="utf-8"), Path.cwd())
        elif word == "skill":
            folder, _, said = line.partition(" ")
            front = f"name: {Path(folder).name}\ndescription: {said}"
            write_file(f"{folder}/SKILL.md", f"---\n{front}\n---\nDo it.\n")
        elif word == "in":
            monkeypatch.chdir(Path(line).expanduser())
        elif word == "$":
            typed = type_step(part, capdisc, dict(os.environ), before, IS_WRITING)
            if typed.failure:
                pytest.fail(typed.failure, pytrace=False)
            written, before = written + typed.text, typed.out
            continue
        written += part
    if IS_WRITING:
        for name, place in places.items():
            written = written.replace(place, f"<{name}>")
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace(case, written), encoding="utf-8")
