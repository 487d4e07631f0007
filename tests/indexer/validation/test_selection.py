"""Which findings are selected, and what a comment in a file may suppress."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.validation.finding_selection import (
    RuleChoice,
    is_guarded,
    refused_suppressions,
    rule_choice,
    suppression_comments,
)
from capdisc_indexer.validation.validate import ValidationResult, validate_roots

Checks = Callable[..., ValidationResult]
SKILL = "---\nname: {name}\ndescription: Folds cranes when asked to.\n{more}---\n{body}\n"


@pytest.fixture
def checks(tmp_path: Path) -> Checks:
    """What comes of checking one file under a choice of rules."""
    counter = itertools.count()

    def run(name: str, text: str, wanted: RuleChoice | None = None) -> ValidationResult:
        path = tmp_path / str(next(counter)) / "a" / name
        path.parent.mkdir(parents=True)
        path.write_text(text)
        return validate_roots([path], "spec", wanted or RuleChoice())

    return run


def codes(checked: ValidationResult) -> list[str]:
    return [one.code for one in checked.chosen.findings]


def test_a_choice_takes_codes_beginnings_and_commas() -> None:
    made = rule_choice(["name-, Yaml-Alias", ""], ["name-case"])
    assert made == RuleChoice(select=("name-", "yaml-alias"), ignore=("name-case",))
    assert [made.allows(code) for code in ("name-hyphens", "yaml-alias", "name-case", "yaml-tag")] == [
        True, True, False, False,
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["name", "nonsense", "nonsense-", "-", "all", "name-case,typo"])
def test_a_code_that_means_no_rule_is_an_error(text: str) -> None:
    with pytest.raises(UsageError, match="there is no rule") as raised:
        rule_choice([text], [])
    assert "--rules" in raised.value.hint


def test_an_empty_choice_wants_everything() -> None:
    assert rule_choice([], []) == RuleChoice()
    assert RuleChoice().allows("anything")


def test_a_comment_speaks_for_its_own_line_or_for_the_next(checks: Checks) -> None:
    more = "name2: x  # capdisc: ignore=unknown-field\n# capdisc: ignore=unknown-field,name-case\nname3: y\nname4: z\n"
    made = checks("SKILL.md", SKILL.format(name="a", more=more, body="Fold."))
    assert [(one.code, one.line) for one in made.chosen.findings] == [("unknown-field", 7)]
    assert [one.line for one in made.chosen.commented] == [4, 6]


def test_a_comment_in_markdown_speaks_for_the_line_below(checks: Checks) -> None:
    body = "See [a](x.md).\n<!-- capdisc: ignore=link-missing -->\nSee [b](y.md) and\n[c](z.md)."
    made = checks("SKILL.md", SKILL.format(name="a", more="", body=body))
    assert [(one.code, one.line) for one in made.chosen.findings] == [
        ("link-missing", 5),
        ("link-missing", 8),
    ]


def test_the_first_line_of_the_fields_speaks_for_the_fence_too(checks: Checks) -> None:
    text = SKILL.format(name="a", more="", body="Fold.").replace(
        "---\n", "---\n# capdisc: ignore=misnamed-manifest\n", 1
    )
    assert codes(checks("Skill.md", text)) == []


def test_a_comment_of_another_kind_of_text_is_none(checks: Checks) -> None:
    markdown = "name: a\nkind: tool\ndescription: Folds paper cranes.\nx: 1  <!-- capdisc: ignore=unknown-key -->\n"
    assert "unknown-key" in codes(checks("CAPABILITY.yaml", markdown))
    body = "# capdisc: ignore=link-missing\n[c](z.md)"
    assert "link-missing" in codes(checks("SKILL.md", SKILL.format(name="a", more="", body=body)))


@pytest.mark.parametrize(
    "line",
    [
        "x: 1 # capdisc:ignore=unknown-key",
        "x: 1 #capdisc: ignore=unknown-key , name-case",
        "x: 1\t# capdisc: ignore=unknown-key  ",
    ],
)
def test_blanks_in_a_comment_do_not_matter(line: str) -> None:
    (found,) = suppression_comments(line, "CAPABILITY.yml")
    assert "unknown-key" in found.codes


@pytest.mark.parametrize(
    "line",
    [
        "x: 1# capdisc: ignore=a",
        "x: 1 # capdisc: ignore=a because",
        "# capdisc: ignore",
        "# see capdisc: x=a",
    ],
)
def test_what_only_looks_like_a_comment_is_none(line: str) -> None:
    assert suppression_comments(line, "CAPABILITY.yaml") == ()


def test_a_comment_to_capdisc_is_no_hidden_text_and_hides_no_other(checks: Checks) -> None:
    ours = "<!-- capdisc: ignore=link-missing -->\n"
    assert codes(checks("SKILL.md", SKILL.format(name="a", more="", body=ours + "Fold."))) == []
    both = checks(
        "SKILL.md", SKILL.format(name="a", more="", body=ours + "Fold.\n<!-- and hide it all -->")
    )
    assert [(one.code, one.line) for one in both.chosen.findings] == [("html-comment", 7)]
    message = checks(
        "SKILL.md",
        SKILL.format(name="a", more="", body="<!-- capdisc: ignore=send-all-keys -->\nFold."),
    )
    assert sorted(codes(message)) == ["html-comment", "ignore-refused"]


def test_a_catalogue_has_no_comments() -> None:
    assert (
        suppression_comments('{"a": 1} # capdisc: ignore=field-value', "capabilities.jsonl") == ()
    )


GUARDED = (
    "hidden-text bidi-control control-character invisible-character injection-phrase remote-execution encoded-payload "
    "suspicious-url hard-coded-secret secret-value markup-breakout html-comment padding path-escape path-twin symlink "
    "binary-file confusable-name reserved-name impersonation shadowed-id duplicate-id keyword-stuffing "
    "near-duplicate-flood token-density yaml-alias yaml-unquoted-colon json-syntax schema-remote-ref encoding"
).split()


@pytest.mark.parametrize("code", GUARDED)
def test_no_comment_silences_what_guards_the_reader(code: str) -> None:
    assert is_guarded(code)
    (said,) = refused_suppressions(f"# capdisc: ignore=name-case,{code}\n", "a/CAPABILITY.yaml")
    assert (said.code, said.severity, said.line) == ("ignore-refused", "info", 1)
    assert code in said.message and "name-case" not in said.message


def test_a_comment_beside_a_guarding_rule_changes_nothing_but_is_told(checks: Checks) -> None:
    body = "<!-- capdisc: ignore=hidden-text -->\nFold\U000e0041\U000e0042."
    made = checks("SKILL.md", SKILL.format(name="a", more="", body=body))
    assert {"hidden-text", "ignore-refused"} <= set(codes(made))
    assert made.chosen.commented == ()


def test_the_users_own_choice_silences_anything(checks: Checks) -> None:
    text = SKILL.format(name="a", more="", body="Fold\U000e0041\U000e0042.")
    made = checks("SKILL.md", text, RuleChoice(ignore=("hidden-text",)))
    assert codes(made) == []
    assert [one.code for one in made.chosen.unwanted] == ["hidden-text"]


@given(st.text(alphabet=" #<!->capdis:gnore=,\nx-", max_size=400))
def test_any_text_can_be_looked_through_for_comments(text: str) -> None:
    for path in ("SKILL.md", "CAPABILITY.yaml"):
        lines = range(1, text.count("\n") + 2)
        assert all(comment.line in lines for comment in suppression_comments(text, path))


def test_a_long_line_of_blanks_takes_no_time() -> None:
    # A pattern that tried each blank anew would take hours for this.
    assert (
        suppression_comments("# capdisc: ignore=a" + " " * 1_000_000 + "!", "CAPABILITY.yaml")
        == ()
    )
