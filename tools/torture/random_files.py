"""Files changed by chance, a folder of them at a time, and what `validate` and `index` say of them."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hostile.streams import Said, say

FIXTURES = Path(__file__).resolve().parent.parent.parent / "fixtures" / "catalogs"
NAMES = ("CAPABILITY.yaml", "SKILL.md", "schema.json", "capabilities.jsonl")
FOLDERS = 25  # of one run
_TOKENS = (
    b"---\n", b": ", b"- ", b"\n  ", b"\t", b"&a ", b"*a", b"<<: ", b"!!python/object:x ", b"? ", b"|\n", b">-\n",
    b"[" * 400, b"{" * 40, b'"', b"'", b"#", b"%YAML 1.1\n", b"\xef\xbb\xbf", b"\xff\xfe", b"\x00", b"\x85",
    b"\xc2\x85", b"\xe2\x80\xa8", b"\xed\xa0\x80", b"\x1b[2J", b"\xf3\xa0\x81\x81", b"\xe2\x80\xae", b"\\u0000",
    b"\\ud800", b"null", b"1e999", b"NaN", b"~", b"requires: [a]\n", b"kind: tool\n", b"$ref",
    b"skillContent: ../../x.md\n", b"\r", b"\r\n", b"9" * 500,
)  # fmt: skip
Mutation = Callable[[random.Random, bytes, Sequence[bytes]], bytes]


def seeds(folders: Sequence[Path] = (FIXTURES,)) -> list[bytes]:
    """The capability files below these folders, but the largest."""
    found = [
        path for folder in folders for path in sorted(folder.rglob("*")) if path.name in NAMES
    ]
    return [path.read_bytes() for path in found if path.is_file() and path.stat().st_size < 16_384]


def _flipped(rng: random.Random, data: bytes, _: Sequence[bytes]) -> bytes:
    changed = bytearray(data or b"\0")
    changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _cut(rng: random.Random, data: bytes, _: Sequence[bytes]) -> bytes:
    start = rng.randrange(len(data) + 1)
    return data[:start] + data[start + rng.randrange(40) :]


def _ended(rng: random.Random, data: bytes, _: Sequence[bytes]) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def _inserted(rng: random.Random, data: bytes, _: Sequence[bytes]) -> bytes:
    start = rng.randrange(len(data) + 1)
    return data[:start] + rng.choice(_TOKENS) * rng.choice((1, 1, 1, 30)) + data[start:]


def _repeated(rng: random.Random, data: bytes, _: Sequence[bytes]) -> bytes:
    start = rng.randrange(len(data) + 1)
    return (
        data[:start] + data[start : start + rng.randrange(80)] * rng.randrange(20) + data[start:]
    )


def _spliced(rng: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    other = rng.choice(others)
    return data[: rng.randrange(len(data) + 1)] + other[rng.randrange(len(other) + 1) :]


_MUTATIONS: tuple[Mutation, ...] = (
    _flipped,
    _cut,
    _ended,
    _inserted,
    _inserted,
    _repeated,
    _spliced,
)


def mutated(rng: random.Random, originals: Sequence[bytes]) -> bytes:
    """One of these files after one to four changes."""
    data = rng.choice(originals)
    for _ in range(rng.randrange(1, 5)):
        data = rng.choice(_MUTATIONS)(rng, data, originals)
    return data[:65_536]


def round_of_files(
    rng: random.Random, originals: Sequence[bytes], work: Path, index: Path | None
) -> list[str]:
    """Faults of one folder of changed files; the files stay in `work` when there are any."""
    shutil.rmtree(work, ignore_errors=True)
    for number in range(FOLDERS):
        folder = work / f"{number:02}"
        folder.mkdir(parents=True)
        for name in rng.sample(NAMES, rng.choice((1, 1, 2))):
            (folder / name).write_bytes(mutated(rng, originals))
    found = faults(say("validate", ["validate", str(work), "--json"]))
    if index is not None:
        found += faults(say("index", ["index", str(work), "--index-dir", str(index), "--json"]))
    return found


def faults(said: Said) -> list[str]:
    """What is wrong with a run whose findings are all that it should give."""
    if said.status not in (0, 1):
        return [f"{said.label}: status {said.status}: {said.err[:400]}"]
    return [
        f"{said.label}: {one}" for one in json.loads(said.out)["findings"] if not _is_whole(one)
    ]


def _is_whole(finding: dict[str, Any]) -> bool:
    is_placed = finding["line"] >= 1 and finding["column"] >= 1 and bool(finding["path"])
    return (
        is_placed
        and bool(finding["code"] and finding["message"])
        and finding["severity"] in ("error", "warning", "info")
    )
