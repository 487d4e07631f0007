"""capdisc doctor: what clients have of capdisc, what is wrong with the index, and the fixes."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated

from capdisc.args import params
from capdisc.args.command_line import option
from capdisc.commands.setup import describe_hooks, format_states
from capdisc.context import background_process, surroundings, workspace_trust
from capdisc.context.coverage import find_default_roots, load_coverage
from capdisc.context.freshness import (
    IndexPlace,
    describe_look,
    format_age,
    format_elapsed,
    locate_index,
    look_around,
)
from capdisc.context.index_update import (
    describe_coverage,
    describe_missing,
    forget_command,
    refresh_command,
)
from capdisc.hook import guard
from capdisc.hook.client_session import ClientSession, find_last_prompts
from capdisc.hook.clients import CLIENTS
from capdisc.output import command_process, console, terminal
from capdisc.output.command_process import ExitCode
from capdisc.output.terminal import ColumnStyle
from capdisc.setup import settings_files
from capdisc.setup.client_settings import CLIENTS as SETUP_CLIENTS
from capdisc.setup.client_settings import HOOK, MCP, PROJECT, Client, base_folders, is_present
from capdisc.setup.settings_entries import (
    ABSENT,
    OUTDATED,
    PRESENT,
    UNREADABLE,
    find_states,
    list_hook_places,
)
from capdisc_indexer.config.client_table import find_table_problems
from capdisc_indexer.config.configuration import Config
from capdisc_indexer.diagnosis import (
    Check,
    CheckState,
    examine_index,
    worst_state,
)
from capdisc_indexer.diagnosis.surroundings import quote_path
from capdisc_indexer.model.errors import IndexStateError, InputError
from capdisc_indexer.model.frozen import replace
from capdisc_indexer.plugins import registry
from capdisc_indexer.plugins.entry_points import read_environment
from capdisc_indexer.plugins.registry import find_store
from capdisc_indexer.store.generation import load_unchecked
from capdisc_indexer.text.normalization import one_line

# A hook's error is shown for so long, unless newer ones follow.
_HOOK_ERRORS_S = 7 * 24 * 3600
_PART_TITLES = {HOOK: "hook", MCP: "MCP server"}
_EXIT_CODES = {CheckState.PROBLEM: ExitCode.FINDINGS, CheckState.UNUSABLE: ExitCode.INDEX}


def doctor(
    index_dir: params.IndexDir = None,
    deep: Annotated[bool, option(help="Read every byte and every row: a second or more.")] = False,
    every: Annotated[
        bool, option("--all", help="List the checks of the index one by one, as --deep does.")
    ] = False,
    json: params.Json = False,
) -> int:
    """Print what each client has of capdisc and when it last asked, what is wrong with the index
    and its surroundings, and for each problem the command that mends it.

    It writes nothing. Exit status 4: the index cannot be used; 1: it can, but something is wrong;
    0: nothing is wrong, though there may be notices.

    Example: capdisc doctor --deep
    """
    runtime = surroundings.current_runtime()
    config = runtime.config()
    shared = runtime.shared_index(index_dir, config)
    place = locate_index(runtime, config, index_dir)
    where = place.index_dir
    with command_process.silence_native_stderr():
        index_checks = (
            find_store(shared.url).examine_shared_index(shared, deep)
            if shared
            else examine_index(where, deep, time.time_ns(), runtime.builder_id(where))
        )
        checks = [
            *_check_clients(runtime),
            _check_hook(runtime),
            *(() if shared else (_check_coverage(place), *_check_freshness(place))),
            *_check_servers(runtime),
            _check_trust(runtime, config),
            *_check_settings(config),
        ]
        internals = [*index_checks, _check_plugins()]
    checks += internals
    # The index of the home folder may stand in for that of a workspace with nothing of its own.
    if not place.config["index_dir"] and where == place.runtime.index_dir(None, place.config):
        checks = [replace(check, fix=_drop_option(check.fix, where)) for check in checks]
    if not (every or deep or json):
        checks = _fold_checks(checks, len(internals))
    if json:
        console.print_document(
            {
                "index_dir": shared.url if shared else str(where),
                "state": worst_state(checks),
                "checks": checks,
            }
        )
    else:
        _print_checks(terminal.find_screen(runtime), checks)
    return _EXIT_CODES.get(worst_state(checks), ExitCode.OK)


def _pass(name: str, text: str) -> Check:
    return Check(name=name, state=CheckState.OK, text=text)


def _notice(name: str, text: str, fix: str) -> Check:
    return Check(name=name, state=CheckState.NOTICE, text=text, fix=fix)


def _fold_checks(checks: list[Check], count: int) -> list[Check]:
    """The checks with one in place of those of the last `count` in which nothing is wrong."""
    shown = checks[:-count]
    wrong = [check for check in checks[-count:] if check.state is not CheckState.OK]
    passed = console.format_count(count - len(wrong), "check")
    text = f"{passed} passed; one by one: capdisc doctor --all"
    return [*shown, *wrong, _pass("index", text)]


def _check_clients(runtime: surroundings.Runtime) -> list[Check]:
    """What each client that is here has of capdisc, and what its last prompt got."""
    folders, prompts = base_folders(runtime), find_last_prompts(runtime.user_state_dir())
    checks: list[Check] = []
    missing: list[str] = []
    for name, client in SETUP_CLIENTS.items():
        states = find_states(runtime, name)
        all_states = {state for by_scope in states.values() for state in by_scope.values()}
        # What a client that is not here finds in a file of another one says nothing.
        if PRESENT not in all_states and not is_present(client, runtime, folders):
            continue
        if all_states == {ABSENT}:
            missing.append(name)
        text = ", ".join(f"{_PART_TITLES[part]} {format_states(states[part])}" for part in states)
        fix = ""
        if HOOK in states and (all_states != {ABSENT} or name in prompts):
            text += f"; {_describe_last_prompt(prompts.get(name))}"
        if len(places := list_hook_places(runtime, name)) > 1:
            fix = describe_hooks(name, places)
        elif all_states & {OUTDATED, UNREADABLE}:
            fix = f"capdisc setup {name}{_name_scope(client, states)}"
        checks.append(_notice(name, text, fix) if fix else _pass(name, text))
    if not checks:
        return [_pass("clients", "none that capdisc knows is here")]
    if len(missing) == len(checks):
        checks[0] = _notice(checks[0].name, checks[0].text, f"capdisc setup {missing[0]}")
    return checks


def _name_scope(client: Client, states: Mapping[str, Mapping[str, str]]) -> str:
    """The option that names the project's files where only these are not as they should be."""
    wrong = {
        scope
        for by_scope in states.values()
        for scope, state in by_scope.items()
        if state in (OUTDATED, UNREADABLE)
    }
    is_named = wrong == {PROJECT} and client.default_scope != PROJECT
    return f" --scope {PROJECT}" if is_named else ""


def _describe_last_prompt(prompt: tuple[float, ClientSession] | None) -> str:
    if prompt is None:
        return "no prompt yet"
    moment, session = prompt
    ids = [name for name, line in session.printed.items() if line.turn == session.turns]
    answer = session.reason or "nothing fits"
    if ids and not session.reason:
        answer = console.format_names(ids)
    at = time.strftime(background_process.TIME_FORMAT, time.gmtime(moment))
    verb = "silent" if session.reason or not ids else "suggested"
    return f"last prompt {format_elapsed(at, time.time())}: {verb}: {answer}"


def _check_servers(runtime: surroundings.Runtime) -> Iterator[Check]:
    """Which MCP servers of clients were never asked for their tools."""
    servers = registry.find_service("servers")
    if servers and (names := servers.list_unasked_servers(runtime)):
        text = f"never asked for their tools: {console.format_names(names)}"
        text += "; to search these, too: capdisc index --ask-servers"
        yield _pass("servers", text)


def _drop_option(command: str, index_dir: Path) -> str:
    """The command without the option for this folder, which it uses anyway."""
    return command.replace(f" --index-dir {quote_path(index_dir)}", "")


def _check_coverage(place: IndexPlace) -> Check:
    """Whether the index covers the usual folders, and whether all that it covers is there."""
    runtime, config, where = place.runtime, place.config, place.index_dir
    coverage = load_coverage(runtime, config, where, runtime.builder_id(where))
    text, name = describe_coverage(place, coverage), "covers"
    missing = look_around(place).missing
    if missing:
        text = f"{text}; {describe_missing(place, missing)}"
        fix = f"put it back, or drop them: {forget_command(missing)}"
        return _notice(name, text, fix)
    if not coverage.is_conventional and find_default_roots(runtime, config):
        text = f"{text}; not the usual folders, which are here"
        return _notice(name, text, "capdisc index")
    return _pass(name, text)


def _check_freshness(place: IndexPlace) -> Iterator[Check]:
    """Whether files changed since the index was built, and how long ago that was."""
    try:
        manifest = load_unchecked(place.index_dir)
    except IndexStateError:
        return
    if manifest is None:
        return
    look, state_dir = look_around(place), place.runtime.user_state_dir()
    changed = tuple(
        path for path in look.changed if not settings_files.is_as_left(state_dir, path)
    )
    age = format_age(manifest.built_at, time.time())
    freshness = describe_look(replace(look, changed=changed))
    if freshness.state != "behind":
        unknown = "" if freshness.state == "current" else f", {freshness.reason}"
        yield _pass("newer", f"nothing on disk; {age}{unknown}")
        return
    count = console.format_count(freshness.changed_count, "file or folder", "files or folders")
    names = console.format_names(freshness.changed, 3)
    yield _notice(
        "newer",
        f"{count} changed on disk ({names}); {age}",
        f"{refresh_command(place)}; a search picks up a few by itself",
    )


def _check_settings(config: Config) -> Iterator[Check]:
    """Settings that no command reads, which only a build names otherwise."""
    if config.unknown:
        yield _notice(
            "settings",
            f"unknown: {'; '.join(one_line(key, 300) for key in config.unknown[:3])}",
            "capdisc config",
        )


def _check_trust(runtime: surroundings.Runtime, config: Config) -> Check:
    """Whether the workspace asks for something that its user has not allowed."""
    lines = workspace_trust.index_requests(runtime, config)
    if not lines:
        return _pass("trust", "nothing here waits for your yes")
    return _notice(
        "trust",
        f"left out: {workspace_trust.format_lines(lines)}",
        "capdisc trust",
    )


def _check_hook(runtime: surroundings.Runtime) -> Check:
    """What went wrong of late in the hooks of clients, which say nothing themselves."""
    try:
        failures = background_process.read_failures(runtime.user_state_dir())
    except InputError as error:
        return _notice("hook", error.message, error.hint)
    now_s = time.time()
    oldest, newest_time = (
        time.strftime(background_process.TIME_FORMAT, time.gmtime(moment_s))
        for moment_s in (now_s - _HOOK_ERRORS_S, now_s)
    )
    recent = [failure for failure in failures if oldest <= str(failure["at"]) <= newest_time]
    if not recent:
        return _pass("hook", "no error in the last seven days")
    newest = recent[-1]
    client = newest["client"] if newest["client"] in CLIENTS else ""
    age = format_elapsed(str(newest["at"]), now_s)
    is_of_build = str(newest["error"]).startswith(background_process.FAILURE)
    origin = client or ("in the background" if is_of_build else "client not named")
    text = f"{origin}, {age}: {newest['error']}"
    if len(recent) > 1:
        text += f" ({console.format_count(len(recent), 'error')} in seven days)"
    fix = "capdisc hook --help"
    if is_of_build:
        fix = "capdisc index, which has no limits of memory and time"
    elif client and guard.LATE in str(newest["error"]):
        fix = f"give it longer in the settings of the client: capdisc hook {client} --deadline 2s"
        if guard.WAITED not in str(newest["error"]):
            fix += "; or index less: see roots and folders in capdisc config"
    elif client:
        fix = f"""echo '{{"prompt": "merge two PDF files"}}' | capdisc hook {client} --explain"""
    return _notice("hook", text, fix)


def _check_plugins() -> Check:
    """Which plug-ins other distributions add, and what cannot be loaded of any plug-in."""
    wrong = [
        *registry.find_problems(),
        *registry.find_broken_references(),
        *find_table_problems(),
    ]
    if wrong:
        fix = "update, install or uninstall the distribution that is named"
        text = "; ".join(one_line(problem, 300) for problem in wrong)
        return _notice("plugins", text, fix)
    added = [f"{source.name} of {source.distribution}" for source in registry.load_added_plugins()]
    added += [
        f"the clients {', '.join(table.clients)} of {table.distribution}"
        for table in read_environment().clients
    ]
    return _pass("plugins", ", ".join(added) or "those of capdisc")


_STATE_STYLES = {
    CheckState.OK: "ok",
    CheckState.NOTICE: "notice",
    CheckState.PROBLEM: "warning",
    CheckState.UNUSABLE: "error",
}


def _print_checks(screen: terminal.Screen | None, checks: list[Check]) -> None:
    """Print a table of the checks, then a table of the commands that mend what is wrong."""
    name, state = ColumnStyle(title="check"), ColumnStyle(title="state")
    wide = ColumnStyle(wrapped=True, flexible=True)
    rows = [
        (check.name, (check.state, _STATE_STYLES[check.state]), check.text) for check in checks
    ]
    terminal.print_rows(screen, (name, state, replace(wide, title="what")), rows)
    if fixes := [((check.name, "warning"), check.fix) for check in checks if check.fix]:
        console.print_result("\n")
        terminal.print_rows(screen, (name, replace(wide, title="fix")), fixes)
