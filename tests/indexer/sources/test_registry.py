"""The table of formats: what every entry of it keeps."""

from __future__ import annotations

from pathlib import Path

import pytest

from capdisc_indexer.model.types import LoadedFile
from capdisc_indexer.sources.format_table import ALL_FORMATS
from capdisc_indexer.sources.source_format import SourceFormat
from found_files import found


@pytest.mark.parametrize("source", ALL_FORMATS, ids=lambda source: source.format)
def test_every_format_has_a_reader_that_takes_an_empty_file(
    tmp_path: Path, source: SourceFormat
) -> None:
    name = (
        *source.filenames,
        *(f"empty{ending}" for ending in (*source.endings, *source.suffixes)),
    )[0]
    path = tmp_path / name
    path.write_bytes(b"")
    loaded = source.load(found(path, source.format), b"")
    assert isinstance(loaded, LoadedFile)
    assert all(finding.message for finding in loaded.findings)
