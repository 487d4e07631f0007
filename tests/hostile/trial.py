"""One case tried out: written, run over, and measured."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from capdisc.context import surroundings
from hostile.case import Case
from hostile.commands import Run
from hostile.guard import GUARD
from hostile.make import neighbour, write
from hostile.measures import changes, forget_peak, mebibytes, snapshot
from hostile.streams import Said


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What the commands said, found and touched. `findings` and `capabilities` are their JSON."""

    case: Case
    root: Path
    said: tuple[Said, ...]
    findings: tuple[dict[str, Any], ...]
    capabilities: tuple[dict[str, Any], ...]
    touched: tuple[str, ...]
    index_bytes: bytes
    seconds: float
    mebibytes: float

    def spoken(self, label: str) -> Iterator[Said]:
        """The runs of a command, by its first words: `show --json`."""
        return (one for one in self.said if one.label == label)

    def of_case(self, path: str) -> bool:
        """Whether a path lies in the case and is not its neighbour's."""
        return path.startswith(f"{self.root}/") and not path.startswith(
            f"{self.root}/{neighbour(self.case)}/"
        )

    @property
    def own(self) -> list[dict[str, Any]]:
        """The case's own findings."""
        return [one for one in self.findings if self.of_case(one["path"])]

    @property
    def own_capabilities(self) -> list[dict[str, Any]]:
        """What is indexed of the case itself."""
        return [one for one in self.capabilities if self.of_case(one["path"])]


def attempt(case: Case, base: Path) -> Trial:
    """Writes the case below `base`, and runs everything over it. Raises OSError where it cannot be written."""
    root, index = write(case, base), base / "index" / case.name
    index.parent.mkdir(exist_ok=True)
    before = snapshot(base)
    run = Run(case, root, index)
    forget_peak()
    idle, started = mebibytes("VmRSS"), time.process_time()
    here = surroundings.current_runtime()
    # What the last case's tools were is nothing that this one changes.
    shutil.rmtree(here.state_dir() / "definitions", ignore_errors=True)
    GUARD.start((str(index), str(base / "tmp"), str(here.trust_dir), str(here.state_dir())))
    run.in_small_stack()
    touched = GUARD.stop()
    return Trial(
        case=case,
        root=root,
        said=tuple(run.said),
        findings=tuple(run.findings),
        capabilities=tuple(run.capabilities),
        touched=(*touched, *run.failures, *changes(before, snapshot(base))),
        index_bytes=b"".join(
            path.read_bytes() for path in sorted(index.rglob("*")) if path.is_file()
        ),
        seconds=time.process_time() - started,
        mebibytes=mebibytes("VmHWM") - idle,
    )
