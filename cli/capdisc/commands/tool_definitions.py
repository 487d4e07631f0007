"""Which definitions of functions `capdisc tools` prints, in which format, within which budget."""

from __future__ import annotations

from bisect import bisect_right
from typing import Annotated, Any

from capdisc.args import params
from capdisc.args.command_line import option
from capdisc.context import open_index, query_execution, session_memory
from capdisc.context.query_execution import describe_refusal, print_unmatched
from capdisc.output import console
from capdisc_indexer.lazy_imports import load_token_counter
from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.types import Query
from capdisc_indexer.plugins import registry
from capdisc_indexer.retrieval.verdict import drop_hits_of_talk, select_shown_hits
from capdisc_indexer.tools import tool_table
from capdisc_indexer.tools.function_definitions import Definition
from capdisc_indexer.tools.provider_formats import (
    DEFINITION_FORMATS,
    encode_definitions,
    parameter_renames,
)
from capdisc_indexer.tools.tool_types import ToolContext

# Formats that are code, which calls what was found.
CODE_FORMATS = registry.find_references("definition_formats")
FORMATS = (*DEFINITION_FORMATS, *CODE_FORMATS)
_SWITCH_VALUES = {
    **dict.fromkeys(("on", "true", "1", "yes"), True),
    **dict.fromkeys(("off", "false", "0", "no"), False),
}


@frozen(kw_only=True)
class DefinitionOptions:
    """Which definitions are printed, and in which format."""

    format: Annotated[
        str, option(help="The form of the definitions.", panel="Output", choices=FORMATS)
    ] = "json"
    all_tools: Annotated[
        bool,
        option(
            "--all",
            help="Print every discovery tool, also those without data here.",
            panel="Tools",
        ),
    ] = False
    only: Annotated[
        list[str] | None,
        option(metavar="NAME", help="Only this tool (repeatable).", panel="Tools"),
    ] = None
    min_relevance: params.MinRelevance = None
    gate: params.Gate = "auto"
    progressive: Annotated[
        bool | None,
        option(
            "--progressive/--static",
            help="Print the few tools that find the others, or everything.",
            panel="Tools",
        ),
    ] = None
    auto: Annotated[
        bool,
        option(help="Print everything if it is small for the context.", panel="Budget"),
    ] = False
    context_size: params.ContextSize = 200_000
    threshold_pct: params.ThresholdPct = 10.0
    defer: Annotated[
        bool,
        option(
            help="Define everything, and load at once only what fits the query (anthropic, openai-responses).",
            panel="Tools",
        ),
    ] = False
    hosted: Annotated[
        bool,
        option(
            help="With --defer: the provider searches, instead of capdisc call.", panel="Tools"
        ),
    ] = False
    budget: Annotated[
        int | None,
        option(min=1, metavar="TOKENS", help="Print no more, the best first.", panel="Budget"),
    ] = None
    session: params.SessionName = None
    mode: params.Mode = None
    encoder: params.EncoderName = None

    @property
    def max_tokens(self) -> int:
        """With `auto`: how many tokens everything may have."""
        return int(self.context_size * self.threshold_pct / 100)


@frozen(kw_only=True)
class DefinitionSet:
    """The definitions in the format `form`; `names` are the names that it has for ids,
    `parameters` the own names of renamed parameters by id, and `choice` says how they were chosen.
    """

    form: str
    value: Any
    names: dict[str, str]
    parameters: dict[str, dict[str, str]]
    choice: str


def select_definitions(
    ctx: open_index.CommandContext, query: Query, options: DefinitionOptions
) -> DefinitionSet:
    """The definitions to print. Notices say what was left out or renamed."""
    tool_ctx = query_execution.build_tool_context(ctx, options.mode)
    if options.defer:
        return _defer_definitions(ctx, tool_ctx, query, options)
    definitions, choice = _choose_definitions(ctx, tool_ctx, query, options)
    return _build_definition_set(options, definitions, choice)


def _choose_definitions(
    ctx: open_index.CommandContext,
    tool_ctx: ToolContext,
    query: Query,
    options: DefinitionOptions,
) -> tuple[list[Definition], str]:
    """The definitions, and a word for how they were chosen."""
    if options.only:
        return tool_table.definitions_by_name(tool_ctx, options.only), "only"
    is_code = options.format in CODE_FORMATS
    # Code calls what was found; the tools that find are for a model.
    discovery = [] if is_code else _discovery_definitions(tool_ctx, query, options)
    if query.texts:
        matches = _query_definitions(ctx, tool_ctx, query, options)
        return _add_pinned(ctx, tool_ctx, options, discovery, matches), "query"
    if is_code:
        return tool_table.capability_definitions(tool_ctx), "static"
    if not _is_progressive(ctx, options):
        return _all_definitions(tool_ctx, options), "static"
    few = _add_pinned(ctx, tool_ctx, options, discovery, [])
    if _is_auto(ctx, options):
        return _choose_smaller(options, _all_definitions(tool_ctx, options), few)
    return few, "progressive"


def _defer_definitions(
    ctx: open_index.CommandContext,
    tool_ctx: ToolContext,
    query: Query,
    options: DefinitionOptions,
) -> DefinitionSet:
    """Everything: what fits the query or is pinned loads at once, the others when they are
    found.
    """
    from capdisc_indexer.tools import provider_formats

    matches = _query_definitions(ctx, tool_ctx, query, options) if query.texts else []
    loaded = _add_pinned(ctx, tool_ctx, options, [], matches)
    loaded_ids = {definition.id for definition in loaded}
    deferred_definitions = [
        definition
        for definition in tool_table.capability_definitions(tool_ctx)
        if definition.id not in loaded_ids
    ]
    request = provider_formats.DeferredRequest(
        search=tool_table.search_definition(tool_ctx),
        loaded=loaded,
        deferred=deferred_definitions,
        is_hosted=options.hosted,
    )
    value, names = provider_formats.defer_definitions(options.format, request)
    return DefinitionSet(
        form=options.format,
        value=value,
        names=names,
        parameters=parameter_renames(options.format, [*loaded, *deferred_definitions]),
        choice="deferred",
    )


def _discovery_definitions(
    tool_ctx: ToolContext, query: Query, options: DefinitionOptions
) -> list[Definition]:
    if options.all_tools:
        return tool_table.discovery_definitions(tool_ctx, hidden=True)
    # A session's list begins alike in each turn, also where one has no query.
    is_of_turn = bool(query.texts) or options.session is not None
    return tool_table.bridge_definitions(tool_ctx, is_of_turn)


def _all_definitions(tool_ctx: ToolContext, options: DefinitionOptions) -> list[Definition]:
    return [
        *tool_table.discovery_definitions(tool_ctx, options.all_tools),
        *tool_table.capability_definitions(tool_ctx),
    ]


def _add_pinned(
    ctx: open_index.CommandContext,
    tool_ctx: ToolContext,
    options: DefinitionOptions,
    discovery: list[Definition],
    matches: list[Definition],
) -> list[Definition]:
    """The definitions of discovery tools, of pinned capabilities (by the setting `pin` and by the
    session), of what earlier turns of the session found, and of matches, each once.

    What a session found stands in the order in which it was found, so that the list of one turn
    begins as that of the turn before, and a provider's cache of the prompt holds. With a budget,
    what fits this turn comes first.
    """
    active_ids, discovered_ids = (
        ((), ())
        if options.session is None
        else session_memory.load_ids(ctx.runtime.state_dir(), options.session)
    )
    names = [*ctx.config["pin"], *active_ids]
    pinned, missing = tool_table.pinned_definitions(tool_ctx, names)
    for name in missing:
        console.print_notice(f"notice: there is no {name}, which is to be in every list")
    found = tool_table.define_ids(tool_ctx, discovered_ids)
    offered = (*found, *matches) if options.budget is None else (*matches, *found)
    return list(
        {definition.id: definition for definition in (*discovery, *pinned, *offered)}.values()
    )


def _query_definitions(
    ctx: open_index.CommandContext,
    tool_ctx: ToolContext,
    query: Query,
    options: DefinitionOptions,
) -> list[Definition]:
    query = query_execution.check_query(ctx, query)
    ranking = query_execution.rank_query(ctx, query, options.mode, options.encoder, options.gate)
    ranking = drop_hits_of_talk(ranking)
    least = query_execution.relevance_threshold(ctx, options.min_relevance)
    ids = [hit.id for hit in select_shown_hits(ranking.hits, least)]
    definitions = tool_table.define_ids(tool_ctx, ids)
    defined_ids = {definition.id for definition in definitions}
    if options.session is not None:
        session_memory.remember_printed(
            ctx.runtime,
            options.session,
            [identifier for identifier in ids if identifier in defined_ids],
        )
    if ctx.config["log"]:
        session_memory.log_event(ctx.runtime, "tools", ids, query.texts, options.session)
    if not_callable := [identifier for identifier in ids if identifier not in defined_ids]:
        readers: list[Definition] = []
        if options.format not in CODE_FORMATS and not options.defer:
            kinds = dict.fromkeys(identifier.partition(":")[0] for identifier in not_callable)
            text = " ".join(query.texts)
            readers = tool_table.reader_definitions(tool_ctx, text, list(kinds))
        names = ", ".join(definition.name for definition in readers) or "search_tool"
        console.print_notice(
            f"notice: found too, and no functions: {console.format_names(not_callable)} (read by {names})"
        )
        definitions = [*definitions, *readers]
    if ids:
        print_unmatched(ranking)
    else:
        console.print_notice(f"notice: {describe_refusal(ranking)}")
    return definitions


def _is_progressive(ctx: open_index.CommandContext, options: DefinitionOptions) -> bool:
    """Whether to print the few tools that find the others; True with `auto`, too, where the size
    of everything decides.
    """
    if options.progressive is not None:
        return options.progressive
    return _is_auto(ctx, options) or _SWITCH_VALUES[_progressive_setting(ctx)]


def _is_auto(ctx: open_index.CommandContext, options: DefinitionOptions) -> bool:
    return options.progressive is None and (options.auto or _progressive_setting(ctx) == "auto")


def _progressive_setting(ctx: open_index.CommandContext) -> str:
    text: str = ctx.config["progressive"].strip().lower()
    if text != "auto" and text not in _SWITCH_VALUES:
        origin = ctx.config.origins["progressive"]
        raise UsageError(f"progressive is {text!r} ({origin})", "set it to on, off or auto")
    return text


def _choose_smaller(
    options: DefinitionOptions, everything: list[Definition], few: list[Definition]
) -> tuple[list[Definition], str]:
    """All definitions where they have at most `max_tokens` tokens, else the few."""
    full_set = _encode_definitions(options, everything, "static")
    tokens = load_token_counter()(console.format_json_text(full_set.value, None))
    console.print_notice(
        f"notice: all definitions have {tokens:,} tokens; {options.max_tokens:,} are allowed"
    )
    return (everything, "static") if tokens <= options.max_tokens else (few, "progressive")


def _build_definition_set(
    options: DefinitionOptions, definitions: list[Definition], choice: str
) -> DefinitionSet:
    """The definitions that fit the budget. Notices name what was left out or renamed."""
    kept_definitions = _fit_budget(options, definitions, choice)
    definition_set = _encode_definitions(options, kept_definitions, choice)
    names = definition_set.names
    changed = [
        f"{definition.id} is {names[definition.id]}"
        for definition in kept_definitions
        if names[definition.id] != definition.name
    ]
    # Our own form and code have ids next to the names.
    if changed and options.format not in ("json", *CODE_FORMATS):
        console.print_notice(
            f"notice: called otherwise here: {console.format_names(changed)} (--map lists all)"
        )
    if changed_parameters := [
        f"{own_name} is {new}"
        for renames in definition_set.parameters.values()
        for new, own_name in renames.items()
    ]:
        console.print_notice(
            f"notice: parameters called otherwise here: {console.format_names(changed_parameters)} (--map lists all)"
        )
    return definition_set


def _fit_budget(
    options: DefinitionOptions, definitions: list[Definition], choice: str
) -> list[Definition]:
    """As many of the definitions, from the first, as fit into the budget. Raises UsageError where
    not even one fits.
    """
    if options.budget is None:
        return definitions
    count, budget_tokens = load_token_counter(), options.budget

    def is_too_long(number: int) -> bool:
        definition_set = _encode_definitions(options, definitions[:number], choice)
        return count(format_definitions(definition_set) + "\n") > budget_tokens

    fitting_number = bisect_right(range(1, len(definitions) + 1), False, key=is_too_long)
    if definitions and not fitting_number:
        raise UsageError(
            f"no definition fits into {budget_tokens:,} tokens", "give a larger --budget"
        )
    if omitted := [definition.name for definition in definitions[fitting_number:]]:
        console.print_notice(f"notice: left out to fit: {console.format_names(omitted)}")
    return definitions[:fitting_number]


def _encode_definitions(
    options: DefinitionOptions, definitions: list[Definition], choice: str
) -> DefinitionSet:
    if options.format in CODE_FORMATS:
        format_stubs = registry.load_attribute(CODE_FORMATS[options.format])
        value, names = format_stubs(options.format, definitions)
        parameters: dict[str, dict[str, str]] = {}
    else:
        value, names = encode_definitions(options.format, definitions)
        parameters = parameter_renames(options.format, definitions)
    return DefinitionSet(
        form=options.format, value=value, names=names, parameters=parameters, choice=choice
    )


def format_definitions(definition_set: DefinitionSet) -> str:
    """The definitions as their provider takes them; our own format is a document with a version
    and its tokens, and a language is its own text.
    """
    if definition_set.form in CODE_FORMATS:
        return str(definition_set.value)
    if definition_set.form != "json":
        return console.format_json_text(definition_set.value)
    tokens = load_token_counter()(console.format_json_text(definition_set.value, None))
    document = {
        "schema_version": console.SCHEMA_VERSION,
        "choice": definition_set.choice,
        "tokens": tokens,
        "tools": definition_set.value,
    }
    return console.format_json_text(document)
