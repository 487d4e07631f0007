"""Which file system a folder is on, from mount tables of Linux."""

from pathlib import Path

import pytest

from capdisc_indexer.store.durable_files import find_mount
from case_rows import read_rows

TABLE = """\
22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
23 22 0:21 / /proc rw - proc proc rw
40 22 0:50 / /mnt/share rw,relatime shared:1 - nfs4 server:/export rw,vers=4.2
41 22 8:17 / /mnt/usb\\040stick rw - vfat /dev/sdb1 rw
42 22 0:51 / /mnt/share/deep rw - fuse.sshfs me@host:/ rw
43 22 0:52 / /mnt/c rw - 9p drvfs rw
44 22 0:53 / /over rw - overlay overlay rw
45 40 0:54 / /twice rw - nfs server:/a rw
46 40 0:55 / /twice rw - tmpfs none rw
half a line
"""


@pytest.fixture
def table(tmp_path):
    (tmp_path / "mountinfo").write_text(TABLE)
    return tmp_path / "mountinfo"


@pytest.mark.parametrize(
    ("folder", "kind", "shared", "plain"),
    read_rows(__file__, "the_innermost_and_latest_mount_counts"),
)
def test_the_innermost_and_latest_mount_counts(table, folder, kind, shared, plain) -> None:
    mount = find_mount(Path(folder), table)
    assert (mount.kind, mount.is_shared, mount.is_limited) == (kind, shared, plain)


def test_where_the_system_does_not_tell_nothing_is_claimed(tmp_path) -> None:
    mount = find_mount(tmp_path, tmp_path / "no-such-table")
    assert (mount.kind, mount.is_shared, mount.is_limited) == ("", False, False)


def test_the_real_table_names_what_holds_this_folder(tmp_path) -> None:
    assert find_mount(tmp_path).point.startswith("/")
