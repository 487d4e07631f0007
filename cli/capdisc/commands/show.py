"""capdisc show: one capability in full."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from capdisc.args import names, params
from capdisc.args.command_line import argument, option
from capdisc.context import open_index, query_execution, session_memory, user_files
from capdisc.output import command_process, console, terminal
from capdisc.output.command_process import ExitCode
from capdisc_indexer.links import MAX_LINKS, Link, list_links, read_link
from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.model.frozen import asdict, frozen
from capdisc_indexer.model.json_types import JsonObject
from capdisc_indexer.model.records import to_record
from capdisc_indexer.model.types import Descriptor
from capdisc_indexer.plugins import registry
from capdisc_indexer.rendering.capability_text import reference_text
from capdisc_indexer.text.embedding_text import embedding_texts
from capdisc_indexer.text.normalization import one_line


@frozen(kw_only=True)
class FetchPermissions:
    """What `--link` may fetch besides files: URLs at all, with plain http, and pages in HTML."""

    network: Annotated[bool, option(help="Let --link fetch a URL, by https.", panel="Links")] = (
        False
    )
    allow_http: Annotated[
        bool, option(help="With --network: also without encryption.", panel="Links")
    ] = False
    allow_html: Annotated[
        bool, option(help="With --network: pages in HTML, too.", panel="Links")
    ] = False


def show(
    ids: Annotated[
        list[str] | None, argument(metavar="ID...", help="Ids or names; - reads them from stdin.")
    ] = None,
    embedding_text: Annotated[
        bool,
        option(
            help="Print the texts that are encoded, one on each line.",
            panel="Output",
        ),
    ] = False,
    links: Annotated[
        bool,
        option(help="List the links in its content, without reading any.", panel="Links"),
    ] = False,
    link: Annotated[
        str | None,
        option(
            metavar="TARGET",
            help="Print what this link leads to: a file in its folder, a URL.",
            panel="Links",
        ),
    ] = None,
    section: Annotated[
        str,
        option(
            metavar="HEADING",
            help="Print only this section; the beginning of its heading is enough.",
            panel="Parts",
        ),
    ] = "",
    file: Annotated[
        str,
        option(
            metavar="PATH",
            help="Print this file of its folder: references/x.md.",
            panel="Parts",
        ),
    ] = "",
    permissions: FetchPermissions = FetchPermissions(),
    max_tokens: Annotated[
        int | None,
        option(
            min=1,
            metavar="N",
            help="Print at most this many tokens.",
            panel="Output",
        ),
    ] = None,
    paths: params.Paths = False,
    null: params.Null = False,
    open: params.Open = False,
    index_dir: params.IndexDir = None,
    fresh: params.Fresh = None,
    json: params.Json = False,
) -> int:
    """Print one capability (or several) in full.

    An id may also be the path of the capability's file or folder.

    Example: capdisc search "merge PDF files" --ids -k 1 | capdisc show -
    """
    words = ids or []
    if "-" in words:
        piped = command_process.read_stdin_text(user_files.MAX_FILE_BYTES)
        words = [*words, *piped.replace("\0", "\n").splitlines()]
    identifiers = [word for word in words if word.strip() not in ("", "-")]
    if not identifiers:
        raise UsageError("no id was given", "capdisc list --ids prints all of them")
    _check_options(links, link, permissions)
    if (section or file) and (links or link is not None or embedding_text):
        raise UsageError(
            "--section and --file print a part of the text alone", "leave out the other option"
        )
    if max_tokens and (json or links or link is not None):
        raise UsageError(
            "--max-tokens goes with the text of a capability alone",
            "leave it out, or the other option",
        )
    name_form = names.choose_form(ids=False, paths=paths, null=null, json=json, opens=open)
    with open_index.open_index(index_dir, fresh) as ctx:
        descriptors = [_find_descriptor(ctx, identifier) for identifier in identifiers]
        ids_shown = [descriptor.id for descriptor in descriptors]
        if ctx.config["log"]:
            session_memory.log_event(ctx.runtime, "show", ids_shown)
        if name_form:
            name_form.print_or_open(
                ctx.runtime,
                ((descriptor.id, descriptor.source.path) for descriptor in descriptors),
            )
            return ExitCode.OK
        if section or file:
            _print_part(ctx, descriptors, section, file, max_tokens, json)
            return ExitCode.OK
        if links:
            return _print_all_links(ctx, descriptors, json)
        if link is not None:
            return _print_linked_text(ctx, descriptors, link, permissions, json)
        if json:
            capabilities = [_capability_document(ctx, descriptor) for descriptor in descriptors]
            console.print_document({"capabilities": capabilities})
        else:
            _print_texts(
                [_capability_text(descriptor, embedding_text) for descriptor in descriptors],
                max_tokens,
                ctx.runtime.stdout_is_terminal and ctx.runtime.colour,
            )
    return ExitCode.OK


def _find_descriptor(ctx: open_index.CommandContext, name: str) -> Descriptor:
    """The capability with this id or name, or whose file or folder lies at this path."""
    if ("/" in name or name.endswith(".md")) and ctx.index.resolve(name) is None:
        from capdisc_indexer.tools.capability_reading import find_by_path

        path = str(ctx.runtime.expand(Path(name)))
        if header := find_by_path(ctx.index, path, ctx.runtime.cwd):
            return ctx.index.full_descriptor(header)
    return ctx.index.descriptor(name)


def _print_part(
    ctx: open_index.CommandContext,
    descriptors: list[Descriptor],
    section: str,
    file: str,
    max_tokens: int | None,
    json: bool,
) -> None:
    """Print one section, or one file, of one capability."""
    if len(descriptors) != 1:
        raise UsageError("--section and --file take one capability", "name one id")
    from capdisc_indexer.text.o200k import load_counter
    from capdisc_indexer.tools.capability_reading import read_part

    tool_ctx = query_execution.build_tool_context(ctx)
    text = read_part(tool_ctx, descriptors[0], section, file, load_counter())
    if json:
        part = {"section": section, "file": file}
        part_names = {name: value for name, value in part.items() if value}
        console.print_document({"id": descriptors[0].id, **part_names, "text": text})
    else:
        _print_texts([text.rstrip("\n")], max_tokens)


def _print_texts(texts: list[str], max_tokens: int | None, has_colours: bool = False) -> None:
    """Print the texts, cut to `max_tokens`, with colours for their headings where nothing is cut.
    Raises UsageError where not even the mark of a cut fits.
    """
    if max_tokens is None:
        safe_text = "\n".join(map(console.sanitise, texts))
        console.print_result(_colour_headings(safe_text) if has_colours else safe_text)
        return
    from capdisc_indexer.rendering.truncation import shorten_text
    from capdisc_indexer.text.o200k import load_counter

    text = "".join(f"{console.sanitise(capability_text)}\n" for capability_text in texts)
    shortened_text = shorten_text(text, max_tokens, load_counter())
    if not shortened_text:
        raise UsageError(
            f"{max_tokens} tokens are too few for any of it", "give a larger --max-tokens"
        )
    console.print_result(shortened_text)
    if shortened_text != text:
        console.print_notice(f"notice: cut to {max_tokens:,} tokens")


def _colour_headings(text: str) -> str:
    """The Markdown with its headings in bold and its first and last lines of facts dimmed."""
    lines, is_code = [], False
    for line in text.split("\n"):
        is_code ^= line.lstrip().startswith("```")
        is_heading = line.startswith("#") and not is_code
        is_fact = line.startswith(("Kind: ", "Source: ", "Overlay: ", "Review before use: "))
        lines.append(console.dim(console.bold(line, is_heading), is_fact))
    return "\n".join(lines)


def _check_options(links: bool, link: str | None, permissions: FetchPermissions) -> None:
    """Raises UsageError for options that need or exclude another one."""
    if links and link is not None:
        raise UsageError(
            "--links and --link exclude each other", "--links prints what --link takes"
        )
    if permissions.network and link is None:
        raise UsageError(
            "--network goes with --link", "capdisc show ID --links prints what --link takes"
        )
    if (permissions.allow_http or permissions.allow_html) and not permissions.network:
        raise UsageError("--allow-http and --allow-html go with --network", "add --network")


def _capability_text(descriptor: Descriptor, embedding_text: bool) -> str:
    if embedding_text:
        return "\n".join(embedding_texts(descriptor))
    codes = ", ".join(descriptor.warnings)
    warnings = f"\nReview before use: {codes}" if codes else ""
    added = ""
    if overlay := descriptor.overlay:
        added = f"\nOverlay: {', '.join(overlay['from'])} adds {', '.join(overlay['before'])}"
    return f"{reference_text(descriptor)}{warnings}\nSource: {descriptor.source.path}{added}"


def _capability_document(ctx: open_index.CommandContext, descriptor: Descriptor) -> JsonObject:
    header, body = to_record(descriptor)
    extra = {
        "available_here": open_index.is_available(ctx.runtime, header),
        "embedding_texts": embedding_texts(descriptor),
    }
    return header | body | extra


# The links of a capability: all of them in a list, or the target of one.


def _print_all_links(
    ctx: open_index.CommandContext, descriptors: list[Descriptor], json: bool
) -> int:
    """Print the links of each capability, without reading any."""
    links_by_id = {descriptor.id: _list_links(ctx, descriptor) for descriptor in descriptors}
    if json:
        capabilities = [
            {"id": key, "links": [asdict(link) for link in links]}
            for key, links in links_by_id.items()
        ]
        console.print_document({"capabilities": capabilities})
    elif screen := terminal.find_screen(ctx.runtime):
        for key, links in links_by_id.items():
            if links:
                _draw_links(screen, key, links)
    else:
        console.print_lines(
            line
            for key, links in links_by_id.items()
            for line in _format_links(key, links, len(links_by_id) > 1)
        )
    if not any(links_by_id.values()):
        console.print_notice("notice: there are no links")
    return ExitCode.OK if any(links_by_id.values()) else ExitCode.FINDINGS


def _print_linked_text(
    ctx: open_index.CommandContext,
    descriptors: list[Descriptor],
    target: str,
    permissions: FetchPermissions,
    json: bool,
) -> int:
    """Print the text that one link of one capability leads to."""
    if len(descriptors) != 1:
        raise UsageError("--link takes one capability", "name one id")
    options = None
    if permissions.network:
        options = registry.load_service("web").FetchOptions(
            allow_http=permissions.allow_http, allow_html=permissions.allow_html
        )
    linked = read_link(descriptors[0], target, ctx.index.scan["roots"], options)
    size = {"bytes": len(linked.text.encode("utf-8", "replace"))}
    document = {"id": descriptors[0].id, **asdict(linked), **size}
    console.print_answer(json, document, [linked.text])
    return ExitCode.OK


def _list_links(ctx: open_index.CommandContext, descriptor: Descriptor) -> list[Link]:
    links = list_links(descriptor, ctx.index.scan["roots"], MAX_LINKS + 1)
    if len(links) > MAX_LINKS:
        console.print_notice(
            f"notice: {one_line(descriptor.id)} has more than {MAX_LINKS} links; the rest is left out"
        )
    return links[:MAX_LINKS]


def _format_links(identifier: str, links: list[Link], has_heading: bool) -> list[str]:
    rows = [(link.kind, one_line(link.target, 100), _link_remark(link)) for link in links]
    heading = [one_line(identifier)] if has_heading else []
    return heading + (console.format_table(("kind", "target", "link"), rows) if rows else [])


_LINK_STYLES = {"file": "ok", "url": "skill", "anchor": "detail", "refused": "error"}


def _draw_links(screen: terminal.Screen, identifier: str, links: list[Link]) -> None:
    """Draw a tree of the links: a branch for each kind, what is missing or refused in its
    colour.
    """
    branches = []
    for kind in dict.fromkeys(link.kind for link in links):
        leaves = [_link_branch(link) for link in links if link.kind == kind]
        label = [(kind, _LINK_STYLES.get(kind, "")), (f" ({len(leaves):,})", "detail")]
        branches.append(terminal.Branch(label=label, branches=leaves))
    terminal.print_tree(
        screen, terminal.Branch(label=(one_line(identifier), "heading"), branches=branches)
    )


def _link_branch(link: Link) -> terminal.Branch:
    style = "warning" if link.exists is False or link.reason else ""
    remark = _link_remark(link)
    target = one_line(link.target, 100)
    return terminal.Branch(
        label=[(target, style), (f"  {remark}" if remark != target else "", "detail")]
    )


def _link_remark(link: Link) -> str:
    if link.reason:
        return one_line(link.reason)
    text = one_line(link.text, 60)
    return f"{text} (not there)" if link.exists is False else text
