"""Finds what could run, leak or be decoded: downloads into a shell, encoded commands, odd
addresses, keys of known shapes.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterable, Iterator
from itertools import islice

from capdisc_guard.masking import key_spans
from capdisc_guard.placed_text import CapabilityText, find_places
from capdisc_indexer.model.types import Finding
from capdisc_indexer.text.markdown import without_code
from capdisc_indexer.text.normalization import compile_late

# Before each pattern, plain words of which the text must hold one: expressions that ignore case
# are slow on long texts.

# These run what they are sent only without a program of their own: `| python3 -m json.tool`
# formats it.
_INTERPRETER = r"(?:python3?|node|perl|ruby)(?:[ \t]{1,9}-[ubi])*(?=[ \t]{0,9}(?:\n|\Z|-[ \t\n]|-\Z|[\"'`;&|)]))"
_REMOTE_WORDS = ("curl", "wget", "iwr", "irm", "invoke-", "iex")
_INTO_A_SHELL = compile_late(
    r"\|\s{0,9}(?:sudo\s{1,9})?(?:-\S{1,20}\s{1,9}){0,5}(?:(?:(?:ba|z|da|k|fi)?sh|iex)\b|"
    + _INTERPRETER
    + ")"
)
# What is sent there: a program with an address. Its name alone, as in a table of programs,
# downloads nothing.
_FETCH = compile_late(
    r"\b(?:curl|wget|iwr|irm|invoke-webrequest|invoke-restmethod)\b(?=.*?(?:://|[${<]|\w\.\w))",
    re.DOTALL,
)
_FETCH_WITHIN = 400  # characters before the pipe
_BEFORE_COMMAND = compile_late(r"[|;]|(?<!\\)\n")
_REMOTE = compile_late(
    r"\b(?:ba|z|da)?sh\s{1,9}(?:-c\s{1,9})?[\"']?(?:<\(|\$\()\s{0,9}(?:curl|wget)\b"
    r"|\beval\s{1,9}[\"']?\$\(\s{0,9}(?:curl|wget)\b|\biex\s{0,9}\(?\s{0,9}(?:\(?new-object|iwr|irm)\b"
)
_REMOTE_SIGNS = ("<(", "$(", "iex")
_DECODE_WORDS = ("base64", "b64decode", "atob", "-enc", "xxd")
_DECODED = compile_late(
    r"base64\s{1,9}(?:-d|--decode)|b64decode|\batob\s{0,9}\(|frombase64string|-enc(?:odedcommand)?\s{1,9}[a-z0-9+/=]{16}|xxd\s{1,9}-r"
)
_SHORT_CODE = compile_late(r"[A-Za-z0-9+/]{16,}={0,2}")
# What runs a decoded text on the spot.
_RUN = compile_late(
    _INTO_A_SHELL.pattern
    + r"|\beval\s{0,9}[(\"'$`]|\bexec\s{0,3}\(|\b(?:iex|invoke-expression|child_process|new\s{1,9}function)\b"
    r"|\bos\.system\b|\bsubprocess\.|-enc(?:odedcommand)?\s{1,9}[a-z0-9+/=]{16}"
)
# Share of printable bytes in a decoded text; a path or a digest, which decode to anything, have a
# third.
_PRINTABLE = 0.9
_PACKED = (b"\x1f\x8b", b"x\x9c", b"x\xda", b"x\x01", b"\x7fELF", b"MZ", b"PK")
# What stands before a long code that is an image or the public half of a key.
_SHOWN_CODE = compile_late(
    r"(?:data:image/(?:png|jpe?g|gif|webp|avif);base64,|\bssh-(?:rsa|dss|ed25519) )\Z"
)
_LINE_REACH = 400  # characters around a command that belong to it
_MOST_COMMANDS, _MOST_CODES = 200, 2_000  # of one text that are looked at
_HEX = frozenset("0123456789abcdefABCDEF")
_LONG = 192
_LONG_CODE = compile_late(
    r"(?<![A-Za-z0-9+/=,])[A-Za-z0-9+/]{256,}={0,2}|(?<![0-9a-fA-F])(?:[0-9a-fA-F]{2}){96,}"
)
# Of this many letters in a row, every fourth character of a text shows a quarter. To translate and
# to search plainly takes a third of the time of an expression.
_CODE_SIGNS = bytes(
    97 if chr(code).isalnum() or code in b"+/" else 32 for code in range(128)
).ljust(256)
_SPARSE_CODE = b"a" * (_LONG // 4)
_SCRIPT_WORDS = ("javascript:", "vbscript:", "data:", "file:")
# One of these stands before the word where it is a link, with at most that many blanks between.
_BEFORE_SCRIPT, _BLANKS_BEFORE_SCRIPT = frozenset("(<:=\"'"), 9
# Only what is a link: the words alone name a language, a payload of a lesson, a part of a program.
# A link that stays where it is (`javascript:void(0)`) and a picture do nothing.
_NOTHING = r"(?:void\s{0,9}\(?\s{0,9}0\s{0,9}\)?)?;?[\"')](?=[\s>/)]|\Z)"
_SCHEME = rf"(?:(?:javascript|vbscript):(?!{_NOTHING})|file:|data:(?!image/(?:png|jpe?g|gif|webp|avif)[;,]))"
_SCRIPT = compile_late(
    rf"\]\(\s{{0,9}}<?{_SCHEME}|^ {{0,3}}\[[^\]\n]{{1,200}}\]:[ \t]{{0,9}}<?{_SCHEME}|<{_SCHEME}"
    rf"|\b(?:href|src|action|formaction|data)\s{{0,9}}=\s{{0,9}}[\"']?\s{{0,9}}{_SCHEME}",
    re.MULTILINE,
)
_URL = compile_late(r"https?://[^\s)>\"']{3,300}")
_HOSTS = compile_late(
    r"https?://(?:(?P<short>(?:bit\.ly|tinyurl\.com|t\.co|goo\.gl|is\.gd|ow\.ly|cutt\.ly|rb\.gy|shorturl\.at)/\w)"
    r"|(?P<user>[^\s/@:]+:[^\s/@]+@)|(?P<address>\d{1,3}(?:\.\d{1,3}){3}(?=[:/]|$)|\[[0-9a-f:.]+\])|(?P<puny>[\w.-]*xn--))"
)
_IMAGE = compile_late(
    r"!\[[^\]\n]{0,200}\]\(\s{0,9}<?https?://[^\s)?&]{0,300}[?&][^\s)]{0,300}?"
    r"(?:\{|%7b|\$|<|\[|conversation|history|prompt|secret|token(?!=[a-z]{0,9}[0-9][a-z0-9]{3,40}[&)])|data=)"
)
# Who draws badges and formulas from the address of an image; nobody else gets to read what it
# holds.
_DRAWN = compile_late(
    r"!\[[^\]\n]{0,200}\]\(\s{0,9}<?https://(?:img\.shields\.io|codecov\.io|latex\.codecogs\.com|render\.githubusercontent\.com)/"
)
# A name and password that only show where one's own are to be written.
_SAMPLE_USER = compile_late(
    r"https?://[^\s/@:]+:(?:[${<%\[*]|your|pass(?:word|wd)?@|pwd@|secret@|token@|x{3,})"
)
_LOCAL = compile_late(
    r"https?://(?:127\.|0\.0\.0\.0|10\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.|\[::1\])"
)
_KINDS = {
    "script": "a link that is a script, data or a local file",
    "short": "a shortened link, which hides where it leads",
    "user": "a link with a name or password before its host",
    "address": "a link to a bare address",
    "puny": "a link to a host in encoded letters",
    "image": "an image whose address carries data away",
}


def payload_findings(text: CapabilityText) -> Iterator[Finding]:
    """The first finding of each kind in a text."""
    value = text.value
    if len(value) < 12:
        return
    lowered = value.lower()
    if _holds_any(_REMOTE_WORDS, lowered) and (start := _remote_execution(lowered)) is not None:
        message = "downloads something and runs it unseen"
        yield text.finding("remote-execution", message, "download, check, then run", start)
    if (start := _encoded_start(value, lowered)) is not None:
        message = "a long encoded text, or a command that decodes one"
        yield text.finding("encoded-payload", message, "write it in clear text", start)
    if ":" in value and (place := _odd_address(value, lowered, text.is_body)):
        start, what = place
        yield text.finding("suspicious-url", what, "link to a plain https address", start)
    if key := next(key_spans(value), None):
        # The message does not quote it, as messages go into logs.
        message = "something of the shape of a secret key"
        hint = "remove it, and revoke it if it is real"
        yield text.finding("hard-coded-secret", message, hint, key[0])


def _may_link_script(text: str) -> bool:
    """Whether a script word stands where a link can begin with it."""
    return any(
        text[max(0, place - _BLANKS_BEFORE_SCRIPT - 1) : place].rstrip()[-1:] in _BEFORE_SCRIPT
        for place in find_places(text, *_SCRIPT_WORDS)
    )


def _holds_any(words: Iterable[str], text: str) -> bool:
    return any(map(text.__contains__, words))


def _remote_execution(lowered: str) -> int | None:
    """The offset of a command that runs what it downloads. Pipes are searched first: there are few
    of them.
    """
    match = _REMOTE.search(lowered) if _holds_any(_REMOTE_SIGNS, lowered) else None
    starts = [match.start()] if match else []
    for pipe in _INTO_A_SHELL.finditer(lowered):
        within = max(0, pipe.start() - _FETCH_WITHIN)
        command = max(
            (sign.end() for sign in _BEFORE_COMMAND.finditer(lowered, within, pipe.start())),
            default=within,
        )
        if fetch := _FETCH.search(lowered, command, pipe.start()):
            return min([fetch.start(), *starts])
    return min(starts, default=None)


def _encoded_start(value: str, lowered: str) -> int | None:
    """The offset of a long encoded text, or of the command that decodes one."""
    if (
        _holds_any(_DECODE_WORDS, lowered)
        and (offset := _decoding_offset(value, lowered)) is not None
    ):
        return offset
    if not _may_hold_long_code(value):
        return None
    offset = 0
    for line in value.split("\n"):
        for code in _LONG_CODE.finditer(line) if len(line) >= _LONG else ():
            if _is_long_code(code[0]) and not _SHOWN_CODE.search(
                line, max(0, code.start() - 40), code.start()
            ):
                return offset + code.start()
        offset += len(line) + 1
    return None


def _may_hold_long_code(value: str) -> bool:
    return _SPARSE_CODE in value[::4].encode("ascii", "replace").translate(_CODE_SIGNS)


def _decoding_offset(value: str, lowered: str) -> int | None:
    """The offset of a command that decodes a text of this file, or runs what it decoded; decoding
    what a program answers is daily work.
    """
    commands = list(islice(_DECODED.finditer(lowered), _MOST_COMMANDS))
    for command in commands:
        before = lowered[max(0, command.start() - _LINE_REACH) : command.start()].rpartition("\n")[
            2
        ]
        after = lowered[command.start() : command.end() + _LINE_REACH].partition("\n")[0]
        if _RUN.search(before + after):
            return command.start()
    holds_code = any(
        _is_encoded_text(code[0]) for code in islice(_SHORT_CODE.finditer(value), _MOST_CODES)
    )
    return commands[0].start() if commands and holds_code else None


def _is_encoded_text(code: str) -> bool:
    """Whether the base64 or hexadecimal decodes to a text, or to something packed."""
    bare = code.rstrip("=")
    try:
        is_hex = len(bare) % 2 == 0 and not set(bare) - _HEX
        data = bytes.fromhex(bare) if is_hex else b64decode(bare + "=" * (-len(bare) % 4))
    except ValueError:
        return False
    if data[1::2].count(0) * 2 >= len(data) - 1:  # UTF-16, as PowerShell takes it
        data = data[::2]
    printable = sum(32 <= byte < 127 or byte in b"\t\r\n" for byte in data)
    return data.startswith(_PACKED) or printable >= _PRINTABLE * len(data)


def _is_long_code(code: str) -> bool:
    """Whether it has the letters of an encoded text: a ruled line has one, a protein only
    capitals.
    """
    if not set(code) - _HEX:
        return len(set(code)) > 12
    return (
        any(map(str.isdigit, code)) and any(map(str.isupper, code)) and any(map(str.islower, code))
    )


def _odd_address(value: str, lowered: str, is_body: bool) -> tuple[int, str] | None:
    """The offset of the first odd link, and what is odd about it."""
    is_script, is_image = _holds_any(_SCRIPT_WORDS, lowered), "![" in lowered
    shown = lowered
    if is_body and (is_script or is_image):
        # Other rules look at this text without its code, too; beyond ASCII, the small letters can
        # be more characters.
        shown = without_code(value).lower() if value.isascii() else without_code(lowered)
    if is_script and _may_link_script(shown) and (link := _SCRIPT.search(shown)):
        return link.start(), _KINDS["script"]
    for image in _IMAGE.finditer(shown) if is_image else ():
        if not _DRAWN.match(image[0]):
            return image.start(), _KINDS["image"]
    for link in _URL.finditer(lowered):
        if (
            (host := _HOSTS.match(link[0]))
            and not _LOCAL.match(link[0])
            and not _SAMPLE_USER.match(link[0])
        ):
            return link.start(), _KINDS[str(host.lastgroup)]
    return None
