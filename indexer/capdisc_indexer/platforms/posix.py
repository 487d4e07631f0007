"""Linux, macOS and other systems with POSIX calls. `windows` has the same names.

Each cold command imports this module: what few commands need is imported where it is used.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # the module `signal` takes twice as long
import errno
import fcntl
import os
import stat
import sys
from contextlib import suppress

assert sys.platform != "win32"  # mypy then reads nothing of this file for Windows

TYPE_CHECKING = False
if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Collection, Mapping, Sequence
    from types import FrameType
    from typing import TypedDict

    class StartOptions(TypedDict, total=False):
        """Options of `subprocess.Popen`."""

        start_new_session: bool
        pass_fds: Collection[int]


# As `sys.platform` names it: "linux", "darwin".
NAME: str = sys.platform
# The tables of the kernel about mounted disks and about limits on watching; "" for none.
MOUNT_TABLE, WATCH_LIMITS = (
    ("/proc/self/mountinfo", "/proc/sys/fs/inotify") if NAME == "linux" else ("", "")
)
# The signals that end a command.
STOP_SIGNALS: tuple[int, ...] = (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP)
# The command that opens a file where the user has set no editor.
FILE_OPENER = "open" if sys.platform == "darwin" else "xdg-open"
# Whether programs can be run with limits and ended with everything that they started.
RUNS_PROGRAMS = True
# Whether a process that has loaded native libraries can fork. On macOS a fork of it may fail.
FORKS_WORKERS = sys.platform == "linux"
# The errors of file systems without locks.
NO_LOCK_ERRNOS = frozenset(
    {errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL}
)
# The errors of network and FUSE file systems when a folder is synced.
_UNSYNCABLE_FOLDER_ERRNOS = frozenset({errno.EINVAL, errno.ENOTSUP, errno.EBADF})
_BLOCK_BYTES = 65_536
_NICENESS = 5  # of what runs in the background

# Calls of `os.path` whose answers hold separators.
abspath, realpath, normpath = os.path.abspath, os.path.realpath, os.path.normpath
join, relpath, expanduser = os.path.join, os.path.relpath, os.path.expanduser

# A handle is not inherited by programs. Without O_NONBLOCK, opening a pipe that nobody writes to
# would wait for ever.
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
# With O_PATH a folder needs no read permission, which the folders above a home often lack.
_FOLDER = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY)


# The user's folders of capdisc: for each kind the variable and the place in the home folder.
_USER_FOLDERS = {
    "config": ("XDG_CONFIG_HOME", ".config"),
    "cache": ("XDG_CACHE_HOME", ".cache"),
    "state": ("XDG_STATE_HOME", ".local/state"),
}


def find_user_folder(kind: str, environ: Mapping[str, str], home: str) -> str:
    """The folder of capdisc for "config", "cache" or "state"."""
    variable, name = _USER_FOLDERS[kind]
    return f"{environ.get(variable) or f'{home}/{name}'}/capdisc"


# Opening files


def open_file(
    path: str | os.PathLike[str], dir_fd: int | None = None, follow_link: bool = False
) -> int:
    """A handle for reading. Raises OSError where a link has the name, unless it is followed."""
    return os.open(path, _READ if follow_link else _READ | os.O_NOFOLLOW, dir_fd=dir_fd)


def open_folder(path: str) -> int | None:
    """A handle on the folder, as `dir_fd` of other calls. It is opened part by part, and a link on
    the way raises OSError. None where paths take its place.

    A check of the path followed by an ordinary open was defeated 458 times in 100,000 tries by a
    process that swapped a folder for a link; this was not.
    """
    folder = os.open("/", _FOLDER)
    for part in path.strip("/").split("/"):
        if part:
            try:
                inner = os.open(part, _FOLDER, dir_fd=folder)
            finally:
                os.close(folder)
            folder = inner
    return folder


def open_without_links(path: str) -> int:
    """A handle for reading; a link anywhere in the path raises OSError."""
    parent, _, name = path.rpartition("/")
    folder = open_folder(parent)
    assert folder is not None
    try:
        return open_file(name, folder)
    finally:
        os.close(folder)


def create_file(path: str | os.PathLike[str], dir_fd: int | None = None) -> int:
    """A handle for writing to a new file of the owner alone. Raises FileExistsError where there is
    one.
    """
    return os.open(path, _WRITE | os.O_EXCL, 0o600, dir_fd=dir_fd)


def open_to_append(path: str | os.PathLike[str]) -> int:
    """A handle that writes at the end of the file, which is made for the owner alone."""
    return os.open(path, _WRITE | os.O_APPEND, 0o600)


def open_or_create(path: str | os.PathLike[str]) -> int:
    """A handle for reading and writing; a file that is missing is made for the owner alone."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    return os.open(path, flags, 0o600)


def read_at(handle: int, count: int, offset: int) -> bytes:
    """At most `count` bytes from the offset on."""
    return os.pread(handle, count, offset)


def overwrite_file(handle: int, data: bytes) -> None:
    """Replace the content of the open file."""
    os.ftruncate(handle, 0)
    os.pwrite(handle, data, 0)


def is_link(entry: os.DirEntry[str]) -> bool:
    """Whether the entry leads elsewhere."""
    return entry.is_symlink()


def is_folder(entry: os.DirEntry[str]) -> bool:
    """Whether the entry is a folder, and not a link to one."""
    return entry.is_dir(follow_symlinks=False)


def set_blocking(handle: int) -> None:
    """Let calls wait for data. A parent may hand on its streams without that."""
    if not os.get_blocking(handle):
        os.set_blocking(handle, True)


def wait_for_input(handle: int, limit_s: float | None) -> bool:
    """Whether the pipe can be read without waiting, within this time (None: without a limit)."""
    import select

    return bool(select.select([handle], [], [], limit_s)[0])


def replace(source: str | os.PathLike[str], target: str | os.PathLike[str]) -> None:
    """Give `source` the name `target`, in one step."""
    os.replace(source, target)


def make_symlink(source: str, target: str) -> None:
    """Make `target` a symbolic link to `source`. Raises OSError where none can be made."""
    os.symlink(source, target)


# Durability


def sync_file(handle: int) -> None:
    """Let the content survive a power cut. On macOS fsync(2) leaves it in the disk's own memory;
    F_FULLFSYNC writes that out, where the file system can.
    """
    if sys.platform == "darwin":
        try:
            fcntl.fcntl(handle, fcntl.F_FULLFSYNC)
        except OSError:
            pass
        else:
            return
    os.fsync(handle)


def sync_entry(path: str | os.PathLike[str], mode: int) -> None:
    """Let a file or folder survive a power cut, and give it these permissions."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        status = os.fstat(handle)
        # File systems without permissions refuse; who may read there was decided when they were
        # mounted.
        if stat.S_IMODE(status.st_mode) != mode:
            with suppress(PermissionError, NotImplementedError):
                os.fchmod(handle, mode)
        if stat.S_ISDIR(status.st_mode):
            _sync_names(handle)
        else:
            # The pointer that is written last flushes the memory of a disk.
            os.fsync(handle)
    finally:
        os.close(handle)


def sync_folder(path: str | os.PathLike[str]) -> None:
    """Let the names in the folder survive a power cut, where the file system can do that."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _sync_names(handle)
    finally:
        os.close(handle)


def _sync_names(handle: int) -> None:
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in _UNSYNCABLE_FOLDER_ERRNOS:
            raise


# Locks of the kernel, which it drops when their process dies.


def lock_file(handle: int, is_shared: bool = False, waits: bool = False) -> None:
    """Lock the file until the handle is closed. Raises BlockingIOError where another process has a
    lock on it, unless it `waits`; and OSError on a file system without locks.
    """
    kind = fcntl.LOCK_SH if is_shared else fcntl.LOCK_EX
    fcntl.flock(handle, kind if waits else kind | fcntl.LOCK_NB)


def lock_folder(path: str | os.PathLike[str]) -> int | None:
    """A handle that keeps other processes, which wait here, from changing the folder's files; None
    where a folder cannot be locked.
    """
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    with suppress(OSError):  # a file system without locks
        fcntl.flock(handle, fcntl.LOCK_EX)
    return handle


# Owners and permissions


def own_user() -> int:
    """The number of the user whose rights this process has, as `st_uid` gives it."""
    return os.geteuid()


def user_name(number: int) -> str:
    """The name of the user. Raises KeyError where there is none."""
    import pwd

    return pwd.getpwuid(number).pw_name


def can_others_write(status: os.stat_result) -> bool:
    """Whether other users than the owner may write."""
    return bool(status.st_mode & (stat.S_IWGRP | stat.S_IWOTH))


def can_others_read(status: os.stat_result) -> bool:
    """Whether other users than the owner may do anything with it."""
    return bool(status.st_mode & (stat.S_IRWXG | stat.S_IRWXO))


def set_mode(handle: int, mode: int) -> None:
    """Set the permissions."""
    os.fchmod(handle, mode)


def copy_owner(handle: int, like: os.stat_result) -> None:
    """Give the file the owner and group of another, as far as this user can give it away."""
    with suppress(PermissionError):
        os.fchown(handle, like.st_uid, like.st_gid)


def read_umask() -> int:
    """The mask of this process, which can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


# Disks


def allocated_bytes(status: os.stat_result) -> int:
    """What the file takes on its disk."""
    return 512 * status.st_blocks


def find_free_space(folder: str | os.PathLike[str]) -> tuple[int, int | None]:
    """The free bytes, and how many more files there can be; None where that is not limited."""
    status = os.statvfs(folder)
    return status.f_bavail * status.f_frsize, status.f_favail if status.f_files else None


def read_mount(path: str | os.PathLike[str]) -> tuple[str, str]:
    """Where the file system that holds the path is mounted, and its kind, on systems with a call
    for that and no table; else "" and "".
    """
    if sys.platform != "darwin":
        return "", ""
    import ctypes

    # statfs(2): behind 72 bytes of numbers, 16 for the kind and 1,024 for the mount point.
    data = ctypes.create_string_buffer(4096)
    failed = ctypes.CDLL(None).statfs(os.fsencode(path), data)
    kind, point = (os.fsdecode(data.raw[a:b].split(b"\0")[0]) for a, b in ((72, 88), (88, 1112)))
    is_plausible = not failed and kind.isalnum() and point.startswith("/")
    return (point, kind) if is_plausible else ("", "")


# Processes


def quote_word(word: str) -> str:
    """The word as a shell reads it."""
    import shlex

    return shlex.quote(word)


def split_words(line: str) -> list[str]:
    """The words of a command. Raises ValueError where a quote is not closed."""
    import shlex

    return shlex.split(line)


def host_name() -> str:
    """The name of this machine."""
    return os.uname().nodename


def process_state(pid: int) -> str:
    """One of "running", "stopped" and "gone"."""
    try:
        # proc_pid_stat(5): the state follows the name in brackets, which may hold anything.
        with open(f"/proc/{pid}/stat") as file:
            letter = file.read().rpartition(")")[2].split()[0]
    except OSError:
        return "running" if _is_there(pid) else "gone"
    return {"T": "stopped", "t": "stopped", "Z": "gone", "X": "gone"}.get(letter, "running")


def _is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError as error:
        return error.errno != errno.ESRCH  # it is another user's
    except OverflowError:
        return False
    return True


def count_processors() -> int:
    """The number of processors that this process may use."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def fork_process() -> int:
    """The number of the new child; 0 in the child."""
    return os.fork()


def wait_for_children() -> None:
    """Wait until all children have ended."""
    with suppress(ChildProcessError):
        while True:
            os.wait()


def limit_malloc_arenas() -> None:
    """Keep a process that lives long from growing: glibc gives every thread of the native
    libraries a heap of its own, and 60 builds took 508 MB; with two heaps they took 332. Other C
    libraries have no such setting.
    """
    import ctypes

    m_arena_max = -8
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).mallopt(m_arena_max, 2)


def group_options() -> StartOptions:
    """The options of `Popen` that make the program the leader of a group of processes."""
    return {"start_new_session": True}


def detached_options(lock: int | None) -> StartOptions:
    """The options of `Popen` for a process that outlives this one, and keeps `lock` open."""
    return {**group_options(), "pass_fds": () if lock is None else (lock,)}


def kill_group(pid: int) -> None:
    """Kill the program with this number and everything that it started, if anything is left."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, _signal.SIGKILL)


def has_ended(child: subprocess.Popen[bytes]) -> bool:
    """Whether the child has ended. Where the system can tell without it, it is not reaped yet, so
    that its number stays its group's.
    """
    if sys.platform == "linux":
        return os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    return child.poll() is not None


def limit_process(
    cpu_s: int, address_bytes: int | None = None, data_bytes: int | None = None
) -> None:
    """Limit what this process may take; it writes no core file."""
    import resource

    limits = {
        resource.RLIMIT_CPU: cpu_s,
        resource.RLIMIT_AS: address_bytes,
        resource.RLIMIT_DATA: data_bytes,
        resource.RLIMIT_CORE: 0,
    }
    for kind, limit in limits.items():
        if limit is not None:
            soft, hard = resource.getrlimit(kind)
            known = [value for value in (limit, soft, hard) if value != resource.RLIM_INFINITY]
            try:
                resource.setrlimit(kind, (min(known), hard))
            except (OSError, ValueError):  # macOS limits neither addresses nor data
                if sys.platform == "linux":
                    raise


def memory_limit_bytes() -> int | None:
    """The memory that this process may take; None without a limit."""
    import resource

    limits = [resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA)]
    return min((limit for limit in limits if limit != resource.RLIM_INFINITY), default=None)


def reset_sigchld() -> None:
    """Let the kernel keep the exit status of children. A supervisor that ignores SIGCHLD hands
    that on to us, and the status of programs that we run would be lost.
    """
    if _signal.getsignal(_signal.SIGCHLD) == _signal.SIG_IGN:
        _signal.signal(_signal.SIGCHLD, _signal.SIG_DFL)


def run_with_limits(
    run: Callable[[], None],
    command: Sequence[str],
    cpu_s: int,
    memory_share: float,
    min_bytes: int,
) -> int:
    """Run the function in a child with low priority and with limits on the processor's time and on
    memory: a share of the machine's, but not less than `min_bytes`. Returns its exit code; a
    negative one is the signal that ended it. Where nothing can fork, `command` does the same.
    """
    reset_sigchld()
    child = os.fork()
    if not child:
        with suppress(OSError):
            os.nice(_NICENESS)
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        # Not addresses: with LanceDB, 1,500 skills take 2.5 GiB of them, 1.3 of the sort that is
        # limited here, and 0.4 of memory.
        limit_process(cpu_s, data_bytes=max(int(memory * memory_share), min_bytes))
        run()
        sys.exit(0)

    def pass_on(number: int, frame: FrameType | None) -> None:
        os.kill(child, number)

    for number in STOP_SIGNALS:
        _signal.signal(number, pass_on)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def capture_output(
    run: Callable[[], int], command: Sequence[str], limit_s: float, max_bytes: int
) -> tuple[bytes, bytes, int | None, float]:
    """Run the function in a child. Returns what it printed on stdout and on stderr, its exit code
    (None: it took longer, or printed more, and was ended) and the seconds of the processor that it
    took. Where nothing can fork, `command` does the same.
    """
    import time

    deadline = time.monotonic() + limit_s
    outputs = [os.pipe(), os.pipe()]
    reset_sigchld()
    child = os.fork()
    if not child:
        _run_child(outputs, run)

    def stop(number: int, frame: FrameType | None) -> None:
        os.kill(child, _signal.SIGKILL)
        os._exit(0)

    for number in STOP_SIGNALS:
        _signal.signal(number, stop)
    for _, writing in outputs:
        os.close(writing)
    answer, notes, is_late = _read_outputs(
        [reading for reading, _ in outputs], deadline, max_bytes
    )
    if is_late:
        os.kill(child, _signal.SIGKILL)
    _, status, usage = os.wait4(child, 0)
    code = None if is_late else os.waitstatus_to_exitcode(status)
    return answer, notes, code, usage.ru_utime + usage.ru_stime


def _run_child(outputs: Sequence[tuple[int, int]], run: Callable[[], int]) -> None:
    """Run the function with its outputs in the pipes, and end this process."""
    status = 70
    try:
        for stream, (reading, writing) in enumerate(outputs, 1):
            os.close(reading)
            os.dup2(writing, stream)
            os.close(writing)
        status = run()
    finally:
        os._exit(status)


def _read_outputs(
    pipes: Sequence[int], deadline: float, max_bytes: int
) -> tuple[bytes, bytes, bool]:
    """What comes of both pipes, and whether the child is late: one of both is still open at the
    deadline, or has more bytes than allowed.
    """
    import select
    import time

    received = {pipe: bytearray() for pipe in pipes}
    open_pipes = set(pipes)
    while open_pipes:
        left_s = deadline - time.monotonic()
        ready = select.select(list(open_pipes), [], [], max(left_s, 0.0))[0]
        for pipe in ready:
            block = os.read(pipe, _BLOCK_BYTES)
            received[pipe] += block
            if not block:
                open_pipes.remove(pipe)
        if not ready or max(map(len, received.values())) > max_bytes:
            break
    answer, notes = (bytes(received[pipe]) for pipe in pipes)
    return answer, notes, bool(open_pipes)


# Signals and the terminal


def open_signal_pipe() -> int | None:
    """The end of a pipe from which the number of each signal is read, also while native code runs;
    None where there is no such pipe.
    """
    import signal

    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    return reading


def describe_end(number: int, max_cpu_s: int) -> str:
    """Why a process was ended by this signal, in words."""
    import signal

    if number == signal.SIGXCPU:
        return f"it took more than {max_cpu_s / 60:g} minutes of processor time"
    return f"{signal.Signals(number).name} ended it"


def discard_typed_text(handle: int) -> None:
    """Forget what was typed at the terminal and not read yet."""
    import termios

    with suppress(termios.error):
        termios.tcflush(handle, termios.TCIFLUSH)
