"""capdisc setup: put the hook and the MCP server into a client's settings, and take them out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from capdisc.args import params
from capdisc.args.command_line import argument, option
from capdisc.commands import setup_changes
from capdisc.context import surroundings
from capdisc.output import console
from capdisc.output.command_process import YES, ExitCode, has_person, read_answer
from capdisc.setup import recorded_entries, settings_files
from capdisc.setup.client_settings import (
    CLIENTS,
    HOOK,
    MCP,
    PROJECT,
    SCOPES,
    USER,
    base_folders,
    is_present,
)
from capdisc.setup.file_changes import FileChange, plan_setup
from capdisc.setup.settings_entries import (
    ABSENT,
    BLOCK,
    MOVED,
    PRESENT,
    SettingsEntry,
    find_own_plugin,
    find_state,
    find_states,
    list_entries,
    list_hook_places,
    select_entries,
)
from capdisc_indexer import lazy_imports
from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.plugins import registry
from capdisc_indexer.text.similar_names import unknown_choice

if TYPE_CHECKING:
    from capdisc_run.setup_gateway import GatewayPlan

AGENTS_MD = "agents-md"
CLIENT_NAMES = (*CLIENTS, AGENTS_MD)
_PROJECT_CLIENTS = [name for name, client in CLIENTS.items() if client.default_scope == PROJECT]


@frozen(kw_only=True)
class SetupOptions:
    """What `capdisc setup` puts into settings or takes out of them, and how it asks."""

    hook: Annotated[bool, option(help="The hook alone.")] = False
    mcp: Annotated[bool, option(help="The MCP server alone.")] = False
    scope: Annotated[
        str | None,
        option(
            help="user: for all your projects; project: for this one."
            f"  [default: user; project for {', '.join(_PROJECT_CLIENTS)}]",
            choices=("user", "project"),
        ),
    ] = None
    gateway: Annotated[
        bool,
        option(
            help="The MCP server also stands for the other servers, after you approved their tools.",
        ),
    ] = False
    server: Annotated[
        list[str] | None,
        option(metavar="NAMES", help="With --gateway: only these servers, separated by commas."),
    ] = None
    approve: Annotated[
        list[str] | None,
        option(
            metavar="NAME",
            help="With --gateway: approve this tool, SERVER.TOOL or 'SERVER.*' (repeatable).",
        ),
    ] = None
    move: Annotated[
        bool,
        option(
            help="With --gateway: move the client's other servers behind it, without a question.",
        ),
    ] = False
    allow_run: Annotated[
        bool, option(help="The MCP server also makes calls that you agreed to.")
    ] = False
    tools: Annotated[
        list[str] | None,
        option(metavar="NAMES", help="The MCP server offers these tools, as in capdisc mcp."),
    ] = None
    undo: Annotated[bool, option(help="Take out what setup put in, and nothing else.")] = False
    every: Annotated[bool, option("--all", help="With --undo: of every client and file.")] = False
    yes: Annotated[bool, option("--yes", "-y", help="Write without a question.")] = False
    json: params.Json = False


def setup(
    clients: Annotated[
        list[str] | None,
        argument(
            metavar="[CLIENT]...",
            help=f"{', '.join(CLIENT_NAMES)}; after {AGENTS_MD} the file with the block [AGENTS.md].",
        ),
    ] = None,
    options: SetupOptions = SetupOptions(),
) -> int:
    """Put the hook and the MCP server of capdisc into the settings of a client.

    Shows the change of each file, and writes it once you say yes. --undo takes out what was put
    in: a file that nobody edited since is then what it was, byte for byte. A file with comments in
    its JSON is left alone, and what to paste is printed. Without a client: which ones are here,
    and what each has. Exit status 1: something is left to do by hand; 5: nobody said yes.

    --gateway asks the other MCP servers for their tools, and you which of those that are not
    declared as read-only agents may call. As long as the client starts these servers, too, it
    lists their tools a second time: setup offers to move their entries to capdisc's own file.
    --undo takes back all of it.

    Example: capdisc setup
    """
    runtime, undo = surroundings.current_runtime(), options.undo
    server_words = _server_words(options)
    names, file = _split_names(clients or ())
    _check_options(names, options)
    is_restricted = bool(options.hook or options.mcp or options.scope or server_words)
    if options.every:
        if names or is_restricted or not undo:
            raise UsageError("--all goes with --undo alone", "say: capdisc setup --undo --all")
        return _undo_all(runtime, options)
    if not names:
        if is_restricted or undo or options.yes:
            hint = "see which are here: capdisc setup"
            everything = "; for all of them: capdisc setup --undo --all" if undo else ""
            raise UsageError("name a client", hint + everything)
        return _print_clients(runtime, options.json)
    if is_restricted and AGENTS_MD in names:
        raise UsageError(f"{AGENTS_MD} has no hook, server or scope", "name a file instead")
    entries = [
        entry
        for name in names
        for entry in (
            [_agents_entry(runtime, file, undo)]
            if name == AGENTS_MD
            else _list_client_entries(runtime, name, options, server_words)
        )
    ]
    selected = select_entries(entries, options.hook, options.mcp)
    if not undo:
        selected = _leave_out_plugins(runtime, names, selected, server_words)
    servers = [entry.path for entry in selected if entry.part == MCP]
    if server_words and (undo or not servers):
        raise UsageError(
            f"{server_words[0]} is an option of the MCP server",
            "leave out --hook and --undo, or it",
        )
    if servers and not undo:
        lazy_imports.require_mcp("; or set up the hook alone: --hook")
    plan = None
    if servers and (options.gateway or undo):
        plan = _plan_approvals(runtime, servers, options)
    moves = []
    if plan and options.gateway:
        moves = _choose_moves(runtime, names[0], servers, plan, options)
    changes = (
        recorded_entries.plan_undo_of_clients(runtime, names, entries, selected)
        if undo
        else _plan_setup(runtime, [*moves, *selected])
    )
    folders = base_folders(runtime)
    request = setup_changes.SetupRequest(
        clients=names,
        absent=[
            name
            for name in names
            if name in CLIENTS and not is_present(CLIENTS[name], runtime, folders)
        ],
        undo=undo,
        yes=options.yes,
        json=options.json,
    )
    status = setup_changes.carry_out(runtime, request, changes, plan)
    for name in () if undo else names:
        places = list_hook_places(runtime, name) if name in CLIENTS else []
        if len(places) > 1:
            console.print_notice(f"notice: {describe_hooks(name, places)}")
    return status


def describe_hooks(client: str, places: Sequence[str]) -> str:
    """That the hook of the client stands in several places, and how to take one out."""
    return (
        f"the hook of {client} runs twice at each prompt, from {' and '.join(places)}; "
        f"take one out: capdisc setup {client} --hook --undo --scope project (or user)"
    )


def _split_names(words: Sequence[str]) -> tuple[list[str], Path | None]:
    """The names of clients, and the file that stands behind agents-md."""
    if words[:1] == [AGENTS_MD] and len(words) == 2:
        return [AGENTS_MD], Path(words[1])
    return list(dict.fromkeys(words)), None


def _undo_all(runtime: surroundings.Runtime, options: SetupOptions) -> int:
    """Take out what setup put into the files of every client."""
    changes, problems = recorded_entries.plan_undo_of_all(runtime)
    servers = [
        change.path for change in changes if any(entry.part == MCP for entry in change.entries)
    ]
    request = setup_changes.SetupRequest(
        clients=sorted({entry.client for change in changes for entry in change.entries}),
        undo=True,
        yes=options.yes,
        json=options.json,
        left_out=[f"{problem.message} ({problem.hint})" for problem in problems],
    )
    plan = _plan_approvals(runtime, servers, options) if servers else None
    return setup_changes.carry_out(runtime, request, changes, plan)


def _check_options(clients: Sequence[str], options: SetupOptions) -> None:
    """Raises UsageError for options that do not go together, and for unknown names."""
    if options.approve and not options.gateway:
        raise UsageError("--approve goes with --gateway", "one tool alone: capdisc trust tool:ID")
    if options.move and not options.gateway:
        raise UsageError("--move goes with --gateway", "see: capdisc setup --help")
    for client in clients:
        if client not in CLIENT_NAMES:
            raise unknown_choice("client", client, CLIENT_NAMES)
    if options.gateway and len(clients) > 1:
        raise UsageError("--gateway is for one client", "name one after the other")
    if options.scope is not None and options.scope not in SCOPES:
        raise unknown_choice("--scope", options.scope, SCOPES)


def _server_words(options: SetupOptions) -> list[str]:
    """The words behind `capdisc mcp` in the settings. Raises UsageError for what that refuses."""
    if options.server and not options.gateway:
        raise UsageError("--server goes with --gateway", "see: capdisc setup --help")
    names = [
        name.strip() for text in options.tools or () for name in text.split(",") if name.strip()
    ]
    if names:
        from capdisc.mcp_service.tool_offer import find_run_tool, select_tools

        select_tools(names)
        may_run = options.allow_run or options.gateway
        if not may_run and (run_tool := find_run_tool(names)):
            raise UsageError(f"{run_tool} goes with --allow-run", "without it nothing is run")
    words = ["--gateway"] if options.gateway else []
    words += ["--server", ",".join(options.server)] if options.server else []
    words += ["--allow-run"] if options.allow_run else []
    return words + (["--tools", ",".join(names)] if names else [])


def _list_client_entries(
    runtime: surroundings.Runtime, client: str, options: SetupOptions, server_words: list[str]
) -> list[SettingsEntry]:
    if entries := list_entries(runtime, client, options.scope, options.undo, server_words):
        return entries
    raise UsageError(f"{client} has no settings of a project", "leave out --scope")


def _leave_out_plugins(
    runtime: surroundings.Runtime,
    clients: Sequence[str],
    entries: Sequence[SettingsEntry],
    options: Sequence[str],
) -> list[SettingsEntry]:
    """The entries without what capdisc's own plugin of a client has, which a notice names."""
    for client in clients:
        if plugin := find_own_plugin(runtime, client):
            console.print_notice(
                f"notice: {client}: its plugin {plugin} has what setup would put in"
            )
            entries = [
                entry
                for entry in entries
                if entry.client != client or (entry.part == MCP and options)
            ]
    return list(entries)


def _agents_entry(runtime: surroundings.Runtime, file: Path | None, undo: bool) -> SettingsEntry:
    path = runtime.expand(file) if file else runtime.workspace / "AGENTS.md"
    content = "" if undo else _list_capabilities(path)
    return SettingsEntry(client=AGENTS_MD, part=BLOCK, path=path, content=content)


def _list_capabilities(path: Path) -> str:
    """What `capdisc render --into FILE` writes without a query."""
    from capdisc.args.params import Filters
    from capdisc.context import open_index
    from capdisc.setup import catalogue_block

    with open_index.open_index(None) as ctx:
        block = catalogue_block.build_block(ctx, path, Filters())
    catalogue_block.print_omissions(block)
    return block.text


def _plan_setup(
    runtime: surroundings.Runtime, entries: Sequence[SettingsEntry]
) -> list[FileChange]:
    state_dir = runtime.user_state_dir()
    groups: dict[Path, list[SettingsEntry]] = {}
    for entry in entries:
        groups.setdefault(entry.path, []).append(entry)
    return [
        plan_setup(path, group, settings_files.load_record(state_dir, path))
        for path, group in groups.items()
    ]


def _plan_approvals(
    runtime: surroundings.Runtime, paths: Sequence[Path], options: SetupOptions
) -> GatewayPlan | None:
    """Which tools behind the gateway are approved, or which approvals `--undo` takes back: None of
    them where the plug-in that gave them is missing.
    """
    plan: GatewayPlan | None
    if options.undo:
        setup_gateway = registry.find_service("gateway-setup")
        plan = setup_gateway.plan_revocation(runtime, paths) if setup_gateway else None
    else:
        plan = registry.load_service("gateway-setup").plan_gateway(
            runtime, paths[0], options.server or (), options.approve or ()
        )
    return plan


def _choose_moves(
    runtime: surroundings.Runtime,
    client: str,
    paths: Sequence[Path],
    plan: GatewayPlan,
    options: SetupOptions,
) -> list[SettingsEntry]:
    """The entries that move the client's other servers behind the gateway, where that is in the
    same file, and somebody says so. Servers of a project stay with those who share it.
    """
    # One that did not list its tools may not work behind the gateway, such as after a login.
    listed = registry.load_service("gateway-setup").list_answering(runtime, plan)
    served = [server for server in listed if server.client == client and server.scope == USER]
    own_path = runtime.user_config.with_name("mcp.json")
    moves = [
        move
        for path in paths
        for move in recorded_entries.list_moves(
            client,
            path,
            [server for server in served if server.path == path.as_posix()],
            own_path,
        )
    ]
    names = [move.keys[-1] for move in moves if move.part == MOVED]
    if not names or options.move:
        return moves
    title, shown = CLIENTS[client].title, console.format_names(names)
    if not (options.yes or options.json) and has_person(runtime):
        question = f"{title} also starts {shown} itself. Move behind the gateway? [y/N]"
        return moves if read_answer(question) in YES else []
    console.print_notice(
        f"notice: {title} itself starts {shown}, too; add --move to serve them only through the "
        "gateway"
    )
    return []


# The list of clients.


def _print_clients(runtime: surroundings.Runtime, json: bool) -> int:
    folders = base_folders(runtime)
    rows, documents = [], []
    for name, client in CLIENTS.items():
        states = find_states(runtime, name)
        is_here = is_present(client, runtime, folders)
        command = _setup_command(name, states) if is_here else ""
        cells = [format_states(states.get(part)) for part in (HOOK, MCP)]
        rows.append([name, "yes" if is_here else "no", *cells, command])
        documents.append(
            {
                "client": name,
                "title": client.title,
                "here": is_here,
                **{part: states.get(part) for part in (HOOK, MCP)},
                "command": command or None,
            }
        )
    agents_path = runtime.workspace / "AGENTS.md"
    state = find_state(SettingsEntry(client=AGENTS_MD, part=BLOCK, path=agents_path, content=""))
    lines = console.format_table(["client", "here", "hook", "MCP server", "to set it up"], rows)
    lines += ["", f"AGENTS.md has the block: {state}"]
    lines += ["to put it in: capdisc setup agents-md"] if state == ABSENT else []
    block = {"path": str(agents_path), "block": state}
    console.print_answer(json, {"clients": documents, "agents_md": block}, lines)
    return ExitCode.OK


def format_states(states: dict[str, str] | None) -> str:
    """In which scopes a client has a part: `yes (user)`."""
    if states is None:
        return "-"
    shown = [f"{state} ({scope})" for scope, state in states.items() if state != ABSENT]
    return ", ".join(shown) or ABSENT


def _setup_command(client: str, states: dict[str, dict[str, str]]) -> str:
    """The command that sets up what the client does not have; "" where it has everything."""
    missing = [part for part, by_scope in states.items() if PRESENT not in by_scope.values()]
    if not missing:
        return ""
    option_names = f" --{missing[0]}" if len(missing) < len(states) else ""
    return f"capdisc setup {client}{option_names}"
