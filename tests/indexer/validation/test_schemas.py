"""The published JSON Schemas agree with the readers."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from capdisc_indexer.model.risks import RISK_CHOICES
from capdisc_indexer.sources.formats.field_table import field_plan
from capdisc_indexer.sources.formats.identity_fields import CAPABILITY_KINDS, LONG_DESCRIPTION
from capdisc_indexer.sources.formats.manifest import EDGE_KINDS as EDGES
from capdisc_indexer.sources.formats.naming_rules import MAX_NAME, name_problem
from capdisc_indexer.sources.readers.field_reader import MAX_ITEMS
from capdisc_indexer.sources.readers.frontmatter import split_front_matter
from capdisc_indexer.sources.readers.yaml_nodes import Json, to_json
from capdisc_indexer.sources.readers.yaml_reader import read_yaml
from capdisc_indexer.validation.rules import manifest_schema
from case_rows import read_rows

CATALOGS = Path(__file__).resolve().parents[3] / "fixtures" / "catalogs"


def schema(name: str) -> dict[str, Any]:
    text = manifest_schema(name)
    found: dict[str, Any] = json.loads(text)
    return found


CAPABILITY, SKILL = schema("capability"), schema("skill")
ONE = CAPABILITY["$defs"]["capability"]


def values(text: str) -> list[Json]:
    return [to_json(document) for document in read_yaml(text).documents]


def problems(schema: dict[str, Any], text: str) -> list[str]:
    validator = jsonschema.Draft202012Validator(schema)
    return [error.message for value in values(text) for error in validator.iter_errors(value)]


@pytest.mark.parametrize("found", [CAPABILITY, SKILL], ids=["capability", "skill"])
def test_a_schema_is_one(found: dict[str, Any]) -> None:
    jsonschema.Draft202012Validator.check_schema(found)
    assert found["title"] and found["description"]
    for name, field in (found.get("properties") or ONE["properties"]).items():
        assert field["description"], name


@pytest.mark.parametrize(
    ("name", "known"), [("manifest", ONE["properties"]), ("skill", SKILL["properties"])]
)
def test_every_key_that_is_read_is_in_the_schema(name: str, known: dict[str, Any]) -> None:
    assert {key for keys in field_plan(name).names[""].values() for key in keys} == set(known)


def test_the_words_and_limits_are_those_of_the_readers() -> None:
    assert ONE["properties"]["kind"]["anyOf"][0]["enum"] == sorted(CAPABILITY_KINDS)
    assert CAPABILITY["$defs"]["risk"]["enum"] == [*RISK_CHOICES, None]
    assert CAPABILITY["$defs"]["edge"]["properties"]["type"]["enum"] == list(EDGES)
    assert (
        CAPABILITY["$defs"]["name"]["maxLength"]
        == SKILL["properties"]["name"]["maxLength"]
        == MAX_NAME
    )
    for known in (ONE["properties"], SKILL["properties"]):
        assert known["description"]["maxLength"] == LONG_DESCRIPTION
    assert CAPABILITY["$defs"]["texts"]["anyOf"][0]["maxItems"] == MAX_ITEMS


@pytest.mark.parametrize("catalog", ["small", "office"])
def test_sound_files_satisfy_it(catalog: str) -> None:
    found = 0
    for path in (CATALOGS / catalog).rglob("*"):
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        if path.name.startswith("CAPABILITY."):
            assert problems(CAPABILITY, text) == [], path
        elif path.name == "SKILL.md" and not list(path.parent.glob("CAPABILITY.*")):
            assert problems(SKILL, split_front_matter(text).block or "") == [], path
        found += path.name.startswith(("CAPABILITY.", "SKILL."))
    assert found > 30


@pytest.mark.parametrize(
    "line",
    [
        "nonsense: 1",
        "riskLevel: none",
        "tags: {a: b}",
        "requiredSecrets: [sk-123]",
        "edges: [{type: RELATED}]",
        "name: a/../b",
    ],
)
def test_a_mistake_in_a_manifest_does_not(line: str) -> None:
    sound = "kind: tool\ndescription: Folds cranes.\n"
    assert problems(CAPABILITY, sound + "name: a\n") == []
    assert problems(CAPABILITY, sound + line + ("" if line.startswith("name") else "\nname: a\n"))


@pytest.mark.parametrize(
    "line", ["risk_level: low", "risk-level: low", "RiskLevel: low", "required_tools: [a]"]
)
def test_keys_may_be_spelt_with_other_separators(line: str) -> None:
    assert problems(CAPABILITY, f"name: a\nkind: tool\ndescription: Folds cranes.\n{line}\n") == []


def test_a_manifest_may_hold_several() -> None:
    one = "{name: a, kind: tool, description: Folds cranes.}"
    assert problems(CAPABILITY, f"capabilities: [{one}]") == []
    assert problems(CAPABILITY, "capabilities: [{name: a}]")
    assert problems(CAPABILITY, "capabilities: []")


@pytest.mark.parametrize(
    "name", ["pdf-merge", "café", "a b", "../x", "a..b", "$(ls)", "a:b", "x.y/z", "a`b", "技能"]
)
def test_names_are_taken_as_the_reader_takes_them(name: str) -> None:
    pattern = CAPABILITY["$defs"]["name"]["pattern"]
    assert bool(re.search(pattern, name)) is (name_problem(name) is None)


@pytest.mark.parametrize(
    ("name", "fits"),
    read_rows(__file__, "a_skills_name_is_that_of_the_format"),
)
def test_a_skills_name_is_that_of_the_format(name: str, fits: bool) -> None:
    assert bool(re.search(SKILL["properties"]["name"]["pattern"], name)) is fits
