"""The files of a table model, mapped into memory.

model.json           name, dim, vocabulary, size and digest of the other file, one golden vector
table.safetensors    table int8 (vocabulary, dim), weight float32 (vocabulary,): a piece's vector is their product;
                     pieces uint8: the pieces in the order of their bytes, a line each; starts uint32
                     (vocabulary + 1,): where each line starts
"""

from __future__ import annotations

import hashlib
import json
import mmap
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from capdisc_indexer.errors import EncoderError

HINT = "reinstall capdisc; until then searching goes by words alone"
TABLE = "table.safetensors"
FORMAT = 2
# The memoryview format of each element type.
_TYPES: dict[str, Literal["b", "B", "I", "f"]] = {"I8": "b", "U8": "B", "U32": "I", "F32": "f"}


def facts(folder: Path) -> dict[str, Any]:
    """What model.json says, once the sizes of the files agree with it. Raises EncoderError."""
    try:
        found: dict[str, Any] = json.loads((folder / "model.json").read_bytes())
        needed = [found[key] for key in ("name", "dim", "vocabulary", "golden")] + [found["files"][TABLE]["sha256"]]
        sizes = {name: (folder / name).stat().st_size for name in found["files"]}
        wrong = [name for name, size in sizes.items() if size != found["files"][name]["bytes"]]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise EncoderError(f"the encoder is missing or incomplete: {folder}", HINT) from error
    wrong += [str(folder)] if None in needed else []
    if wrong or found.get("format") != FORMAT:
        what = f"{folder / wrong[0]} has a wrong size" if wrong else f"{folder} has an unknown format"
        raise EncoderError(f"the encoder is damaged: {what}", HINT)
    return found


def fingerprint(found: Mapping[str, Any]) -> str:
    """The same for the same model, another for any other."""
    text = json.dumps([found["name"], found["dim"], found["files"]], sort_keys=True)
    return f"{found['name']}:{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def open_tensors(folder: Path, found: Mapping[str, Any]) -> dict[str, memoryview[Any]]:
    """Each tensor as a flat view of the mapped file. Raises EncoderError when one is missing or has another shape."""
    path = folder / TABLE
    try:
        tensors = _map(path)
        rows, dim = found["vocabulary"], found["dim"]
        wanted = {"table": rows * dim, "weight": rows, "starts": rows + 1, "pieces": tensors["starts"][rows]}
    except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
        raise EncoderError(f"the encoder is damaged: {path} cannot be read", HINT) from error
    if {name: len(tensors[name]) for name in tensors} != wanted:
        raise EncoderError(f"the encoder is damaged: {path} has other shapes than model.json says", HINT)
    return tensors


def _map(path: Path) -> dict[str, memoryview[Any]]:
    """All tensors of a safetensors file: 8 bytes with the header's length, a JSON header, then the data."""
    with path.open("rb") as handle:
        view = memoryview(mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ))
    start = 8 + int.from_bytes(view[:8], "little")
    header = json.loads(bytes(view[8:start]))
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        first, last = entry["data_offsets"]
        tensors[name] = view[start + first : start + last].cast(_TYPES[entry["dtype"]])
    return tensors
