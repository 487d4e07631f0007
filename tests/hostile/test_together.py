"""All hostile folders in one scan: each sound neighbour is indexed, and the errors name every bad folder."""

from __future__ import annotations

import os

import pytest

from hostile.groups import CASES
from hostile.together import Together, one_scan


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Together:
    base = tmp_path_factory.mktemp("together")
    with pytest.MonkeyPatch.context() as patch:  # there is no home of a test's own yet
        patch.setenv("XDG_STATE_HOME", str(base / "state"))
        return one_scan(base)


def test_one_bad_folder_costs_no_other(found) -> None:
    assert found.status == 1
    assert set(found.cases) - found.neighbours == set()


def test_the_errors_name_every_bad_folder(found) -> None:
    bad = {name for name in found.cases if CASES[name].kind == "rejected"}
    unreadable = {name for name in bad if CASES[name].needs == "user" and os.geteuid() == 0}
    assert bad - unreadable - found.named == set()
