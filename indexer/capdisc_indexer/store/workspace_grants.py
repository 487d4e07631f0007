"""What this user has allowed which workspace, kept in a file of its own for each of them.

A grant belongs to a workspace's real path and to the bytes of its file: see
`capdisc_indexer.config.trust`.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from capdisc_indexer.config.trust import Grant
from capdisc_indexer.model.errors import InputError
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.store import state_file

_FOLDER = "workspaces"


@frozen(kw_only=True)
class StoredGrant:
    """A grant as it is kept: whose it is, the file that it is for (empty: none), and when it was
    given.
    """

    workspace: str
    file: str
    at: str
    grant: Grant


def load_grant(trust_dir: Path, workspace: str) -> Grant:
    """What the user allowed the workspace with this real path; a grant of nothing where nothing is
    kept that can be read and that nobody else can have written. Giving a new one says what stands
    in the way.
    """
    path = _path(trust_dir, workspace)
    try:
        stored = _parsed(path, state_file.read_state_file(path))
    except InputError:
        return Grant()
    return stored.grant if stored.workspace == workspace else Grant()


def save_grant(trust_dir: Path, workspace: str, file: str, grant: Grant) -> None:
    """Keep a grant, in place of the workspace's last one. Raises InputError where it cannot be
    written.
    """
    record = {
        "version": 1,
        "workspace": workspace,
        "file": file,
        "digest": grant.digest,
        "allows": sorted(grant.lines),
        "at": time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime()),
    }
    path = _path(trust_dir, workspace)
    with state_file.lock_folder(path.parent):
        state_file.replace_state_file(path, json.dumps(record, indent=1).encode())


def remove_grant(trust_dir: Path, workspace: str) -> bool:
    """Take the workspace's grant back; False where it had none. Raises InputError where it cannot
    be removed.
    """
    path = _path(trust_dir, workspace)
    if state_file.read_state_file(path) is None:
        return False
    with state_file.lock_folder(path.parent):
        state_file.remove(path)
    return True


def list_grants(trust_dir: Path) -> Iterator[StoredGrant]:
    """Every grant that can be read, in the order of the workspaces' paths."""
    paths = (trust_dir / _FOLDER).glob("*.json")
    stored: list[StoredGrant] = []
    for path in paths:
        with suppress(InputError):
            stored.append(_parsed(path, state_file.read_state_file(path)))
    yield from sorted(stored, key=lambda grant: grant.workspace)


def _path(trust_dir: Path, workspace: str) -> Path:
    digits = hashlib.sha256(workspace.encode("utf-8", "surrogateescape")).hexdigest()[:32]
    return trust_dir / _FOLDER / f"{digits}.json"


def _parsed(path: Path, data: bytes | None) -> StoredGrant:
    try:
        record: dict[str, Any] = json.loads(data or b"")
        return StoredGrant(
            workspace=str(record["workspace"]),
            file=str(record["file"]),
            at=str(record["at"]),
            grant=Grant(digest=str(record["digest"]), lines=frozenset(map(str, record["allows"]))),
        )
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(f"cannot read {path}", "remove it; capdisc trust asks anew") from error
