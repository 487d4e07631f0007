"""Templates, the split of a prompt, and which model gets which style."""

import tomllib
from pathlib import Path

import pytest

from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.model.types import LayoutPiece
from capdisc_indexer.rendering import layout as templates
from capdisc_indexer.rendering.layout import (
    DEFAULT_LAYOUT,
    PromptTemplate,
    fill_template,
    list_templates,
    load_builtin,
    split_layout,
)

VALUES = {"query": "q", "date": "2026-07-31", "tools": "t", "model": "m"}


def pieces(text: str, needed: tuple[str, ...] = ()):
    return fill_template(PromptTemplate(name="mine", text=text), VALUES, needed)


def test_the_first_half_ends_before_what_may_change() -> None:
    before, after = split_layout(pieces("A $tools B $overview C $date D $overview"))
    assert "".join(piece.text or piece.part for piece in before) == "A t B overview C "
    assert after[0] == LayoutPiece(text="2026-07-31", stable=False)
    assert split_layout(DEFAULT_LAYOUT)[0] == (LayoutPiece(part="overview"),)


def test_a_part_that_is_needed_and_not_named_comes_last() -> None:
    assert [piece.part for piece in pieces("$overview", ("append",)) if piece.part] == [
        "overview",
        "append",
    ]
    assert [piece.part for piece in pieces("$append $overview", ("append",)) if piece.part] == [
        "append",
        "overview",
    ]


def test_braces_and_doubled_signs_are_understood() -> None:
    assert "".join(piece.text for piece in pieces("${model}s for $$5 $details")) == "ms for $5 "


@pytest.mark.parametrize("text", ["$", "$5", "${}", "$unknown"])
def test_anything_else_is_a_mistake(text) -> None:
    with pytest.raises(UsageError, match="template mine, line 2"):
        pieces(f"A\n{text}")


def test_every_template_that_comes_along_can_be_laid_out() -> None:
    assert {"minimal", "planner"} <= set(list_templates())
    for name in list_templates():
        assert fill_template(load_builtin(name), VALUES)


def test_legacy_names_are_looked_for_first_and_in_one_file() -> None:
    """Names in the model table choose the prompt in any case, the old names first (S4, S5)."""
    table = tomllib.loads(Path(templates.__file__).with_name("models.toml").read_text())
    assert set(table) == {"legacy", "tools"}
    assert all(name == name.lower() for each in table.values() for name in each)
    for name in table["legacy"]:
        assert templates.select_style(f"vendor/{name.upper()}-v1").name == "full"
    for name in table["tools"]:
        assert templates.select_style(f"{name}-x").use_tools
