"""The words that a capability is run by as its file has them: the index holds them with their keys
masked.
"""

# Paths are plain text here: they may hold bytes that are no text.
# ruff: noqa: PTH118, PTH120

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from capdisc_indexer.model.errors import InputError
from capdisc_indexer.model.frozen import replace
from capdisc_indexer.model.types import Descriptor, Finding
from capdisc_indexer.sources import SOURCES
from capdisc_indexer.sources.formats.mcp_servers import ServerConfig, servers_of
from capdisc_indexer.sources.readers.file_bytes import read_input
from capdisc_indexer.sources.scan.folder_files import stat_of
from capdisc_indexer.sources.scan.folder_tree import is_inside
from capdisc_indexer.sources.scan.scanned_files import FoundFile
from capdisc_indexer.text.normalization import one_line
from capdisc_indexer.validation.masking import MASK, mask_strings


def with_written_words(descriptor: Descriptor, roots: Sequence[str]) -> Descriptor:
    """The capability with its `run` and its schema as its file has them; itself where nothing in
    them is masked.

    Raises InputError where the file cannot be read, or says something else by now.
    """
    if not (_is_masked(descriptor.run) or _is_masked(descriptor.schema)):
        return descriptor
    if file := _found_file(descriptor, roots):
        for run, schema in _written(descriptor, file):
            whole = replace(
                descriptor,
                run=run if _is_masked(descriptor.run) else descriptor.run,
                schema=schema if _is_masked(descriptor.schema) else descriptor.schema,
            )
            if _masked_text(whole) == _masked_text(descriptor):
                return whole
    message = f"{one_line(descriptor.id)} cannot be run: its words hold a key, and its file says other ones now"
    raise InputError(
        message,
        "run: capdisc index; better, take the key out and name its variable in requiredSecrets",
    )


def _is_masked(value: Any) -> bool:
    return value is not None and MASK in json.dumps(value, default=str)


def _masked_text(descriptor: Descriptor) -> str:
    return json.dumps([mask_strings(descriptor.run), mask_strings(descriptor.schema)], default=str)


def _found_file(descriptor: Descriptor, roots: Sequence[str]) -> FoundFile | None:
    source = descriptor.source
    resolved = os.path.realpath(source.path)
    status = stat_of(source.path, resolved)
    # What is declared may lie anywhere; a file of a root that became a link must not lead out of
    # all of them.
    places = [os.path.realpath(place) for place in (*roots, source.root)]
    if isinstance(status, Finding) or not is_inside(resolved, places):
        return None
    return FoundFile(
        path=source.path,
        resolved=resolved,
        size=status.size,
        mtime_ns=status.mtime_ns,
        ctime_ns=status.ctime_ns,
        inode=status.inode,
        relative=os.path.relpath(source.path, source.root),
        root=source.root,
        root_order=0,
        format=source.format,
        companions=_companions(source.path, resolved, source.format),
    )


def _companions(path: str, resolved: str, format: str) -> Any:
    folder, place = os.path.dirname(path), os.path.dirname(resolved)
    names = [name for name in os.listdir(place) if name.lower() in SOURCES[format].companions]
    stats = [
        stat_of(os.path.join(folder, name), os.path.join(place, name)) for name in sorted(names)
    ]
    return tuple(one for one in stats if not isinstance(one, Finding))


def _written(descriptor: Descriptor, file: FoundFile) -> Sequence[tuple[Any, Any]]:
    """Each `run` and schema that the file may mean."""
    if SOURCES[file.format].keeps:
        call = (descriptor.run or {}).get("mcp")
        if not isinstance(call, Mapping):
            return ()
        servers = [one for one in servers_of(file) if isinstance(one, ServerConfig)]
        return [({"mcp": {**call, **one.start()}}, descriptor.schema) for one in servers]
    data = read_input(file)
    if isinstance(data, Finding):
        return ()
    loaded = SOURCES[file.format].load(file, data).descriptors
    return [
        (one.run, one.schema) for one in loaded if one.source.pointer == descriptor.source.pointer
    ]
