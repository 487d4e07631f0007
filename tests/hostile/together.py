"""The whole tree in one scan, as one catalogue."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hostile.groups import CASES
from hostile.make import neighbour, write
from hostile.streams import say


@dataclass(frozen=True, slots=True)
class Together:
    """What one scan made of all cases: by case, whether its neighbour is indexed and whether an error names it."""

    cases: tuple[str, ...]
    neighbours: frozenset[str]
    named: frozenset[str]
    status: int
    seconds: float


def one_scan(base: Path) -> Together:
    """Writes every case below `base`, and indexes them all as one root into `base/index`."""
    written = tuple(name for name, case in CASES.items() if _is_written(case, base))
    root, index = base / "cases", base / "index"
    started = time.monotonic()
    said = say("index", ["index", str(root), "--index-dir", str(index), "--json", "--wait"])
    seconds = time.monotonic() - started
    found = json.loads(said.out)["findings"] if said.out else []
    listed = json.loads(say("list", ["list", "--json", "--index-dir", str(index)]).out)[
        "capabilities"
    ]
    places = [Path(one["path"]).relative_to(root).parts for one in listed]
    return Together(
        cases=written,
        neighbours=frozenset(
            place[0] for place in places if place[1] == neighbour(CASES[place[0]])
        ),
        named=frozenset(_case(one, root) for one in found if one["severity"] == "error"),
        status=said.status,
        seconds=seconds,
    )


def _case(finding: dict[str, Any], root: Path) -> str:
    return finding["path"].removeprefix(f"{root}/").partition("/")[0]


def _is_written(case: Any, base: Path) -> bool:
    try:
        write(case, base)
    except OSError:  # this system has no such files
        return False
    return True
