"""What does a person use of what the hook offers? Counts, and vectors of the turns before a use.

One small file in the user's state folder, for this machine alone: no part of an index, and no text
of a prompt in it. Capabilities are known by their names, as clients know them.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from struct import iter_unpack

from capdisc_indexer import encoders
from capdisc_indexer.model.errors import CapdiscError
from capdisc_indexer.model.frozen import field, frozen, replace, shallow_dict
from capdisc_indexer.store import state_file

MAX_CAPABILITIES = 300
MAX_VECTORS = 8
# Longer than a change of the file takes; a hook that waits holds up a client.
_LOCK_TIMEOUT_S = 0.15


@frozen(kw_only=True)
class UseRecord:
    """How often a capability was offered and used; when it was used last, in seconds since 1970
    (0: never); and int8 vectors of turns before a use.
    """

    offered: int = 0
    used: int = 0
    last_used: float = 0.0
    vectors: tuple[bytes, ...] = ()


@frozen(kw_only=True)
class UseMemory:
    """The records by casefolded name, and the fingerprint of the encoder of their vectors."""

    encoder: str = ""
    records: Mapping[str, UseRecord] = field(default_factory=dict)


def memory_path(folder: Path) -> Path:
    """Where the memory lies below the user's state folder."""
    return folder / "hook" / "use-memory.json"


def load_use_memory(folder: Path) -> UseMemory:
    """The memory below the user's state folder: empty where the file is missing or damaged, and
    without vectors where they are of another encoder than the shipped one.
    """
    memory = _read_memory(folder)
    if memory.encoder and memory.encoder != encoders.shipped_fingerprint():
        return UseMemory(records=_drop_vectors(memory.records))
    return memory


def record_offer(folder: Path, names: Collection[str]) -> None:
    """Count an offer of each capability. Raises CapdiscError, as every change here does, where the
    state folder cannot be used, or another process holds it.
    """
    with _change_records(folder) as records:
        for name in map(str.casefold, names):
            record = records.pop(name, UseRecord())
            records[name] = replace(record, offered=record.offered + 1)


def record_use(
    folder: Path, name: str, vectors: Sequence[bytes], encoder: str, now: float
) -> None:
    """Count a use of the capability, and keep the vectors of the turns before it."""
    with _change_records(folder, encoder) as records:
        used = records.get(name.casefold(), UseRecord()).used + 1
        _add_use(records, name, UseRecord(used=used, last_used=now, vectors=(*vectors,)))


def merge_uses(folder: Path, uses: Mapping[str, UseRecord], encoder: str) -> None:
    """Add uses that were read elsewhere, where the hook may have counted them as well: of two
    counts of a capability the larger one stays, and of equal vectors one.
    """
    with _change_records(folder, encoder) as records:
        for name, use in uses.items():
            _add_use(records, name, use)


def forget_use(folder: Path) -> None:
    """Remove the memory."""
    path = memory_path(folder)
    if path.exists():
        with state_file.lock_folder(path.parent, _LOCK_TIMEOUT_S):
            state_file.remove(path)


@contextmanager
def _change_records(folder: Path, encoder: str = "") -> Iterator[dict[str, UseRecord]]:
    """The records, which are written afterwards, but for those used longest ago beyond the limit;
    of those that were never used, the first ones go. `encoder` is that of the vectors which are
    added ("": none).
    """
    path = memory_path(folder)
    with state_file.lock_folder(path.parent, _LOCK_TIMEOUT_S):
        memory = _read_memory(folder)
        encoder = encoder or memory.encoder
        is_same = encoder == memory.encoder
        records = dict(memory.records) if is_same else _drop_vectors(memory.records)
        yield records
        for name in sorted(records, key=lambda name: records[name].last_used)[:-MAX_CAPABILITIES]:
            del records[name]
        data = _format_memory(UseMemory(encoder=encoder, records=records))
        state_file.replace_state_file(path, data)


def _add_use(records: dict[str, UseRecord], name: str, use: UseRecord) -> None:
    """Put the use behind the others, with the last of the vectors; one of zeros says nothing."""
    record = records.pop(name.casefold(), UseRecord())
    added = dict.fromkeys(filter(any, use.vectors))
    vectors = (*(vector for vector in record.vectors if vector not in added), *added)
    records[name.casefold()] = replace(
        record,
        used=max(record.used, use.used),
        last_used=max(record.last_used, use.last_used),
        vectors=vectors[-MAX_VECTORS:],
    )


def _drop_vectors(records: Mapping[str, UseRecord]) -> dict[str, UseRecord]:
    return {name: replace(record, vectors=()) for name, record in records.items()}


def _read_memory(folder: Path) -> UseMemory:
    try:
        data = json.loads(state_file.read_state_file(memory_path(folder)) or b"{}")
        size = data["vector_bytes"]
        records = {
            name: UseRecord(**{**row, "vectors": _split_vectors(row["vectors"], size)})
            for name, row in data["records"].items()
        }
        return UseMemory(encoder=data["encoder"], records=records)
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError, CapdiscError):
        return UseMemory()


def _split_vectors(text: str, size: int) -> tuple[bytes, ...]:
    """The vectors of a record. Raises ValueError for a text of another size. Base64 and a loop
    take three times as long, 2 ms for 100 records.
    """
    data = bytes.fromhex(text)
    if data and (size < 1 or len(data) % size):
        raise ValueError
    return tuple(chain.from_iterable(iter_unpack(f"{size}s", data))) if data else ()


def _format_memory(memory: UseMemory) -> bytes:
    rows = {
        name: {**shallow_dict(record), "vectors": b"".join(record.vectors).hex()}
        for name, record in memory.records.items()
    }
    sizes = (len(vector) for record in memory.records.values() for vector in record.vectors)
    size = max(sizes, default=0)
    document = {"encoder": memory.encoder, "vector_bytes": size, "records": rows}
    return json.dumps(document, ensure_ascii=False).encode("utf-8", "replace")
