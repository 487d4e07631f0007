"""What a SKILL.md becomes, and its findings."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from capdisc_indexer.model.types import Descriptor, LoadedFile

Load = Callable[[Mapping[str, str | bytes]], LoadedFile]
Codes = Callable[[LoadedFile], list[str]]


def only(loaded: LoadedFile) -> Descriptor:
    (descriptor,) = loaded.descriptors
    return descriptor


def skill(fields: str, body: str = "Body.\n") -> dict[str, str | bytes]:
    return {"issue-triage/SKILL.md": f"---\n{fields}\n---\n{body}"}


PLAIN = "name: issue-triage\ndescription: Sorts new issues."


def test_a_plain_skill_is_read_without_a_finding(load: Load) -> None:
    """A SKILL.md alone is a capability, with a title made of its name (S149)."""
    loaded = load(skill(PLAIN, "\n# Steps\n\nDo it.\n"))
    found = only(loaded)
    assert (found.id, found.kind, found.name, found.title) == (
        "skill:issue-triage",
        "skill",
        "issue-triage",
        "Issue Triage",
    )
    assert found.description == "Sorts new issues."
    assert found.content == "# Steps\n\nDo it."
    assert (found.category, found.hidden, found.source.pointer) == ("", False, "")
    assert loaded.findings == ()


def test_the_digest_is_that_of_the_file(load: Load) -> None:
    from hashlib import sha256

    files = skill(PLAIN)
    content = files["issue-triage/SKILL.md"]
    assert isinstance(content, str)
    assert only(load(files)).source.content_hash == sha256(content.encode()).hexdigest()


def test_all_optional_fields_find_their_place(load: Load) -> None:
    """All optional fields of SKILL.md are read, also those under other tools' metadata (S169)."""
    found = only(
        load(
            skill(
                PLAIN
                + """
license: MIT
compatibility: Needs git
version: 2.0.1
category: work
tags: [triage, issues]
keywords: backlog, triage
triggers:
  - sort the issues, please
examples: what is new?
when_to_use: When issues pile up.
allowed-tools: Read, Bash(git log, git diff) Edit
color: red
metadata:
  displayName: Triage of Issues
  version: 1.10
  openclaw: {requires: {bins: [gh, jq], env: [GH_TOKEN]}, primaryEnv: GH_KEY}"""
            )
        )
    )
    assert (found.title, found.category, found.usage_hint) == (
        "Triage of Issues",
        "work",
        "When issues pile up.",
    )
    assert found.tags == ("triage", "issues", "backlog")
    assert found.phrases == ("what is new?", "sort the issues, please")
    assert (found.bins, found.secrets) == (("gh", "jq"), ("GH_TOKEN", "GH_KEY"))
    assert found.extra["allowed-tools"] == ["Read", "Bash(git log, git diff)", "Edit"]
    assert (found.extra["license"], found.extra["version"], found.extra["color"]) == (
        "MIT",
        "2.0.1",
        "red",
    )
    assert found.extra["metadata"]["version"] == "1.10"


def test_category_and_tags_may_stand_below_the_metadata_of_a_client(load: Load) -> None:
    found = only(load(skill(PLAIN + "\nmetadata: {skillport: {category: ops, tags: [a, b]}}")))
    assert (found.category, found.tags) == ("ops", ("a", "b"))


@pytest.mark.parametrize("field", ["disable-model-invocation: yes", "metadata:\n  internal: true"])
def test_a_skill_kept_from_the_model_is_hidden(load: Load, field: str) -> None:
    assert only(load(skill(f"{PLAIN}\n{field}"))).hidden


def test_without_a_name_the_folder_names_the_skill(load: Load, codes: Codes) -> None:
    """A skill without a name is named after its folder, with a warning (S53)."""
    loaded = load(skill("description: Sorts."))
    assert only(loaded).id == "skill:issue-triage"
    assert codes(loaded) == ["warning name-missing 2"]


def test_without_front_matter_folder_and_first_paragraph_name_the_skill(
    load: Load, codes: Codes
) -> None:
    """A SKILL.md without front matter is read with a warning, as Claude Code does (S53)."""
    loaded = load({"pdf-merge/SKILL.md": "# Merge\n\nJoins\nfiles.\n\nAnd more.\n"})
    skill = only(loaded)
    assert (skill.id, skill.description) == ("skill:pdf-merge", "Joins files.")
    assert "And more." in skill.content
    assert codes(loaded) == ["warning frontmatter-missing 1"]


def test_an_empty_file_is_no_skill(load: Load, codes: Codes) -> None:
    loaded = load({"pdf-merge/SKILL.md": "\n \n"})
    assert loaded.descriptors == ()
    assert codes(loaded) == ["error file-empty 1"]


@pytest.mark.parametrize(
    ("text", "description"),
    [
        ("---\nname: foldCranes\n---\n# Cranes\n\nFolds them.\n\nMore.", "Folds them."),
        ("---\nname: foldCranes\ndescription: ' '\n---\n", "fold Cranes"),
        ('---\nname: foldCranes\ndescription: "\\u3164\\u2800"\n---\n', "fold Cranes"),
        ("---\nname: foldCranes\ndescription: [a]\n---\n", "fold Cranes"),
    ],
)
def test_without_a_description_the_body_or_the_name_in_words_is_one(
    load: Load, codes: Codes, text: str, description: str
) -> None:
    loaded = load({"a/SKILL.md": text})
    assert only(loaded).description == description
    assert any(code.startswith("warning description-missing") for code in codes(loaded))


@pytest.mark.parametrize("value", ["404", "no", "1.0", "2024-01-31", "1e3", "0777"])
def test_a_name_that_others_read_as_number_or_date_stays_text(
    load: Load, codes: Codes, value: str
) -> None:
    loaded = load(skill(f"name: {value}\ndescription: Sorts."))
    assert only(loaded).name == value
    assert codes(loaded) == ["warning ambiguous-scalar 2"]


def test_a_name_against_the_format_is_read_and_left_to_the_validator(
    load: Load, codes: Codes
) -> None:
    loaded = load(skill("name: 'a:b'\ndescription: Sorts."))
    assert only(loaded).name == "a:b"
    assert codes(loaded) == []


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("../up", "up"),
        ("x*y", "x y"),
        ("$(ls)", "ls"),
        ("\U0001f680 launch", "launch"),
        ("\U0001f680", "rocket"),
        ("/pay", "pay"),
    ],
)
def test_of_a_name_that_climbs_or_expands_the_id_has_the_harmless_part(
    load: Load, codes: Codes, name: str, safe: str
) -> None:
    loaded = load(skill(f"name: '{name}'\ndescription: Sorts."))
    found = only(loaded)
    assert (found.id, found.title, found.other_names) == (f"skill:{safe}", name, (name,))
    assert codes(loaded) == ["warning field-value 2"]


def test_a_name_that_poses_as_another_keeps_the_skill_out(load: Load, codes: Codes) -> None:
    loaded = load(skill("name: 'p\u0430ypal'\ndescription: Sorts."))
    assert loaded.descriptors == ()
    assert codes(loaded) == ["error confusable-name 2"]


def test_a_full_width_name_does_not_become_the_usual_one(load: Load, codes: Codes) -> None:
    loaded = load(skill("name: '\uff50df'\ndescription: Sorts."))
    assert only(loaded).id == "skill:\uff50df"
    assert codes(loaded) == ["warning field-value 2"]


def test_names_are_compared_in_normal_form(load: Load) -> None:
    assert only(load(skill("name: cafe\u0301\ndescription: Coffee."))).name == "caf\u00e9"


@pytest.mark.parametrize(
    ("length", "kept", "count"), [(1_024, 1_024, 0), (1_025, 1_025, 1), (5_000, 4_096, 1)]
)
def test_a_long_description_is_warned_of_and_a_very_long_one_cut(
    load: Load, codes: Codes, length: int, kept: int, count: int
) -> None:
    """A description that is too long is reported, and a very long one is cut (S171)."""
    loaded = load(skill(f"name: a\ndescription: {'d' * length}"))
    assert len(only(loaded).description) == kept
    assert len(codes(loaded)) == count


def test_a_long_body_is_cut_at_a_line(load: Load, codes: Codes) -> None:
    loaded = load(skill(PLAIN, "x" * 99 + "\n" + "line\n" * 20_000))
    assert 60_000 < len(only(loaded).content) <= 65_536
    assert only(loaded).content.endswith("line\n")
    assert codes(loaded) == ["info content-cut 5"]


@pytest.mark.parametrize(
    "field",
    ["tags: {a: 1}", "license: [a]", "allowed-tools: {a: b}", "category: [x]", "hidden: maybe"],
)
def test_a_field_of_the_wrong_type_is_a_warning(load: Load, codes: Codes, field: str) -> None:
    loaded = load(skill(f"{PLAIN}\n{field}"))
    assert only(loaded).name == "issue-triage"
    assert "warning field-type 4" in codes(loaded)


def test_a_secret_instead_of_its_name_is_never_repeated(load: Load) -> None:
    loaded = load(
        skill(PLAIN + "\nmetadata: {openclaw: {requires: {env: [sk-live-12345, API_KEY]}}}")
    )
    assert only(loaded).secrets == ("API_KEY",)
    assert "secret-value" in [finding.code for finding in loaded.findings]
    assert not any("sk-live" in finding.message + finding.hint for finding in loaded.findings)


def test_a_repaired_description_is_complete_and_named_with_its_line(
    load: Load, codes: Codes
) -> None:
    """A skill with an unquoted colon is kept whole and reported with its line (S166, S313)."""
    loaded = load(skill("name: a\ndescription: Use when: the user asks\nlicense: MIT"))
    assert only(loaded).description == "Use when: the user asks"
    assert only(loaded).extra["license"] == "MIT"
    assert codes(loaded) == ["warning yaml-unquoted-colon 3"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("---\n- a\n---\n", "error yaml-not-mapping 2"),
        ("---\nname: a\nname: b\ndescription: c\n---\n", "error yaml-duplicate-key 3"),
        ("---\nname: a\n", "error frontmatter-unclosed 1"),
        ("---\nname: a\ndescription: x\0y\n---\n", "error control-character 3"),
        (b"---\nname: caf\xe9\n---\n", "error encoding 2"),
        ("---\nname: a\n---\n".encode("utf-16"), "error encoding 1"),
        ("---\nname: a\n---\n".encode("utf-16-le"), "error encoding 1"),
        ("---\nname: a\n---\n".encode("utf-32"), "error encoding 1"),
    ],
)
def test_an_unusable_file_is_one_error_with_its_line(
    load: Load, codes: Codes, text: str | bytes, code: str
) -> None:
    loaded = load({"a/SKILL.md": text})
    assert loaded.descriptors == ()
    assert codes(loaded) == [code]


def test_crlf_and_a_byte_order_mark_leave_no_trace(load: Load, codes: Codes) -> None:
    loaded = load(
        {
            "a/SKILL.md": b"\xef\xbb\xbf---\r\nname: a\r\ndescription: >\r\n  one\r\n  two\r\n---\r\nx\r\ny\r\n"
        }
    )
    assert (only(loaded).description, only(loaded).content) == ("one two", "x\ny")
    assert codes(loaded) == ["info byte-order-mark 1"]


def test_another_casing_of_the_file_name_is_read_with_a_warning(load: Load, codes: Codes) -> None:
    loaded = load({"a/skill.md": f"---\n{PLAIN}\n---\n"})
    assert only(loaded).name == "issue-triage"
    assert codes(loaded) == ["warning misnamed-manifest 1"]


def test_another_casing_of_a_field_is_read(load: Load, codes: Codes) -> None:
    loaded = load(skill("Name: a\ndescription: b"))
    assert only(loaded).name == "a"
    assert codes(loaded) == []
