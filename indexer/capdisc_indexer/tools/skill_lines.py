"""Lines of a skill's file: what is kept of it begins after the front matter."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath

from capdisc_indexer.check.secret_keys import masked
from capdisc_indexer.errors import CapdiscError
from capdisc_indexer.linked_files import file_in, folder_of, text_in
from capdisc_indexer.types import Descriptor

_TELLING = 400


def lines_before(skill: Descriptor, roots: Sequence[str]) -> int:
    """How many lines of the file stand before the skill's content; 0 where the file cannot be read any more."""
    name = PurePath(skill.source.path).name
    try:
        text = masked(text_in(file_in(folder_of(skill, roots), name), name))
    except CapdiscError:
        return 0
    start = text.replace("\r\n", "\n").find(skill.content[:_TELLING])
    return text.replace("\r\n", "\n").count("\n", 0, start) if start > 0 else 0
