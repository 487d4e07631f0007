"""What a CAPABILITY.yaml becomes, and its findings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from capdisc_indexer.model.types import Descriptor, Edge, LoadedFile, Parameter

Load = Callable[[Mapping[str, str | bytes]], LoadedFile]
Codes = Callable[[LoadedFile], list[str]]

PLAIN = "name: send-mail\nkind: tool\ndescription: Sends a mail.\n"


def only(loaded: LoadedFile) -> Descriptor:
    (descriptor,) = loaded.descriptors
    return descriptor


def manifest(more: str = "", **beside: str) -> dict[str, str | bytes]:
    names = {"schema": "schema.json", "skill": "SKILL.md"}
    files: dict[str, str | bytes] = {"mail/CAPABILITY.yaml": PLAIN + more}
    return files | {f"mail/{names[key]}": text for key, text in beside.items()}


def test_three_fields_are_enough(load: Load) -> None:
    """Name, kind and description are enough; the category is `general` (S167, S275)."""
    loaded = load(manifest())
    found = only(loaded)
    assert (found.id, found.title, found.category, found.available) == (
        "tool:send-mail",
        "send-mail",
        "general",
        True,
    )
    assert found.source.path.endswith("mail/CAPABILITY.yaml")
    assert loaded.findings == ()


FULL = """\
displayName: Send Mail
category: communication
tags: [mail, smtp]
phrases: ["write to Ann, please"]
examples: [mail the report]
hypotheticalQueries: [send an email]
requiredTools: [tool:contacts]
requiredSecrets: [SMTP_PASSWORD]
requiredBins: sendmail, gpg
composedWith: [calendar]
related: [chat]
edges: [{target: tool:contacts, type: requires, weight: 0.9}, {target: chat}]
riskLevel: high
hasSideEffects: yes
requiresConfirmation: "true"
available: off
inputSchema:
  type: object
  required: [to]
  properties:
    to: {type: array, items: {type: string}, description: Who gets it}
    urgency: {enum: [low, high], default: low}
    limit: {type: integer, maximum: 1e2, nullable: true}
outputSchema: {type: "null"}
skillContent: |
  First do this.
usageHint: Before the evening.
guidance: Be brief.
instructions: Ask first.
extraction: {facts: [id]}
run: {command: [mail, -s], timeout: 5}
metadata: {owner: ops, version: 1.10}
version: 2.0.1
"""


def test_every_field_finds_its_place(load: Load) -> None:
    """Every optional field of a manifest is read into the descriptor (S154, S168, S277)."""
    loaded = load(manifest(FULL))
    found = only(loaded)
    assert loaded.findings == ()
    assert (found.title, found.category, found.tags) == (
        "Send Mail",
        "communication",
        ("mail", "smtp"),
    )
    assert found.phrases == ("write to Ann, please", "mail the report", "send an email")
    assert (found.requires, found.composed_with, found.related) == (
        ("tool:contacts",),
        ("calendar",),
        ("chat",),
    )
    assert (found.secrets, found.bins) == (("SMTP_PASSWORD",), ("sendmail", "gpg"))
    assert (found.risk, found.has_side_effects, found.confirm, found.available) == (
        "high",
        True,
        True,
        False,
    )
    assert found.edges == (
        Edge(kind="REQUIRES", source="tool:send-mail", target="tool:contacts", weight=0.9),
        Edge(kind="RELATED", source="tool:send-mail", target="chat"),
    )
    assert (found.content, found.guidance, found.instructions) == (
        "First do this.",
        "Be brief.",
        "Ask first.",
    )
    assert found.extract == {"facts": ["id"]}
    assert found.run == {"command": ["mail", "-s"], "timeout": 5}
    assert found.output_schema == {"type": "null"}
    assert found.extra == {"metadata": {"owner": "ops", "version": "1.10"}, "version": "2.0.1"}


def test_parameters_come_from_the_schema_with_its_types(load: Load) -> None:
    """Parameters come from the schema, and numbers in it keep their type (S164)."""
    found = only(load(manifest(FULL)))
    assert found.parameters == (
        Parameter(name="to", type="array<string>", required=True, description="Who gets it"),
        Parameter(name="urgency", type="low|high"),
        Parameter(name="limit", type="integer"),
    )
    assert found.schema is not None
    assert found.schema["properties"]["limit"] == {
        "type": "integer",
        "maximum": 100.0,
        "nullable": True,
    }


@pytest.mark.parametrize(
    "key", ["hasSideEffects", "has_side_effects", "has-side-effects", "HasSideEffects"]
)
def test_keys_may_be_spelt_in_any_style(load: Load, key: str) -> None:
    loaded = load(manifest(f"{key}: true\n"))
    assert only(loaded).has_side_effects
    assert loaded.findings == ()


@pytest.mark.parametrize(
    ("field", "used"), [("name", "Sends a mail"), ("kind", "tool"), ("description", "send mail")]
)
@pytest.mark.parametrize("value", [None, "", "null", "''", '"\\u3164\\u2800"', "[a]"])
def test_another_field_takes_the_place_of_a_missing_one(
    load: Load, field: str, used: str, value: str | None
) -> None:
    """A missing or empty required field is named at its line, and what stands in for it (S165)."""
    lines = [line for line in PLAIN.splitlines() if not line.startswith(field)]
    lines += [] if value is None else [f"{field}: {value}"]
    loaded = load({"a/CAPABILITY.yaml": "\n".join(lines)})
    assert getattr(only(loaded), field) == used
    (missing,) = loaded.findings
    assert (missing.severity, missing.line) == ("warning", 1 if value is None else 3)
    assert missing.code in ("field-missing", "field-empty", "field-type")
    assert used in missing.message and field in missing.hint


def test_a_manifest_that_says_nothing_is_named_after_its_folder(load: Load) -> None:
    assert (
        only(load({"crane-folder/CAPABILITY.yaml": "tags: [paper]\n"})).id == "tool:crane-folder"
    )


def test_each_item_of_a_list_is_a_capability(load: Load, codes: Codes) -> None:
    """Each item of a list is a capability, and a broken item costs only itself (S161)."""
    text = (
        "capabilities:\n  - {name: a, kind: tool, description: A.}\n  - {name: p\u0430y, kind: tool}\n"
        "  - {name: b, kind: tool, description: B.}\n"
    )
    loaded = load({"all/CAPABILITY.yaml": text})
    assert [(found.id, found.source.pointer) for found in loaded.descriptors] == [
        ("tool:a", "0"),
        ("tool:b", "2"),
    ]
    assert "error confusable-name 3" in codes(loaded)


def test_each_document_of_a_file_is_a_capability(load: Load, codes: Codes) -> None:
    second = PLAIN.replace("name: ", "name: second-")
    loaded = load({"all/CAPABILITY.yaml": f"{PLAIN}---\n{second}---\ncapabilities: []\n"})
    assert [found.source.pointer for found in loaded.descriptors] == ["0", "1"]
    assert codes(loaded) == []


def test_an_unknown_key_gets_the_nearest_known_one(load: Load) -> None:
    loaded = load(manifest("requiredSecret: [A]\n"))
    assert only(loaded).secrets == ()
    (finding,) = loaded.findings
    assert (finding.code, finding.severity, finding.line) == ("unknown-key", "warning", 4)
    assert "requiredSecrets" in finding.hint


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n---\n"])
def test_an_empty_file_is_an_error(load: Load, codes: Codes, text: str) -> None:
    assert codes(load({"a/CAPABILITY.yaml": text})) == ["error yaml-empty 1"]


@pytest.mark.parametrize("text", ["- name: a\n", "just text\n", "capabilities: [a]\n"])
def test_what_is_no_mapping_is_an_error(load: Load, codes: Codes, text: str) -> None:
    loaded = load({"a/CAPABILITY.yaml": text})
    assert loaded.descriptors == ()
    assert codes(loaded) == ["error yaml-not-mapping 1"]


@pytest.mark.parametrize(
    ("line", "identity"),
    [
        ("name: ../../etc\n", "tool:etc"),
        ("name: $(reboot)\n", "tool:reboot"),
        ("name: /pay/refund\n", "tool:pay/refund"),
        ("name: C++\n", "tool:C plus plus"),
        ("kind: Two words\n", "two-words:send-mail"),
        ("id: channel:turnips\n", "tool:turnips"),
        ("id: payments/charge\n", "tool:payments/charge"),
        ("id: \"tool:x' OR '1'='1\"\n", "tool:x OR 1 1"),
        (f"description: {'d' * 4_097}\n", "tool:send-mail"),
    ],
)
def test_of_a_value_that_breaks_the_rules_what_is_safe_is_read(
    load: Load, line: str, identity: str
) -> None:
    key = line.split(":")[0]
    kept = "".join(each + "\n" for each in PLAIN.splitlines() if not each.startswith(key))
    loaded = load({"a/CAPABILITY.yaml": kept + line})
    assert only(loaded).id == identity
    assert [finding.severity for finding in loaded.findings] == ["warning"]


@pytest.mark.parametrize("key", ["name", "kind"])
def test_letters_that_pass_for_others_keep_the_capability_out(
    load: Load, codes: Codes, key: str
) -> None:
    kept = "".join(each + "\n" for each in PLAIN.splitlines() if not each.startswith(key))
    loaded = load({"a/CAPABILITY.yaml": f"{kept}{key}: t\u043e\u043el\n"})
    assert loaded.descriptors == ()
    assert codes(loaded) == ["error confusable-name 3"]


@pytest.mark.parametrize(
    "name",
    [
        "\u0939\u093f\u0928\u094d\u0926\u0940",
        "\u6280\u80fd",
        "Google \u041a\u0430\u0440\u0442\u044b",
    ],
)
def test_names_of_every_script_are_names(load: Load, name: str) -> None:
    loaded = load({"a/CAPABILITY.yaml": PLAIN.replace("send-mail", name)})
    assert (only(loaded).name, loaded.findings) == (name, ())


@pytest.mark.parametrize(("kind", "hint"), [("gadget", "leave it"), ("tol", "tool?")])
def test_an_unknown_kind_is_a_kind_with_a_warning(
    load: Load, codes: Codes, kind: str, hint: str
) -> None:
    """Any word is a kind; one that nobody else uses is named (S153)."""
    loaded = load({"a/CAPABILITY.yaml": PLAIN.replace("tool", kind)})
    assert (only(loaded).kind, only(loaded).id) == (kind, f"{kind}:send-mail")
    assert codes(loaded) == ["warning unknown-kind 2"]
    assert hint in loaded.findings[0].hint


def test_an_edge_that_depends_is_one_that_requires(load: Load) -> None:
    loaded = load(manifest("edges: [{target: chat, type: depends-on}]\n"))
    assert [(edge.kind, edge.target) for edge in only(loaded).edges] == [("REQUIRES", "chat")]
    assert loaded.findings == ()


@pytest.mark.parametrize(
    "line",
    [
        "riskLevel: huge",
        "hasSideEffects: maybe",
        "tags: {a: b}",
        "inputSchema: text",
        "edges: x",
        "edges: [{}]",
    ],
)
def test_an_optional_value_that_makes_no_sense_is_a_warning(load: Load, line: str) -> None:
    loaded = load(manifest(line + "\n"))
    assert only(loaded).id == "tool:send-mail"
    assert {finding.severity for finding in loaded.findings} == {"warning"}
    assert {finding.line for finding in loaded.findings} == {4}


def test_a_secret_instead_of_its_name_is_refused_and_never_repeated(
    load: Load, codes: Codes
) -> None:
    loaded = load(manifest("requiredSecrets: [wJalrXUtnFEMI/K7]\n"))
    assert loaded.descriptors == ()
    assert codes(loaded) == ["error secret-value 4"]
    assert "wJalr" not in repr(loaded)


def test_the_schema_beside_the_manifest_is_used_when_it_has_none(load: Load) -> None:
    """The schema.json beside a manifest is used, unless the manifest has a schema (S163)."""
    schema = '{"properties": {"to": {"type": "string"}}}'
    assert [each.name for each in only(load(manifest(schema=schema))).parameters] == ["to"]
    own = "inputSchema: {properties: {cc: {type: string}}}\n"
    assert [each.name for each in only(load(manifest(own, schema=schema))).parameters] == ["cc"]


@pytest.mark.parametrize(
    ("schema", "code"),
    [
        ("{", "json-syntax"),
        ("[1]", "schema-type"),
        ('{"a": 1, "a": 2}', "json-duplicate-key"),
        ("[" * 9_000, "json-depth"),
        (" " * 300_000, "file-too-large"),
    ],
)
def test_a_bad_schema_beside_the_manifest_costs_the_schema(
    load: Load, schema: str, code: str
) -> None:
    """What has a `run` is kept out: its arguments could not be checked."""
    loaded = load(manifest(schema=schema))
    assert only(loaded).parameters == ()
    assert load(manifest("run: {command: [echo]}\n", schema=schema)).descriptors == ()
    finding = next(each for each in loaded.findings if each.severity == "error")
    assert finding.code == code
    assert finding.path.endswith("schema.json")


def test_the_body_of_the_skill_beside_the_manifest_is_its_content(load: Load) -> None:
    """The body of SKILL.md beside a manifest is its content, unless it has its own (S162)."""
    skill = "---\nname: other\ndescription: Not read.\n---\n\nSteps.\n"
    assert only(load(manifest(skill=skill))).content == "Steps."
    assert only(load(manifest("skillContent: Mine.\n", skill=skill))).content == "Mine."


def test_a_changed_companion_changes_the_digest(load: Load) -> None:
    first = only(load(manifest(skill="One."))).source.content_hash
    assert first != only(load(manifest(skill="Two."))).source.content_hash
    assert first == only(load(manifest(skill="One."))).source.content_hash


@pytest.mark.parametrize("path", ["long.md", "./docs/long.md", "docs/long.md"])
def test_content_may_be_a_file_inside_the_folder(load: Load, path: str) -> None:
    places = ("mail/long.md", "mail/docs/long.md")
    files = manifest(f"skillContent: {path}\n") | dict.fromkeys(places, "The long text.")
    assert only(load(files)).content == "The long text."


@pytest.mark.parametrize(
    "path",
    [
        "../../outside.md",
        "../shared/long.md",
        "docs/../../../outside.md",
        "../../gone.md",
        "/etc/hostname",
        "~/x.md",
        "$HOME/x.md",
        "file:///etc/hostname",
        "'C:\\x.md'",
        "'..\\..\\outside.md'",
        "'%2e%2e/%2e%2e/outside.md'",
        "link.md",
        "linked/outside.md",
        "'notes.md:hidden'",
        "aux",
        "'%2e%2e%2foutside'",
        '"docs/a\\nb.md"',
    ],
)
def test_content_outside_the_folder_is_never_read(
    load: Load, codes: Codes, tmp_path: Path, path: str
) -> None:
    """Content outside the manifest's folder is never read, however it is spelled (S162)."""
    (tmp_path / "outside.md").write_text("CANARY")
    (tmp_path / "catalog/mail").mkdir(parents=True)
    (tmp_path / "catalog/mail/link.md").symlink_to(tmp_path / "outside.md")
    (tmp_path / "catalog/mail/linked").symlink_to(tmp_path)
    loaded = load(manifest(f"skillContent: {path}\n"))
    assert loaded.descriptors == ()
    assert "error path-escape 4" in codes(loaded)
    assert "CANARY" not in repr(loaded)


def test_a_path_to_nothing_is_an_error_and_a_sentence_is_a_text(load: Load, codes: Codes) -> None:
    assert codes(load(manifest("skillContent: gone.md\n"))) == ["error path-missing 4"]
    assert only(
        load(manifest("skillContent: First read and/or skim notes.md\n"))
    ).content.startswith("First")


def test_a_half_written_manifest_is_refused(load: Load, codes: Codes) -> None:
    loaded = load({"a/CAPABILITY.yaml": PLAIN + 'usageHint: "Use it when the'})
    assert loaded.descriptors == ()
    assert codes(loaded) == ["error yaml-syntax 4"]


def test_an_unquoted_colon_is_put_right(load: Load, codes: Codes) -> None:
    """An unquoted colon in a description is repaired and reported with its line (S166)."""
    loaded = load({"a/CAPABILITY.yaml": PLAIN.replace("Sends", "Mail: sends")})
    assert only(loaded).description == "Mail: sends a mail."
    assert codes(loaded) == ["warning yaml-unquoted-colon 3"]


def test_one_bad_file_stops_no_other(load: Load) -> None:
    loaded = load({"a/CAPABILITY.yaml": "[", "b/SKILL.md": b"\xff", "c/CAPABILITY.yml": PLAIN})
    assert only(loaded).id == "tool:send-mail"
    assert [each.severity for each in loaded.findings if each.code != "misnamed-manifest"] == [
        "error",
        "error",
    ]
