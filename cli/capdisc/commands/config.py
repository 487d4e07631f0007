"""capdisc config: effective settings and where each comes from."""

from __future__ import annotations

from capdisc.args import params
from capdisc.context import surroundings, workspace_trust
from capdisc.output import console, terminal
from capdisc.output.failures import ExitCode
from capdisc_indexer.config.configuration import Config
from capdisc_indexer.config.settings import SETTINGS
from capdisc_indexer.model.errors import CapdiscError
from capdisc_indexer.model.frozen import replace
from capdisc_indexer.model.types import DeclaredSource


def config(json: params.Json = False) -> int:
    """Print every setting with its value, where the value comes from, and the folders that would
    be scanned.

    Example: capdisc config
    """
    runtime = surroundings.current_runtime()
    effective = runtime.config()
    roots = [
        {"path": str(path), "from": origin, "exists": path.exists()}
        for origin, path in runtime.roots(effective)
    ]
    settings = [
        {
            "name": name,
            "value": effective[name],
            "from": effective.origins[name],
            "variable": setting.variable,
            "about": setting.about,
        }
        for name, setting in SETTINGS.items()
    ]
    sources = [_source_row(source) for source in runtime.sources(effective)]
    for key in effective.unknown:
        console.print_notice(f"notice: unknown setting {key}")
    where = _index_location(runtime, effective)
    waiting = workspace_trust.refused_requests(runtime, effective)
    if json:
        console.print_document(
            {
                "workspace": str(runtime.workspace),
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
    rows = [
        (setting["name"], _format_value(setting["value"]), setting["from"], setting["about"])
        for setting in settings
    ]
    if screen := terminal.find_screen(runtime):
        _draw_settings(screen, rows)
    else:
        console.print_lines(console.format_table(_TITLES, rows))
    console.print_lines(
        [
            "",
            f"workspace  {runtime.workspace}",
            f"index      {where or '-'}",
            "folders, strongest first:",
        ]
    )
    console.print_lines(
        f"  {'+' if root['exists'] else '-'} {root['path']}  ({root['from']})" for root in roots
    )
    if sources:
        console.print_lines(["", "sources:"])
    console.print_lines(
        f"  {source['format']} {source['path']}  ({source['from']})" for source in sources
    )
    if waiting:
        console.print_lines(["", "waiting for your trust, and left out (capdisc trust):"])
    console.print_lines(f"  {request.line}  ({request.origin})" for request in waiting)
    return ExitCode.OK


_TITLES = ("setting", "value", "from", "about")


def _draw_settings(screen: terminal.Screen, rows: list[tuple[str, str, str, str]]) -> None:
    """Draw the table of settings; those that somebody has set stand out."""
    wrapped = terminal.ColumnStyle(wrapped=True, max_width=screen.columns // 4)
    columns = [
        terminal.ColumnStyle(title=_TITLES[0]),
        replace(wrapped, title=_TITLES[1]),
        replace(wrapped, title=_TITLES[2]),
        terminal.ColumnStyle(title=_TITLES[3], wrapped=True, flexible=True),
    ]
    drawn_rows = []
    for name, value, origin, about in rows:
        name_style, value_style = ("", "") if origin == "default" else ("name", "ok")
        drawn_rows.append(
            [(name, name_style), (value, value_style), (origin, "detail"), (about, "detail")]
        )
    terminal.print_table(screen, columns, drawn_rows)


def _index_location(runtime: surroundings.Runtime, effective: Config) -> str:
    """Where the index lies; "" where a file of the workspace may not name it, after a notice."""
    try:
        shared = runtime.shared_index(None, effective)
        return shared.url if shared else str(runtime.index_dir(None, effective))
    except CapdiscError as error:
        console.print_notice(f"notice: {error.message}")
        console.print_notice(f"hint: {error.hint}")
        return ""


def _source_row(source: DeclaredSource) -> dict[str, object]:
    return {
        "format": source.format,
        "path": source.path,
        "name": source.name,
        "options": dict(source.options),
        "from": source.origin,
    }


def _format_value(value: object) -> str:
    return ", ".join(map(str, value)) or "-" if isinstance(value, list) else str(value) or "-"
