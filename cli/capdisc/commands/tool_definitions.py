"""Which definitions of functions a request prints, in its format and within its budget."""

from __future__ import annotations

from typing import Any

from capdisc.context import open_index, query_execution, session_memory
from capdisc.output import console
from capdisc.render.gate import describe_refusal, print_unmatched
from capdisc_indexer.lazy_imports import load_token_counter
from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.types import Query
from capdisc_indexer.plugins import registry
from capdisc_indexer.retrieval.verdict import drop_hits_of_talk, select_shown_hits
from capdisc_indexer.tools import tool_table
from capdisc_indexer.tools.function_definitions import Definition
from capdisc_indexer.tools.provider_formats import encode_definitions, parameter_renames
from capdisc_indexer.tools.tool_types import ToolContext

# Formats that are code, which calls what was found.
CODE_FORMATS = registry.find_references("definition_formats")
_SWITCH_VALUES = {
    "on": True,
    "true": True,
    "1": True,
    "yes": True,
    "off": False,
    "false": False,
    "0": False,
    "no": False,
}


@frozen(kw_only=True)
class DefinitionRequest:
    """Which definitions to print. `only` are names of tools, and `is_whole` says that every
    discovery tool is printed. `progressive` False prints everything, True the tools that find the
    others; with `auto`, everything is printed where it has at most `max_tokens` tokens.
    `gate` is a mode of `--gate`. `is_deferred` prints everything, to be loaded when a search finds it; with `is_hosted`, the
    provider searches. At most `budget_tokens` are printed (None: any number).
    """

    query: Query
    form: str = "json"
    only: tuple[str, ...] = ()
    is_whole: bool = False
    min_relevance: float | None = None
    gate: str = "auto"
    progressive: bool | None = None
    auto: bool = False
    max_tokens: int = 0
    session: str | None = None
    is_deferred: bool = False
    is_hosted: bool = False
    budget_tokens: int | None = None
    mode: str | None = None
    encoder: str | None = None


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
    ctx: open_index.CommandContext, request: DefinitionRequest
) -> DefinitionSet:
    """The definitions to print. Notices say what was left out or renamed."""
    tool_ctx = query_execution.build_tool_context(ctx, request.mode)
    if request.is_deferred:
        return _select_deferred(ctx, tool_ctx, request)
    definitions, choice = _choose_definitions(ctx, tool_ctx, request)
    return _build_definition_set(request, definitions, choice)


def _choose_definitions(
    ctx: open_index.CommandContext,
    tool_ctx: ToolContext,
    request: DefinitionRequest,
) -> tuple[list[Definition], str]:
    """The definitions, and a word for how they were chosen."""
    if request.only:
        return tool_table.definitions_by_name(tool_ctx, request.only), "only"
    is_code = request.form in CODE_FORMATS
    # Code calls what was found; the tools that find are for a model.
    discovery = [] if is_code else _discovery_definitions(tool_ctx, request)
    if request.query.texts:
        matches = _query_definitions(ctx, tool_ctx, request)
        return _add_pinned(ctx, tool_ctx, request, discovery, matches), "query"
    if is_code:
        return tool_table.capability_definitions(tool_ctx), "static"
    if not _is_progressive(ctx, request):
        return _all_definitions(tool_ctx, request), "static"
    few = _add_pinned(ctx, tool_ctx, request, discovery, [])
    if _is_auto(ctx, request):
        return _choose_smaller(request, _all_definitions(tool_ctx, request), few)
    return few, "progressive"


def _select_deferred(
    ctx: open_index.CommandContext,
    tool_ctx: ToolContext,
    request: DefinitionRequest,
) -> DefinitionSet:
    """Everything: what fits the query or is pinned loads at once, the others when they are
    found.
    """
    from capdisc_indexer.tools import provider_formats

    matches = _query_definitions(ctx, tool_ctx, request) if request.query.texts else []
    loaded = _add_pinned(ctx, tool_ctx, request, [], matches)
    loaded_ids = {definition.id for definition in loaded}
    deferred_request = provider_formats.DeferredRequest(
        search=tool_table.search_definition(tool_ctx),
        loaded=loaded,
        deferred=[
            definition
            for definition in tool_table.capability_definitions(tool_ctx)
            if definition.id not in loaded_ids
        ],
        is_hosted=request.is_hosted,
    )
    value, names = provider_formats.defer_definitions(request.form, deferred_request)
    return DefinitionSet(
        form=request.form,
        value=value,
        names=names,
        parameters=parameter_renames(request.form, [*loaded, *deferred_request.deferred]),
        choice="deferred",
    )


def _discovery_definitions(tool_ctx: ToolContext, request: DefinitionRequest) -> list[Definition]:
    if request.is_whole:
        return tool_table.discovery_definitions(tool_ctx, hidden=True)
    # A session's list begins alike in each turn, also where one has no query.
    is_of_turn = bool(request.query.texts) or request.session is not None
    return tool_table.bridge_definitions(tool_ctx, is_of_turn)


def _all_definitions(tool_ctx: ToolContext, request: DefinitionRequest) -> list[Definition]:
    return [
        *tool_table.discovery_definitions(tool_ctx, request.is_whole),
        *tool_table.capability_definitions(tool_ctx),
    ]


def _add_pinned(
    ctx: open_index.CommandContext,
    tool_ctx: ToolContext,
    request: DefinitionRequest,
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
        if request.session is None
        else session_memory.load_ids(ctx.runtime.state_dir(), request.session)
    )
    names = [*ctx.config["pin"], *active_ids]
    pinned, missing = tool_table.pinned_definitions(tool_ctx, names)
    for name in missing:
        console.print_notice(f"notice: there is no {name}, which is to be in every list")
    found = tool_table.define_ids(tool_ctx, discovered_ids)
    offered = (*found, *matches) if request.budget_tokens is None else (*matches, *found)
    return list(
        {definition.id: definition for definition in (*discovery, *pinned, *offered)}.values()
    )


def _query_definitions(
    ctx: open_index.CommandContext,
    tool_ctx: ToolContext,
    request: DefinitionRequest,
) -> list[Definition]:
    query = query_execution.check_query(ctx, request.query)
    ranking = query_execution.rank_query(ctx, query, request.mode, request.encoder, request.gate)
    ranking = drop_hits_of_talk(ranking)
    least = query_execution.relevance_threshold(ctx, request.min_relevance)
    ids = [hit.id for hit in select_shown_hits(ranking.hits, least)]
    definitions = tool_table.define_ids(tool_ctx, ids)
    defined_ids = {definition.id for definition in definitions}
    if request.session is not None:
        session_memory.remember_printed(
            ctx.runtime,
            request.session,
            [identifier for identifier in ids if identifier in defined_ids],
        )
    if ctx.config["log"]:
        session_memory.log_event(ctx.runtime, "tools", ids, request.query.texts, request.session)
    if not_callable := [identifier for identifier in ids if identifier not in defined_ids]:
        readers: list[Definition] = []
        if request.form not in CODE_FORMATS and not request.is_deferred:
            kinds = dict.fromkeys(identifier.partition(":")[0] for identifier in not_callable)
            text = " ".join(request.query.texts)
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


def _is_progressive(ctx: open_index.CommandContext, request: DefinitionRequest) -> bool:
    """Whether to print the few tools that find the others; True with `auto`, too, where the size
    of everything decides.
    """
    if request.progressive is not None:
        return request.progressive
    return _is_auto(ctx, request) or _SWITCH_VALUES[_progressive_setting(ctx)]


def _is_auto(ctx: open_index.CommandContext, request: DefinitionRequest) -> bool:
    return request.progressive is None and (request.auto or _progressive_setting(ctx) == "auto")


def _progressive_setting(ctx: open_index.CommandContext) -> str:
    text: str = ctx.config["progressive"].strip().lower()
    if text != "auto" and text not in _SWITCH_VALUES:
        origin = ctx.config.origins["progressive"]
        raise UsageError(f"progressive is {text!r} ({origin})", "set it to on, off or auto")
    return text


def _choose_smaller(
    request: DefinitionRequest, everything: list[Definition], few: list[Definition]
) -> tuple[list[Definition], str]:
    """All definitions where they have at most `max_tokens` tokens, else the few."""
    full_set = _encode_definitions(request, everything, "static")
    tokens = load_token_counter()(console.format_json_text(full_set.value, None))
    console.print_notice(
        f"notice: all definitions have {tokens:,} tokens; {request.max_tokens:,} are allowed"
    )
    return (everything, "static") if tokens <= request.max_tokens else (few, "progressive")


def _build_definition_set(
    request: DefinitionRequest, definitions: list[Definition], choice: str
) -> DefinitionSet:
    """The definitions that fit the budget. Notices name what was left out or renamed."""
    kept_definitions = _fit_budget(request, definitions, choice)
    definition_set = _encode_definitions(request, kept_definitions, choice)
    names = definition_set.names
    changed = [
        f"{definition.id} is {names[definition.id]}"
        for definition in kept_definitions
        if names[definition.id] != definition.name
    ]
    # Our own form and code have the ids beside the names.
    if changed and request.form not in ("json", *CODE_FORMATS):
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
    request: DefinitionRequest, definitions: list[Definition], choice: str
) -> list[Definition]:
    """As many of the definitions, from the first, as fit into the budget, found by bisection.
    Raises UsageError where not even one fits.
    """
    if request.budget_tokens is None:
        return definitions
    count, budget_tokens = load_token_counter(), request.budget_tokens

    def fits(number: int) -> bool:
        definition_set = _encode_definitions(request, definitions[:number], choice)
        return count(format_definitions(definition_set) + "\n") <= budget_tokens

    fitting_number, excess_number = 0, len(definitions) + 1
    while excess_number - fitting_number > 1:
        middle = (fitting_number + excess_number) // 2
        if fits(middle):
            fitting_number = middle
        else:
            excess_number = middle
    if definitions and not fitting_number:
        raise UsageError(
            f"no definition fits into {budget_tokens:,} tokens", "give a larger --budget"
        )
    if omitted := [definition.name for definition in definitions[fitting_number:]]:
        console.print_notice(f"notice: left out to fit: {console.format_names(omitted)}")
    return definitions[:fitting_number]


def _encode_definitions(
    request: DefinitionRequest, definitions: list[Definition], choice: str
) -> DefinitionSet:
    if request.form in CODE_FORMATS:
        format_stubs = registry.load_attribute(CODE_FORMATS[request.form])
        value, names = format_stubs(request.form, definitions)
        parameters: dict[str, dict[str, str]] = {}
    else:
        value, names = encode_definitions(request.form, definitions)
        parameters = parameter_renames(request.form, definitions)
    return DefinitionSet(
        form=request.form, value=value, names=names, parameters=parameters, choice=choice
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
