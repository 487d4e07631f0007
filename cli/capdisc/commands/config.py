"""capdisc config: effective settings and where each comes from."""

from __future__ import annotations

from capdisc import options, output, runtime, trusting
from capdisc.exit_codes import ExitCode
from capdisc_indexer.config import Config
from capdisc_indexer.errors import CapdiscError
from capdisc_indexer.settings import SETTINGS
from capdisc_indexer.types import DeclaredSource


def config(json: options.Json = False) -> int:
    """Print every setting with its value, where the value comes from, and the folders that would be scanned.

    Example: capdisc config
    """
    here = runtime.current()
    effective = here.config()
    roots = [{"path": str(path), "from": origin, "exists": path.exists()} for origin, path in here.roots(effective)]
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
    sources = [_source(each) for each in here.sources(effective)]
    for key in effective.unknown:
        output.notice(f"notice: unknown setting {key}")
    where = _where(here, effective)
    waiting = trusting.refused_requests(here, effective)
    if json:
        output.document(
            {
                "workspace": str(here.workspace),
                "index_dir": where,
                "settings": settings,
                "roots": roots,
                "sources": sources,
                "waiting": [
                    {"setting": request.setting, "value": request.value, "place": request.place, "from": request.origin}
                    for request in waiting
                ],
            }
        )
        return ExitCode.OK
    rows = [(each["name"], _shown(each["value"]), each["from"], each["about"]) for each in settings]
    output.lines(output.table(("setting", "value", "from", "about"), rows))
    output.lines(
        [
            "",
            f"workspace  {here.workspace}",
            f"index      {where or '-'}",
            "folders, strongest first:",
        ]
    )
    output.lines(f"  {'+' if root['exists'] else '-'} {root['path']}  ({root['from']})" for root in roots)
    if sources:
        output.lines(["", "sources:"])
    output.lines(f"  {each['format']} {each['path']}  ({each['from']})" for each in sources)
    if waiting:
        output.lines(["", "waiting for your trust, and left out (capdisc trust):"])
    output.lines(f"  {request.line}  ({request.origin})" for request in waiting)
    return ExitCode.OK


def _where(here: runtime.Runtime, effective: Config) -> str:
    """Where the index lies; empty where that is refused, which is said."""
    try:
        shared = here.shared(None, effective)
        return shared.url if shared else str(here.index_dir(None, effective))
    except CapdiscError as error:
        output.notice(f"notice: {error.message}")
        output.notice(f"hint: {error.hint}")
        return ""


def _source(one: DeclaredSource) -> dict[str, object]:
    facts = {"format": one.format, "path": one.path, "name": one.name, "options": dict(one.options)}
    return {**facts, "from": one.origin}


def _shown(value: object) -> str:
    return ", ".join(map(str, value)) or "-" if isinstance(value, list) else str(value) or "-"
