"""validate finds in a `run` what running it would refuse."""

import json
from pathlib import Path

import pytest

from capdisc_indexer.model.errors import InputError
from capdisc_indexer.model.types import Descriptor, SourceRef
from capdisc_indexer.tools.call_context import ExecutionContext
from capdisc_run.prepare import prepare_call
from tests.indexer.validation.conftest import manifest

SCHEMA = {"properties": {"n": {"type": "string", "default": "1"}}}
SOUND = [
    {"command": ["ls", ["--width", "{n}"], "--", "{n...}"], "stdin": "{n}", "timeout": 5},
    {"command": ["echo", "{ print }", "{{n}}"], "stdin": "json"},
    {
        "mcp": {
            "command": "cat",
            "args": ["-u"],
            "tool": "read",
            "env": ["A"],
            "server": "files",
            "timeout": 2.5,
        }
    },
    {
        "http": {
            "url": "https://a.example.com/{n}",
            "method": "post",
            "parameters": [{"name": "n", "in": "path"}],
        }
    },
    {"http": {"url": "https://a.example.com/x?y=1", "body": "form", "timeout": 9}},
    {
        "http": {
            "url": "HTTP://a.example.com",
            "parameters": [{"name": "n", "in": "query", "required": True}],
        }
    },
    {
        "http": {
            "url": "https://a.example.com",
            "security": ["A", {"secret": "B", "in": "query", "name": "key"}],
        }
    },
]
BROKEN = [
    {},
    {"nothing": 1},
    {"command": "ls -l"},
    {"command": []},
    {"command": [" "]},
    {"command": [3]},
    {"command": [["ls"]]},
    {"command": ["{n}"]},
    {"command": ["ls", 3]},
    {"command": ["ls", ["-n", 3]]},
    {"command": ["ls"], "stdin": "yes"},
    {"mcp": 3},
    {"mcp": {"args": ["a"]}},
    {"mcp": {"command": "cat", "args": "a b"}},
    {"mcp": {"command": "cat", "args": [1]}},
    {"mcp": {"command": "cat", "tool": 3}},
    {"http": {"method": "GET"}},
    {"http": {"url": "ftp://a.example.com/"}},
    {"http": {"url": "https://{n}/"}},
    {"http": {"url": "https://a.example.com/", "method": "FETCH"}},
    {"http": {"url": "https://a.example.com/", "parameters": [{"name": "n"}]}},
    {"http": {"url": "https://a.example.com/", "security": ["A`b"]}},
    {"http": {"url": "https://a.example.com/", "security": [{"secret": "A", "in": "cookie"}]}},
]


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


@pytest.mark.parametrize("run", SOUND, ids=str)
def test_what_can_be_run_is_sound(findings, run: dict) -> None:
    assert not _refused(run)
    assert _found(findings, run) == []


@pytest.mark.parametrize("run", BROKEN, ids=str)
def test_what_would_be_refused_is_found_where_it_stands(findings, run: dict) -> None:
    assert _refused(run)
    assert set(_found(findings, run)) == {"run-shape 5"}


@pytest.mark.parametrize(
    "run", [{"command": ["ls"], "timout": 5}, {"command": ["ls"], "timeout": 0}], ids=str
)
def test_what_would_not_be_read_is_found_too(findings, run: dict) -> None:
    assert _found(findings, run) == ["run-shape 5"]


def test_the_finding_says_what_was_meant(findings) -> None:
    (one,) = findings({"a/CAPABILITY.yaml": manifest("a", "run: {command: [ls], timout: 5}\n")})
    assert one.message == "run.timout: is unknown; did you mean timeout?"
    assert "{command: [...]}" in one.hint
