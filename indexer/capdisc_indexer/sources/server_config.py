"""mcp.json, .mcp.json, claude_desktop_config.json: how the MCP servers of an agent are started."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping

from capdisc_indexer.frozen import frozen
from capdisc_indexer.sources.files import FoundFile
from capdisc_indexer.sources.made import noted, plain_part
from capdisc_indexer.sources.nodes import Json
from capdisc_indexer.types import Finding, Severity

MAX_SERVERS = 100
_HOW = 'write {"mcpServers": {"name": {"command": ..., "args": [...]}}}'
_OVER_NETWORK = "the server {} speaks HTTP; only servers that are started as programs are asked"
_ADDRESSES = {"url", "httpUrl", "serverUrl"}
_BY_HAND = "save what it answers to tools/list as NAME.tools.json, in a folder that is scanned"
_VARIABLE = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


@frozen(kw_only=True)
class Server:
    """One server that is started as a program and spoken to over its standard streams; `env` maps the names that it
    gets to values as the file has them, which may be references such as ${TOKEN}."""

    name: str
    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str]

    def start(self) -> dict[str, Json]:
        """How it is started, without a value of its environment."""
        return {"server": self.name, "command": self.command, "args": list(self.args), "env": list(self.env)}

    def kept_name(self) -> str:
        """The file name that its answers are kept under."""
        digits = hashlib.sha256(self.name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
        return f"{plain_part(self.name)[:60]}-{digits}.json"


def servers(value: Json, file: FoundFile) -> Iterator[Server | Finding]:
    """Each server of the file, or why it is none that can be asked."""
    table = value.get("mcpServers", value.get("servers")) if isinstance(value, dict) else None
    if not isinstance(table, dict):
        yield noted(file, Severity.ERROR, "servers-shape", "the file names no MCP servers", _HOW)
        return
    for name, declared in list(table.items())[:MAX_SERVERS]:
        yield _server(name, declared if isinstance(declared, dict) else {}, file)


def filled(text: str, environ: Mapping[str, str]) -> str | None:
    """The text with ${NAME} and ${NAME:-otherwise} replaced; None where a name has no value.

    >>> filled("Bearer ${TOKEN}", {"TOKEN": "x"}), filled("${GONE}", {}), filled("${GONE:-y}", {})
    ('Bearer x', None, 'y')
    """
    parts = list(_VARIABLE.finditer(text))
    if any(not environ.get(part[1]) and part[2] is None for part in parts):
        return None
    return _VARIABLE.sub(lambda part: environ.get(part[1]) or part[2], text)


def references(text: str, environ: Mapping[str, str]) -> list[str]:
    """The names that `filled` takes a value of: those that are set, and those that must be.

    >>> references("${TOKEN} ${GONE:-y} ${NEEDED}", {"TOKEN": "x"})
    ['TOKEN', 'NEEDED']
    """
    return [part[1] for part in _VARIABLE.finditer(text) if environ.get(part[1]) or part[2] is None]


def _server(name: str, declared: Mapping[str, Json], file: FoundFile) -> Server | Finding:
    command, args, env = declared.get("command"), declared.get("args", []), declared.get("env", {})
    if not plain_part(name):
        return noted(file, Severity.ERROR, "servers-shape", f"the server {name[:64]!r} has no name", _HOW)
    if "command" not in declared and declared.keys() & _ADDRESSES:
        return noted(file, Severity.WARNING, "server-unasked", _OVER_NETWORK.format(name[:64]), _BY_HAND)
    is_list = isinstance(args, list) and all(isinstance(each, str) for each in args)
    if not isinstance(command, str) or not command or not is_list or not isinstance(env, dict):
        return noted(file, Severity.ERROR, "servers-shape", f"the server {name[:64]} cannot be started", _HOW)
    words = [each for each in args if isinstance(each, str)] if isinstance(args, list) else []
    texts = {key: each for key, each in env.items() if isinstance(each, str)}
    return Server(name=plain_part(name), command=command, args=tuple(words), env=texts)
