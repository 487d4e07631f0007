"""What has to be asked before a call is made, and what is remembered of the answers.

Whoever writes into an indexed folder decides what `run` starts. So each call is shown once as it is before it is made
for the first time, whatever its manifest says of itself; a yes holds for this content alone.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from pathlib import Path
from typing import Any

from capdisc_indexer.errors import InputError
from capdisc_indexer.running import covered
from capdisc_indexer.running.request import READING
from capdisc_indexer.running.values import Call, HttpCall
from capdisc_indexer.store import state_file
from capdisc_indexer.types import Descriptor

# A risk above low asks each time.
_ASKED_RISKS = ("medium", "high", "critical")
# What is remembered at most; the oldest are asked for again.
_MAX_KEPT = 2_000


def reasons(descriptor: Descriptor, call: Call, is_known: bool) -> tuple[str, ...]:
    """Why somebody has to say yes to this call; empty when nobody has to."""
    changes = descriptor.has_side_effects or (isinstance(call, HttpCall) and call.method not in READING)
    found = (
        (not is_known, "it has not been run before as it is now"),
        (changes, "it has side effects"),
        (descriptor.risk in _ASKED_RISKS, f"its risk is {descriptor.risk}"),
        (descriptor.confirm, "its manifest asks for confirmation"),
    )
    return tuple(reason for holds, reason in found if holds)


def fingerprint(descriptor: Descriptor, call: Call) -> str:
    """What a yes holds for: how it is run, where, by which program, with which secrets and which defaults, and the
    bytes of the files that it names (see `covered`). The arguments are not part of it."""
    told = {
        "id": descriptor.id,
        "path": descriptor.source.path,
        "run": descriptor.run,
        "schema": descriptor.schema,
        "cwd": None if isinstance(call, HttpCall) else os.path.realpath(call.cwd),
        "secrets": sorted(call.environment),
        "program": None if isinstance(call, HttpCall) else call.argv[0],
        "files": covered.files(descriptor, call),
        "says": [descriptor.risk, descriptor.has_side_effects, descriptor.confirm],
    }
    return hashlib.sha256(json.dumps(told, sort_keys=True, default=str).encode()).hexdigest()


def is_approved(state_dir: Path, print_of: str) -> bool:
    """Whether somebody has said yes to it here. Raises InputError where what is kept cannot be trusted."""
    return print_of in _kept(state_dir)


def approve(state_dir: Path, print_of: str, identifier: str) -> None:
    """Remember a yes."""
    with state_file.changing(_path(state_dir).parent):
        now = time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime())
        kept = {**_kept(state_dir), print_of: {"id": identifier, "at": now}}
        latest = dict(list(kept.items())[-_MAX_KEPT:])
        state_file.replace(_path(state_dir), json.dumps({"version": 1, "approved": latest}, indent=1).encode())


def _path(state_dir: Path) -> Path:
    return state_dir / "running" / "approved.json"


def _kept(state_dir: Path) -> dict[str, Any]:
    data = state_file.read(_path(state_dir))
    if data is None:
        return {}
    try:
        approved = json.loads(data)["approved"]
        return {str(key): value for key, value in approved.items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"cannot read {_path(state_dir)}", "remove it; each call will be asked about anew") from error
