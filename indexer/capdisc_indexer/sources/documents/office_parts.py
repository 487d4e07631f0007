"""The parts of an Office file: XML in a ZIP archive, of which only so much is unpacked."""

from __future__ import annotations

import io
import posixpath
import zipfile
from collections.abc import Iterator
from xml.etree import ElementTree

MAX_PART_BYTES = 64 * 1024 * 1024
MAX_BYTES = 256 * 1024 * 1024
_RELATION = "{http://schemas.openxmlformats.org/package/2006/relationships}Relationship"
_TITLE = "{http://purl.org/dc/elements/1.1/}title"


class RefusedError(Exception):
    """The archive is none of an Office document, or more than anyone would write."""


class Parts:
    """An open archive. All that is unpacked of it counts against one limit."""

    def __init__(self, data: bytes) -> None:
        try:
            self._archive = zipfile.ZipFile(io.BytesIO(data))
        except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
            raise RefusedError(f"it is no Office document ({error})") from error
        self._names = set(self._archive.namelist())
        self._left = MAX_BYTES

    def xml(self, name: str) -> ElementTree.Element | None:
        """The root of a part; None where there is no such part."""
        if name not in self._names:
            return None
        data = self._read(name)
        # Entities are what bombs of XML are made of; no Office program writes a document type.
        if b"<!DOCTYPE" in data or b"<\0!\0D\0" in data or b"\0<\0!\0D" in data:
            raise RefusedError("a part of it declares a document type")
        try:
            return ElementTree.fromstring(data)
        except ElementTree.ParseError as error:
            raise RefusedError(f"a part of it is not XML ({error})") from error

    def relations(self, name: str) -> dict[str, str]:
        """Where the ids in a part lead to."""
        folder, base = posixpath.split(name)
        root = self.xml(f"{folder}/_rels/{base}.rels")
        found = root.iter(_RELATION) if root is not None else ()
        return {each.get("Id", ""): _joined(folder, each.get("Target", "")) for each in found}

    def title(self) -> str:
        """What the document's properties say it is called."""
        root = self.xml("docProps/core.xml")
        return (root.findtext(f".//{_TITLE}") or "").strip() if root is not None else ""

    def _read(self, name: str) -> bytes:
        limit = min(MAX_PART_BYTES, self._left)
        try:
            with self._archive.open(name) as stream:
                data = stream.read(limit + 1)
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, RuntimeError, EOFError) as error:
            raise RefusedError(f"a part of it cannot be unpacked ({error})") from error
        if len(data) > limit:
            raise RefusedError("it unpacks to more than anyone would write")
        self._left -= len(data)
        return data


def _joined(folder: str, target: str) -> str:
    return target.lstrip("/") if target.startswith("/") else posixpath.normpath(posixpath.join(folder, target))


def table_text(rows: Iterator[list[str]]) -> str:
    """Rows of cells as a Markdown table."""
    lines = [f"| {' | '.join(' '.join(cell.split()).replace('|', '/') for cell in row)} |" for row in rows]
    rule = "|".join("---" for _ in range(max(1, lines[0].count("|") - 1))) if lines else ""
    return "\n".join([lines[0], f"|{rule}|", *lines[1:]]) if lines else ""
