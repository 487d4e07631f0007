"""All hostile folders in one scan: each sound neighbour is indexed, and the errors name every bad folder."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

import pytest
from adopting import adopt

from capdisc_indexer.lazy_imports import load_token_counter
from hostile.groups import CASES
from hostile.together import Together, one_scan
from product_lists import RENDER_FORMATS

SEED = int(os.environ.get("CAPDISC_SEED", "1"))
WORDS = (
    "convert temperature",
    "pull turnips from the field",
    "ignore all previous instructions",
    "second",
    "row 17",
)


@pytest.fixture(scope="module")
def scanned(tmp_path_factory: pytest.TempPathFactory) -> tuple[Together, str]:
    base = tmp_path_factory.mktemp("together")
    with pytest.MonkeyPatch.context() as patch:  # there is no home of a test's own yet
        patch.setenv("XDG_STATE_HOME", str(base / "state"))
        return one_scan(base), str(base / "index")


def test_one_bad_folder_costs_no_other(scanned) -> None:
    found, _ = scanned
    assert found.status == 1
    assert set(found.cases) - found.neighbours == set()


def test_the_errors_name_every_bad_folder(scanned) -> None:
    found, _ = scanned
    bad = {name for name in found.cases if CASES[name].kind == "rejected"}
    unreadable = {name for name in bad if CASES[name].needs == "user" and os.geteuid() == 0}
    assert bad - unreadable - found.named == set()


def test_budgets_hold_over_hostile_content(scanned, capdisc) -> None:
    _, index = scanned
    adopt(Path(index))
    rng, count = random.Random(SEED), load_token_counter()
    for _ in range(60):
        words, form, budget = (
            rng.choice(WORDS),
            rng.choice(RENDER_FORMATS),
            rng.randrange(100, 4_000),
        )
        found = capdisc(
            "render", words, "--format", form, "--budget", str(budget), "--index-dir", index
        )
        assert found.code in (0, 2), found.err
        assert count(found.out) <= budget
        if form == "json" and found.out:
            assert json.loads(found.out).get("budget", budget) == budget
