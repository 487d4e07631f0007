"""What a workspace asks its user for: all of it for `capdisc trust`, one line about what is left
out for the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from capdisc.output import console
from capdisc_indexer.config.trust import HOW, TrustRequest
from capdisc_indexer.text.normalization import one_line

if TYPE_CHECKING:
    from capdisc.context.surroundings import Runtime
    from capdisc_indexer.config.configuration import Config
    from capdisc_indexer.model.types import DeclaredSource

_MOST_NAMED = 4
# Of one request in a notice; `capdisc trust` prints it whole.
_MOST_CHARACTERS = 300


def announce(requests: Iterable[TrustRequest], where: str) -> tuple[str, ...]:
    """Say on stderr, in one line, what is left out; the text for JSON that says so, none where
    nothing is.

    The JSON may be read by a model: it names settings, and repeats nothing that the workspace's
    file says.
    """
    if not (waiting := tuple(requests)):
        return ()
    what = ", ".join(one_line(request.line, _MOST_CHARACTERS) for request in waiting[:_MOST_NAMED])
    what += f" and {len(waiting) - _MOST_NAMED:,} more" if len(waiting) > _MOST_NAMED else ""
    console.print_notice(f"notice: left out until you trust it: {what} ({where}); {HOW}")
    names = ", ".join(dict.fromkeys(request.setting for request in waiting))
    return (f"left out until the user trusts this workspace: {names}; {HOW}",)


def announce_settings(config: Config) -> tuple[str, ...]:
    """The same for what the workspace's file says, to a command that reads no folders."""
    return announce(config.waiting, config.file) if config.waiting else ()


def announce_all(here: Runtime, config: Config) -> tuple[str, ...]:
    """The same for the file and for links in the place of conventional folders."""
    return announce(
        (*config.waiting, *here.waiting_links(config)), config.file or str(here.workspace)
    )


def requests_of(here: Runtime, config: Config) -> tuple[TrustRequest, ...]:
    """Everything that the workspace asks for beyond its own folder, allowed or not, each once."""
    found = (
        *config.requests,
        *rule_requests(config),
        *_server_requests(here, config),
        *here.link_requests(config),
    )
    return tuple(dict.fromkeys(found))


def refused_requests(here: Runtime, config: Config) -> tuple[TrustRequest, ...]:
    """Those of them that the user has not allowed."""
    requests = requests_of(here, config)
    grant = here.load_grant() if requests else None
    return tuple(
        request for request in requests if grant and not grant.covers(request, config.digest)
    )


def rule_requests(config: Config) -> Iterator[TrustRequest]:
    """A request for each part of the workspace's choice of rules that leaves out what guards the
    reader.
    """
    if not config.file or config.file not in (
        config.origins[name] for name in ("validate.select", "validate.ignore")
    ):
        return
    from capdisc_indexer.validation.finding_selection import loosening

    for name in ("select", "ignore"):
        setting = f"validate.{name}"
        if config.origins[setting] == config.file:
            for value in loosening(name, config[setting]):
                yield TrustRequest(setting=setting, value=value, origin=config.file)


def _server_requests(here: Runtime, config: Config) -> Iterator[TrustRequest]:
    """A request for each program that a file of servers, declared by the workspace, would have
    started.
    """
    sources = [source for source in (*config.sources, *config.left_out) if is_of_servers(source)]
    if sources:
        from capdisc.commands.server_sources import server_requests

        yield from server_requests(here, here.place(sources))


def is_of_servers(source: DeclaredSource) -> bool:
    """Whether the workspace declares this file of servers, which are programs."""
    return source.format == "mcp-servers" and not source.trusted
