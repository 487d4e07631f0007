"""Folders written from text, and what loading them gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from capdisc_indexer.model.types import Finding, LoadedFile
from capdisc_indexer.sources.format_table import SOURCES
from capdisc_indexer.sources.readers.file_bytes import read_bytes
from capdisc_indexer.sources.scan.file_scan import scan_roots

Load = Callable[[Mapping[str, str | bytes]], LoadedFile]


def load_folder(root: Path) -> LoadedFile:
    """Everything that the files below `root` hold, and every finding about them."""
    result = scan_roots([root])
    parts = [LoadedFile(findings=result.findings)]
    for file in result.files:
        data = read_bytes(file, SOURCES[file.format].limit_bytes)
        if isinstance(data, Finding):
            parts.append(LoadedFile(findings=(data,)))
        else:
            parts.append(SOURCES[file.format].load(file, data))
    return LoadedFile(
        parts=tuple(part for loaded in parts for part in loaded.parts),
        findings=tuple(finding for part in parts for finding in part.findings),
    )


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Writes the files of a catalogue (path -> text) and loads them."""

    def write_and_load(files: Mapping[str, str | bytes]) -> LoadedFile:
        for relative, content in files.items():
            path = tmp_path / "catalog" / relative
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        return load_folder(tmp_path / "catalog")

    return write_and_load


@pytest.fixture
def load_path() -> Callable[[Path], LoadedFile]:
    """Loads a folder that is already there."""
    return load_folder


@pytest.fixture
def codes() -> Callable[[LoadedFile], list[str]]:
    """The codes of all findings, each as `severity code line`."""

    def listed(loaded: LoadedFile) -> list[str]:
        def line(finding: Finding) -> str:
            return f"{finding.severity} {finding.code} {finding.line}"

        return [line(finding) for finding in loaded.findings]

    return listed
