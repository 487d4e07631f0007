"""The ways in which programs save a file, imitated call by call."""

from __future__ import annotations

import mmap
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

Saving = Callable[[Path, bytes], None]


def in_place(path: Path, data: bytes) -> None:
    path.write_bytes(data)


def truncated_then_written(path: Path, data: bytes) -> None:
    """VS Code, nano: empty for a moment."""
    with path.open("wb") as file:
        file.flush()
        time.sleep(0.05)
        file.write(data)


def in_pieces(path: Path, data: bytes) -> None:
    with path.open("wb", buffering=0) as file:
        for start in range(0, len(data), 16):
            file.write(data[start : start + 16])
            time.sleep(0.01)


def renamed_over(path: Path, data: bytes) -> None:
    fresh = path.with_name(f".{path.name}.tmp")
    fresh.write_bytes(data)
    fresh.replace(path)


def moved_from_another_folder(path: Path, data: bytes) -> None:
    fresh = path.parent.parent.parent / "elsewhere.tmp"
    fresh.write_bytes(data)
    fresh.replace(path)


def backup_removed(path: Path, data: bytes) -> None:
    backup = path.with_name(f"{path.name}.bak")
    path.rename(backup)
    path.write_bytes(data)
    backup.unlink()


def deleted_and_made_again(path: Path, data: bytes) -> None:
    """git checkout."""
    path.unlink()
    path.write_bytes(data)


def through_memory(path: Path, data: bytes) -> None:
    with path.open("r+b") as file:
        file.truncate(len(data))
        with mmap.mmap(file.fileno(), len(data)) as view:
            view[:] = data


def copied_with_an_old_stamp(path: Path, data: bytes) -> None:
    """cp --preserve, unzip."""
    fresh = path.parent.parent.parent / "elsewhere.tmp"
    fresh.write_bytes(data)
    os.utime(fresh, (1_000_000_000, 1_000_000_000))
    shutil.copy2(fresh, path)
    fresh.unlink()


def vim(path: Path, data: bytes) -> None:
    swap, probe, backup = (
        path.with_name(f".{path.name}.swp"),
        path.with_name("4913"),
        path.with_name(f"{path.name}~"),
    )
    swap.write_bytes(b"b0VIM 9.0")
    probe.touch()
    probe.unlink()
    path.rename(backup)
    path.write_bytes(data)
    path.chmod(0o644)
    backup.unlink()
    swap.unlink()


def emacs(path: Path, data: bytes) -> None:
    lock, saved = path.with_name(f".#{path.name}"), path.with_name(f"#{path.name}#")
    lock.symlink_to("someone@somewhere.1234:1700000000")
    saved.write_bytes(data[: len(data) // 2])
    path.rename(path.with_name(f"{path.name}~"))
    path.write_bytes(data)
    saved.unlink()
    lock.unlink()


def sed(path: Path, data: bytes) -> None:
    fresh = path.with_name("sedAb12Cd")
    fresh.write_bytes(data)
    fresh.chmod(0o644)
    fresh.rename(path)


def patch(path: Path, data: bytes) -> None:
    fresh = path.with_name(f"{path.name}.oAb12Cd")
    fresh.write_bytes(data)
    path.rename(path.with_name(f"{path.name}.orig"))
    fresh.rename(path)


def rsync(path: Path, data: bytes) -> None:
    fresh = path.with_name(f".{path.name}.Ab12Cd")
    fresh.write_bytes(data)
    os.utime(fresh, (1_500_000_000, 1_500_000_000))
    fresh.rename(path)


def real_vim(path: Path, data: bytes) -> None:
    _through(
        path, data, lambda fresh: ["vim", "-Nu", "NONE", "-es", f"+%d|0r {fresh}|$d|wq", str(path)]
    )


def real_patch(path: Path, data: bytes) -> None:
    fresh = path.parent.parent.parent / "elsewhere.tmp"
    fresh.write_bytes(data)
    script = 'diff -u "$0" "$1" | patch -s "$0"; rm "$1"'
    subprocess.run(["sh", "-c", script, str(path), str(fresh)], check=True)


def real_sed(path: Path, data: bytes) -> None:
    _through(path, data, lambda fresh: ["sed", "-i", "-e", f"1r {fresh}", "-e", "d", str(path)])


def _through(path: Path, data: bytes, command: Callable[[Path], list[str]]) -> None:
    fresh = path.parent.parent.parent / "elsewhere.tmp"
    fresh.write_bytes(data)
    subprocess.run(
        command(fresh), check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, timeout=30
    )
    fresh.unlink()


IMITATED: tuple[Saving, ...] = (
    in_place, truncated_then_written, in_pieces, renamed_over, moved_from_another_folder, backup_removed,
    deleted_and_made_again, through_memory, copied_with_an_old_stamp, vim, emacs, sed, patch, rsync,
)  # fmt: skip
REAL: tuple[Saving, ...] = tuple(
    saving
    for saving, program in ((real_vim, "vim"), (real_patch, "patch"), (real_sed, "sed"))
    if shutil.which(program)
)
