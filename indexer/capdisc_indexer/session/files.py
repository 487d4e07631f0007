"""Sessions on disk: `sessions/NAME.json` in the state folder, each changed by one process at a time."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from capdisc_indexer.errors import InputError, UsageError
from capdisc_indexer.frozen import replace
from capdisc_indexer.session import form, steps
from capdisc_indexer.session.values import Session
from capdisc_indexer.store import state_file

# What every file system takes, and what agents call theirs: 5f3c-..., ses_01, 2024-05-01T10.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}")


def names(state_dir: Path) -> list[str]:
    """The sessions that there are, in order."""
    try:
        found = [path.stem for path in _folder(state_dir).iterdir() if path.suffix == ".json"]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise InputError(f"cannot read {_folder(state_dir)}: {error.strerror}", "see CAPDISC_STATE_DIR") from error
    return sorted(name for name in found if _NAME.fullmatch(name))


def exists(state_dir: Path, name: str) -> bool:
    """Whether there is a session of this name. Raises UsageError for what cannot be a name."""
    return state_file.read(_path(state_dir, name)) is not None


def load(state_dir: Path, name: str) -> Session:
    """The session. Raises UsageError naming the nearest where there is none, InputError where its file is damaged."""
    found = _read(state_dir, name)
    if found is None:
        raise _missing(state_dir, name)
    return found


def begin(state_dir: Path, name: str) -> Session:
    """A new session. Raises UsageError where the name is taken."""
    with state_file.changing(_folder(state_dir)):
        if state_file.read(_path(state_dir, name)) is not None:
            raise UsageError(f"there is a session {name} already", f"capdisc session clear {name} empties it")
        return _write(state_dir, _fresh(name))


def change(
    state_dir: Path, name: str, step: Callable[[Session], Session], *, create: bool = False, anew: bool = False
) -> Session:
    """The session after `step`, as it was written. With `create`, one that is missing is begun; with `anew`, one whose
    file is damaged is. Raises as `load`, and BusyError when another process keeps the lock."""
    path = _path(state_dir, name)
    if not create and not exists(state_dir, name):  # before anything is made for it
        raise _missing(state_dir, name)
    with state_file.changing(_folder(state_dir)):
        try:
            last = _read(state_dir, name)
        except InputError:
            if not anew or path.is_symlink():
                raise
            last = _fresh(name)
        if last is None and not create:
            raise _missing(state_dir, name)
        return _write(state_dir, step(last or _fresh(name)))


def remember(state_dir: Path, name: str, ids: Sequence[str]) -> Session:
    """The session with a new turn in which these capabilities were found; it is begun where there is none."""
    return change(state_dir, name, lambda last: steps.found(last, ids), create=True)


def remove(state_dir: Path, name: str) -> None:
    """Delete the session. Raises UsageError where there is none."""
    if not exists(state_dir, name):
        raise _missing(state_dir, name)
    with state_file.changing(_folder(state_dir)):
        _path(state_dir, name).unlink(missing_ok=True)


def _read(state_dir: Path, name: str) -> Session | None:
    data = state_file.read(_path(state_dir, name))
    if data is None:
        return None
    try:
        return form.from_bytes(data, name)
    except ValueError as error:
        why = str(error).splitlines()[0][:120]
        hint = f"mend {_path(state_dir, name)}, or empty the session: capdisc session clear {name}"
        raise InputError(f"the session {name} cannot be read: {why}", hint) from error


def _write(state_dir: Path, session: Session) -> Session:
    written = replace(session, updated=_now())
    state_file.replace(_path(state_dir, session.name), form.to_bytes(written))
    return written


def _fresh(name: str) -> Session:
    now = _now()
    return Session(name=name, created=now, updated=now)


def _folder(state_dir: Path) -> Path:
    return state_dir / "sessions"


def _path(state_dir: Path, name: str) -> Path:
    if not _NAME.fullmatch(name):
        shown = f"{name[:40]!r}"
        raise UsageError(f"{shown} cannot name a session", "use letters, digits and - _ . (96 at most), a letter first")
    return _folder(state_dir) / f"{name}.json"


def _missing(state_dir: Path, name: str) -> UsageError:
    from difflib import get_close_matches

    near = get_close_matches(name, names(state_dir), n=3, cutoff=0.5)
    hint = f"did you mean: {', '.join(near)}" if near else f"begin it: capdisc session new {name}"
    return UsageError(f"there is no session {name}", hint)


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime())
