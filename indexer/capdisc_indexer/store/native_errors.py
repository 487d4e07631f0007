"""Native libraries at arm's length: what they throw comes out as one of our errors."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

from capdisc_indexer.model.errors import CapdiscError, DamagedIndexError

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
