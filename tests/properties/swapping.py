"""A process that swaps files and folders for links to the outside while they are read."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from hostile.streams import say
from hostile.writing import FILE_CANARY, fields, put, skill_text

_CANARY_SKILL = skill_text(FILE_CANARY, name="secret", description=FILE_CANARY)
_CANARY_TOOL = fields(
    f"skillContent: {FILE_CANARY}\n", name="secret", description=f"Tells {FILE_CANARY}."
)

PAUSE_S = 0.0005  # or the reader would hardly come to read


class Swapper:
    """Swaps one thing after the other, to and fro, until the block ends; `swaps` counts."""

    def __init__(self, root: Path, outside: Path) -> None:
        self.swaps = 0
        self._root, self._outside = root, outside
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        _write(root, outside)

    def __enter__(self) -> Swapper:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._is_over.set()
        self._thread.join()

    @property
    def is_alive(self) -> bool:
        """Whether swapping goes on."""
        return self._thread.is_alive()

    def _run(self) -> None:
        swaps: list[Callable[[bool], None]] = [
            lambda out: self._file("skill/SKILL.md", out),
            lambda out: self._file("tool/CAPABILITY.yaml", out),
            lambda out: self._file("tool/schema.json", out),
            lambda out: self._file("named/docs/long.md", out),
            lambda out: self._folder("inner/docs", out),
            lambda out: self._folder("folder", out),
        ]
        out = True
        while not self._is_over.is_set():
            for swap in swaps:
                swap(out)
                self.swaps += 1
                time.sleep(PAUSE_S)
            out = not out

    def _file(self, relative: str, out: bool) -> None:
        path = self._root / relative
        fresh = path.with_name(".fresh")
        if out:
            fresh.symlink_to(self._outside / relative)
        else:
            os.link(self._outside.parent / "kept" / relative, fresh)
        fresh.replace(path)

    def _folder(self, relative: str, out: bool) -> None:
        path = self._root / relative
        aside = self._root.parent / "aside" / relative
        if out:
            path.rename(aside)
            path.symlink_to(self._outside / relative)
        else:
            path.unlink()
            aside.rename(path)


def _write(root: Path, outside: Path) -> None:
    """Six capabilities, and outside the same files with the canary in each."""
    for place in (root, outside.parent / "kept"):
        put(place, "skill/SKILL.md", skill_text("Pull."))
        put(place, "tool/CAPABILITY.yaml", fields(name="tool"))
        put(place, "tool/schema.json", '{"properties": {"row": {"type": "integer"}}}')
        put(place, "named/CAPABILITY.yaml", fields("skillContent: docs/long.md\n", name="named"))
        put(place, "named/docs/long.md", "Pull one row after the other.")
        put(place, "inner/CAPABILITY.yaml", fields("skillContent: docs/long.md\n", name="inner"))
        put(place, "inner/docs/long.md", "Pull one row after the other.")
        put(place, "folder/CAPABILITY.yaml", fields(name="folder"))
    put(outside, "skill/SKILL.md", _CANARY_SKILL)
    put(outside, "tool/CAPABILITY.yaml", _CANARY_TOOL)
    put(
        outside,
        "tool/schema.json",
        f'{{"properties": {{"row": {{"description": "{FILE_CANARY}"}}}}}}',
    )
    put(outside, "named/docs/long.md", FILE_CANARY)
    put(outside, "inner/docs/long.md", FILE_CANARY)
    put(outside, "folder/CAPABILITY.yaml", _CANARY_TOOL)
    for relative in ("inner", "folder"):
        (root.parent / "aside" / relative).parent.mkdir(parents=True, exist_ok=True)
    (root.parent / "aside" / "inner").mkdir()


def leaks(work: Path, swaps: int) -> tuple[int, int, list[str]]:
    """How many swaps there were, how many times a link was met on the way, and where the canary came out."""
    root, index, found, met = work / "root", work / "index", [], 0
    outside = work.parent / "outside"  # of the workspace, inside which links are followed
    outside.mkdir(parents=True)
    with Swapper(root, outside) as swapper:
        while swapper.swaps < swaps and swapper.is_alive:
            for argv in _commands(root, index):
                said = say(argv[0], argv)
                met += (said.out + said.err).count("became a link after the scan")
                # 4 where every capability was a link at the moment of the build, so that there is nothing to render.
                if FILE_CANARY in said.out + said.err or said.status not in (0, 1, 2, 4):
                    found.append(f"{' '.join(argv)}: status {said.status}: {said.err[:300]}")
            found += [
                str(path)
                for path in index.rglob("*")
                if path.is_file() and FILE_CANARY.encode() in path.read_bytes()
            ]
    return swapper.swaps, met, found


def _commands(root: Path, index: Path) -> list[list[str]]:
    here = ["--index-dir", str(index)]
    return [
        ["index", str(root), *here, "--verify", "--json"],
        *[["validate", str(root), "--json"]] * 20,
        ["render", "pull turnips from the field", *here, "--budget", "4000"],
        ["show", "tool:named", "tool:inner", "--json", *here],
    ]
