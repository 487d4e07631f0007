"""What agent cards, server.json, GraphQL schemas, Postman collections and Python modules become."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from capdisc_indexer.model.types import Descriptor, LoadedFile
from capdisc_indexer.sources.format_table import SOURCES
from found_files import found

Load = Callable[[Mapping[str, str | bytes]], LoadedFile]

CARD: dict[str, Any] = {
    "protocolVersion": "0.3.0",
    "name": "Trip Planner",
    "description": "Plans journeys by train and books the seats.",
    "url": "https://trips.example/a2a",
    "version": "2.1",
    "skills": [
        {
            "id": "find-train",
            "name": "Find a train",
            "description": "Finds a train between two stations.",
            "tags": ["travel"],
            "examples": ["when does the next train to Lyon leave"],
        },
        {"id": "reserve", "name": "Reserve a seat", "description": "Reserves seats on a train."},
    ],
}
SERVER: dict[str, Any] = {
    "$schema": "https://example.invalid/schemas/2025-09-29/server.schema.json",
    "name": "io.example/tide-tables",
    "description": "Tide times and heights for harbours.",
    "version": "1.0.2",
    "packages": [
        {
            "registryType": "npm",
            "identifier": "@example/tides",
            "environmentVariables": [
                {"name": "TIDES_API_KEY", "isRequired": True, "isSecret": True},
                {"name": "TIDES_UNITS"},
            ],
        }
    ],
}
SHOP = '''
schema { query: Root mutation: Change }
type Root {
  "One book by its ISBN."
  book(isbn: ID!): Book
  search(text: String!, first: Int = 10, sort: Sort): [Book!]! @unknown(x: 1)
}
type Change {
  """Puts a book into the basket."""
  addToBasket(input: BasketInput!): Basket @deprecated(reason: "old")
}
extend type Root { me: Customer }
enum Sort { PRICE TITLE }
input BasketInput { isbn: ID! count: Int = 1 gift: Gift }
input Gift { text: String! }
type Book { isbn: ID! title: String author: Author related(first: Int!): [Book] }
type Author { name: String }
type Basket { id: ID! }
'''
BANK: dict[str, Any] = {
    "info": {"name": "Harbour Bank", "description": {"content": "Accounts and transfers."}},
    "variable": [
        {"key": "baseUrl", "value": "https://api.bank.example/v1"},
        {"key": "token", "value": "tok-1234567890-verysecret"},
    ],
    "auth": {"type": "bearer", "bearer": [{"key": "token", "value": "{{token}}"}]},
    "item": [
        {
            "name": "Transfers",
            "item": [
                {
                    "name": "Send money",
                    "request": {
                        "method": "POST",
                        "description": "Transfers money to another account.",
                        "url": {
                            "raw": "{{baseUrl}}/accounts/:id/transfers?dry=1",
                            "variable": [{"key": "id", "value": "77", "description": "Whose."}],
                            "query": [{"key": "dry", "value": "1", "description": "Only check."}],
                        },
                        "body": {"mode": "raw", "raw": '{"to":"DE77","amount":{{amount}}}'},
                    },
                },
                {
                    "name": "Send money (refused)",
                    "request": {"method": "POST", "url": "{{baseUrl}}/accounts/:id/transfers"},
                },
            ],
        },
        {"name": "List accounts", "request": "{{baseUrl}}/accounts"},
    ],
}
MAIL = '''
"""Mail."""
from typing import Literal, Optional

def send(to: list[str], body: str = "hunter2-hunter2", *, priority: Literal["low", "high"] = "low",
         delay: Optional[int] = None) -> bool:
    """Sends an email to several people.

    Args:
        to: The addresses.
        priority: How soon it should be read.

    Returns:
        Whether the server took it.
    """

async def fetch_inbox(limit: "int | None" = 20): ...

def _connect(): ...

class Box:
    def archive(self, message_id: int) -> None:
        """Moves a message to the archive.

        :param message_id: Which message.
        """

    @property
    def size(self) -> int:
        """How many messages."""
'''


def by_id(loaded: LoadedFile) -> dict[str, Descriptor]:
    return {descriptor.id: descriptor for descriptor in loaded.descriptors}


def load_declared(tmp_path: Path, format: str, name: str, text: str) -> LoadedFile:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return SOURCES[format].load(found(path, format), text.encode())


def test_an_agent_card_is_an_agent_and_its_skills(load: Load) -> None:
    loaded = load({"agent-card.json": json.dumps(CARD)})
    assert loaded.findings == ()
    agents = by_id(loaded)
    assert list(agents) == [
        "agent:trip-planner",
        "agent:trip-planner.find-train",
        "agent:trip-planner.reserve",
    ]
    assert agents["agent:trip-planner"].extra["url"] == "https://trips.example/a2a"
    train = agents["agent:trip-planner.find-train"]
    assert train.phrases == ("when does the next train to Lyon leave",)
    assert train.requires == ("agent:trip-planner",)


def test_a_card_of_version_1_has_its_address_in_an_interface(load: Load) -> None:
    interfaces = [{"url": "https://trips.example/v1", "protocolBinding": "JSONRPC"}]
    card = {key: value for key, value in CARD.items() if key != "url"}
    loaded = load(
        {"trips.agent-card.json": json.dumps({**card, "supportedInterfaces": interfaces})}
    )
    assert by_id(loaded)["agent:trip-planner"].extra["url"] == "https://trips.example/v1"


def test_a_skill_without_a_name_costs_the_others_nothing(load: Load) -> None:
    loaded = load({"agent-card.json": json.dumps({**CARD, "skills": [{}, 5, *CARD["skills"]]})})
    assert len(loaded.descriptors) == 3
    assert [finding.code for finding in loaded.findings] == ["agent-card-shape"]


def test_a_server_json_is_a_server_with_the_names_of_its_secrets(load: Load) -> None:
    server = by_id(load({"server.json": json.dumps(SERVER)}))["server:tide-tables"]
    assert server.usage_hint == "npx @example/tides"
    assert server.secrets == ("TIDES_API_KEY",)
    assert server.extra["server"] == "io.example/tide-tables"


@pytest.mark.parametrize("text", ['{"port": 80}', "[]", "", '{"name": "web", "version": "1"}'])
def test_another_server_json_is_nobodys_mistake(load: Load, text: str) -> None:
    loaded = load({"server.json": text})
    assert (loaded.descriptors, loaded.findings) == ((), ())


def test_a_graphql_schema_is_an_api_with_an_operation_for_each_root_field(load: Load) -> None:
    loaded = load({"shop.graphqls": SHOP})
    assert loaded.findings == ()
    operations = by_id(loaded)
    assert operations["api:shop"].description == "The GraphQL API shop: 3 queries, 1 mutation."
    assert set(operations) == {
        "api:shop",
        "operation:shop.book",
        "operation:shop.search",
        "operation:shop.me",
        "operation:shop.addToBasket",
    }
    basket = operations["operation:shop.addToBasket"]
    assert basket.has_side_effects is True
    assert basket.tags == ("deprecated",)
    assert basket.schema["required"] == ["input"]
    gift = basket.schema["properties"]["input"]["properties"]["gift"]
    assert gift["properties"]["text"] == {"type": "string"}
    search = operations["operation:shop.search"]
    assert search.schema["required"] == ["text"]
    assert search.schema["properties"]["sort"] == {"type": "string", "enum": ["PRICE", "TITLE"]}
    assert "query book($isbn: ID!) { book(isbn: $isbn) { isbn title } }" in (
        operations["operation:shop.book"].content
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("type Query {", "not GraphQL"),
        ("query { me { name } }", "holds no schema"),
        ("type Query { a: " + "[" * 20_000, "nested too deep"),
        ('{"data": {"__schema": {}}}', "no answer to an introspection query"),
    ],
)
def test_a_text_that_is_no_schema_says_why(tmp_path: Path, text: str, message: str) -> None:
    name = "a.json" if text.startswith("{") else "a.graphql"
    loaded = load_declared(tmp_path, "graphql", name, text)
    assert loaded.descriptors == ()
    assert message in loaded.findings[0].message


def test_the_answer_to_an_introspection_query_is_a_schema(tmp_path: Path) -> None:
    graphql = pytest.importorskip("graphql")
    schema = graphql.build_schema('type Query { "Says hello." hello(name: String!): String }')
    answer = json.dumps({"data": graphql.introspection_from_schema(schema)})
    loaded = load_declared(tmp_path, "graphql", "greeter.json", answer)
    assert by_id(loaded)["operation:greeter.hello"].description == "Says hello."


def test_a_postman_collection_is_an_api_without_the_values_of_its_examples(load: Load) -> None:
    loaded = load({"bank.postman_collection.json": json.dumps(BANK)})
    assert loaded.findings == ()
    operations = by_id(loaded)
    assert set(operations) == {
        "api:bank",
        "operation:bank.Send-money",
        "operation:bank.List-accounts",
    }
    send = operations["operation:bank.Send-money"]
    assert send.secrets == ("BANK_BEARER",)
    assert send.tags == ("Transfers",)
    assert "Send money (refused)" in send.description
    types = {name: schema["type"] for name, schema in send.schema["properties"].items()}
    assert types == {"id": "string", "dry": "string", "to": "string", "amount": "integer"}
    assert send.run is not None
    assert send.run["http"]["url"] == "https://api.bank.example/v1/accounts/{id}/transfers"
    assert "verysecret" not in repr(loaded)
    assert "DE77" not in repr(loaded)


def test_a_python_module_is_its_public_functions(tmp_path: Path) -> None:
    (tmp_path / "office").mkdir()
    (tmp_path / "office" / "__init__.py").touch()
    loaded = load_declared(tmp_path, "python", "office/mail.py", MAIL)
    functions = by_id(loaded)
    assert set(functions) == {
        "function:office.mail.send",
        "function:office.mail.fetch_inbox",
        "function:office.mail.Box.archive",
    }
    send = functions["function:office.mail.send"]
    assert send.description == "Sends an email to several people."
    assert send.usage_hint == "from office.mail import send"
    assert send.schema == {
        "type": "object",
        "properties": {
            "to": {"type": "array", "items": {"type": "string"}, "description": "The addresses."},
            "body": {"type": "string"},
            "priority": {
                "enum": ["low", "high"],
                "description": "How soon it should be read.",
                "default": "low",
            },
            "delay": {"type": ["integer", "null"]},
        },
        "required": ["to"],
    }
    assert "Returns: Whether the server took it." in send.content
    assert "hunter2" not in repr(loaded)
    archive = functions["function:office.mail.Box.archive"]
    assert archive.schema["properties"] == {
        "message_id": {"type": "integer", "description": "Which message."}
    }


@pytest.mark.parametrize("text", ["def f(:", "x = " + "(" * 5_000, "-" * 100_000 + "1", "a\x00b"])
def test_a_module_that_cannot_be_parsed_is_one_finding(tmp_path: Path, text: str) -> None:
    loaded = load_declared(tmp_path, "python", "broken.py", text)
    assert loaded.descriptors == ()
    assert [finding.severity.value for finding in loaded.findings] == ["error"]


def test_a_module_is_parsed_and_never_run(tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    text = f"open({str(canary)!r}, 'w')\ndef go(): 'Goes.'\n"
    assert len(load_declared(tmp_path, "python", "a.py", text).descriptors) == 1
    assert not canary.exists()
