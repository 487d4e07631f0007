"""Of several skills that a request fits about equally, the one that is meant comes first."""

from __future__ import annotations

import pytest

ABOUT = "Works with orders of the shop Acme. Use when somebody asks about orders."
TASKS = {
    "refunds": "Pay the money back to the card of a customer who returned a broken parcel.",
    "labels": "Print the address on a sticker and choose the carrier for the parcel.",
    "taxes": "Look up the rate of the country and write it on the invoice for the customer.",
}


def _long_body(task: str) -> str:
    """A body whose beginning says nothing; its later sections are about the task."""
    beginning = "Read the order first and tell what was found. " * 60
    sections = [f"## Step {number}\n\n{f'{task} ' * 8}" for number in range(1, 6)]
    return "\n\n".join(["# Guide", beginning, *sections])


@pytest.fixture
def library(capdisc, hermetic, write_skill):
    """Three skills that only their bodies tell apart."""
    for name, task in TASKS.items():
        write_skill(hermetic / "skills", f"acme-{name}", ABOUT, _long_body(task))
    assert capdisc("index", "skills").code == 0


@pytest.mark.parametrize("mode", ["hybrid", "lexical"])
@pytest.mark.parametrize(
    ("request_text", "name"),
    [
        (
            "orders: the parcel came back broken, pay the customer their money on the card",
            "refunds",
        ),
        (
            "orders: which carrier takes this parcel, and print a sticker with the address",
            "labels",
        ),
        ("orders: look up the rate of this country and write it on their invoice", "taxes"),
    ],
)
def test_the_body_tells_which_sibling_is_meant(capdisc, library, mode, request_text, name) -> None:
    found = capdisc("search", request_text, "--mode", mode, "--json", "--explain").json["hits"]
    assert found[0]["id"] == f"skill:acme-{name}"
    assert {hit["id"] for hit in found} == {f"skill:acme-{each}" for each in TASKS}
    assert found[0]["signals"]["body"] > 0.0 > min(hit["signals"]["body"] for hit in found)


def test_a_request_of_two_words_is_left_to_descriptions(capdisc, library) -> None:
    hits = capdisc("search", "Acme orders", "--json", "--explain").json["hits"]
    assert hits and not any("body" in hit["signals"] for hit in hits)


@pytest.mark.parametrize(
    "referral",
    [
        "For banner overlays, see acme-zeta.",
        "NOT for banner overlays (use acme-zeta).",
        "For banner overlays→acme-zeta.",
    ],
)
def test_a_sibling_says_whose_task_it_is(capdisc, hermetic, write_skill, referral) -> None:
    folder = hermetic / "skills"
    write_skill(folder, "acme-page", f"Improves the home page. {referral}")
    for name in ("acme-alpha", "acme-zeta"):
        write_skill(folder, name, "Improves what visitors of a site see.")
    capdisc("index", "skills")
    request = "improve the banner overlays that visitors of our site see"
    hits = capdisc("search", request, "--json", "--explain").json["hits"]
    ids = [hit["id"] for hit in hits]
    assert ids.index("skill:acme-zeta") < ids.index("skill:acme-alpha")
    signals = {hit["id"]: hit["signals"] for hit in hits}
    assert signals["skill:acme-zeta"]["referred"] > 0.1
    assert "referred" not in signals["skill:acme-alpha"]


def test_a_skill_that_names_itself_gains_nothing(capdisc, hermetic, write_skill) -> None:
    for folder in ("a", "b"):
        about = f"Draws maps. For maps of rivers, use map-maker. Copy {folder}."
        write_skill(hermetic / folder, "map-maker", about, f"{folder} " * 50)
    capdisc("index", "a", "b")
    hits = capdisc("search", "draw maps of rivers", "--json", "--explain").json["hits"]
    assert hits and not any("referred" in hit["signals"] for hit in hits)


@pytest.mark.parametrize(
    ("request_text", "name"),
    [
        ("Why did the refund of my order fail?", "diagnose"),
        ("the labels of our orders come out blank, find out why", "diagnose"),
        ("Warum fehlt die Adresse auf den labels?", "diagnose"),
        ("explain why an order gets a refund to the card", "refunds"),
    ],
)
def test_a_symptom_is_for_the_sibling_that_finds_faults(
    capdisc, hermetic, write_skill, request_text, name
) -> None:
    for task, text in TASKS.items():
        write_skill(hermetic / "skills", f"acme-{task}", f"{text} Use for {task} of orders.")
    write_skill(
        hermetic / "skills", "acme-diagnose", "Finds out what is behind a problem with orders."
    )
    # A name of which nothing else is asked for is no sibling.
    write_skill(hermetic / "skills", "compiler-debugging", "Finds out why orders of code fail.")
    capdisc("index", "skills")
    hits = capdisc("search", request_text, "--json", "--explain").json["hits"]
    assert hits[0]["id"] == f"skill:acme-{name}"
    gaining = {hit["id"] for hit in hits if "finds_fault" in hit["signals"]}
    assert gaining == ({"skill:acme-diagnose"} if name == "diagnose" else set())
