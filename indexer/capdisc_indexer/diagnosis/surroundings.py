"""What the index depends on: its folders, the encoder, the clock, and what the kernel allows a watcher."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from capdisc_indexer import encoders
from capdisc_indexer.diagnosis.commands import index_command, quoted
from capdisc_indexer.diagnosis.values import Check, State
from capdisc_indexer.errors import CapdiscError
from capdisc_indexer.previous import load_previous
from capdisc_indexer.sources.files import GRAIN_NS
from capdisc_indexer.sources.scan import SKIPPED
from capdisc_indexer.types import Generation

_KERNEL = Path("/proc/sys/fs/inotify")


def about(index_dir: Path, found: Generation, deep: bool, now_ns: int) -> Iterator[Check]:
    """All of them."""
    last = load_previous(index_dir)
    yield _roots(index_dir, last.roots)
    yield encoder(index_dir, found, deep)
    yield _clock(index_dir, last.scanned_at_ns, now_ns)
    yield _watching(last.roots)


def _roots(index_dir: Path, roots: Sequence[str]) -> Check:
    name = "roots"
    gone = [root for root in roots if not os.access(root, os.R_OK)]
    if not gone:
        return Check(name=name, state=State.OK, text=", ".join(roots) or "none")
    text = f"cannot be read: {', '.join(gone)}"
    remaining = len(gone) < len(roots)
    fix = index_command(index_dir) if remaining else f"capdisc index PATH --index-dir {quoted(index_dir)}"
    return Check(name=name, state=State.PROBLEM, text=text, fix=fix)


def encoder(index_dir: Path, found: Generation, deep: bool) -> Check:
    """Whether the encoder of the vectors is there and whole. The shipped one is always looked at, since spelling uses
    it; another one takes seconds to load."""
    name = "encoder"
    try:
        encoders.shipped().check()
        used = encoders.load(found.encoder) if deep or found.encoder == encoders.SHIPPED else None
        if used:
            used.check()
    except CapdiscError as error:
        return Check(name=name, state=State.PROBLEM, text=error.message, fix=error.hint)
    if not found.fingerprint:
        fix = index_command(index_dir, "--encoder static")
        return Check(name=name, state=State.NOTICE, text="none: searching goes by words alone", fix=fix)
    if used and used.fingerprint != found.fingerprint:
        text = f"the vectors were made by {found.fingerprint}, not by {used.fingerprint}"
        return Check(name=name, state=State.PROBLEM, text=text, fix=index_command(index_dir))
    return Check(name=name, state=State.OK, text=found.fingerprint)


def _clock(index_dir: Path, scanned_at_ns: int, now_ns: int) -> Check:
    """Files are believed to be as they were when their stamps are older than the last scan."""
    ahead_s = (scanned_at_ns - now_ns) / 1e9
    if scanned_at_ns > now_ns + GRAIN_NS:
        text = f"the last scan was {ahead_s:,.0f} s in the future: the clock was set back"
        return Check(name="clock", state=State.PROBLEM, text=text, fix=index_command(index_dir, "--verify"))
    return Check(name="clock", state=State.OK, text="after the last scan")


def _watching(roots: Sequence[str]) -> Check:
    """Whether the kernel would tell a watcher of every folder; it looks by itself where not."""
    name = "watching"
    allowed = {limit: _number(_KERNEL / limit) for limit in ("max_user_watches", "max_user_instances")}
    if not all(allowed.values()):
        return Check(name=name, state=State.NOTICE, text="no events from this kernel: watch looks by itself")
    most = allowed["max_user_watches"]
    folders = _folders(roots, most)
    text = f"{folders:,} folders of {most:,} that may be watched"
    if folders < most:
        return Check(name=name, state=State.OK, text=text)
    fix = f"sudo sysctl fs.inotify.max_user_watches={max(2 * folders, 65_536)}"
    return Check(name=name, state=State.NOTICE, text=f"more than {text}: watch looks by itself", fix=fix)


def _number(path: Path) -> int:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return 0


def _folders(roots: Sequence[str], most: int) -> int:
    """How many folders a watcher has to listen to; no more than `most` are counted."""
    count = 0
    for root in roots:
        for _, names, _ in os.walk(root):
            names[:] = [name for name in names if name not in SKIPPED]
            count += 1
            if count >= most:
                return count
    return count
