"""Where a folder is mounted, as Linux tells it in /proc/self/mountinfo (proc_pid_mountinfo(5))."""

from __future__ import annotations

import re
from pathlib import Path

from capdisc_indexer.model.frozen import frozen

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
