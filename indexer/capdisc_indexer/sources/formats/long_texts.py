"""The long texts of a manifest, as its readers get them, each with the place where it is
written.
"""

# Paths are plain text here: they may hold bytes that are no text.
# ruff: noqa: PTH118, PTH120

from __future__ import annotations

import os

from capdisc_indexer.model.types import Descriptor
from capdisc_indexer.sources.formats.companion_files import Companions
from capdisc_indexer.sources.parsed_capability import LongText
from capdisc_indexer.sources.readers.field_reader import Fields
from capdisc_indexer.sources.readers.yaml_nodes import TextNode
from capdisc_indexer.sources.scan.scanned_files import FoundFile

LONG_FIELDS = ("content", "guidance", "instructions")


def long_texts(
    fields: Fields, capability: Descriptor, file: FoundFile, companions: Companions
) -> tuple[LongText, ...]:
    """Content, guidance and instructions, whether they are given in place, named, or lie beside
    the manifest.
    """
    texts = []
    for field in LONG_FIELDS:
        value = str(getattr(capability, field))
        node = fields.value(field)
        if isinstance(node, TextNode):
            texts.append(_locate_text(value, node, file))
        elif value:
            texts.append(
                LongText(value=value, path=companions.body_path, line=companions.body_line)
            )
    return tuple(text for text in texts if text.value)


def _locate_text(value: str, node: TextNode, file: FoundFile) -> LongText:
    written = node.value.strip()
    if value and not written.startswith(value[:200].strip()):  # the name of a file, then
        return LongText(value=value, path=os.path.join(os.path.dirname(file.path), written))
    is_block = not node.is_plain and "\n" in node.value
    return LongText(
        value=value or written, path=file.path, line=node.line + is_block, in_place=not is_block
    )
