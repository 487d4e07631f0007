"""Near copies are one hit; texts that differ in a word that matters are two."""

import json
from fnmatch import fnmatchcase

import pytest

from capdisc_indexer import encoders
from capdisc_indexer.indexing.pipeline import build_index
from capdisc_indexer.model.types import BuildOptions, Query
from capdisc_indexer.retrieval.pipeline import search_index
from capdisc_indexer.store.snapshot import Index
from capdisc_indexer.text.embedding_text import are_near_duplicates, decode_signature, signature
from case_rows import read_rows

BODY = " ".join(
    f"Step {n}: open the table of {w} and read the column of {w} values."
    for n, w in enumerate(
        "names dates prices weights colours sizes owners places notes totals taxes refunds".split()
    )
)


def _first(folder, index_dir, text):
    build_index([folder], index_dir, BuildOptions())
    with Index(index_dir) as index:
        return search_index(index, Query(texts=(text,)), encoders.load_encoder())


def _words(seed: str) -> str:
    return " ".join(f"{seed}{number} word{number}{seed}" for number in range(80))


ON = "Turns on a light or another device of the room"
HEAT = "Converts a temperature from Celsius to Fahrenheit"


@pytest.mark.parametrize(
    ("one", "other", "are_copies"),
    [
        (BODY, BODY.replace("colours", "colors") + " Then save.", True),
        (ON, ON.replace("on", "off", 1), False),
        (BODY, ON, False),
        ("Converts audio to MP3", "Converts audio to MP4", False),
        ("Compiles C++ code", "Compiles C# code", False),
    ],
)
def test_texts_of_one_family_are_no_copies(one, other, are_copies) -> None:
    signatures = (decode_signature(signature(text)) for text in (one, other))
    assert are_near_duplicates(*signatures) is are_copies


@pytest.mark.parametrize(
    ("skills", "text", "shown"),
    [
        pytest.param(
            [
                *((f"heat-{n}", f"{HEAT}, copy {n}. Use when asked.", "") for n in range(20)),
                ("units", "Converts lengths and weights, and a temperature too.", ""),
            ],
            "convert a temperature from celsius to fahrenheit",
            {"skill:heat-*": 19, "skill:units": 0},
            id="a flood",
        ),
        pytest.param(
            [("heat", f"{HEAT}.", BODY), ("heat-official", f"{HEAT}.", BODY)],
            "convert a temperature",
            {"skill:heat": 1},
            id="renamed",
        ),
        pytest.param(
            [
                ("payroll", "Pays the salaries of the month.", BODY * 3),
                ("camera", "Records a video of the door.", BODY * 3),
            ],
            "pay the salaries and record a video",
            {"skill:payroll": 0, "skill:camera": 0},
            id="the same boilerplate",
        ),
        pytest.param(
            [(f"{verb}-server", "Controls the server.", "") for verb in ("start", "stop")],
            "control the server",
            {"skill:start-server": 0, "skill:stop-server": 0},
            id="opposite names",
        ),
        pytest.param(
            [
                ("a/pdf", "Extracts text and tables of PDF files, and merges or splits PDFs.", ""),
                (
                    "b/pdf",
                    "PDF toolkit: merging, splitting, tables, forms. Use for PDF files.",
                    "",
                ),
                (
                    "c/pdf-official",
                    "Anything with PDF files: read text or tables, merge, split.",
                    "",
                ),
                (
                    "d/pdf-forms",
                    "Fills the fields of PDF forms, one by one, and flattens them.",
                    "",
                ),
            ],
            "merge PDF files and read tables",
            {"skill:pdf-forms": 0, "skill:pdf*": 2},
            id="rewritten versions of one name",
        ),
        pytest.param(
            [
                ("a/review", "Reviews the tests of a browser and says which are flaky.", ""),
                ("b/review", "Analyses memories for stale entries and health.", ""),
            ],
            "review tests or memory entries",
            {"skill:review": 0, "skill:review@b": 0},
            id="one name, two jobs",
        ),
    ],
)
def test_copies_take_one_place_and_are_named(hermetic, write_skill, skills, text, shown) -> None:
    for path, description, body in skills:
        folder, _, name = path.rpartition("/")
        write_skill(hermetic / "skills" / folder, name, description, body or _words(name + folder))
    hits = _first(hermetic / "skills", hermetic / "index", text).hits
    for pattern, count in shown.items():
        assert count in [len(hit.copies) for hit in hits if fnmatchcase(hit.id, pattern)]
    assert len(hits) == len(shown)
    assert len({name for hit in hits for name in (hit.id, *hit.copies)}) == len(skills)


@pytest.mark.parametrize(
    ("tools", "text", "needed"),
    read_rows(__file__, "what_the_first_hit_requires_comes_with_it"),
)
def test_what_the_first_hit_requires_comes_with_it(hermetic, tools, text, needed) -> None:
    for name, (description, requires) in tools.items():
        folder = hermetic / "tools" / name
        folder.mkdir(parents=True)
        needs = f"requires: [{requires}]\n" if requires else ""
        (folder / "CAPABILITY.yaml").write_text(
            f"name: {name}\nkind: tool\ndescription: {description}\n{needs}"
        )
    first, *others = _first(hermetic / "tools", hermetic / "index", text).hits
    needs = tools[first.id.removeprefix("tool:")][1]
    assert [hit.id for hit in others] == [f"tool:{needs}"] * needed


def test_texts_without_words_are_copies_of_nothing() -> None:
    assert signature("42 !") == ""
    assert signature("word") == ""


def _write_server(folder, name, verbs):
    tools = [
        {
            "name": f"{verb}_{thing}",
            "description": f"{verb.title()}s an issue of a project: {thing}.",
        }
        for verb, thing in verbs
    ]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.tools.json").write_text(json.dumps(tools))


def test_one_server_leaves_room_for_others_that_fit_as_well(hermetic) -> None:
    things = "bug story task epic spike chore".split()
    _write_server(hermetic / "tools", "large", [("create", thing) for thing in things])
    _write_server(hermetic / "tools", "small", [("create", "ticket"), ("create", "defect")])
    ranking = _first(hermetic / "tools", hermetic / "index", "create an issue of a project")
    servers = [hit.id.partition(".")[0] for hit in ranking.hits[:5]]
    assert sorted(servers) == ["tool:large"] * 3 + ["tool:small"] * 2
    scores = [hit.score for hit in ranking.hits]
    assert scores == sorted(scores, reverse=True)


def test_a_server_that_alone_fits_may_have_all_first_places(hermetic) -> None:
    things = "bug story task epic spike chore".split()
    _write_server(hermetic / "tools", "large", [("create", thing) for thing in things])
    _write_server(hermetic / "tools", "small", [("delete", "photo"), ("print", "invoice")])
    ranking = _first(hermetic / "tools", hermetic / "index", "create a bug story task epic issue")
    assert [hit.id.partition(".")[0] for hit in ranking.hits[:5]] == ["tool:large"] * 5
