"""Windows. `posix` has the same names and says what they are for; here stands what differs.

Who may read and write a file is decided by the folder that it lies in: those of a user's profile
are private. The permissions and owners of POSIX do not exist, so nothing is found wrong with them.
"""

from __future__ import annotations

import ctypes
import errno
import os
import signal
import stat
import subprocess
import sys
import time
from contextlib import suppress

from capdisc_indexer.platforms import windows_paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, TypedDict

    class CreationFlags(TypedDict):
        """Options of `subprocess.Popen`."""

        creationflags: int


NAME: str = sys.platform
MOUNT_TABLE, WATCH_LIMITS = "", ""
STOP_SIGNALS: tuple[int, ...] = (signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGBREAK", 21))
FILE_OPENER = "notepad"
RUNS_PROGRAMS = False
FORKS_WORKERS = False

abspath, realpath, normpath = windows_paths.abspath, windows_paths.realpath, windows_paths.normpath
join, relpath, expanduser = windows_paths.join, windows_paths.relpath, windows_paths.expanduser

# Without O_BINARY, line ends and the byte 26 would be changed.
_BINARY = getattr(os, "O_BINARY", 0) | getattr(os, "O_NOINHERIT", 0)
# Of CreateFileW in fileapi.h.
_GENERIC_READ, _GENERIC_WRITE, _SHARE_ALL = 1 << 31, 1 << 30, 7
_CREATE_NEW, _OPEN_EXISTING, _OPEN_ALWAYS = 1, 3, 4
# The bit of `st_reparse_tag` of links and of junctions, which are links to folders. Files that lie
# in a cloud have a tag without it.
_LEADS_ELSEWHERE = 1 << 29
# A virus scanner or a reader holds a file open for a moment.
_REPLACE_S, _PAUSE_S = 2.0, 0.02
NO_LOCK_ERRNOS = frozenset({1, 50})  # ERROR_INVALID_FUNCTION, ERROR_NOT_SUPPORTED
# A locked byte cannot be read either, so it lies behind all content.
_LOCKED_BYTE = 1 << 30
_FAIL_IMMEDIATELY, _EXCLUSIVE = 1, 2
_ERROR_ACCESS_DENIED, _ERROR_LOCK_VIOLATION, _ERROR_IO_PENDING = 5, 33, 997
# PROCESS_QUERY_LIMITED_INFORMATION, and the exit code of a process that runs.
_QUERY, _STILL_ACTIVE = 0x1000, 259
# CREATE_NEW_PROCESS_GROUP, CREATE_NO_WINDOW and BELOW_NORMAL_PRIORITY_CLASS of winbase.h. Without
# a console of its own, which is not shown, each program that a process starts would open a window.
_NEW_GROUP, _NO_WINDOW, _LOW_PRIORITY = 0x200, 0x08000000, 0x4000
# JOBOBJECT_EXTENDED_LIMIT_INFORMATION of winnt.h as 18 numbers: its class, the flags of a limit on
# the time and on the memory of each process, and the places of flags, time and memory.
_JOB_LIMITS, _LIMIT_TIME, _LIMIT_MEMORY = 9, 0x2, 0x100
_TIME_PLACE, _FLAGS_PLACE, _MEMORY_PLACE = 0, 2, 14
# ERROR_NOT_ENOUGH_QUOTA: the time was over. Codes from the other one on are those of crashes.
_OUT_OF_TIME, _FIRST_CRASH = 1816, 0xC0000000


def find_user_folder(kind: str, environ: Mapping[str, str], home: str) -> str:
    """Settings follow the user to other machines; the rest stays on this one."""
    if base := environ.get(f"XDG_{kind.upper()}_HOME"):
        return f"{base}/capdisc"
    if kind == "config":
        return f"{environ.get('APPDATA') or f'{home}/AppData/Roaming'}/capdisc"
    return f"{environ.get('LOCALAPPDATA') or f'{home}/AppData/Local'}/capdisc/{kind}"


def open_file(
    path: str | os.PathLike[str], dir_fd: int | None = None, follow_link: bool = False
) -> int:
    return _open_shared(path, _GENERIC_READ, _OPEN_EXISTING, os.O_RDONLY, follow_link)


def _load_kernel() -> Any:
    return ctypes.WinDLL("kernel32", use_last_error=True)  # type: ignore[attr-defined, unused-ignore]


def _last_error() -> int:
    return int(ctypes.get_last_error())  # type: ignore[attr-defined, unused-ignore]


def _os_handle(handle: int) -> ctypes.c_void_p:
    import msvcrt

    return ctypes.c_void_p(msvcrt.get_osfhandle(handle))  # type: ignore[attr-defined, unused-ignore]


def _open_shared(
    path: str | os.PathLike[str], access: int, how: int, flags: int, follow_link: bool = False
) -> int:
    """A handle on a file that others may remove and replace meanwhile, which `os.open` forbids."""
    path = os.fspath(path)
    if follow_link:
        return _create_file(path, access, how, flags)
    with suppress(FileNotFoundError):
        _refuse_link(path)
    handle = _create_file(path, access, how, flags)
    # Whoever swapped the file for a link meanwhile has another file opened than was looked at.
    try:
        _refuse_link(path)
        if not os.path.samestat(os.fstat(handle), os.lstat(path)):
            raise OSError(errno.ELOOP, "it became a link", path)
    except OSError:
        os.close(handle)
        raise
    return handle


def _create_file(path: str, access: int, how: int, flags: int) -> int:
    """CreateFileW, as a handle of the C library."""
    import msvcrt

    kernel = _load_kernel()
    kernel.CreateFileW.restype = ctypes.c_void_p
    handle = kernel.CreateFileW(path, access, _SHARE_ALL, None, how, 0, None)
    if handle == ctypes.c_void_p(-1).value:
        code = _last_error()
        raise OSError(0, ctypes.FormatError(code), path, code)  # type: ignore[attr-defined, unused-ignore]
    return int(msvcrt.open_osfhandle(handle, flags | _BINARY))  # type: ignore[attr-defined, unused-ignore]


def _refuse_link(path: str) -> None:
    status = os.lstat(path)
    if stat.S_ISLNK(status.st_mode) or getattr(status, "st_reparse_tag", 0) & _LEADS_ELSEWHERE:
        raise OSError(errno.ELOOP, "it is a link", path)


def open_folder(path: str) -> int | None:
    folder = path
    while (parent := os.path.dirname(folder)) != folder:
        _refuse_link(folder)
        folder = parent
    return None


def open_without_links(path: str) -> int:
    open_folder(os.path.dirname(path))
    return open_file(path)


def create_file(path: str | os.PathLike[str], dir_fd: int | None = None) -> int:
    return _open_shared(path, _GENERIC_WRITE, _CREATE_NEW, os.O_WRONLY)


def open_to_append(path: str | os.PathLike[str]) -> int:
    return _open_shared(path, _GENERIC_WRITE, _OPEN_ALWAYS, os.O_WRONLY | os.O_APPEND)


def open_or_create(path: str | os.PathLike[str]) -> int:
    return _open_shared(path, _GENERIC_READ | _GENERIC_WRITE, _OPEN_ALWAYS, os.O_RDWR)


def read_at(handle: int, count: int, offset: int) -> bytes:
    os.lseek(handle, offset, os.SEEK_SET)
    return os.read(handle, count)


def overwrite_file(handle: int, data: bytes) -> None:
    os.ftruncate(handle, 0)
    os.lseek(handle, 0, os.SEEK_SET)
    os.write(handle, data)


def is_link(entry: os.DirEntry[str]) -> bool:
    status = entry.stat(follow_symlinks=False)
    return entry.is_symlink() or bool(getattr(status, "st_reparse_tag", 0) & _LEADS_ELSEWHERE)


def is_folder(entry: os.DirEntry[str]) -> bool:
    return entry.is_dir(follow_symlinks=False) and not is_link(entry)


def set_blocking(handle: int) -> None:
    """Streams wait for data as they are."""


def wait_for_input(handle: int, limit_s: float | None) -> bool:
    """Only sockets can be waited for."""
    if limit_s is None:
        return True  # who reads then waits
    deadline = time.monotonic() + limit_s
    while not _has_input(handle):
        if time.monotonic() >= deadline:
            return False
        time.sleep(_PAUSE_S)
    return True


def _has_input(handle: int) -> bool:
    """PeekNamedPipe: whether there are bytes, or nobody writes any more, or it is not a pipe."""
    count = ctypes.c_uint32()
    kernel = _load_kernel()
    is_open = kernel.PeekNamedPipe(_os_handle(handle), None, 0, None, ctypes.byref(count), None)
    return not is_open or count.value > 0


def replace(source: str | os.PathLike[str], target: str | os.PathLike[str]) -> None:
    deadline = time.monotonic() + _REPLACE_S
    while True:
        try:
            os.replace(source, target)
            return
        except PermissionError:
            if time.monotonic() > deadline:
                raise
            time.sleep(_PAUSE_S)


def make_symlink(source: str, target: str) -> None:
    """Most users lack the privilege for it."""
    raise OSError(errno.ENOSYS, "files cannot be linked", target)


def sync_file(handle: int) -> None:
    os.fsync(handle)


def sync_entry(path: str | os.PathLike[str], mode: int) -> None:
    if not os.path.isdir(path):
        handle = os.open(path, os.O_RDWR | _BINARY)  # only a writer can sync
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def sync_folder(path: str | os.PathLike[str]) -> None:
    """NTFS writes names durably by itself, and a folder cannot be opened."""


class _Overlapped(ctypes.Structure):
    """OVERLAPPED of minwinbase.h: where the locked bytes begin."""

    _fields_ = (
        ("Internal", ctypes.c_void_p),
        ("InternalHigh", ctypes.c_void_p),
        ("Offset", ctypes.c_uint32),
        ("OffsetHigh", ctypes.c_uint32),
        ("hEvent", ctypes.c_void_p),
    )


def lock_file(handle: int, is_shared: bool = False, waits: bool = False) -> None:
    """LockFileEx: `msvcrt.locking` has no shared locks."""
    flags = (0 if is_shared else _EXCLUSIVE) | (0 if waits else _FAIL_IMMEDIATELY)
    code = _lock_byte(handle, flags)
    if code in {_ERROR_LOCK_VIOLATION, _ERROR_IO_PENDING}:
        raise BlockingIOError(code, "another process has a lock on it")
    if code:
        raise OSError(code, "it cannot be locked")


def _lock_byte(handle: int, flags: int) -> int:
    """The error code of Windows; 0 where the byte is locked."""
    kernel = _load_kernel()
    place = _Overlapped(Offset=_LOCKED_BYTE)
    if kernel.LockFileEx(_os_handle(handle), flags, 0, 1, 0, ctypes.byref(place)):
        return 0
    return _last_error()


def lock_folder(path: str | os.PathLike[str]) -> int | None:
    return None


def own_user() -> int:
    """0, as `st_uid` is for every file."""
    return 0


def user_name(number: int) -> str:
    raise KeyError(number)


def can_others_write(status: os.stat_result) -> bool:
    return False


def can_others_read(status: os.stat_result) -> bool:
    return False


def set_mode(handle: int, mode: int) -> None:
    """There are no permissions."""


def copy_owner(handle: int, like: os.stat_result) -> None:
    """There are no owners."""


def read_umask() -> int:
    return 0


def allocated_bytes(status: os.stat_result) -> int:
    return status.st_size


def find_free_space(folder: str | os.PathLike[str]) -> tuple[int, int | None]:
    import shutil

    return shutil.disk_usage(folder).free, None


def read_mount(path: str | os.PathLike[str]) -> tuple[str, str]:
    """Nothing is known of mounts here."""
    return "", ""


def quote_word(word: str) -> str:
    """For cmd, PowerShell and the bash of Git, which have only this much in common."""
    import re

    if re.fullmatch(r"[\w+,./:=@-]+", word):
        return word
    return '"' + word.replace('"', '\\"') + '"'


def split_words(line: str) -> list[str]:
    """A backslash is part of a path."""
    import shlex

    return [word.strip('"') for word in shlex.split(line, posix=False)]


def host_name() -> str:
    return os.environ.get("COMPUTERNAME", "")


def process_state(pid: int) -> str:
    """`os.kill` would end it."""
    kernel = _load_kernel()
    kernel.OpenProcess.restype = ctypes.c_void_p
    process = ctypes.c_void_p(kernel.OpenProcess(_QUERY, False, pid))
    if not process:
        return "running" if _last_error() == _ERROR_ACCESS_DENIED else "gone"
    code = ctypes.c_uint32()
    kernel.GetExitCodeProcess(process, ctypes.byref(code))
    kernel.CloseHandle(process)
    return "running" if code.value == _STILL_ACTIVE else "gone"


def count_processors() -> int:
    return os.cpu_count() or 1


def fork_process() -> int:
    raise OSError(errno.ENOSYS, "a process cannot fork")


def wait_for_children() -> None:
    """There are no forks."""


def limit_malloc_arenas() -> None:
    """There are no arenas."""


def group_options() -> CreationFlags:
    return {"creationflags": _NEW_GROUP | _NO_WINDOW}


def detached_options(lock: int | None) -> CreationFlags:
    """The lock ends with this process: a second one may start as well, and wait for the first."""
    return group_options()


def kill_group(pid: int) -> None:
    with suppress(OSError, subprocess.TimeoutExpired):
        subprocess.run(
            ["taskkill", "/F", "/T", "/PID", str(pid)],
            capture_output=True,
            check=False,
            timeout=10,
        )


def has_ended(child: subprocess.Popen[bytes]) -> bool:
    return child.poll() is not None


def limit_process(
    cpu_s: int, address_bytes: int | None = None, data_bytes: int | None = None
) -> None:
    """By a job, which holds this process and all that it starts; the limits are those of each."""
    memory = address_bytes or data_bytes or 0
    limits = (ctypes.c_uint64 * 18)()
    limits[_TIME_PLACE] = cpu_s * 10_000_000  # in units of 100 ns
    limits[_FLAGS_PLACE] = _LIMIT_TIME | (_LIMIT_MEMORY if memory else 0)
    limits[_MEMORY_PLACE] = memory
    _enter_job(limits)


def _enter_job(limits: ctypes.Array[ctypes.c_uint64]) -> None:
    """Put this process into a new job, which lasts as long as a process is in it."""
    kernel = _load_kernel()
    kernel.CreateJobObjectW.restype = ctypes.c_void_p
    job = ctypes.c_void_p(kernel.CreateJobObjectW(None, None))
    kernel.SetInformationJobObject(job, _JOB_LIMITS, limits, ctypes.sizeof(limits))
    this_process = ctypes.c_void_p(-1)
    kernel.AssignProcessToJobObject(job, this_process)


def memory_limit_bytes() -> int | None:
    return None


def reset_sigchld() -> None:
    """There is no such signal."""


def run_with_limits(
    run: Callable[[], None],
    command: Sequence[str],
    cpu_s: int,
    memory_share: float,
    min_bytes: int,
) -> int:
    """By the command: nothing can fork. A negative answer is the code of a crash or of a limit."""
    limit_process(cpu_s, data_bytes=max(int(_count_memory() * memory_share), min_bytes))
    flags = _NO_WINDOW | _LOW_PRIORITY
    code = subprocess.run(command, check=False, creationflags=flags).returncode
    return -code if code == _OUT_OF_TIME or code >= _FIRST_CRASH else code


def _count_memory() -> int:
    """The bytes of memory in this machine."""
    kilobytes = ctypes.c_uint64()
    _load_kernel().GetPhysicallyInstalledSystemMemory(ctypes.byref(kilobytes))
    return kilobytes.value * 1024


def capture_output(
    run: Callable[[], int], command: Sequence[str], limit_s: float, max_bytes: int
) -> tuple[bytes, bytes, int | None, float]:
    """By the command: nothing can fork. What it took of the processor is not known."""
    try:
        child = subprocess.run(
            command, capture_output=True, check=False, timeout=limit_s, creationflags=_NO_WINDOW
        )
    except subprocess.TimeoutExpired:
        return b"", b"", None, limit_s
    code = child.returncode if len(child.stdout) <= max_bytes else None
    return child.stdout, child.stderr, code, 0.0


def open_signal_pipe() -> int | None:
    """Only sockets could wake a thread here."""
    return None


def describe_end(number: int, max_cpu_s: int) -> str:
    if number == _OUT_OF_TIME:
        return f"it took more than {max_cpu_s / 60:g} minutes of processor time"
    return f"it ended with the code {number:#x}"


def discard_typed_text(handle: int) -> None:
    import msvcrt

    while msvcrt.kbhit():  # type: ignore[attr-defined, unused-ignore]
        msvcrt.getwch()  # type: ignore[attr-defined, unused-ignore]
