"""A handbook with an index of its own, and a desk to ask at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from capdisc_indexer import tools
from capdisc_indexer.build import build
from capdisc_indexer.encoders import shipped
from capdisc_indexer.index import Index
from capdisc_indexer.tools.values import Desk
from capdisc_indexer.types import BuildOptions

HANDBOOK = Path(__file__).resolve().parents[3] / "fixtures" / "handbook"


@pytest.fixture(scope="session")
def handbook(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The handbook's index; tests read it and never write."""
    folder = tmp_path_factory.mktemp("handbook") / "index"
    build([HANDBOOK], folder, BuildOptions())
    return folder


@pytest.fixture
def desk(handbook: Path, tmp_path: Path) -> Iterator[Desk]:
    """The handbook, and an empty state folder."""
    with Index(handbook) as index:
        yield Desk(index=index, encoder=shipped, available=lambda head: True, environ={}, state_dir=tmp_path / "state")


@pytest.fixture
def call(desk: Desk) -> Callable[..., dict[str, Any]]:
    """Call a tool: `call("add_fact", name="x", value="y")`."""

    def answered(tool: str, /, **arguments: Any) -> dict[str, Any]:
        return tools.call(desk, tool, arguments)

    return answered
