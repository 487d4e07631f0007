"""capdisc show: one capability in full."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from capdisc import asking, options, output, runtime
from capdisc.exit_codes import ExitCode
from capdisc_indexer.embedding_text import embedding_texts
from capdisc_indexer.errors import UsageError
from capdisc_indexer.records import to_record
from capdisc_indexer.render.content import detail_text
from capdisc_indexer.types import Descriptor


def show(
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="ID...", help="Ids or names; - reads them from stdin.")
    ] = None,
    embedding_text: Annotated[bool, typer.Option("--embedding-text", help="What is encoded, one text a line.")] = False,
    links: Annotated[bool, typer.Option("--links", help="The links in its content, none of them read.")] = False,
    link: Annotated[
        str | None,
        typer.Option("--link", metavar="TARGET", help="What one link leads to: a file of its folder, a URL."),
    ] = None,
    network: Annotated[bool, typer.Option("--network", help="Let --link fetch a URL, by https.")] = False,
    allow_http: Annotated[bool, typer.Option("--allow-http", help="With --network: plain http too.")] = False,
    allow_html: Annotated[bool, typer.Option("--allow-html", help="With --network: pages in HTML too.")] = False,
    index_dir: options.IndexDir = None,
    json: options.Json = False,
) -> int:
    """Print one capability (or several) in full.

    Example: capdisc search "merge PDF files" --ids -k 1 | capdisc show -
    """
    piped = runtime.stdin_text().splitlines() if "-" in (ids or ()) else []
    wanted = [identifier for identifier in [*(ids or ()), *piped] if identifier.strip() not in ("", "-")]
    if not wanted:
        raise UsageError("no id was given", "capdisc list --ids prints all of them")
    _check(links, link, network, allow_http or allow_html)
    with asking.opened(index_dir) as asked:
        found = [asked.index.descriptor(identifier) for identifier in wanted]
        if links or link is not None:
            from capdisc import linking

            leave = linking.Leave(network=network, http=allow_http, html=allow_html)
            return linking.show(asked, found, link, leave, json)
        if json:
            capabilities = [_document(asked, each) for each in found]
            output.document({"capabilities": capabilities})
        else:
            output.lines(_text(each, embedding_text) for each in found)
    return ExitCode.OK


def _check(links: bool, link: str | None, network: bool, more: bool) -> None:
    """Raises UsageError for options that only mean something with another one."""
    if links and link is not None:
        raise UsageError("--links and --link exclude each other", "--links prints what --link takes")
    if network and link is None:
        raise UsageError("--network goes with --link", "capdisc show ID --links prints what --link takes")
    if more and not network:
        raise UsageError("--allow-http and --allow-html go with --network", "add --network")


def _text(descriptor: Descriptor, embedding_text: bool) -> str:
    if embedding_text:
        return "\n".join(embedding_texts(descriptor))
    wary = f"\nLook at it before use: {', '.join(descriptor.warnings)}" if descriptor.warnings else ""
    return f"{detail_text(descriptor)}{wary}\nSource: {descriptor.source.path}"


def _document(asked: asking.Asked, descriptor: Descriptor) -> dict[str, Any]:
    head, body = to_record(descriptor)
    extra = {"available_here": asking.available(asked.here, head), "embedding_texts": embedding_texts(descriptor)}
    return head | body | extra
