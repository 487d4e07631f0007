"""Which findings are selected, and what a comment in a file may suppress."""

from __future__ import annotations

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
