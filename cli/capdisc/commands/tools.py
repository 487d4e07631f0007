"""capdisc tools: definitions of functions, for a model to call."""

from __future__ import annotations

from typing import Annotated

from capdisc.args import params
from capdisc.args.command_line import option
from capdisc.args.params import Filters, query_texts
from capdisc.commands.tool_definitions import (
    CODE_FORMATS,
    FORMATS,
    DefinitionOptions,
    format_definitions,
    select_definitions,
)
from capdisc.context import open_index
from capdisc.output import console
from capdisc.output.command_process import ExitCode
from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.text.similar_names import unknown_choice


def tools(
    words: params.Words = None,
    also: params.Also = None,
    names: Annotated[
        bool, option(help="Print names only, one on each line.", panel="Output")
    ] = False,
    mapping: Annotated[
        bool,
        option("--map", help="Print the ids and parameters behind changed names.", panel="Output"),
    ] = False,
    options: DefinitionOptions = DefinitionOptions(),
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
    filters: Filters = Filters(),
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
    _check_options(options)
    with open_index.open_index(index_dir, fresh, engine=engine) as ctx:
        query = filters.query(query_texts(words, also), limit)
        definitions = select_definitions(ctx, query, options)
        if names:
            console.print_lines(definitions.names.values())
        elif mapping:
            own_names = {name: key for key, name in definitions.names.items()}
            console.print_document({"names": own_names, "parameters": definitions.parameters})
        else:
            console.print_result(format_definitions(definitions))
    return ExitCode.OK


def _check_options(options: DefinitionOptions) -> None:
    """Raises UsageError for options that do not go together, or not with the format."""
    form, selects = options.format, options.all_tools or options.auto
    if form not in FORMATS:
        raise unknown_choice("format", form, FORMATS)
    if options.hosted and not options.defer:
        raise UsageError("--hosted needs --defer", "add --defer")
    if options.defer:
        from capdisc_indexer.tools.provider_formats import DEFERRING_FORMATS

        if form not in DEFERRING_FORMATS:
            raise UsageError(
                f"the format {form} has no deferred definitions",
                f"add --format {' or '.join(DEFERRING_FORMATS)}",
            )
        if (
            selects
            or options.only
            or options.budget is not None
            or options.progressive is not None
        ):
            raise UsageError(
                "--defer defines everything, so the options that choose definitions do not apply",
                "leave out --only, --all, --auto, --budget, --progressive and --static",
            )
    if form in CODE_FORMATS and (selects or options.progressive):
        raise UsageError(
            "code calls capabilities, not the tools that find them",
            "leave out --all, --auto and --progressive",
        )
