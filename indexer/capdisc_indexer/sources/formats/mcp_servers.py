"""The MCP servers of an agent, with the tools that each gave when it was last asked. Nothing is
asked here.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence

from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.types import Finding, LoadedFile, Severity
from capdisc_indexer.sources import MAX_READ_BYTES, SOURCES
from capdisc_indexer.sources.formats.derived_capability import file_finding, plain_part
from capdisc_indexer.sources.formats.tool_entries import tool_entries
from capdisc_indexer.sources.formats.tool_lists import load_tools
from capdisc_indexer.sources.readers.file_bytes import read_bytes
from capdisc_indexer.sources.readers.json_reader import clean_export, read_json
from capdisc_indexer.sources.readers.text_decoding import decode
from capdisc_indexer.sources.readers.yaml_nodes import Json
from capdisc_indexer.sources.scan.scanned_files import FoundFile

# mcp.json, .mcp.json, claude_desktop_config.json: how the MCP servers of an agent are started.

MAX_SERVERS = 100
_HOW = 'write {"mcpServers": {"name": {"command": ..., "args": [...]}}}'
_OVER_NETWORK = "the server {} speaks HTTP; only servers that are started as programs are asked"
_ADDRESSES = {"url", "httpUrl", "serverUrl"}
_BY_HAND = "save what it answers to tools/list as NAME.tools.json, in a folder that is scanned"
_VARIABLE = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


@frozen(kw_only=True)
class ServerConfig:
    """One server that is started as a program and spoken to over its standard streams; `env` maps
    the names that it gets to values as the file has them, which may be references such as
    ${TOKEN}.
    """

    name: str
    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str]

    def start(self) -> dict[str, Json]:
        """How it is started, without a value of its environment."""
        return {
            "server": self.name,
            "command": self.command,
            "args": list(self.args),
            "env": list(self.env),
        }

    def kept_name(self) -> str:
        """The file name that its answers are kept under."""
        digits = hashlib.sha256(self.name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
        return f"{plain_part(self.name)[:60]}-{digits}.json"


def read_servers(value: Json, file: FoundFile) -> Iterator[ServerConfig | Finding]:
    """Each server of the file, or why it is none that can be asked."""
    table = value.get("mcpServers", value.get("servers")) if isinstance(value, dict) else None
    if not isinstance(table, dict):
        yield file_finding(
            file, Severity.ERROR, "servers-shape", "the file names no MCP servers", _HOW
        )
        return
    for name, declared in list(table.items())[:MAX_SERVERS]:
        yield _server(name, declared if isinstance(declared, dict) else {}, file)


def fill_variables(text: str, environ: Mapping[str, str]) -> str | None:
    """The text with ${NAME} and ${NAME:-otherwise} replaced; None where a name has no value.

    >>> filled("Bearer ${TOKEN}", {"TOKEN": "x"}), filled("${GONE}", {}), filled("${GONE:-y}", {})
    ('Bearer x', None, 'y')
    """
    parts = list(_VARIABLE.finditer(text))
    if any(not environ.get(part[1]) and part[2] is None for part in parts):
        return None
    return _VARIABLE.sub(lambda part: environ.get(part[1]) or part[2], text)


def variables_in(text: str, environ: Mapping[str, str]) -> list[str]:
    """The names that `filled` takes a value of: those that are set, and those that must be.

    >>> references("${TOKEN} ${GONE:-y} ${NEEDED}", {"TOKEN": "x"})
    ['TOKEN', 'NEEDED']
    """
    return [part[1] for part in _VARIABLE.finditer(text) if environ.get(part[1]) or part[2] is None]


def _server(name: str, declared: Mapping[str, Json], file: FoundFile) -> ServerConfig | Finding:
    command, args, env = declared.get("command"), declared.get("args", []), declared.get("env", {})
    if not plain_part(name):
        return file_finding(
            file, Severity.ERROR, "servers-shape", f"the server {name[:64]!r} has no name", _HOW
        )
    if "command" not in declared and declared.keys() & _ADDRESSES:
        return file_finding(
            file, Severity.WARNING, "server-unasked", _OVER_NETWORK.format(name[:64]), _BY_HAND
        )
    is_list = isinstance(args, list) and all(isinstance(argument, str) for argument in args)
    if not isinstance(command, str) or not command or not is_list or not isinstance(env, dict):
        return file_finding(
            file, Severity.ERROR, "servers-shape", f"the server {name[:64]} cannot be started", _HOW
        )
    words = (
        [argument for argument in args if isinstance(argument, str)]
        if isinstance(args, list)
        else []
    )
    texts = {
        key: variable_value
        for key, variable_value in env.items()
        if isinstance(variable_value, str)
    }
    return ServerConfig(name=plain_part(name), command=command, args=tuple(words), env=texts)


# Paths are plain text here: they may hold bytes that are no text.


_ASK = "run: capdisc index --ask-servers"


def load(file: FoundFile, data: bytes) -> LoadedFile:
    """The tools of every server that was asked, and a notice about each one that was not."""
    text = decode(data, file.path)
    value = text if isinstance(text, Finding) else read_json(text, file.path)
    if isinstance(value, Finding):
        return LoadedFile(findings=(value,))
    loaded_servers = [
        LoadedFile(findings=(server,))
        if isinstance(server, Finding)
        else _load_server(server, file)
        for server in read_servers(value, file)
    ]
    return LoadedFile(
        descriptors=tuple(
            capability for result in loaded_servers for capability in result.descriptors
        ),
        findings=tuple(finding for result in loaded_servers for finding in result.findings),
        parts=tuple(part for result in loaded_servers for part in result.parts),
    )


def servers_of(file: FoundFile) -> list[ServerConfig | Finding]:
    """The servers of a file, a finding for each that cannot be asked; none where it cannot be
    read, which loading it tells of.
    """
    data = read_bytes(file, SOURCES[file.format].limit_bytes)
    text = data if isinstance(data, Finding) else decode(data, file.path)
    value = text if isinstance(text, Finding) else read_json(text, file.path)
    return [] if isinstance(value, Finding) else list(read_servers(value, file))


def read_answer(value: Json) -> tuple[str, Json]:
    """When a server was asked, and what it answered; both empty for a text that is no kept
    answer.
    """
    if not isinstance(value, dict):
        return "", None
    return str(value.get("asked_at", "")), value.get("answers")


def kept_text(name: str, asked_at: str, pages: Sequence[Mapping[str, Json]]) -> bytes:
    """What is kept of a server's answers."""
    return json.dumps(
        {"server": name, "asked_at": asked_at, "answers": pages}, ensure_ascii=False, indent=1
    ).encode()


def _load_server(server: ServerConfig, file: FoundFile) -> LoadedFile:
    answer_file = next(
        (
            companion
            for companion in file.companions
            if os.path.basename(companion.path) == server.kept_name()
        ),
        None,
    )
    data = read_bytes(answer_file, MAX_READ_BYTES) if answer_file else b""
    text = data if isinstance(data, Finding) else decode(data, file.path)
    value = (
        text
        if isinstance(text, Finding)
        else read_json(clean_export(text), file.path)
        if text
        else None
    )
    asked_at, pages = read_answer(None if isinstance(value, Finding) else value)
    if not asked_at:
        message = f"the server {server.name} was not asked for its tools yet"
        return LoadedFile(
            findings=(file_finding(file, Severity.WARNING, "server-unasked", message, _ASK),)
        )
    age = file_finding(
        file,
        Severity.INFO,
        "server-asked",
        f"the tools of {server.name} are those of {asked_at[:40]}",
        _ASK,
    )
    return load_tools(
        file, [(item, 1) for item in tool_entries(pages)], server.name, (age,), server.start()
    )
