"""Contexts made by chance, with every format, part and kind of prompt: each keeps its budget, and none has
an empty tier that had room. A release asks for CAPDISC_RENDER_ROUNDS=1000.
"""

from __future__ import annotations

import io
import os
import random
import shutil
from contextlib import redirect_stderr
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from adopting import adopt

from capdisc.args import params
from capdisc.context import open_index
from capdisc.render.context import build_context, build_render_inputs
from capdisc.render.render_context import RenderContext, prepare_render
from capdisc.render.render_options import RenderOptions
from capdisc_indexer.indexing.pipeline import build_index
from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.model.frozen import replace
from capdisc_indexer.model.types import Block, BuildOptions, Context, Tier
from capdisc_indexer.rendering.capability_text import detail_text, fields_text, name_line
from capdisc_indexer.rendering.excerpt import split_units
from capdisc_indexer.rendering.render_format import CLIPPED_MARK, LEFT_OUT_MARK
from capdisc_indexer.rendering.token_accounting import (
    location_lines,
)
from capdisc_indexer.rendering.truncation import MIN_DETAIL_TOKENS
from capdisc_indexer.text.location import locate
from capdisc_indexer.text.normalization import one_line
from capdisc_indexer.text.token_counts import find_tokenizer, split_chunks
from capdisc_sessions import session_files as sessions
from case_rows import read_rows
from conftest import CATALOGS
from product_lists import RENDER_FORMATS

SEED = int(os.environ.get("CAPDISC_SEED", "1"))
ROUNDS = int(os.environ.get("CAPDISC_RENDER_ROUNDS", "60"))
# Fitting adds the counts of parts, which may be some tokens more than the count of the whole.
_SPARE = 8
CHOICES, FRAMED_CHOICES = read_rows(__file__, "choices"), read_rows(__file__, "framed")


@dataclass(frozen=True, slots=True)
class World:
    """Where contexts are made from: an index, a session that its state folder knows, texts to add."""

    index: Path
    session: str
    texts: tuple[Path, ...]
    templates: tuple[Path, ...]


def fault(rng: random.Random, world: World) -> str:
    """What is wrong with one context made by chance; empty when nothing is."""
    typed, filters = _typed(rng, world), _filters(rng)
    with redirect_stderr(io.StringIO()), open_index.open_index(world.index) as asked:
        try:
            desk = prepare_render(asked, typed, filters)
            made = build_context(desk)
        except UsageError as error:
            return (
                ""
                if "too small" in error.message or "the request alone" in error.message
                else f"{error.message}"
            )
        told = _over(desk, made) or _empty(desk, made)
    return f"{told}: {typed}" if told else ""


def _over(desk: RenderContext, made: Context) -> str:
    count = find_tokenizer(desk.options.tokenizer or "o200k").load()
    tokens, total = count(desk.form.format_context(desk.form, made)), made.budgets.total
    if tokens > total:
        return f"{tokens} tokens of {total}"
    if tokens != made.tokens and not desk.options.split:
        return f"{tokens} tokens, not the {made.tokens} that it claims"
    caps = (made.budgets.tier0, made.budgets.tier1, made.budgets.tier2, made.budgets.memory)
    over = [tier.level for tier in made.tiers if tier.level < 4 and tier.tokens > caps[tier.level]]
    return f"tiers {over} over their own budget" if over else ""


def _empty(desk: RenderContext, made: Context) -> str:
    """Which tier is empty though the least that it can hold has room."""
    given = build_render_inputs(desk)
    for tier in (tier for tier in made.tiers if tier.level in (1, 2) and not tier.blocks):
        count = given.summaries if tier.level == 1 else given.details
        wanted = islice(given.descriptors, count)
        blocks = [
            _block(desk, d, tier.level, given.note(d)) for d in wanted if desk.form.suits(d.kind)
        ]
        if any(
            _has_room(desk, made, tier, block)
            for block in blocks
            if tier.level == 1 or block.tokens >= MIN_DETAIL_TOKENS
        ):
            return f"tier {tier.level} is empty"
    return ""


def _least(desk: RenderContext, d, level: int, note: str) -> str:
    """A line with the name alone, or a detail with its fields alone."""
    form, place = desk.form, locate(d, desk.ctx.runtime.path_base)
    if level == 1:
        shortened = replace(d, description=one_line(d.description, 50))
        return form.summary(shortened, name_line(d), place.path) + form.location(place.path)
    text, label = detail_text(d), one_line(d.id, 100)
    pieces = split_chunks(text)
    fields = next(iter(split_units(text, len(fields_text(d)), pieces, [1] * len(pieces))))
    lead = [*([f"{note}\n"] if note else []), *location_lines(place)]
    end = [LEFT_OUT_MARK, CLIPPED_MARK.format(id=d.id)]
    inside = "".join(map(form.chunk, [*lead, *([] if fields.level else [fields.text]), *end]))
    return form.frame_open(label, text) + inside + form.frame_close(label, text)


def _block(desk: RenderContext, d, level: int, note: str) -> Block:
    text = _least(desk, d, level, note)
    return Block(id=d.id, text=text, tokens=desk.counter.exact(text))


def _has_room(desk: RenderContext, made: Context, tier: Tier, block: Block) -> bool:
    exact, form = desk.counter.exact, desk.form
    cap = {1: made.budgets.tier1, 2: made.budgets.tier2}[tier.level]
    own = exact(form.headings[tier.level]) + block.tokens + exact(form.endings[tier.level])
    tiers = tuple(replace(each, blocks=(block,)) if each is tier else each for each in made.tiers)
    # One half of a split has the room that it would have beside the other.
    fuller = replace(
        made, tiers=tiers, printing=replace(made.printing, split=made.printing.split and "both")
    )
    return own <= cap and exact(form.format_context(form, fuller)) <= made.budgets.total - _SPARE


def _typed(rng: random.Random, world: World) -> RenderOptions:
    form = rng.choice(RENDER_FORMATS)
    given = {name: rng.choice(values) for name, values in CHOICES.items()}
    given |= {
        "words": [given["words"]],
        "format": form,
        "tier": None if given["detail"] else given["tier"],
        "budget": given["budget"] + rng.randrange(90),
        "tier_budget": given["tier_budget"].format(rng.randrange(250), rng.randrange(900)),
        "tier_top": given["tier_top"].format(rng.randrange(1, 20), rng.randrange(1, 6)),
    }
    if form != "skills-xml":
        framed = {name: rng.choice(values) for name, values in FRAMED_CHOICES.items()}
        given |= framed.pop("style") | framed
        given["template"] = rng.choice([*[framed["template"]] * 7, *map(str, world.templates)])
        given["append"] = [str(path) for path in world.texts if rng.random() < 0.3]
        given["session"] = world.session if framed["session"] else None
    return RenderOptions(mode="lexical", **given)


def _filters(rng: random.Random) -> params.Filters:
    return params.Filters(max_risk=rng.choice(("", "", "medium")), available=rng.random() < 0.1)


def _world(folder) -> World:
    shutil.copytree(CATALOGS / "small", folder / "caps")
    (folder / "caps" / "guidance").mkdir()
    for category in ("finance", "documents", "calendar", "general"):
        lines = "".join(
            f"{n}. Look at step {n} of {category} before the next.\n" for n in range(1, 30)
        )
        (folder / "caps" / "guidance" / f"{category}.md").write_text(
            f"# How {category} goes\n\n{lines}"
        )
    (folder / "caps" / "long").mkdir()
    long = f"name: long\nkind: tool\ndescription: Merges PDF invoices.\ntitle: {'PDF ' * 900}\n"
    (folder / "caps" / "long" / "CAPABILITY.yaml").write_text(long)
    build_index([folder / "caps"], folder / "index", BuildOptions())
    state = folder / "state"
    sessions.record_discoveries(
        state, "trip", ["tool:send-invoice", "skill:merge-pdfs", "tool:create-event"]
    )
    sessions.update_session(state, "trip", lambda last: replace(last, active=("tool:git-status",)))
    texts = (folder / "note.md", folder / "slash.txt")
    templates = (folder / "own.txt", folder / "none.txt")
    texts[0].write_text("Invoices are sent on Fridays.\n" * 40)
    texts[1].write_text("/etc is not to be touched.\n\n\n/var neither")
    templates[0].write_text("A $$ and $query.\n$details\nThen:\n$overview$memory\nThe end, $date")
    templates[1].write_text("Nothing of it is named here.")
    return World(folder / "index", "trip", texts, templates)


def test_no_context_is_over_its_budget_and_no_tier_that_has_room_is_empty(
    tmp_path, monkeypatch
) -> None:
    rng = random.Random(SEED)
    world = _world(tmp_path)
    monkeypatch.setenv("CAPDISC_STATE_DIR", str(tmp_path / "state"))
    adopt(world.index)
    for number in range(ROUNDS):
        told = fault(rng, world)
        assert not told, f"seed {SEED}, round {number}: {told}"
