"""Small catalogues whose relations are known."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from capdisc_indexer.graph.capability_graph import build_graph
from capdisc_indexer.graph.relations import CapabilityGraph
from capdisc_indexer.indexing.pipeline import build_index
from capdisc_indexer.model.types import BuildOptions
from capdisc_indexer.store.snapshot import Index


@pytest.fixture
def indexed(tmp_path: Path) -> Callable[..., Path]:
    """Index capabilities given as mappings (skills as text): `indexed({"name": "a"}, ...)`; the index's folder."""

    def make(*capabilities: dict, skills: dict[str, str] | None = None) -> Path:
        folder = tmp_path / "catalogue"
        folder.mkdir(exist_ok=True)
        given = [
            {"kind": "tool", "description": f"Does {one['name']}.", **one} for one in capabilities
        ]
        (folder / "CAPABILITY.yaml").write_text(yaml.safe_dump({"capabilities": given}))
        for name, front in (skills or {}).items():
            (folder / name).mkdir(exist_ok=True)
            text = f"---\nname: {name}\ndescription: Does {name}. Use when asked.\n{front}\n---\n\nDo it.\n"
            (folder / name / "SKILL.md").write_text(text)
        build_index([folder], tmp_path / "index", BuildOptions())
        return tmp_path / "index"

    return make


@pytest.fixture
def network(indexed: Callable[..., Path]) -> Callable[..., CapabilityGraph]:
    """The whole network of such capabilities."""

    def make(*capabilities: dict, **others: dict[str, str]) -> CapabilityGraph:
        with Index(indexed(*capabilities, **others)) as index:
            return build_graph(index)

    return make
