"""capdisc show: one capability in full."""

from __future__ import annotations

from typing import Annotated, Any

from capdisc import asking, files, options, output, streams
from capdisc.declaring import argument, option
from capdisc.exit_codes import ExitCode
from capdisc_indexer.embedding_text import embedding_texts
from capdisc_indexer.errors import UsageError
from capdisc_indexer.records import to_record
from capdisc_indexer.render.content import detail_text
from capdisc_indexer.types import Descriptor


def show(
    ids: Annotated[list[str] | None, argument(metavar="ID...", help="Ids or names; - reads them from stdin.")] = None,
    embedding_text: Annotated[bool, option("--embedding-text", help="What is encoded, one text a line.")] = False,
    links: Annotated[bool, option("--links", help="The links in its content, none of them read.")] = False,
    link: Annotated[
        str | None,
        option("--link", metavar="TARGET", help="What one link leads to: a file of its folder, a URL."),
    ] = None,
    network: Annotated[bool, option("--network", help="Let --link fetch a URL, by https.")] = False,
    allow_http: Annotated[bool, option("--allow-http", help="With --network: plain http too.")] = False,
    allow_html: Annotated[bool, option("--allow-html", help="With --network: pages in HTML too.")] = False,
    max_tokens: Annotated[
        int | None, option("--max-tokens", min=1, metavar="N", help="Print so many tokens at most.")
    ] = None,
    index_dir: options.IndexDir = None,
    json: options.Json = False,
) -> int:
    """Print one capability (or several) in full.

    Example: capdisc search "merge PDF files" --ids -k 1 | capdisc show -
    """
    piped = streams.stdin_text(files.LIMIT_BYTES).splitlines() if "-" in (ids or ()) else []
    wanted = [identifier for identifier in [*(ids or ()), *piped] if identifier.strip() not in ("", "-")]
    if not wanted:
        raise UsageError("no id was given", "capdisc list --ids prints all of them")
    _check(links, link, network, allow_http or allow_html)
    if max_tokens and (json or links or link is not None):
        raise UsageError("--max-tokens goes with the text of a capability alone", "leave it out, or the other option")
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
            _print([_text(each, embedding_text) for each in found], max_tokens)
    return ExitCode.OK


def _print(texts: list[str], max_tokens: int | None) -> None:
    """Raises UsageError where not even the mark of a cut fits."""
    if max_tokens is None:
        output.lines(texts)
        return
    from capdisc_indexer.engines import token_count
    from capdisc_indexer.tiers.fitting import shortened

    text = "".join(f"{output.safe(each)}\n" for each in texts)
    kept = shortened(text, max_tokens, token_count())
    if not kept:
        raise UsageError(f"{max_tokens} tokens are too few for any of it", "give a larger --max-tokens")
    output.result(kept)
    if kept != text:
        output.notice(f"notice: cut to {max_tokens:,} tokens")


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
    wary = f"\nReview before use: {', '.join(descriptor.warnings)}" if descriptor.warnings else ""
    return f"{detail_text(descriptor)}{wary}\nSource: {descriptor.source.path}"


def _document(asked: asking.Asked, descriptor: Descriptor) -> dict[str, Any]:
    head, body = to_record(descriptor)
    extra = {"available_here": asking.available(asked.here, head), "embedding_texts": embedding_texts(descriptor)}
    return head | body | extra
