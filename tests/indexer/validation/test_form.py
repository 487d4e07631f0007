"""SKILL.md by the specification and by its clients, and the files beside it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from product_lists import RULE_PROFILES
from tests.indexer.validation.conftest import manifest, skill

Codes = Callable[..., list[str]]


def head(*lines: str, name: str = "a") -> str:
    return "\n".join(
        [
            "---",
            f"name: {name}",
            "description: Sorts issues. Use when many.",
            *lines,
            "---",
            "Do it.",
            "",
        ]
    )


@pytest.mark.parametrize(
    ("folder", "text", "expected"),
    [
        ("A", head(name="A"), ["error name-case"]),
        ("a_b", head(name="a_b"), ["error name-characters"]),
        ("x" * 65, head(name="x" * 65), ["error name-too-long"]),
        ("a-", head(name="a-"), ["error name-hyphens"]),
        ("a--b", head(name="a--b"), ["error name-hyphens"]),
        ("café", head(name="cafe\u0301"), ["warning name-not-ascii"]),
        ("技能", head(name="技能"), ["warning name-not-ascii"]),
        ("b", head(), ["warning name-folder-mismatch"]),
        (
            "a",
            "---\ndescription: Sorts issues. Use when many.\n---\nDo.\n",
            ["error name-missing"],
        ),
        ("a", "---\nname: a\ndescription: Sorts.\n---\nDo.\n", ["warning description-vague"]),
        ("a", head("colour: red"), ["warning unknown-field"]),
        ("a", head("version: '1'"), []),
        ("a", head("allowed_tools: Read"), ["warning misspelt-field"]),
        ("a", head("compatibility: " + "x" * 501), ["error compatibility-length"]),
        ("a", head("metadata: text"), ["error metadata-shape"]),
        ("a", head("metadata: {n: 1}"), ["warning metadata-type"]),
        ("a", head("allowed-tools: [Read]"), ["warning allowed-tools-type"]),
        ("a", head().replace("Do it.\n", ""), ["warning body-empty"]),
        ("a", head() + "line\n" * 600, ["warning body-long"]),
        ("a", head("description2: x"), ["warning unknown-field"]),
        ("a", b"\xef\xbb\xbf" + head().encode(), []),
        ("a", head().replace("\n", "\r\n").encode() + b"one\ntwo\n", ["warning line-ends-mixed"]),
        ("a", head().replace("Sorts", "Sorts: all"), ["error yaml-unquoted-colon"]),
    ],
)
def test_one_mistake_is_one_finding(
    codes: Codes, folder: str, text: str | bytes, expected: list[str]
) -> None:
    assert codes({f"{folder}/SKILL.md": text}) == expected


@pytest.mark.parametrize(
    ("text", "loud"),
    [
        (head(name="claude-helper"), {"claude-ai"}),
        (head("homepage: https://example.com"), {"strict", "claude-ai"}),
        (head("colour: red"), {"strict", "claude-ai"}),
        (head(name="技能"), {"opencode"}),
        (head().replace("many.", "<b>many</b>."), {"claude-ai"}),
        (head("model: haiku"), {"strict", "claude-ai"}),
        (head().replace("many.", "x" * 1_100), set(RULE_PROFILES) - {"claude-code"}),
        (head(name="Pdf"), set(RULE_PROFILES) - {"claude-code", "codex"}),
        (head().replace("Use", "Use:"), set(RULE_PROFILES) - {"claude-code"}),
        (head("\tmodel: haiku"), set(RULE_PROFILES)),
    ],
)
def test_profiles_differ_in_what_is_an_error(codes: Codes, text: str, loud: set[str]) -> None:
    name = text.split("name: ")[1].splitlines()[0]
    errors = {
        profile
        for profile in RULE_PROFILES
        if any(code.startswith("error") for code in codes({f"{name}/SKILL.md": text}, profile))
    }
    assert errors == loud


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("See [it](references/guide.md) and [that](#part).\n", []),
        ("See [it](references/gone.md).\n", ["warning link-missing"]),
        (
            "See [a](references/guide.md?plain=1#top), [b](references/guide.md?v=1.2), [c](page?v=1.2).\n",
            [],
        ),
        (
            "See [a](references/gone.md?plain=1) or [b](references/gone.md#top).\n",
            ["warning link-missing"] * 2,
        ),
        ("Run:\n\n    [a](references/gone.md)\n", []),
        ("See [it](../b/secret.md).\n", ["warning path-escape"]),
        (
            "See [it](/etc/passwd) and [it](file:///etc/passwd).\n",
            ["warning path-escape", "warning suspicious-url"],
        ),
        ("```\n[it](../b/secret.md)\n```\n", []),
        ("[x](https://example.com/a)\n" * 300, ["warning too-many-links"]),
    ],
)
def test_links_stay_in_the_folder_and_lead_to_something(
    codes: Codes, body: str, expected: list[str]
) -> None:
    found = codes({"a/SKILL.md": skill(body=body), "a/references/guide.md": "Guide."})
    assert sorted(found) == expected


def test_a_link_that_leads_nowhere_is_shown_where_it_stands(findings) -> None:
    body = "One.\n\u6298\u308a see [it](gone.md), [that](lost.md), [out](../x.md).\n"
    found = findings({"a/SKILL.md": skill(body=body)})
    assert [(one.code, one.line, one.column) for one in found] == [
        ("link-missing", 6, 8), ("link-missing", 6, 23), ("path-escape", 6, 40),
    ]  # fmt: skip


def test_what_cannot_be_read_as_text_is_named(findings) -> None:
    (one,) = findings(
        {"a/SKILL.md": skill(), "a/scripts/run.pyc": b"\0\1", "a/scripts/run.py": "print()"}
    )
    assert one.code == "binary-file" and "run.pyc" in one.message


def test_a_folder_with_thousands_of_files_is_named(codes: Codes) -> None:
    files = {f"a/references/{n}.md": "x" for n in range(1_200)}
    assert codes({"a/SKILL.md": skill(), **files}) == ["warning too-many-files"]


def test_a_reader_that_says_it_remembers_nothing_is_noticed(codes: Codes) -> None:
    assert codes({"a/CAPABILITY.yaml": manifest("get-page", "extraction: null\n")}) == [
        "warning extraction-missing"
    ]
    assert codes({"a/CAPABILITY.yaml": manifest("get-page")}) == []
