"""Bytes and names that a power cut does not take away, and that only their owner can read."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from capdisc_indexer.model.errors import IndexStateError
from capdisc_indexer.model.frozen import frozen

# Where a folder is mounted, as Linux tells it in /proc/self/mountinfo (proc_pid_mountinfo(5)).

# Reached over a network or through another program: locks and renames may not mean there what they
# mean here.
_SHARED_FILE_SYSTEMS = frozenset(
    "9p afs beegfs ceph cifs coda drvfs fuse fuseblk gfs2 glusterfs gpfs lustre ncpfs nfs nfs4 ocfs2 orangefs prl_fs "
    "smb3 smbfs vboxsf virtiofs vmhgfs".split()
)
# No permissions, or no hard links, or time stamps of two seconds.
_LIMITED_FILE_SYSTEMS = frozenset("exfat hfs hfsplus msdos ntfs ntfs3 umsdos vfat".split())


@frozen(kw_only=True)
class Mount:
    """What holds a folder. `point` is empty where the system does not tell."""

    point: str = ""
    kind: str = ""

    @property
    def is_shared(self) -> bool:
        """Whether other machines, or a program in between, may have a say in what happens
        there.
        """
        return self.kind.partition(".")[0] in _SHARED_FILE_SYSTEMS

    @property
    def is_limited(self) -> bool:
        """Whether it lacks permissions, hard links or fine time stamps."""
        return self.kind in _LIMITED_FILE_SYSTEMS


def find_mount(folder: Path, table: Path = Path("/proc/self/mountinfo")) -> Mount:
    """What holds the folder; an empty answer where the system does not tell."""
    try:
        lines = table.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return Mount()
    folder_prefix, best = f"{folder.resolve()}/", Mount()
    for line in lines:
        mount = _parse_line(line)
        # A later mount hides an earlier one at the same point.
        if (
            mount
            and folder_prefix.startswith(f"{mount.point.rstrip('/')}/")
            and len(mount.point) >= len(best.point)
        ):
            best = mount
    return best


def _parse_line(line: str) -> Mount | None:
    """`36 35 98:0 /root /point rw,noatime master:1 - ext3 /dev/root rw`, with blanks in names as
    \\040.
    """
    before, _, after = line.partition(" - ")
    fields = before.split()
    if len(fields) < 5 or not after:
        return None
    point = re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), fields[4])
    return Mount(point=point, kind=after.split()[0])


# What the operating system refused while the index was written, said so that one knows which disk
# to look at.

_OTHER_FOLDER_HINT = "or choose another folder with --index-dir DIR"
_HINTS = {
    errno.ENOSPC: f"free some space there, {_OTHER_FOLDER_HINT}",
    errno.EDQUOT: f"free some of your quota there, {_OTHER_FOLDER_HINT}",
    errno.EFBIG: "files may not grow that large here: raise the limit (ulimit -f)",
    errno.EMFILE: "raise the number of files that may be open (ulimit -n)",
    errno.ENFILE: "too many files are open on this machine: end some programs",
    errno.ENOMEM: "free some memory, or raise the limit (ulimit -v)",
    errno.EAGAIN: "too many threads or too little memory: raise the limits (ulimit -u, ulimit -v)",
    errno.EROFS: f"mount it for writing, {_OTHER_FOLDER_HINT}; searching works without writing",
    errno.EACCES: f"check its permissions, {_OTHER_FOLDER_HINT}; searching works without writing",
    errno.EPERM: f"check its permissions, {_OTHER_FOLDER_HINT}; searching works without writing",
    errno.EIO: f"the disk may be failing: see the kernel's log (dmesg), {_OTHER_FOLDER_HINT}",
}


@contextmanager
def translate_disk_errors(index_dir: Path) -> Iterator[None]:
    """Turns an OSError from inside into an IndexStateError that says which disk it is about, and
    what to do.
    """
    try:
        yield
    except OSError as error:
        raise disk_error(error, index_dir) from error


def disk_error(error: OSError, index_dir: Path) -> IndexStateError:
    """The error, with the disk's name and a hint."""
    path = os.fsdecode(error.filename) if error.filename else str(index_dir)
    mount_point = find_mount(Path(path)).point or "unknown"
    reason = error.strerror or str(error)
    message = f"the index could not be brought up to date: {reason}: {path} (on the disk mounted at {mount_point})"
    return IndexStateError(
        message, _HINTS.get(error.errno or 0, f"check that disk, {_OTHER_FOLDER_HINT}")
    )


# What network and FUSE file systems answer for a folder.
_UNSYNCABLE_FOLDER_ERRNOS = frozenset({errno.EINVAL, errno.ENOTSUP, errno.EBADF})


def sync_tree(top: Path) -> None:
    """Sync everything below the folder and the folder itself, and take others' rights to it away.

    The native libraries make their files as the umask says.
    """
    for parent, _, names in os.walk(top):
        for name in names:
            _sync_entry(Path(parent, name), 0o600)
        _sync_entry(Path(parent), 0o700)


def replace_file(path: Path, data: bytes) -> None:
    """Give the file this content in one step, synced before it gets its name; the name is not."""
    temporary = path.with_name(f".{path.name}.new")
    try:
        # A name that is there was left by a killed writer, or came with a clone, as a link to
        # anywhere.
        with suppress(FileNotFoundError):
            temporary.unlink()
        fd = os.open(
            temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
        )
        with os.fdopen(fd, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(fd)
        temporary.replace(path)
    except OSError:
        with suppress(OSError):
            temporary.unlink()
        raise


def sync_folder(path: Path) -> None:
    """Make the names in the folder durable, where its file system knows how."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _sync_names(fd)
    finally:
        os.close(fd)


def _sync_entry(path: Path, mode: int) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        status = os.fstat(fd)
        # File systems without permissions refuse; what they show to others was decided when they
        # were mounted.
        with suppress(PermissionError, NotImplementedError):
            if stat.S_IMODE(status.st_mode) != mode:
                os.fchmod(fd, mode)
        if stat.S_ISDIR(status.st_mode):
            _sync_names(fd)
        else:
            os.fsync(fd)
    finally:
        os.close(fd)


def _sync_names(fd: int) -> None:
    try:
        os.fsync(fd)
    except OSError as error:
        if error.errno not in _UNSYNCABLE_FOLDER_ERRNOS:
            raise


# Who may change the index: its owner alone.
#
# What is inside reveals what someone's agents can do, and whoever can write there decides what they
# do next.

_OTHER_INDEX_DIR_HINT = "choose another with --index-dir DIR"


def make_private_folder(path: Path) -> None:
    """Make the folder, and what is missing above it, for its owner alone; a power cut does not
    undo it.
    """
    try:
        for missing in reversed(
            [folder for folder in (path, *path.parents) if not folder.exists()]
        ):
            missing.mkdir(mode=0o700, exist_ok=True)
            sync_folder(missing.parent)
        path.mkdir(exist_ok=True)  # which says so when a file has the name
    except OSError as error:
        raise IndexStateError(
            f"the index folder cannot be made: {path} ({error.strerror})", _OTHER_INDEX_DIR_HINT
        ) from error


def check_ownership(index_dir: Path) -> None:
    """Raises IndexStateError unless only this user may write to the index, and it is this user's.

    Not even root may write to another user's: what it made there would be beyond that user's
    reach.
    """
    if (index_dir / "gens").is_symlink():
        # It can have come with a clone, and what is published and collected there is whole
        # folders.
        raise IndexStateError(
            f"not writing to {index_dir / 'gens'}: it is a link",
            f"remove it; or {_OTHER_INDEX_DIR_HINT}",
        )
    if reason := find_permission_flaw(index_dir, {os.geteuid()}):
        hint = f"run: chmod go-w {reason[0]}" if "others" in reason[1] else "run this as that user"
        raise IndexStateError(
            f"not writing to {reason[0]}: {reason[1]}", f"{hint}; or {_OTHER_INDEX_DIR_HINT}"
        )


def distrust_reason(index_dir: Path) -> str:
    """Why someone else may have made the index what it is; empty when only this user and root
    could.
    """
    reason = find_permission_flaw(index_dir, {os.geteuid(), 0})
    return f"what is in {reason[0]} may not be yours: {reason[1]}" if reason else ""


def find_permission_flaw(index_dir: Path, owners: Collection[int]) -> tuple[Path, str] | None:
    """The folder of the index that others may write to, or that belongs to none of `owners`, and
    which it is.
    """
    for folder in (index_dir, index_dir / "gens"):
        try:
            status = folder.stat()
        except OSError:
            continue
        if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            return folder, f"others may write to it (mode {stat.S_IMODE(status.st_mode):04o})"
        if status.st_uid not in owners:
            return folder, f"it belongs to another user (number {status.st_uid})"
    return None
