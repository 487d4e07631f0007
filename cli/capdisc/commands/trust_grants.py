"""What `capdisc trust` shows, allows, revokes and lists for workspaces and indexes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from capdisc.context import workspace_trust
from capdisc.context.coverage import covers_usual_folders
from capdisc.context.freshness import locate_index
from capdisc.context.index_update import refresh_command
from capdisc.output import console
from capdisc.output.command_process import YES, ExitCode, has_person, read_answer
from capdisc_indexer.config.trust import LINK, OWNER, Grant, TrustRequest, escape_line
from capdisc_indexer.indexing.previous_build import load_json_object
from capdisc_indexer.model.errors import ApprovalRequiredError, CapdiscError, IndexStateError
from capdisc_indexer.model.frozen import replace
from capdisc_indexer.model.json_types import JsonObject
from capdisc_indexer.platforms import resolve_path, system
from capdisc_indexer.plugins import registry
from capdisc_indexer.store import durable_files, generation
from capdisc_indexer.store.state_file import list_grants, remove_grant, save_grant

if TYPE_CHECKING:
    from capdisc.context.surroundings import Runtime
    from capdisc_indexer.config.configuration import Config
    from capdisc_indexer.model.types import Generation


def trust_workspace(runtime: Runtime, yes: bool, json: bool) -> int:
    """Show everything that the workspace asks for, and allow it once somebody says yes. Raises
    ApprovalRequiredError where nobody does.
    """
    config = runtime.config()
    requests = workspace_trust.list_requests(runtime, config, with_clients=True)
    refused = set(workspace_trust.refused_requests(runtime, config, with_clients=True))
    workspace_trust.announce_strays(config)
    if servers := registry.find_service("servers"):
        for problem in servers.select_servers(runtime, config).problems:
            console.print_notice(f"notice: {problem}")
    if not json:
        console.print_lines(_format_requests(runtime, config, requests, refused))
    is_allowed = not refused or _is_agreed(runtime, yes)
    if is_allowed and refused:
        # Links that were trusted one by one stay trusted, and folders of other users.
        stored = runtime.load_grant().lines
        lines = {line for line in stored if line.startswith((f"{LINK} ", f"{OWNER} "))}
        grant = Grant(
            digest=config.digest,
            lines=frozenset({*lines, *(request.line for request in requests)}),
        )
        save_grant(runtime.trust_dir, runtime.real_workspace, config.file, grant)
    if json:
        console.print_document(
            _workspace_document(runtime, config, requests, set() if is_allowed else refused)
        )
    if not is_allowed:
        raise _refusal("this workspace is not trusted")
    if refused:
        console.print_notice(f"notice: trusted as it is now; {_next_step(runtime, config)}")
    return ExitCode.OK


def trust_link(runtime: Runtime, path: Path, yes: bool, json: bool) -> int:
    """Show where a link leads, and allow scans to follow it there once somebody says yes. Raises
    ApprovalRequiredError where nobody does.
    """
    request = _link_request(path)
    grant = runtime.load_grant()
    is_known = request.line in grant.lines
    if not json:
        console.print_lines([f"{'' if is_known else '+ '}{request.line}"])
    is_allowed = is_known or _is_agreed(runtime, yes)
    if is_allowed and not is_known:
        config = runtime.config()
        digest = grant.digest if grant.lines else config.digest
        added = Grant(digest=digest, lines=grant.lines | {request.line})
        save_grant(runtime.trust_dir, runtime.real_workspace, config.file, added)
    if json:
        console.print_document(
            {"link": request.value, "leads_to": request.place, "trusted": is_allowed}
        )
    if not is_allowed:
        raise _refusal(f"the link {escape_line(path.as_posix())} is not trusted")
    step = _next_step(runtime, runtime.config())
    console.print_notice(f"notice: trusted while it leads there; {step}")
    return ExitCode.OK


def _next_step(runtime: Runtime, config: Config) -> str:
    """What brings the index up to date with a grant that was given or revoked."""
    if config["index_dir"]:  # it may be on a network, and the grant is newer than the settings
        return "to index it: capdisc index"
    place = locate_index(runtime, config, None)
    if config["fresh"] == "off" or not covers_usual_folders(place.index_dir):
        return f"to bring the index up to date: {refresh_command(place)}"
    return "the next search brings the index up to date"


def _link_request(path: Path) -> TrustRequest:
    """The request of a link as a scan makes it: only its last part may be a link."""
    value = (Path(resolve_path(path.parent)) / path.name).as_posix()
    return TrustRequest(setting=LINK, value=value, place=resolve_path(path))


def _revoke_link(runtime: Runtime, path: Path) -> bool:
    """Whether the link was trusted, which it is no longer."""
    grant = runtime.load_grant()
    start = f"{LINK} {escape_line(_link_request(path).value)} -> "
    kept = frozenset(line for line in grant.lines if not line.startswith(start))
    if kept == grant.lines:
        return False
    if kept:
        config = runtime.config()
        remaining = Grant(digest=grant.digest, lines=kept)
        save_grant(runtime.trust_dir, runtime.real_workspace, config.file, remaining)
    else:
        remove_grant(runtime.trust_dir, runtime.real_workspace)
    return True


def adopt_index(runtime: Runtime, index_dir: Path, yes: bool, json: bool) -> int:
    """Show where an index lies, whose it is and what it was made of, and trust it once somebody
    says yes. Raises ApprovalRequiredError where nobody does, IndexStateError where no index lies.
    """
    published = generation.load_unchecked(index_dir)
    if published is None or not published.builder_id:
        raise IndexStateError(
            f"no index is published in {index_dir}", "build one: capdisc index PATH"
        )
    description = _describe_index(index_dir, published)
    is_known = runtime.builder_id(index_dir) == published.builder_id
    if not json:
        console.print_lines(
            f"{name:10}{escape_line(value)}" for name, value in description.items()
        )
    is_allowed = is_known or _is_agreed(runtime, yes)
    if is_allowed and not is_known:
        generation.remember_builder_id(runtime.trust_dir, index_dir, published.builder_id)
    if json:
        console.print_document({**description, "trusted": is_allowed})
    if not is_allowed:
        raise _refusal(f"the index in {index_dir.as_posix()} is not trusted")
    console.print_notice(
        "notice: it is trusted already"
        if is_known
        else "notice: it is trusted from now on, as your own"
    )
    return ExitCode.OK


def revoke(runtime: Runtime, path: Path, json: bool) -> int:
    """Revoke the trust in the index at the path or, where there is no index, in its workspace;
    also where nothing is left of it on disk.
    """
    real_path = resolve_path(path)
    workspaces = dict.fromkeys((real_path, resolve_path(workspace_at(runtime, path))))
    parent = replace(runtime, cwd=workspace_at(runtime, path.parent))
    if generation.forget_builder_id(runtime.trust_dir, path):
        revoked = [real_path]
    elif _revoke_link(parent, path):
        revoked = [path.as_posix()]
    else:
        revoked = [folder for folder in workspaces if remove_grant(runtime.trust_dir, folder)]
    lines = [f"no longer trusted: {escape_line(text)}" for text in revoked]
    nothing = f"nothing was trusted at {escape_line(real_path)}"
    console.print_answer(json, {"revoked": revoked}, lines or [nothing])
    if revoked and not json:
        step = _next_step(parent, parent.config())
        console.print_notice(f"notice: an index may still hold what it indexed before; {step}")
    return ExitCode.OK


def list_trusted(runtime: Runtime, json: bool) -> int:
    """Print the trusted workspaces and index folders, and the approved tools of MCP servers."""
    workspaces = [
        {
            "workspace": stored.workspace,
            "file": stored.file,
            "at": stored.at,
            "allows": sorted(stored.grant.lines),
            "state": _grant_state(runtime, stored.workspace, stored.grant),
        }
        for stored in list_grants(runtime.trust_dir)
    ]
    indexes = [
        {"index": folder, "state": "there" if Path(folder).is_dir() else "gone"}
        for folder in generation.list_own_indexes(runtime.trust_dir)
    ]
    server_tools = registry.find_service("server-tools")
    tools = server_tools.list_approved(runtime) if server_tools else []
    rows = [("workspace", row["workspace"], row["state"], row["at"]) for row in workspaces]
    rows += [("index", row["index"], row["state"], "") for row in indexes]
    rows += [("tool", row["tool"], row["state"], row["at"]) for row in tools]
    cells = [tuple(escape_line(str(cell)) for cell in row) for row in rows]
    headings = ("what", "where", "state", "since")
    lines = console.format_table(headings, cells) if cells else ["nothing is trusted"]
    document = {"workspaces": workspaces, "indexes": indexes, "tools": tools}
    console.print_answer(json, document, lines)
    return ExitCode.OK


def workspace_at(runtime: Runtime, path: Path) -> Path:
    """The workspace that a folder, or a configuration file in it, belongs to."""
    return runtime.workspace_of(path if path.is_dir() or not path.exists() else path.parent)


def _format_requests(
    runtime: Runtime,
    config: Config,
    requests: Sequence[TrustRequest],
    refused: Iterable[TrustRequest],
) -> list[str]:
    """A heading, then each request on a line of its own; a + marks those that wait."""
    where = escape_line(config.file or str(runtime.workspace))
    if not requests:
        return [f"nothing to trust: {where} asks for nothing beyond its own folder"]
    waiting = set(refused)
    heading = f"{where} asks for:" if waiting else f"{where} is trusted as it is now, with:"
    return [
        heading,
        *(f"  {'+' if request in waiting else ' '} {request.line}" for request in requests),
    ]


def _workspace_document(
    runtime: Runtime, config: Config, requests: Sequence[TrustRequest], refused: set[TrustRequest]
) -> JsonObject:
    return {
        "workspace": runtime.workspace.as_posix(),
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


def _describe_index(index_dir: Path, published: Generation) -> dict[str, str]:
    """What a person has to know of an index before trusting it, by label."""
    build_record = generation.generation_folder(index_dir, published.number) / "meta" / "scan.json"
    # Readers go by the record of the build, the next build by that of the last scan.
    scans = (load_json_object(path) for path in (build_record, index_dir / "scan.json"))
    roots = dict.fromkeys(str(root) for scan in scans for root in _recorded_roots(scan))
    counts = console.format_count(published.counts["capabilities"], "capability", "capabilities")
    description = {
        "index": resolve_path(index_dir),
        "owner": _owner(index_dir),
        "built": f"{published.built_at}, by capdisc {published.made_by}",
        "holds": counts,
        "encoder": published.encoder or "none",
        "roots": ", ".join(roots) or "none",
    }
    if published.reranker:
        description["reranker"] = published.reranker
    if flaw := durable_files.distrust_reason(index_dir):
        description["doubt"] = flaw
    return description


def _recorded_roots(scan: Mapping[str, object]) -> list[object]:
    """The roots of a record of a scan, which may be damaged."""
    roots = scan.get("roots")
    return roots if isinstance(roots, list) else []


def _owner(path: Path) -> str:
    number = path.stat().st_uid
    try:
        name = system.user_name(number)
    except KeyError:
        name = "a user without a name"
    return f"{name} (number {number}{', you' if number == system.own_user() else ''})"


def _grant_state(runtime: Runtime, workspace: str, grant: Grant) -> str:
    """Whether the grant still holds for the workspace as it is now, in words."""
    if not Path(workspace).is_dir():
        return "gone"
    try:
        digest = replace(runtime, cwd=Path(workspace)).config().digest
        return "trusted" if digest == grant.digest else "changed, asks again"
    except CapdiscError:
        return "cannot be read"


def _is_agreed(runtime: Runtime, yes: bool) -> bool:
    """Whether somebody says yes, by option or at the terminal."""
    return yes or (has_person(runtime) and read_answer("Allow this? [y/N]") in YES)


def _refusal(message: str) -> ApprovalRequiredError:
    return ApprovalRequiredError(
        message, "review what it asks for, then say yes at a terminal, or: capdisc trust --yes"
    )
