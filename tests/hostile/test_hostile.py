"""Every hostile folder: it is accepted, warned of or refused as it deserves, and harms nothing and nobody."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from apart import apart

from hostile.batch import verdicts
from hostile.groups import CASES, GROUPS
from hostile.limits import LIMITED, MEBIBYTES, costs
from hostile.make import write
from hostile.verdict import Verdict


@pytest.fixture(scope="session")
def judged(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Verdict]:
    """The verdicts on the cases that this run selected, judged in processes of their own."""
    chosen = [
        each.callspec.params["name"] for each in request.session.items if _is_of_a_case(each)
    ]
    return verdicts(list(dict.fromkeys(chosen)), tmp_path_factory.mktemp("hostile"))


def _is_of_a_case(item: pytest.Item) -> bool:
    return (
        getattr(item, "originalname", "")
        == test_a_hostile_folder_comes_out_as_it_deserves.__name__
    )


@pytest.mark.parametrize("name", CASES)
def test_a_hostile_folder_comes_out_as_it_deserves(name: str, judged: dict[str, Verdict]) -> None:
    verdict = judged[name]
    if verdict.skipped:
        pytest.skip(verdict.skipped)
    assert not verdict.faults, "\n".join(verdict.faults)


def test_the_same_bytes_are_written_every_time(tmp_path: Path) -> None:
    def digest(base: Path) -> str:
        found = hashlib.sha256()
        for case in CASES.values():
            write(case, base)
        for path in sorted(base.rglob("*")):
            found.update(str(path.relative_to(base)).encode("utf-8", "surrogateescape"))
            small = path.is_file() and path.stat().st_size < 2**24 and not path.is_symlink()
            found.update(path.read_bytes() if small else b"")
        return found.hexdigest()

    assert digest(tmp_path / "one") == digest(tmp_path / "two")


def test_growing_files_cost_next_to_nothing_in_a_small_stack(tmp_path: Path) -> None:
    names = [case.name for group in LIMITED for case in GROUPS[group]]
    found = apart(costs, tmp_path / "limits", names)
    assert set(found) == set(names), found
    assert {name: cost for name, cost in found.items() if cost.mebibytes > MEBIBYTES} == {}
