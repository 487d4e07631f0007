"""The long texts of a manifest, as its readers get them, each with the place where it is written."""

# Paths are plain text here: they may hold bytes that are no text.
# ruff: noqa: PTH118, PTH120

from __future__ import annotations

import os

from capdisc_indexer.sources.companions import Companions
from capdisc_indexer.sources.fields import Fields
from capdisc_indexer.sources.files import FoundFile
from capdisc_indexer.sources.nodes import TextNode
from capdisc_indexer.sources.parts import LongText
from capdisc_indexer.types import Descriptor

LONG_FIELDS = ("content", "guidance", "instructions")


def long_texts(fields: Fields, capability: Descriptor, file: FoundFile, companions: Companions) -> tuple[LongText, ...]:
    """Content, guidance and instructions, whether they are given in place, named, or lie beside the manifest."""
    found = []
    for field in LONG_FIELDS:
        value = str(getattr(capability, field))
        node = fields.value(field)
        if isinstance(node, TextNode):
            found.append(_written(value, node, file))
        elif value:
            found.append(LongText(value=value, path=companions.body_path, line=companions.body_line))
    return tuple(one for one in found if one.value)


def _written(value: str, node: TextNode, file: FoundFile) -> LongText:
    given = node.value.strip()
    if value and not given.startswith(value[:200].strip()):  # the name of a file, then
        return LongText(value=value, path=os.path.join(os.path.dirname(file.path), given))
    is_block = not node.is_plain and "\n" in node.value
    return LongText(value=value or given, path=file.path, line=node.line + is_block, in_place=not is_block)
