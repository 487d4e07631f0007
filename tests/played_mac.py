"""Makes this process take itself for one on macOS, as far as Linux allows: the name of the platform, no /proc, and none
of what the modules of Python lack there. `python tests/played_mac.py ARGUMENTS` runs such a command line of capdisc.
"""

from __future__ import annotations

import errno
import fcntl
import os
import select
import sys

# What Python's `os` has on Linux and not on macOS.
LACKING = (
    "O_PATH O_TMPFILE O_DIRECT O_NOATIME O_LARGEFILE O_RSYNC sched_getaffinity sched_setaffinity fdatasync pipe2 waitid"
    " posix_fadvise posix_fallocate memfd_create copy_file_range splice eventfd getxattr setxattr listxattr removexattr"
    " getrandom getresuid getresgid setresuid setresgid pidfd_open unshare setns"
).split()


def play() -> None:
    """Take effect from now on, before capdisc is imported."""
    sys.platform = "darwin"
    for name in LACKING:
        if hasattr(os, name):
            delattr(os, name)
    if hasattr(select, "epoll"):
        del select.epoll
    # No Linux knows this command, and answers EINVAL, as macOS does for a file system without it.
    fcntl.F_FULLFSYNC = 51
    sys.addaudithook(_hide_kernel_tables)


def _hide_kernel_tables(event: str, arguments: tuple[object, ...]) -> None:
    if event in ("open", "os.listdir", "os.scandir") and str(arguments[0]).startswith("/proc"):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), arguments[0])


if __name__ == "__main__":
    play()
    from capdisc.__main__ import main

    sys.exit(main())
