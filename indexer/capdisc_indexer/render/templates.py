"""Prompts around a context: texts with $placeholders, some that come along and any that a user writes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from string import Template

from capdisc_indexer.errors import UsageError
from capdisc_indexer.frozen import frozen
from capdisc_indexer.render.layout import PARTS, USUAL
from capdisc_indexer.types import Piece

# What else a template may name: what is the same from turn to turn, and what is not.
STABLE, VARIABLE = ("tools", "model"), ("query", "date")
_FOLDER = Path(__file__).with_name("prompts")


@frozen(kw_only=True)
class Prompt:
    """A template with the name that messages call it by."""

    name: str
    text: str


def names() -> list[str]:
    """The templates that come along."""
    return sorted(path.stem for path in _FOLDER.glob("*.txt"))


def builtin(name: str) -> Prompt:
    """A template that comes along. Raises UsageError naming them all for any other."""
    if name not in names():
        raise UsageError(f"there is no template {name!r}", f"one of: {', '.join(names())}; or the path of a file")
    return Prompt(name=name, text=(_FOLDER / f"{name}.txt").read_text(encoding="utf-8"))


def laid_out(prompt: Prompt, values: Mapping[str, str], needed: Sequence[str] = ()) -> tuple[Piece, ...]:
    """The pieces of the template, `values` filled in. A template without any part of the context gets all of it at its
    end, and each of the `needed` parts that it does not name.

    Raises UsageError for a placeholder that nothing fills.
    """
    pieces = tuple(_pieces(prompt, values))
    named = {piece.part for piece in pieces} - {""}
    if not named & {"overview", "summaries", "details"}:
        return (*pieces, *_on_own_lines(piece for piece in USUAL if piece.part not in named))
    return (*pieces, *_on_own_lines(Piece(part=part, stable=False) for part in needed if part not in named))


def _on_own_lines(parts: Iterable[Piece]) -> Iterator[Piece]:
    for piece in parts:
        yield Piece(text="\n")
        yield piece


def _pieces(prompt: Prompt, values: Mapping[str, str]) -> Iterator[Piece]:
    last = 0
    for found in Template.pattern.finditer(prompt.text):
        yield Piece(text=prompt.text[last : found.start()])
        yield _filled(prompt, found.start(), found["named"] or found["braced"], bool(found["escaped"]), values)
        last = found.end()
    yield Piece(text=prompt.text[last:])


def _filled(prompt: Prompt, start: int, name: str | None, is_dollar: bool, values: Mapping[str, str]) -> Piece:
    if is_dollar:
        return Piece(text="$")
    if name in PARTS:
        return Piece(part=name, stable=name == "overview")
    if name in STABLE or name in VARIABLE:
        return Piece(text=values.get(name, ""), stable=name in STABLE)
    line = prompt.text.count("\n", 0, start) + 1
    known = ", ".join(f"${each}" for each in (*PARTS, *STABLE, *VARIABLE))
    what = f"nothing fills ${name}" if name else "a $ that names nothing"
    raise UsageError(f"template {prompt.name}, line {line}: {what}", f"placeholders: {known}; $$ is a $")
