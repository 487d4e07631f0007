"""Lists, APIs and declared sources are followed like skills."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

from capdisc_indexer.model.types import BuildOptions, DeclaredSource
from capdisc_indexer.watching import WatchOptions, watch


def tools(path: Path, *names: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        json.dumps({"tools": [{"name": name, "description": f"Does {name}."} for name in names]})
    )


def test_a_list_of_tools_that_changes_is_read_again(watching, root, described) -> None:
    turns = watching(root)
    next(turns)
    tools(root / "near.tools.json", "go")
    next(turns)
    assert sorted(described()) == ["skill:alpha", "tool:near.go"]
    tools(root / "near.tools.json", "go", "stop")
    next(turns)
    assert sorted(described()) == ["skill:alpha", "tool:near.go", "tool:near.stop"]


def test_a_file_that_becomes_an_api_is_noticed(watching, root, described) -> None:
    (root / "shop.json").write_text("{}")
    turns = watching(root)
    next(turns)
    paths = {"/x": {"get": {"operationId": "look", "summary": "Looks around."}}}
    (root / "shop.json").write_text(json.dumps({"openapi": "3.0.0", "paths": paths}))
    next(turns)
    assert sorted(described()) == ["api:shop", "operation:shop.look", "skill:alpha"]


def test_a_declared_file_is_followed_whatever_its_name(
    root, hermetic, index_dir, described
) -> None:
    place = hermetic / "elsewhere" / "list"
    tools(place, "go")
    declared = DeclaredSource(format="mcp", path=str(place), name="far")
    options = BuildOptions(sources=(declared,))
    with closing(watch([root], index_dir, options, WatchOptions(quiet_s=0.15))) as turns:
        next(turns)
        assert sorted(described()) == ["skill:alpha", "tool:far.go"]
        tools(place, "stop")
        next(turns)
        assert sorted(described()) == ["skill:alpha", "tool:far.stop"]


def test_without_a_folder_declared_sources_alone_are_watched(
    hermetic, index_dir, described
) -> None:
    tools(hermetic / "lists" / "a.json", "go")
    declared = DeclaredSource(format="mcp", path=str(hermetic / "lists/*.json"))
    options = BuildOptions(sources=(declared,))
    with closing(watch([], index_dir, options, WatchOptions(quiet_s=0.15))) as turns:
        next(turns)
        tools(hermetic / "lists" / "b.json", "come")
        next(turns)
        assert sorted(described()) == ["tool:a.go", "tool:b.come"]
