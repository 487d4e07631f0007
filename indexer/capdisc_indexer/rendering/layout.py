"""In which order the parts of a context are printed, where the half ends that stays the same from
turn to turn, and what style and template put around them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypedDict

from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.model.frozen import frozen, replace
from capdisc_indexer.model.types import Context, LayoutPiece
from capdisc_indexer.rendering.formats.format import APPENDED, MEMORY, RenderFormat

# How the overview says to find more, by the means that an agent has: a shell, or tools.
OVERVIEW_HINTS = {
    "cli": 'More: capdisc search "what you need", capdisc show ID',
    "tool": "More: call tool_search with what you need",
    "none": "",
}
# How to find and use capabilities, for the placeholder $tools of a template.
DISCOVERY_INSTRUCTIONS = {
    "cli": '- capdisc search "what you need": the capabilities that fit\n'
    "- capdisc show ID: one of them in full\n"
    "- capdisc call TOOL JSON: ask about tables, APIs, documents, skills and facts",
    "tool": "- tool_search: the capabilities that fit a need\n"
    "- search_tool: one of them in full, by its exact name\n"
    "- execute_tool: call one of them",
    "none": "",
}
# The level that each part prints.
LAYOUT_PARTS = {"overview": 0, "append": APPENDED, "memory": MEMORY, "summaries": 1, "details": 2}
DEFAULT_LAYOUT = tuple(LayoutPiece(part=name, stable=name == "overview") for name in LAYOUT_PARTS)
# Between the two halves of a split. The first half holds no text of others that could imitate it.
SPLIT_MARKER = "=== capdisc: from here on it may change from turn to turn ===\n"
SPLIT_MODES = ("prefix", "suffix", "both")
# The parts of model names that decide on a style are in models.toml next to this file.
STYLE_NAMES = ("auto", "tools", "full")
_OPPOSITE = {"tools": "full", "full": "tools"}
# Placeholders next to the parts of a context: those that stay the same from turn to turn, and
# those that change.
STABLE, VARIABLE = ("tools", "model"), ("query", "date")
_PROMPTS_FOLDER = Path(__file__).with_name("prompts")


def with_hint(form: RenderFormat, name: str) -> RenderFormat:
    """The format with this hint below its overview. Raises KeyError for an unknown name."""
    line = form.hint(OVERVIEW_HINTS[name]) if OVERVIEW_HINTS[name] else ""
    if form.has_closing_tags:
        return _with_ending(form, line + form.endings[0])
    # The ending of any other format names the commands in its own way already.
    return form if name == "cli" else _with_ending(form, line)


def _with_ending(form: RenderFormat, ending: str) -> RenderFormat:
    return replace(form, endings=(ending, *form.endings[1:]))


def split_layout(
    layout: Sequence[LayoutPiece],
) -> tuple[tuple[LayoutPiece, ...], tuple[LayoutPiece, ...]]:
    """The pieces before the first that may change, and the rest."""
    stable_count = next((i for i, piece in enumerate(layout) if not piece.stable), len(layout))
    return tuple(layout[:stable_count]), tuple(layout[stable_count:])


def format_layout(form: RenderFormat, context: Context) -> str:
    """The printed pieces of the context, or of the half that its split names; "" where it has no
    block.
    """
    split_mode = context.printing.split
    if not split_mode:
        return format_full_text(form, context)
    before, after = format_halves(form, context)
    return {"prefix": before, "suffix": after}.get(split_mode, f"{before}{SPLIT_MARKER}{after}")


def format_halves(form: RenderFormat, context: Context) -> tuple[str, str]:
    """The half that stays the same from turn to turn, and the half that may change."""
    before, after = split_layout(context.printing.layout or DEFAULT_LAYOUT)
    return _format_pieces(form, context, before), _format_pieces(form, context, after)


def format_full_text(form: RenderFormat, context: Context) -> str:
    """The text of both halves in one."""
    return _format_pieces(form, context, context.printing.layout or DEFAULT_LAYOUT)


def _format_pieces(form: RenderFormat, context: Context, layout: Sequence[LayoutPiece]) -> str:
    text = "".join(_join_texts([_format_piece(form, context, piece) for piece in layout]))
    if text and not text.endswith("\n"):
        text += "\n"  # which would be printed anyway, and counts
    return f"{form.opening}{text}{form.closing}" if text or form.is_catalogue else ""


def _format_piece(form: RenderFormat, context: Context, piece: LayoutPiece) -> str:
    if not piece.part:
        return form.literal(piece.text)
    level = LAYOUT_PARTS[piece.part]
    tiers = [tier for tier in context.tiers if tier.blocks and tier.level == level]
    return "".join(
        _format_tier(form, tier.level, [block.text for block in tier.blocks]) for tier in tiers
    )


def _format_tier(form: RenderFormat, level: int, texts: Sequence[str]) -> str:
    return "".join([form.headings[level], *texts, form.endings[level]])


def _join_texts(texts: Sequence[str]) -> list[str]:
    """The texts without the line ends that are too many: a part ends with one, and so does its
    line in a template; an empty part leaves no blank line.
    """
    joined: list[str] = []
    for text in texts:
        trimmed = text
        if not joined:
            trimmed = text.lstrip("\n")
        elif joined[-1].endswith("\n"):
            trimmed = text.removeprefix("\n")
        if trimmed:
            joined.append(trimmed)
    return joined


# Which style of prompt a model needs.


@frozen(kw_only=True)
class PromptStyle:
    """The style of a prompt, "tools" or "full", for a model ("" if unnamed), and the reason."""

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


# A template is a text with $placeholders for the parts of a context. Some are built in; users
# write others.


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
