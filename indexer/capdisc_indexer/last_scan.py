"""When each file was last looked at: as its generation has it, and beside the generations, where that came later.

What lies beside them is replaced at will and has no digest: losing it costs a read of some files.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from capdisc_indexer.store import durable

_NAME = "scan.json"


def scan_record(roots: Sequence[str], scanned_at_ns: int, builder_id: str) -> dict[str, Any]:
    """What a generation keeps of the scan that it was built from."""
    return {"roots": roots, "scanned_at_ns": scanned_at_ns, "stats": {}, "builder_id": builder_id}


def last_scan(index_dir: Path, folder: Path, number: int) -> dict[str, Any]:
    """The record of the last scan that found what the generation with this number, in `folder`, holds."""
    built: dict[str, Any] = json.loads((folder / "meta" / _NAME).read_bytes())
    later = json_object(index_dir / _NAME)
    return later if later.get("number") == number and _is_record(later) else built


def keep(index_dir: Path, number: int, record: Mapping[str, Any], stats: Mapping[str, Sequence[int]]) -> None:
    """Keep a later record, with the stamps of the files that look otherwise than at the build."""
    data = json.dumps({**record, "number": number, "stats": stats}).encode()
    # A full disk must not fail a run that had nothing to write.
    with suppress(OSError):
        durable.replace(index_dir / _NAME, data)


def json_object(path: Path) -> dict[str, Any]:
    """The object in a file of JSON; an empty one where there is none."""
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _is_record(later: Mapping[str, Any]) -> bool:
    roots, stats = later.get("roots"), later.get("stats")
    if type(later.get("scanned_at_ns")) is not int or not isinstance(roots, list) or not isinstance(stats, dict):
        return False
    numbers = all(isinstance(stat, list) and {*map(type, stat)} <= {int} for stat in stats.values())
    return numbers and {*map(type, roots)} <= {str}
