"""capdisc trust: what a workspace's file, an index from elsewhere or a changed definition may do
here.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Annotated

from capdisc.args import params
from capdisc.args.params import argument, option
from capdisc.commands import trust_grants
from capdisc.context import surroundings
from capdisc_indexer.config.configuration import MARKS, WORKSPACE_FILES
from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.model.frozen import replace

# `skill:merge-pdfs`, `table:chinook.tracks`; a path that exists is taken for a path.
_CAPABILITY_ID = re.compile(r"[a-z][a-z0-9_-]*:\S+")
_WHAT = "name a workspace, its configuration file, or an index folder"


def trust(
    target: Annotated[
        str | None,
        argument(
            metavar="[PATH|ID]",
            help="A workspace, its configuration file, or an index folder [here].",
        ),
    ] = None,
    yes: Annotated[bool, option("--yes", "-y", help="Allow it without being asked.")] = False,
    listing: Annotated[bool, option("--list", help="List what is trusted.")] = False,
    revoke: Annotated[bool, option("--revoke", help="Take the trust back.")] = False,
    json: params.Json = False,
) -> int:
    """Show what a workspace asks for beyond its own folder, line by line, and allow it.

    A cloned folder's configuration may choose what lies inside it. Paths, links, an index or a
    model elsewhere, databases, servers, and silencing rules that guard the reader wait for this.
    It holds for the file as it is now: a changed file asks again. Of an index folder: shows whose
    it is, and believes it as your own. Exit status 5: nobody said yes.

    Example: capdisc trust --list
    """
    here = surroundings.current_runtime()
    if listing:
        if target is not None or revoke or yes:
            raise UsageError("--list goes with --json alone", "see: capdisc trust --help")
        return trust_grants.list_trusted(here, json)
    path = here.expand(Path(target)) if target else here.cwd
    if revoke:
        if yes:
            raise UsageError("--revoke needs no --yes", "leave it out")
        return trust_grants.revoke(here, path, json)
    if target is not None and not os.path.lexists(path):
        return _trust_definition(here, target, yes, json)
    if target is not None and _is_index(path):
        return trust_grants.adopt_index(here, path, yes, json)
    if not path.is_dir() and path.name not in {Path(name).name for name in WORKSPACE_FILES}:
        raise UsageError(f"{target} is nothing that is trusted", _WHAT)
    return trust_grants.trust_workspace(_standing_in(here, path), yes, json)


def _is_index(path: Path) -> bool:
    """Whether the folder is an index and no workspace: a clone can have a file of any name."""
    is_workspace = any((path / mark).exists() for mark in MARKS)
    return (path / "CURRENT").is_file() and (path / "gens").is_dir() and not is_workspace


def _standing_in(here: surroundings.Runtime, path: Path) -> surroundings.Runtime:
    """The surroundings as they are for somebody who stands in the workspace of this path."""
    workspace = trust_grants.workspace_at(here, path)
    return here if workspace == here.workspace else replace(here, cwd=workspace)


def _trust_definition(here: surroundings.Runtime, identifier: str, yes: bool, json: bool) -> int:
    """Accept the changed definition of the capability with this id, or of those whose ids fit this
    pattern. Raises UsageError where none is held back.
    """
    if not _CAPABILITY_ID.fullmatch(identifier):
        raise UsageError(f"there is no {identifier}", _WHAT)
    from capdisc.commands.definition_approval import approve_definitions

    return approve_definitions(here, identifier, yes, json)
