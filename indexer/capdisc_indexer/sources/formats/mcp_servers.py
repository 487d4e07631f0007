"""Files that configure the MCP servers of an agent (mcp.json, .mcp.json, config.toml of Codex,
opencode.json): how each server is started or reached, and the tools that it gave when it was last
asked. No server is asked here.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from capdisc_indexer.config.client_servers import (
    NO_START,
    SERVER_TABLES,
    ServerDeclaration,
    read_declaration,
)
from capdisc_indexer.config.settings_reader import blank_comments
from capdisc_indexer.model.frozen import replace
from capdisc_indexer.model.types import Finding, LoadedFile, Severity
from capdisc_indexer.sources.format_table import MAX_READ_BYTES, SOURCES
from capdisc_indexer.sources.formats.naming_rules import plain_part
from capdisc_indexer.sources.formats.parsed_capability import (
    file_finding,
    join_loaded,
    read_toml,
)
from capdisc_indexer.sources.formats.server_skills import load_skills
from capdisc_indexer.sources.formats.skill_answers import collect_answers
from capdisc_indexer.sources.formats.tool_lists import load_tools, tool_entries
from capdisc_indexer.sources.readers.file_bytes import decode, read_bytes
from capdisc_indexer.sources.readers.json_reader import clean_export, read_json
from capdisc_indexer.sources.readers.yaml_nodes import Json
from capdisc_indexer.sources.scan.scanned_files import FoundFile

MAX_SERVERS = 100
_SHAPE_HINT = 'write {"mcpServers": {"name": {"command": ..., "args": [...]}}}'
_CANNOT_HINT = "save what it answers to tools/list as NAME.tools.json, in a folder that is scanned"
_ASK_HINT = "run: capdisc index --ask-servers"
_VARIABLE = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


def start_of(server: ServerDeclaration) -> dict[str, Json] | None:
    """The command that starts the server, with the names of its variables and without their
    values; None for a server that is not a program.
    """
    if server.url:
        return None
    return {
        "server": server.name,
        "command": server.command,
        "args": list(server.args),
        "env": list(server.env),
    }


def kept_name(server: str) -> str:
    """The file name that the answers of the server of this name are stored under."""
    digits = hashlib.sha256(server.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{plain_part(server)[:60]}-{digits}.json"


def read_servers(value: Json, file: FoundFile) -> Iterator[ServerDeclaration | Finding]:
    """Each server of the file, or a finding that says why it cannot be asked."""
    tables = value if isinstance(value, dict) else {}
    key = next((key for key in SERVER_TABLES if key in tables), "")
    table = tables.get(key)
    if not isinstance(table, dict):
        yield file_finding(
            file, Severity.ERROR, "servers-shape", "the file names no MCP servers", _SHAPE_HINT
        )
        return
    for name, declared in list(table.items())[:MAX_SERVERS]:
        yield _server(key, name, declared if isinstance(declared, dict) else {}, file)


def fill_variables(text: str, environ: Mapping[str, str]) -> str | None:
    """The text with ${NAME} and ${NAME:-default} replaced; None if a name has no value.

    >>> environ = {"TOKEN": "x"}
    >>> [fill_variables(text, environ) for text in ("Bearer ${TOKEN}", "${GONE}", "${GONE:-y}")]
    ['Bearer x', None, 'y']
    """
    references = list(_VARIABLE.finditer(text))
    if any(not environ.get(match[1]) and match[2] is None for match in references):
        return None
    return _VARIABLE.sub(lambda match: environ.get(match[1]) or match[2], text)


def variables_in(text: str, environ: Mapping[str, str]) -> list[str]:
    """The names whose values `fill_variables` uses: those that are set, and those without default.

    >>> variables_in("${TOKEN} ${GONE:-y} ${NEEDED}", {"TOKEN": "x"})
    ['TOKEN', 'NEEDED']
    """
    return [
        match[1] for match in _VARIABLE.finditer(text) if environ.get(match[1]) or match[2] is None
    ]


def named_variables(texts: Iterable[str]) -> list[str]:
    """The names of all variables that `fill_variables` may take from the environment, each once.

    >>> named_variables(["Bearer ${TOKEN}", "${env:PLACE:-here} ${TOKEN}"])
    ['TOKEN', 'PLACE']
    """
    return list(dict.fromkeys(match[1] for text in texts for match in _VARIABLE.finditer(text)))


def _server(
    key: str, name: str, declared: Mapping[str, Json], file: FoundFile
) -> ServerDeclaration | Finding:
    """The server of an entry in the table with this key."""
    if not plain_part(name):
        message = f"the server {name[:64]!r} has no name"
        return file_finding(file, Severity.ERROR, "servers-shape", message, _SHAPE_HINT)
    args, env = declared.get("args", []), declared.get("env", {})
    is_list = isinstance(args, list) and all(isinstance(argument, str) for argument in args)
    declaration = read_declaration(file.path, key, plain_part(name), declared)
    if not (is_list and isinstance(env, dict)) or declaration.problem == NO_START:
        message = f"the server {name[:64]} cannot be started"
        return file_finding(file, Severity.ERROR, "servers-shape", message, _SHAPE_HINT)
    if declaration.problem:
        message = f"the server {name[:64]} is not asked: {declaration.problem}"
        return file_finding(file, Severity.WARNING, "server-unasked", message, _CANNOT_HINT)
    # A source has no folder, no limits and no choice of tools of its own.
    return replace(declaration, path=file.path, cwd="", timeout_s=0.0, only=(), without=())


def _read_value(text: str, file: FoundFile) -> Json | Finding:
    """The content of a file in JSON, with comments or without, or in TOML."""
    if file.path.lower().endswith(".toml"):
        return read_toml(file, text, _SHAPE_HINT)
    value = read_json(text, file.path)
    if isinstance(value, Finding):
        without_comments = blank_comments(text)
        return value if without_comments == text else read_json(without_comments, file.path)
    return value


def load(file: FoundFile, data: bytes) -> LoadedFile:
    """The tools of every server that was asked, and a finding for each that was not."""
    text = decode(data, file.path)
    value = text if isinstance(text, Finding) else _read_value(text, file)
    if isinstance(value, Finding):
        return LoadedFile(findings=(value,))
    loaded_servers = [
        LoadedFile(findings=(server,))
        if isinstance(server, Finding)
        else _load_server(server, file)
        for server in read_servers(value, file)
    ]
    return join_loaded(*loaded_servers)


def servers_of(file: FoundFile) -> list[ServerDeclaration | Finding]:
    """The servers of a file, with a finding for each that cannot be asked; none if the file cannot
    be read, for which loading it has a finding.
    """
    data = read_bytes(file, SOURCES[file.format].limit_bytes)
    text = data if isinstance(data, Finding) else decode(data, file.path)
    value = text if isinstance(text, Finding) else _read_value(text, file)
    return [] if isinstance(value, Finding) else list(read_servers(value, file))


def read_answer(value: Json) -> tuple[str, Json]:
    """The time when a server was asked, and its answers; ("", None) for JSON that is not a stored
    answer.
    """
    if not isinstance(value, dict):
        return "", None
    return str(value.get("asked_at", "")), value.get("answers")


def kept_text(name: str, asked_at: str, pages: Sequence[Mapping[str, Json]]) -> bytes:
    """The stored form of a server's answers, which `read_answer` reads."""
    stored = {"server": name, "asked_at": asked_at, "answers": pages}
    return json.dumps(stored, ensure_ascii=False, indent=1).encode()


def _load_server(server: ServerDeclaration, file: FoundFile) -> LoadedFile:
    asked_at, pages = _stored_answer(server, file)
    if not asked_at:
        message = f"the server {server.name} was not asked for its tools yet"
        finding = file_finding(file, Severity.WARNING, "server-unasked", message, _ASK_HINT)
        return LoadedFile(findings=(finding,))
    age = file_finding(
        file,
        Severity.INFO,
        "server-asked",
        f"the tools of {server.name} are those of {asked_at[:40]}",
        _ASK_HINT,
    )
    tools = load_tools(
        file, [(item, 1) for item in tool_entries(pages)], server.name, (age,), start_of(server)
    )
    return join_loaded(tools, load_skills(file, collect_answers(pages), server.name))


def _stored_answer(server: ServerDeclaration, file: FoundFile) -> tuple[str, Json]:
    """The answer of a server among the companions of its file; ("", None) if there is none."""
    for companion in file.companions:  # os.path, since paths may hold bytes that are not text
        if os.path.basename(companion.path) == kept_name(server.name):
            data = read_bytes(companion, MAX_READ_BYTES)
            text = data if isinstance(data, Finding) else decode(data, file.path)
            if not text or isinstance(text, Finding):
                break
            value = read_json(clean_export(text), file.path)
            return ("", None) if isinstance(value, Finding) else read_answer(value)
    return "", None
