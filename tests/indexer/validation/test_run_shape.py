"""validate finds in a `run` what running it would refuse."""

import json
import tomllib
from pathlib import Path

import pytest

from capdisc_indexer.model.errors import InputError
from capdisc_indexer.model.types import Descriptor, SourceRef
from capdisc_indexer.tools.call_context import ExecutionContext
from capdisc_run.prepare import prepare_call
from tests.indexer.validation.conftest import manifest

SCHEMA = {"properties": {"n": {"type": "string", "default": "1"}}}
RUNS = tomllib.loads(Path(__file__).with_name("run_shapes.toml").read_text("utf-8"))


def _refused(run: dict) -> bool:
    source = SourceRef(path="/CAPABILITY.yaml", format="capability", root="/")
    one = Descriptor(
        id="tool:a",
        kind="tool",
        name="a",
        description="A tool.",
        source=source,
        run=run,
        schema=SCHEMA,
    )
    try:
        prepare_call(one, {}, ExecutionContext(environ={"PATH": "/usr/bin:/bin"}, cwd=Path("/")))
    except InputError:
        return True
    return False


def _found(findings, run: dict) -> list[str]:
    more = f"inputSchema: {json.dumps(SCHEMA)}\nRun: {json.dumps(run)}\n"
    return [
        f"{one.code} {one.line}" for one in findings({"a/CAPABILITY.yaml": manifest("a", more)})
    ]


@pytest.mark.parametrize("run", RUNS["sound"], ids=str)
def test_what_can_be_run_is_sound(findings, run: dict) -> None:
    assert not _refused(run)
    assert _found(findings, run) == []


@pytest.mark.parametrize("run", RUNS["refused"], ids=str)
def test_what_would_be_refused_is_found_where_it_stands(findings, run: dict) -> None:
    assert _refused(run)
    assert set(_found(findings, run)) == {"run-shape 5"}


@pytest.mark.parametrize("run", RUNS["unread"], ids=str)
def test_what_would_not_be_read_is_found_too(findings, run: dict) -> None:
    assert _found(findings, run) == ["run-shape 5"]
