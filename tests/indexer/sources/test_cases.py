"""Every case of the folder `cases`: files, and what loading or scanning them gives, line by line.

A case begins with `==== TITLE`, each of its sections with `---- NAME`. A section is a file in the
folder that is scanned (`PATH`, `PATH (ENCODING)`, `PATH -> TARGET` for a link, `PATH <- FIXTURE`), `each`:
values for `{}` in the files, one a line, `roots`, `declared`: FORMAT PATH and a declaration's fields in
JSON, or `gives`: what must come. `⟪TEXT*N⟫` is a text N times, with its escapes. CAPDISC_WRITE_GOLDEN=1
writes `gives` again.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

import pytest

from capdisc_indexer.model.errors import InputError
from capdisc_indexer.model.frozen import asdict, defaults, shallow_dict
from capdisc_indexer.model.types import DeclaredSource, Descriptor, Finding
from capdisc_indexer.sources.format_table import SOURCES
from capdisc_indexer.sources.readers.file_bytes import read_bytes
from capdisc_indexer.sources.scan.file_scan import scan_roots
from capdisc_indexer.validation.content_rules import check_content

CASES = Path(__file__).parent / "cases"
FIXTURES = Path(__file__).parents[3] / "fixtures" / "sources"
WRITE = bool(os.environ.get("CAPDISC_WRITE_GOLDEN"))
MOST_LINES = 40  # of one value
Case: TypeAlias = dict[str, str]


def read_cases(path: Path) -> dict[str, Case]:
    cases = {}
    for text in re.split(r"^==== ", path.read_text(), flags=re.MULTILINE)[1:]:
        title, *sections = re.split(r"^---- ", text, flags=re.MULTILINE)
        cases[title.strip()] = {
            name: body for name, _, body in (section.partition("\n") for section in sections)
        }
    return cases


def expand(text: str) -> str:
    def repeat(match: re.Match[str]) -> str:
        return match[1].encode().decode("unicode_escape") * int(match[2] or 1)

    return re.sub(r"⟪(.+?)(?:\*(\d+))?⟫", repeat, text)


def shorten(text: str) -> str:
    """The text on one line, which a reader can take in."""
    runs = re.sub(r"(.+?)\1{30,}", lambda run: f"⟪{run[1]}*{len(run[0]) // len(run[1])}⟫", text)
    line = "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in runs)
    return line if len(line) <= 300 else f"{line[:200]}… {len(text)} characters"


def write_file(folder: Path, header: str, text: str) -> None:
    path, _, target = header.partition(" -> ")
    path, _, fixture = path.partition(" <- ")
    path, _, encoding = path.partition(" (")
    place = folder / expand(path)
    place.parent.mkdir(parents=True, exist_ok=True)
    if target:
        place.symlink_to(target)
    elif fixture:
        shutil.copy(FIXTURES / fixture, place)
    elif path.endswith("/"):
        place.mkdir()
    else:
        place.write_bytes(expand(text).encode(encoding.strip(")") or "utf-8", "surrogatepass"))


def describe(descriptor: Descriptor) -> Iterator[str]:
    known = defaults(Descriptor) | {"extra": {}, "overlay": {}}
    yield f"{descriptor.id} {descriptor.source.pointer}".strip()
    for name, value in shallow_dict(descriptor).items():
        is_told = name in ("id", "source") or descriptor.id == f"{descriptor.kind}:{value}"
        if not is_told and name != "kind" and value != known.get(name):
            plain = (
                value
                if isinstance(value, str)
                else json.dumps(value, ensure_ascii=False, default=asdict)
            )
            yield f"  {name}: {shorten(plain)}"


def outcome(folder: Path, case: Case, value: str, is_scan: bool) -> Iterator[str]:
    declared = [
        DeclaredSource(
            format=words[0], path=str(folder / words[1]), **json.loads(" ".join(words[2:]) or "{}")
        )
        for words in map(str.split, case.get("declared", "").replace("{}", value).splitlines())
    ]
    roots = [folder / root for root in case.get("roots", "" if declared else ".").split()]
    try:
        result = scan_roots(roots, declared)
    except InputError as error:
        yield f"refused: {error.message} | {error.hint}"
        return
    findings = list(result.findings)
    for file in result.files:
        if is_scan:
            beside = "".join(f" + {Path(companion.path).name}" for companion in file.companions)
            yield f"{file.root_order} {shorten(file.relative)} {file.format}{beside}"
            findings += file.lost
            continue
        data = read_bytes(file, SOURCES[file.format].limit_bytes)
        if isinstance(data, Finding):
            findings.append(data)
            continue
        loaded = check_content(file, SOURCES[file.format].load(file, data))
        findings += loaded.findings
        for descriptor in loaded.descriptors:
            yield from describe(descriptor)
        yield from (f"overlay {json.dumps(asdict(each))}" for each in loaded.overlays)
    for finding in findings:
        place = f"{finding.path}:{finding.line}:{finding.column}".removeprefix(f"{folder}/")
        if finding.code.endswith("-syntax"):  # the words are those of the parser, one of two
            place, told = place.rpartition(":")[0], ""
        else:
            told = f": {finding.message} | {finding.hint}"
        yield f"{finding.severity}[{finding.code}] {place}{told}"


@pytest.mark.parametrize(
    ("path", "title"),
    [
        pytest.param(path, title, id=f"{path.stem}: {title}")
        for path in sorted(CASES.iterdir())
        for title in read_cases(path)
    ],
)
def test_a_case_gives_what_it_says(tmp_path: Path, path: Path, title: str) -> None:
    case = read_cases(path)[title]
    lines = []
    values = case.get("each", "").splitlines() or [""]
    for number, value in enumerate(values):
        folder = tmp_path / str(number) / "all"
        folder.mkdir(parents=True)
        for header, text in case.items():
            if header not in ("each", "gives", "roots", "declared"):
                write_file(folder, header, text.replace("{}", value))
        lines += [f"[{value}]"] if len(values) > 1 else []
        given = list(outcome(folder, case, value, "scan" in path.stem))
        if len(given) > MOST_LINES:
            given[3:-3] = [f"… {len(given) - 6} more lines"]
        lines += [
            line
            if line.startswith("  ")
            else shorten(line.replace(f"{folder}", "").replace(f"{folder.parent}", "/.."))
            for line in given
        ]
    result = "".join(f"{line}\n" for line in lines)
    if WRITE:
        before = path.read_text()
        place = before.index("---- gives\n", before.index(f"==== {title}\n")) + len("---- gives\n")
        path.write_text(before[:place] + result + before[place + len(case["gives"]) :])
    else:
        assert result == case["gives"]
