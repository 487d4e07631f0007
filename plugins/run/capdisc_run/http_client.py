"""What a server answers to one HTTP request, sent to the host that the manifest names and nowhere
else.
"""

from __future__ import annotations

import time
import zlib
from base64 import b64encode
from collections.abc import Mapping
from typing import TYPE_CHECKING

from capdisc_indexer.model.errors import InputError, LinkRefusedError
from capdisc_indexer.model.frozen import replace
from capdisc_indexer.text.strict_url import OPEN_YOURSELF_HINT, Target, parse_url
from capdisc_run.call_types import CallLimits, Credential, HttpCall, Outcome
from capdisc_run.connection import (
    Deadline,
    NetworkStack,
    TooLargeError,
    Wire,
    connect_to_target,
    start_deadline,
)
from capdisc_run.download import read_data

if TYPE_CHECKING:
    import socket
    from http.client import HTTPResponse

_STATUSES_WITHOUT_BODY = (204, 304)


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
        outcome = _exchange(
            call, _request_head(call, target, secrets), connection, deadline, limits
        )
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
    headers += [
        ("User-Agent", "capdisc"),
        ("Connection", "close"),
        ("Accept-Encoding", "gzip, deflate"),
    ]
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


def _exchange(
    call: HttpCall,
    header: bytes,
    connection: socket.socket,
    deadline: Deadline,
    limits: CallLimits,
) -> Outcome:
    from http.client import HTTPException, HTTPResponse

    wire = Wire(connection, deadline, call.url, limits.max_bytes)
    try:
        connection.settimeout(deadline.remaining())
        connection.sendall(header + (call.body or b""))
        with HTTPResponse(wire, method=call.method) as response:  # type: ignore[arg-type]
            response.begin()
            return _read_response(call, response, wire, limits)
    except (LinkRefusedError, OSError, HTTPException, zlib.error) as error:
        return _incomplete_outcome(error, deadline)


def _read_response(
    call: HttpCall, response: HTTPResponse, wire: Wire, limits: CallLimits
) -> Outcome:
    is_empty = call.method == "HEAD" or response.status in _STATUSES_WITHOUT_BODY
    data = b"" if is_empty else read_data(response, wire, call.url, limits.max_bytes)
    is_ok = 200 <= response.status < 300
    message = "" if is_ok else f"the server answered {response.status} {response.reason}\n"
    if location := response.getheader("location") if 300 <= response.status < 400 else None:
        message += f"it points to {location}, which was not followed\n"
    details = {
        "http_status": response.status,
        "content_type": response.getheader("content-type") or "",
    }
    status, code = ("ok", 0) if is_ok else ("failed", 1)
    return Outcome(
        status=status, exit_code=code, stdout=data, stderr=message.encode(), details=details
    )


def _incomplete_outcome(error: Exception, deadline: Deadline) -> Outcome:
    """The outcome of an answer that came in part: none of it is passed on."""
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
