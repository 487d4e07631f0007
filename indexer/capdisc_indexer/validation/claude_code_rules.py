"""Checks what Claude Code reads in the front matter of skills, agents and commands besides the
fields of the format: fields that it does not know as they are spelt, and values that it ignores.

The tables are those of Claude Code 2.1.330: its schemas of front matter, and what its loader says
of a value in the debug log. Nobody sees that log, so a skill that is meant for users only may be
offered to the model because of one underscore.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TypeAlias

from capdisc_indexer.model.types import Finding
from capdisc_indexer.sources.readers.field_reader import squeeze_key
from capdisc_indexer.sources.readers.yaml_nodes import Entry, MapNode, Node, TextNode, is_null
from capdisc_indexer.validation.capability_strings import finding_at

_TRUTH_VALUES = ("true", "false", "yes", "no", "on", "off", "1", "0")
_EFFORTS = ("low", "medium", "high", "xhigh", "max")
_POSITIVE = "a whole number from 1"
# What may stand in a field: one of these words, or what the text describes.
_Values: TypeAlias = tuple[str, ...] | str
# Fields of skills, and of commands, which are read as skills. Those for its own use (created_by,
# defaultEnabled and so on) are left out.
SKILL_FIELDS = tuple(
    """
    agent argument-hint arguments background context disable-model-invocation disallowed-tools disallowedTools effort
    hooks model paths shell user-invocable version when_to_use
    """.split()
)
_AGENT_FIELDS = tuple(
    """
    autoCompactWindow background color description disallowedTools effort experimental hooks initialPrompt isolation
    maxTurns mcpServers memory model name observeSubagents observeToolResults observer observerMessage omitClaudeMd
    permissionMode skills tools
    """.split()
)
_COMMAND_FIELDS = ("allowed-tools", "description", "name", *SKILL_FIELDS)
# The fields of the other kinds of files, by their format.
PROMPT_FIELDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"agent": _AGENT_FIELDS, "command": _COMMAND_FIELDS}
)
# `disable-model-invocation`, which capdisc obeys, too, has a finding by its reader.
_VALUES: Mapping[str, _Values] = MappingProxyType(
    {
        "background": _TRUTH_VALUES,
        "context": ("fork", "inline"),
        "effort": _EFFORTS,
        "isolation": ("worktree", "remote"),
        "maxTurns": _POSITIVE,
        "memory": ("user", "project", "local"),
        "omitClaudeMd": _TRUTH_VALUES,
        "permissionMode": (
            "default", "manual", "acceptEdits", "plan", "auto", "dontAsk", "bypassPermissions",
        ),
        "shell": ("bash", "powershell"),
        "user-invocable": _TRUTH_VALUES,
    }
)  # fmt: skip


def claude_code_field(key: str, fields: tuple[str, ...] = SKILL_FIELDS) -> str:
    """The field of Claude Code that this key is meant for; "" for none.

    >>> claude_code_field("argument_hint"), claude_code_field("disallowedTools"), claude_code_field("x")
    ('argument-hint', 'disallowedTools', '')
    """
    if key in fields:
        return key
    squeezed = squeeze_key(key)
    return next((field for field in fields if squeeze_key(field) == squeezed), "")


def check_prompt_file(node: MapNode, path: str, format: str) -> Iterator[Finding]:
    """Findings about the front matter of an agent or a command: `format` is a key of
    PROMPT_FIELDS. Fields of other clients are none.
    """
    for key, entry in node.entries.items():
        if field := claude_code_field(key, PROMPT_FIELDS[format]):
            yield from check_field(field, entry, path)


def check_field(field: str, entry: Entry, path: str) -> Iterator[Finding]:
    """Findings about one field of Claude Code: its spelling, or else its value."""
    problems = []
    values = _VALUES.get(field)
    if entry.key != field:
        if field != "version":  # which is shown nowhere
            problems.append((f"Claude Code does not know {entry.key[:64]}", f"write {field}"))
    elif field == "hooks" and not (is_null(entry.value) or isinstance(entry.value, MapNode)):
        message = "hooks is not a mapping; Claude Code drops it, and allowed-tools with it"
        problems.append((message, "write the names of events below hooks"))
    elif values and not (is_null(entry.value) or _is_understood(field, entry.value, values)):
        message = f"Claude Code does not understand this value of {field}"
        problems.append((message, f"write {_describe_values(values)}"))
    for message, hint in problems:
        yield finding_at(entry, path, "claude-code-value", message, hint)


def _is_understood(field: str, value: Node, values: _Values) -> bool:
    if not isinstance(value, TextNode):
        return False
    text = value.value.strip()
    if values == _POSITIVE or field == "effort":
        if text.isdecimal() and int(text[:9]) > 0:
            return True
        if values == _POSITIVE:
            return False
    # Modes of permission are compared as they are written, all others in lower case.
    return text in values or (field != "permissionMode" and text.lower() in values)


def _describe_values(values: _Values) -> str:
    if values is _TRUTH_VALUES:
        return "true or false"
    return values if isinstance(values, str) else ", ".join(values)
