"""Ask a discovery tool over the data catalogue: `ask("list_tables", database="music")`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from capdisc_indexer.encoders import load_shipped_encoder
from capdisc_indexer.store.snapshot import Index
from capdisc_indexer.tools import tool_table, tool_types


def _available(head: Any) -> bool:
    return not head.get("secrets")


@pytest.fixture
def desk(indexed_data: Path, tmp_path: Path) -> Iterator[tool_types.ToolContext]:
    with Index(indexed_data) as index:
        yield tool_types.ToolContext(
            index=index,
            tools=tool_table.TOOLS,
            encoder=load_shipped_encoder,
            available=_available,
            environ={},
            state_dir=tmp_path / "state",
        )


@pytest.fixture
def ask(
    desk: tool_types.ToolContext, data: Path, capdisc: Callable[..., Any]
) -> Callable[..., Any]:
    """The answer of `capdisc call`; where it fails, the error that the tool raised."""

    def call(name: str, /, **arguments: Any) -> Any:
        answer = capdisc("call", name, json.dumps(arguments))
        return answer.json if answer.code == 0 else tool_table.call_tool(desk, name, arguments)

    return call
