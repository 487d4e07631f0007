"""The checks of what an index depends on: its roots, the encoder, the clock, and the kernel's
limits for a watcher; and the values that all checks give.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from pathlib import Path

from capdisc_indexer import encoders
from capdisc_indexer.indexing.previous_build import load_previous_build
from capdisc_indexer.model.errors import CapdiscError
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.types import Generation
from capdisc_indexer.platforms import system
from capdisc_indexer.sources.scan.folder_tree import SKIPPED_FOLDERS
from capdisc_indexer.sources.scan.scanned_files import GRAIN_NS


class CheckState(StrEnum):
    """The result of a check. UNUSABLE: the index gives no answers, or none to be trusted."""

    OK = "ok"
    NOTICE = "notice"
    PROBLEM = "problem"
    UNUSABLE = "unusable"


OK, NOTICE, PROBLEM, UNUSABLE = CheckState


@frozen
class Check:
    """One check: its result in words, and the command that mends it (or advice, where no command
    can).
    """

    name: str
    state: CheckState
    text: str
    fix: str = ""


def worst_state(checks: Iterable[Check]) -> CheckState:
    """The worst state of all checks; OK without checks."""
    severity = list(CheckState)
    return max((check.state for check in checks), key=severity.index, default=OK)


def quote_path(path: Path) -> str:
    """The path as a word of a shell."""
    return system.quote_word(path.as_posix())


def index_command(index_dir: Path, *options: str) -> str:
    """The command that brings the index up to date with what it covers."""
    words = [*options, f"--index-dir {quote_path(index_dir)}"]
    return f"capdisc index {' '.join(words)}"


_INOTIFY_FOLDER = Path(system.WATCH_LIMITS)


def examine_surroundings(
    index_dir: Path, manifest: Generation, deep: bool, now_ns: int
) -> Iterator[Check]:
    """All checks of what the index depends on."""
    previous = load_previous_build(index_dir)
    yield _examine_roots(index_dir, previous.roots)
    yield examine_encoder(index_dir, manifest, deep)
    if manifest.reranker:
        yield _examine_reranker(index_dir, manifest, deep)
    yield _examine_clock(index_dir, previous.scanned_at_ns, now_ns)
    yield _examine_watch_limits(previous.roots)


def _examine_roots(index_dir: Path, roots: Sequence[str]) -> Check:
    name = "roots"
    unreadable = [root for root in roots if not os.access(root, os.R_OK)]
    if not unreadable:
        return Check(name, OK, ", ".join(roots) or "none")
    text = f"cannot be read: {', '.join(unreadable)}"
    fix = f"capdisc index PATH --index-dir {quote_path(index_dir)}"
    if len(unreadable) < len(roots):
        fix = index_command(index_dir)
    return Check(name, PROBLEM, text, fix)


def examine_encoder(index_dir: Path, manifest: Generation, deep: bool) -> Check:
    """Whether the encoder of the vectors can be used. The shipped one is always checked, since
    spelling uses it; any other one takes seconds to load, and is checked only if `deep`.
    """
    name = "encoder"
    encoder = None
    try:
        encoders.load_shipped_encoder().check()
        if deep or manifest.encoder == encoders.SHIPPED_ENCODER:
            encoder = encoders.load_encoder(manifest.encoder)
            encoder.check()
    except CapdiscError as error:
        return Check(name, PROBLEM, error.message, error.hint)
    if not manifest.fingerprint:
        fix = index_command(index_dir, "--encoder static")
        return Check(name, NOTICE, "none: search uses words alone", fix)
    if encoder and encoder.fingerprint != manifest.fingerprint:
        text = f"the vectors were made by {manifest.fingerprint}, not by {encoder.fingerprint}"
        return Check(name, PROBLEM, text, index_command(index_dir))
    text = manifest.fingerprint
    if not encoders.is_static(manifest.encoder):
        text = f"{manifest.encoder}; it takes seconds to load, so that capdisc hook goes by words alone"
    return Check(name, OK, text)


def _examine_reranker(index_dir: Path, manifest: Generation, deep: bool) -> Check:
    """Whether hits can be reordered by what the index names; the encoder is loaded only if `deep`,
    or where it has made no vectors.
    """
    name, text, fix = "reranker", manifest.reranker, index_command(index_dir, "--rebuild")
    if deep or not manifest.reranker_fingerprint:
        encoder, problem = encoders.try_load_encoder(manifest.reranker)
        if encoder is None:
            reason, _, fix = problem.rpartition("; ")
            text = f"hits are not reranked: {reason}"
            return Check(name, NOTICE, text, fix)
        if encoder.fingerprint != manifest.reranker_fingerprint:
            text = f"{text} has made no vectors yet"
            return Check(name, NOTICE, text, fix)
    return Check(name, OK, text)


def _examine_clock(index_dir: Path, scanned_at_ns: int, now_ns: int) -> Check:
    """Whether the last scan lies in the past: a build skips files with stamps older than that
    scan.
    """
    ahead_s = (scanned_at_ns - now_ns) / 1e9
    if scanned_at_ns > now_ns + GRAIN_NS:
        text = f"the last scan was {ahead_s:,.0f} s in the future: the clock was set back"
        return Check("clock", PROBLEM, text, index_command(index_dir, "--verify"))
    return Check("clock", OK, "after the last scan")


def _examine_watch_limits(roots: Sequence[str]) -> Check:
    """Whether the kernel would report events of every folder; where not, a watcher polls."""
    name = "watching"
    if not system.WATCH_LIMITS:
        return Check(name, OK, "the system sets no limit to watching")
    limits = {
        limit: _read_number(_INOTIFY_FOLDER / limit)
        for limit in ("max_user_watches", "max_user_instances")
    }
    if not all(limits.values()):
        return Check(name, NOTICE, "the kernel gives no events: watch polls instead")
    max_watches = limits["max_user_watches"]
    folders = _count_folders(roots, max_watches)
    text = f"{folders:,} folders of {max_watches:,} that may be watched"
    if folders < max_watches:
        return Check(name, OK, text)
    text = f"more than the {max_watches:,} folders that may be watched: watch polls instead"
    fix = f"sudo sysctl fs.inotify.max_user_watches={max(2 * folders, 65_536)}"
    return Check(name, NOTICE, text, fix)


def _read_number(path: Path) -> int:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return 0


def _count_folders(roots: Sequence[str], max_count: int) -> int:
    """The number of folders that a watcher must watch; stops counting at `max_count`."""
    count = 0
    for root in roots:
        for _, names, _ in os.walk(root):
            names[:] = [name for name in names if name not in SKIPPED_FOLDERS]
            count += 1
            if count >= max_count:
                return count
    return count
