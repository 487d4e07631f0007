"""Which HTTP request a manifest and arguments make: the manifest names scheme and host, the
arguments fill what comes after.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping

from capdisc_indexer.model.errors import InputError, UsageError
from capdisc_indexer.model.json_types import Arguments
from capdisc_indexer.tools.call_context import ExecutionContext
from capdisc_run.argv_template import argument_text
from capdisc_run.call_types import Credential, HttpCall
from capdisc_run.process import check_secrets, check_variable
from capdisc_run.run_declaration import HttpRun

METHODS = ("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE")
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
FORM_CONTENT_TYPE = "application/x-www-form-urlencoded"

# Where a parameter stands in the request.
_LOCATIONS = ("path", "query", "header", "cookie", "body")
_BASE_URL = re.compile(r"https?://[^/?#{}\s]+(?=[/?#]|\Z)", re.IGNORECASE)
_URL_PLACEHOLDER = re.compile(r"\{([^{}/]+)\}")
# Of the characters that the name of a header may have, those that mean nothing to a shell.
_HEADER_NAME = re.compile(r"[A-Za-z0-9+._~-]+", re.ASCII)
# The headers that decide where a request goes and where it ends.
_RESERVED_HEADERS = frozenset(
    "host connection content-length transfer-encoding te trailer upgrade expect".split()
)


def build_http_call(run: HttpRun, arguments: Arguments, ctx: ExecutionContext) -> HttpCall:
    """The request of `run.http`: {method, url, parameters: [{name, in}], body: json|form,
    security}.

    `in` is path, query, header, cookie or body; a single body parameter named `body` is the whole
    body. Raises InputError for a request that is none, UsageError for values that have no place in
    it.
    """
    if run.method not in METHODS:
        raise InputError(f"its method {run.method!r} is none", f"one of: {', '.join(METHODS)}")
    values = _group_by_location(run.parameters, arguments)
    headers = [*_build_headers(values["header"]), *_build_cookie_header(values["cookie"])]
    content_type, body = _encode_body(values["body"], run.is_form)
    if body is not None:
        headers.append(("Content-Type", content_type))
    return HttpCall(
        method=run.method,
        url=_add_query(_build_url(run.url, values["path"]), values["query"]),
        headers=tuple(headers),
        body=body,
        credentials=tuple(map(_parse_credential, run.security)),
        allow_http=ctx.allow_http,
        allow_private=ctx.allow_private,
    )


def parameter_names(run: HttpRun) -> list[str]:
    """The arguments that the request has a place for."""
    return [
        str(parameter.get("name"))
        for parameter in run.parameters
        if isinstance(parameter, Mapping)
    ]


def _group_by_location(
    parameters: Iterable[object], arguments: Arguments
) -> dict[str, dict[str, object]]:
    """The values of the parameters by name, by the location in the request."""
    values: dict[str, dict[str, object]] = {location: {} for location in _LOCATIONS}
    for parameter in parameters:
        if not isinstance(parameter, Mapping) or parameter.get("in") not in _LOCATIONS:
            raise InputError(
                "one of its parameters has no place in the request", f"in: {', '.join(_LOCATIONS)}"
            )
        name = str(parameter.get("name"))
        if (value := arguments.get(name)) is not None:
            values[parameter["in"]][name] = value
    return values


def _build_url(url: object, values: Mapping[str, object]) -> str:
    from urllib.parse import quote

    base = _BASE_URL.match(url) if isinstance(url, str) else None
    if base is None:
        raise InputError(
            "its URL does not begin with https:// and a host",
            "arguments can fill what follows the host",
        )

    def quoted_value(placeholder: re.Match[str]) -> str:
        name = placeholder[1]
        if name not in values:
            raise UsageError(f"its URL needs {name}, which was not given", "give it")
        text = argument_text(values[name])
        if text in ("", ".", ".."):
            raise UsageError(
                f"{name} cannot be {text!r} in a URL: it would lead to another place",
                "give it whole",
            )
        return quote(text, safe="")

    return base[0] + _URL_PLACEHOLDER.sub(quoted_value, base.string[base.end() :])


def _add_query(url: str, values: Mapping[str, object]) -> str:
    from urllib.parse import quote, urlencode

    if not values:
        return url
    pairs = _text_pairs(values)
    return f"{url}{'&' if '?' in url else '?'}{urlencode(pairs, quote_via=quote)}"


def _text_pairs(values: Mapping[str, object]) -> list[tuple[str, str]]:
    """A pair for each value; for a list, one for each of its items."""
    return [
        (name, argument_text(item))
        for name, value in values.items()
        for item in (value if isinstance(value, list) else [value])
    ]


def _build_headers(values: Mapping[str, object]) -> list[tuple[str, str]]:
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


def _build_cookie_header(values: Mapping[str, object]) -> list[tuple[str, str]]:
    from urllib.parse import quote

    pairs = [
        f"{_check_header_name(name)}={quote(argument_text(value), safe='')}"
        for name, value in values.items()
    ]
    return [("Cookie", "; ".join(pairs))] if pairs else []


def _encode_body(values: Mapping[str, object], is_form: bool) -> tuple[str, bytes | None]:
    """Content type and bytes; no bytes where there are no values."""
    from urllib.parse import urlencode

    if not values:
        return "", None
    content = values["body"] if list(values) == ["body"] else values
    if is_form and isinstance(content, Mapping):
        return FORM_CONTENT_TYPE, urlencode(_text_pairs(content)).encode()
    return "application/json", json.dumps(content, ensure_ascii=False).encode("utf-8", "replace")


def _parse_credential(declared: object) -> Credential:
    """A name alone is a bearer token; {secret, in, name, prefix} says more."""
    if isinstance(declared, str):
        return Credential(secret=_check_secret(declared))
    if not isinstance(declared, Mapping) or not isinstance(secret := declared.get("secret"), str):
        raise InputError(
            "its security names no secret",
            "security: [NAME] or [{secret: NAME, in: header, name: ...}]",
        )
    name = str(declared.get("name", "Authorization"))
    prefix = str(declared.get("prefix", "" if "name" in declared else "Bearer "))
    location = declared.get("in", "header")
    if location not in ("header", "query"):
        raise InputError(f"its secret {secret} has no place in the request", "in: header or query")
    return Credential(
        secret=_check_secret(secret), place=location, name=_check_header_name(name), prefix=prefix
    )


def _check_secret(name: str) -> str:
    check_secrets([name])
    return check_variable(name)
