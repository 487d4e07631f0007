"""Which JSON does each client hand to its hooks, and which does it take back?

Seen in Claude Code 2.1.197, Codex 0.171.0, Gemini CLI 0.61.0, Copilot CLI 1.0.102, Qwen Code
0.15.10 and opencode 1.18.33 (tests/live). All but opencode run a command with JSON on stdin and
read JSON from stdout. In opencode a plugin does both; its JSON is ours, and docs/hook.md has it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from capdisc_indexer.config.client_table import client_sections
from capdisc_indexer.model.errors import InputError, UsageError
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.json_types import JsonObject

PROMPT, SESSION_CHANGE, TOOL_USE, OTHER = "prompt", "session change", "tool use", "other"
AGENT_START = "agent start"
# The longest JSON of a client; a prompt with a pasted log has some megabytes.
MAX_EVENT_BYTES = 16 * 1024 * 1024
# How a prompt begins that is not a request to the model: a command of the client, one of a
# shell, and the client's own notes.
_CLIENT_COMMAND = re.compile(
    r"/[\w:.-]*(?:\s|$)|!|</?(?:task-notification|command-\w+|local-command-\w+|system-reminder)\b"
)


# The folder of a skill, in the path of its file or in a command line that reads it, and what may
# be a name: anything else could be a part of a text, which is never kept.
_SKILL_FILE = re.compile(r"([^/\s'\"]+)/SKILL\.md(?![\w.-])")
_NAME = re.compile(r"\w[\w.-]{0,99}")

# Fields of a session's start and of compaction in the events of Copilot, which have no name.
_CHANGE_FIELDS = frozenset(("source", "trigger"))
# What most clients, Copilot and Cursor call their session.
_SESSION_FIELDS = ("session_id", "sessionId", "conversation_id")


def is_client_command(prompt: str) -> bool:
    """Whether a prompt is for the client itself, or a note of the client's own."""
    return _CLIENT_COMMAND.match(prompt) is not None


@frozen(kw_only=True)
class HookEvent:
    """What a client says. `kind` is PROMPT, SESSION_CHANGE (what was printed before may be gone
    from the model's context), TOOL_USE, AGENT_START or OTHER; `folder` is "" where the client
    names none, `used` the skill or MCP tool that was used, and `agent` the subagent that starts,
    "" for none.
    """

    kind: str
    name: str
    session: str
    folder: str
    prompt: str
    used: str = ""
    agent: str = ""

    @property
    def is_command(self) -> bool:
        """Whether the prompt is for the client itself, as `/help` and `!ls` are."""
        return is_client_command(self.prompt)


def _add_to_event(event: HookEvent, text: str) -> JsonObject:
    return {"hookSpecificOutput": {"hookEventName": event.name, "additionalContext": text}}


def _add_to_prompt(event: HookEvent, text: str) -> JsonObject:
    return {"additionalContext": text}


def _add_beside_prompt(event: HookEvent, text: str) -> JsonObject:
    return {"continue": True, "additional_context": text}


@frozen(kw_only=True)
class HookClient:
    """The hooks of one client: the event of a prompt, the events after which earlier context may
    be gone, the JSON that adds a text to the prompt, whether a line in it is shown to the person
    at the screen, and the section `uses` of the table: the event after a tool, and the tools whose
    arguments name a skill or its file, with these arguments.

    `agent_event` is the start of a subagent, "" for none; `triggers` are those by which an event
    counts. An event with one of `foreign_fields` is that of another client, which runs the hooks
    of this one.
    """

    name: str
    prompt_event: str
    change_events: frozenset[str]
    format_context: Callable[[HookEvent, str], JsonObject]
    uses: JsonObject
    shows_message: bool
    agent_event: str
    triggers: JsonObject
    foreign_fields: frozenset[str]

    def read_event(self, data: bytes) -> HookEvent:
        """The event in the client's JSON. Raises InputError for anything else."""
        fields = _parse_object(data, self.name)
        # Copilot names no event where its settings spell events in its own way.
        name = _text(fields, "hook_event_name")
        trigger = _text(fields, "trigger")
        if self.foreign_fields & fields.keys():
            kind, name = OTHER, f"{name} of another client"
        elif name == self.prompt_event or (not name and "prompt" in fields):
            kind = PROMPT
        elif name and name == self.agent_event:
            kind = AGENT_START
        elif name in self._use_events or (not name and "toolResult" in fields):
            kind = TOOL_USE
        elif (name in self.change_events and trigger == self.triggers.get(name, trigger)) or (
            not name and _CHANGE_FIELDS & fields.keys()
        ):
            kind = SESSION_CHANGE
        else:
            kind = OTHER
        folders = fields.get("workspace_roots")
        return HookEvent(
            kind=kind,
            name=name or self.prompt_event,
            session=next(filter(None, (_text(fields, key) for key in _SESSION_FIELDS)), ""),
            folder=_text(fields, "cwd") or next(_list_texts(folders), ""),
            prompt=_text(fields, "prompt").strip(),
            used=self.find_used_name(
                _text(fields, "tool_name") or _text(fields, "toolName"),
                fields.get("tool_input", fields.get("toolArgs")),
            )
            or find_name(_text(fields, "command_name"))
            # Gemini CLI joins the names of server and tool by one "_", and tells them apart here.
            or find_name(_text(_parse_arguments(fields.get("mcp_context")), "tool_name")),
            agent=_text(fields, "agent_id"),
        )

    @property
    def _use_events(self) -> tuple[str | None, str | None]:
        return self.uses.get("event"), self.uses.get("command_event")

    def find_used_name(self, tool: str, arguments: object) -> str:
        """The name of the skill or MCP tool that is used by a call of this tool of the client; ""
        where it is neither, or the name is not valid.
        """
        if tool.startswith("mcp__"):
            return find_name(tool.split("__", 2)[-1])
        fields = _parse_arguments(arguments)
        for key in self.uses.get("skills", {}).get(tool, ()):
            if name := find_name(_text(fields, key)):
                return name
        for key in self.uses.get("files", {}).get(tool, ()):
            if match := _SKILL_FILE.search(" ".join(_list_texts(fields.get(key)))):
                return find_name(match[1])
        return ""


def find_name(text: str) -> str:
    """The name without its plugin, as in "plugin:skill"; "" for a text that is not a name."""
    name = text.rpartition(":")[2].strip().lstrip("/")
    return name if _NAME.fullmatch(name) else ""


def _parse_arguments(arguments: object) -> Mapping[str, object]:
    """The arguments of a call, which some clients give as a text of JSON."""
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            arguments = None
    return arguments if isinstance(arguments, dict) else {}


def _parse_object(data: bytes, client: str) -> Mapping[str, object]:
    hint = f"capdisc hook is for the settings of {client}: capdisc hook --help"
    if len(data) > MAX_EVENT_BYTES:
        raise InputError(f"stdin has more than {MAX_EVENT_BYTES // 1024 // 1024} MiB", hint)
    if not data.strip():
        raise InputError("there is no JSON on stdin", hint)
    try:
        fields = json.loads(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        raise InputError("stdin is not JSON", hint) from error
    if not isinstance(fields, dict):
        raise InputError("the JSON on stdin is not an object", hint)
    return fields


def _list_texts(value: object) -> Iterator[str]:
    """The texts in a list, or the one text that a value is."""
    return (
        word for word in (value if isinstance(value, list) else [value]) if isinstance(word, str)
    )


def _text(fields: Mapping[str, object], name: str) -> str:
    value = fields.get(name)
    return value if isinstance(value, str) else ""


# How a client takes the text; a dialect that is not named takes it as Copilot does.
_FORMATS = {"claude": _add_to_event, "cursor": _add_beside_prompt}
CLIENTS: Mapping[str, HookClient] = MappingProxyType(
    {
        client: HookClient(
            name=client,
            prompt_event=section["prompt_event"],
            change_events=frozenset(section["change_events"]),
            format_context=_FORMATS.get(section["dialect"], _add_to_prompt),
            uses=client_sections("uses").get(client, {}),
            shows_message=section.get("shows_message", False),
            agent_event=section.get("agent_event", ""),
            triggers=section.get("triggers", {}),
            foreign_fields=frozenset(section.get("foreign_fields", ())),
        )
        for client, section in client_sections("hook").items()
    }
)


def find_client(name: str) -> HookClient:
    """The client of this name. Raises UsageError for any other."""
    if client := CLIENTS.get(name):
        return client
    if name in (*client_sections("programs"), "agents-md"):
        raise UsageError(
            f"{name} has no hook that capdisc could answer",
            f"one of: {', '.join(CLIENTS)}; any client: capdisc mcp",
        )
    from capdisc_indexer.text.similar_names import unknown_choice  # which an answer does not need

    raise unknown_choice("client", name, CLIENTS)
