"""capdisc config: effective settings, where each comes from, and changes of one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Annotated

from capdisc.args import names, params
from capdisc.args.command_line import argument, option
from capdisc.commands import config_file
from capdisc.context import surroundings, workspace_trust
from capdisc.context.index_scope import list_declared_sources, list_scan_roots
from capdisc.output import console, terminal
from capdisc.output.command_process import ExitCode
from capdisc.output.terminal import ColumnStyle
from capdisc_indexer.config.configuration import Config
from capdisc_indexer.config.settings import SETTINGS
from capdisc_indexer.config.trust import TRUST_HINT
from capdisc_indexer.model.errors import CapdiscError, UsageError
from capdisc_indexer.model.frozen import frozen, replace
from capdisc_indexer.model.json_types import JsonObject
from capdisc_indexer.text.similar_names import unknown_choice


def config(
    action: Annotated[
        str | None, argument(metavar="[ACTION]", help="get, set, unset, edit or path.")
    ] = None,
    name: Annotated[str | None, argument(metavar="[NAME]", help="The setting.")] = None,
    values: Annotated[
        list[str] | None,
        argument(metavar="[VALUE]...", help="Its value; several for a list."),
    ] = None,
    workspace: Annotated[
        bool,
        option(help="Change the file of this workspace instead of your own."),
    ] = False,
    json: params.Json = False,
) -> int:
    """Print every setting with its value, where the value comes from, and the folders that would
    be scanned; or change one.

    get NAME prints one value; set NAME VALUE and unset NAME change your own file, and keep its
    comments; edit opens it, path prints where it lies. A variable of the environment wins over
    your file, and the file of a workspace does, too.

    Example: capdisc config set limit 5
    """
    runtime = surroundings.current_runtime()
    if action is not None:
        request = SettingRequest(
            runtime=runtime,
            name=name or "",
            values=tuple(values or ()),
            is_workspace=workspace,
            json=json,
        )
        return _run_action(action, request)
    if workspace:
        raise UsageError("--workspace goes with set, unset, edit and path", "name one of them")
    return _print_settings(runtime, json)


@frozen(kw_only=True)
class SettingRequest:
    """What an action is asked to do: with which setting, in which of the two files."""

    runtime: surroundings.Runtime
    name: str
    values: tuple[str, ...]
    is_workspace: bool
    json: bool


def _run_action(action: str, request: SettingRequest) -> int:
    """Run one of ACTIONS. Raises UsageError for another, and for words that it does not take."""
    if action in SETTINGS:
        verb = "set" if request.name else "get"
        words = " ".join(filter(None, (action, request.name, *request.values)))
        raise UsageError(f"{action} is a setting", f"write: capdisc config {verb} {words}")
    if action not in ACTIONS:
        raise unknown_choice("action", action, ACTIONS)
    if action in ("edit", "path") and request.name:
        raise UsageError(f"{action} takes no setting", f"write: capdisc config {action}")
    if action in ("get", "unset", "set") and not request.name:
        raise UsageError(f"{action} which setting?", "capdisc config prints all of them")
    if action in ("get", "unset") and request.values:
        raise UsageError(f"{action} takes no value", f"write: capdisc config {action} NAME")
    if action == "get" and request.is_workspace:
        raise UsageError("get prints the value that counts here", "leave out --workspace")
    return ACTIONS[action](request)


def _print_value(request: SettingRequest) -> int:
    effective = request.runtime.config()
    name = config_file.require_setting(request.name)
    value = effective[name]
    texts = value if isinstance(value, list) else [_value_text(value)]
    console.print_answer(request.json, _setting_row(effective, name), texts)
    return ExitCode.OK


def _set_value(request: SettingRequest) -> int:
    name = config_file.require_setting(request.name)
    if not request.values:
        raise UsageError(
            f"there is no value for {name}", f"write: capdisc config set {name} VALUE"
        )
    value = config_file.parse_value(name, request.values)
    file = config_file.change_setting(
        request.runtime, name, value, is_workspace=request.is_workspace
    )
    return _print_change(request, file, name)


def _unset_value(request: SettingRequest) -> int:
    name = config_file.require_setting(request.name)
    file = config_file.remove_setting(request.runtime, name, is_workspace=request.is_workspace)
    return _print_change(request, file, name)


def _print_change(request: SettingRequest, file: Path, name: str) -> int:
    """Print the value that counts now, and where another place than the changed file decides."""
    effective = request.runtime.config()
    row = _setting_row(effective, name)
    line = f"{name} = {_format_value(row['value'])}  ({row['from']})"
    console.print_answer(request.json, {"file": str(file), **row}, [line])
    waiting = {request.setting for request in effective.waiting}
    if name in waiting:
        console.print_notice(f"notice: {file} asks for more than a workspace may; {TRUST_HINT}")
    elif row["from"] not in (str(file), "default"):
        console.print_notice(f"notice: {row['from']} wins over {file}")
    return ExitCode.OK


def _edit_file(request: SettingRequest) -> int:
    runtime = request.runtime
    file = config_file.find_file(runtime, request.is_workspace)
    if not (runtime.stdin_is_terminal and runtime.stdout_is_terminal):
        raise UsageError(
            "edit works on a terminal only", "capdisc config set NAME VALUE works everywhere"
        )
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(_NEW_FILE, encoding="utf-8")
    names.run_editor(runtime, str(file))
    for key in runtime.config().unknown:
        console.print_notice(f"notice: unknown setting {key}")
    return ExitCode.OK


def _print_path(request: SettingRequest) -> int:
    file = config_file.find_file(request.runtime, request.is_workspace)
    document = {"file": file.as_posix(), "exists": file.exists()}
    console.print_answer(request.json, document, [file.as_posix()])
    return ExitCode.OK


ACTIONS: Mapping[str, Callable[[SettingRequest], int]] = MappingProxyType(
    {
        "get": _print_value,
        "set": _set_value,
        "unset": _unset_value,
        "edit": _edit_file,
        "path": _print_path,
    }
)
_NEW_FILE = "# Settings of capdisc; `capdisc config` prints all of them.\n"


def _setting_row(effective: Config, name: str) -> JsonObject:
    setting = SETTINGS[name]
    return {
        "name": name,
        "value": effective[name],
        "from": effective.origins[name],
        "variable": setting.variable,
        "about": setting.about,
    }


def _print_settings(runtime: surroundings.Runtime, json: bool) -> int:
    effective = runtime.config()
    roots = [
        {"path": path.as_posix(), "from": origin, "exists": path.exists()}
        for origin, path in list_scan_roots(runtime, effective)
    ]
    settings = [_setting_row(effective, name) for name in SETTINGS]
    sources = [
        {
            "format": source.format,
            "path": source.path,
            "name": source.name,
            "options": dict(source.options),
            "from": source.origin,
        }
        for source in list_declared_sources(runtime, effective)
    ]
    for key in effective.unknown:
        console.print_notice(f"notice: unknown setting {key}")
    where = _index_location(runtime, effective)
    waiting = workspace_trust.refused_requests(runtime, effective)
    if json:
        console.print_document(
            {
                "workspace": runtime.workspace.as_posix(),
                "index_dir": where,
                "settings": settings,
                "roots": roots,
                "sources": sources,
                "waiting": [
                    {
                        "setting": request.setting,
                        "value": request.value,
                        "place": request.place,
                        "from": request.origin,
                    }
                    for request in waiting
                ],
            }
        )
        return ExitCode.OK
    _print_table(terminal.find_screen(runtime), settings)
    lines = [
        "",
        f"workspace  {runtime.workspace}",
        f"index      {where or '-'}",
        "folders, strongest first:",
        *(
            f"  {'+' if root['exists'] else '-'} {root['path']}  ({root['from']})"
            for root in roots
        ),
    ]
    if sources:
        lines += ["", "sources:"]
        lines += [
            f"  {source['format']} {source['path']}  ({source['from']})" for source in sources
        ]
    if waiting:
        lines += ["", "waiting for your trust, and left out (capdisc trust):"]
        lines += [f"  {request.line}  ({request.origin})" for request in waiting]
    console.print_lines(lines)
    return ExitCode.OK


def _print_table(screen: terminal.Screen | None, settings: list[JsonObject]) -> None:
    """Print the settings; on a terminal, those that somebody has set stand out."""
    wrapped = ColumnStyle(wrapped=True, max_width=screen.columns // 4 if screen else 0)
    columns = [
        ColumnStyle(title="setting"),
        replace(wrapped, title="value"),
        replace(wrapped, title="from"),
        ColumnStyle(title="variable", only="pipe"),
        ColumnStyle(title="about", only="pipe"),
        ColumnStyle(title="about", only="screen", wrapped=True, flexible=True),
    ]
    rows = []
    for setting in settings:
        variable, about = setting["variable"], setting["about"]
        is_default = setting["from"] == "default"
        rows.append(
            [
                (setting["name"], "" if is_default else "name"),
                (_format_value(setting["value"]), "" if is_default else "ok"),
                (setting["from"], "detail"),
                variable,
                about,
                (f"{about} ({variable})", "detail"),
            ]
        )
    terminal.print_rows(screen, columns, rows)


def _index_location(runtime: surroundings.Runtime, effective: Config) -> str:
    """Where the index lies; "" where a file of the workspace may not name it, after a notice."""
    try:
        shared = runtime.shared_index(None, effective)
        return shared.url if shared else str(runtime.index_dir(None, effective))
    except CapdiscError as error:
        console.print_notice(f"notice: {error.message}")
        console.print_notice(f"hint: {error.hint}")
        return ""


def _format_value(value: object) -> str:
    return (
        ", ".join(map(str, value)) or "-" if isinstance(value, list) else _value_text(value) or "-"
    )


def _value_text(value: object) -> str:
    """The value as `config set` takes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
