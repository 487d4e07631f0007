"""Templates, the split of a prompt, and which model gets which style."""

import tomllib
from pathlib import Path

from capdisc_indexer.model.types import LayoutPiece
from capdisc_indexer.rendering import prompt_templates as templates
from capdisc_indexer.rendering.prompt_templates import PromptTemplate, fill_template
from capdisc_indexer.rendering.render_format import DEFAULT_LAYOUT, split_layout

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


def test_legacy_names_are_looked_for_first_and_in_one_file() -> None:
    """Names in the model table choose the prompt in any case, the old names first (S4, S5)."""
    table = tomllib.loads(Path(templates.__file__).with_name("models.toml").read_text())
    assert set(table) == {"legacy", "tools"}
    assert all(name == name.lower() for each in table.values() for name in each)
    for name in table["legacy"]:
        assert templates.select_style(f"vendor/{name.upper()}-v1").name == "full"
    for name in table["tools"]:
        assert templates.select_style(f"{name}-x").use_tools
