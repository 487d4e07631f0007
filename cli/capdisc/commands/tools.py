"""capdisc tools: definitions of functions, for a model to call."""

from __future__ import annotations

from typing import Annotated

from capdisc import asking, options, output, querying
from capdisc.declaring import option
from capdisc.desks import desk
from capdisc.exit_codes import ExitCode
from capdisc.offers import Offer, offer, printed
from capdisc_indexer.errors import UsageError
from capdisc_indexer.tools.definitions import FORMS


def tools(
    words: options.Words = None,
    also: options.Also = None,
    format: Annotated[str, option("--format", help=f"{', '.join(FORMS)}.")] = "json",
    names: Annotated[bool, option("--names", help="Print names only, one a line.")] = False,
    mapping: Annotated[bool, option("--map", help="Print what each changed name stands for.")] = False,
    all: Annotated[bool, option("--all", help="Every discovery tool, those without data here too.")] = False,
    only: Annotated[list[str] | None, option("--only", metavar="NAME", help="This one (repeatable).")] = None,
    limit: Annotated[int, option("-k", "--limit", min=1, max=200, help="How many capabilities.")] = 5,
    min_relevance: Annotated[
        float, option(min=0, max=1, callback=options.finite, help="Leave out what is less relevant.")
    ] = 0.0,
    kind: options.Kind = None,
    category: options.Category = None,
    tag: options.Tag = None,
    exclude: options.Exclude = None,
    max_risk: options.MaxRisk = "",
    available: options.Available = False,
    progressive: Annotated[
        bool | None, option("--progressive/--static", help="The few that find the others, or everything.")
    ] = None,
    auto: Annotated[bool, option("--auto", help="Everything where it is small beside the context.")] = False,
    context_size: Annotated[int, option(min=1, help="With --auto: tokens of the model's context.")] = 200_000,
    threshold_pct: Annotated[
        float, option(min=0, max=100, callback=options.finite, help="With --auto: how much is small.")
    ] = 10.0,
    session: options.SessionName = None,
    mode: options.Mode = None,
    encoder: options.EncoderName = None,
    index_dir: options.IndexDir = None,
) -> int:
    """Print function definitions: of the capabilities that fit a query, and of the tools that find the others.

    Without a query: those tools alone, or with --static all there is. Names that a provider would refuse are changed;
    --map says which id, or by id which parameter, each stands for.

    Example: capdisc tools "merge PDF files" --format anthropic
    """
    if format not in FORMS:
        raise UsageError(f"unknown format {format!r}", f"one of: {', '.join(FORMS)}")
    with asking.opened(index_dir) as asked:
        filters = querying.Filters(kind, category, tag, exclude, max_risk, available)
        wanted = Offer(
            query=filters.query(querying.texts_of(words, also), limit),
            form=format,
            only=tuple(only or ()),
            is_whole=all,
            min_relevance=min_relevance,
            progressive=progressive,
            auto=auto,
            room=int(context_size * threshold_pct / 100),
            session=session,
        )
        made = offer(asked, desk(asked, mode), wanted, mode, encoder)
        if names:
            output.lines(made.names.values())
        elif mapping:
            output.document({"names": {name: key for key, name in made.names.items()}, "parameters": made.parameters})
        else:
            output.result(printed(made))
    return ExitCode.OK
