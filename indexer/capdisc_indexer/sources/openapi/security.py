"""The secrets that an operation needs: by name, never by value."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from capdisc_indexer.sources.openapi.document import Document

_NO_NAME = re.compile(r"[^A-Z0-9]+")


def secrets_of(document: Document, api: str, operation: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Each secret with the place that it has in a request; none where the operation does without.

    Of several ways to sign in, the first one is meant.
    """
    ways = operation.get("security", document.value.get("security"))
    if not isinstance(ways, list) or any(way == {} for way in ways):
        return []
    way = next((each for each in ways if isinstance(each, dict)), {})
    schemes = document.table("securityDefinitions")
    if document.version > 2:
        components = document.table("components").get("securitySchemes")
        schemes = components if isinstance(components, dict) else {}
    found = (_placed(api, name, document.followed(schemes.get(name)) or {}) for name in way)
    return [each for each in found if each]


def secret_name(api: str, scheme: str) -> str:
    """How the environment names the secret of a scheme.

    >>> secret_name("tmdb", "api_key"), secret_name("4chan", "key")
    ('TMDB_API_KEY', 'API_4CHAN_KEY')
    """
    name = _NO_NAME.sub("_", f"{api}_{scheme}".upper()).strip("_")
    return (name if name[:1].isalpha() else f"API_{name}")[:128].rstrip("_")


def _placed(api: str, scheme: str, declared: Mapping[str, Any]) -> dict[str, Any] | None:
    secret = {"secret": secret_name(api, scheme)}
    kind, where, name = declared.get("type"), declared.get("in"), declared.get("name")
    if kind == "apiKey" and where in ("header", "query") and isinstance(name, str):
        return {**secret, "in": where, "name": name, "prefix": ""}
    if kind == "basic" or (kind == "http" and str(declared.get("scheme", "")).lower() == "basic"):
        return {**secret, "in": "header", "name": "Authorization", "prefix": "Basic "}
    return secret if kind in ("oauth2", "openIdConnect", "http") else None
