"""capdisc trust: what a workspace's file, an index from elsewhere or a changed definition may do here."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

from capdisc import options, runtime
from capdisc.declaring import argument, option
from capdisc_indexer.errors import UsageError

# `skill:merge-pdfs`, `table:chinook.tracks`; no path of a file looks so unless it exists.
_CAPABILITY_ID = re.compile(r"[a-z][a-z0-9_-]*:\S+")


def trust(
    target: Annotated[
        str | None,
        argument(metavar="[PATH|ID]", help="A workspace, its file, or an index folder [the workspace here]."),
    ] = None,
    yes: Annotated[bool, option("--yes", "-y", help="Allow it without being asked.")] = False,
    listing: Annotated[bool, option("--list", help="List what is trusted.")] = False,
    revoke: Annotated[bool, option("--revoke", help="Take the trust back.")] = False,
    json: options.Json = False,
) -> int:
    """Show what a workspace's file asks for beyond its own folder, and allow it.

    Example: capdisc trust --list
    """
    here = runtime.current()
    if target is not None and not here.expand(Path(target)).exists():
        if _CAPABILITY_ID.fullmatch(target):
            return approve_capability(here, target, yes, json)
        raise UsageError(f"there is no {target}", "name a workspace, its file, or an index folder")
    raise UsageError("nothing can be trusted yet", "see: capdisc trust --help")


def approve_capability(here: runtime.Runtime, identifier: str, yes: bool, json: bool) -> int:
    """Accept the changed definition of a capability that is held back."""
    from capdisc.definition_approval import approve_definitions

    return approve_definitions(here, identifier, yes, json)
