"""Turns the errors of native libraries into typed ones, and finds the damaged files behind them.

At open the sizes of all files of a generation are compared, and the digests of the small ones: a
changed byte in one of those would be a wrong answer or a panic. A reader that finds their stamps
as an earlier reader left them compares no digests, which took 6 of a search's 90 ms. The digests
of all files are compared by `capdisc doctor` and after an unexpected error.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from capdisc_indexer import lazy_imports
from capdisc_indexer.model.errors import CapdiscError, DamagedIndexError, IndexStateError
from capdisc_indexer.model.json_types import FileEntry

REBUILD_HINT = "run: capdisc index --rebuild"
# For 1,800 capabilities these are all files but the texts, and checking them takes 2 ms; damage in
# the packed texts shows when they are read.
MAX_CHECKED_BYTES = 1 << 20
# The heap of a writer, and what its threads reserve; hardly any of it is ever used.
_WRITER_ADDRESSES = 256 << 20


def check_files(gen: Path, files: Mapping[str, FileEntry]) -> None:
    """Raises IndexStateError for the first file that is missing, has a wrong size, or, if it is
    small, a wrong digest.
    """
    for name, entry in files.items():
        is_small = entry["size"] <= MAX_CHECKED_BYTES
        size, digest = _size_and_digest(gen / name, is_small)
        problem = ""
        if size != entry["size"]:
            problem = "has a wrong size" if size >= 0 else "is missing"
        elif is_small and digest != entry["sha256"]:
            problem = "does not match its digest"
        if problem:
            raise IndexStateError(f"the index is damaged: {gen / name} {problem}", REBUILD_HINT)


def _size_and_digest(path: Path, with_digest: bool) -> tuple[int, str]:
    """The size, -1 for a missing file, and the digest or "". Raises OSError for an unreadable
    file.
    """
    try:
        if not with_digest:
            return path.stat().st_size, ""
        with path.open("rb", buffering=0) as file:
            data = file.read(MAX_CHECKED_BYTES + 1)
        return len(data), lazy_imports.hex_sha256(data)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return -1, ""


def find_changed_files(gen: Path, files: Mapping[str, FileEntry]) -> list[str]:
    """The files whose content does not match their digest; reads every byte."""
    return [
        name for name, entry in files.items() if not _matches_digest(gen / name, entry["sha256"])
    ]


def _matches_digest(path: Path, expected: str) -> bool:
    try:
        return file_digest(path) == expected
    except OSError:
        return False


def find_unknown_files(gen: Path, files: Mapping[str, FileEntry]) -> list[str]:
    """The files in the generation's folder that its manifest does not list; the native libraries
    would read some of them.
    """
    paths = (path for path in gen.rglob("*") if path.suffix != ".lock" and not path.is_dir())
    names = {path.relative_to(gen).as_posix() for path in paths}
    return sorted(names - set(files) - {"MANIFEST"})


def file_digest(path: Path) -> str:
    """The SHA-256 of the file in hex digits. Raises OSError when it cannot be read."""
    with path.open("rb") as file:
        from hashlib import file_digest  # large files, which OpenSSL reads faster

        return file_digest(file, "sha256").hexdigest()


# The errors of the operating system for a file that is missing, of another kind, or malformed.
_DAMAGE_ERRNOS = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EINVAL})
_KILLED_WRITER = "An index writer was killed"


def require_address_space() -> None:
    """Raises MemoryError where a writer of texts would not have the address space that it needs:
    it would end the process without a message (at a limit of 400 MiB).
    """
    import mmap

    try:
        mmap.mmap(-1, _WRITER_ADDRESSES).close()
    except OSError as error:
        raise MemoryError(str(error)) from error


@contextmanager
def translate_native_errors(
    problem: str, hint: str, kind: type[CapdiscError] = DamagedIndexError
) -> Iterator[None]:
    """Turns every error of a native library, Rust panics included, into one typed error.

    A panic arrives as a BaseException that is not an Exception; only those that mean "stop" pass
    through, and the ImportError of a library that does not load. An error of the operating system
    (a full disk) becomes an OSError with its number.
    """
    try:
        yield
    except (CapdiscError, ImportError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:
        if number := _system_errno(error):
            raise OSError(number, os.strerror(number)) from error
        raise kind(f"{problem}: {_reason(error)}", hint) from error


def _reason(error: BaseException) -> str:
    """The first line of the error's text.

    When the disk refuses a file of one of its threads, tantivy says that the thread may have
    panicked.
    """
    first_line, *_ = str(error).strip().splitlines() or [type(error).__name__]
    if _KILLED_WRITER in first_line:
        return "one of its threads ended, most likely because the disk refused a call"
    return first_line


def _system_errno(error: BaseException) -> int:
    """The number of an error of the operating system; 0 for other errors and for damage.

    Rust puts the number into its text ("os error 28", "code: 28, kind: ...").
    """
    if isinstance(error, OSError):
        number = error.errno or 0
    else:
        match = re.search(r"os error (\d+)\)|code: (\d+), kind:", str(error))
        number = int(match[1] or match[2]) if match else 0
    return 0 if number in _DAMAGE_ERRNOS else number
