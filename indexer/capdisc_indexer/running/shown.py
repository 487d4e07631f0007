"""A call as a person or an agent reads it: exact, and with the names of secrets where their values would stand."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from capdisc_indexer.check.masking import mask_strings
from capdisc_indexer.check.secret_keys import masked
from capdisc_indexer.errors import CapdiscError
from capdisc_indexer.frozen import replace
from capdisc_indexer.running.quoting import joined, quoted
from capdisc_indexer.running.values import Call, CommandCall, Credential, HttpCall
from capdisc_indexer.types import Descriptor

# The parts of a call that hold what a manifest or an argument says.
_WORDS = ("argv", "stdin", "tool", "arguments", "url", "headers", "body")


def shell_line(call: Call, limit: int = 0) -> str:
    """The call as one could type it in a shell, on one line; what it reads on stdin stands behind `<<<`. Keys in it are
    masked, then words longer than `limit` are cut, and say so."""
    call = mask_call(call)
    if isinstance(call, HttpCall):
        return curl_line(call, limit)
    names = "".join(f"{name}=${name} " for name in call.environment)
    line = names + joined(call.argv, limit)
    if isinstance(call, CommandCall):
        return line if call.stdin is None else f"{line} <<< {quoted(call.stdin.decode('utf-8', 'replace'), limit)}"
    return f"{line} <<< {quoted(json.dumps(_tools_call(call.tool, call.arguments), ensure_ascii=False), limit)}"


def mask_call(call: Call) -> Call:
    """The same call with the keys in its words masked, for whoever reads it; it is made with the words as they are."""
    values = {name: getattr(call, name) for name in _WORDS if hasattr(call, name)}
    return replace(call, **{name: _mask_value(value) for name, value in values.items()})


@contextmanager
def masked_errors() -> Iterator[None]:
    """Whatever is raised inside quotes no key of the words that the call is made of."""
    try:
        yield
    except CapdiscError as error:
        error.message, error.hint = masked(error.message), masked(error.hint)
        error.args = (error.message,)
        raise


def _mask_value(value: Any) -> Any:
    if isinstance(value, bytes):
        # What is no UTF-8 comes out as it was.
        return masked(value.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
    return mask_strings(value)


def curl_line(call: HttpCall, limit: int = 0) -> str:
    """The request for curl, quoted but for the names of secrets, so that pasting it runs curl alone."""
    words = ["curl", "-X", call.method, *(word for each in call.headers for word in ("-H", f"{each[0]}: {each[1]}"))]
    # To curl, brackets and braces in a URL mean several requests.
    line = joined([*words, *(("--globoff",) if re.search(r"[][{}]", call.url) else ())], limit)
    for each in call.credentials:
        if each.place == "header":
            line += f' -H {quoted(f"{each.name}: {each.prefix}", limit)}"${each.secret}"'
    if call.body is not None:
        line += f" --data-raw {quoted(call.body.decode('utf-8', 'replace'), limit)}"
    return f"{line} {_url_word(call.url, call.credentials, limit)}"


def document(call: Call) -> dict[str, Any]:
    """The call as JSON; secrets by name, keys masked."""
    return _fields(mask_call(call)) | {"secrets": list(call.environment), "line": shell_line(call)}


def _fields(call: Call) -> dict[str, Any]:
    if isinstance(call, HttpCall):
        facts = {"kind": "http", "method": call.method, "url": call.url, "headers": dict(call.headers)}
        return facts | {"body": _text(call.body)}
    if isinstance(call, CommandCall):
        return {"kind": "command", "argv": list(call.argv), "cwd": str(call.cwd), "stdin": _text(call.stdin)}
    started = {"kind": "mcp", "argv": list(call.argv), "cwd": str(call.cwd), "server": call.server}
    return started | {"tool": call.tool, "arguments": dict(call.arguments)}


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8", "replace")


def by_hand(descriptor: Descriptor, arguments: Mapping[str, Any], api_url: str = "") -> dict[str, Any]:
    """The call that an agent makes itself, for a capability that does not say how it is run: a function call, with a
    line for curl where it is an HTTP operation, or where to read on where there is nothing to call."""
    if descriptor.kind == "operation" and isinstance(descriptor.extra.get("path"), str):
        line = _operation_line(descriptor, arguments, api_url)
        return {"name": descriptor.name, "arguments": dict(arguments), "line": line}
    if descriptor.schema is not None or descriptor.kind == "tool":
        return {"name": descriptor.name, "arguments": dict(arguments)}
    return {"name": descriptor.name, "read": f"capdisc show {shlex.quote(descriptor.id)}"}


def _operation_line(descriptor: Descriptor, arguments: Mapping[str, Any], api_url: str) -> str:
    from pathlib import Path

    from capdisc_indexer.errors import InputError, UsageError
    from capdisc_indexer.running.request import http_call
    from capdisc_indexer.running.values import Place

    extra = descriptor.extra
    url = api_url.rstrip("/")
    base = url if re.match(r"https?://", url) else f"https://HOST{url if url.startswith('/') else ''}"
    http = {"method": extra.get("method"), "url": base + extra["path"], "parameters": extra.get("parameters")}
    try:
        return curl_line(http_call(http, arguments, Place(environ={}, cwd=Path("/"))))
    except (InputError, UsageError):  # an argument that is missing: the path as it is written
        return joined(["curl", "-X", str(extra.get("method", "GET")).upper(), base + extra["path"]])


def _url_word(url: str, credentials: tuple[Credential, ...], limit: int) -> str:
    from urllib.parse import urlencode

    word, joint = quoted(url, limit), "&" if "?" in url else "?"
    for each in credentials:
        if each.place == "query":
            word, joint = word + f"""{quoted(joint + urlencode({each.name: each.prefix}))}"${each.secret}\"""", "&"
    return word


def _tools_call(tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {"method": "tools/call", "params": {"name": tool, "arguments": dict(arguments)}}
