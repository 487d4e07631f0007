"""What has to be asked before a call is made, and what is remembered of the answers.

Whoever writes into an indexed folder decides what `run` starts, and whoever talks an agent round, with which
arguments. So each call is shown once as it is before it is made for the first time, whatever its manifest says of
itself; a yes holds for this content and these arguments alone. Of a tool that declares no side effects, numbers,
choices and truth values may differ, since their author wrote down what they can be; and whoever sits at the terminal
may say yes to any arguments.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from capdisc_indexer.arguments import filled
from capdisc_indexer.errors import InputError
from capdisc_indexer.frozen import frozen
from capdisc_indexer.program_text.parameters import is_closed
from capdisc_indexer.running import covered
from capdisc_indexer.running.request import READING
from capdisc_indexer.running.values import Call, HttpCall
from capdisc_indexer.store import state_file
from capdisc_indexer.types import Descriptor

# A risk above low asks each time.
_ASKED_RISKS = ("medium", "high", "critical")
# What is remembered at most; the oldest are asked for again.
_MAX_KEPT = 2_000


@frozen(kw_only=True)
class Approval:
    """What a yes to a call is remembered by: to the tool as it is now (`definition`), with these arguments (`exact`),
    with any (`any_arguments`, "" where that is not to be had)."""

    definition: str
    exact: str
    any_arguments: str = ""


def reasons(descriptor: Descriptor, call: Call, is_known: bool, has_other_arguments: bool = False) -> tuple[str, ...]:
    """Why somebody has to say yes to this call; empty when nobody has to. `has_other_arguments` says that the tool
    is known, with arguments other than these."""
    changes = descriptor.has_side_effects or (isinstance(call, HttpCall) and call.method not in READING)
    how = "with these arguments" if has_other_arguments else "before as it is now"
    found = (
        (not is_known, f"it has not been run {how}"),
        (changes, "it has side effects"),
        (descriptor.risk in _ASKED_RISKS, f"its risk is {descriptor.risk}"),
        (descriptor.confirm, "its manifest asks for confirmation"),
    )
    return tuple(reason for holds, reason in found if holds)


def fingerprint(descriptor: Descriptor, call: Call) -> str:
    """What a yes holds for: how it is run, where, by which program, with which secrets and which defaults, and the
    bytes of the files that it names (see `covered`). The arguments are not part of it: see `approval_of`."""
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
    return _digest(told)


def approval_of(descriptor: Descriptor, call: Call, arguments: Mapping[str, Any]) -> Approval:
    """What a yes to this call with these arguments, defaults filled in, is remembered by."""
    definition, whole = fingerprint(descriptor, call), filled(descriptor.schema, arguments)
    is_harmless = not reasons(descriptor, call, is_known=True)
    exact = {name: value for name, value in whole.items() if not (is_harmless and is_closed(descriptor.schema, name))}
    takes_arguments = bool(whole) or bool((descriptor.schema or {}).get("properties"))
    return Approval(
        definition=definition,
        exact=_digest("exact", definition, exact),
        any_arguments=_digest("any", definition) if is_harmless and takes_arguments else "",
    )


def pending_reasons(state_dir: Path, descriptor: Descriptor, call: Call, approval: Approval) -> tuple[str, ...]:
    """Why somebody has to say yes to this call here; empty when nobody has to. Raises InputError where what is kept
    cannot be trusted."""
    kept = _kept(state_dir)
    is_known = approval.exact in kept or (approval.any_arguments or None) in kept
    definitions = [entry.get("definition") for entry in kept.values() if isinstance(entry, Mapping)]
    return reasons(descriptor, call, is_known, has_other_arguments=approval.definition in definitions)


def is_approved(state_dir: Path, print_of: str) -> bool:
    """Whether somebody has said yes to it here. Raises InputError where what is kept cannot be trusted."""
    return print_of in _kept(state_dir)


def approve(state_dir: Path, print_of: str, identifier: str, definition: str = "") -> None:
    """Remember a yes."""
    with state_file.changing(_path(state_dir).parent):
        now = time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime())
        entry = {"id": identifier, "at": now, "definition": definition}
        kept = {**_kept(state_dir), print_of: entry}
        latest = dict(list(kept.items())[-_MAX_KEPT:])
        state_file.replace(_path(state_dir), json.dumps({"version": 1, "approved": latest}, indent=1).encode())


def _digest(*told: Any) -> str:
    return hashlib.sha256(json.dumps(told, sort_keys=True, default=str).encode()).hexdigest()


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
