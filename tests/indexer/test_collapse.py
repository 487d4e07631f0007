"""Near copies are one hit; texts that differ in a word that matters are two."""

import json

from capdisc_indexer import encoders
from capdisc_indexer.indexing.pipeline import build_index
from capdisc_indexer.model.types import BuildOptions, Query
from capdisc_indexer.retrieval.pipeline import search_index
from capdisc_indexer.store.snapshot import Index
from capdisc_indexer.text.embedding_text import are_near_duplicates, decode_signature, signature

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


def test_a_flood_of_near_copies_takes_one_place_and_is_named(hermetic, write_skill) -> None:
    for number in range(20):
        description = (
            f"Converts a temperature from Celsius to Fahrenheit, copy {number}. Use when asked."
        )
        write_skill(hermetic / "skills", f"heat-{number}", description)
    write_skill(
        hermetic / "skills",
        "units",
        "Converts lengths and weights, and a temperature too. Use when asked.",
    )
    ranking = _first(
        hermetic / "skills", hermetic / "index", "convert a temperature from celsius to fahrenheit"
    )
    assert [hit.id for hit in ranking.hits][1:] == ["skill:units"]
    assert len(ranking.hits[0].copies) == 19


def test_a_newer_version_of_a_long_text_is_a_copy() -> None:
    newer = BODY.replace("colours", "colors") + " Then save."
    assert are_near_duplicates(
        decode_signature(signature(BODY)), decode_signature(signature(newer))
    )


def test_texts_of_one_family_are_no_copies() -> None:
    on, off = (
        "Turns on a light or another device of the room",
        "Turns off a light or another device of the room",
    )
    assert not are_near_duplicates(
        decode_signature(signature(on)), decode_signature(signature(off))
    )
    assert not are_near_duplicates(
        decode_signature(signature(BODY)), decode_signature(signature(on))
    )


def test_things_that_differ_by_a_digit_or_a_sign_are_no_copies() -> None:
    for one, two in (
        ("Converts audio to MP3", "Converts audio to MP4"),
        ("Compiles C++ code", "Compiles C# code"),
    ):
        assert not are_near_duplicates(
            decode_signature(signature(one)), decode_signature(signature(two))
        )


def test_capabilities_with_the_same_boilerplate_stay_apart(hermetic, write_skill) -> None:
    for name, does in (
        ("payroll", "Pays the salaries of the month"),
        ("camera", "Records a video of the door"),
    ):
        write_skill(hermetic / "skills", name, f"{does}. Use when asked.", body=BODY * 3)
    ranking = _first(
        hermetic / "skills", hermetic / "index", "pay the salaries and record a video"
    )
    assert {hit.id for hit in ranking.hits} == {"skill:payroll", "skill:camera"}


def test_opposite_names_with_one_description_stay_apart(hermetic, write_skill) -> None:
    for name in ("start-server", "stop-server"):
        write_skill(
            hermetic / "skills", name, "Controls the server of the office. Use when asked."
        )
    ranking = _first(hermetic / "skills", hermetic / "index", "control the server")
    assert {hit.id for hit in ranking.hits} == {"skill:start-server", "skill:stop-server"}


def test_what_only_a_copy_required_goes_with_it(hermetic) -> None:
    for number in (1, 2):
        folder = hermetic / "tools" / f"deploy-{number}"
        folder.mkdir(parents=True)
        text = f"name: deploy-{number}\nkind: tool\ndescription: Deploys the site to the farm.\n"
        (folder / "CAPABILITY.yaml").write_text(f"{text}requires: [login-{number}]\n")
        folder = hermetic / "tools" / f"login-{number}"
        folder.mkdir(parents=True)
        word = "Opens a session" if number == 1 else "Asks for a password"
        (folder / "CAPABILITY.yaml").write_text(
            f"name: login-{number}\nkind: tool\ndescription: {word} there.\n"
        )
    ranking = _first(hermetic / "tools", hermetic / "index", "deploy the site")
    first = ranking.hits[0]
    assert first.copies
    vias = {hit.via for hit in ranking.hits if hit.via}
    assert vias == {first.id}


def test_texts_without_words_are_copies_of_nothing() -> None:
    assert signature("42 !") == ""
    assert signature("word") == ""


def test_what_a_hit_requires_stays_even_as_a_copy(hermetic) -> None:
    for name, needs in (("everybody", "requires: [sender]"), ("sender", "")):
        folder = hermetic / "tools" / name
        folder.mkdir(parents=True)
        (folder / "CAPABILITY.yaml").write_text(
            f"name: {name}\nkind: tool\ndescription: Sends the monthly report to everybody.\n{needs}\n"
        )
    ranking = _first(hermetic / "tools", hermetic / "index", "everybody gets the monthly report")
    assert {hit.id for hit in ranking.hits} == {"tool:everybody", "tool:sender"}


def test_a_renamed_copy_takes_no_place_of_its_own(hermetic, write_skill) -> None:
    description = "Converts a temperature from Celsius to Fahrenheit. Use when asked."
    for name in ("heat", "heat-official"):
        write_skill(hermetic / "skills", name, description, BODY)
    ranking = _first(hermetic / "skills", hermetic / "index", "convert a temperature")
    assert [hit.id for hit in ranking.hits] == ["skill:heat"]
    assert ranking.hits[0].copies == ("skill:heat-official",)


def test_rewritten_versions_of_one_name_are_one_hit(hermetic, write_skill) -> None:
    for folder, name, description in (
        ("a", "pdf", "Extracts text and tables of PDF files, and merges or splits PDFs."),
        (
            "b",
            "pdf",
            "PDF toolkit: merging, splitting, tables, forms. Use when PDF files come up.",
        ),
        ("c", "pdf-official", "Anything with PDF files: read their text or tables, merge, split."),
        ("d", "pdf-forms", "Fills the fields of PDF forms, one by one, and flattens them."),
    ):
        body = f"{name} of {folder}. " + " ".join(
            f"{folder}{n} word{n}{folder}" for n in range(80)
        )
        write_skill(hermetic / "skills" / folder, name, description, body=body)
    ranking = _first(hermetic / "skills", hermetic / "index", "merge PDF files and read tables")
    assert sorted(len(hit.copies) for hit in ranking.hits) == [0, 2]
    assert {"skill:pdf-forms"} < {hit.id for hit in ranking.hits}


def test_skills_of_one_name_that_do_another_job_stay_apart(hermetic, write_skill) -> None:
    for folder, description in (
        ("a", "Reviews the tests of a browser and says which of them are flaky."),
        ("b", "Analyses memories for promotion candidates, stale entries and health."),
    ):
        body = " ".join(f"{folder}{n} word{n}{folder}" for n in range(80))
        write_skill(hermetic / "skills" / folder, "review", description, body=body)
    ranking = _first(hermetic / "skills", hermetic / "index", "review tests or memory entries")
    assert [hit.copies for hit in ranking.hits] == [(), ()]


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
