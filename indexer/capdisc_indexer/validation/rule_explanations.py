"""The text that explains each rule, from rules.toml, which is read only when a rule is explained."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.types import Severity
from capdisc_indexer.validation.fixes import FIXES


@frozen(kw_only=True)
class RuleExplanation:
    """One rule: what it finds in a sentence, why it exists, and what to do. `severity` is that of
    its worst finding under the profile `spec`; `refs` name the sources of the rule; `fixable` says
    whether `--fix` repairs its findings.
    """

    code: str
    group: str
    severity: Severity
    summary: str
    why: str
    fix: str
    refs: tuple[str, ...] = ()
    fixable: bool = False


@cache
def load_rules() -> Mapping[str, RuleExplanation]:
    """Every rule by its code, in the order of the file, where the rules of a group are together."""
    import tomllib

    text = Path(__file__).with_name("rules.toml").read_text(encoding="utf-8")
    return {code: _rule(code, table) for code, table in tomllib.loads(text).items()}


def explain_rule(code: str) -> RuleExplanation:
    """The rule behind the code of a finding. Raises KeyError for a code of no rule."""
    return load_rules()[code]


def _rule(code: str, table: Mapping[str, str]) -> RuleExplanation:
    return RuleExplanation(
        code=code,
        group=table["group"],
        severity=Severity(table["severity"]),
        summary=table["summary"],
        why=table["why"],
        fix=table["fix"],
        refs=tuple(table.get("refs", ())),
        fixable=code in FIXES,
    )
