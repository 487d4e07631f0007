"""Whatever a file of any source format holds, reading it gives capabilities and findings, and nothing
of them breaks what is made of them.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from capdisc_indexer import encoders
from capdisc_indexer.indexing import document_changes, file_reader
from capdisc_indexer.model.types import DeclaredSource, PassageLimits
from capdisc_indexer.sources.format_table import SOURCES
from capdisc_indexer.sources.scan.file_scan import scan_roots
from capdisc_indexer.sources.scan.scanned_files import FoundFile
from capdisc_indexer.validation import validate
from properties.fuzz_edits import EDITS, Edit, change
from properties.fuzz_seeds import seeds_by_format

EXAMPLES = int(os.environ.get("CAPDISC_FUZZ_EXAMPLES", "12"))
# Read in a process of its own for each file, which takes a third of a second.
IN_PROCESSES = {"sqlite", "columnar", "office"}
FUZZ = settings(
    deadline=None,
    database=None,
    derandomize="CAPDISC_FUZZ_EXAMPLES" not in os.environ,
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module")
def builder() -> document_changes.DocumentBuilder:
    return document_changes.DocumentBuilder(1, PassageLimits())


@pytest.fixture(autouse=True)
def raise_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    """What costs a file its capabilities otherwise is raised here."""
    for module in (file_reader, validate, document_changes):
        monkeypatch.setattr(module, "ENDING_ERRORS", (BaseException,))


def _scan(folder: Path, name: str, format_name: str) -> Sequence[FoundFile]:
    source = SOURCES[format_name]
    options = {"description": "What it is."} if "description" in source.options else {}
    declared = DeclaredSource(
        format=source.declared, path=str(folder / name), name="x", options=options, trusted=True
    )
    return scan_roots(
        [folder] if not source.declared else [], [declared] if source.declared else []
    ).files


@pytest.mark.parametrize("format_name", SOURCES)
def test_a_changed_file_brings_capabilities_and_findings_only(
    format_name: str, tmp_path: Path, builder: document_changes.DocumentBuilder
) -> None:
    seeds = seeds_by_format()[format_name]
    assert seeds, f"add a valid file of the format {format_name} to tests/properties/seeds"
    contents = [data for _, data in seeds]
    encoder = encoders.load_shipped_encoder()
    read_count = 0

    @settings(
        FUZZ, max_examples=max(EXAMPLES // 20, 1) if format_name in IN_PROCESSES else EXAMPLES
    )
    @given(st.sampled_from(seeds), EDITS)
    def check(seed: tuple[str, bytes], edits: Sequence[Edit]) -> None:
        nonlocal read_count
        name, data = seed
        (tmp_path / name).write_bytes(change(name, data, edits, contents))
        for file in _scan(tmp_path, name, format_name):
            read_count += 1
            checked = validate.check_file(file)
            parsed = file_reader.read_file(file)
            for finding in (*checked.findings, *parsed.findings):
                assert finding.code and finding.message and finding.path
                assert finding.line >= 1 and finding.column >= 1
                f"{finding}".encode()
            for built in builder.build([(record, key) for key, record in parsed.records]):
                encoder.encode_few(built.texts[:4])
        (tmp_path / name).unlink()

    check()
    assert read_count > 0
