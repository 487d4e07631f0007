"""A call as a person or an agent reads it: exact, and with the names of secrets where their values
would stand.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from capdisc_indexer.execution.call_types import Call, CommandCall, Credential, HttpCall
from capdisc_indexer.model.errors import CapdiscError, InputError
from capdisc_indexer.model.frozen import replace
from capdisc_indexer.model.json_types import Arguments
from capdisc_indexer.model.types import Descriptor
from capdisc_indexer.text.normalization import UNSAFE_CHARACTERS
from capdisc_indexer.validation.masking import mask_strings
from capdisc_indexer.validation.secret_keys import mask_keys

# Words as a shell reads them, on one line: nobody can paint a screen or add a command with what
# they hold.

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
# What a terminal would obey or break the line at; a long run of blanks could fill up a line as
# well.
_UNSAFE_IN_TERMINAL = re.compile(rf"[\n\t]| {{16,}}|{UNSAFE_CHARACTERS.pattern}")
_SHORT_ESCAPES = {"\n": r"\n", "\t": r"\t", "\r": r"\r"}


def quote_word(text: str, limit: int = 0) -> str:
    """The text as one word of a shell, in `$'...'` where it holds what cannot be shown as it is.
    Of a word longer than `limit` (0: none) the rest is counted, not shown.

    >>> print(quote_word("a b"), quote_word("a\\nb'"), quote_word("abcdef", 4))
    'a b' $'a\\nb\\'' abcd…<2 more characters>
    """
    if limit and len(text) > limit:
        return f"{quote_word(text[:limit])}…<{len(text) - limit:,} more characters>"
    if not _UNSAFE_IN_TERMINAL.search(text):
        return shlex.quote(text)
    escaped = text.replace("\\", r"\\").replace("'", r"\'")
    return f"$'{_UNSAFE_IN_TERMINAL.sub(lambda match: ''.join(map(_escape_character, match[0])), escaped)}'"


def join_words(words: Iterable[str], limit: int = 0) -> str:
    """The words as a line for a shell."""
    return " ".join(quote_word(word, limit) for word in words)


def check_variable(name: str) -> str:
    """The name, if it is one that stands in a shell behind `$` and says nothing else. Raises
    InputError.
    """
    if not _VARIABLE.fullmatch(name):
        raise InputError(
            f"{name[:80]!r} is no name of a secret", "letters, digits and _, no digit first"
        )
    return name


def _escape_character(character: str) -> str:
    code = ord(character)
    if character in _SHORT_ESCAPES:
        return _SHORT_ESCAPES[character]
    if 0xDC80 <= code <= 0xDCFF:  # a byte that is not UTF-8, as Python holds it
        return f"\\x{code - 0xDC00:02x}"
    return (
        f"\\x{code:02x}"
        if code < 0x80
        else f"\\u{code:04x}"
        if code < 0x10000
        else f"\\U{code:08x}"
    )


# The parts of a call that hold what a manifest or an argument says.
_WORDS = ("argv", "stdin", "tool", "arguments", "url", "headers", "body")


def shell_line(call: Call, limit: int = 0) -> str:
    """The call as one could type it in a shell, on one line; what it reads on stdin stands behind
    `<<<`. Keys in it are masked, then words longer than `limit` are cut, and say so.
    """
    call = mask_call(call)
    if isinstance(call, HttpCall):
        return curl_line(call, limit)
    names = "".join(f"{name}=${name} " for name in call.environment)
    line = names + join_words(call.argv, limit)
    if isinstance(call, CommandCall):
        return (
            line
            if call.stdin is None
            else f"{line} <<< {quote_word(call.stdin.decode('utf-8', 'replace'), limit)}"
        )
    return f"{line} <<< {quote_word(json.dumps(_tools_call_message(call.tool, call.arguments), ensure_ascii=False), limit)}"


def mask_call(call: Call) -> Call:
    """The same call with the keys in its words masked, for whoever reads it; it is made with the
    words as they are.
    """
    values = {name: getattr(call, name) for name in _WORDS if hasattr(call, name)}
    return replace(call, **{name: _mask_value(value) for name, value in values.items()})


@contextmanager
def masked_errors() -> Iterator[None]:
    """Whatever is raised inside quotes no key of the words that the call is made of."""
    try:
        yield
    except CapdiscError as error:
        error.message, error.hint = mask_keys(error.message), mask_keys(error.hint)
        error.args = (error.message,)
        raise


def _mask_value(value: Any) -> Any:
    if isinstance(value, bytes):
        # What is no UTF-8 comes out as it was.
        return mask_keys(value.decode("utf-8", "surrogateescape")).encode(
            "utf-8", "surrogateescape"
        )
    return mask_strings(value)


def curl_line(call: HttpCall, limit: int = 0) -> str:
    """The request for curl, quoted but for the names of secrets, so that pasting it runs curl
    alone.
    """
    words = [
        "curl",
        "-X",
        call.method,
        *(word for header in call.headers for word in ("-H", f"{header[0]}: {header[1]}")),
    ]
    # To curl, brackets and braces in a URL mean several requests.
    line = join_words([*words, *(("--globoff",) if re.search(r"[][{}]", call.url) else ())], limit)
    for credential in call.credentials:
        if credential.place == "header":
            line += f' -H {quote_word(f"{credential.name}: {credential.prefix}", limit)}"${credential.secret}"'
    if call.body is not None:
        line += f" --data-raw {quote_word(call.body.decode('utf-8', 'replace'), limit)}"
    return f"{line} {_quote_url(call.url, call.credentials, limit)}"


def call_document(call: Call) -> dict[str, Any]:
    """The call as JSON; secrets by name, keys masked."""
    return _call_fields(mask_call(call)) | {
        "secrets": list(call.environment),
        "line": shell_line(call),
    }


def _call_fields(call: Call) -> dict[str, Any]:
    if isinstance(call, HttpCall):
        facts = {
            "kind": "http",
            "method": call.method,
            "url": call.url,
            "headers": dict(call.headers),
        }
        return facts | {"body": _decode_bytes(call.body)}
    if isinstance(call, CommandCall):
        return {
            "kind": "command",
            "argv": list(call.argv),
            "cwd": str(call.cwd),
            "stdin": _decode_bytes(call.stdin),
        }
    started = {"kind": "mcp", "argv": list(call.argv), "cwd": str(call.cwd), "server": call.server}
    return started | {"tool": call.tool, "arguments": dict(call.arguments)}


def _decode_bytes(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8", "replace")


def manual_call(descriptor: Descriptor, arguments: Arguments, api_url: str = "") -> dict[str, Any]:
    """The call that an agent makes itself, for a capability that does not say how it is run: a
    function call, with a line for curl where it is an HTTP operation, or where to read on where
    there is nothing to call.
    """
    if descriptor.kind == "operation" and isinstance(descriptor.extra.get("path"), str):
        line = _operation_line(descriptor, arguments, api_url)
        return {"name": descriptor.name, "arguments": dict(arguments), "line": line}
    if descriptor.schema is not None or descriptor.kind == "tool":
        return {"name": descriptor.name, "arguments": dict(arguments)}
    return {"name": descriptor.name, "read": f"capdisc show {shlex.quote(descriptor.id)}"}


def _operation_line(descriptor: Descriptor, arguments: Arguments, api_url: str) -> str:
    from pathlib import Path

    from capdisc_indexer.execution.call_types import ExecutionContext
    from capdisc_indexer.execution.http_request import build_http_call
    from capdisc_indexer.model.errors import InputError, UsageError

    extra = descriptor.extra
    url = api_url.rstrip("/")
    base = (
        url if re.match(r"https?://", url) else f"https://HOST{url if url.startswith('/') else ''}"
    )
    http = {
        "method": extra.get("method"),
        "url": base + extra["path"],
        "parameters": extra.get("parameters"),
    }
    try:
        return curl_line(
            build_http_call(http, arguments, ExecutionContext(environ={}, cwd=Path("/")))
        )
    except (InputError, UsageError):  # an argument that is missing: the path as it is written
        return join_words(
            ["curl", "-X", str(extra.get("method", "GET")).upper(), base + extra["path"]]
        )


def _quote_url(url: str, credentials: tuple[Credential, ...], limit: int) -> str:
    from urllib.parse import urlencode

    word, joint = quote_word(url, limit), "&" if "?" in url else "?"
    for credential in credentials:
        if credential.place == "query":
            word, joint = (
                word
                + f"""{quote_word(joint + urlencode({credential.name: credential.prefix}))}"${credential.secret}\"""",
                "&",
            )
    return word


def _tools_call_message(tool: str, arguments: Arguments) -> dict[str, Any]:
    return {"method": "tools/call", "params": {"name": tool, "arguments": dict(arguments)}}
