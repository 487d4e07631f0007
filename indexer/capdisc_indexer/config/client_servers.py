"""Which MCP servers do the configuration files of agents' clients name, and how is each reached?

The table of clients says which files these are. Each client has its own words for the same things;
a `ServerDeclaration` has one word for each. Nothing is started here, and no variable is filled in.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from capdisc_indexer.config.client_table import client_sections, settings_folders
from capdisc_indexer.config.settings_reader import (
    MAX_BYTES,
    MAX_CLIENT_BYTES,
    leads_out,
    parse_settings,
    read_text,
)
from capdisc_indexer.model.frozen import field, frozen
from capdisc_indexer.text.normalization import compile_late, one_line

MAX_SERVERS = 100
_NOT_IN_NAME = compile_late(r"[^\w.-]+")
# How clients refer to variables that write no ${NAME}, by the dialect of their servers.
_REFERENCES = {
    "opencode": compile_late(r"\{env:([A-Za-z_]\w*)\}"),
    "gemini": compile_late(r"\$([A-Za-z_]\w*)"),
}
# How Claude Code and Gemini CLI write the folder of a plugin.
_PLUGIN_FOLDERS = ("CLAUDE_PLUGIN_ROOT", "extensionPath")
_ASKED_INPUT = compile_late(r"\$\{(?:input|command):")

# The keys of tables of servers, and whose files have them.
SERVER_TABLES = {
    "mcpServers": "claude",
    "servers": "vscode",
    "mcp_servers": "codex",
    "mcp": "opencode",
    "context_servers": "zed",
}

NO_START = "its entry names neither a command nor a url"

_Value: TypeAlias = object
_Table: TypeAlias = Mapping[str, object]


@frozen(kw_only=True)
class ClientFile:
    """A file that may name servers. `scope` is "user" or "workspace"; `table` are the keys that
    lead to its servers. `plugin_folder` is that of the plugin which the file belongs to.
    """

    client: str
    path: Path
    scope: str
    table: tuple[str, ...] = ("mcpServers",)
    plugin_folder: str = ""


@frozen(kw_only=True)
class ServerDeclaration:
    """One server as a client's file names it: a program (`command`, `args`, `env`, `cwd`), or an
    address (`url`, `headers`). Values are as written, with references to variables as `${NAME}`.

    `name` can be part of an id. `problem` says why the server cannot be served, "" where it can.
    `timeout_s` limits one call; 0 stands for the default. Of its tools, those in `only` are
    served (all where it is empty), without those in `without`.
    """

    name: str
    client: str
    path: str
    scope: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str = ""
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    timeout_s: float = 0.0
    only: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    problem: str = ""

    @property
    def start(self) -> tuple[object, ...]:
        """What is started or reached, and with which values: two declarations with an equal start
        are the same server.
        """
        return (
            self.command,
            self.args,
            tuple(sorted(self.env.items())),
            self.cwd,
            self.url,
            tuple(sorted(self.headers.items())),
        )

    @property
    def texts(self) -> tuple[str, ...]:
        """All values that may refer to variables."""
        values = (*self.env.values(), *self.headers.values())
        return (self.command, *self.args, self.cwd, self.url, *values)


@frozen(kw_only=True)
class _Notation:
    """How a client writes the places of folders (by name), and references to variables (None:
    as `${NAME}` alone).
    """

    folders: Mapping[str, str] = field(default_factory=dict)
    references: re.Pattern[str] | None = None


_PLAIN = _Notation()


def client_files(
    home: Path, workspace: Path, environ: Mapping[str, str], system: str
) -> list[ClientFile]:
    """The files of all clients, those of the user first; they need not exist. `system` is the
    operating system as `sys.platform` names it.
    """
    folders = settings_folders(home, workspace, environ, system)
    files: list[ClientFile] = []
    for scope in ("user", "workspace"):
        user_paths = {file.path for file in files}  # a workspace may be the home folder
        for client, section in client_sections("servers", ranking="servers").items():
            tables = [section["table"]]
            if scope == "user" and "project_table" in section:
                tables.insert(0, section["project_table"])
            paths = [
                Path(name.format_map(folders))
                for name in section.get("read", section).get(scope, ())
            ]
            files += [
                ClientFile(
                    client=client,
                    path=path,
                    scope=scope,
                    table=tuple(key.format_map(folders) for key in keys),
                )
                for path in paths
                if path not in user_paths
                for keys in tables
            ]
    return files


def read_servers(
    files: Sequence[ClientFile], home: Path, workspace: Path
) -> list[ServerDeclaration]:
    """Every server of these files, in their order; a file that cannot be read is one declaration
    without a name, whose `problem` says why.

    A file of the workspace that is a link out of it is not read.
    """
    folders = {name: workspace.as_posix() for name in ("workspaceFolder", "workspaceRoot")}
    folders["userHome"] = home.as_posix()
    return [
        declaration
        for file in files
        for declaration in _read_file(
            file,
            workspace,
            _Notation(
                folders=folders | dict.fromkeys(_PLUGIN_FOLDERS, file.plugin_folder)
                if file.plugin_folder
                else folders,
                references=_REFERENCES.get(_find_dialect(file.client)),
            ),
        )
    ]


def find_repetitions(declarations: Sequence[ServerDeclaration]) -> dict[int, str]:
    """Why a declaration stands behind an earlier one, by its position: the first of a name counts,
    and of equal ones under several names the first.
    """
    names: dict[str, str] = {}
    starts: dict[tuple[object, ...], str] = {}
    repetitions: dict[int, str] = {}
    for position, declaration in enumerate(declarations):
        if (first := starts.get(declaration.start)) is not None:
            repetitions[position] = f"it is the same server as {first}"
        elif (path := names.get(declaration.name)) is not None:
            repetitions[position] = f"{path} names another server {declaration.name}"
        else:
            names[declaration.name] = declaration.path
            starts[declaration.start] = declaration.name
    return repetitions


def is_capdisc(declaration: ServerDeclaration) -> bool:
    """Whether the server is capdisc itself, however it is started: `capdisc mcp`, `uvx capdisc
    mcp`, `python -m capdisc mcp`.
    """
    return runs_server((declaration.command, *declaration.args))


def runs_server(words: Sequence[str]) -> bool:
    """Whether the words of a command start the MCP server of capdisc."""
    names = [re.split(r"[/\\]", word)[-1].casefold().removesuffix(".exe") for word in words]
    return "capdisc" in names and "mcp" in names[names.index("capdisc") :]


def _read_file(
    file: ClientFile, workspace: Path, notation: _Notation
) -> Iterator[ServerDeclaration]:
    try:
        value = _read_value(file, workspace)
    except FileNotFoundError:
        return
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        yield _declaration(file, "", problem=f"cannot be read: {one_line(reason, 200)}")
        return
    for key in file.table:
        if file.plugin_folder and isinstance(value, Mapping) and key not in value:
            break  # a plugin's own file of servers may be the table itself
        value = value.get(key) if isinstance(value, Mapping) else None
    entries = list(value.items()) if isinstance(value, Mapping) else []
    for raw_name, entry in entries[:MAX_SERVERS]:
        name = _NOT_IN_NAME.sub("-", one_line(str(raw_name))).strip("-.")[:80]
        if name:
            yield _read_entry(file, name, entry, notation)


def read_declaration(path: str, key: str, name: str, entry: _Value) -> ServerDeclaration:
    """The server of this entry in a file whose table of servers has this key, one of
    SERVER_TABLES, which tells how the entry is written.
    """
    file = ClientFile(client=SERVER_TABLES[key], path=Path(path), scope="user")
    return _read_entry(
        file, name, entry, _Notation(references=_REFERENCES.get(_find_dialect(file.client)))
    )


def _find_dialect(client: str) -> str:
    """The dialect of the client's entries; "" where they are as most clients write them."""
    section: Mapping[str, str] = client_sections("servers").get(client, {})
    return section.get("dialect", "")


def _read_value(file: ClientFile, workspace: Path) -> _Value:
    """The file's content. Raises OSError, and ValueError for what is not JSON or TOML, and for a
    link out of the workspace that the workspace brings.
    """
    is_users = file.scope == "user"
    if not is_users and os.path.lexists(file.path) and leads_out(file.path, workspace):
        raise ValueError("it is a link out of the workspace")
    return parse_settings(
        file.path, read_text(file.path, MAX_CLIENT_BYTES if is_users else MAX_BYTES)
    )


def _declaration(file: ClientFile, name: str, problem: str = "") -> ServerDeclaration:
    return ServerDeclaration(
        name=name, client=file.client, path=str(file.path), scope=file.scope, problem=problem
    )


def _read_entry(
    file: ClientFile, name: str, entry: _Value, notation: _Notation
) -> ServerDeclaration:
    if not isinstance(entry, Mapping):
        return _declaration(file, name, "its entry is not an object")
    words = _words(entry, notation)
    url = _text(entry, ("httpUrl", "url", "serverUrl", "uri"), notation)
    headers = _pairs(entry, ("headers", "http_headers"), notation)
    headers |= {
        key: f"${{{name}}}" for key, name in _pairs(entry, ("env_http_headers",), _PLAIN).items()
    }
    if token := _text(entry, ("bearer_token_env_var",), _PLAIN):
        headers["Authorization"] = f"Bearer ${{{token}}}"
    env = {name: f"${{{name}}}" for name in _list(entry, ("env_vars",))}
    env |= _pairs(entry, ("env", "environment"), notation)
    declaration = ServerDeclaration(
        name=name,
        client=file.client,
        path=str(file.path),
        scope=file.scope,
        command=words[0] if words else "",
        args=tuple(words[1:]),
        env=env,
        cwd=_text(entry, ("cwd",), notation),
        url="" if words else url,
        headers={} if words else headers,
        # What opencode calls timeout limits the list of tools.
        timeout_s=0.0 if _find_dialect(file.client) == "opencode" else _timeout_s(entry),
        only=tuple(
            tool
            for tool in _list(entry, ("includeTools", "enabled_tools", "tools"))
            if tool != "*"
        ),
        without=tuple(_list(entry, ("excludeTools", "disabled_tools"))),
    )
    problem = _entry_problem(entry, declaration)
    return _declaration(file, name, problem) if problem else declaration


def _entry_problem(entry: _Table, declaration: ServerDeclaration) -> str:
    """Why the server cannot be served; "" where it can."""
    scheme = declaration.url.lower().partition("//")[0]
    conditions = (
        (
            entry.get("disabled") is True or entry.get("enabled") is False,
            "it is switched off there",
        ),
        (
            not declaration.command and not declaration.url,
            NO_START,
        ),
        (
            bool(declaration.url) and entry.get("type") == "sse",
            "it speaks the old transport SSE; only streamable HTTP is served",
        ),
        (
            bool(declaration.url) and scheme not in ("http:", "https:") and scheme[:2] != "${",
            "its url is not one of http or https",
        ),
        (
            any(_ASKED_INPUT.search(text) for text in declaration.texts),
            f"its entry has ${{input:…}}, which only {declaration.client} can ask for",
        ),
        (
            any("\0" in text for text in declaration.texts),
            "its entry holds a NUL character",
        ),
    )
    return next((problem for holds, problem in conditions if holds), "")


def _words(entry: _Table, notation: _Notation) -> list[str]:
    """The command and its arguments, which opencode writes as one list."""
    command = entry.get("command")
    first = command if isinstance(command, list) else [command] if command else []
    args = entry.get("args")
    words = [*first, *(args if isinstance(args, list) else [])]
    return [_fill_places(str(word), notation) for word in words] if first else []


def _text(entry: _Table, keys: Sequence[str], notation: _Notation) -> str:
    texts = (entry.get(key) for key in keys)
    return next(
        (_fill_places(text, notation) for text in texts if isinstance(text, str) and text), ""
    )


def _pairs(entry: _Table, keys: Sequence[str], notation: _Notation) -> dict[str, str]:
    table = next((entry[key] for key in keys if isinstance(entry.get(key), Mapping)), {})
    return {
        str(name): _fill_places(str(value), notation)
        for name, value in (table.items() if isinstance(table, Mapping) else ())
        if isinstance(value, str | int | float)
    }


def _list(entry: _Table, keys: Sequence[str]) -> list[str]:
    values = next((entry[key] for key in keys if isinstance(entry.get(key), list)), [])
    return [
        value for value in (values if isinstance(values, list) else []) if isinstance(value, str)
    ]


def _fill_places(text: str, notation: _Notation) -> str:
    """The text with the folders of VS Code's variables, and with the references of Gemini CLI
    ($NAME) and opencode ({env:NAME}) as `${NAME}`.

    >>> notation = _Notation(folders={"workspaceFolder": "/w"}, references=_REFERENCES["gemini"])
    >>> _fill_places("${workspaceFolder}/x $TOKEN ${OTHER}", notation)
    '/w/x ${TOKEN} ${OTHER}'
    """
    for name, folder in notation.folders.items():
        text = text.replace(f"${{{name}}}", folder)
    references = notation.references
    return references.sub(lambda match: f"${{{match[1]}}}", text) if references else text


def _timeout_s(entry: _Table) -> float:
    """The limit of a call in seconds; Codex writes seconds, the others milliseconds."""
    for key, unit in (("tool_timeout_sec", 1.0), ("timeout", 0.001)):
        value = entry.get(key)
        if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
            return float(value) * unit
    return 0.0
