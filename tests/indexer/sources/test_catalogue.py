"""What the lines of a corpus.jsonl become, and the findings about the others."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from capdisc_indexer.model.types import Descriptor, LoadedFile, Parameter

Load = Callable[[Mapping[str, str | bytes]], LoadedFile]
Codes = Callable[[LoadedFile], list[str]]

PLAIN = {"id": "mail/send", "kind": "tool", "name": "send_mail", "description": "Sends a mail."}


def line(**changes: Any) -> str:
    return json.dumps({**PLAIN, **changes}, ensure_ascii=False) + "\n"


def only(loaded: LoadedFile) -> Descriptor:
    (descriptor,) = loaded.descriptors
    return descriptor


@pytest.fixture
def read(load: Load) -> Callable[[str | bytes], LoadedFile]:
    return lambda text: load({"corpus.jsonl": text})


@pytest.mark.parametrize("name", ["corpus.jsonl", "capabilities.jsonl", "deep/down/corpus.jsonl"])
def test_a_line_is_a_capability_with_its_id_as_written(load: Load, name: str) -> None:
    loaded = load({name: line()})
    found = only(loaded)
    assert (found.id, found.kind, found.name, found.category) == (
        "mail/send",
        "tool",
        "send_mail",
        "general",
    )
    assert found.source.path.endswith(name)
    assert loaded.findings == ()


def test_other_json_lines_are_none_of_our_business(load: Load) -> None:
    assert load({"queries.jsonl": line(), "log.jsonl": "{}"}) == LoadedFile()


def test_all_fields_are_read(read) -> None:
    parameters = [
        {"name": "to", "type": "string", "description": "Who gets it", "required": True},
        {"name": "size", "type": "int", "required": False},
        {"type": "no name"},
    ]
    more = {
        "category": "mail",
        "tags": ["smtp"],
        "content": "Long text.",
        "phrases": ["write to Ann"],
    }
    links = {"requires": ["contacts"], "related": ["chat"], "riskLevel": "high"}
    found = only(read(line(**more, **links, parameters=parameters)))
    assert (found.category, found.tags, found.phrases, found.content) == (
        "mail",
        ("smtp",),
        ("write to Ann",),
        "Long text.",
    )
    assert (found.requires, found.related, found.risk) == (("contacts",), ("chat",), "high")
    assert found.parameters == (
        Parameter(name="to", type="string", required=True, description="Who gets it"),
        Parameter(name="size", type="int"),
    )
    assert found.schema is not None
    assert found.schema["required"] == ["to"]


def test_a_schema_serves_as_parameters_too(read) -> None:
    found = only(
        read(line(parameters={"type": "object", "properties": {"to": {"type": "string"}}}))
    )
    assert [each.name for each in found.parameters] == ["to"]


def test_what_people_say_to_an_intent_becomes_phrases(read) -> None:
    found = only(
        read(line(kind="intent", phrases=["write to Ann"], content="mail bob\n\n  send it  \n"))
    )
    assert (found.phrases, found.content) == (("write to Ann", "mail bob", "send it"), "")


def test_content_is_text_even_where_it_looks_like_a_file(read) -> None:
    for text in ("/etc/hosts", "docs/long.md", "../x.txt"):
        assert only(read(line(content=text))).content == text


def test_without_an_id_kind_and_name_make_it_and_equal_names_stay_apart(read) -> None:
    text = line(id=None) + line(id=None, description="Sends another.")
    assert [each.id for each in read(text).descriptors] == ["tool:send_mail"] * 2


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ("--all", "all"),
        (" blank", "blank"),
        ("a\nb", "a b"),
        ("a\u202eb", "ab"),
        ("<b>", "b"),
        ("/pets/{id}", "pets/{id}"),
    ],
)
def test_an_id_that_cannot_be_typed_has_a_safe_form_and_stays_a_name(
    read, codes: Codes, given, used
) -> None:
    loaded = read(line(id=given))
    assert (only(loaded).id, only(loaded).other_names) == (used, (given,))
    assert codes(loaded) == ["warning field-value 1"]


def test_long_ids_with_one_beginning_stay_apart(read) -> None:
    ids = [found.id for found in read(line(id="x" * 300) + line(id="x" * 301)).descriptors]
    assert len(set(ids)) == 2
    assert max(map(len, ids)) <= 256


@pytest.mark.parametrize("given", ["", ["a"], True, 1.5])
def test_what_is_no_id_is_replaced_with_a_warning(read, codes: Codes, given) -> None:
    loaded = read(line(id=given))
    assert only(loaded).id == "tool:send_mail"
    assert codes(loaded) == ["warning field-value 1"]


@pytest.mark.parametrize("given", ["PDF&URL", "Axolotl::find(x)", "a b#1", 17])
def test_ids_of_data_sets_are_kept(read, given) -> None:
    loaded = read(line(id=given))
    assert (only(loaded).id, loaded.findings) == (str(given), ())


def test_a_name_that_no_manifest_could_have_is_kept_as_the_title(read) -> None:
    found = only(read(line(name="../`power_modulo`(x, y)")))
    assert (found.name, found.title) == ("power_modulo x y", "../`power_modulo`(x, y)")


def test_a_missing_description_is_taken_from_the_content(read) -> None:
    assert (
        only(read(line(description="", content="Counts digits.\nInput: n"))).description
        == "Counts digits. Input: n"
    )


@pytest.mark.parametrize(
    ("bad", "code"),
    [
        ("{", "json-syntax"),
        ('{"name": NaN}', "json-syntax"),
        ('{"a": 1, "a": 2}', "json-duplicate-key"),
        ("[" * 100_000, "json-depth"),
        ("[1]", "jsonl-not-object"),
        ('"text"', "jsonl-not-object"),
        (
            '{"kind": "tool", "name": "x", "description": "' + "x" * 10_000_000 + '"}',
            "line-too-long",
        ),
        (b'{"name": "\xff"}', "encoding"),
        (b'{"name": "\x00"}', "control-character"),
        ('{"name": "\\u0000"}', "control-character"),
        ('{"name": "\\ud800"}', "invalid-unicode"),
        (line(id="", name="", description=""), "field-missing"),
        (line(id="y", name="p\u0430ypal"), "confusable-name"),
        (line(), "duplicate-id"),
    ],
)
def test_a_broken_line_is_named_and_the_rest_is_read(read, codes: Codes, bad, code) -> None:
    bad = bad if isinstance(bad, bytes) else bad.encode()
    loaded = read(line().encode() + b"\n" + bad.strip() + b"\n" + line(id="z").encode())
    assert [each.id for each in loaded.descriptors] == ["mail/send", "z"]
    assert any(text.endswith(f"{code} 3") for text in codes(loaded)), codes(loaded)
    assert {finding.line for finding in loaded.findings} == {3}


@pytest.mark.parametrize(
    ("odd", "code", "name", "kind"),
    [
        (line(id="pay/refund", name=""), "field-missing", "pay/refund", "tool"),
        (line(id="17", name=None), "field-missing", "Sends a mail", "tool"),
        (line(id="y", name=["x"]), "field-type", "Sends a mail", "tool"),
        (line(id="y", kind=None), "field-missing", "send_mail", "tool"),
        (line(id="y", kind="Two  words"), "unknown-kind", "send_mail", "two-words"),
        (line(id="y", kind="mcp_tool"), "unknown-kind", "send_mail", "mcp_tool"),
        (line(id="y", description="x" * 5_000), "field-too-long", "send_mail", "tool"),
        (line(id="y", name="/pets", description=""), "field-value", "pets", "tool"),
    ],
)
def test_an_odd_line_is_read_with_a_warning(read, codes: Codes, odd, code, name, kind) -> None:
    loaded = read(odd)
    assert (only(loaded).name, only(loaded).kind) == (name, kind)
    assert f"warning {code} 1" in codes(loaded)
    assert not any(text.startswith("error") for text in codes(loaded))


def test_a_very_long_description_becomes_the_content(read) -> None:
    found = only(read(line(description="word " * 2_000)))
    assert (len(found.description), len(found.content)) == (4_096, 9_999)


def test_without_a_description_the_name_in_words_is_one(read, codes: Codes) -> None:
    loaded = read(line(name="listOpen_issues", description=""))
    assert only(loaded).description == "list Open issues"
    assert codes(loaded) == ["warning field-missing 1"]


def test_different_lines_of_one_id_are_numbered(read, codes: Codes) -> None:
    loaded = read(line() + line(description="Sends another.") + line())
    assert [found.id for found in loaded.descriptors] == ["mail/send", "mail/send#2"]
    assert codes(loaded) == ["warning duplicate-id 2", "warning duplicate-id 3"]


def test_a_kind_of_many_lines_is_one_finding(read) -> None:
    loaded = read("".join(line(id=str(number), kind="endpoint") for number in range(300)))
    assert len(loaded.descriptors) == 300
    assert [finding.message for finding in loaded.findings] == [
        "the kind endpoint is the author's own, in 300 lines"
    ]


def test_marks_and_line_ends_of_other_systems(read, codes: Codes) -> None:
    loaded = read(
        b"\xef\xbb\xbf" + (line(id="a") + "\n" + line(id="b") + "{").replace("\n", "\r\n").encode()
    )
    assert [each.id for each in loaded.descriptors] == ["a", "b"]
    assert codes(loaded) == ["info byte-order-mark 1", "error json-syntax 4"]


def test_a_line_separator_of_unicode_ends_no_line(read) -> None:
    assert only(read(line(content="one\u2028two\u0085three"))).content == "one\u2028two three"


def test_a_file_in_utf_16_is_refused_in_one_line(read, codes: Codes) -> None:
    assert codes(read((line() * 50).encode("utf-16"))) == ["error encoding 1"]


@pytest.mark.parametrize("text", ["", "\n \n", "\ufeff"])
def test_an_empty_file_says_so(read, codes: Codes, text) -> None:
    assert "error jsonl-empty 1" in codes(read(text))


def test_findings_about_a_file_of_something_else_have_an_end(read) -> None:
    loaded = read('{"_id": 1, "text": "a document"}\n' * 5_000)
    assert loaded.descriptors == ()
    assert len(loaded.findings) == 101
    assert "more findings" in loaded.findings[-1].message
    assert loaded.findings[-1].severity == "error"
