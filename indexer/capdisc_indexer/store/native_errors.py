"""Native libraries at arm's length: what they throw comes out as one of our errors."""

from __future__ import annotations

import errno
import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from capdisc_indexer.model.errors import CapdiscError, DamagedIndexError, IndexStateError

# Whether what a generation's files hold is what was published.
#
# At open the sizes of all files are compared, and the digests of those that are not large: a byte
# that has changed in one of those would else be a wrong answer, or a panic. Digests of everything
# are for whoever has time, or has seen something go wrong.

REBUILD_HINT = "run: capdisc index --rebuild"
# For 1,800 capabilities that is all but their texts, and takes 2 ms; the texts are packed, and
# break where read.
MAX_CHECKED_BYTES = 1 << 20


def check_files(gen: Path, files: Mapping[str, Any]) -> None:
    """Raises IndexStateError for the first file that is missing, has a wrong size or, unless
    large, other content.
    """
    for name, entry in files.items():
        small = entry["size"] <= MAX_CHECKED_BYTES
        size, digest = _size_and_digest(gen / name, small)
        if size < 0:
            raise IndexStateError(f"the index is damaged: {gen / name} is missing", REBUILD_HINT)
        if size != entry["size"]:
            raise IndexStateError(
                f"the index is damaged: {gen / name} has a wrong size", REBUILD_HINT
            )
        if small and digest != entry["sha256"]:
            raise IndexStateError(
                f"the index is damaged: {gen / name} does not match its digest", REBUILD_HINT
            )


def _size_and_digest(path: Path, read: bool) -> tuple[int, str]:
    """The size, -1 for a file that is not there, and the digest where it was read. Raises OSError
    when it cannot be.
    """
    try:
        if not read:
            return path.stat().st_size, ""
        with path.open("rb", buffering=0) as file:
            data = file.read(MAX_CHECKED_BYTES + 1)
        return len(data), hashlib.sha256(data).hexdigest()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return -1, ""


def find_changed_files(gen: Path, files: Mapping[str, Any]) -> list[str]:
    """The files whose content does not match its digest; reads everything."""
    return [
        name for name, entry in files.items() if not _matches_digest(gen / name, entry["sha256"])
    ]


def _matches_digest(path: Path, expected: str) -> bool:
    try:
        return file_digest(path) == expected
    except OSError:
        return False


def find_unknown_files(gen: Path, files: Mapping[str, Any]) -> list[str]:
    """The files in the generation's folder that its manifest does not know; the stores would read
    some of them.
    """
    paths = (path for path in gen.rglob("*") if path.suffix != ".lock" and not path.is_dir())
    names = {str(path.relative_to(gen)) for path in paths}
    return sorted(names - set(files) - {"MANIFEST"})


def file_digest(path: Path) -> str:
    """SHA-256 of the file. Raises OSError when it cannot be read."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# A file that should be there is not, or is something else, or holds what cannot be.
_DAMAGE_ERRNOS = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EINVAL})
_KILLED_WRITER = "An index writer was killed"


@contextmanager
def translate_native_errors(
    what: str, hint: str, kind: type[CapdiscError] = DamagedIndexError
) -> Iterator[None]:
    """Turns whatever a native library throws, Rust panics included, into one typed error.

    A panic arrives as a BaseException that is not an Exception; only the two that mean "stop" pass
    through, and the one of a library that does not load. What the operating system refused (a full
    disk) comes out as the OSError that it was.
    """
    try:
        yield
    except (CapdiscError, ImportError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:
        if number := _system_errno(error):
            raise OSError(number, os.strerror(number)) from error
        raise kind(f"{what}: {_reason(error)}", hint) from error


def _reason(error: BaseException) -> str:
    """The first line of what was said; tantivy says of a thread whose file was refused that it may
    have panicked.
    """
    first, *_ = str(error).strip().splitlines() or [type(error).__name__]
    return (
        "one of its threads ended, most likely because the disk refused a call"
        if _KILLED_WRITER in first
        else first
    )


def _system_errno(error: BaseException) -> int:
    """The error number, where it is no damage; Rust puts it into its text ("os error 28", "code:
    28, kind: ...").
    """
    if isinstance(error, OSError):
        number = error.errno or 0
    else:
        match = re.search(r"os error (\d+)\)|code: (\d+), kind:", str(error))
        number = int(match[1] or match[2]) if match else 0
    return 0 if number in _DAMAGE_ERRNOS else number
