"""Which tool gives what another one needs, where a route, a name or a text alone says what that is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest


def _write_lines(folder: Path, *rows: tuple[str, str], **parameters: list[str]) -> Path:
    """A catalogue of names and descriptions; required parameters only for the names given."""
    lines = [
        {
            "id": f"shop::{name}",
            "name": name,
            "description": text,
            "parameters": [
                {"name": each, "type": "string", "required": True}
                for each in parameters.get(name, ())
            ],
        }
        for name, text in rows
    ]
    folder.mkdir()
    (folder / "corpus.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def _edges(capdisc, folder: Path) -> dict[str, list[str]]:
    """The producers of each consumer, by name."""
    assert capdisc("index", str(folder)).code == 0
    edges = capdisc("graph", "--json", "--edge", "takes-input-from", "--limit", "500").json[
        "edges"
    ]
    found: dict[str, list[str]] = {}
    for edge in edges:
        source, target = (edge[end].partition("::")[2] for end in ("source", "target"))
        found.setdefault(source, []).append(target)
    return {source: sorted(targets) for source, targets in found.items()}


@pytest.mark.parametrize(
    ("consumer", "producers"),
    [
        ("GET /movie/{movie_id}/credits", ["GET /search/movie"]),
        ("GET /v2/albums/{id}/tracks", ["GET /me/albums", "GET /search"]),
        ("GET /albums/:id", ["GET /me/albums", "GET /search"]),
        ("GET /projects/{project_id}", ["GET /projects"]),
        ("GET /projects/{project_id}/issues/{number}", ["GET /projects"]),
        ("POST /users/{user_id}/letters", ["GET /me"]),
        ("PUT /covers/{id}/text", ["GET /covers/{id}/text"]),
        ("GET /lamps/{lamp_id}", []),
        ("POST /projects", []),
    ],
)
def test_a_route_says_what_it_needs_and_what_it_gives(
    capdisc, tmp_path, consumer, producers
) -> None:
    others = [
        ("GET /search", "Find albums, songs or people that match a text."),
        ("GET /search/movie", "Search for films."),
        ("GET /me/albums", "What the user keeps."),
        ("GET /me", "The profile of the one who asks."),
        ("GET /projects", "Everything that is being built."),
        ("GET /covers/{id}/text", "The words on a cover."),
        ("DELETE /movies", "Throw all films away."),
    ]
    folder = _write_lines(tmp_path / "shop", (consumer, "Do it."), *others)
    assert _edges(capdisc, folder).get(consumer, []) == producers


def test_a_request_brings_the_search_along_that_nobody_asked_for(capdisc, tmp_path) -> None:
    rows = [
        ("GET /movie/{movie_id}/credits", "Get the cast and crew."),
        ("GET /search/movie", "…"),
    ]
    fillers = [(f"GET /{word}", f"Paints a {word}.") for word in ("wall", "door", "fence", "boat")]
    assert capdisc("index", str(_write_lines(tmp_path / "shop", *rows, *fillers))).code == 0
    found = capdisc("search", "cast and crew of a film", "--json").json["hits"]
    assert [hit["title"] for hit in found[:2]] == [name for name, _ in rows]
    assert found[1]["via"] == found[0]["id"]


def test_a_bare_id_of_an_openapi_document_is_that_of_its_route(capdisc, tmp_path) -> None:
    key = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
    paths = {
        "/albums/{id}": {"get": {"operationId": "get-an-album", "parameters": [key]}},
        "/find": {"get": {"operationId": "find", "description": "Albums and artists by text."}},
        "/orders": {"get": {"operationId": "everything", "description": "All that was sold."}},
        "/orders/{id}": {"delete": {"operationId": "undo", "parameters": [key]}},
    }
    (tmp_path / "shop").mkdir()
    document = {"openapi": "3.0.0", "info": {"title": "Shop", "version": "1"}, "paths": paths}
    (tmp_path / "shop" / "openapi.json").write_text(json.dumps(document))
    assert capdisc("index", str(tmp_path / "shop")).code == 0
    edges = capdisc("graph", "--json", "--edge", "takes-input-from").json["edges"]
    pairs = {tuple(edge[end].rpartition(".")[2] for end in ("source", "target")) for edge in edges}
    assert pairs == {("get-an-album", "find"), ("undo", "everything")}


@pytest.mark.parametrize(
    "login", ["login", "authenticate_user", "getAccessToken", "start_session"]
)
@pytest.mark.parametrize("secret", ["access_token", "session_id", "token"])
def test_who_needs_a_token_logs_in_first(capdisc, tmp_path, login, secret) -> None:
    rows = [
        (login, "With a name and a password."),
        ("pay_bill", "Pays a bill."),
        ("list_logins", "Who came in, and when."),
        ("next_page", "Goes on reading."),
    ]
    needs = {"pay_bill": [secret], login: ["password"], "next_page": ["page_token"]}
    folder = _write_lines(tmp_path / "bank", *rows, **needs)
    assert _edges(capdisc, folder) == {"pay_bill": [login]}


@pytest.mark.parametrize(
    ("consumer", "text", "producers"),
    [
        ("update_invoice", "Changes it.", ["list_invoices"]),
        ("acme_delete_invoice", "Takes it away.", ["acme_list_invoices"]),
        ("getInvoiceDetails", "Shows a specific invoice.", ["list_invoices"]),
        ("get_invoice_by_id", "Shows a single invoice.", ["list_invoices"]),
        ("get_invoice_by_number", "Shows a single invoice.", []),
        ("get_invoice", "Shows what it says.", []),
        ("delete_invoices", "Takes them all away.", []),
        ("create_invoice", "Writes one by id.", []),
        ("send_mail", "Call list_invoices first to know the sum.", ["list_invoices"]),
        ("send_mail", "Call this first, then list_letters.", []),
    ],
)
def test_a_name_without_parameters_says_what_must_be_found_first(
    capdisc, tmp_path, consumer, text, producers
) -> None:
    prefix = "acme_" if consumer.startswith("acme") else ""
    rows = [(consumer, text), (f"{prefix}list_invoices", "What is owed."), ("list_boats", "…")]
    assert _edges(capdisc, _write_lines(tmp_path / "shop", *rows)).get(consumer, []) == producers


def test_names_of_any_letters_are_no_rule_of_a_search(capdisc, tmp_path) -> None:
    rows = [
        ("GET /rooms/{id}", "Shows (one."),
        ("取得", "…"),
        ("GET /rooms", "All of them."),
        ("***", "…"),
    ]
    odd = {"GET /rooms/{id}": ["filter[(id", "{id}"], "取得": ["(room_id"], "***": ["room_id"]}
    edges = _edges(capdisc, _write_lines(tmp_path / "inn", *rows, **odd))
    assert edges["GET /rooms/{id}"] == ["GET /rooms"]
