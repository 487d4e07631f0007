"""Writes files that survive a power cut and that only their owner can read.

Also: which file system holds a folder, how much it takes, what an error of the operating system
means for the user, and who may write to an index.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from capdisc_indexer.model.errors import IndexStateError
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.platforms import system

# Reached over a network or through another program: locks and renames may not work there as on a
# local disk.
_SHARED_FILE_SYSTEMS = frozenset(
    "9p afpfs afs beegfs ceph cifs coda drvfs fuse fuseblk gfs2 glusterfs gpfs lustre macfuse ncpfs "
    "nfs nfs4 ocfs2 orangefs osxfuse prl_fs smb3 smbfs vboxsf virtiofs vmhgfs webdav".split()
)
# No permissions, or no hard links, or time stamps of two seconds.
_LIMITED_FILE_SYSTEMS = frozenset("exfat hfs hfsplus msdos ntfs ntfs3 umsdos vfat".split())
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
_OTHER_INDEX_DIR_HINT = "choose another with --index-dir DIR"


@frozen(kw_only=True)
class Mount:
    """A mounted file system: its mount point, "" where unknown, and its kind."""

    point: str = ""
    kind: str = ""

    @property
    def is_shared(self) -> bool:
        """Whether another machine or a program in between may change files there."""
        return self.kind.partition(".")[0] in _SHARED_FILE_SYSTEMS

    @property
    def is_limited(self) -> bool:
        """Whether it lacks permissions, hard links or fine time stamps."""
        return self.kind in _LIMITED_FILE_SYSTEMS


def find_mount(folder: Path, table: str = system.MOUNT_TABLE) -> Mount:
    """The file system that holds the folder; an empty Mount where it is unknown.

    Reads proc_pid_mountinfo(5), which only Linux has; other systems are asked.
    """
    try:
        lines = Path(table).read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        point, kind = system.read_mount(folder)
        return Mount(point=point, kind=kind)
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
    """The mount of a line such as `36 35 98:0 /root /point rw,noatime master:1 - ext3 /dev/root
    rw`, with blanks in names as \\040.
    """
    before, _, after = line.partition(" - ")
    fields = before.split()
    if len(fields) < 5 or not after:
        return None
    point = re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), fields[4])
    return Mount(point=point, kind=after.split()[0])


@contextmanager
def translate_disk_errors(index_dir: Path) -> Iterator[None]:
    """Turns an OSError from inside into an IndexStateError that names the disk and says what to
    do.
    """
    try:
        yield
    except OSError as error:
        raise disk_error(error, index_dir) from error


def disk_error(error: OSError, index_dir: Path) -> IndexStateError:
    """The error of the operating system with the mount point of the disk and a hint."""
    path = os.fsdecode(error.filename) if error.filename else str(index_dir)
    mount_point = find_mount(Path(path)).point or "unknown"
    reason = error.strerror or str(error)
    return IndexStateError(
        f"the index could not be brought up to date: {reason}: {path} "
        f"(on the disk mounted at {mount_point})",
        _HINTS.get(error.errno or 0, f"check that disk, {_OTHER_FOLDER_HINT}"),
    )


def sync_tree(top: Path) -> None:
    """Sync the folder and everything below it, and make all of it private to the owner.

    The native libraries make their files with the permissions of the umask.
    """
    for parent, _, names in os.walk(top):
        for name in names:
            system.sync_entry(Path(parent, name), 0o600)
        system.sync_entry(parent, 0o700)


def temporary_path(path: Path) -> Path:
    """Where `replace_file` writes the next content of the file. There is one name for each file,
    so that the next writer removes what a killed one left.
    """
    return path.with_name(f".{path.name}.new")


def replace_file(
    path: Path,
    data: bytes | Iterable[bytes],
    mode: int = 0o600,
    owner: os.stat_result | None = None,
) -> None:
    """Give the file this content in one step: the content is synced before the rename; the name is
    not synced (`sync_folder` does that). One process at a time may replace a file.
    """
    temporary = temporary_path(path)
    try:
        # An existing file of this name was left by a killed writer, or came with a clone as a link
        # to any place.
        with suppress(FileNotFoundError):
            temporary.unlink()
        fd = system.create_file(temporary)
        with os.fdopen(fd, "wb") as stream:
            stream.writelines([data] if isinstance(data, bytes) else data)
            stream.flush()
            if owner:
                system.copy_owner(fd, owner)
            if mode != 0o600:
                system.set_mode(fd, mode)
            system.sync_file(fd)
        system.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


def replace_user_file(path: Path, data: bytes | Iterable[bytes], is_private: bool = False) -> None:
    """Replace a file of the user durably and in one step, one process after the other. It keeps
    its mode and owner; a new one has the usual mode or, if private, one for its owner alone.
    """
    folder = system.lock_folder(path.parent)
    try:
        before = path.stat() if path.exists() else None
        new_mode = 0o600 if is_private else 0o666 & ~system.read_umask()
        replace_file(path, data, stat.S_IMODE(before.st_mode) if before else new_mode, before)
        system.sync_folder(path.parent)
    finally:
        if folder is not None:
            os.close(folder)


# Only its owner may change an index: its content reveals what the owner's agents can do, and
# anyone who can write to it decides what they do next.


@frozen(kw_only=True)
class DiskUsage:
    """The bytes that a folder takes on disk, as `du` counts them; and how many of them are in
    files that other folders have, too, as hard links.
    """

    bytes: int
    shared_bytes: int


def measure_folder(top: Path) -> DiskUsage:
    """What the folder takes. Files that vanish meanwhile count as nothing."""
    statuses: dict[int, os.stat_result] = {}
    links = Counter[int]()
    for path in (top, *top.rglob("*")):
        with suppress(OSError):
            status = path.lstat()
            statuses[status.st_ino] = status
            links[status.st_ino] += 1
    shared = (
        system.allocated_bytes(status)
        for inode, status in statuses.items()
        if stat.S_ISREG(status.st_mode) and status.st_nlink > links[inode]
    )
    return DiskUsage(
        bytes=sum(system.allocated_bytes(status) for status in statuses.values()),
        shared_bytes=sum(shared),
    )


def make_private_folder(path: Path) -> None:
    """Make the folder and its missing parents, for the owner alone, and sync their names.

    Raises IndexStateError when that fails.
    """
    try:
        for missing in reversed(
            [folder for folder in (path, *path.parents) if not folder.exists()]
        ):
            missing.mkdir(mode=0o700, exist_ok=True)
            system.sync_folder(missing.parent)
        path.mkdir(exist_ok=True)  # raises where a file has this name
    except OSError as error:
        raise IndexStateError(
            f"the index folder cannot be made: {path} ({error.strerror})", _OTHER_INDEX_DIR_HINT
        ) from error


def check_ownership(index_dir: Path) -> None:
    """Raises IndexStateError unless this user owns the index and nobody else may write to it.

    Not even root may write to the index of another user, who could not change those files later.
    """
    if (index_dir / "gens").is_symlink():
        # The link may have come with a clone, and whole folders are published and removed there.
        raise IndexStateError(
            f"not writing to {index_dir / 'gens'}: it is a link",
            f"remove it; or {_OTHER_INDEX_DIR_HINT}",
        )
    if reason := find_permission_flaw(index_dir, {system.own_user()}):
        hint = f"run: chmod go-w {reason[0]}" if "others" in reason[1] else "run this as that user"
        raise IndexStateError(
            f"not writing to {reason[0]}: {reason[1]}", f"{hint}; or {_OTHER_INDEX_DIR_HINT}"
        )


def distrust_reason(index_dir: Path) -> str:
    """Why another user may have changed the index; "" when only this user and root could."""
    reason = find_permission_flaw(index_dir, {system.own_user(), 0})
    return f"what is in {reason[0]} may not be yours: {reason[1]}" if reason else ""


def find_permission_flaw(index_dir: Path, owners: Collection[int]) -> tuple[Path, str] | None:
    """The first folder of the index that others may write to or that none of `owners` owns, and
    the problem in words; None when there is none.
    """
    for folder in (index_dir, index_dir / "gens"):
        try:
            status = folder.stat()
        except OSError:
            continue
        if system.can_others_write(status):
            return folder, f"others may write to it (mode {stat.S_IMODE(status.st_mode):04o})"
        if status.st_uid not in owners:
            return folder, f"it belongs to another user (number {status.st_uid})"
    return None
