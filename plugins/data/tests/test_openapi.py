"""What an OpenAPI document becomes: the API, and its operations with all a call needs."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from capdisc_indexer.model.types import Descriptor, LoadedFile

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures" / "sources"
Load = Callable[[Mapping[str, str | bytes]], LoadedFile]


@pytest.fixture
def library(load_path: Callable[[Path], LoadedFile], tmp_path: Path) -> dict[str, Descriptor]:
    shutil.copy(FIXTURES / "library.openapi.yaml", tmp_path)
    loaded = load_path(tmp_path)
    assert loaded.findings == ()
    return {each.name: each for each in loaded.descriptors}


def document(paths: Mapping[str, Any], **more: Any) -> str:
    servers = {"servers": [{"url": "https://a.example"}]}
    return json.dumps(
        {
            "openapi": "3.1.0",
            "info": {"title": "A", "version": "1"},
            "paths": paths,
            **servers,
            **more,
        }
    )


def one(
    load: Load, operation: Mapping[str, Any], method: str = "get", path: str = "/x", **more: Any
) -> Descriptor:
    loaded = load({"a.openapi.json": document({path: {method: operation}}, **more)})
    return next(each for each in loaded.descriptors if each.kind == "operation")


def test_a_document_is_an_api_and_its_operations(library) -> None:
    """A document gives one API and its operations (S28, S29)."""
    api = library.pop("library")
    assert (api.id, api.kind, api.title) == ("api:library", "api", "Lending Library")
    url = "https://willow.library.example/v1"
    assert api.extra == {"type": "openapi", "url": url, "version": "1.4.0", "operations": 5}
    assert sorted(each.id for each in library.values()) == [
        "operation:library.addBook",
        "operation:library.findBooks",
        "operation:library.getBook",
        "operation:library.put-loans",
        "operation:library.withdrawBook",
    ]
    assert {each.category for each in library.values()} == {"library"}


def test_an_operation_keeps_what_a_caller_asks_for(library) -> None:
    """An operation keeps method, path, parameters and response (S30, S31)."""
    found = library["getBook"]
    assert found.extra["type"] == "query"
    assert (found.extra["api"], found.extra["method"], found.extra["path"]) == (
        "library",
        "GET",
        "/books/{isbn}",
    )
    assert found.extra["parameters"] == [
        {
            "name": "isbn",
            "in": "path",
            "type": "string",
            "required": True,
            "description": "Thirteen digits",
        }
    ]
    answer = found.extra["response_schema"]
    assert set(answer["properties"]) == {"isbn", "title", "shelf", "added", "sequel"}
    assert found.output_schema == answer


def test_operations_are_told_apart_as_queries_and_mutations(library) -> None:
    """Operations are queries or mutations, which a search filters by (S32)."""
    types = {
        name: each.extra["type"] for name, each in library.items() if each.kind == "operation"
    }
    assert types == {
        "findBooks": "query", "getBook": "query", "addBook": "mutation", "withdrawBook": "mutation",
        "put-loans": "mutation",
    }  # fmt: skip


def test_parameters_and_body_are_one_schema(library) -> None:
    schema = library["findBooks"].schema
    assert schema["required"] == ["words"]
    assert schema["properties"]["limit"] == {
        "type": "integer",
        "default": 10,
        "minimum": 1,
        "maximum": 50,
    }
    body = library["addBook"].schema
    assert sorted(body["properties"]) == ["isbn", "shelf", "title"]
    assert sorted(body["required"]) == ["isbn", "title"]


def test_a_call_is_described_down_to_the_place_of_each_argument(library) -> None:
    """The place of each argument is kept, and nothing is sent (S33)."""
    http = library["addBook"].run["http"]
    assert (http["method"], http["url"]) == ("POST", "https://willow.library.example/v1/books")
    assert {each["in"] for each in http["parameters"]} == {"body"}
    assert http["security"] == [{"secret": "LIBRARY_MEMBER_TOKEN"}]
    form = library["put-loans"].run["http"]
    assert form["body"] == "form"
    assert library["getBook"].run["http"]["parameters"] == [{"name": "isbn", "in": "path"}]


def test_risk_follows_the_method(library) -> None:
    risks = {
        name: (each.risk, each.has_side_effects, each.confirm) for name, each in library.items()
    }
    assert risks["findBooks"] == ("low", False, False)
    assert risks["addBook"] == risks["put-loans"] == ("medium", True, False)
    assert risks["withdrawBook"] == ("high", True, True)


def test_secrets_are_names_and_only_where_they_are_needed(library) -> None:
    assert library["findBooks"].secrets == ()
    assert library["getBook"].secrets == ("LIBRARY_MEMBER_TOKEN",)


def test_tags_and_age_are_kept(library) -> None:
    assert library["findBooks"].tags == ("books",)
    assert library["withdrawBook"].tags == ("deprecated",)
    assert library["withdrawBook"].extra["deprecated"] is True


def test_only_declared_operations_come_first(library) -> None:
    requires = {name: each.requires for name, each in library.items() if each.requires}
    assert requires == {"put-loans": ("operation:library.getBook",)}


def test_summary_is_the_title_and_description_says_the_rest(library) -> None:
    assert library["findBooks"].title == "Find books"
    assert library["findBooks"].description.startswith("Finds books by words")
    assert library["addBook"].description == "Add a book"
    assert library["findBooks"].usage_hint == "GET /books"


def test_a_place_in_the_file_is_that_of_the_method(load: Load, codes) -> None:
    paths = {"/a": {"get": {"operationId": "x"}}, "/b": {"get": {"operationId": "X"}}}
    text = json.dumps({"openapi": "3.0.0", "paths": paths}, indent=1)
    loaded = load({"openapi.json": text})
    line = 1 + next(n for n, each in enumerate(text.splitlines()) if '"X"' in each)
    assert codes(loaded) == [f"warning duplicate-id {line - 1}"]
    yaml = load(
        {
            "y/openapi.yaml": "openapi: 3.0.0\npaths:\n  /a:\n    get: {operationId: x}\n    put: {operationId: x}\n"
        }
    )
    assert "warning duplicate-id 4" in codes(yaml) or "warning duplicate-id 5" in codes(yaml)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"shop.openapi.json": {"title": "Other"}}, "api:shop"),
        ({"shop.json": {"title": "Other"}}, "api:shop"),
        ({"openapi.json": {"title": "The Shop"}}, "api:the-shop"),
        ({"shop/swagger.json": {}}, "api:shop"),
    ],
)
def test_an_api_is_named_by_its_file_its_title_or_its_folder(load: Load, files, expected) -> None:
    texts = {
        path: json.dumps({"openapi": "3.0.0", "info": info, "paths": {}})
        for path, info in files.items()
    }
    assert [each.id for each in load(texts).descriptors] == [expected]


def test_swagger_2_is_read(load: Load) -> None:
    operation = {
        "operationId": "send",
        "consumes": ["application/json"],
        "parameters": [
            {"name": "to", "in": "query", "type": "string", "enum": ["a", "b"], "required": True},
            {"name": "mail", "in": "body", "schema": {"$ref": "#/definitions/Mail"}},
        ],
        "responses": {
            "200": {"schema": {"type": "object", "properties": {"id": {"type": "integer"}}}}
        },
        "security": [{"key": []}],
    }
    value = {
        "swagger": "2.0", "host": "mail.example", "basePath": "/v2", "schemes": ["https"],
        "paths": {"/send": {"post": operation}},
        "definitions": {"Mail": {"type": "object", "properties": {"subject": {"type": "string"}}}},
        "securityDefinitions": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}},
    }  # fmt: skip
    found = {
        each.name: each for each in load({"mail/swagger.json": json.dumps(value)}).descriptors
    }["send"]
    assert found.schema["properties"] == {
        "to": {"type": "string", "enum": ["a", "b"]}, "subject": {"type": "string"},
    }  # fmt: skip
    assert found.run["http"]["url"] == "https://mail.example/v2/send"
    assert found.run["http"]["security"] == [
        {"secret": "MAIL_KEY", "in": "header", "name": "X-Key", "prefix": ""}
    ]
    assert found.output_schema["properties"] == {"id": {"type": "integer"}}


def test_a_form_of_swagger_2_is_a_form(load: Load) -> None:
    operation = {
        "parameters": [{"name": "file", "in": "formData", "type": "file"}],
        "responses": {},
    }
    value = {"swagger": "2.0", "host": "a.example", "paths": {"/up": {"post": operation}}}
    found = next(
        each
        for each in load({"swagger.json": json.dumps(value)}).descriptors
        if each.kind == "operation"
    )
    assert found.run["http"]["body"] == "form"
    assert found.schema["properties"] == {"file": {"type": "string"}}


def test_a_body_that_is_no_object_is_one_argument(load: Load) -> None:
    body = {
        "required": True,
        "content": {
            "application/json": {"schema": {"type": "array", "items": {"type": "string"}}}
        },
    }
    found = one(load, {"requestBody": body}, "post")
    assert found.schema["properties"] == {"body": {"type": "array", "items": {"type": "string"}}}
    assert found.schema["required"] == ["body"]


def test_a_body_whose_fields_are_taken_is_one_argument(load: Load) -> None:
    body = {
        "content": {"application/json": {"schema": {"type": "object", "properties": {"id": {}}}}}
    }
    parameters = [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}]
    found = one(load, {"requestBody": body, "parameters": parameters}, "put", "/x/{id}")
    assert sorted(found.schema["properties"]) == ["body", "id"]


def test_an_operation_overrides_what_its_path_says(load: Load) -> None:
    item = {
        "parameters": [{"name": "n", "in": "query", "schema": {"type": "string"}}],
        "get": {"parameters": [{"name": "n", "in": "query", "schema": {"type": "integer"}}]},
    }
    loaded = load({"a.openapi.json": document({"/x": item})})
    found = next(each for each in loaded.descriptors if each.kind == "operation")
    assert found.schema["properties"] == {"n": {"type": "integer"}}


def test_without_a_host_there_is_no_call(load: Load) -> None:
    found = one(load, {"summary": "Go"}, servers=[{"url": "/v1"}])
    assert found.run is None


def test_carriage_returns_and_stray_controls_of_an_export_are_read_past(load: Load) -> None:
    found = one(load, {"description": "Two lines\r\nand a\x92quote."})
    assert found.description == "Two lines\nand a quote."


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('{"openapi": "4.0.0", "paths": {}}', "openapi-version"),
        ('{"swagger": "1.2"}', "openapi-version"),
        ("[]", "openapi-version"),
        ("", "openapi-version"),
        ("{", "json-syntax"),
        ("openapi: [", "yaml-syntax"),
    ],
)
def test_what_is_no_document_is_said(load: Load, codes, text, code) -> None:
    loaded = load({"x/openapi.json": text})
    assert loaded.descriptors == ()
    assert [each.split()[1] for each in codes(loaded)] == [code]
