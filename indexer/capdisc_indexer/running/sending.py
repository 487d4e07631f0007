"""One HTTP request, sent to the host that the manifest names and nowhere else."""

from __future__ import annotations

import time
import zlib
from base64 import b64encode
from collections.abc import Mapping
from typing import TYPE_CHECKING

from capdisc_indexer.errors import InputError, LinkRefusedError
from capdisc_indexer.frozen import replace
from capdisc_indexer.network.connection import Network, opened
from capdisc_indexer.network.document import data_of
from capdisc_indexer.network.url import UNTRUSTED, Target, parse
from capdisc_indexer.network.wire import Deadline, TooLargeError, Wire, deadline_in
from capdisc_indexer.running.values import Credential, HttpCall, Limits, Outcome

if TYPE_CHECKING:
    import socket
    from http.client import HTTPResponse

_NO_BODY = (204, 304)


def send(call: HttpCall, secrets: Mapping[str, str], limits: Limits, network: Network) -> Outcome:
    """The answer of the server: ok for a status of 2xx, failed for any other. A redirect is not followed.

    Raises LinkRefusedError for a host that is not allowed or cannot be reached, before anything is sent.
    """
    began = time.monotonic()
    deadline = deadline_in(limits.seconds, call.url)
    try:
        target = _target(call)
        connection = opened(target, network, deadline, call.allow_private)
    except (LinkRefusedError, OSError) as error:
        raise _refused(call, error) from error
    with connection:
        outcome = _exchanged(call, _head(call, target, secrets), connection, deadline, limits)
    return replace(outcome, seconds=time.monotonic() - began)


def check(call: HttpCall) -> None:
    """Raises LinkRefusedError where the request's host or scheme is not allowed; nothing is looked up."""
    try:
        _target(call)
    except LinkRefusedError as error:
        raise _refused(call, error) from error


def _target(call: HttpCall) -> Target:
    target = parse(call.url, allow_private=call.allow_private)
    if target.scheme == "http" and not call.allow_http:
        raise LinkRefusedError(f"{target.url} is plain http", "add --allow-http to let others on its way read it")
    return target


def _refused(call: HttpCall, error: LinkRefusedError | OSError) -> LinkRefusedError:
    if isinstance(error, OSError):
        return LinkRefusedError(f"{call.url} cannot be reached ({error.strerror or error})", "try again")
    return LinkRefusedError(f"{_reason(error)}; not sent", _hint(call, error))


def _hint(call: HttpCall, error: LinkRefusedError) -> str:
    """Leave for a private host, where that would have been enough."""
    try:
        parse(call.url, allow_private=True)
    except LinkRefusedError:
        return "check the URL in its manifest"
    is_private = error.hint == UNTRUSTED and not call.allow_private
    return "add --allow-private if the host is yours" if is_private else error.hint


def _reason(error: Exception) -> str:
    message = str(getattr(error, "message", "") or getattr(error, "strerror", "") or type(error).__name__)
    return message.removeprefix("the link ").removesuffix("; not fetched")


def _head(call: HttpCall, target: Target, secrets: Mapping[str, str]) -> bytes:
    from urllib.parse import urlencode

    path, headers = target.path, [("Host", target.authority), *call.headers]
    for each in call.credentials:
        value = each.prefix + _written(each, secrets[each.secret])
        if not value.isascii() or not value.isprintable():
            raise InputError(f"the secret {each.secret} holds what no header can carry", "look at its line ends")
        if each.place == "query":
            path += f"{'&' if '?' in path else '?'}{urlencode({each.name: value})}"
        else:
            headers.append((each.name, value))
    headers += [("User-Agent", "capdisc"), ("Connection", "close"), ("Accept-Encoding", "gzip, deflate")]
    if call.body is not None or call.method in ("POST", "PUT", "PATCH"):
        headers.append(("Content-Length", str(len(call.body or b""))))
    if not any(name.lower() == "accept" for name, _ in headers):
        headers.append(("Accept", "application/json, */*;q=0.5"))
    lines = [f"{call.method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers), "", ""]
    return "\r\n".join(lines).encode("ascii")


def _written(credential: Credential, secret: str) -> str:
    """The secret as the request has it; a name and a password are packed by RFC 7617."""
    is_pair = credential.prefix == "Basic " and ":" in secret
    return b64encode(secret.encode()).decode() if is_pair else secret


def _exchanged(call: HttpCall, head: bytes, connection: socket.socket, deadline: Deadline, limits: Limits) -> Outcome:
    from http.client import HTTPException, HTTPResponse

    wire = Wire(connection, deadline, call.url, limits.max_bytes)
    try:
        connection.settimeout(deadline.remaining())
        connection.sendall(head + (call.body or b""))
        with HTTPResponse(wire, method=call.method) as response:  # type: ignore[arg-type]
            response.begin()
            return _answer(call, response, wire, limits)
    except (LinkRefusedError, OSError, HTTPException, zlib.error) as error:
        return _cut_off(error, deadline)


def _answer(call: HttpCall, response: HTTPResponse, wire: Wire, limits: Limits) -> Outcome:
    empty = call.method == "HEAD" or response.status in _NO_BODY
    data = b"" if empty else data_of(response, wire, call.url, limits.max_bytes)
    is_ok = 200 <= response.status < 300
    said = "" if is_ok else f"the server answered {response.status} {response.reason}\n"
    if location := response.getheader("location") if 300 <= response.status < 400 else None:
        said += f"it points to {location}, which was not followed\n"
    more = {"http_status": response.status, "content_type": response.getheader("content-type") or ""}
    status, code = ("ok", 0) if is_ok else ("failed", 1)
    return Outcome(status=status, exit_code=code, stdout=data, stderr=said.encode(), more=more)


def _cut_off(error: Exception, deadline: Deadline) -> Outcome:
    """An answer that did not come whole: none of it is passed on."""
    status = "too-large" if isinstance(error, TooLargeError) else "timeout" if deadline.is_over else "failed"
    said = f"the answer could not be read: {_reason(error)}\n" if status == "failed" else ""  # else the status says it
    return Outcome(status=status, exit_code=1, stdout=b"", stderr=said.encode(), truncated=status != "failed")
