"""Prompts around a context: texts with $placeholders, some that come along and any that a user
writes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Any, Protocol, TypeAlias

from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.model.frozen import field, frozen
from capdisc_indexer.model.types import (
    Block,
    Budgets,
    Descriptor,
    LayoutPiece,
    PrintOptions,
    Ranking,
)
from capdisc_indexer.rendering.formats.format import RenderFormat
from capdisc_indexer.rendering.layout import DEFAULT_LAYOUT, LAYOUT_PARTS
from capdisc_indexer.rendering.token_accounting import missing_note
from capdisc_indexer.text.token_counts import TokenCounter

# What the tiers are made from, and with what.

TOP_SUMMARIES = 5
TOP_DETAILS = 2
# Gives the lines of a session's memory that fit so many tokens, counted by the function.
SessionMemory: TypeAlias = Callable[[int, Callable[[str], int]], Sequence[str]]


class Descriptors(Protocol):
    """Capabilities that can be walked through several times, and counted; they need not be in
    memory.
    """

    def __iter__(self) -> Iterator[Descriptor]: ...

    def __len__(self) -> int: ...


@frozen(kw_only=True)
class Guidance:
    """How the capabilities of a category are used together."""

    category: str
    text: str


@frozen(kw_only=True)
class RenderInputs:
    """What the tiers are made from: overview lines, long to short, and the capabilities, best
    first (`summaries` or `details` None: each of them; where `summaries` is None, none of
    `pinned_summaries` is among them).

    `pinned_summaries` have the first lines of tier 1 and `pinned` are shown in full before those,
    whatever fits; `missing` names what each capability lacks here, `guidance` is by category in
    one case, `appended` are the caller's own texts. With `ids_only` tier 1 has ids alone, with
    `hints` usage hints, too; with `equal_shares` the details share their room, each with
    `max_tokens_each` tokens at most (0: no limit).
    """

    overview: Sequence[Mapping[str, Any]]
    descriptors: Descriptors
    levels: tuple[int, ...] = (0, 1, 2)
    summaries: int | None = TOP_SUMMARIES
    details: int | None = TOP_DETAILS
    pinned_summaries: Sequence[Descriptor] = ()
    pinned: Sequence[Descriptor] = ()
    missing: Mapping[str, Sequence[str]] = field(default_factory=dict)
    guidance: Mapping[str, Guidance] = field(default_factory=dict)
    memory: SessionMemory | None = None
    appended: Sequence[str] = ()
    ids_only: bool = False
    hints: bool = False
    equal_shares: bool = False
    max_tokens_each: int = 0

    def note(self, descriptor: Descriptor) -> str:
        """What is said of secrets and programs that are missing; empty when none is."""
        return missing_note(self.missing.get(descriptor.id, ()))


@frozen(kw_only=True)
class RenderJob:
    """One context to be made. `full_tokens` fills with the tokens of details in full, by id: a fit
    that is searched for by bisection asks for all of them again in each step, which took 6 s for
    1,800 capabilities.
    """

    inputs: RenderInputs
    ranking: Ranking
    form: RenderFormat
    budgets: Budgets
    counter: TokenCounter
    printing: PrintOptions
    full_tokens: dict[str, int] = field(default_factory=dict)

    def block(self, identifier: str, text: str) -> Block:
        """The text with its count."""
        return Block(id=identifier, text=text, tokens=self.counter.count(text))


# Which style of prompt a model needs. The names are in models.toml beside this file.

STYLE_NAMES = ("auto", "tools", "full")
_OPPOSITE = {"tools": "full", "full": "tools"}


@frozen(kw_only=True)
class PromptStyle:
    """The style of a prompt, "tools" or "full", for a model ("" when none was named), and why."""

    name: str
    reason: str
    model: str = ""

    @property
    def use_tools(self) -> bool:
        """Whether the model is to find capabilities by itself."""
        return self.name == "tools"


def select_style(model: str, requested: str = "auto") -> PromptStyle:
    """The style for a model of this name; any but "auto" is taken as it is wanted, and the reason
    says so.

    >>> select_style("claude-2.1").name, select_style("gpt-4o").name, select_style("foo").reason
    ('full', 'tools', 'unknown model')
    """
    name, reason = _find_style(model) if model else ("tools", "no model was named")
    if requested == "auto":
        return PromptStyle(name=name, reason=reason, model=model)
    against = (
        f", against what is known of the model ({reason})"
        if model and _OPPOSITE[requested] == name
        else ""
    )
    return PromptStyle(name=requested, reason=f"asked for{against}", model=model)


def _find_style(model: str) -> tuple[str, str]:
    table, lowered = _load_models(), model.lower()
    if pattern := next((part for part in table["legacy"] if part in lowered), None):
        return "full", f"{pattern} has no tools"
    if pattern := next((part for part in table["tools"] if part in lowered), None):
        return "tools", f"{pattern} has tools"
    return "tools", "unknown model"


def _load_models() -> dict[str, Any]:
    import tomllib

    return tomllib.loads(Path(__file__).with_name("models.toml").read_text(encoding="utf-8"))


# What else a template may name: what is the same from turn to turn, and what is not.
STABLE, VARIABLE = ("tools", "model"), ("query", "date")
_PROMPTS_FOLDER = Path(__file__).with_name("prompts")


@frozen(kw_only=True)
class PromptTemplate:
    """A template with the name that messages call it by."""

    name: str
    text: str


def list_templates() -> list[str]:
    """The templates that come along."""
    return sorted(path.stem for path in _PROMPTS_FOLDER.glob("*.txt"))


def load_builtin(name: str) -> PromptTemplate:
    """A template that comes along. Raises UsageError naming them all for any other."""
    if name not in list_templates():
        raise UsageError(
            f"there is no template {name!r}",
            f"one of: {', '.join(list_templates())}; or the path of a file",
        )
    return PromptTemplate(
        name=name, text=(_PROMPTS_FOLDER / f"{name}.txt").read_text(encoding="utf-8")
    )


def fill_template(
    prompt: PromptTemplate, values: Mapping[str, str], required_parts: Sequence[str] = ()
) -> tuple[LayoutPiece, ...]:
    """The pieces of the template, `values` filled in. A template without any part of the context
    gets all of it at its end, and each of the `required_parts` parts that it does not name.

    Raises UsageError for a placeholder that nothing fills.
    """
    pieces = tuple(_parse_pieces(prompt, values))
    present_parts = {piece.part for piece in pieces} - {""}
    if not present_parts & {"overview", "summaries", "details"}:
        return (
            *pieces,
            *_put_on_own_lines(
                piece for piece in DEFAULT_LAYOUT if piece.part not in present_parts
            ),
        )
    return (
        *pieces,
        *_put_on_own_lines(
            LayoutPiece(part=part, stable=False)
            for part in required_parts
            if part not in present_parts
        ),
    )


def _put_on_own_lines(parts: Iterable[LayoutPiece]) -> Iterator[LayoutPiece]:
    for piece in parts:
        yield LayoutPiece(text="\n")
        yield piece


def _parse_pieces(prompt: PromptTemplate, values: Mapping[str, str]) -> Iterator[LayoutPiece]:
    end = 0
    for match in Template.pattern.finditer(prompt.text):
        yield LayoutPiece(text=prompt.text[end : match.start()])
        yield _fill_placeholder(
            prompt, match.start(), match["named"] or match["braced"], bool(match["escaped"]), values
        )
        end = match.end()
    yield LayoutPiece(text=prompt.text[end:])


def _fill_placeholder(
    prompt: PromptTemplate, start: int, name: str | None, is_dollar: bool, values: Mapping[str, str]
) -> LayoutPiece:
    if is_dollar:
        return LayoutPiece(text="$")
    if name in LAYOUT_PARTS:
        return LayoutPiece(part=name, stable=name == "overview")
    if name in STABLE or name in VARIABLE:
        return LayoutPiece(text=values.get(name, ""), stable=name in STABLE)
    line = prompt.text.count("\n", 0, start) + 1
    placeholders = ", ".join(f"${name}" for name in (*LAYOUT_PARTS, *STABLE, *VARIABLE))
    problem = f"nothing fills ${name}" if name else "a $ that names nothing"
    raise UsageError(
        f"template {prompt.name}, line {line}: {problem}",
        f"placeholders: {placeholders}; $$ is a $",
    )
