"""Requests of these tests end on this machine, as in the tests of fetching."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from capdisc_indexer.model.types import Descriptor, SourceRef


@pytest.fixture
def described(tmp_path: Path) -> Callable[..., Descriptor]:
    """A tool in a folder of its own: `described(run={...}, schema={...})`."""
    folder = tmp_path / "root" / "tool"
    folder.mkdir(parents=True)

    def make(**fields) -> Descriptor:
        source = SourceRef(
            path=str(folder / "CAPABILITY.yaml"), format="capability", root=str(tmp_path / "root")
        )
        defaults = {
            "id": "tool:probe",
            "kind": "tool",
            "name": "probe",
            "description": "A tool.",
            "source": source,
        }
        return Descriptor(**(defaults | fields))

    return make


@pytest.fixture
def make(described: Callable[..., Descriptor]) -> Callable[[object], Descriptor]:
    """The same tool with one `run` after the other."""
    from capdisc_indexer.model.frozen import replace

    plain = described()
    return lambda run: replace(plain, run=run)
