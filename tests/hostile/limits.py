"""What it costs to read single hostile files, in a thread with a small stack."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from capdisc_indexer.model.types import Finding
from capdisc_indexer.sources.format_table import SOURCES
from capdisc_indexer.sources.readers.file_bytes import read_bytes
from capdisc_indexer.sources.scan.file_scan import scan_roots
from hostile.commands import STACK_BYTES
from hostile.groups import CASES
from hostile.make import write
from hostile.measures import forget_peak, mebibytes

LIMITED = ("yaml structure", "yaml scalars", "schema")
SECONDS, MEBIBYTES = 0.05, 20


@dataclass(frozen=True, slots=True)
class Cost:
    """Processor time and memory of one case."""

    seconds: float
    mebibytes: float

    @property
    def is_over(self) -> bool:
        """Whether one of the limits is passed."""
        return self.seconds > SECONDS or self.mebibytes > MEBIBYTES


def costs(base: Path, names: Sequence[str]) -> dict[str, Cost]:
    """The cost of reading each case's files, written below `base`, without that of the first call."""
    _cost(write(CASES["control-minimal"], base))
    return {name: _cost(write(CASES[name], base)) for name in names}


def _cost(root: Path) -> Cost:
    forget_peak()
    idle, taken = mebibytes("VmRSS"), list[float]()
    before = threading.stack_size(STACK_BYTES)
    thread = threading.Thread(target=_read, args=(root, taken))
    thread.start()
    thread.join()
    threading.stack_size(before)
    return Cost(taken[0], mebibytes("VmHWM") - idle)


def _read(root: Path, taken: list[float]) -> None:
    started = time.thread_time()
    for file in scan_roots([root]).files:
        data = read_bytes(file, SOURCES[file.format].limit_bytes)
        if not isinstance(data, Finding):
            SOURCES[file.format].load(file, data)
    taken.append(time.thread_time() - started)
