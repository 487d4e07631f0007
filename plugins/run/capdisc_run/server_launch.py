"""How an MCP server of a client's configuration is started or reached, and its secrets."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from capdisc_indexer.config.client_servers import ServerDeclaration
from capdisc_indexer.model.errors import InputError
from capdisc_indexer.model.frozen import field, frozen
from capdisc_indexer.platforms import system
from capdisc_indexer.sources.formats.mcp_servers import fill_variables, variables_in
from capdisc_indexer.text.normalization import one_line
from capdisc_run.process import build_environment, find_program

# A server of ours that finds this in its environment serves no other servers: two gateways that
# name each other would start without end.
INSIDE_VARIABLE = "CAPDISC_GATEWAY"
_SECRET_NAME = re.compile(
    r"token|key|secret|passw|pwd|auth(?!or)|credential|cookie|private|dsn|_url|connection",
    re.IGNORECASE,
)


@frozen(kw_only=True)
class ServerLaunch:
    """How one server is reached, with all variables filled in: a program, or an address with
    headers. `secrets` are values to mask in what it writes, by name.
    """

    name: str
    argv: tuple[str, ...] = ()
    cwd: Path = Path("/")
    environment: Mapping[str, str] = field(default_factory=dict)
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict)


@frozen(kw_only=True)
class GatewayPlaces:
    """Where a gateway works: the folder of the lists, that of the approvals, the environment, and
    the home folder, in which servers of the user's own start. `refusal` says why a server may not
    be started now, "" where it may.
    """

    lists: Path
    approvals: Path
    environ: Mapping[str, str]
    home: Path
    workspace: Path
    refusal: Callable[[ServerDeclaration], str] = lambda _: ""


def prepare_launch(declaration: ServerDeclaration, places: GatewayPlaces) -> ServerLaunch:
    """How the server is reached here, with all variables filled in. Raises InputError for a
    variable that is not set, and for a program that is not here.

    A program gets PATH, HOME, LANG and what its entry names. It starts in the folder that its
    entry names, else in the home folder: in the workspace, `npx` and `python -m` would prefer
    programs that lie there. Only a server that the workspace itself declares starts there.
    """

    def fill(text: str) -> str:
        filled = fill_variables(text, places.environ)
        if filled is None:
            names = variables_in(text, places.environ)
            missing = [name for name in names if not places.environ.get(name)]
            raise InputError(
                f"the entry of {one_line(declaration.name, 80)} refers to what is not set here: "
                f"{', '.join(dict.fromkeys(missing))}",
                "set it in the environment",
            )
        return filled

    secrets = _secrets(declaration, places.environ)
    if declaration.url:
        return ServerLaunch(
            name=declaration.name,
            url=fill(declaration.url),
            headers={name: fill(value) for name, value in declaration.headers.items()},
            secrets=secrets,
        )
    folder = places.workspace if declaration.scope == "workspace" else places.home
    cwd = folder / system.expanduser(fill(declaration.cwd)) if declaration.cwd else folder
    environment = build_environment(places.environ, ())
    environment |= {name: fill(value) for name, value in declaration.env.items()}
    environ = {**places.environ, "PATH": environment["PATH"]}
    program = find_program(fill(declaration.command), environ, str(cwd))
    return ServerLaunch(
        name=declaration.name,
        argv=(program, *map(fill, declaration.args)),
        cwd=cwd,
        environment={**environment, INSIDE_VARIABLE: "1"},
        secrets=secrets,
    )


def _secrets(declaration: ServerDeclaration, environ: Mapping[str, str]) -> dict[str, str]:
    """The values of the entry that must not be printed, by name: of headers, of variables with a
    name like TOKEN or KEY, and of variables in the url.
    """
    secrets: dict[str, str] = {}
    pairs = [*declaration.env.items(), *declaration.headers.items()]
    for name, text in pairs:
        is_secret = name in declaration.headers or bool(_SECRET_NAME.search(name))
        if is_secret and (value := fill_variables(text, environ)):
            secrets[name] = value.removeprefix("Bearer ").removeprefix("Basic ").strip()
    texts = (*declaration.args, *(text for _, text in pairs), declaration.url)
    for name in (name for text in texts for name in variables_in(text, environ)):
        if _SECRET_NAME.search(name) or name in variables_in(declaration.url, environ):
            secrets[name] = environ.get(name, "")
    return {name: value for name, value in secrets.items() if value}
