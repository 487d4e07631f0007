"""APIs and operations."""

import pytest

from capdisc_indexer.model.errors import InputError, UsageError


def test_apis_have_name_type_url_and_description(ask) -> None:
    """An API is listed with name, type, URL, description and count of operations (S28)."""
    first = ask("list_apis")["apis"][0]
    assert first == {
        "name": "petstore",
        "type": "openapi",
        "url": "https://pets.example",
        "description": "Pets in a shop.",
        "operations": 2,
    }


def test_operations_are_listed_under_both_names(ask) -> None:
    """Operations are listed alike under both tool names, and by type (S29)."""
    found = ask("list_operations", api="petstore")
    assert found == ask("list_api_operations", api="PETSTORE")
    assert [(each["name"], each["type"]) for each in found["operations"]] == [
        ("addPet", "mutation"),
        ("getPet", "query"),
    ]
    queries = ask("list_operations", api="petstore", operation_type="query")
    assert [each["name"] for each in queries["operations"]] == ["getPet"]


def test_an_operation_that_two_apis_have_needs_the_api(ask) -> None:
    """An operation of two APIs needs the API, and the hint lists both ids (S30)."""
    with pytest.raises(UsageError) as caught:
        ask("get_operation_details", operation="getPet")
    assert "operation:petstore.getPet, operation:zoo.getPet" in caught.value.hint
    assert ask("get_operation_details", operation="get_pet", api="zoo")["path"] == "/tame"
    assert ask("get_operation_details", operation="addPet")["api"] == "petstore"


def test_an_operation_in_full(ask) -> None:
    """An operation has type, method, path, parameters and the schema of its response (S31)."""
    found = ask("get_operation_details", api="petstore", operation="getPet")
    assert (found["type"], found["method"], found["path"]) == ("query", "GET", "/pets/{petId}")
    assert found["parameters"][0]["name"] == "petId"
    assert found["parameters"][0]["required"] is True
    assert found["response_schema"]["properties"] == {"name": {"type": "string"}}


def test_operations_are_searched_by_type_and_api(ask) -> None:
    """Operations are searched by type and by API (S32)."""
    found = ask("search_operations", query="get a pet", operation_type="query", limit=5)
    assert {each["operation"] for each in found["operations"]} == {"getPet"}
    zoo = ask("search_operations", query="get a pet", api="zoo")
    assert [each["api"] for each in zoo["operations"]] == ["zoo"]


@pytest.mark.parametrize("name", ["execute_rest", "execute_graphql"])
def test_calling_an_api_is_no_discovery(ask, name) -> None:
    """The tools that would execute an API call refuse and point to curl (S33)."""
    with pytest.raises(InputError) as caught:
        ask(name)
    assert "not a discovery tool" in caught.value.message
    assert "curl" in caught.value.hint


def test_an_unknown_api_is_told_with_those_that_there_are(ask) -> None:
    with pytest.raises(UsageError) as caught:
        ask("list_operations", api="pets")
    assert "petstore, zoo" in caught.value.hint
