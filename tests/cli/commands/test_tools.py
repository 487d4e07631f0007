"""capdisc tools, also with --defer, and capdisc call --format: definitions as providers take them."""

import json

import jsonschema
import pytest

from capdisc_indexer.tools.tool_table import TOOLS
from forms_of_providers import DEFERRED, FORMS, SEARCH_ANSWERS
from product_lists import TOOL_FORMATS

FORMATS = ("anthropic", "openai-responses")
EVENT = {
    "kind": "tool",
    "name": "create-event",
    "description": "Creates a calendar event with guests.",
    "inputSchema": {
        "type": "object",
        "properties": {"title": {"type": "string"}, "filter[day]": {"type": "string"}},
        "required": ["title"],
    },
    "inputExamples": [
        {"title": "Lunch", "filter[day]": "Monday"},
        {"title": 5},
        {"titel": "Lunch"},
    ],
}


def index(capdisc, hermetic, monkeypatch, *lines: dict[str, object]) -> None:
    monkeypatch.setenv("CAPDISC_INDEX_DIR", str(hermetic / "index"))
    (hermetic / "a").mkdir()
    (hermetic / "a" / "capabilities.jsonl").write_text(
        "".join(json.dumps(line) + "\n" for line in lines)
    )
    assert capdisc("index", "a").code in (0, 1)


def flat(tools: list[dict]) -> list[dict]:
    """All functions, those of namespaces included."""
    return [tool for entry in tools for tool in entry.get("tools", [entry]) if "name" in tool]


@pytest.mark.parametrize("hosted", [(), ("--hosted",)])
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("query", [(), ("erase a whole disk",), ("qqxzv wkrtl",)])
def test_each_form_is_what_its_provider_takes(capdisc, data, form, hosted, query) -> None:
    """Every request has the shape of the provider, and never are all of its tools deferred."""
    tools = capdisc("tools", *query, "--format", form, "--defer", *hosted).json
    jsonschema.validate(tools, DEFERRED[form])
    assert any(not tool.get("defer_loading") for tool in tools if tool.get("type") != "namespace")


@pytest.mark.parametrize("form", FORMATS)
def test_an_answer_refers_to_what_the_request_defined(capdisc, data, form) -> None:
    """The names of an answer are those of the request, also where two capabilities share one."""
    answer = capdisc(
        "call", "tool_search", '{"query": "get a pet"}', "--format", form, "--call-id", "c1"
    ).json
    jsonschema.validate(answer, SEARCH_ANSWERS[form])
    defined = capdisc("tools", "--format", "anthropic", "--defer").json
    names = [
        part.get("tool_name") or part["name"]
        for part in (answer["content"] if form == "anthropic" else flat(answer["tools"]))
    ]
    assert {"petstore_getPet", "zoo_getPet"} <= set(names) <= {tool["name"] for tool in defined}
    assert "c1" in (answer.get("tool_use_id"), answer.get("call_id"))


@pytest.mark.parametrize("form", FORMATS)
def test_an_answer_with_nothing_found_is_still_what_the_provider_takes(
    capdisc, data, form
) -> None:
    answer = capdisc("call", "tool_search", '{"query": "qqxzv wkrtl"}', "--format", form).json
    jsonschema.validate(answer, SEARCH_ANSWERS[form])


def test_a_capability_cannot_take_the_name_of_the_provider_s_search(
    capdisc, hermetic, monkeypatch
) -> None:
    index(
        capdisc,
        hermetic,
        monkeypatch,
        {**EVENT, "name": "tool_search_tool_bm25"},
        {**EVENT, "name": "tool_search"},
    )
    tools = capdisc("tools", "--format", "anthropic", "--defer", "--hosted").json
    jsonschema.validate(tools, DEFERRED["anthropic"])
    names = [tool["name"] for tool in tools]
    assert len(set(names)) == len(names) == 3
    assert "tool_search" not in names


def test_more_than_a_request_may_hold_are_refused(capdisc, data, monkeypatch) -> None:
    monkeypatch.setattr("capdisc_indexer.tools.provider_formats.MAX_DEFERRED", 3)
    done = capdisc("tools", "--format", "anthropic", "--defer")
    assert (done.code, done.out) == (2, "")
    assert "at most 3 are accepted" in done.err


@pytest.mark.sdk
@pytest.mark.parametrize("query", [(), ("get a pet",)])
@pytest.mark.parametrize("hosted", [(), ("--hosted",)])
def test_the_types_of_the_providers_accept_requests_and_answers(
    capdisc, data, query, hosted
) -> None:
    pytest.importorskip("anthropic", reason="needs the package anthropic")
    pytest.importorskip("openai", reason="needs the package openai")
    from anthropic.types import ToolResultBlockParam, ToolUnionParam
    from openai.types.responses import ToolParam
    from openai.types.responses.response_input_item_param import ResponseInputItemParam

    request = {"anthropic": ToolUnionParam, "openai-responses": ToolParam}
    answer = {"anthropic": ToolResultBlockParam, "openai-responses": ResponseInputItemParam}
    for form in FORMATS:
        check_type(
            request[form], capdisc("tools", *query, "--format", form, "--defer", *hosted).json
        )
        call = capdisc(
            "call", "tool_search", '{"query": "get a pet"}', "--format", form, "--call-id", "c"
        )
        check_type(answer[form], [call.json])


@pytest.mark.sdk
def test_the_types_of_google_accept_every_definition(capdisc, data) -> None:
    types = pytest.importorskip("google.genai.types", reason="needs the package google-genai")
    for tool in capdisc("tools", "--static", "--format", "gemini").json:
        assert types.Tool.model_validate(tool).function_declarations


def check_type(type_of_item: object, values: list[object]) -> None:
    """Raises ValidationError for a value that the type does not take, or takes only in part."""
    from pydantic import TypeAdapter

    # In a variable, since what pydantic reads lazily needs it to the end.
    adapter = TypeAdapter(type_of_item)
    for value in values:
        taken = drain(adapter.validate_python(value))
        assert taken == value


def drain(value: object) -> object:
    """The value with iterables read to their end: pydantic checks those as they are read."""
    if isinstance(value, dict):
        return {key: drain(inner) for key, inner in value.items()}
    if hasattr(value, "__iter__") and not isinstance(value, str):
        return [drain(inner) for inner in value]
    return value


def test_all_lists_every_discovery_tool_and_the_count_is_the_one_given(capdisc, data) -> None:
    """--all lists every discovery tool of the table, no more and no fewer (S12, S14)."""
    assert capdisc("tools", "--all", "--names").out.split() == list(TOOLS)


@pytest.mark.parametrize("form", [form for form in TOOL_FORMATS if form != "json"])
def test_each_form_of_definitions_is_what_its_provider_takes(capdisc, data, form) -> None:
    """Definitions satisfy the JSON schema of every provider's form (S16, S222)."""
    for argv in (("--static",), ("get a pet",)):
        jsonschema.validate(capdisc("tools", *argv, "--format", form).json, FORMS[form])


def test_our_own_form_has_ids_kinds_and_tokens(capdisc, data) -> None:
    """The product's own form satisfies its schema and names its version and choice (S16)."""
    found = capdisc("tools", "--static").json
    jsonschema.validate(found["tools"], FORMS["json"])
    assert (found["schema_version"], found["choice"]) == (1, "static")
