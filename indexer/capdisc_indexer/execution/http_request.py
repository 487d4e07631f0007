"""Arguments in an HTTP request: the manifest names scheme and host, the arguments fill what comes
after.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from capdisc_indexer.execution.argv_template import argument_text
from capdisc_indexer.execution.call_preview import check_variable
from capdisc_indexer.execution.call_types import Credential, ExecutionContext, HttpCall
from capdisc_indexer.execution.process import check_secrets
from capdisc_indexer.model.errors import InputError, UsageError
from capdisc_indexer.model.json_types import Arguments

METHODS = ("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE")
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
FORM_CONTENT_TYPE = "application/x-www-form-urlencoded"

_BASE_URL = re.compile(r"https?://[^/?#{}\s]+(?=[/?#]|\Z)", re.IGNORECASE)
_URL_PLACEHOLDER = re.compile(r"\{([^{}/]+)\}")
# Of the marks that a header's name may have, those that mean nothing to a shell.
_HEADER_NAME = re.compile(r"[A-Za-z0-9+._~-]+", re.ASCII)
# What says where a request goes and where it ends.
_RESERVED_HEADERS = frozenset(
    "host connection content-length transfer-encoding te trailer upgrade expect".split()
)


def build_http_call(
    http: Mapping[str, Any], arguments: Arguments, ctx: ExecutionContext
) -> HttpCall:
    """The request of `run.http`: {method, url, parameters: [{name, in}], body: json|form,
    security}.

    `in` is path, query, header, cookie or body; a single body parameter named `body` is the whole
    body. Raises InputError for a request that is none, UsageError for values that have no place in
    it.
    """
    method = str(http.get("method", "GET")).upper()
    if method not in METHODS:
        raise InputError(f"its method {method!r} is none", f"one of: {', '.join(METHODS)}")
    by_place = _group_by_location(http.get("parameters"), arguments)
    headers = [*_build_headers(by_place["header"]), *_build_cookie_header(by_place["cookie"])]
    kind, body = _encode_body(by_place["body"], http.get("body") == "form")
    return HttpCall(
        method=method,
        url=_add_query(_build_url(http.get("url"), by_place["path"]), by_place["query"]),
        headers=(*headers, *((("Content-Type", kind),) if body is not None else ())),
        body=body,
        credentials=tuple(map(_parse_credential, _as_list(http.get("security")))),
        allow_http=ctx.allow_http,
        allow_private=ctx.allow_private,
    )


def parameter_names(http: Mapping[str, Any]) -> list[str]:
    """The arguments that the request has a place for."""
    return [
        str(parameter.get("name"))
        for parameter in _as_list(http.get("parameters"))
        if isinstance(parameter, Mapping)
    ]


def _as_list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else []


def _group_by_location(parameters: Any, arguments: Arguments) -> dict[str, dict[str, Any]]:
    by_location: dict[str, dict[str, Any]] = {
        name: {} for name in ("path", "query", "header", "cookie", "body")
    }
    for parameter in _as_list(parameters):
        where = parameter.get("in") if isinstance(parameter, Mapping) else None
        if where not in by_location:
            raise InputError(
                "one of its parameters has no place in the request", f"in: {', '.join(by_location)}"
            )
        if (value := arguments.get(str(parameter.get("name")))) is not None:
            by_location[where][str(parameter["name"])] = value
    return by_location


def _build_url(url: Any, values: Mapping[str, Any]) -> str:
    from urllib.parse import quote

    base = _BASE_URL.match(url) if isinstance(url, str) else None
    if base is None:
        raise InputError(
            "its URL does not begin with https:// and a host",
            "arguments can fill what follows the host",
        )

    def value(match: re.Match[str]) -> str:
        if match[1] not in values:
            raise UsageError(f"its URL needs {match[1]}, which was not given", "give it")
        text = argument_text(values[match[1]])
        if text in ("", ".", ".."):
            raise UsageError(
                f"{match[1]} cannot be {text!r} in a URL: it would lead to another place",
                "give it whole",
            )
        return quote(text, safe="")

    return base[0] + _URL_PLACEHOLDER.sub(value, base.string[base.end() :])


def _add_query(url: str, values: Mapping[str, Any]) -> str:
    from urllib.parse import quote, urlencode

    if not values:
        return url
    pairs = [
        (name, argument_text(item)) for name, value in values.items() for item in _as_items(value)
    ]
    return f"{url}{'&' if '?' in url else '?'}{urlencode(pairs, quote_via=quote)}"


def _as_items(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else [value]


def _build_headers(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [
        (_check_header_name(name), _check_header_value(name, argument_text(value)))
        for name, value in values.items()
    ]


def _check_header_name(name: str) -> str:
    if not _HEADER_NAME.fullmatch(name) or name.lower() in _RESERVED_HEADERS:
        raise InputError(f"its header {name!r} cannot be set", "leave it out of the parameters")
    return name


def _check_header_value(name: str, text: str) -> str:
    if not text.isprintable() or not text.isascii():
        raise UsageError(f"{name} holds what no header can carry", "use printable ASCII")
    return text


def _build_cookie_header(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    from urllib.parse import quote

    pairs = [
        f"{_check_header_name(name)}={quote(argument_text(value), safe='')}"
        for name, value in values.items()
    ]
    return [("Cookie", "; ".join(pairs))] if pairs else []


def _encode_body(values: Mapping[str, Any], is_form: bool) -> tuple[str, bytes | None]:
    from urllib.parse import urlencode

    if not values:
        return "", None
    content = values["body"] if list(values) == ["body"] else values
    if is_form and isinstance(content, Mapping):
        pairs = [
            (name, argument_text(item))
            for name, value in content.items()
            for item in _as_items(value)
        ]
        return FORM_CONTENT_TYPE, urlencode(pairs).encode()
    import json

    return "application/json", json.dumps(content, ensure_ascii=False).encode("utf-8", "replace")


def _parse_credential(declared: Any) -> Credential:
    """A name alone is a bearer token; {secret, in, name, prefix} says more."""
    if isinstance(declared, str):
        return Credential(secret=_secret(declared))
    if not isinstance(declared, Mapping) or not isinstance(secret := declared.get("secret"), str):
        raise InputError(
            "its security names no secret",
            "security: [NAME] or [{secret: NAME, in: header, name: ...}]",
        )
    name = str(declared.get("name", "Authorization"))
    where, prefix = (
        declared.get("in", "header"),
        str(declared.get("prefix", "" if "name" in declared else "Bearer ")),
    )
    if where not in ("header", "query"):
        raise InputError(f"its secret {secret} has no place in the request", "in: header or query")
    return Credential(
        secret=_secret(secret), place=where, name=_check_header_name(name), prefix=prefix
    )


def _secret(name: str) -> str:
    check_secrets([name])
    return check_variable(name)
