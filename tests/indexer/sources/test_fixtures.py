"""The fixture catalogues as a whole."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from capdisc_indexer.model.types import LoadedFile, Severity

CATALOGS = Path(__file__).parents[3] / "fixtures" / "catalogs"
LoadPath = Callable[[Path], LoadedFile]

pytestmark = pytest.mark.skipif(not CATALOGS.is_dir(), reason="the fixtures are not there")


@pytest.mark.parametrize("catalog", ["small", "office"])
def test_a_tidy_catalogue_gives_no_finding(load_path: LoadPath, catalog: str) -> None:
    loaded = load_path(CATALOGS / catalog)
    assert loaded.descriptors
    assert loaded.findings == ()


def test_untidy_files_are_all_read(load_path: LoadPath) -> None:
    loaded = load_path(CATALOGS / "messy")
    assert len(loaded.descriptors) == sum(
        1 for path in (CATALOGS / "messy").iterdir() if path.is_dir()
    )
    assert not [finding for finding in loaded.findings if finding.severity is Severity.ERROR]


def test_each_broken_file_is_named_and_the_sound_ones_are_read(load_path: LoadPath) -> None:
    loaded = load_path(CATALOGS / "broken")
    assert {"tool:good-one", "tool:good-two", "skill:good-three"} <= {
        found.id for found in loaded.descriptors
    }
    named = {Path(finding.path).parent.name for finding in loaded.findings}
    broken = {path.name for path in (CATALOGS / "broken").iterdir() if path.is_dir()}
    assert broken - named == {"good-one", "good-two", "good-three"}
