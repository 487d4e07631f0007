"""What `render` reports besides a context: facts for formats of data, and notices on stderr."""

from __future__ import annotations

from functools import cache
from pathlib import PurePath

from capdisc.context.query_execution import (
    decision_document,
    describe_refusal,
    format_decision,
    print_unmatched,
)
from capdisc.output import console
from capdisc.render.relevant_capabilities import RelevantCapabilities
from capdisc.render.render_context import RenderContext
from capdisc_indexer.model.frozen import shallow_dict
from capdisc_indexer.model.json_types import JsonObject
from capdisc_indexer.model.types import Context, Descriptor, Hit, Ranking
from capdisc_indexer.rendering.formats.json_format import ResultFacts
from capdisc_indexer.rendering.formats.text import imitates_frame
from capdisc_indexer.rendering.render_format import APPENDED, MEMORY
from capdisc_indexer.text.location import Location, locate
from capdisc_indexer.text.normalization import one_line


def build_context_facts(render_ctx: RenderContext) -> JsonObject:
    """The facts that a format with `needs_facts` prints: costs, style, catalogue mode and, with
    `--diagnostics`, times and the gate's parts; `results` gives the facts of a capability by its
    id.
    """
    relevant, with_diagnostics = render_ctx.relevant, render_ctx.options.diagnostics
    mode, style, preload = (
        render_ctx.catalogue_mode,
        render_ctx.catalogue_mode.style,
        render_ctx.preload,
    )
    facts: JsonObject = {
        "static_tokens": mode.static_tokens,
        "results": _result_facts(render_ctx),
        "gate": decision_document(relevant.ranking.gate, with_diagnostics),
    }
    if style:
        facts |= {"style": style.name, "use_tools": style.use_tools, "reason": style.reason}
        if style.model:
            facts["model"] = one_line(style.model, 80)
    if preload.ids:
        facts["preload"] = {"ids": preload.ids, "cached": preload.is_cached}
    if working_mode := render_ctx.working_mode:
        facts["working_mode"] = shallow_dict(working_mode)
    if mode.allowed_tokens is not None:
        facts |= {"disclosure": mode.choice, "allowed_tokens": mode.allowed_tokens}
    if with_diagnostics:
        facts["diagnostics"] = query_diagnostics(relevant.ranking)
    return facts


def _result_facts(render_ctx: RenderContext) -> ResultFacts:
    """A function from an id to how well that capability fits, and where it comes from."""
    relevant, workspace = render_ctx.relevant, render_ctx.ctx.runtime.path_base
    hits = {hit.id: hit for hit in relevant.ranking.hits}
    stored = {d.id: d for d, _ in (*render_ctx.pinned, *relevant.stored)}

    @cache  # a fit by bisection asks for the same in each step
    def find_facts(identifier: str) -> JsonObject:
        descriptor = stored.get(identifier)
        if descriptor is None and relevant.catalogue_reader:
            descriptor = relevant.catalogue_reader.get(identifier)
        if descriptor is None:
            return {}
        return {
            **_hit_facts(hits.get(identifier)),
            **({"warnings": list(descriptor.warnings)} if descriptor.warnings else {}),
            "source": _relative_path(descriptor),
            **_location_facts(locate(descriptor, workspace)),
        }

    return find_facts


def _hit_facts(hit: Hit | None) -> JsonObject:
    if hit is None:
        return {}
    facts: JsonObject = {"relevance": round(hit.relevance, 4)}
    return {**facts, "via": hit.via} if hit.via else facts


def _location_facts(location: Location) -> JsonObject:
    folder = {"folder": location.folder} if location.folder else {}
    return {"path": location.path, **folder}


def _relative_path(descriptor: Descriptor) -> str:
    """The path of the file below its root, which does not depend on where the root lies."""
    path, root = PurePath(descriptor.source.path), descriptor.source.root
    below = path.relative_to(root) if root and path.is_relative_to(root) else PurePath(path.name)
    return one_line(below.as_posix(), 120) if below.parts else path.name


def query_diagnostics(ranking: Ranking) -> dict[str, float]:
    """The times of the query's stages in milliseconds, and how many candidates were scored."""
    times = ranking.timings
    stages = {
        "rankingTimeMs": "ranking",
        "embeddingTimeMs": "vectors",
        "graphTraversalTimeMs": "graph",
    }
    return {
        "queryTimeMs": round(sum(time for name, time in times.items() if name != "vectors"), 2),
        **{label: round(times.get(name, 0.0), 2) for label, name in stages.items()},
        "candidatesScanned": ranking.candidates,
        "capabilitiesRetrieved": len(ranking.hits),
    }


_SECTION_NAMES = {MEMORY: "session memory", APPENDED: "appended text"}


def print_notices(render_ctx: RenderContext, context: Context) -> None:
    """Print what does not fit the query or the budget, and which catalogue mode was chosen."""
    relevant, mode = render_ctx.relevant, render_ctx.catalogue_mode
    if relevant.is_empty and not mode.is_full:
        console.print_notice(
            f"notice: {describe_refusal(relevant.ranking)}{_fallback_note(relevant, context)}"
        )
    else:
        print_unmatched(relevant.ranking)
    if mode.allowed_tokens is not None:
        printed = "all is printed" if mode.is_full else "a part is printed"
        console.print_notice(
            f"notice: all capabilities have {mode.static_tokens:,} tokens, {mode.allowed_tokens:,} are allowed: {printed}"
        )
    style = mode.style
    if style and style.model and (style.reason == "unknown model" or "against" in style.reason):
        console.print_notice(f"notice: style {style.name} for {style.model}: {style.reason}")
    _print_warnings(relevant, context)
    _print_imitations(context)
    _print_shortened(context)


def _print_warnings(relevant: RelevantCapabilities, context: Context) -> None:
    printed = {block.id for tier in context.tiers for block in tier.blocks}
    names = [
        f"{d.id} ({', '.join(d.warnings)})"
        for d, _ in relevant.stored
        if d.warnings and d.id in printed
    ]
    if names:
        console.print_notice(f"notice: review before use: {console.format_names(names)}")


def _print_imitations(context: Context) -> None:
    blocks = [block for tier in context.tiers if tier.level == 2 for block in tier.blocks]
    names = [block.id for block in blocks if imitates_frame(block.text)]
    if names:
        console.print_notice(
            f"notice: the text of {console.format_names(names)} holds lines that look like the frame around it"
        )
        console.print_notice(
            "hint: only the mark behind a name tells a frame; capdisc validate --rule markup-breakout"
        )


def print_nothing_fits(relevant: RelevantCapabilities) -> None:
    """Print that nothing fits, for `--on-empty error`."""
    console.print_notice(describe_refusal(relevant.ranking))


def _fallback_note(relevant: RelevantCapabilities, context: Context) -> str:
    if not any(tier.blocks for tier in context.tiers):
        return ""
    if relevant.is_whole_catalogue:
        return "; printed every capability"
    if all(tier.level == 0 for tier in context.tiers if tier.blocks):
        return "; printed the overview alone"
    return "; printed the overview, and what is pinned or active"


def _print_shortened(context: Context) -> None:
    for tier in context.tiers:
        name = _SECTION_NAMES.get(tier.level, f"tier {tier.level}")
        for verb, clipped in (("cut", True), ("left out", False)):
            names = [
                f"{block.id} ({block.tokens:,} tokens)"
                for block in tier.dropped
                if block.clipped is clipped
            ]
            unnamed = 0 if clipped else tier.omitted
            if unnamed and not names:
                lines = console.format_count(unnamed, "short line")
                console.print_notice(f"notice: {name}: left out to fit: {lines}")
            elif names:
                console.print_notice(
                    f"notice: {name}: {verb} to fit: {console.format_names(names, unnamed=unnamed)}"
                )


def print_timings(relevant: RelevantCapabilities) -> None:
    """Print the times of the query's stages, and what the gate went by."""
    if relevant.ranking.gate:
        console.print_notice(format_decision(relevant.ranking.gate))
    console.print_notice(
        "  ".join(
            f"{name} {value:g}" for name, value in query_diagnostics(relevant.ranking).items()
        )
    )
