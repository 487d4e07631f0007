"""The table of words that completion offers, made from the declarations of the commands.

`just docs` writes it beside `capdisc.args.completion`, so that a key press in a shell need
not import the commands. A test compares the two.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from types import MappingProxyType

from capdisc.args import completion
from capdisc.args.command_line import CommandParameter
from capdisc.args.command_table import COMMAND_ALIASES, load_command, summarise_commands
from capdisc.args.completion import FILES, FOLDERS, TRUSTED, describe_command, first_sentence
from capdisc.commands.completion import SCRIPTS
from capdisc_indexer.config.settings import SETTINGS
from capdisc_indexer.graph.capability_graph import EDGE_KINDS
from capdisc_indexer.model.json_types import JsonObject

PATH = Path(completion.__file__).with_name(completion.TABLE_FILE)
# Words for what the values of an option or argument are: a list of fixed values, a list of the
# table, something that is stored, or paths. By the name of the parameter, where a command does not
# differ.
_STORED_VALUES: Mapping[str, str] = MappingProxyType(
    {
        "kind": "kinds",
        "category": "categories",
        "tag": "tags",
        "exclude": "ids",
        "ids": "ids",
        "identifier": "ids",
        "session": "sessions",
        "select": "rules",
        "ignore": "rules",
        "rule": "rules",
        "tool": "tools",
        "only": "tools",
        "index_dir": FOLDERS,
        "folder": FOLDERS,
        "paths": FILES,
        "files": FILES,
        "append": FILES,
        "target": FILES,
        "template": FILES,
    }
)


def build_table() -> JsonObject:
    """The table: each command with its options and arguments, and the lists that these name."""
    return {
        "aliases": dict(COMMAND_ALIASES),
        "commands": {
            name: describe_command(load_command(name), about, partial(_values, name))
            for name, about in summarise_commands().items()
        },
        "lists": _build_lists(),
        "settings": _setting_values(),
    }


def format_table() -> str:
    """The text of the file: each command on lines of its own, so that a change shows as one."""
    return json.dumps(build_table(), ensure_ascii=False, indent=1) + "\n"


def _values(command: str, parameter: CommandParameter) -> str | list[str]:
    """Where the values come from; "" for free text."""
    if parameter.param.choices:
        return list(parameter.param.choices)
    choices = _choices()
    place = f"{command}.{parameter.name}"
    if place in choices or parameter.name in choices:
        return choices.get(place, choices.get(parameter.name, ""))
    if parameter.name in _STORED_VALUES:
        return _STORED_VALUES[parameter.name]
    return FILES if parameter.type is Path else ""


@cache
def _choices() -> Mapping[str, str | list[str]]:
    """The values of options and arguments that are few and fixed, or differ between commands, by
    `command.parameter` or by the parameter alone.
    """
    from capdisc.commands import config, graph, new, setup, tools
    from capdisc.hook.clients import CLIENTS as HOOK_CLIENTS
    from capdisc.mcp_service.tool_offer import EVERY_TOOL
    from capdisc.render.render_options import DETAIL_LEVELS, ON_EMPTY
    from capdisc.setup.client_settings import SCOPES
    from capdisc.validate import finding_formats
    from capdisc_audit.client_listings import CLIENT_LISTINGS
    from capdisc_data import plan_command as plan
    from capdisc_indexer.model.risks import RISK_CHOICES
    from capdisc_indexer.rendering.formats import FORMATS
    from capdisc_indexer.rendering.prompt_templates import STYLE_NAMES
    from capdisc_indexer.rendering.render_format import OVERVIEW_HINTS, SPLIT_MODES
    from capdisc_indexer.retrieval.pipeline import MODES
    from capdisc_indexer.retrieval.verdict import GATE_MODES
    from capdisc_indexer.text.token_counts import TOKENIZERS
    from capdisc_indexer.tools.discovery_tools import TOOLS
    from capdisc_indexer.tools.provider_formats import DEFERRING_FORMATS
    from capdisc_indexer.validation.rules import PROFILES, SCHEMAS
    from capdisc_sessions import session_command as session

    groups = sorted({tool.group for tool in TOOLS})
    return {
        "mode": list(MODES),
        "eval.compare": list(MODES),
        "gate": list(GATE_MODES),
        "max_risk": list(RISK_CHOICES),
        "list.risk": list(RISK_CHOICES),
        "tokenizer": list(TOKENIZERS),
        "profile": list(PROFILES),
        "encoder": ["static"],
        "render.format": list(FORMATS),
        "detail": list(DETAIL_LEVELS),
        "split": list(SPLIT_MODES),
        "style": list(STYLE_NAMES),
        "render.hint": list(OVERVIEW_HINTS),
        "on_empty": list(ON_EMPTY),
        "tier": ["0", "1", "2", "1,2"],
        "validate.format": list(finding_formats.FORMATS),
        "validate.schema": list(SCHEMAS),
        "tools.format": list(tools.FORMATS),
        "call.format": list(DEFERRING_FORMATS),
        "graph.format": list(graph.FORMATS),
        "graph.edge": [kind.lower().replace("_", "-") for kind in EDGE_KINDS],
        "mcp.tools": [*groups, EVERY_TOOL],
        "plan.verb": list(plan.VERBS),
        "session.verb": list(session.VERBS),
        "session.name": "sessions",
        "session.words": "ids",
        "trust.target": TRUSTED,
        "hook.client": list(HOOK_CLIENTS),
        "audit.client": list(CLIENT_LISTINGS),
        "setup.clients": list(setup.CLIENT_NAMES),
        "setup.scope": list(SCOPES),
        "config.action": list(config.ACTIONS),
        "config.name": "settings",
        "config.values": "setting-values",
        "new.kind": list(new.TEMPLATES),
        "new.name": "",
        "completion.shell": list(SCRIPTS),
        "help.command": "commands",
    }


def _build_lists() -> JsonObject:
    """The words of each list with what they mean."""
    from capdisc_indexer.tools.discovery_tools import TOOLS
    from capdisc_indexer.validation.rules import load_rules

    return {
        "commands": dict(summarise_commands()),
        "rules": {code: first_sentence(rule.summary) for code, rule in load_rules().items()},
        "tools": {tool.name: first_sentence(tool.description) for tool in TOOLS},
        "settings": {name: setting.about for name, setting in SETTINGS.items()},
    }


def _setting_values() -> JsonObject:
    """The values of the settings that have fixed ones."""
    from capdisc.commands.config_file import SETTING_CHOICES

    switches = {
        name: ["true", "false"]
        for name, setting in SETTINGS.items()
        if isinstance(setting.default, bool)
    }
    return {**{name: list(values) for name, values in SETTING_CHOICES.items()}, **switches}


def write_table() -> None:
    """Write the file."""
    PATH.write_text(format_table(), encoding="utf-8")
