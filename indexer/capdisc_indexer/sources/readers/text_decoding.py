"""The text of a file, which must be UTF-8, and findings about its encoding."""

from __future__ import annotations

from capdisc_indexer.model.types import Finding, Severity

_MARKS = (
    (b"\xff\xfe\x00\x00", "UTF-32"),
    (b"\x00\x00\xfe\xff", "UTF-32"),
    (b"\xff\xfe", "UTF-16"),
    (b"\xfe\xff", "UTF-16"),
)


def decode(data: bytes, path: str) -> str | Finding:
    """The text without byte order mark and with `\\n` as its only line end, or the finding that
    says why the data is not text.
    """
    if wide := wide_finding(data, path):
        return wide
    try:
        text = data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        message = f"byte {error.start + 1} (0x{data[error.start]:02X}) is not UTF-8"
        return _problem("encoding", message, "save it as UTF-8", path, data, error.start)
    if "\0" in text:
        message = "the file holds a NUL byte"
        return _problem("control-character", message, "remove it", path, data, data.index(b"\0"))
    if "\r" not in text:
        return text
    text = text.replace("\r\n", "\n")
    return text if "\n" in text else text.replace("\r", "\n")


def wide_finding(data: bytes, path: str) -> Finding | None:
    """The finding for a file in UTF-16 or UTF-32; None for any other."""
    if encoding := _wide_encoding(data):
        message = f"the file is {encoding}, not UTF-8"
        return _problem("encoding", message, "save it as UTF-8", path, data, 0)
    return None


def mark_finding(data: bytes, path: str) -> tuple[Finding, ...]:
    """Notices for a UTF-8 byte order mark, which some other readers refuse, and for two kinds of
    line ends; both are accepted here.
    """
    findings = []
    if data.startswith(b"\xef\xbb\xbf"):
        findings.append(
            Finding(
                code="byte-order-mark",
                severity=Severity.INFO,
                message="the file begins with a byte order mark",
                hint="save it as UTF-8 without a mark",
                path=path,
            )
        )
    if 0 < data.count(b"\r\n") < data.count(b"\n"):
        findings.append(
            Finding(
                code="line-ends-mixed",
                severity=Severity.INFO,
                message="some lines end with CR LF and some with LF",
                hint="save it with one kind of line end",
                path=path,
            )
        )
    return tuple(findings)


def _wide_encoding(data: bytes) -> str:
    for mark, name in _MARKS:
        if data.startswith(mark):
            return name
    # Without a mark, ordinary letters in UTF-16 show as every other byte being NUL.
    head = data[:64]
    looks_wide = len(head) >= 4 and (not any(head[0::2]) or not any(head[1::2])) and any(head)
    return "UTF-16" if looks_wide else ""


def _problem(code: str, message: str, hint: str, path: str, data: bytes, offset: int) -> Finding:
    before = data[:offset]
    start = before.rfind(b"\n") + 1
    return Finding(
        code=code,
        severity=Severity.ERROR,
        message=message,
        hint=hint,
        path=path,
        line=before.count(b"\n") + 1,
        column=offset - start + 1,
    )
