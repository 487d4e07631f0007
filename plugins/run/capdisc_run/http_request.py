"""Which HTTP request a manifest and arguments make, and what the server answers to it: the
manifest names scheme and host, the arguments fill what comes after, and it is sent to that host
alone.
"""

from __future__ import annotations

import json
import re
import time
import zlib
from base64 import b64encode
from collections.abc import Mapping
from typing import TYPE_CHECKING

from capdisc_indexer.model.errors import InputError, LinkRefusedError, UsageError
from capdisc_indexer.model.frozen import replace
from capdisc_indexer.model.json_types import Arguments
from capdisc_indexer.text.strict_url import OPEN_YOURSELF_HINT, Target, parse_url
from capdisc_indexer.tools.call_context import ExecutionContext
from capdisc_run.argv_template import argument_text
from capdisc_run.call_types import CallLimits, Credential, HttpCall, Outcome
from capdisc_run.connection import (
    Deadline,
    NetworkStack,
    TooLargeError,
    Wire,
    connect_to_target,
    start_deadline,
)
from capdisc_run.process import check_secrets, check_variable

if TYPE_CHECKING:
    from http.client import HTTPResponse

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
_STATUSES_WITHOUT_BODY = (204, 304)
_OWN_HEADERS = (
    ("User-Agent", "capdisc"),
    ("Connection", "close"),
    ("Accept-Encoding", "gzip, deflate"),
)


def build_http_call(
    http: Mapping[str, object], arguments: Arguments, ctx: ExecutionContext
) -> HttpCall:
    """The request of `run.http`: {method, url, parameters: [{name, in}], body: json|form,
    security}.

    `in` is path, query, header, cookie or body; a single body parameter named `body` is the whole
    body. Raises InputError for fields that make no request, UsageError for values that have no
    place in it.
    """
    method = str(http.get("method", "GET")).upper()
    if method not in METHODS:
        raise InputError(f"unknown HTTP method {method!r}", f"one of: {', '.join(METHODS)}")
    values = _group_by_location(http, arguments)
    headers = [
        *((name, _check_header_value(name, text)) for name, text in _headers(values["header"])),
        *_build_cookie_header(values["cookie"]),
    ]
    content_type, body = _encode_body(values["body"], http.get("body") == "form")
    if body is not None:
        headers.append(("Content-Type", content_type))
    return HttpCall(
        method=method,
        url=_add_query(_build_url(http.get("url"), values["path"]), values["query"]),
        headers=tuple(headers),
        body=body,
        credentials=tuple(map(_parse_credential, _items(http, "security"))),
        allow_http=ctx.allow_http,
        allow_private=ctx.allow_private,
    )


def parameter_names(http: Mapping[str, object]) -> list[str]:
    """The arguments that the request has a place for."""
    return [
        str(parameter.get("name"))
        for parameter in _items(http, "parameters")
        if isinstance(parameter, Mapping)
    ]


def _items(http: Mapping[str, object], key: str) -> list[object]:
    return value if isinstance(value := http.get(key), list) else []


def _group_by_location(
    http: Mapping[str, object], arguments: Arguments
) -> dict[str, dict[str, object]]:
    """The values of the parameters by name, by the location in the request."""
    values: dict[str, dict[str, object]] = {location: {} for location in _LOCATIONS}
    for parameter in _items(http, "parameters"):
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


def _headers(values: Mapping[str, object]) -> list[tuple[str, str]]:
    return [(_check_header_name(name), argument_text(value)) for name, value in values.items()]


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

    pairs = [f"{name}={quote(text, safe='')}" for name, text in _headers(values)]
    return [("Cookie", "; ".join(pairs))] if pairs else []


def _encode_body(values: Mapping[str, object], is_form: bool) -> tuple[str, bytes | None]:
    """Content type and bytes; no bytes without values."""
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


# The request is sent.


def send_request(
    call: HttpCall, secrets: Mapping[str, str], limits: CallLimits, network: NetworkStack
) -> Outcome:
    """The answer of the server: ok for a status of 2xx, failed for any other. A redirect is not
    followed.

    Raises LinkRefusedError for a host that is not allowed or cannot be reached; nothing was sent
    then.
    """
    started = time.monotonic()
    deadline = start_deadline(limits.seconds, call.url)
    try:
        target = _request_target(call)
        connection = connect_to_target(target, network, deadline, call.allow_private)
    except (LinkRefusedError, OSError) as error:
        raise _send_refusal(call, error) from error
    with connection:
        wire = Wire(connection, deadline, call.url, limits.max_bytes)
        outcome = _exchange(call, _request_head(call, target, secrets), wire, deadline)
    return replace(outcome, seconds=time.monotonic() - started)


def check_request(call: HttpCall) -> None:
    """Raises LinkRefusedError where the request's host or scheme is not allowed. Looks no name
    up.
    """
    try:
        _request_target(call)
    except LinkRefusedError as error:
        raise _send_refusal(call, error) from error


def _request_target(call: HttpCall) -> Target:
    target = parse_url(call.url, allow_private=call.allow_private)
    if target.scheme == "http" and not call.allow_http:
        raise LinkRefusedError(
            f"{target.url} is plain http", "add --allow-http to let others on its way read it"
        )
    return target


def _send_refusal(call: HttpCall, error: LinkRefusedError | OSError) -> LinkRefusedError:
    if isinstance(error, OSError):
        return LinkRefusedError(
            f"{call.url} cannot be reached ({error.strerror or error})", "try again"
        )
    return LinkRefusedError(f"{_error_text(error)}; not sent", _refusal_hint(call, error))


def _refusal_hint(call: HttpCall, error: LinkRefusedError) -> str:
    """The option that allows a private host, where nothing else was wrong."""
    try:
        parse_url(call.url, allow_private=True)
    except LinkRefusedError:
        return "check the URL in its manifest"
    is_private = error.hint == OPEN_YOURSELF_HINT and not call.allow_private
    return "add --allow-private if the host is yours" if is_private else error.hint


def _error_text(error: Exception) -> str:
    message = str(
        getattr(error, "message", "") or getattr(error, "strerror", "") or type(error).__name__
    )
    return message.removeprefix("the link ").removesuffix("; not fetched")


def _request_head(call: HttpCall, target: Target, secrets: Mapping[str, str]) -> bytes:
    from urllib.parse import urlencode

    path, headers = target.path, [("Host", target.authority), *call.headers]
    for credential in call.credentials:
        value = credential.prefix + _encode_secret(credential, secrets[credential.secret])
        if not value.isascii() or not value.isprintable():
            raise InputError(
                f"the secret {credential.secret} holds what no header can carry",
                "look at its line ends",
            )
        if credential.place == "query":
            path += f"{'&' if '?' in path else '?'}{urlencode({credential.name: value})}"
        else:
            headers.append((credential.name, value))
    headers += _OWN_HEADERS
    if call.body is not None or call.method in ("POST", "PUT", "PATCH"):
        headers.append(("Content-Length", str(len(call.body or b""))))
    if not any(name.lower() == "accept" for name, _ in headers):
        headers.append(("Accept", "application/json, */*;q=0.5"))
    lines = [
        f"{call.method} {path} HTTP/1.1",
        *(f"{name}: {value}" for name, value in headers),
        "",
        "",
    ]
    return "\r\n".join(lines).encode("ascii")


def _encode_secret(credential: Credential, secret: str) -> str:
    """The secret as the request has it; a name and a password are encoded by RFC 7617."""
    is_pair = credential.prefix == "Basic " and ":" in secret
    return b64encode(secret.encode()).decode() if is_pair else secret


def _exchange(call: HttpCall, head: bytes, wire: Wire, deadline: Deadline) -> Outcome:
    from http.client import HTTPException

    try:
        with wire.request(head + (call.body or b""), call.method) as response:
            return _read_response(call, response, wire)
    except (LinkRefusedError, OSError, HTTPException, zlib.error) as error:
        # None of an answer that came in part is passed on.
        status, message = "failed", f"the answer could not be read: {_error_text(error)}\n"
        if isinstance(error, TooLargeError):
            status, message = "too-large", ""
        elif deadline.is_over:
            status, message = "timeout", ""
        return Outcome(
            status=status,
            exit_code=1,
            stdout=b"",
            stderr=message.encode(),
            is_truncated=status != "failed",
        )


def _read_response(call: HttpCall, response: HTTPResponse, wire: Wire) -> Outcome:
    is_empty = call.method == "HEAD" or response.status in _STATUSES_WITHOUT_BODY
    is_ok = 200 <= response.status < 300
    message = "" if is_ok else f"the server answered {response.status} {response.reason}\n"
    if location := response.getheader("location") if 300 <= response.status < 400 else None:
        message += f"it points to {location}, which was not followed\n"
    return Outcome(
        status="ok" if is_ok else "failed",
        exit_code=0 if is_ok else 1,
        stdout=b"" if is_empty else wire.read_body(response),
        stderr=message.encode(),
        details={
            "http_status": response.status,
            "content_type": response.getheader("content-type") or "",
        },
    )
