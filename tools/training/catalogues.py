"""Translations as programs ship them: gettext catalogues and the message files of the Mozilla programs."""

from __future__ import annotations

import re
import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path

from cleaning import language_of

Found = tuple[str, str, str]
"""Language, English text, translation."""

FTL_MESSAGE = re.compile(r"^(-?[a-zA-Z][\w-]*)\s*=[ \t]*(.*)$|^[ \t]+\.(\w+)\s*=[ \t]*(.*)$")
PROPERTY = re.compile(r"^([\w.-]+)\s*=\s*(.+)$")
ENGLISH_PACK = "en-GB"


def from_gettext(folder: Path) -> Iterator[Found]:
    """The pairs of all `LANGUAGE/LC_MESSAGES/*.mo` below the folder."""
    for file in sorted(folder.rglob("*.mo")):
        language = language_of(
            file.parent.parent.name if file.parent.name == "LC_MESSAGES" else file.parent.name
        )
        if language is None:
            continue
        for english, translation in _messages(file.read_bytes()):
            yield language, english, translation


def from_mozilla(packs: list[Path]) -> Iterator[Found]:
    """The pairs of language packs of one program (`langpack-LANGUAGE@….xpi`), joined by message with the British."""
    by_language = {pack.name.removeprefix("langpack-").partition("@")[0]: pack for pack in packs}
    if ENGLISH_PACK not in by_language:
        return
    english = _pack(by_language.pop(ENGLISH_PACK), ENGLISH_PACK)
    for tag, pack in sorted(by_language.items()):
        language = language_of(tag)
        if language is not None:
            for key, text in _pack(pack, tag).items():
                if key in english:
                    yield language, english[key], text


def _messages(content: bytes) -> Iterator[tuple[str, str]]:
    """Message and translation of a compiled catalogue, the singular form where there are several."""
    order = "<" if content[:4] == b"\xde\x12\x04\x95" else ">"
    count, originals, translations = struct.unpack_from(order + "3I", content, 8)
    for number in range(count):
        pair = [_string(content, order, table + 8 * number) for table in (originals, translations)]
        if pair[0] and pair[1]:
            yield pair[0].rpartition("\x04")[2], pair[1]


def _string(content: bytes, order: str, at: int) -> str:
    length, start = struct.unpack_from(order + "2I", content, at)
    return content[start : start + length].decode("utf-8", "replace").split("\x00", 1)[0]


def _pack(file: Path, tag: str) -> dict[str, str]:
    """Every message of a language pack by file and key."""
    messages: dict[str, str] = {}
    with zipfile.ZipFile(file) as pack:
        for name in pack.namelist():
            if name.endswith((".ftl", ".properties")):
                lines = pack.read(name).decode("utf-8", "replace").splitlines()
                plain = name.replace(tag, "")
                read = _fluent(lines) if name.endswith(".ftl") else _properties(lines)
                messages |= {f"{plain}:{key}": text for key, text in read}
    return messages


def _fluent(lines: list[str]) -> Iterator[tuple[str, str]]:
    """The one-line messages and attributes; selectors and long texts are left out."""
    message = ""
    for line in lines:
        if match := FTL_MESSAGE.match(line):
            if match[1]:
                message = match[1]
            attribute = match[3] or ""
            text = match[4] if attribute else match[2]
            if text and attribute not in {"accesskey", "key", "style"} and "->" not in text:
                yield f"{message}.{attribute}", text


def _properties(lines: list[str]) -> Iterator[tuple[str, str]]:
    for line in lines:
        if match := PROPERTY.match(line):
            yield match[1], match[2]
