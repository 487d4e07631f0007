"""capdisc init: a starter folder."""

from __future__ import annotations

from capdisc import options, runtime
from capdisc.commands.new import DEFAULT_FOLDER, report_written, write_skeleton
from capdisc.exit_codes import ExitCode
from capdisc_indexer.errors import InputError

_CONFIG = """# Settings of capdisc for this folder; `capdisc config` prints all of them and where each comes from.
# roots = ["../shared-skills"]
# budget = 3000
"""


def init(json: options.Json = False) -> int:
    """Start a capability folder here: .capdisc/ with a skill, a tool and a configuration.

    Example: capdisc init && capdisc index
    """
    here = runtime.current()
    folder = here.cwd / DEFAULT_FOLDER
    config = here.cwd / ".capdisc" / "config.toml"
    if folder.exists():
        raise InputError(f"{folder} exists already", "add to it: capdisc new skill NAME")
    written = [write_skeleton(folder, kind, f"example-{kind}") for kind in ("skill", "tool")]
    if not config.exists():
        config.write_text(_CONFIG, encoding="utf-8")
        written.append(config)
    report_written(written, json, "next: capdisc index")
    return ExitCode.OK
