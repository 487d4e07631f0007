"""validate says the same of a file in any batch, order and number."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest
from random_files import FIXTURES, NAMES

from hostile.guard import GUARD


@pytest.fixture
def named(hermetic: Path) -> list[str]:
    """Fifty files, sound and broken, below the working folder, by names relative to it."""
    for catalogue in ("broken", "messy", "small"):
        shutil.copytree(FIXTURES / catalogue, hermetic / catalogue, symlinks=True)
    found = [
        path for path in sorted(hermetic.rglob("*")) if path.name in NAMES[:2] and path.is_file()
    ]
    return [str(path.relative_to(hermetic)) for path in random.Random(1).sample(found, 50)]


@pytest.mark.parametrize("form", ["full", "concise"])
@pytest.mark.parametrize("seed", range(3))
def test_any_split_into_batches_says_the_same(form, seed, named, capdisc) -> None:
    whole = capdisc("validate", "--quiet", "--format", form, "--", *named)
    cuts = sorted(random.Random(seed).sample(range(1, len(named)), 4))
    batches = [named[start:end] for start, end in zip([0, *cuts], [*cuts, None], strict=True)]
    parts = [capdisc("validate", "--quiet", "--format", form, "--", *batch) for batch in batches]
    assert "".join(part.out for part in parts) == whole.out
    assert max(part.code for part in parts) == whole.code == 1


def test_names_with_blanks_and_dashes_are_files(hermetic, capdisc, write_skill) -> None:
    for folder in ("-rf", "--help", "with a blank", "$(touch PWNED)"):
        write_skill(hermetic / folder, "pull-turnips", "Pulls.", body="")
    names = [str(path.relative_to(hermetic)) for path in sorted(hermetic.rglob("SKILL.md"))]
    found = capdisc("validate", "--format", "concise", "--", *names)
    assert found.code in (0, 1)
    assert all(f"{name}:" in found.out for name in names)
    assert not (hermetic / "PWNED").exists()


def test_a_deleted_file_costs_no_other(hermetic, capdisc, named) -> None:
    bad = "broken/missing-description-skill/SKILL.md"
    found = capdisc("validate", "--format", "concise", "--", "gone/SKILL.md", bad)
    assert found.code == 2
    assert "gone/SKILL.md" in found.err
    assert bad in found.out


def test_nothing_is_changed_started_or_connected(hermetic, capdisc, named) -> None:
    GUARD.start((str(hermetic / "nowhere"),))
    found = capdisc("validate", "--", *named)
    noted = GUARD.stop()
    assert found.code == 1
    assert noted == ()
