"""Checks the options of `render`, and selects the tiers and the format that they name."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection
from functools import cache
from pathlib import Path

from capdisc.output import console
from capdisc.render.render_options import LayoutOptions, RenderOptions
from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.platforms import system
from capdisc_indexer.rendering.formats import find_format
from capdisc_indexer.rendering.formats.format import RenderFormat
from capdisc_indexer.rendering.formats.text import MARK_KEY_BYTES, with_mark_key
from capdisc_indexer.rendering.layout import SPLIT_MODES

# The marks of frames are made with a secret of this user, which is kept so that prompts begin
# alike.

KEY_NAME = "frame.key"


def frame_key(folder: Path) -> bytes:
    """The secret of 32 bytes in the user's state folder, made on first use. Where it cannot be
    kept, another one for each print, after a notice: no prompt cache finds such a prompt again.
    """
    path = folder / KEY_NAME
    if key := _read_key(path):
        return key
    from capdisc_indexer.model.errors import CapdiscError

    try:
        return _make_key(path)
    except CapdiscError as error:
        console.print_notice(
            f"notice: the marks around texts differ from prompt to prompt: {error.message}"
        )
        console.print_notice(f"hint: {error.hint}")
        return os.urandom(MARK_KEY_BYTES)


def _read_key(path: Path) -> bytes:
    """The secret; b"" where there is none that only this user could write and read."""
    try:
        handle = system.open_file(path)
    except OSError:
        return b""
    try:
        status = os.fstat(handle)
        is_private = stat.S_ISREG(status.st_mode) and not system.can_others_read(status)
        key = (
            os.read(handle, MARK_KEY_BYTES + 1)
            if is_private and status.st_uid == system.own_user()
            else b""
        )
    except OSError:
        return b""
    finally:
        os.close(handle)
    return key if len(key) == MARK_KEY_BYTES else b""


def _make_key(path: Path) -> bytes:
    from capdisc_indexer.store import state_file

    with state_file.lock_folder(path.parent):
        # Another process may have been faster.
        key = _read_key(path)
        if not key:
            key = os.urandom(MARK_KEY_BYTES)
            state_file.replace_state_file(path, key)
    return key


DETAIL_LEVELS = {"name": (1,), "summary": (1,), "full": (2,)}
ON_EMPTY = ("none", "all", "error")


def check_options(options: RenderOptions) -> None:
    """Raises UsageError for an unknown value, and for options that do not go together."""
    shape, prompting = options.shape, options.prompting
    form = find_format(shape.format)
    check_choice("detail", shape.detail, DETAIL_LEVELS)
    check_choice("split", shape.split or None, SPLIT_MODES)
    check_choice("--on-empty", options.request.on_empty, ON_EMPTY)
    if shape.tier and shape.detail:
        raise UsageError("--tier and --detail exclude each other", "give one of them")
    parse_levels(shape)
    incompatible = {
        "--split": shape.split,
        "--template": prompting.template,
        "--style": prompting.has_style,
    }
    incompatible |= {
        "--append": prompting.append,
        "--session": prompting.session,
        "--auto": prompting.auto,
    }
    if form.is_fixed_form and (
        conflicting := [name for name, value in incompatible.items() if value]
    ):
        raise UsageError(
            f"{conflicting[0]} does not go with {shape.format}", "choose another format"
        )


def check_choice(option: str, value: str | None, choices: Collection[str]) -> None:
    """Raises UsageError where the value is not None and none of the choices."""
    if value is not None and value not in choices:
        from capdisc_indexer.text.similar_names import unknown_choice

        raise unknown_choice(option, value, choices)


def parse_levels(shape: LayoutOptions) -> tuple[int, ...]:
    """The tiers that the options name. Raises UsageError for an unknown tier."""
    if shape.detail:
        return DETAIL_LEVELS[shape.detail]
    tiers = {part.strip() for part in (shape.tier or "0,1,2").split(",")}
    if tiers - {"0", "1", "2"}:
        raise UsageError(f"unknown tier {shape.tier!r}", "give 0, 1, 2 or several: --tier 1,2")
    return tuple(sorted(int(tier) for tier in tiers))


def select_format(shape: LayoutOptions, state_dir: Path) -> RenderFormat:
    """The format with the hint that the options name, and with frame marks of this user's secret."""
    form = with_mark_key(find_format(shape.format), cache(lambda: frame_key(state_dir)))
    if shape.hint is None:
        return form
    from capdisc_indexer.rendering.layout import OVERVIEW_HINTS, with_hint

    check_choice("hint", shape.hint, OVERVIEW_HINTS)
    return with_hint(form, shape.hint)
