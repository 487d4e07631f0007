"""By which name does a client's own tool load a skill that the client lists itself?

What this tool loads is counted by the client, which also acts on the skill's fields. A skill that
lies elsewhere, or that its user has switched off in the client, is read by its path.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from capdisc.context.client_places import find_plugins_here
from capdisc.context.surroundings import Runtime
from capdisc_indexer.config.client_table import (
    client_sections,
    conventional_roots,
    settings_folders,
)
from capdisc_indexer.config.settings_reader import parse_json, read_text
from capdisc_indexer.model.json_types import CapabilityHeader

# A client's tool refuses a skill in any other state.
_LOADED_STATES = (None, "on", "name-only")


def find_tool_names(
    runtime: Runtime, client: str, headers: Sequence[CapabilityHeader]
) -> Mapping[str, str]:
    """By id, what the client's tool calls those of the capabilities that it loads."""
    if "skills" not in client_sections("uses").get(client, {}):
        return {}
    places = (client, runtime.cwd, runtime.workspace, runtime.home)
    prefixes = {path: "" for _, path in conventional_roots(*places)}
    paths = {header["id"]: Path(header["source"]["path"]) for header in headers}
    if client == "claude" and any(path.parent.parent not in prefixes for path in paths.values()):
        for plugin in find_plugins_here(runtime, client)[0]:
            prefixes |= dict.fromkeys(plugin.skills, f"{plugin.name}:")
    is_named_by_folder = "names_by_folder" in client_sections("listing").get(client, {})
    names = {}
    for header in headers:
        path = paths[header["id"]]
        prefix = prefixes.get(path.parent.parent)
        name = path.parent.name if is_named_by_folder else header["name"]
        if path.name == "SKILL.md" and prefix is not None and _is_loaded(runtime, client, name):
            names[header["id"]] = prefix + name
    return names


def _is_loaded(runtime: Runtime, client: str, name: str) -> bool:
    """Whether no settings of the client keep the skill from its model."""
    section = client_sections("visibility").get(client, {"user": ()})
    folders = settings_folders(runtime.home, runtime.workspace, runtime.environ, runtime.system)
    for file in (*section["user"], *section.get("workspace", ())):
        with suppress(OSError, ValueError, AttributeError):
            states = parse_json(read_text(Path(file.format_map(folders)))).get(section["keys"][0])
            if isinstance(states, dict) and states.get(name) not in _LOADED_STATES:
                return False
            if isinstance(states, list) and name in states:
                return False
    return True
