"""A published generation stays as it is, and damage to it is noticed."""

import os

import pytest

from capdisc_indexer.indexing.pipeline import build_index
from capdisc_indexer.model.errors import BusyError, DamagedIndexError, IndexStateError
from capdisc_indexer.model.types import BuildOptions
from capdisc_indexer.store import generation, locks, native_errors
from capdisc_indexer.store.snapshot import Index


@pytest.fixture
def built(hermetic, write_skill):
    root, index_dir = hermetic / "skills", hermetic / "index"
    for name in ("alpha", "beta", "gamma"):
        write_skill(root, name)
    build_index([root], index_dir, BuildOptions())
    return root, index_dir


@pytest.mark.parametrize(
    "victim", ["MANIFEST", "matrix/matrix.i8", "text/meta.json", "meta/state"]
)
@pytest.mark.parametrize("harm", ["cut", "gone"])
def test_damage_is_noticed_at_open_and_mended_by_the_next_build(built, victim, harm) -> None:
    root, index_dir = built
    path = generation.generation_folder(index_dir, 1) / victim
    path.unlink() if harm == "gone" else path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(IndexStateError) as caught:
        Index(index_dir)
    assert "capdisc index" in caught.value.hint
    report = build_index([root], index_dir, BuildOptions())
    assert report.published
    assert "rebuilding it" in report.degraded[0]
    assert len(Index(index_dir).documents) == 3


def _flip(path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(bytes(data))


@pytest.fixture
def all_is_large(monkeypatch) -> None:
    """Files are compared by size alone at open, as large ones are."""
    monkeypatch.setattr(native_errors, "MAX_CHECKED_BYTES", -1)


def test_a_flipped_byte_in_a_large_file_is_found_by_all_digests(built, all_is_large) -> None:
    _, index_dir = built
    path = next((generation.generation_folder(index_dir, 1) / "text").glob("*.store"))
    _flip(path)
    assert generation.verify_digests(index_dir, generation.load_current(index_dir)) == [
        f"text/{path.name}"
    ]


def test_what_a_flipped_byte_leads_to_is_blamed_on_it(built, all_is_large) -> None:
    _, index_dir = built
    _flip(generation.generation_folder(index_dir, 1) / "meta" / "overview.json")
    with (
        pytest.raises(DamagedIndexError, match=r"overview\.json does not match"),
        Index(index_dir) as index,
    ):
        index.meta("overview")


def test_an_error_that_has_nothing_to_do_with_damage_stays_what_it_is(built) -> None:
    _, index_dir = built
    with pytest.raises(ZeroDivisionError), Index(index_dir):
        raise ZeroDivisionError


@pytest.mark.parametrize("verify", [False, True])
def test_flipped_bytes_are_not_taken_over_into_the_next_generation(
    built, all_is_large, write_skill, verify
) -> None:
    root, index_dir = built
    _flip(next((generation.generation_folder(index_dir, 1) / "text").glob("*.store")))
    if not verify:  # which finds them without a change, too
        write_skill(root, "delta")
    report = build_index([root], index_dir, BuildOptions(verify=verify))
    assert "digest" in report.degraded[0]
    assert report.counts["parsed"] == report.counts["files"]
    assert generation.verify_digests(index_dir, report.generation) == []


@pytest.mark.parametrize("seconds", [0.1, float("nan")])
def test_a_second_writer_waits_and_then_names_the_first(built, seconds) -> None:
    root, index_dir = built
    with locks.write_lock(index_dir, 1.0), pytest.raises(BusyError, match=str(os.getpid())):
        build_index([root], index_dir, BuildOptions(lock_timeout_s=seconds))


def test_a_reader_overtaken_by_two_writers_looks_again(built, write_skill, monkeypatch) -> None:
    root, index_dir = built
    check, overtaken = native_errors.check_files, []

    def slow(gen, files) -> None:
        if not overtaken:
            overtaken.append(gen)
            for number in range(2):
                write_skill(root, f"more-{number}")
                build_index([root], index_dir, BuildOptions())
        check(gen, files)

    monkeypatch.setattr(native_errors, "check_files", slow)
    with Index(index_dir) as index:
        assert index.generation.number == 3
