"""One operation of an API, in the fields of a manifest."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from capdisc_indexer.sources.files import FoundFile
from capdisc_indexer.sources.lead import lead
from capdisc_indexer.sources.made import plain_part
from capdisc_indexer.sources.nodes import Json
from capdisc_indexer.sources.openapi.api import server_url
from capdisc_indexer.sources.openapi.document import Document
from capdisc_indexer.sources.openapi.inputs import Inputs, inputs_of
from capdisc_indexer.sources.openapi.schemas import Writing
from capdisc_indexer.sources.openapi.security import secrets_of
from capdisc_indexer.sources.shaped import Made
from capdisc_indexer.text import one_line

OUTPUT_DEPTH, OUTPUT_NODES = 4, 100
READING = frozenset({"get", "head", "options", "trace"})

_HOST = re.compile(r"https?://[^/?#{}\s]+")


def operation_of(
    file: FoundFile,
    document: Document,
    api: str,
    path: str,
    method: str,
    item: Mapping[str, Any],
    operation: Mapping[str, Any],
) -> Made:
    """The operation as a capability, with all that a request of it needs."""
    inputs = inputs_of(document, item, operation)
    secrets = secrets_of(document, api, operation)
    output = _output(document, operation)
    fields: dict[str, Json] = {
        "kind": "operation",
        "name": _name(operation, method, path),
        "category": api,
        "usageHint": one_line(f"{method.upper()} {path}", 200),
        "inputSchema": inputs.schema(),
        "requiredSecrets": list(dict.fromkeys(each["secret"] for each in secrets)),
        **_risk(method),
        **_texts(operation, method, path),
        **_links(operation, api),
    }
    if output:
        fields["outputSchema"] = output
    return Made(
        fields=fields,
        line=document.line_of(path, method),
        prefix=f"operation:{api}.",
        run=_run(server_url(file, document) + path, method, inputs, secrets),
        extra=_extra(api, path, method, inputs, output, operation),
    )


def _name(operation: Mapping[str, Any], method: str, path: str) -> str:
    """Its operationId as text that an id can hold, else method and path.

    >>> _name({}, "get", "/movie/{movie_id}")
    'get-movie-movie_id'
    """
    given = operation.get("operationId")
    return (plain_part(given) if isinstance(given, str) else "") or plain_part(f"{method} {path}") or method


def _texts(operation: Mapping[str, Any], method: str, path: str) -> dict[str, Json]:
    said = {key: operation[key].strip() for key in ("summary", "description") if isinstance(operation.get(key), str)}
    summary, described = one_line(said.get("summary", ""), 200), said.get("description", "")
    short, whole = lead(described or summary or f"{method.upper()} {path}")
    tags = operation.get("tags")
    listed: list[Json] = [one_line(tag, 64) for tag in tags if isinstance(tag, str)] if isinstance(tags, list) else []
    listed += ["deprecated"] if operation.get("deprecated") is True else []
    titled: dict[str, Json] = {"title": summary} if summary else {}
    return titled | {"description": short, "tags": listed} | ({"content": whole} if whole else {})


def _risk(method: str) -> dict[str, Json]:
    if method in READING:
        return {"riskLevel": "low", "hasSideEffects": False}
    is_delete = method == "delete"
    risk = "high" if is_delete else "medium"
    return {"riskLevel": risk, "hasSideEffects": True, "requiresConfirmation": is_delete}


def _links(operation: Mapping[str, Any], api: str) -> dict[str, Json]:
    """Operations that have to come first, where the document names them; none is guessed."""
    named = operation.get("x-requires")
    listed = named if isinstance(named, list) else [named]
    needed: list[Json] = [f"operation:{api}.{plain_part(each)}" for each in listed if isinstance(each, str) and each]
    return {"requires": needed} if needed else {}


def _output(document: Document, operation: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of what comes back when all went well, shortened; empty where the document does not say."""
    responses = operation.get("responses")
    answers = responses if isinstance(responses, dict) else {}
    good = sorted((code for code in answers if str(code).startswith("2")), key=str)
    answer = document.followed(answers[good[0]] if good else answers.get("default")) or {}
    content = answer.get("content")
    medias = content if isinstance(content, dict) else {}
    media: Any = medias.get("application/json") or next(iter(medias.values()), {})
    declared = (
        answer.get("schema") if document.version == 2 else media.get("schema") if isinstance(media, dict) else None
    )
    return Writing(document, OUTPUT_DEPTH, OUTPUT_NODES, "writeOnly", characters=160).schema(declared)


def _run(url: str, method: str, inputs: Inputs, secrets: list[dict[str, Any]]) -> dict[str, Any] | None:
    """How to call it; None where the document does not say on which host."""
    if not _HOST.match(url) or method == "trace":
        return None
    request: dict[str, Any] = {"method": method.upper(), "url": url, "parameters": inputs.places(), "security": secrets}
    return {"http": request | ({"body": "form"} if inputs.is_form else {})}


def _extra(
    api: str, path: str, method: str, inputs: Inputs, output: dict[str, Any], operation: Mapping[str, Any]
) -> dict[str, Any]:
    facts = {
        "api": api,
        "type": "query" if method in READING else "mutation",
        "method": method.upper(),
        "path": path,
        "parameters": inputs.listed(),
        "response_schema": output,
    }
    return facts | ({"deprecated": True} if operation.get("deprecated") is True else {})
