"""Arguments in an HTTP request: the manifest names scheme and host, the arguments fill what comes after."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from capdisc_indexer.errors import InputError, UsageError
from capdisc_indexer.running.quoting import variable
from capdisc_indexer.running.surroundings import check_secrets
from capdisc_indexer.running.values import Credential, HttpCall, Place
from capdisc_indexer.running.words import text_of

METHODS = ("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE")
READING = ("GET", "HEAD", "OPTIONS")
FORM = "application/x-www-form-urlencoded"

_BASE = re.compile(r"https?://[^/?#{}\s]+(?=[/?#]|\Z)", re.IGNORECASE)
_PLACE = re.compile(r"\{([^{}/]+)\}")
# Of the marks that a header's name may have, those that mean nothing to a shell.
_TOKEN = re.compile(r"[A-Za-z0-9+._~-]+", re.ASCII)
# What says where a request goes and where it ends.
_OURS = frozenset("host connection content-length transfer-encoding te trailer upgrade expect".split())


def http_call(http: Mapping[str, Any], arguments: Mapping[str, Any], place: Place) -> HttpCall:
    """The request of `run.http`: {method, url, parameters: [{name, in}], body: json|form, security}.

    `in` is path, query, header, cookie or body; a single body parameter named `body` is the whole body. Raises
    InputError for a request that is none, UsageError for values that have no place in it.
    """
    method = str(http.get("method", "GET")).upper()
    if method not in METHODS:
        raise InputError(f"its method {method!r} is none", f"one of: {', '.join(METHODS)}")
    by_place = _by_place(http.get("parameters"), arguments)
    headers = [*_headers(by_place["header"]), *_cookie(by_place["cookie"])]
    kind, body = _body(by_place["body"], http.get("body") == "form")
    return HttpCall(
        method=method,
        url=_with_query(_url(http.get("url"), by_place["path"]), by_place["query"]),
        headers=(*headers, *((("Content-Type", kind),) if body is not None else ())),
        body=body,
        credentials=tuple(map(_credential, _list(http.get("security")))),
        allow_http=place.allow_http,
        allow_private=place.allow_private,
    )


def names(http: Mapping[str, Any]) -> list[str]:
    """The arguments that the request has a place for."""
    return [str(each.get("name")) for each in _list(http.get("parameters")) if isinstance(each, Mapping)]


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else []


def _by_place(parameters: Any, arguments: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {name: {} for name in ("path", "query", "header", "cookie", "body")}
    for each in _list(parameters):
        where = each.get("in") if isinstance(each, Mapping) else None
        if where not in found:
            raise InputError("one of its parameters has no place in the request", f"in: {', '.join(found)}")
        if (value := arguments.get(str(each.get("name")))) is not None:
            found[where][str(each["name"])] = value
    return found


def _url(url: Any, values: Mapping[str, Any]) -> str:
    from urllib.parse import quote

    base = _BASE.match(url) if isinstance(url, str) else None
    if base is None:
        raise InputError("its URL does not begin with https:// and a host", "arguments can fill what follows the host")

    def value(match: re.Match[str]) -> str:
        if match[1] not in values:
            raise UsageError(f"its URL needs {match[1]}, which was not given", "give it")
        text = text_of(values[match[1]])
        if text in ("", ".", ".."):
            raise UsageError(f"{match[1]} cannot be {text!r} in a URL: it would lead to another place", "give it whole")
        return quote(text, safe="")

    return base[0] + _PLACE.sub(value, base.string[base.end() :])


def _with_query(url: str, values: Mapping[str, Any]) -> str:
    from urllib.parse import quote, urlencode

    if not values:
        return url
    pairs = [(name, text_of(item)) for name, value in values.items() for item in _items(value)]
    return f"{url}{'&' if '?' in url else '?'}{urlencode(pairs, quote_via=quote)}"


def _items(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else [value]


def _headers(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(_header_name(name), _header_value(name, text_of(value))) for name, value in values.items()]


def _header_name(name: str) -> str:
    if not _TOKEN.fullmatch(name) or name.lower() in _OURS:
        raise InputError(f"its header {name!r} cannot be set", "leave it out of the parameters")
    return name


def _header_value(name: str, text: str) -> str:
    if not text.isprintable() or not text.isascii():
        raise UsageError(f"{name} holds what no header can carry", "use printable ASCII")
    return text


def _cookie(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    from urllib.parse import quote

    pairs = [f"{_header_name(name)}={quote(text_of(value), safe='')}" for name, value in values.items()]
    return [("Cookie", "; ".join(pairs))] if pairs else []


def _body(values: Mapping[str, Any], is_form: bool) -> tuple[str, bytes | None]:
    from urllib.parse import urlencode

    if not values:
        return "", None
    whole = values["body"] if list(values) == ["body"] else values
    if is_form and isinstance(whole, Mapping):
        pairs = [(name, text_of(item)) for name, value in whole.items() for item in _items(value)]
        return FORM, urlencode(pairs).encode()
    import json

    return "application/json", json.dumps(whole, ensure_ascii=False).encode("utf-8", "replace")


def _credential(declared: Any) -> Credential:
    """A name alone is a bearer token; {secret, in, name, prefix} says more."""
    if isinstance(declared, str):
        return Credential(secret=_secret(declared))
    if not isinstance(declared, Mapping) or not isinstance(secret := declared.get("secret"), str):
        raise InputError("its security names no secret", "security: [NAME] or [{secret: NAME, in: header, name: ...}]")
    name = str(declared.get("name", "Authorization"))
    where, prefix = declared.get("in", "header"), str(declared.get("prefix", "" if "name" in declared else "Bearer "))
    if where not in ("header", "query"):
        raise InputError(f"its secret {secret} has no place in the request", "in: header or query")
    return Credential(secret=_secret(secret), place=where, name=_header_name(name), prefix=prefix)


def _secret(name: str) -> str:
    check_secrets([name])
    return variable(name)
