"""A capability on one line, and in full."""

from capdisc_indexer.model.types import Descriptor, Parameter, SourceRef
from capdisc_indexer.rendering.capability_text import (
    availability_note,
    detail_text,
    shorter_lines,
    summary_line,
)


def capability(**fields) -> Descriptor:
    given = {"id": "tool:fold", "kind": "tool", "name": "fold", "description": "Folds paper."}
    return Descriptor(
        **{**given, **fields}, source=SourceRef(path="/fold/CAPABILITY.yaml", format="capability")
    )


def test_a_line_has_the_name_what_it_does_its_parameters_and_needs() -> None:
    """A line has name, text, parameters and needs, and no doubled full stop (S135)."""
    names = [Parameter(name=name) for name in ("paper", "size", "colour", "times")]
    one = capability(parameters=tuple(names), requires=("tool:cut",), confirm=True)
    assert (
        summary_line(one)
        == "tool:fold: Folds paper. Params: paper, size, colour, …. Requires: tool:cut. Ask before use."
    )
    assert summary_line(capability(description="Folds paper")) == "tool:fold: Folds paper."


def test_a_description_is_cut_on_a_word() -> None:
    """A description is cut on a word at 240 or 110 characters, or after eight words (S136)."""
    one = capability(description="paper crane " * 50)
    full, sentence, brief = summary_line(one), *shorter_lines(one)
    assert len(full) <= 252 and len(sentence) <= 122
    assert all(line.endswith(("crane…", "paper…")) for line in (full, sentence))
    assert brief == f"tool:fold: {'paper crane ' * 4}".rstrip() + "…"


def test_a_short_line_is_one_sentence() -> None:
    """A first sentence is whole where it is short, and no second one begins."""
    one = capability(description="Folds paper. Use it for cranes, boats and hats of any size.")
    assert shorter_lines(one) == ["tool:fold: Folds paper.", "tool:fold: Folds paper."]
    unspaced = capability(description="把很多个文件合并成一个文件" * 20)
    assert all(len(line) <= 122 for line in shorter_lines(unspaced))


def test_a_description_of_121_characters_is_whole() -> None:
    """121 characters are whole in a full line; the shorter one cuts them (S136)."""
    one = capability(description="x" * 60 + " " + "y" * 60)
    assert "y" * 60 in summary_line(one)
    assert "y" * 60 not in shorter_lines(one)[0]


def test_what_warns_is_the_last_to_go() -> None:
    """However short a line gets, its warnings stay (S137)."""
    one = capability(description="paper " * 80, confirm=True)
    for line in (summary_line(one, "[missing: KEY]"), *shorter_lines(one, "[missing: KEY]")):
        assert line.endswith("Ask before use. [missing: KEY]")


def test_a_name_cannot_break_the_line_it_is_missing_on() -> None:
    assert "\n" not in availability_note(["a\nb\x1b[2J", "c"])
    assert availability_note([]) == ""


def test_the_usage_hint_is_there_where_it_is_wanted() -> None:
    """A line shows the usage hint on request only (S278)."""
    one = capability(usage_hint="when asked twice")
    assert "Hint" not in summary_line(one)
    assert summary_line(one, hint=True) == "tool:fold: Folds paper. Hint: when asked twice."


def test_a_detail_has_its_facts_before_its_schema_and_its_instructions() -> None:
    """A detail gives facts, then schema, then instructions, in a fixed order (S140, S142)."""
    one = capability(
        title="Fold", category="craft", secrets=("KEY",), tags=("paper",), requires=("tool:cut",),
        related=("tool:glue",), risk="low", schema={"properties": {"paper": {"type": "string"}}},
        instructions="Fold.", content="More.",
    )  # fmt: skip
    text = detail_text(one)
    parts = (
        "Folds paper.", "Category: craft", "Requires: tool:cut", "Required secrets: KEY",
        "Related: tool:glue", "Risk: low", "Tags: paper", "## Input Schema", "## Instructions\nFold.",
        "## Skill Instructions\nMore.",
    )  # fmt: skip
    places = [text.index(part) for part in parts]
    assert places == sorted(places)


def test_a_nested_schema_is_indented_with_arrays_and_unions_named() -> None:
    """A nested schema is indented and names arrays, unions, choices and defaults (S141)."""
    schema = {
        "required": ["paper"],
        "properties": {
            "paper": {
                "type": "object",
                "properties": {"size": {"enum": ["A4", "A5"], "type": "string", "default": "A4"}},
            },
            "marks": {"type": "array", "items": {"type": "integer"}},
            "colour": {
                "anyOf": [{"type": "string"}, {"type": "null"}],
                "description": "Its name.",
            },
        },
    }
    lines = detail_text(capability(schema=schema)).split("## Input Schema\n")[1].splitlines()
    assert lines == [
        "  paper (object, required)",
        '    size (string) [A4|A5] (default: "A4")',
        "  marks (array<integer>)",
        "  colour (string|null): Its name.",
    ]
