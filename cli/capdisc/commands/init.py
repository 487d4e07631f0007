"""capdisc init: a starter folder."""

from __future__ import annotations

from capdisc.args import params
from capdisc.commands.new import DEFAULT_FOLDER, print_written, write_skeleton
from capdisc.context import surroundings
from capdisc.output.failures import ExitCode
from capdisc_indexer.model.errors import InputError

_CONFIG_TEMPLATE = """# Settings of capdisc for this folder; `capdisc config` prints all of them and where each comes from.
# roots = ["../shared-skills"]
# budget = 3000
"""


def init(json: params.Json = False) -> int:
    """Start a capability folder here: .capdisc/ with a skill, a tool and a configuration.

    Example: capdisc init && capdisc index
    """
    runtime = surroundings.current_runtime()
    folder = runtime.cwd / DEFAULT_FOLDER
    config = runtime.cwd / ".capdisc" / "config.toml"
    if folder.exists():
        raise InputError(f"{folder} exists already", "add to it: capdisc new skill NAME")
    written = [write_skeleton(folder, kind, f"example-{kind}") for kind in ("skill", "tool")]
    if not config.exists():
        config.write_text(_CONFIG_TEMPLATE, encoding="utf-8")
        written.append(config)
    print_written(written, json, "next: capdisc index")
    return ExitCode.OK
