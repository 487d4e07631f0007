"""Bytes that are not UTF-8."""

from __future__ import annotations

from hostile.case import rejected
from hostile.writing import fields, manifest

CASES = (
    rejected("yaml-utf16", "encoding", manifest(fields().encode("utf-16"))),
    rejected(
        "yaml-latin1-bytes",
        "encoding",
        manifest(fields(description="Zieht R\u00fcben heraus.").encode("latin-1")),
    ),
    rejected(
        "yaml-overlong-utf8",
        "encoding",
        manifest(fields().encode().replace(b"muddy", b"\xc0\xaf\xe0\x80\xaf")),
    ),
)
