"""A file system like that of a Mac, for tests on Linux: it speaks the kernel's FUSE protocol and keeps its files in an
ordinary folder. Names are found in any case and Unicode form; `decomposes` lists them decomposed, as HFS+ does;
`step_s` is the step of its time stamps.

Run as a program, it serves the handle, mounted already, that it inherits: `folding_file_system.py HANDLE BACKING …`.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import subprocess
import sys
import time
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_MNT_DETACH = 2
_ROOT = 1
_HEADER = struct.Struct("<IIQQIIIHH")
_NO_ANSWER = {2, 36, 42}  # FORGET, INTERRUPT, BATCH_FORGET


def _why_not_mountable() -> str:
    """Why no such file system can be mounted here; "" where it can."""
    if sys.platform != "linux":
        return "needs the FUSE of Linux"
    if os.geteuid() != 0:
        return "needs root, to mount file systems"
    try:
        os.close(os.open("/dev/fuse", os.O_RDWR))
    except OSError as error:
        return f"needs /dev/fuse: {error.strerror}"
    return ""


@contextmanager
def mounted(folder: Path, *, decomposes: bool = False, step_s: int = 0) -> Iterator[Path]:
    """A new folder `Mac` in `folder` that is such a file system; the test is skipped where none can be mounted."""
    import pytest  # the served process needs it not

    if reason := _why_not_mountable():
        pytest.skip(reason)
    backing, point = folder / "backing", folder / "Mac"
    backing.mkdir()
    point.mkdir()
    libc = ctypes.CDLL(None, use_errno=True)
    handle = os.open("/dev/fuse", os.O_RDWR)
    try:
        options = (
            f"fd={handle},rootmode=40000,user_id=0,group_id=0,allow_other,default_permissions"
        )
        if libc.mount(b"capdisc-test", os.fsencode(point), b"fuse", 0, options.encode()):
            pytest.skip(f"cannot mount a file system: {os.strerror(ctypes.get_errno())}")
        command = [
            sys.executable,
            __file__,
            str(handle),
            str(backing),
            str(int(decomposes)),
            str(step_s),
        ]
        server = subprocess.Popen(command, pass_fds=(handle,))
    finally:
        os.close(handle)
    try:
        yield point
    finally:
        libc.umount2(os.fsencode(point), _MNT_DETACH)
        server.kill()
        server.wait()


def _fold(name: str) -> str:
    return unicodedata.normalize("NFD", unicodedata.normalize("NFD", name).casefold())


class _Server:
    def __init__(self, backing: str, decomposes: bool, step_s: int) -> None:
        self._backing, self._decomposes, self._step_s = backing, decomposes, step_s
        self._nodes: dict[int, tuple[int, str]] = {}  # number -> that of the folder, name there
        self._operations: dict[int, Callable[[int, bytes], bytes]] = {
            1: self._look_up, 3: self._get_attributes, 4: self._set_attributes, 5: self._read_link,
            6: self._make_link, 9: self._make_folder, 10: self._unlink, 11: self._remove_folder,
            12: self._rename, 13: self._link, 14: self._open, 15: self._read, 16: self._write,
            17: self._measure, 18: self._release, 20: self._sync, 25: lambda *_: b"",
            26: self._start, 27: lambda *_: bytes(16), 28: self._list, 29: lambda *_: b"", 30: lambda *_: b"",
            35: self._create, 45: self._rename_with_flags,
        }  # fmt: skip

    def serve(self, handle: int) -> None:
        while True:
            try:
                request = os.read(handle, 1 << 18)
            except OSError as error:
                if error.errno in (errno.EINTR, errno.ENOENT):
                    continue
                return  # it was unmounted
            _, operation, unique, node, *_ = _HEADER.unpack_from(request)
            if operation in _NO_ANSWER:
                continue
            number, answer = 0, b""
            try:
                if operation not in self._operations:
                    raise OSError(errno.ENOSYS, "")
                answer = self._operations[operation](node, request[_HEADER.size :])
            except OSError as error:
                number, answer = -(error.errno or errno.EIO), b""
            try:
                os.write(handle, struct.pack("<IiQ", 16 + len(answer), number, unique) + answer)
            except OSError as error:
                if error.errno != errno.ENOENT:  # nobody waits any more
                    return

    def _path(self, node: int) -> str:
        parts = []
        while node != _ROOT:
            node, name = self._nodes[node]
            parts.append(name)
        return os.path.join(self._backing, *reversed(parts))

    def _find(self, folder: int, name: bytes) -> str:
        """The path with this name: as the folder spells it, or as it is given where there is none."""
        place, text = self._path(folder), os.fsdecode(name)
        folded = _fold(text)
        spelt = next((known for known in os.listdir(place) if _fold(known) == folded), None)
        new = unicodedata.normalize("NFD", text) if self._decomposes else text
        return os.path.join(place, new if spelt is None else spelt)

    def _entry(self, folder: int, path: str) -> bytes:
        attributes = self._attributes(os.lstat(path))
        node = os.lstat(path).st_ino
        self._nodes[node] = (folder, os.path.basename(path))
        return struct.pack("<QQQQII", node, 0, 0, 0, 0, 0) + attributes

    def _attributes(self, status: os.stat_result) -> bytes:
        times = [status.st_atime_ns, status.st_mtime_ns, status.st_ctime_ns]
        if self._step_s:
            step_ns = self._step_s * 10**9
            times = [time // step_ns * step_ns for time in times]
        return struct.pack(
            "<QQQQQQIIIIIIIIII", status.st_ino, status.st_size, status.st_blocks,
            *(time // 10**9 for time in times), *(time % 10**9 for time in times),
            status.st_mode, status.st_nlink, status.st_uid, status.st_gid, 0, 4096, 0,
        )  # fmt: skip

    def _start(self, node: int, data: bytes) -> bytes:
        _, _, readahead, flags = struct.unpack_from("<IIII", data)
        big_writes = 1 << 5
        return struct.pack(
            "<IIIIHHIIHHI", 7, 31, readahead, flags & big_writes, 12, 9, 1 << 17, 1, 0, 0, 0
        ) + bytes(28)

    def _look_up(self, node: int, data: bytes) -> bytes:
        return self._entry(node, self._find(node, data.split(b"\0")[0]))

    def _get_attributes(self, node: int, data: bytes) -> bytes:
        flags, _, handle = struct.unpack_from("<IIQ", data)
        # An open file may have no name any more.
        if not flags & 1 and not os.path.lexists(self._path(node)):
            handle = self._find_nameless(self._path(node))
            flags = 1
        status = os.fstat(handle) if flags & 1 else os.lstat(self._path(node))
        return bytes(16) + self._attributes(status)

    @staticmethod
    def _find_nameless(path: str) -> int:
        """The handle on an open file that was removed; the kernel asks for it without one, too."""
        for number in os.listdir("/proc/self/fd"):
            with suppress(OSError):
                if os.readlink(f"/proc/self/fd/{number}") == f"{path} (deleted)":
                    return int(number)
        raise FileNotFoundError(errno.ENOENT, "")

    def _set_attributes(self, node: int, data: bytes) -> bytes:
        (
            valid,
            _,
            handle,
            size,
            _,
            atime,
            mtime,
            _,
            atime_ns,
            mtime_ns,
            _,
            mode,
            _,
            user,
            group,
            _,
        ) = struct.unpack_from("<IIQQQQQQIIIIIIII", data)
        path: int | str = handle if valid & 64 else self._path(node)
        if valid & 1:
            os.chmod(path, mode & 0o7777)
        if valid & 6:
            os.chown(path, user if valid & 2 else -1, group if valid & 4 else -1)
        if valid & 8:
            os.truncate(path, size)
        if valid & 0x1B0:
            now = os.stat(path)
            accessed = atime * 10**9 + atime_ns if valid & 16 else now.st_atime_ns
            changed = mtime * 10**9 + mtime_ns if valid & 32 else now.st_mtime_ns
            os.utime(path, ns=(time.time_ns(),) * 2 if valid & 0x180 else (accessed, changed))
        return bytes(16) + self._attributes(os.stat(path))

    def _read_link(self, node: int, data: bytes) -> bytes:
        return os.fsencode(os.readlink(self._path(node)))

    def _make_link(self, node: int, data: bytes) -> bytes:
        name, target, _ = data.split(b"\0", 2)
        path = self._find(node, name)
        os.symlink(os.fsdecode(target), path)
        return self._entry(node, path)

    def _make_folder(self, node: int, data: bytes) -> bytes:
        mode, mask = struct.unpack_from("<II", data)
        path = self._find(node, data[8:].split(b"\0")[0])
        os.mkdir(path, mode & ~mask)
        return self._entry(node, path)

    def _unlink(self, node: int, data: bytes) -> bytes:
        os.unlink(self._find(node, data.split(b"\0")[0]))
        return b""

    def _remove_folder(self, node: int, data: bytes) -> bytes:
        os.rmdir(self._find(node, data.split(b"\0")[0]))
        return b""

    def _rename(self, node: int, data: bytes, start: int = 8) -> bytes:
        folder = struct.unpack_from("<Q", data)[0]
        old, new, _ = data[start:].split(b"\0", 2)
        source, target = self._find(node, old), self._find(folder, new)
        number = os.lstat(source).st_ino
        os.rename(source, target)
        self._nodes[number] = (folder, os.path.basename(target))
        return b""

    def _rename_with_flags(self, node: int, data: bytes) -> bytes:
        if struct.unpack_from("<QI", data)[1]:
            raise OSError(errno.EINVAL, "")
        return self._rename(node, data, 16)

    def _link(self, node: int, data: bytes) -> bytes:
        known = struct.unpack_from("<Q", data)[0]
        path = self._find(node, data[8:].split(b"\0")[0])
        os.link(self._path(known), path, follow_symlinks=False)
        return self._entry(node, path)

    def _opened(self, path: str, flags: int, mode: int = 0) -> bytes:
        # The kernel gives the offset of each call itself, and has no other meaning for O_APPEND here.
        handle = os.open(
            path, flags & ~(os.O_APPEND | os.O_DIRECT | os.O_NOFOLLOW) | os.O_CLOEXEC, mode
        )
        return struct.pack("<QII", handle, 0, 0)

    def _open(self, node: int, data: bytes) -> bytes:
        return self._opened(
            self._path(node), struct.unpack_from("<I", data)[0] & ~(os.O_CREAT | os.O_EXCL)
        )

    def _create(self, node: int, data: bytes) -> bytes:
        flags, mode, mask = struct.unpack_from("<III", data)
        path = self._find(node, data[16:].split(b"\0")[0])
        opened = self._opened(path, flags | os.O_CREAT, mode & ~mask)
        return self._entry(node, path) + opened

    def _read(self, node: int, data: bytes) -> bytes:
        handle, offset, size = struct.unpack_from("<QQI", data)
        return os.pread(handle, size, offset)

    def _write(self, node: int, data: bytes) -> bytes:
        handle, offset, size = struct.unpack_from("<QQI", data)
        return struct.pack("<II", os.pwrite(handle, data[40 : 40 + size], offset), 0)

    def _measure(self, node: int, data: bytes) -> bytes:
        status = os.statvfs(self._backing)
        sizes = (status.f_blocks, status.f_bfree, status.f_bavail, status.f_files, status.f_ffree)
        return struct.pack("<QQQQQIIII", *sizes, status.f_bsize, 255, status.f_frsize, 0) + bytes(
            24
        )

    def _release(self, node: int, data: bytes) -> bytes:
        os.close(struct.unpack_from("<Q", data)[0])
        return b""

    def _sync(self, node: int, data: bytes) -> bytes:
        os.fsync(struct.unpack_from("<Q", data)[0])
        return b""

    def _list(self, node: int, data: bytes) -> bytes:
        _, offset, size = struct.unpack_from("<QQI", data)
        answer = b""
        with os.scandir(self._path(node)) as entries:
            names = sorted(
                (entry.name, entry.inode(), os.lstat(entry.path).st_mode >> 12)
                for entry in entries
            )
        for place, (name, number, kind) in enumerate(names[offset:], offset + 1):
            text = os.fsencode(name)
            entry = struct.pack("<QQII", number, place, len(text), kind) + text
            entry += bytes(-len(entry) % 8)
            if len(answer) + len(entry) > size:
                break
            answer += entry
        return answer


if __name__ == "__main__":
    os.umask(0)
    ctypes.CDLL(None).prctl(1, 9)  # it ends with its parent
    _Server(sys.argv[2], sys.argv[3] == "1", int(sys.argv[4])).serve(int(sys.argv[1]))
