"""Any arguments and any catalogue give JSON or an error of ours."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from capdisc_indexer.encoders import load_shipped_encoder
from capdisc_indexer.indexing.pipeline import build_index
from capdisc_indexer.model.errors import CapdiscError
from capdisc_indexer.model.types import BuildOptions
from capdisc_indexer.store.snapshot import Index
from capdisc_indexer.tools import tool_table, tool_types
from case_rows import read_rows
from product_lists import KINDS

JUNK = read_rows(__file__, "junk")
WORDS = st.sampled_from(
    ["junk", "table:a.junk", "Id", "", " ", "..", "a\x00b", "\ud800", "🙂", "x" * 400, "junk.junk"]
)
VALUES = WORDS | st.integers(-5, 500) | st.none() | st.booleans() | st.lists(WORDS, max_size=2)
ARGUMENTS = VALUES | st.dictionaries(WORDS, VALUES, max_size=2)


@pytest.fixture(scope="module")
def junk(tmp_path_factory):
    folder = tmp_path_factory.mktemp("junk")
    lines = [
        {
            "kind": kind,
            "id": f"{kind}:{part}.junk",
            "name": "junk",
            "description": f"Junk {kind} {part}.",
            "metadata": JUNK,
        }
        for kind in KINDS
        for part in "ab"
    ]
    (folder / "capabilities.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    build_index([folder / "capabilities.jsonl"], folder / "index", BuildOptions())
    with Index(folder / "index") as index:
        yield tool_types.ToolContext(
            index=index,
            tools=tool_table.TOOLS,
            encoder=load_shipped_encoder,
            available=lambda head: True,
            environ={},
            state_dir=folder / "state",
        )


@pytest.mark.parametrize("name", tool_table.TOOLS)
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(values=st.data())
def test_any_arguments_get_an_answer_or_an_error_that_was_meant(junk, name, values) -> None:
    own = list(tool_table.TOOLS[name].input_schema["properties"])
    given = {key: values.draw(ARGUMENTS) for key in own if values.draw(st.booleans())}
    try:
        answer = tool_table.call_tool(junk, name, given)
    except CapdiscError as error:
        assert error.message
    else:
        json.dumps(answer, allow_nan=False)


@pytest.mark.parametrize("name", tool_table.TOOLS)
def test_a_catalogue_of_junk_breaks_no_tool(junk, name) -> None:
    needed = {
        key: 1
        if schema.get("type") == "integer"
        else {}
        if schema.get("type") == "object"
        else "a.junk"
        for key, schema in tool_table.TOOLS[name].input_schema["properties"].items()
        if key in tool_table.TOOLS[name].input_schema.get("required", ())
    }
    try:
        json.dumps(tool_table.call_tool(junk, name, needed), allow_nan=False)
    except CapdiscError as error:
        assert error.message
