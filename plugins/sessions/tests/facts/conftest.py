"""A handbook with an index of its own, and a tool context to ask."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from capdisc_indexer.encoders import load_shipped_encoder
from capdisc_indexer.indexing.pipeline import build_index
from capdisc_indexer.model.types import BuildOptions
from capdisc_indexer.store.snapshot import Index
from capdisc_indexer.tools import tool_table
from capdisc_indexer.tools.tool_types import ToolContext
from conftest import REPOSITORY

HANDBOOK = REPOSITORY / "fixtures" / "handbook"


@pytest.fixture(scope="session")
def handbook(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The handbook's index; tests read it and never write."""
    folder = tmp_path_factory.mktemp("handbook") / "index"
    build_index([HANDBOOK], folder, BuildOptions())
    return folder


@pytest.fixture
def desk(handbook: Path, tmp_path: Path) -> Iterator[ToolContext]:
    """The handbook, and an empty state folder."""
    with Index(handbook) as index:
        yield ToolContext(
            index=index,
            tools=tool_table.TOOLS,
            encoder=load_shipped_encoder,
            available=lambda head: True,
            environ={},
            state_dir=tmp_path / "state",
        )


@pytest.fixture
def call(desk: ToolContext) -> Callable[..., dict[str, Any]]:
    """Call a tool: `call("add_fact", name="x", value="y")`."""

    def answered(tool: str, /, **arguments: Any) -> dict[str, Any]:
        return tool_table.call_tool(desk, tool, arguments)

    return answered
