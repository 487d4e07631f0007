"""What a context is made from, which style of prompt a model needs, and the templates of prompts.

A template is a text with $placeholders for the parts of a context. Some are built in; users write
others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any, Protocol, TypeAlias, TypedDict

from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.model.frozen import field, frozen
from capdisc_indexer.model.json_types import CategoryRecord
from capdisc_indexer.model.types import (
    Block,
    Budgets,
    Descriptor,
    LayoutPiece,
    PrintOptions,
    Ranking,
)
from capdisc_indexer.rendering.capability_text import (
    availability_note,
)
from capdisc_indexer.rendering.formats.format import RenderFormat
from capdisc_indexer.rendering.layout import DEFAULT_LAYOUT, LAYOUT_PARTS
from capdisc_indexer.text.location import Location, locate
from capdisc_indexer.text.token_counts import TokenCounter

# Tier 1 has so many lines at most, the first of them in full. Over ten judged sets 30 lines, without
# those that `select_context_hits` leaves out, hold 1.6 points more of the right answers than 20
# for 110 tokens more, and 11 points more than 5 lines.
TOP_SUMMARIES, FULL_SUMMARIES = 30, 5
TOP_DETAILS = 2
# So many tokens of a budget are for the first lines, and the sections of the best capability that
# fit, before the overview or short lines get any.
ANSWER_TOKENS = 500
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
    """What the tiers are made from.

    - `overview`: the categories, each with its lines from long to short.
    - `descriptors`: the capabilities, best first; `summaries` and `details` are how many of them
      tiers 1 and 2 take (None: all). Where `summaries` is None, none of `pinned_summaries` is
      among them.
    - `pinned_summaries` have the first lines of tier 1, and `pinned` are shown in full before the
      hits, whatever the query.
    - `missing`: what each capability lacks here, by id. `guidance`: by category in lower case.
      `appended`: the caller's own texts.
    - `full_summaries`: how many lines of tier 1 are as long as the description needs; those after
      them are short (None: all are long).
    - `ids_only`: tier 1 has ids alone. `hints`: it has usage hints, too.
    - `equal_shares`: the capabilities of tier 2 share it equally, each with at most
      `max_tokens_each` tokens (0: no limit).
    - `workspace`: paths of files below it are printed relative to it.
    """

    overview: Sequence[CategoryRecord]
    descriptors: Descriptors
    levels: tuple[int, ...] = (0, 1, 2)
    summaries: int | None = TOP_SUMMARIES
    details: int | None = TOP_DETAILS
    full_summaries: int | None = FULL_SUMMARIES
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
    workspace: PurePath | None = None

    def note(self, descriptor: Descriptor) -> str:
        """The note on a capability that is switched off, or on secrets and programs that are missing
        here; empty when nothing is.
        """
        return availability_note(self.missing.get(descriptor.id, ()), descriptor.available)


@frozen(kw_only=True)
class RenderJob:
    """One context to assemble. `in_full` are the ids whose text tier 2 prints, so that tier 1 only
    points to it (None: tier 2 is not built yet).

    The other fields are caches, since a fit by bisection asks for the same in each step:
    `full_tokens` has the tokens of capabilities in full by id, which took 6 s for 1,800
    capabilities; `lines` the blocks of lines by id, kind and whether tier 2 has it; `locations` by id;
    `texts` what an excerpt is chosen from, by id and guidance.
    """

    inputs: RenderInputs
    ranking: Ranking
    form: RenderFormat
    budgets: Budgets
    counter: TokenCounter
    printing: PrintOptions
    full_tokens: dict[str, int] = field(default_factory=dict)
    in_full: frozenset[str] | None = None
    lines: dict[tuple[str, str, str], list[Block]] = field(default_factory=dict)
    locations: dict[str, Location] = field(default_factory=dict)
    texts: dict[tuple[str, str], Any] = field(default_factory=dict)

    def block(self, identifier: str, text: str) -> Block:
        """The text with its count."""
        return Block(id=identifier, text=text, tokens=self.counter.count(text))

    def location(self, descriptor: Descriptor) -> Location:
        """Where the capability lies, for the reader of this context."""
        location = self.locations.get(descriptor.id)
        if location is None:
            location = self.locations[descriptor.id] = locate(descriptor, self.inputs.workspace)
        return location


# Which style of prompt a model needs. The parts of model names are in models.toml beside this
# file.

STYLE_NAMES = ("auto", "tools", "full")
_OPPOSITE = {"tools": "full", "full": "tools"}


@frozen(kw_only=True)
class PromptStyle:
    """The style of a prompt, "tools" or "full", for a model ("": none was named), and the reason
    for it.
    """

    name: str
    reason: str
    model: str = ""

    @property
    def use_tools(self) -> bool:
        """Whether the prompt is short and the model finds capabilities by tools."""
        return self.name == "tools"


def select_style(model: str, requested: str = "auto") -> PromptStyle:
    """The style for a model of this name. Any `requested` but "auto" is used as it is, and the
    reason says so.

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


class _ModelTable(TypedDict):
    """Parts of the names of models, by style."""

    legacy: list[str]
    tools: list[str]


def _load_models() -> _ModelTable:
    import tomllib

    text = Path(__file__).with_name("models.toml").read_text(encoding="utf-8")
    table: _ModelTable = tomllib.loads(text)  # type: ignore[assignment]
    return table


# Placeholders beside the parts of a context: those that stay the same from turn to turn, and those
# that change.
STABLE, VARIABLE = ("tools", "model"), ("query", "date")
_PROMPTS_FOLDER = Path(__file__).with_name("prompts")


@frozen(kw_only=True)
class PromptTemplate:
    """A template, and the name that messages call it by."""

    name: str
    text: str


def list_templates() -> list[str]:
    """The names of the built-in templates."""
    return sorted(path.stem for path in _PROMPTS_FOLDER.glob("*.txt"))


def load_builtin(name: str) -> PromptTemplate:
    """The built-in template of this name. Raises UsageError, which lists them, for another."""
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
    """The pieces of the template, with `values` filled in. Its end gets each of the
    `required_parts` that it does not name, and the whole context where it names no part of that.

    Raises UsageError for an unknown placeholder.
    """
    pieces = tuple(_parse_pieces(prompt, values))
    present_parts = {piece.part for piece in pieces} - {""}
    if present_parts & {"overview", "summaries", "details"}:
        candidates = tuple(LayoutPiece(part=part, stable=False) for part in required_parts)
    else:
        candidates = DEFAULT_LAYOUT
    missing_parts = (piece for piece in candidates if piece.part not in present_parts)
    return (*pieces, *_put_on_own_lines(missing_parts))


def _put_on_own_lines(parts: Iterable[LayoutPiece]) -> Iterator[LayoutPiece]:
    for piece in parts:
        yield LayoutPiece(text="\n")
        yield piece


def _parse_pieces(prompt: PromptTemplate, values: Mapping[str, str]) -> Iterator[LayoutPiece]:
    from string import Template  # 0.5 ms that a context without a template does not need

    end = 0
    for match in Template.pattern.finditer(prompt.text):
        yield LayoutPiece(text=prompt.text[end : match.start()])
        yield _fill_placeholder(
            prompt,
            match.start(),
            match["named"] or match["braced"],
            bool(match["escaped"]),
            values,
        )
        end = match.end()
    yield LayoutPiece(text=prompt.text[end:])


def _fill_placeholder(
    prompt: PromptTemplate,
    start: int,
    name: str | None,
    is_dollar: bool,
    values: Mapping[str, str],
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
