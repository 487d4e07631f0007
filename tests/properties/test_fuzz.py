"""Whatever a file holds, `validate` and `index` give findings and no exception."""

import os
import random

from random_files import round_of_files, seeds

SEED = int(os.environ.get("CAPDISC_SEED", "1"))
ROUNDS = int(os.environ.get("CAPDISC_FUZZ_ROUNDS", "16"))


def test_changed_files_bring_findings_only(tmp_path) -> None:
    rng, originals = random.Random(SEED), seeds()
    assert len(originals) > 100
    for number in range(ROUNDS):
        index = tmp_path / "index" if number % 4 == 0 else None
        found = round_of_files(rng, originals, tmp_path / "files", index)
        assert not found, f"seed {SEED}, round {number}: {found}"
