"""Damaged copies of the shipped model, and a sound copy of another one."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from capdisc_indexer.encoders.static_encoder import MODEL_FOLDER, StaticEncoder

_TABLE, _FACTS = "table.safetensors", "model.json"
Damage = Callable[[Path], None]


def copy_of(target: Path) -> Path:
    """A folder with the shipped model, to be damaged."""
    target.mkdir(parents=True)
    for name in (_FACTS, _TABLE):
        shutil.copyfile(MODEL_FOLDER / name, target / name)
    return target


def _bytes_of(path: Path, change: Callable[[bytearray], Any]) -> None:
    data = bytearray(path.read_bytes())
    change(data)
    path.write_bytes(bytes(data))


def _flipped(share: float) -> Damage:
    def damage(folder: Path) -> None:
        def flip(data: bytearray) -> None:
            data[int(len(data) * share)] ^= 0x41

        _bytes_of(folder / _TABLE, flip)

    return damage


def _zeroed(folder: Path) -> None:
    _bytes_of(folder / _TABLE, lambda data: data.__setitem__(slice(2**20, 2**21), bytes(2**20)))


def _swapped(folder: Path) -> None:
    """Two halves of the table in the wrong order: the size is right, and so is every value."""

    def swap(data: bytearray) -> None:
        data[2**20 : 3 * 2**20] = data[2 * 2**20 : 3 * 2**20] + data[2**20 : 2 * 2**20]

    _bytes_of(folder / _TABLE, swap)


def _facts(**changes: Any) -> Damage:
    def damage(folder: Path) -> None:
        found = json.loads((folder / _FACTS).read_text())
        (folder / _FACTS).write_text(json.dumps({**found, **changes}))

    return damage


def _text(text: str) -> Damage:
    return lambda folder: (folder / _FACTS).write_text(text) and None


def _other_table(folder: Path) -> None:
    """Another table whose digest was put right, but not the vector that proves it."""
    _bytes_of(
        folder / _TABLE,
        lambda data: data.__setitem__(slice(2**12, 2**24), data[2**24 - 1 : 2**12 - 1 : -1]),
    )
    _signed(folder, golden=False)


def _signed(folder: Path, golden: bool) -> None:
    found = json.loads((folder / _FACTS).read_text())
    found["files"][_TABLE]["sha256"] = hashlib.sha256((folder / _TABLE).read_bytes()).hexdigest()
    (folder / _FACTS).write_text(json.dumps(found))
    if golden:
        vector = StaticEncoder(folder).encode([found["golden"]["text"]])[0]
        found["golden"]["vector"] = [
            float(each) for each in vector[: len(found["golden"]["vector"])]
        ]
        (folder / _FACTS).write_text(json.dumps(found))


def another(folder: Path) -> Path:
    """The copy made a sound model of the same dimension that gives other vectors."""
    _swapped(folder)
    _signed(folder, golden=True)
    return folder


DAMAGES: dict[str, Damage] = {
    "no table": lambda folder: (folder / _TABLE).unlink(),
    "no facts": lambda folder: (folder / _FACTS).unlink(),
    "empty table": lambda folder: os.truncate(folder / _TABLE, 0),
    "cut table": lambda folder: os.truncate(folder / _TABLE, 2**20),
    "longer table": lambda folder: _bytes_of(folder / _TABLE, lambda data: data.extend(b"\0")),
    "flipped weights": _flipped(0.5),
    "flipped vocabulary": _flipped(0.999),
    "flipped header": _flipped(0.000_001),
    "zeroed weights": _zeroed,
    "swapped weights": _swapped,
    "facts that are not JSON": _text('{"name": "static"'),
    "facts of another dimension": _facts(dim=128),
    "facts of another format": _facts(format=99),
    "another table under a right digest": _other_table,
}
