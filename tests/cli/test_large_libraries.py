"""Libraries too large for a command to keep in memory."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from adopting import adopt

from capdisc.output import console
from capdisc.render import relevant_capabilities
from capdisc.validate.finding_formats import FORMATS, Report, find_format
from capdisc_indexer.indexing.pipeline import build_index
from capdisc_indexer.model.types import BuildOptions, Query
from capdisc_indexer.rendering import summaries
from capdisc_indexer.store import documents
from capdisc_indexer.store.columns import is_told_by_columns
from capdisc_indexer.store.snapshot import Index
from capdisc_indexer.validation.validate import CheckedFile, validate_roots
from peak_memory import peak_kib

REPOSITORY = Path(__file__).resolve().parents[2]
RECIPE, FIXTURES = REPOSITORY / "tools" / "bench" / "skill_library.py", REPOSITORY / "fixtures"
SKILLS, BODY_KIB = 320, 64
_ROWS = "Sort the rows, and say which of them are new.\n"
_BODY = _ROWS * (BODY_KIB * 1024 // len(_ROWS))


def _write_library(folder: Path, count: int) -> Path:
    for number in range(count):
        place = folder / f"skill-{number:04d}"
        place.mkdir(parents=True)
        front = f"---\nname: skill-{number:04d}\ndescription: Sorts table {number}. Use for tables.\nvexing: 1\n---\n"
        (place / "SKILL.md").write_text(front + _BODY)
    return folder


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A library of few skills and one of many, with bodies of 64 KiB."""
    folder = tmp_path_factory.mktemp("libraries")
    return _write_library(folder / "few", 20), _write_library(folder / "many", SKILLS)


@pytest.fixture(scope="module")
def built_indexes(
    libraries: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Path]:
    """Their indexes, which no state remembers yet."""
    folders = []
    for library in libraries:
        folders.append(tmp_path_factory.mktemp("index") / library.name)
        build_index([library], folders[-1], BuildOptions())
    return folders[0], folders[1]


@pytest.fixture
def indexes(built_indexes: tuple[Path, Path], hermetic: Path) -> tuple[Path, Path]:
    """Their indexes, as this user's own."""
    few, many = built_indexes
    return adopt(few), adopt(many)


@pytest.mark.skipif(sys.platform != "linux", reason="memory is measured as Linux counts it")
@pytest.mark.parametrize("words", [("--format", "full"), ("--fix",)])
def test_validate_keeps_no_text_of_the_files_it_has_checked(libraries, words) -> None:
    few, many = (peak_kib(["validate", str(library), *words]) for library in libraries)
    assert many - few < SKILLS * BODY_KIB / 3


@pytest.mark.skipif(sys.platform != "linux", reason="memory is measured as Linux counts it")
def test_a_context_of_summaries_reads_no_bodies(indexes) -> None:
    words = ("render", "--format", "skills-xml", "--budget", "500")
    few, many = (peak_kib(words, {"CAPDISC_INDEX_DIR": str(index)}) for index in indexes)
    # Only the large index has files that OpenSSL digests, which takes 3 MiB by itself.
    assert many - few < SKILLS * BODY_KIB * 2 / 3


@pytest.mark.parametrize("words", [
    ("render", "--format", "skills-xml"), ("render", "zzqx wvvk", "--on-empty", "all"),
    ("render", "zzqx wvvk", "--on-empty", "all", "--json"),
])  # fmt: skip
def test_a_context_without_an_answer_reads_little_more_than_fits(
    indexes, capdisc, monkeypatch, words
) -> None:
    decoded = _count_heads(monkeypatch)
    monkeypatch.setattr(summaries, "_MAX_MISSES", 20)
    monkeypatch.setattr(relevant_capabilities, "_BATCH_SIZE", 16)
    monkeypatch.setenv("CAPDISC_INDEX_DIR", str(indexes[1]))
    made = capdisc(*words, "--budget", "500")
    if "--json" in words:
        shown = len(made.json["tiers"][1]["blocks"])
        assert shown + made.json["tiers"][1]["left_out_count"] == SKILLS
    else:
        mark = (
            "<name>\n" if "skills-xml" in words else "skill:"
        )  # names alone stand in the overview
        shown = len(set(re.findall(mark + r"skill-\d{4}\b", made.out)))
    assert made.code == 0 and 2 <= shown <= len(decoded) < SKILLS
    named, more = re.findall(r"left out to fit: (.*) and ([\d,]+) more", made.err)[0]
    assert shown + named.count("tokens)") + int(more) == SKILLS


def test_heads_are_read_as_they_are_asked_for(indexes, monkeypatch) -> None:
    decoded = _count_heads(monkeypatch)
    monkeypatch.setattr(documents, "_BATCH_SIZE", 50)
    with Index(indexes[1]) as index:
        first = next(index.heads())
    assert first["id"] == "skill:skill-0000" and len(decoded) == 50


def test_a_long_list_lets_go_of_what_it_has_printed(indexes, capdisc, monkeypatch) -> None:
    monkeypatch.setenv("CAPDISC_INDEX_DIR", str(indexes[1]))
    before = capdisc("list", "--json")
    opened: list[object] = []
    open_again = documents.open_searcher
    monkeypatch.setattr(
        documents, "open_searcher", lambda *given: opened.append(given) or open_again(*given)
    )
    monkeypatch.setattr(documents, "_BATCH_SIZE", 50)
    monkeypatch.setattr(documents, "_REOPEN_AFTER", 100)
    assert capdisc("list", "--json") == before and len(opened) == 4
    assert len(before.json["capabilities"]) == SKILLS


def _count_heads(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    decoded: list[object] = []
    decode = documents.decode_header
    monkeypatch.setattr(
        documents, "decode_header", lambda document: decoded.append(document) or decode(document)
    )
    return decoded


def test_costs_are_those_that_the_build_counted(indexes) -> None:
    script = (
        "import sys; from capdisc.args import command_table; command_table.run_command(['list', '--cost']);"
        "sys.exit(3 if {'rs_bpe', 'toktok'} & set(sys.modules) else 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "CAPDISC_INDEX_DIR": str(indexes[0])},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0 and b"all 20 in full" in done.stdout


def test_costs_are_those_of_the_whole_text(small, capdisc) -> None:
    from capdisc_indexer.lazy_imports import load_token_counter
    from capdisc_indexer.rendering.capability_text import detail_text

    count = load_token_counter()
    with Index(small) as index:
        heads = list(index.heads())
        tokens = {head["id"]: count(detail_text(index.full_descriptor(head))) for head in heads}
        listing = sum(count(f"{head['name']}: {head['description']}\n") for head in heads)
    said = capdisc("list", "--cost", "--json").json
    assert {row["id"]: row["tokens"] for row in said["each"]} == tokens
    assert (said["total"], said["listing"]) == (sum(tokens.values()), listing)


@pytest.mark.parametrize("query", [
    Query(texts=()), Query(texts=(), kinds=("Tool",)), Query(texts=(), categories=("general", "BILLING")),
    Query(texts=(), max_risk="low"), Query(texts=(), exclude=("send-invoice",)),
])  # fmt: skip
def test_heads_one_after_the_other_are_those_of_a_search_for_all(small, query) -> None:
    with Index(small) as index:
        assert list(index.heads(query)) == list(index.documents.all_headers(query))
        if is_told_by_columns(query):
            ids = [index.columns.ids[place] for place in index.columns.matching(query)]
            assert ids == [head["id"] for head in index.heads(query)]


def make_library(folder: Path, count: int, *words: str, corpus: str = str(FIXTURES)) -> Path:
    """Skills made by the recipe of large libraries, with all that is wrong with real ones."""
    subprocess.run([sys.executable, RECIPE, corpus, str(count), folder, *words], check=True)
    return folder


def contents(folder: Path) -> dict[Path, bytes]:
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("SKILL.md")}


@pytest.fixture
def library(tmp_path: Path) -> Path:
    return make_library(tmp_path / "library", 240, "--seed", "3")


def test_the_recipe_of_large_libraries_makes_the_same_files_each_time(library, tmp_path) -> None:
    first = contents(library)
    assert len(first) == 240 and len(set(first.values())) < 240
    half = contents(make_library(tmp_path / "half", 120, "--seed", "3"))
    assert half.items() <= first.items() and len(half) == 120


def test_the_recipe_makes_short_bodies_in_folders_of_few_entries(tmp_path, capdisc) -> None:
    short = make_library(tmp_path / "short", 120, "--body-tokens", "200", corpus="no-corpus")
    files = contents(short)
    assert len(files) == 120 and max(map(len, files.values())) < 4_000
    folders = [short, *(path for path in short.rglob("*") if path.is_dir())]
    assert max(len(list(folder.iterdir())) for folder in folders) <= 40
    assert len(set(files.values())) > 100
    assert capdisc("validate", str(short), "--format", "json").json["files"] == 120


def test_findings_do_not_depend_on_who_looks_at_which_file_when(library) -> None:
    def shuffled(work: Callable[..., CheckedFile], files: Sequence[object]) -> list[CheckedFile]:
        order = list(range(len(files)))
        random.Random(5).shuffle(order)
        done = {place: work(files[place]) for place in order}
        return [done[place] for place in range(len(files))]

    one, other = validate_roots([library]), validate_roots([library], map_files=shuffled)
    assert one.chosen == other.chosen and len(one.chosen.findings) > 200
    assert {"duplicate-id", "name-folder-mismatch"} <= {
        finding.code for finding in one.chosen.findings
    }


def test_each_format_is_the_same_in_pieces_as_in_one(library, capdisc) -> None:
    found = validate_roots([library])
    silenced = len(found.chosen.unwanted) + len(found.chosen.commented)
    told = Report(result=found, profile="spec", cwd=Path.cwd())
    findings = list(told.findings)
    printed = {
        name: capdisc("validate", str(library), "--format", name, "--all").out for name in FORMATS
    }
    assert all(
        printed[name] == "".join(find_format(name).pieces(told)).rstrip("\n") + "\n"
        for name in FORMATS
    )
    assert (
        printed["json"]
        == console.format_json_text(
            {
                "schema_version": 1,
                "files": 240,
                "profile": "spec",
                "findings": findings,
                "silenced": silenced,
            }
        )
        + "\n"
    )
    assert printed["json-lines"].splitlines() == [
        console.format_json_text(finding, None) for finding in findings
    ]
    sarif = json.loads(printed["sarif"])
    assert (
        json.loads(console.format_json_text(sarif)) == sarif
        and console.format_json_text(sarif) + "\n" == printed["sarif"]
    )
    assert len(sarif["runs"][0]["results"]) == len(findings)
    for name in ("concise", "github"):
        assert len(printed[name].splitlines()) == len(findings)
    assert len(
        re.findall(r"^\S.*: (?:error|warning|info)\[", printed["full"], re.MULTILINE)
    ) == len(findings)


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("items", [[], [{"a": "[]\n"}], [{"a": 1}, {"findings": []}]])
def test_a_document_in_pieces_is_the_document(indent, items) -> None:
    document = {"said": '"findings": []', "findings": [], "last": {"x": []}}
    pieces = "".join(console.json_pieces(document, "findings", items, indent))
    assert pieces == console.format_json_text({**document, "findings": items}, indent)


def test_a_long_result_waits_in_a_file_and_comes_out_whole(library, capdisc, monkeypatch) -> None:
    short = capdisc("validate", str(library), "--format", "json-lines")
    monkeypatch.setattr(console, "_IN_MEMORY_BYTES", 1_000)
    assert capdisc("validate", str(library), "--format", "json-lines") == short
    assert (
        capdisc("validate", str(library), "--output", "found.jsonl", "--format", "json-lines").out
        == ""
    )
    assert Path("found.jsonl").read_text() == short.out


def test_without_room_for_a_long_result_nothing_is_printed(
    library, capdisc, monkeypatch, tmp_path
) -> None:
    monkeypatch.setattr(console, "_IN_MEMORY_BYTES", 1_000)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    made = capdisc("validate", str(library), "--all")
    assert (made.code, made.out) == (2, "")
    assert "error: the result is too long to keep in memory" in made.err and "TMPDIR" in made.err


def test_a_result_that_cannot_be_finished_is_not_begun(library, capdisc, monkeypatch) -> None:
    from capdisc.validate import finding_formats

    monkeypatch.setattr(
        finding_formats,
        "_concise_line",
        lambda finding: 1 // (finding.code != "duplicate-id") and "x" * 100,
    )
    made = capdisc("validate", str(library), "--format", "concise")
    assert (made.code, made.out) == (70, "")


def test_many_files_are_checked_by_several_processes_as_by_one(tmp_path, process) -> None:
    _write_tiny(tmp_path / "tiny", 1_050)
    words = ("validate", str(tmp_path / "tiny"), "--format", "json-lines")
    several = process(*words)
    (tmp_path / "bin").mkdir()
    alone = subprocess.run(
        [sys.executable, "-c", _ALONE, *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path.cwd(),
    )
    assert (several.code, several.out, several.err) == (
        alone.returncode,
        alone.stdout,
        alone.stderr,
    )
    assert len(several.out.splitlines()) > 1_000
    shutil.rmtree(tmp_path / "tiny")


_ALONE = """
import os, sys
os.sched_setaffinity(0, list(os.sched_getaffinity(0))[:1])
os.execv(sys.executable, [sys.executable, "-m", "capdisc", *sys.argv[1:]])
"""


def _write_tiny(folder: Path, count: int) -> None:
    for number in range(count):
        place = folder / f"{number % 30:02d}" / f"tool-{number}"
        place.mkdir(parents=True)
        text = f"name: tool-{number % 1_000}\nkind: tool\ndescription: Sends mail {number}.\nrequires: [gone]\n"
        (place / "CAPABILITY.yaml").write_text(text)
