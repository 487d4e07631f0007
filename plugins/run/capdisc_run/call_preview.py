"""A call as a person or an agent reads it: exact, on one line, with the names of secrets where
their values would stand, and with keys masked.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NotRequired, TypedDict

from capdisc_guard import mask_keys, mask_strings
from capdisc_indexer.model.errors import CapdiscError, InputError, UsageError
from capdisc_indexer.model.frozen import replace
from capdisc_indexer.model.json_types import Arguments, JsonObject
from capdisc_indexer.model.types import Descriptor
from capdisc_indexer.platforms import system
from capdisc_indexer.text.shell_quoting import join_words, quote_word
from capdisc_indexer.tools.call_context import ExecutionContext
from capdisc_run.call_types import Call, CommandCall, Credential, HttpCall
from capdisc_run.http_request import build_http_call

# The fields of a call that hold words of a manifest or of an argument.
_WORD_FIELDS = ("argv", "stdin", "tool", "arguments", "url", "headers", "body")


def shell_line(call: Call, limit: int = 0) -> str:
    """The call as one could type it in a shell, on one line; its stdin stands behind `<<<`. Keys
    in it are masked, and words longer than `limit` (0: no limit) are cut after that.
    """
    call = mask_call(call)
    if isinstance(call, HttpCall):
        return curl_line(call, limit)
    variables = "".join(f"{name}=${name} " for name in call.environment)
    line = variables + join_words(call.argv, limit)
    stdin = (
        _decode_bytes(call.stdin)
        if isinstance(call, CommandCall)
        else tools_call_message(call.tool, call.arguments)
    )
    return line if stdin is None else f"{line} <<< {quote_word(stdin, limit)}"


def tools_call_message(tool: str, arguments: Arguments) -> str:
    """The message to an MCP server that calls the tool, as JSON."""
    params = {"name": tool, "arguments": dict(arguments)}
    return json.dumps({"method": "tools/call", "params": params}, ensure_ascii=False)


def mask_call(call: Call) -> Call:
    """The call with the keys in its words masked, for a reader; it is made with the words as they
    are.
    """
    values = {name: getattr(call, name) for name in _WORD_FIELDS if hasattr(call, name)}
    return replace(call, **{name: _mask_value(value) for name, value in values.items()})


@contextmanager
def masked_errors() -> Iterator[None]:
    """Masks the keys in whatever error is raised inside."""
    try:
        yield
    except CapdiscError as error:
        error.message, error.hint = mask_keys(error.message), mask_keys(error.hint)
        error.args = (error.message,)
        raise


def _mask_value(value: Any) -> Any:
    if isinstance(value, bytes):
        # Bytes that are no UTF-8 come out as they were.
        return mask_keys(value.decode("utf-8", "surrogateescape")).encode(
            "utf-8", "surrogateescape"
        )
    return mask_strings(value)


def curl_line(call: HttpCall, limit: int = 0) -> str:
    """The request as a command line of curl. All is quoted but the names of secrets, so that
    pasting it runs curl alone.
    """
    header_words = [word for name, value in call.headers for word in ("-H", f"{name}: {value}")]
    # Brackets and braces in a URL mean several requests to curl.
    glob_words = ["--globoff"] if re.search(r"[][{}]", call.url) else []
    line = join_words(["curl", "-X", call.method, *header_words, *glob_words], limit)
    for credential in call.credentials:
        if credential.place == "header":
            header = quote_word(f"{credential.name}: {credential.prefix}", limit)
            line += f' -H {header}"${credential.secret}"'
    if call.body is not None:
        line += f" --data-raw {quote_word(call.body.decode('utf-8', 'replace'), limit)}"
    return f"{line} {_quote_url(call.url, call.credentials, limit)}"


def _quote_url(url: str, credentials: tuple[Credential, ...], limit: int) -> str:
    from urllib.parse import urlencode

    word, joint = quote_word(url, limit), "&" if "?" in url else "?"
    for credential in credentials:
        if credential.place == "query":
            parameter = quote_word(joint + urlencode({credential.name: credential.prefix}))
            word += f'{parameter}"${credential.secret}"'
            joint = "&"
    return word


def call_document(call: Call) -> JsonObject:
    """The call as JSON, keys masked: `kind` is http, command or mcp, with the fields of such a
    call; `secrets` are names; `line` is that of `shell_line`.
    """
    fields = _call_fields(mask_call(call))
    return fields | {"secrets": list(call.environment), "line": shell_line(call)}


def _call_fields(call: Call) -> JsonObject:
    if isinstance(call, HttpCall):
        return {
            "kind": "http",
            "method": call.method,
            "url": call.url,
            "headers": dict(call.headers),
            "body": _decode_bytes(call.body),
        }
    if isinstance(call, CommandCall):
        return {
            "kind": "command",
            "argv": list(call.argv),
            "cwd": str(call.cwd),
            "stdin": _decode_bytes(call.stdin),
        }
    return {
        "kind": "mcp",
        "argv": list(call.argv),
        "cwd": str(call.cwd),
        "server": call.server,
        "tool": call.tool,
        "arguments": dict(call.arguments),
    }


def _decode_bytes(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8", "replace")


class ManualCall(TypedDict):
    """A call that an agent makes itself: a function with `arguments`, and with a `line` for curl
    where it is an HTTP operation; or `read`, the command that prints what cannot be called.
    """

    name: str
    arguments: NotRequired[JsonObject]
    line: NotRequired[str]
    read: NotRequired[str]


def manual_call(descriptor: Descriptor, arguments: Arguments, api_url: str = "") -> ManualCall:
    """The call for a capability that does not say how it is run. `api_url` is the base URL of its
    API where that is known.
    """
    if descriptor.kind == "operation" and isinstance(descriptor.extra.get("path"), str):
        line = _operation_line(descriptor, arguments, api_url)
        return {"name": descriptor.name, "arguments": dict(arguments), "line": line}
    if descriptor.schema is not None or descriptor.kind == "tool":
        return {"name": descriptor.name, "arguments": dict(arguments)}
    return {"name": descriptor.name, "read": f"capdisc show {system.quote_word(descriptor.id)}"}


def _operation_line(descriptor: Descriptor, arguments: Arguments, api_url: str) -> str:
    """The line for curl; where an argument is missing, with the path as it is written."""
    extra = descriptor.extra
    base_url = api_url.rstrip("/")
    if not re.match(r"https?://", base_url):
        base_url = f"https://HOST{base_url if base_url.startswith('/') else ''}"
    url = base_url + extra["path"]
    http = {"method": extra.get("method"), "url": url, "parameters": extra.get("parameters")}
    ctx = ExecutionContext(environ={}, cwd=Path("/"))
    try:
        return curl_line(build_http_call(http, arguments, ctx))
    except (InputError, UsageError):
        return join_words(["curl", "-X", str(extra.get("method", "GET")).upper(), url])
