"""Which style of prompt a model needs, and templates that put text around the parts of a context."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypedDict

from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.types import LayoutPiece
from capdisc_indexer.rendering.render_format import DEFAULT_LAYOUT, LAYOUT_PARTS

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
# The parts of model names that decide on a style are in models.toml next to this file.
STYLE_NAMES = ("auto", "tools", "full")
_OPPOSITE = {"tools": "full", "full": "tools"}
# Placeholders next to the parts of a context: those that stay the same from turn to turn, and
# those that change.
STABLE, VARIABLE = ("tools", "model"), ("query", "date")
_PROMPTS_FOLDER = Path(__file__).with_name("prompts")


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
