"""One operation of an API, in the fields of a manifest."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from capdisc_indexer.sources.formats.derived_capability import plain_part
from capdisc_indexer.sources.formats.manifest_adapter import CapabilityDraft
from capdisc_indexer.sources.formats.openapi.api import ApiDocument, server_url
from capdisc_indexer.sources.formats.openapi.operation_inputs import OperationInputs, inputs_of
from capdisc_indexer.sources.formats.openapi.referenced_schemas import SchemaWriter
from capdisc_indexer.sources.readers.yaml_nodes import Json
from capdisc_indexer.sources.scan.scanned_files import FoundFile
from capdisc_indexer.text.normalization import one_line, split_lead

# The secrets that an operation needs: by name, never by value.

_NO_NAME = re.compile(r"[^A-Z0-9]+")


def secrets_of(
    document: ApiDocument, api: str, operation: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Each secret with the place that it has in a request; none where the operation does without.

    Of several ways to sign in, the first one is meant.
    """
    ways = operation.get("security", document.value.get("security"))
    if not isinstance(ways, list) or any(way == {} for way in ways):
        return []
    way = next((requirement for requirement in ways if isinstance(requirement, dict)), {})
    schemes = document.table("securityDefinitions")
    if document.version > 2:
        components = document.table("components").get("securitySchemes")
        schemes = components if isinstance(components, dict) else {}
    placed_secrets = (
        _placed_secret(api, name, document.resolve(schemes.get(name)) or {}) for name in way
    )
    return [secret for secret in placed_secrets if secret]


def secret_name(api: str, scheme: str) -> str:
    """How the environment names the secret of a scheme.

    >>> secret_name("tmdb", "api_key"), secret_name("4chan", "key")
    ('TMDB_API_KEY', 'API_4CHAN_KEY')
    """
    name = _NO_NAME.sub("_", f"{api}_{scheme}".upper()).strip("_")
    return (name if name[:1].isalpha() else f"API_{name}")[:128].rstrip("_")


def _placed_secret(api: str, scheme: str, declared: Mapping[str, Any]) -> dict[str, Any] | None:
    secret = {"secret": secret_name(api, scheme)}
    kind, where, name = declared.get("type"), declared.get("in"), declared.get("name")
    if kind == "apiKey" and where in ("header", "query") and isinstance(name, str):
        return {**secret, "in": where, "name": name, "prefix": ""}
    if kind == "basic" or (kind == "http" and str(declared.get("scheme", "")).lower() == "basic"):
        return {**secret, "in": "header", "name": "Authorization", "prefix": "Basic "}
    return secret if kind in ("oauth2", "openIdConnect", "http") else None


OUTPUT_DEPTH, OUTPUT_NODES = 4, 100
SAFE_METHODS = frozenset({"get", "head", "options", "trace"})

_HOST = re.compile(r"https?://[^/?#{}\s]+")


def operation_of(
    file: FoundFile,
    document: ApiDocument,
    api: str,
    path: str,
    method: str,
    item: Mapping[str, Any],
    operation: Mapping[str, Any],
) -> CapabilityDraft:
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
        "requiredSecrets": list(dict.fromkeys(secret["secret"] for secret in secrets)),
        **_risk(method),
        **_texts(operation, method, path),
        **_links(operation, api),
    }
    if output:
        fields["outputSchema"] = output
    return CapabilityDraft(
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
    operation_id = operation.get("operationId")
    return (
        (plain_part(operation_id) if isinstance(operation_id, str) else "")
        or plain_part(f"{method} {path}")
        or method
    )


def _texts(operation: Mapping[str, Any], method: str, path: str) -> dict[str, Json]:
    texts = {
        key: operation[key].strip()
        for key in ("summary", "description")
        if isinstance(operation.get(key), str)
    }
    summary, described = one_line(texts.get("summary", ""), 200), texts.get("description", "")
    short, description = split_lead(described or summary or f"{method.upper()} {path}")
    tags = operation.get("tags")
    listed: list[Json] = (
        [one_line(tag, 64) for tag in tags if isinstance(tag, str)]
        if isinstance(tags, list)
        else []
    )
    listed += ["deprecated"] if operation.get("deprecated") is True else []
    titled: dict[str, Json] = {"title": summary} if summary else {}
    return (
        titled
        | {"description": short, "tags": listed}
        | ({"content": description} if description else {})
    )


def _risk(method: str) -> dict[str, Json]:
    if method in SAFE_METHODS:
        return {"riskLevel": "low", "hasSideEffects": False}
    is_delete = method == "delete"
    risk = "high" if is_delete else "medium"
    return {"riskLevel": risk, "hasSideEffects": True, "requiresConfirmation": is_delete}


def _links(operation: Mapping[str, Any], api: str) -> dict[str, Json]:
    """Operations that have to come first, where the document names them; none is guessed."""
    named = operation.get("x-requires")
    listed = named if isinstance(named, list) else [named]
    needed: list[Json] = [
        f"operation:{api}.{plain_part(needed_id)}"
        for needed_id in listed
        if isinstance(needed_id, str) and needed_id
    ]
    return {"requires": needed} if needed else {}


def _output(document: ApiDocument, operation: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of what comes back when all went well, shortened; empty where the document does
    not say.
    """
    responses = operation.get("responses")
    answers = responses if isinstance(responses, dict) else {}
    good = sorted((code for code in answers if str(code).startswith("2")), key=str)
    answer = document.resolve(answers[good[0]] if good else answers.get("default")) or {}
    content = answer.get("content")
    medias = content if isinstance(content, dict) else {}
    media: Any = medias.get("application/json") or next(iter(medias.values()), {})
    declared = (
        answer.get("schema")
        if document.version == 2
        else media.get("schema")
        if isinstance(media, dict)
        else None
    )
    return SchemaWriter(document, OUTPUT_DEPTH, OUTPUT_NODES, "writeOnly", characters=160).schema(
        declared
    )


def _run(
    url: str, method: str, inputs: OperationInputs, secrets: list[dict[str, Any]]
) -> dict[str, Any] | None:
    """How to call it; None where the document does not say on which host."""
    if not _HOST.match(url) or method == "trace":
        return None
    request: dict[str, Any] = {
        "method": method.upper(),
        "url": url,
        "parameters": inputs.places(),
        "security": secrets,
    }
    return {"http": request | ({"body": "form"} if inputs.is_form else {})}


def _extra(
    api: str,
    path: str,
    method: str,
    inputs: OperationInputs,
    output: dict[str, Any],
    operation: Mapping[str, Any],
) -> dict[str, Any]:
    facts = {
        "api": api,
        "type": "query" if method in SAFE_METHODS else "mutation",
        "method": method.upper(),
        "path": path,
        "parameters": inputs.parameter_entries(),
        "response_schema": output,
    }
    return facts | ({"deprecated": True} if operation.get("deprecated") is True else {})
