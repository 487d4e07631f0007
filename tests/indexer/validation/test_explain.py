"""Every rule is explained, and every explanation is of a rule."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import capdisc_data
import capdisc_guard
import capdisc_indexer
from capdisc_indexer.model.types import RuleExplanation, Severity
from capdisc_indexer.validation.finding_selection import is_guarded
from capdisc_indexer.validation.fixes import FIXES
from capdisc_indexer.validation.rules import ONLY, PROFILES, load_rules
from capdisc_indexer.validation.validate import validate_roots

CORE = Path(capdisc_indexer.__file__).parent
FOLDERS = [
    *(CORE / name for name in ("indexing", "sources", "validation")),
    *(Path(plugin.__file__).parent for plugin in (capdisc_data, capdisc_guard)),
]
CATALOGS = Path(__file__).resolve().parents[3] / "fixtures" / "catalogs"
# Words with a hyphen that are no codes, or the code of a build that no rule makes.
NOT_CODES = frozenset(
    """
    agent-skills allowed-tools argument-hint claude-ai claude-code content-type
    mcp-servers x-requires disable-model-invocation disallowed-tools emergent-tool
    date-time mcp-server pdf-merge skills-api system-reminder skill-md
    user-invocable utf-8 utf-8-sig path-unfinished
""".split()
)
ORDER = [Severity.ERROR, Severity.WARNING, Severity.INFO]


def texts_in_code() -> Iterator[str]:
    """Every text constant of the modules that make findings."""
    for folder in FOLDERS:
        for path in folder.rglob("*.py"):
            if path.parent.name == "program_text":
                continue  # whose words are names of programs
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    yield node.value


CODE = set(texts_in_code())


def test_every_code_in_use_is_explained() -> None:
    used = {text for text in CODE if re.fullmatch(r"[a-z]+(-[a-z0-9]+)+", text)} - NOT_CODES
    assert sorted(used - load_rules().keys()) == []


def test_no_explanation_is_of_a_rule_that_nothing_applies() -> None:
    assert sorted(load_rules().keys() - CODE) == []


@pytest.mark.parametrize("rule", load_rules().values(), ids=list(load_rules()))
def test_an_explanation_is_whole(rule: RuleExplanation) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", rule.code)
    for text in (rule.summary, rule.why, rule.fix):
        assert text == text.strip() and len(text) < 240
        assert text[0].isupper() or text[0] == "`"
        assert text.endswith((".", "..."))
    assert ". " not in rule.summary.removesuffix(".").replace("such as @, * or [", "")


def test_a_severity_is_that_of_the_profile_where_it_has_one() -> None:
    for code, severity in PROFILES["spec"].items():
        assert load_rules()[code].severity is severity, code


def test_profiles_name_only_rules_that_there_are() -> None:
    named = {code for profile in PROFILES.values() for code in profile} | ONLY.keys()
    assert sorted(named - load_rules().keys()) == []


@pytest.mark.parametrize("name", ["broken", "messy"])
def test_no_finding_is_worse_than_its_rule_says(name: str) -> None:
    findings = validate_roots([CATALOGS / name]).chosen.findings
    assert findings
    for one in findings:
        assert ORDER.index(one.severity) >= ORDER.index(load_rules()[one.code].severity), one


def test_a_rule_says_whether_it_can_be_put_right() -> None:
    assert {code for code, rule in load_rules().items() if rule.fixable} == FIXES.keys()


def test_whatever_hides_or_attacks_is_guarded() -> None:
    for code, rule in load_rules().items():
        if rule.group in ("content", "hidden", "path", "schema", "yaml"):
            assert is_guarded(code), code
        if rule.group in ("name", "description", "body"):
            assert not is_guarded(code), code
