"""The links of a capability on the command line: listed, or one of them printed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from capdisc import asking, output
from capdisc.exit_codes import ExitCode
from capdisc_indexer.errors import UsageError
from capdisc_indexer.frozen import asdict, frozen
from capdisc_indexer.linked import MAX_LINKS, Link, links_of, read_link
from capdisc_indexer.text import one_line
from capdisc_indexer.types import Descriptor

if TYPE_CHECKING:
    from capdisc_indexer.network.fetch import FetchOptions


@frozen(kw_only=True)
class Leave:
    """What the options allow beyond files: the network at all, plain http, and pages in HTML."""

    network: bool
    http: bool
    html: bool


def show(asked: asking.Asked, found: list[Descriptor], target: str | None, leave: Leave, json: bool) -> int:
    """Print what one link leads to; without a target, the links there are."""
    return _show_all(asked, found, json) if target is None else _show_one(asked, found, target, leave, json)


def _show_all(asked: asking.Asked, found: list[Descriptor], json: bool) -> int:
    """Print the links of each capability, without reading any."""
    every = {descriptor.id: _links(asked, descriptor) for descriptor in found}
    if json:
        capabilities = [{"id": key, "links": [asdict(link) for link in links]} for key, links in every.items()]
        output.document({"capabilities": capabilities})
    else:
        output.lines(line for key, links in every.items() for line in _listing(key, links, len(every) > 1))
    if not any(every.values()):
        output.notice("notice: there are no links")
    return ExitCode.OK if any(every.values()) else ExitCode.FINDINGS


def _show_one(asked: asking.Asked, found: list[Descriptor], target: str, leave: Leave, json: bool) -> int:
    """Print what one link of one capability leads to."""
    if len(found) != 1:
        raise UsageError("--link takes one capability", "name one id")
    linked = read_link(found[0], target, asked.index.meta("scan")["roots"], _options(leave))
    if json:
        size = {"bytes": len(linked.text.encode("utf-8", "replace"))}
        output.document({"id": found[0].id, **asdict(linked), **size})
    else:
        output.lines([linked.text])
    return ExitCode.OK


def _options(leave: Leave) -> FetchOptions | None:
    if not leave.network:
        return None
    from capdisc_indexer.network.fetch import FetchOptions

    return FetchOptions(allow_http=leave.http, allow_html=leave.html)


def _links(asked: asking.Asked, descriptor: Descriptor) -> list[Link]:
    links = links_of(descriptor, asked.index.meta("scan")["roots"], MAX_LINKS + 1)
    if len(links) > MAX_LINKS:
        output.notice(f"notice: {one_line(descriptor.id)} has more than {MAX_LINKS} links; the rest is left out")
    return links[:MAX_LINKS]


def _listing(identifier: str, links: list[Link], named: bool) -> list[str]:
    rows = [(link.kind, one_line(link.target, 100), _remark(link)) for link in links]
    heading = [one_line(identifier)] if named else []
    return heading + (output.table(("kind", "target", "link"), rows) if rows else [])


def _remark(link: Link) -> str:
    if link.reason:
        return one_line(link.reason)
    text = one_line(link.text, 60)
    return f"{text} (not there)" if link.exists is False else text
