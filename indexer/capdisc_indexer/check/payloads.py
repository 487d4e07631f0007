"""What could run, leak or be decoded: downloads into a shell, encoded commands, odd addresses, keys of known shapes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from capdisc_indexer.check.secret_keys import keys
from capdisc_indexer.check.texts import Text
from capdisc_indexer.types import Finding, Severity

# Each pattern with words of which one must be there at all: expressions without regard to case are slow on long texts.
_FETCH = r"\b(?:curl|wget|iwr|irm|invoke-webrequest|invoke-restmethod)\b[^\n|;]{0,400}"
_REMOTE_WORDS = ("curl", "wget", "iwr", "irm", "invoke-", "iex")
_REMOTE = re.compile(
    _FETCH + r"\|\s{0,9}(?:sudo\s{1,9})?(?:-\S{1,20}\s{1,9}){0,5}(?:(?:ba|z|da|k|fi)?sh|python3?|node|perl|ruby|iex)\b"
    r"|\b(?:ba|z|da)?sh\s{1,9}(?:-c\s{1,9})?[\"']?(?:<\(|\$\()\s{0,9}(?:curl|wget)\b"
    r"|\beval\s{1,9}[\"']?\$\(\s{0,9}(?:curl|wget)\b|\biex\s{0,9}\(?\s{0,9}(?:\(?new-object|iwr|irm)\b"
)
_DECODE_WORDS = ("base64", "b64decode", "atob", "-enc", "xxd")
_DECODED = re.compile(
    r"base64\s{1,9}(?:-d|--decode)|b64decode|\batob\s{0,9}\(|frombase64string|-enc(?:odedcommand)?\s{1,9}[a-z0-9+/=]{16}|xxd\s{1,9}-r"
)
_SHORT_CODE = re.compile(r"[A-Za-z0-9+/]{24,}={0,2}")
_LONG = 192
_LONG_CODE = re.compile(r"(?<![A-Za-z0-9+/=,])[A-Za-z0-9+/]{256,}={0,2}|(?<![0-9a-fA-F])(?:[0-9a-fA-F]{2}){96,}")
_SCRIPT_WORDS = ("javascript:", "vbscript:", "data:", "file:")
_SCRIPT = re.compile(
    r"\b(?:javascript|vbscript):[^\s)]|\]\(\s*<?(?:data|file):|\bdata:(?:text/html|application/)[^\s)]{8}"
)
_URL = re.compile(r"https?://[^\s)>\"']{3,300}")
_HOSTS = re.compile(
    r"https?://(?:(?P<short>(?:bit\.ly|tinyurl\.com|t\.co|goo\.gl|is\.gd|ow\.ly|cutt\.ly|rb\.gy|shorturl\.at)/\w)"
    r"|(?P<user>[^\s/@:]+:[^\s/@]+@)|(?P<address>\d{1,3}(?:\.\d{1,3}){3}(?=[:/]|$)|\[[0-9a-f:.]+\])|(?P<puny>[\w.-]*xn--))"
)
_IMAGE = re.compile(
    r"!\[[^\]\n]{0,200}\]\(\s{0,9}<?https?://[^\s)?&]{0,300}[?&][^\s)]{0,300}?"
    r"(?:\{|%7b|\$|<|\[|conversation|history|prompt|secret|token|data=)"
)
_LOCAL = re.compile(r"https?://(?:127\.|0\.0\.0\.0|10\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.|\[::1\])")
_KINDS = {
    "script": "a link that is a script, data or a local file",
    "short": "a shortened link, which hides where it leads",
    "user": "a link with a name or password before its host",
    "address": "a link to a bare address",
    "puny": "a link to a host in encoded letters",
    "image": "an image whose address carries data away",
}


def payloads(text: Text) -> Iterator[Finding]:
    """The first of each kind in a text."""
    value = text.value
    if len(value) < 12:
        return
    lowered = value.lower()
    if _any(_REMOTE_WORDS, lowered) and (found := _REMOTE.search(lowered)):
        message = "downloads something and runs it unseen"
        yield text.finding("remote-execution", Severity.WARNING, message, "download, check, then run", found.start())
    if (offset := _encoded(value, lowered)) is not None:
        message = "a long encoded text, or a command that decodes one"
        yield text.finding("encoded-payload", Severity.WARNING, message, "write it in clear text", offset)
    if ":" in value and (place := _address(lowered)):
        yield text.finding("suspicious-url", Severity.WARNING, place[1], "link to a plain https address", place[0])
    if key := next(keys(value), None):
        message = "something of the shape of a secret key"  # which is not repeated: this text goes into logs
        yield text.finding(
            "hard-coded-secret", Severity.WARNING, message, "remove it, and revoke it if it is real", key[0]
        )


def _any(words: Iterable[str], text: str) -> bool:
    return any(map(text.__contains__, words))


def _encoded(value: str, lowered: str) -> int | None:
    """Where a code begins, or the command that decodes one."""
    if _any(_DECODE_WORDS, lowered) and _SHORT_CODE.search(value) and (decoding := _DECODED.search(lowered)):
        return decoding.start()
    offset = 0
    for line in value.split("\n"):
        if len(line) >= _LONG and (found := _LONG_CODE.search(line)) and len(set(found[0])) > 12:
            return offset + found.start()  # a rule of one character is as long, and no code
        offset += len(line) + 1
    return None


def _address(lowered: str) -> tuple[int, str] | None:
    """Where the first odd link stands, and what is odd about it."""
    if _any(_SCRIPT_WORDS, lowered) and (found := _SCRIPT.search(lowered)):
        return found.start(), _KINDS["script"]
    if "![" in lowered and (found := _IMAGE.search(lowered)):
        return found.start(), _KINDS["image"]
    for link in _URL.finditer(lowered):
        if (host := _HOSTS.match(link[0])) and not _LOCAL.match(link[0]):
            return link.start(), _KINDS[str(host.lastgroup)]
    return None
