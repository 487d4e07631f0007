"""A process that swaps files and folders for links to the outside while they are read."""

from __future__ import annotations

import os
import threading
import time
from functools import partial
from pathlib import Path

from hostile.streams import say
from hostile.writing import FILE_CANARY, fields, put, skill_text

_CANARY_SKILL = skill_text(FILE_CANARY, name="secret", description=FILE_CANARY)
_CANARY_TOOL = fields(
    f"skillContent: {FILE_CANARY}\n", name="secret", description=f"Tells {FILE_CANARY}."
)

# What each file holds, and what stands in its place outside.
_FILES = {
    "skill/SKILL.md": (skill_text("Pull."), _CANARY_SKILL),
    "tool/CAPABILITY.yaml": (fields(name="tool"), _CANARY_TOOL),
    "tool/schema.json": (
        '{"properties": {"row": {"type": "integer"}}}',
        f'{{"properties": {{"row": {{"description": "{FILE_CANARY}"}}}}}}',
    ),
    "named/CAPABILITY.yaml": (fields("skillContent: docs/long.md\n", name="named"), None),
    "named/docs/long.md": ("Pull one row after the other.", FILE_CANARY),
    "inner/CAPABILITY.yaml": (fields("skillContent: docs/long.md\n", name="inner"), None),
    "inner/docs/long.md": ("Pull one row after the other.", FILE_CANARY),
    "folder/CAPABILITY.yaml": (fields(name="folder"), _CANARY_TOOL),
}
_SWAPPED_FILES = (
    "skill/SKILL.md",
    "tool/CAPABILITY.yaml",
    "tool/schema.json",
    "named/docs/long.md",
)
_SWAPPED_FOLDERS = ("inner/docs", "folder")
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

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    @property
    def is_alive(self) -> bool:
        """Whether swapping goes on."""
        return self._thread.is_alive()

    def _run(self) -> None:
        swaps = [partial(self._file, name) for name in _SWAPPED_FILES]
        swaps += [partial(self._folder, name) for name in _SWAPPED_FOLDERS]
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
    for name, (text, canary) in _FILES.items():
        put(root, name, text)
        put(outside.parent / "kept", name, text)
        if canary is not None:
            put(outside, name, canary)
    (root.parent / "aside" / "inner").mkdir(parents=True)


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
