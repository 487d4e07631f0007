"""Trust shown, given, taken back and listed: the parts of `capdisc trust`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from capdisc.context import workspace_trust
from capdisc.output import console
from capdisc.output.failures import ExitCode
from capdisc_indexer.config.configuration import find_workspace
from capdisc_indexer.config.trust import Grant, TrustRequest, escape_line
from capdisc_indexer.indexing.previous_build import load_json_object
from capdisc_indexer.model.errors import ApprovalRequiredError, CapdiscError, IndexStateError
from capdisc_indexer.model.frozen import replace
from capdisc_indexer.store import builders, durable_files, generation
from capdisc_indexer.store.state_file import list_grants, remove_grant, save_grant

if TYPE_CHECKING:
    from capdisc.context.surroundings import Runtime
    from capdisc_indexer.config.configuration import Config
    from capdisc_indexer.model.types import Generation


def trust_workspace(here: Runtime, yes: bool, json: bool) -> int:
    """Show everything that the workspace asks for, and allow it once somebody says yes. Raises
    RefusedError where nobody does.
    """
    config = here.config()
    requests = workspace_trust.requests_of(here, config)
    refused = set(workspace_trust.refused_requests(here, config))
    if not json:
        console.print_lines(_shown(here, config, requests, refused))
    is_allowed = not refused or _is_agreed(here, yes)
    if is_allowed and refused:
        grant = Grant(digest=config.digest, lines=frozenset(request.line for request in requests))
        save_grant(here.trust_dir, here.real_workspace, config.file, grant)
    if json:
        console.print_document(_document(here, config, requests, set() if is_allowed else refused))
    if not is_allowed:
        raise _not_allowed("this workspace is not trusted")
    if refused:
        console.print_notice("notice: trusted as it is now; to take it in: capdisc index")
    return ExitCode.OK


def adopt_index(here: Runtime, index_dir: Path, yes: bool, json: bool) -> int:
    """Show where an index lies, whose it is and what it was made of, and believe it once somebody
    says yes. Raises RefusedError where nobody does, IndexStateError for one that cannot be
    believed.
    """
    found = generation.load_unchecked(index_dir)
    if found is None or not found.builder_id:
        raise IndexStateError(
            f"no index is published in {index_dir}", "build one: capdisc index PATH"
        )
    facts = _facts_of(index_dir, found)
    is_known = here.builder_id(index_dir) == found.builder_id
    if not json:
        console.print_lines(f"{name:10}{escape_line(value)}" for name, value in facts.items())
    is_allowed = is_known or _is_agreed(here, yes)
    if is_allowed and not is_known:
        builders.remember_id(here.trust_dir, index_dir, found.builder_id)
    if json:
        console.print_document({**facts, "trusted": is_allowed})
    if not is_allowed:
        raise _not_allowed(f"the index in {index_dir} is not believed")
    console.print_notice(
        "notice: it is believed already"
        if is_known
        else "notice: it is believed from now on, as your own"
    )
    return ExitCode.OK


def revoke(here: Runtime, path: Path, json: bool) -> int:
    """Take back what was allowed for the index at the path or, where that is none, for its
    workspace, there or not.
    """
    place = os.path.realpath(path)
    workspaces = dict.fromkeys((place, os.path.realpath(workspace_at(here, path))))
    if builders.forget_id(here.trust_dir, path):
        taken = [place]
    else:
        taken = [workspace for workspace in workspaces if remove_grant(here.trust_dir, workspace)]
    if json:
        console.print_document({"revoked": taken})
    elif taken:
        console.print_lines(f"no longer trusted: {escape_line(text)}" for text in taken)
        console.print_notice(
            "notice: an index still holds what it took in before; to bring it up to date: capdisc index"
        )
    else:
        console.print_lines([f"nothing was trusted at {escape_line(place)}"])
    return ExitCode.OK


def list_trusted(here: Runtime, json: bool) -> int:
    """Print the workspaces and index folders that are trusted."""
    workspaces = [
        {
            "workspace": stored.workspace,
            "file": stored.file,
            "at": stored.at,
            "allows": sorted(stored.grant.lines),
            "state": _state_of(here, stored.workspace, stored.grant),
        }
        for stored in list_grants(here.trust_dir)
    ]
    indexes = [
        {"index": folder, "state": "there" if Path(folder).is_dir() else "gone"}
        for folder in builders.list_folders(here.trust_dir)
    ]
    if json:
        console.print_document({"workspaces": workspaces, "indexes": indexes})
        return ExitCode.OK
    rows = [("workspace", row["workspace"], row["state"], row["at"]) for row in workspaces]
    rows += [("index", row["index"], row["state"], "") for row in indexes]
    shown = [tuple(escape_line(str(cell)) for cell in row) for row in rows]
    console.print_lines(
        console.format_table(("what", "where", "state", "since"), shown)
        if shown
        else ["nothing is trusted"]
    )
    return ExitCode.OK


def workspace_at(here: Runtime, path: Path) -> Path:
    """The workspace that a folder, or a configuration file in it, belongs to."""
    return find_workspace(path if path.is_dir() or not path.exists() else path.parent, here.home)


def _shown(
    here: Runtime, config: Config, requests: Sequence[TrustRequest], refused: Iterable[TrustRequest]
) -> list[str]:
    """Each request on a line of its own, those that are new marked."""
    where = escape_line(config.file or str(here.workspace))
    if not requests:
        return [f"nothing to trust: {where} asks for nothing beyond its own folder"]
    waiting = set(refused)
    heading = f"{where} asks for:" if waiting else f"{where} is trusted as it is now, with:"
    return [
        heading,
        *(f"  {'+' if request in waiting else ' '} {request.line}" for request in requests),
    ]


def _document(
    here: Runtime, config: Config, requests: Sequence[TrustRequest], refused: set[TrustRequest]
) -> dict[str, Any]:
    return {
        "workspace": str(here.workspace),
        "file": config.file,
        "digest": config.digest,
        "requests": [
            {
                "setting": request.setting,
                "value": request.value,
                "place": request.place,
                "from": request.origin,
                "allowed": request not in refused,
            }
            for request in requests
        ],
        "trusted": not refused,
    }


def _facts_of(index_dir: Path, found: Generation) -> dict[str, str]:
    """What somebody has to know of an index before believing it; whatever it says of itself is on
    one line.
    """
    built = generation.generation_folder(index_dir, found.number) / "meta" / "scan.json"
    # Readers go by the record of the build, the next build by that of a later look.
    scans = (load_json_object(path) for path in (built, index_dir / "scan.json"))
    roots = dict.fromkeys(str(root) for scan in scans for root in _listed_roots(scan))
    counts = console.format_count(found.counts["capabilities"], "capability", "capabilities")
    facts = {
        "index": os.path.realpath(index_dir),
        "owner": _owner(index_dir),
        "built": f"{found.built_at}, by capdisc {found.made_by}",
        "holds": counts,
        "encoder": found.encoder or "none",
        "roots": ", ".join(roots) or "none",
    }
    if flaw := durable_files.distrust_reason(index_dir):
        facts["doubt"] = flaw
    return facts


def _listed_roots(scan: Mapping[str, Any]) -> list[Any]:
    roots = scan.get("roots")
    return roots if isinstance(roots, list) else []


def _owner(path: Path) -> str:
    import pwd

    number = path.stat().st_uid
    try:
        name = pwd.getpwuid(number).pw_name
    except KeyError:
        name = "a user without a name"
    return f"{name} (number {number}{', you' if number == os.geteuid() else ''})"


def _state_of(here: Runtime, workspace: str, grant: Grant) -> str:
    """Whether the grant still holds for what is there."""
    if not Path(workspace).is_dir():
        return "gone"
    try:
        there = replace(here, cwd=Path(workspace))
        return "trusted" if there.config().digest == grant.digest else "changed, asks again"
    except CapdiscError:
        return "cannot be read"


def _is_agreed(here: Runtime, yes: bool) -> bool:
    """Whether somebody says yes: by option, or at the terminal."""
    if yes:
        return True
    if not (here.stdin_is_terminal and here.stderr_is_terminal):
        return False
    console.print_notice("Allow this? [y/N]")
    from capdisc.commands.run import forget_typed

    forget_typed()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _not_allowed(what: str) -> ApprovalRequiredError:
    return ApprovalRequiredError(
        what, "look at what it asks for, then say yes at a terminal, or: capdisc trust --yes"
    )
