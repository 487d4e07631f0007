"""capdisc tools: definitions of functions, for a model to call."""

from __future__ import annotations

from typing import Annotated

from capdisc.args import params, query_options
from capdisc.args.params import option
from capdisc.commands.tool_definitions import (
    CODE_FORMATS,
    DefinitionRequest,
    format_definitions,
    select_definitions,
)
from capdisc.context import open_index
from capdisc.output import console
from capdisc.output.failures import ExitCode
from capdisc.render.gate import Gate
from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.text.similar_names import unknown_choice
from capdisc_indexer.tools.provider_formats import DEFINITION_FORMATS

FORMATS = (*DEFINITION_FORMATS, *CODE_FORMATS)


def _check_deferral(form: str, hosted: bool, selection: bool) -> None:
    """Raises UsageError for a format that cannot defer, for --hosted alone, and for options that
    choose definitions otherwise.
    """
    from capdisc_indexer.tools.provider_formats import DEFERRING_FORMATS

    if hosted:
        raise UsageError("--hosted needs --defer", "add --defer")
    if form not in DEFERRING_FORMATS:
        raise UsageError(
            f"the format {form} has no deferred definitions",
            f"add --format {' or '.join(DEFERRING_FORMATS)}",
        )
    if selection:
        raise UsageError(
            "--defer defines everything, so the options that choose definitions do not apply",
            "leave out --only, --all, --auto, --budget, --progressive and --static",
        )


def tools(
    words: params.Words = None,
    also: params.Also = None,
    format: Annotated[
        str,
        option(
            "--format",
            help="The form of the definitions.",
            panel="Output",
            choices=tuple(FORMATS),
        ),
    ] = "json",
    names: Annotated[
        bool, option("--names", help="Print names only, one on each line.", panel="Output")
    ] = False,
    mapping: Annotated[
        bool,
        option("--map", help="Print the ids and parameters behind changed names.", panel="Output"),
    ] = False,
    all_tools: Annotated[
        bool,
        option(
            "--all",
            help="Print every discovery tool, also those without data here.",
            panel="Tools",
        ),
    ] = False,
    only: Annotated[
        list[str] | None,
        option("--only", metavar="NAME", help="Only this tool (repeatable).", panel="Tools"),
    ] = None,
    limit: Annotated[
        int,
        option(
            "-k",
            "--limit",
            min=1,
            max=200,
            help="At most this many capabilities.",
            panel="Searching",
        ),
    ] = 5,
    min_relevance: params.MinRelevance = None,
    gate: Gate = "auto",
    filters: query_options.Filters = query_options.Filters(),
    progressive: Annotated[
        bool | None,
        option(
            "--progressive/--static",
            help="Print the few tools that find the others, or everything.",
            panel="Tools",
        ),
    ] = None,
    auto: Annotated[
        bool,
        option(
            "--auto", help="Print everything where it is small beside the context.", panel="Tools"
        ),
    ] = False,
    context_size: Annotated[
        int, option(min=1, help="With --auto: tokens of the model's context.", panel="Tools")
    ] = 200_000,
    threshold_pct: Annotated[
        float,
        option(
            min=0,
            max=100,
            callback=params.check_finite,
            help="With --auto: the percentage of the context that counts as small.",
            panel="Tools",
        ),
    ] = 10.0,
    defer: Annotated[
        bool,
        option(
            "--defer",
            help="Define everything, and load at once only what fits the query (anthropic, openai-responses).",
            panel="Tools",
        ),
    ] = False,
    hosted: Annotated[
        bool,
        option(
            "--hosted",
            help="With --defer: the provider searches, instead of capdisc call.",
            panel="Tools",
        ),
    ] = False,
    budget: Annotated[
        int | None,
        option(
            "--budget",
            min=1,
            metavar="TOKENS",
            help="Print no more, the best first.",
            panel="Tools",
        ),
    ] = None,
    session: params.SessionName = None,
    mode: params.Mode = None,
    encoder: params.EncoderName = None,
    index_dir: params.IndexDir = None,
    fresh: params.Fresh = None,
    engine: params.Engine = None,
) -> int:
    """Print function definitions: of the capabilities that fit a query, and of the tools that find
    the others; with --session, also of what earlier turns of it found.

    Without a query: those tools alone, or with --static every capability, too. Names that a
    provider would refuse are changed; --map prints the ids and parameters behind them. The formats
    typescript and python are typed functions, for an agent that calls tools by code.

    Example: capdisc tools "merge PDF files" --format anthropic
    """
    if format not in FORMATS:
        raise unknown_choice("format", format, FORMATS)
    if defer or hosted:
        _check_deferral(
            format,
            hosted=hosted and not defer,
            selection=bool(
                only or all_tools or auto or budget is not None or progressive is not None
            ),
        )
    if format in CODE_FORMATS and (all_tools or auto or progressive):
        raise UsageError(
            "code calls capabilities, not the tools that find them",
            "leave out --all, --auto and --progressive",
        )
    with open_index.open_index(index_dir, fresh, engine=engine) as ctx:
        request = DefinitionRequest(
            query=filters.query(query_options.query_texts(words, also), limit),
            form=format,
            only=tuple(only or ()),
            is_whole=all_tools,
            min_relevance=min_relevance,
            gate=gate,
            progressive=progressive,
            auto=auto,
            max_tokens=int(context_size * threshold_pct / 100),
            session=session,
            is_deferred=defer,
            is_hosted=hosted,
            budget_tokens=budget,
            mode=mode,
            encoder=encoder,
        )
        definition_set = select_definitions(ctx, request)
        if names:
            console.print_lines(definition_set.names.values())
        elif mapping:
            console.print_document(
                {
                    "names": {name: key for key, name in definition_set.names.items()},
                    "parameters": definition_set.parameters,
                }
            )
        else:
            console.print_result(format_definitions(definition_set))
    return ExitCode.OK
