"""A plug-in for pytest that plays Windows on Linux: `python tests/windows_suite.py` runs under it.

`capdisc_indexer.platforms` chooses `windows`, in this process and in each Python that it starts. For
capdisc's own modules, and for what they call of the standard library, these are played:

- modules and names that Windows lacks cannot be imported or found: fcntl, resource, os.fork, SIGHUP ...
- `dir_fd` is refused, a folder cannot be opened, links cannot be made, permissions are not kept;
- a file that this process has open or mapped can neither be removed nor renamed nor replaced, and a
  folder in which there is one can neither be renamed nor removed;
- `select` takes sockets only, and `Popen` refuses `pass_fds` and `preexec_fn`;
- the lock of the kernel is flock(2) with the error codes of LockFileEx.

Not played: paths (test_windows_paths.py computes those), files that other processes have open, signals
of the console, `taskkill` and the calls of the kernel (their POSIX twins take their place), capdisc's
folders (they are those of POSIX, where tests look), owners (files belong to the user who runs the
tests), code pages, and what native libraries do with files that they hold open. Tests themselves, and
what they call, see POSIX.
"""

from __future__ import annotations

import builtins
import contextlib
import fcntl
import os
import re
import resource
import select
import shutil
import signal
import stat
import subprocess
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

_MISSING_MODULES = frozenset(
    "fcntl resource termios tty pty pwd grp posix curses readline syslog _posixsubprocess".split()
)
_MISSING_NAMES = {
    "os": frozenset(
        """
        O_NOFOLLOW O_NONBLOCK O_CLOEXEC O_DIRECTORY O_PATH O_SYNC WNOHANG WNOWAIT WEXITED P_PID
        chown chroot confstr fchdir fchmod fchown fdatasync fork forkpty getegid geteuid getgid
        getgroups getloadavg getpgid getpgrp getpriority getresuid getsid getuid get_blocking
        initgroups killpg lchown lockf major makedev mkfifo mknod nice openpty pathconf
        posix_fallocate pread preadv pwrite pwritev readv sched_getaffinity sendfile set_blocking
        setegid seteuid setgid setpgid setsid setuid statvfs fstatvfs sync sysconf tcgetpgrp ttyname
        uname wait wait3 wait4 waitid writev
        """.split()
    ),
    "signal": frozenset(
        """
        SIGALRM SIGCHLD SIGCONT SIGHUP SIGKILL SIGPIPE SIGPROF SIGQUIT SIGSTOP SIGTSTP SIGUSR1
        SIGUSR2 SIGWINCH SIGXCPU SIGXFSZ alarm getitimer pause pthread_kill pthread_sigmask
        setitimer sigpending sigwait sigwaitinfo sigtimedwait siginterrupt
        """.split()
    ),
    "select": frozenset({"poll", "epoll", "kqueue"}),
    "socket": frozenset({"AF_UNIX"}),
}
_MISSING_NAMES["_signal"] = _MISSING_NAMES["signal"]
# A call that comes from capdisc through one of these is capdisc's.
_STANDARD = frozenset(
    "os pathlib shutil tempfile contextlib genericpath posixpath io played_windows weakref _weakrefset".split()
)
_TESTS = os.path.dirname(__file__)
_PRELUDE = (
    f"import sys; sys.path.insert(0, {_TESTS!r}); import played_windows as _p; sys.path.remove({_TESTS!r}); "
    "_p.play(is_child=True); del _p\n"
)
# What `tempfile.TemporaryFile` gives on Linux: on Windows such a file has a name in its folder.
_UNNAMED = re.compile(r"/#\d+ \(deleted\)$")
_OWN_MODULES = ["capdisc"]


class _PoorerModule(types.ModuleType):
    """A module without some names. What is set on it is set on the module itself."""

    def __init__(self, module: types.ModuleType, missing: frozenset[str], **own: object) -> None:
        super().__init__(module.__name__)
        for name in ("__doc__", "__loader__", "__spec__", "__package__"):
            self.__dict__.pop(name, None)
        self.__dict__.update(_module=module, _missing=missing, **own)

    def __getattr__(self, name: str) -> object:
        if name in self.__dict__["_missing"]:
            raise AttributeError(f"module {self.__name__!r} of Windows has no {name!r}")
        return getattr(self.__dict__["_module"], name)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(self.__dict__["_module"], name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self.__dict__["_module"], name)

    def __dir__(self) -> list[str]:
        return [name for name in dir(self.__dict__["_module"]) if name not in self._missing]


def _is_own(name: str) -> bool:
    return name.startswith(tuple(_OWN_MODULES))


def called_by_capdisc() -> bool:
    """Whether capdisc called, or the standard library on its behalf."""
    frame = sys._getframe(1)
    while frame:
        name = str(frame.f_globals.get("__name__"))
        if name not in _STANDARD and not name.startswith("importlib"):
            return _is_own(name)
        frame = frame.f_back  # type: ignore[assignment]
    return False


def _hide_modules() -> None:
    poorer: dict[str, types.ModuleType] = {
        name: _PoorerModule(__import__(name), missing) for name, missing in _MISSING_NAMES.items()
    }
    windows_sys = _PoorerModule(sys, frozenset(), platform="win32")
    real_import = builtins.__import__

    def import_poorer(
        name: str,
        globals: Any = None,
        locals: Any = None,
        fromlist: Any = (),
        level: int = 0,
    ) -> types.ModuleType:
        caller = str(globals.get("__name__")) if globals else ""
        if level == 0 and _is_own(caller):
            top = name.partition(".")[0]
            if top in _MISSING_MODULES:
                raise ModuleNotFoundError(f"No module named {name!r} on Windows", name=name)
            if name == "sys" and caller.startswith("capdisc_indexer.platforms"):
                return windows_sys
            if name == "msvcrt":
                return types.SimpleNamespace(kbhit=lambda: False)  # type: ignore[return-value]
            if top in poorer and not (fromlist and "." in name):
                return poorer[top]
        return real_import(name, globals, locals, fromlist, level)

    builtins.__import__ = import_poorer


# Files


def _open_places() -> Iterator[tuple[str, tuple[int, int] | None]]:
    """The paths of the files that this process has open or mapped, with device and inode."""
    for number in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            path = os.readlink(f"/proc/self/fd/{number}")
            if int(number) in _shared_handles:
                continue
            if path.startswith("/") and not path.startswith(("/proc/", "/dev/")):
                status = os.fstat(int(number))
                yield path, (status.st_dev, status.st_ino)
    with open("/proc/self/maps", errors="surrogateescape") as maps:
        for line in maps:
            fields = line.split(maxsplit=5)
            if len(fields) == 6 and fields[5].startswith("/"):
                path = fields[5].rstrip("\n")
                with contextlib.suppress(OSError):
                    status = os.stat(path)
                    yield path, (status.st_dev, status.st_ino)


def _refuse_open_file(path: Any) -> None:
    """Raises PermissionError where the file, or one in the folder, is open."""
    try:
        status = os.lstat(path)
    except OSError:
        return
    identity = (status.st_dev, status.st_ino)
    below = f"{os.path.realpath(os.fsdecode(path))}/" if stat.S_ISDIR(status.st_mode) else ""
    for place, other in _open_places():
        is_gone = place.endswith(" (deleted)") and not _UNNAMED.search(place)
        if not is_gone and (identity == other or (below and place.startswith(below))):
            raise PermissionError(13, f"it is open: {place}", os.fsdecode(path))


def _guard_calls() -> None:
    """Let each call of `os` refuse what Windows refuses."""
    checks: dict[str, Callable[..., None]] = {
        "unlink": lambda path, **_: _refuse_open_file(path),
        "remove": lambda path, **_: _refuse_open_file(path),
        "rmdir": lambda path, **_: _refuse_open_file(path),
        "rename": _refuse_rename,
        "replace": lambda source, target, **_: (
            _refuse_open_file(source),
            _refuse_open_file(target),
        ),
        "symlink": _refuse_symlink,
        "open": _refuse_folder,
    }  # type: ignore[dict-item]
    names = {call.__name__ for call in os.supports_dir_fd} | set(checks) | {"chmod", "replace"}
    for name in sorted(names - {"fork"}):
        _guard_call(name, checks.get(name))
    shutil._use_fd_functions = False  # type: ignore[attr-defined]
    os.close = _forget_handle(os.close)


def _refuse_rename(source: Any, target: Any, **_: object) -> None:
    _refuse_open_file(source)
    if os.path.lexists(target):
        raise FileExistsError(17, "Windows renames over nothing", os.fsdecode(source))


def _refuse_symlink(source: Any, target: Any, *_: object, **__: object) -> None:
    error = OSError(22, "A required privilege is not held by the client", os.fsdecode(target))
    error.winerror = 1314  # type: ignore[attr-defined]
    raise error


def _refuse_folder(path: Any, flags: int = 0, *_: object, **__: object) -> None:
    if os.path.isdir(path) and flags & os.O_TMPFILE != os.O_TMPFILE:
        raise PermissionError(13, "Permission denied", os.fsdecode(path))
    if os.path.exists(path) and stat.S_ISFIFO(os.stat(path).st_mode):
        raise FileNotFoundError(2, "Windows has no such files", os.fsdecode(path))


def _guard_call(name: str, check: Callable[..., None] | None) -> None:
    real = getattr(os, name)

    def call(*args: Any, **options: Any) -> Any:
        if (check or options or name == "chmod") and called_by_capdisc():
            if any(options.get(f"{prefix}dir_fd") is not None for prefix in ("", "src_", "dst_")):
                raise NotImplementedError(f"{name}: dir_fd unavailable on this platform")
            if name == "chmod":
                return None
            if check:
                check(*args, **options)
        return real(*args, **options)

    call.__name__ = name
    for supported in (os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks):
        if real in supported:
            supported.add(call)
    setattr(os, name, call)


# Processes


def _words_of_python(words: list[str]) -> list[str]:
    """The words of a command that starts Python, so that it plays Windows as well."""
    for position, word in enumerate(words[1:], 1):
        if word == "-S":
            break  # it imports nothing of capdisc
        if word == "-c":
            return [*words[: position + 1], _PRELUDE + words[position + 1], *words[position + 2 :]]
        if word == "-m":
            run = (
                f"import runpy; runpy.run_module({words[position + 1]!r}, None, '__main__', True)"
            )
            return [*words[:position], "-c", _PRELUDE + run, *words[position + 2 :]]
        if not word.startswith("-"):
            break
    return words


def _guard_processes() -> None:
    real = subprocess.Popen.__init__

    def start(self: Any, args: Any, *rest: Any, **options: Any) -> None:
        # `subprocess.run` is called for capdisc as well.
        frame = sys._getframe(1)
        while frame.f_globals.get("__name__") == "subprocess" and frame.f_back:
            frame = frame.f_back
        if _is_own(str(frame.f_globals.get("__name__"))):
            if options.get("pass_fds") or options.get("preexec_fn"):
                raise ValueError("pass_fds and preexec_fn are not supported on Windows")
            options.pop("start_new_session", None)
            if flags := options.pop("creationflags", 0):
                options["start_new_session"] = True
                if flags & 0x4000:  # BELOW_NORMAL_PRIORITY_CLASS
                    options["preexec_fn"] = lambda: os.nice(5)
        if isinstance(args, (list, tuple)) and args and os.fspath(args[0]) == sys.executable:
            args = _words_of_python([os.fspath(word) for word in args])
        real(self, args, *rest, **options)

    subprocess.Popen.__init__ = start  # type: ignore[method-assign]


def _forget_handle(close: Callable[[int], None]) -> Callable[[int], None]:
    def call(handle: int) -> None:
        _shared_handles.discard(handle)
        close(handle)

    return call


def _guard_select() -> None:
    real = select.select

    def select_sockets(*args: Any) -> Any:
        if called_by_capdisc():
            for stream in (*args[0], *args[1], *args[2]):
                number = stream if isinstance(stream, int) else stream.fileno()
                if not stat.S_ISSOCK(os.fstat(number).st_mode):
                    raise OSError(
                        10038, "an operation was attempted on something that is no socket"
                    )
        return real(*args)

    select.select = select_sockets


# The handles of CreateFileW, which let others remove and replace the file.
_shared_handles: set[int] = set()


def _create_file(path: str, access: int, how: int, flags: int) -> int:
    _refuse_folder(path)
    creating = {1: os.O_CREAT | os.O_EXCL, 3: 0, 4: os.O_CREAT}[how]
    handle = os.open(path, flags | creating | os.O_CLOEXEC, 0o666)
    _shared_handles.add(handle)
    return handle


def _lock_byte(handle: int, flags: int) -> int:
    kind = fcntl.LOCK_EX if flags & 2 else fcntl.LOCK_SH
    try:
        fcntl.flock(handle, kind | (fcntl.LOCK_NB if flags & 1 else 0))
    except BlockingIOError:
        return 33
    return 0


def _find_user_folder(kind: str, environ: Any, home: str) -> str:
    """Those of POSIX, where the tests look."""
    name = {"config": ".config", "cache": ".cache", "state": ".local/state"}[kind]
    return f"{environ.get(f'XDG_{kind.upper()}_HOME') or f'{home}/{name}'}/capdisc"


def _process_state(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return "gone" if file.read().rpartition(")")[2].split()[0] in "ZX" else "running"
    except OSError:
        return "gone"


def _kill_group(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _enter_job(limits: Any) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (limits[0] // 10_000_000,) * 2)
    if limits[2] & 0x100:  # JOB_OBJECT_LIMIT_PROCESS_MEMORY
        resource.setrlimit(resource.RLIMIT_DATA, (limits[14],) * 2)


def play(is_child: bool = False) -> None:
    """Play Windows in this process from now on. Nothing of capdisc may be loaded yet."""
    assert not any(name.startswith("capdisc") for name in sys.modules)
    if is_child:
        _OWN_MODULES.append("__main__")
    _hide_modules()
    _guard_calls()
    _guard_processes()
    real_select = select.select
    _guard_select()
    from capdisc_indexer.platforms import system

    assert system.__name__.endswith("windows"), system
    system._lock_byte = _lock_byte
    system._create_file = _create_file
    system.find_user_folder = _find_user_folder
    system.expanduser = os.path.expanduser
    system._has_input = lambda handle: bool(real_select([handle], [], [], 0)[0])
    system.process_state = _process_state
    system.kill_group = _kill_group
    system._enter_job = _enter_job
    system._count_memory = lambda: os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    system.own_user = os.geteuid


if "pytest" in sys.modules:  # it loads this as a plug-in, before conftest.py
    play()
