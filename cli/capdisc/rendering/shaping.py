"""Which levels are printed, and in which format."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from pathlib import Path

from capdisc.rendering.marking import frame_key
from capdisc.rendering.typed import Shape, Typed
from capdisc_indexer.errors import UsageError
from capdisc_indexer.render import FORMATS
from capdisc_indexer.render.format import Format
from capdisc_indexer.render.layout import SPLITS
from capdisc_indexer.render.text import with_mark_key

_LEVELS = {"name": (1,), "summary": (1,), "full": (2,)}
ON_EMPTY = ("none", "all", "error")


def checked(typed: Typed) -> None:
    """Raises UsageError for a word that means nothing, and for options that do not go together."""
    shape, prompting = typed.shape, typed.prompting
    one_of("format", shape.format, FORMATS)
    one_of("detail", shape.detail, _LEVELS)
    one_of("split", shape.split or None, SPLITS)
    one_of("--on-empty", typed.request.on_empty, ON_EMPTY)
    if shape.tier and shape.detail:
        raise UsageError("--tier and --detail exclude each other", "give one of them")
    levels(shape)
    whole = {"--split": shape.split, "--template": prompting.template, "--style": prompting.has_style}
    whole |= {"--append": prompting.append, "--session": prompting.session, "--auto": prompting.auto}
    if shape.format == "skills-xml" and (wrong := [name for name, value in whole.items() if value]):
        raise UsageError(f"{wrong[0]} does not go with skills-xml", "choose another format")


def one_of(what: str, value: str | None, known: Collection[str]) -> None:
    """Raises UsageError where a value is given that is none of these."""
    if value is not None and value not in known:
        raise UsageError(f"unknown {what} {value!r}", f"one of: {', '.join(known)}")


def levels(shape: Shape) -> tuple[int, ...]:
    """The tiers that were asked for. Raises UsageError for one that there is not."""
    if shape.detail:
        return _LEVELS[shape.detail]
    tiers = {part.strip() for part in (shape.tier or "0,1,2").split(",")}
    if tiers - {"0", "1", "2"}:
        raise UsageError(f"unknown tier {shape.tier!r}", "give 0, 1, 2 or several: --tier 1,2")
    return tuple(sorted(int(tier) for tier in tiers))


def form_of(shape: Shape, state_dir: Path) -> Format:
    """The format, with the hint that was asked for and with marks that this user's state folder has the secret of."""
    form = with_mark_key(FORMATS[shape.format], cache(lambda: frame_key(state_dir)))
    if shape.hint is None:
        return form
    from capdisc_indexer.render.hints import HINTS, hinted

    one_of("hint", shape.hint, HINTS)
    return hinted(form, shape.hint)
