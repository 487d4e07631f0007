"""What a writer publishes is whole; of two writers one wins and the other learns it."""

import os
import signal
import subprocess
import sys

import pytest

from capdisc_remote import shared_build

pytestmark = pytest.mark.s3


def test_a_fresh_machine_builds_upon_what_is_published(
    capdisc, store, machine, skills, write_skill
):
    machine("ci-1")
    assert capdisc("index", str(skills), "--json").json["counts"]["embedded"] == 2
    machine("ci-2")
    same = capdisc("index", str(skills), "--json").json
    assert (same["published"], same["generation"], same["counts"]["parsed"]) == (False, 1, 0)
    write_skill(skills, "brew-espresso", "Brews an espresso.")
    machine("ci-3")
    more = capdisc("index", str(skills), "--json").json
    assert (more["published"], more["generation"], more["counts"]["embedded"]) == (True, 2, 1)


def test_of_two_writers_at_once_the_slower_one_is_told_and_wins_the_next_time(
    capdisc, process, store, machine, skills, write_skill, tmp_path
):
    write_skill(tmp_path / "other", "brew-espresso", "Brews an espresso.")
    quick = {"HOME": str(machine("quick"))}

    def be_quicker(what, headers):
        if what == "PUT CURRENT":
            store.spoil = None
            assert process("index", str(tmp_path / "other"), env=quick).code == 0

    machine("slow")
    store.spoil = be_quicker
    slow = capdisc("index", str(skills))
    assert slow.code == 75 and "another writer has published" in slow.err
    assert len(store.generations()) == 1  # what it had written is gone again
    machine("reader")
    assert capdisc("search", "espresso", "--ids").out.split()[0] == "skill:brew-espresso"
    machine("slow")
    again = capdisc("index", str(skills), "--json")
    assert again.code == 0 and again.json["generation"] == 2
    machine("reader")
    assert capdisc("search", "pdf", "--ids").out.split()[0] == "skill:merge-pdfs"


@pytest.mark.crash
@pytest.mark.parametrize("after", [0, 9, 14])
def test_a_writer_killed_between_uploads_changes_nothing(
    capdisc, store, machine, skills, write_skill, after, built
):
    pointer = store.get("CURRENT")
    write_skill(skills, "brew-espresso", "Brews an espresso.")
    child = subprocess.Popen(
        [sys.executable, "-m", "capdisc", "index", str(skills)], env=dict(os.environ)
    )
    puts = iter(range(100))

    def kill(what, headers):
        if what.startswith(("PUT", "POST")) and next(puts) >= after and what != "PUT CURRENT":
            child.send_signal(signal.SIGKILL)
            child.wait()
            return 500, b""
        assert what != "PUT CURRENT"
        return None

    store.spoil = kill
    assert child.wait() == -signal.SIGKILL
    store.spoil = None
    assert store.get("CURRENT") == pointer
    machine("reader")
    assert capdisc("search", "pdf").code == 0
    machine("ci")
    assert capdisc("index", str(skills)).code == 0
    machine("reader")
    assert capdisc("search", "espresso", "--ids").out.split()[0] == "skill:brew-espresso"


def test_an_answer_that_was_lost_is_not_taken_for_another_writer(capdisc, store, machine, skills):
    machine("ci")
    lost = []

    def lose(what, status):
        if what == "PUT CURRENT" and not lost:
            lost.append(status)
            return 503
        return None

    store.after = lose
    assert capdisc("index", str(skills)).code == 0
    assert lost == [200] and len(store.generations()) == 1


def test_a_store_that_passes_over_conditions_is_named(capdisc, store, machine, skills):
    machine("ci")
    store.drop = ("if-match", "if-none-match")
    assert "knows no conditional writes" in capdisc("index", str(skills)).err


def test_a_store_that_refuses_conditional_writes_cannot_be_published_to(
    capdisc, store, machine, skills
):
    def unknown(what, headers):
        conditional = {name.lower() for name in headers} & {"if-match", "if-none-match"}
        return (
            (501, b"<Error><Code>NotImplemented</Code></Error>")
            if what[:3] == "PUT" and conditional
            else None
        )

    machine("ci")
    store.spoil = unknown
    refused = capdisc("index", str(skills))
    assert (
        refused.code == 4
        and "knows no conditional writes" in refused.err
        and "hint: use a store that does" in refused.err
    )
    assert "CURRENT" not in store.listing()


def test_old_generations_go_once_nobody_can_need_them(
    capdisc, store, machine, skills, write_skill, monkeypatch
):
    machine("ci")
    for number in range(4):
        write_skill(skills, f"one-more-{number}", f"Does thing number {number}.")
        capdisc("index", str(skills))
    assert len(store.generations()) == 4  # the first is younger than the grace
    monkeypatch.setattr(shared_build, "_GRACE_PERIOD", -shared_build._GRACE_PERIOD)
    write_skill(skills, "the-last", "Does the last thing.")
    capdisc("index", str(skills))
    assert [name[:8] for name in store.generations()] == ["00000003", "00000004", "00000005"]


def test_a_store_that_goes_away_fails_the_build_and_the_next_one_publishes(
    capdisc, store, machine, skills
):
    machine("ci")
    store.spoil = lambda what, headers: (
        (403, b"<Error><Code>AccessDenied</Code></Error>") if "PUT" in what else None
    )
    assert capdisc("index", str(skills)).code == 4
    store.spoil = None
    assert capdisc("index", str(skills), "--json").json["published"] is True
    machine("reader")
    assert capdisc("search", "pdf").code == 0


def test_rebuild_trusts_nothing_that_is_published_and_counts_on(
    capdisc, store, machine, skills, built
):
    (name,) = store.generations()
    for key in store.listing():
        if f"{name}/text/" in key:
            store.put(key, b"damaged")
    machine("ci-2")
    anew = capdisc("index", str(skills), "--json")
    assert (anew.code, anew.json["generation"]) == (0, 2) and "building it anew" in anew.err
    assert capdisc("index", str(skills), "--rebuild", "--json").json["generation"] == 3
    store.put("CURRENT", b"nonsense")
    assert capdisc("index", str(skills), "--no-rebuild").code == 4
    assert capdisc("index", str(skills), "--rebuild").code == 0
    machine("reader")
    assert capdisc("search", "pdf").code == 0


def test_vectors_that_are_not_those_that_were_published_are_made_again(
    capdisc, store, machine, skills, built
):
    for key in store.listing():
        if "/table/" in key and key.endswith(".lance"):
            data = store.get(key)
            store.put(
                key, bytes(255 - byte for byte in data[: len(data) // 2]) + data[len(data) // 2 :]
            )
    machine("ci-2")
    anew = capdisc("index", str(skills), "--json")
    assert (anew.code, anew.json["counts"]["embedded"]) == (
        0,
        2,
    ) and "building it anew" in anew.err
