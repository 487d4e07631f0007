"""Has anything changed on disk since the stamps of a build were compared, by the kernel's own word?

inotify queues an event inside the system call that makes a change, before that call returns. So a
process that reads its own queue, and finds nothing there, knows that no file was saved before:
there is no thread between that could be late, as there is in watchdog's observers. Of watchdog
this uses the bindings alone.

A watch is of a folder: the folders of the build, those of its files, and all folders above them,
for a path leads elsewhere once one of these moves. A link is followed, its own folder is watched,
and so is a file with several names, each of which changes it. 20,500 folders take 0.3 s of
processor time, in slices between questions, and 1.7 MB of the kernel's memory.

No event comes for a file system that other machines change, so a few kinds are trusted alone; for a
write through a name that a file gets after the watch began, outside the folders; and for a mapping
that stays open. Against these, the stamps are compared now and then.
"""

from __future__ import annotations

import ctypes
import errno
import os
import re
import select
import stat
import struct
import time
from collections.abc import Iterator
from pathlib import Path

from capdisc_indexer import lazy_imports
from capdisc_indexer.store.folder_stamps import FILE_NAME, Look, read_blocks, read_stamp

# Paths are bytes, as the kernel wants them.
# ruff: noqa: PTH115, PTH118, PTH120

# See inotify(7).
_MODIFY, _ATTRIB, _CLOSE_WRITE = 0x2, 0x4, 0x8
_MOVED_FROM, _MOVED_TO, _CREATE, _DELETE = 0x40, 0x80, 0x100, 0x200
_DELETE_SELF, _MOVE_SELF = 0x400, 0x800
_UNMOUNT, _OVERFLOW, _IGNORED = 0x2000, 0x4000, 0x8000
_ADD_TO_MASK = 0x20000000
# What comes and goes in a folder, and what becomes of itself.
_ENTRIES = _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE
_WAYS = _ENTRIES | _ATTRIB | _DELETE_SELF | _MOVE_SELF
# A mapped file has no event for each write, and one when it is closed.
_CONTENTS = _WAYS | _MODIFY | _CLOSE_WRITE
_ENDS = _UNMOUNT | _OVERFLOW | _IGNORED
_EVENT = struct.Struct("iIII")
_READ_BYTES = 1 << 16
_MAX_LINKS = 40

# File systems that nobody changes but this kernel.
_LOCAL_FILE_SYSTEMS = frozenset(
    b"bcachefs btrfs erofs exfat ext2 ext3 ext4 f2fs hfsplus iso9660 jfs msdos nilfs2 ntfs3 overlay"
    b" ramfs reiserfs rootfs squashfs tmpfs udf vfat xfs zfs".split()
)
_MOUNTS = "/proc/self/mountinfo"
_LIMIT = Path("/proc/sys/fs/inotify/max_user_watches")
# The limit is of all programs of a user, and editors need many: so the servers take half of it.
_SHARE = 2


class NotWatchableError(Exception):
    """The kernel's events cannot be relied on; the text says why."""


class PathWatch:
    """Says whether the stamps of some paths may have changed since they were added."""

    def __init__(self, max_folders: int) -> None:
        """Raises NotWatchableError where the system has no events."""
        self._max_folders = max_folders
        try:
            self._inotify = lazy_imports.inotify()
            self._mounts = os.open(_MOUNTS, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise NotWatchableError(_describe_error(error)) from error
        self._fd: int = self._inotify.inotify_init()
        if self._fd < 0:
            os.close(self._mounts)
            raise NotWatchableError(_describe_error(OSError(ctypes.get_errno(), "")))
        os.set_inheritable(self._fd, False)
        os.set_blocking(self._fd, False)
        self._new_mounts = select.poll()
        self._new_mounts.register(self._mounts, select.POLLPRI | select.POLLERR)
        self._mounted = _read_mounts(os.pread(self._mounts, 1 << 24, 0))
        # Of each watch: the names in the folder that matter, and whether any that comes or goes does.
        self._names: dict[int, set[bytes]] = {}
        self._listed: set[int] = set()
        self._with_contents: set[int] = set()
        self._found: dict[bytes, int | None] = {}
        self._devices: set[int] = set()
        self._has_changed = False

    def __len__(self) -> int:
        return len(self._names)

    def close(self) -> None:
        """Stop watching. Everything counts as changed from now on."""
        if self._fd >= 0:
            os.close(self._fd)
            os.close(self._mounts)
        self._fd, self._has_changed = -1, True
        self._names, self._listed = {}, set()
        self._found, self._with_contents = {}, set()

    def add(self, path: bytes) -> None:
        """Watch what decides the stamp of this absolute path. Raises NotWatchableError where that
        cannot be.
        """
        self._add(path, _MAX_LINKS)

    def settle(self) -> None:
        """Let go of what only `add` needs."""
        self._found, self._with_contents = {}, set()
        shared: dict[frozenset[bytes], set[bytes]] = {}
        for number, names in self._names.items():
            self._names[number] = shared.setdefault(frozenset(names), names)

    def has_changed(self) -> bool:
        """Whether anything may have changed before this call."""
        if not self._has_changed and (self._has_event() or self._new_mounts.poll(0)):
            self.close()
        return self._has_changed

    def _has_event(self) -> bool:
        while True:
            try:
                data = os.read(self._fd, _READ_BYTES)
            except BlockingIOError:
                return False
            if any(self._matters(*event) for event in _events(data)):
                return True

    def _matters(self, number: int, mask: int, name: bytes) -> bool:
        names = self._names.get(number)
        return (
            names is None
            or not name
            or bool(mask & _ENDS)
            or (bool(mask & _ENTRIES) and number in self._listed)
            or name in names
        )

    def _add(self, path: bytes, links: int) -> None:
        folder, name = os.path.split(path)
        number = self._find_folder(folder, links)
        if number is None:
            return
        self._names[number].add(name)
        try:
            status = os.lstat(path)
        except OSError:
            return  # its name is waited for
        if stat.S_ISLNK(status.st_mode):
            self._add(_link_target(path, links), links - 1)
        elif stat.S_ISDIR(status.st_mode):
            number = self._find_folder(path, links)
            if number is not None:
                self._listed.add(number)
        else:
            if number not in self._with_contents:
                self._with_contents.add(self._watch(folder, status.st_dev, _CONTENTS))
            if status.st_nlink > 1:
                self._watch(path, status.st_dev, _CONTENTS)

    def _find_folder(self, folder: bytes, links: int) -> int | None:
        """The watch of a folder, and watches of all that leads to it; None where it does not exist."""
        if folder not in self._found:
            self._found[folder] = self._reach_folder(folder, links)
        return self._found[folder]

    def _reach_folder(self, folder: bytes, links: int) -> int | None:
        above, name = os.path.split(folder)
        if name:
            number = self._find_folder(above, links)
            if number is None:
                return None
            self._names[number].add(name)
        try:
            status = os.lstat(folder)
        except OSError:
            return None
        if stat.S_ISLNK(status.st_mode):
            return self._find_folder(_link_target(folder, links), links - 1)
        if not stat.S_ISDIR(status.st_mode):
            return None
        return self._watch(folder, status.st_dev, _WAYS)

    def _watch(self, path: bytes, device: int, mask: int) -> int:
        if device not in self._devices:
            self._check_file_system(path)
            self._devices.add(device)
        number = self._inotify.inotify_add_watch(self._fd, path, mask | _ADD_TO_MASK)
        if number < 0:
            code = ctypes.get_errno()
            if code in (errno.ENOENT, errno.ENOTDIR):
                raise NotWatchableError("a folder is gone")
            raise NotWatchableError(_describe_error(OSError(code, "", os.fsdecode(path))))
        self._names.setdefault(number, set())
        if len(self._names) > self._max_folders:
            raise NotWatchableError(describe_limit())
        return int(number)

    def _check_file_system(self, path: bytes) -> None:
        """Raises NotWatchableError where others than this kernel may change what lies there."""
        real = os.path.realpath(path) + b"/"
        _, kind = max(
            (
                (len(point), kind)
                for point, kind in self._mounted
                if real.startswith(point.rstrip(b"/") + b"/")
            ),
            default=(0, b"?"),
        )
        if kind not in _LOCAL_FILE_SYSTEMS:
            raise NotWatchableError(
                f"the file system of {os.fsdecode(path)} ({os.fsdecode(kind)}) may change without events"
            )


def max_watched_folders(processes: int) -> int:
    """How many folders each of so many processes may watch."""
    try:
        return int(_LIMIT.read_text()) // (_SHARE * processes)
    except (OSError, ValueError):
        return 4_096


def describe_limit() -> str:
    """Why so many folders are not watched."""
    try:
        limit = f" ({int(_LIMIT.read_text()):,})"
    except (OSError, ValueError):
        limit = ""
    return f"more folders than half of fs.inotify.max_user_watches{limit}; raise it"


def _link_target(path: bytes, links: int) -> bytes:
    """Raises NotWatchableError for a link that is gone, or leads to too many others."""
    try:
        target = os.readlink(path)
    except OSError:
        raise NotWatchableError("a link has changed") from None
    if not links:
        raise NotWatchableError(f"{os.fsdecode(path)} leads to too many links")
    return os.path.join(os.path.dirname(path), target)


def _events(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """The watch, the kind and the name of each event."""
    position = 0
    while position < len(data):
        number, mask, _, size = _EVENT.unpack_from(data, position)
        position += _EVENT.size + size
        yield number, mask, data[position - size : position].rstrip(b"\0")


def _read_mounts(text: bytes) -> list[tuple[bytes, bytes]]:
    """The place and the kind of each mounted file system, as proc(5) describes them."""
    mounts = []
    for line in text.splitlines():
        before, _, after = line.partition(b" - ")
        point = re.sub(rb"\\([0-7]{3})", lambda code: bytes([int(code[1], 8)]), before.split()[4])
        mounts.append((point, after.split()[0]))
    return mounts


def _describe_error(error: OSError) -> str:
    if error.errno == errno.ENOSPC:
        return "fs.inotify.max_user_watches is used up; raise it"
    if error.errno == errno.EMFILE:
        return "fs.inotify.max_user_instances is used up; raise it"
    if error.errno:
        where = f" for {error.filename}" if error.filename else ""
        return f"the kernel gives no events{where}: {os.strerror(error.errno)}"
    return str(error)


# So many paths are added, or compared, between two questions.
_SLICE_PATHS = 200
# A look at all stamps beside the kernel's word, in a time in which somebody asks.
COMPARE_INTERVAL_S = 60.0


class StampWatch:
    """Answers whether the stamps of an index still hold: by the kernel's word once `work` has come
    to its end.
    """

    def __init__(self, index_dir: Path, pointer: str, max_folders: int) -> None:
        """`problem` says why nothing is watched, where that is so."""
        self.problem = ""
        self._index_dir, self._pointer, self._max_folders = index_dir, pointer, max_folders
        self._stamp = read_stamp(os.fspath(index_dir / FILE_NAME))
        self._watch: PathWatch | None = None
        self._look: Look | None = None
        self._compared_at = 0.0
        self._steps: Iterator[None] = self._begin()
        self.is_busy = True

    @property
    def folders(self) -> int:
        """How many folders are watched; 0 where the stamps are compared instead."""
        return len(self._watch) if self._watch and self._look else 0

    @property
    def has_ended(self) -> bool:
        """Whether it will not answer any more, since something changed or it cannot watch."""
        return not self.is_busy and self._look is None

    def is_of(self, pointer: str) -> bool:
        """Whether it is about what this pointer's build stamped, as it is on disk now."""
        return pointer == self._pointer and self._stamp == read_stamp(
            os.fspath(self._index_dir / FILE_NAME)
        )

    def look(self) -> Look | None:
        """The look at the disk that finds nothing changed; None where a real look is necessary."""
        if self._look is None or self._watch is None:
            return None
        if self._watch.has_changed():
            self._look = None
        elif time.monotonic() - self._compared_at > COMPARE_INTERVAL_S:
            self._compared_at = time.monotonic()
            self._steps, self.is_busy = self._compare(), True
        return self._look

    def work(self) -> None:
        """Do a slice of what remains to be done while `is_busy`."""
        try:
            next(self._steps)
        except StopIteration:
            self.is_busy = False
        except (NotWatchableError, OSError, ValueError) as error:
            self.problem = str(error)
            self.close()

    def close(self) -> None:
        """Stop watching."""
        if self._watch:
            self._watch.close()
        self._watch = self._look = None
        self._steps, self.is_busy = iter(()), False

    def _begin(self) -> Iterator[None]:
        look, blocks = read_blocks(self._index_dir, self._pointer)
        if not look.is_known:
            return
        watch = self._watch = PathWatch(self._max_folders)
        yield
        for block in blocks:
            for count, path in enumerate(block.paths, 1):
                if path:
                    watch.add(path)
                if count % _SLICE_PATHS == 0:
                    yield
            yield
        watch.settle()
        yield from self._compare(look)

    def _compare(self, look: Look | None = None) -> Iterator[None]:
        """Compare all stamps. Whatever changes meanwhile is among the kernel's events."""
        known, blocks = read_blocks(self._index_dir, self._pointer)
        for block in blocks:
            if not block.is_unchanged():
                self.close()
                return
            yield
        self._compared_at = time.monotonic()
        if look is not None and known == look:
            self._look = look
