"""What each rule is for. The texts lie in rules.toml and are read only when somebody asks for
them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

from capdisc_indexer.model.frozen import frozen, replace
from capdisc_indexer.model.types import Finding, Severity

# How bad each finding is to whom. A reader lets pass what it understands; a profile says who must
# understand it.
#
# `spec` is the Agent Skills specification, `strict` the names and fields that its reference
# validator accepts, `claude` what claude.ai and the Skills API take, `codex` and `opencode` what
# those clients load. Codes that a profile does not name keep the severity that reading gave them.

_E, _W, _I = Severity.ERROR, Severity.WARNING, Severity.INFO

# What is no YAML to a parser that repairs nothing.
_NOT_YAML = dict.fromkeys(
    (
        "yaml-block-mark",
        "yaml-missing-blank",
        "yaml-repaired",
        "yaml-reserved-start",
        "yaml-tab",
        "yaml-unbalanced-quote",
        "yaml-unquoted-colon",
    ),
    _E,
)
_NAME = dict.fromkeys(("name-case", "name-characters", "name-hyphens", "name-too-long"), _E)
_SPEC: Mapping[str, Severity] = {
    **_NOT_YAML,
    **_NAME,
    "compatibility-length": _E,
    "description-too-long": _E,
    "frontmatter-in-code-fence": _E,
    "frontmatter-not-first": _E,
    "line-ends-mixed": _W,
    "metadata-shape": _E,
    "name-missing": _E,
}

PROFILES: Mapping[str, Mapping[str, Severity]] = MappingProxyType(
    {
        "spec": _SPEC,
        "strict": {
            **_SPEC,
            "byte-order-mark": _E,
            "client-field": _E,
            "field-type": _E,
            "misspelt-field": _E,
            "name-folder-mismatch": _E,
            "unknown-field": _E,
        },
        "claude": {
            **_SPEC,
            "client-field": _E,
            "description-xml": _E,
            "misspelt-field": _E,
            "name-folder-mismatch": _I,
            "name-reserved-word": _E,
            "unknown-field": _E,
        },
        "codex": {
            **_SPEC,
            "client-field": _I,
            "name-case": _W,
            "name-folder-mismatch": _I,
            "unknown-field": _I,
        },
        "opencode": {
            **_SPEC,
            "name-folder-mismatch": _E,
            "name-not-ascii": _E,
            "unknown-field": _I,
        },
    }
)
# Rules that only some clients have; silent elsewhere.
ONLY: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"name-reserved-word": ("claude",), "description-xml": ("claude",)}
)


def apply_profile(finding: Finding, profile: str) -> Finding | None:
    """The finding as bad as it is to this profile; None where the rule is not the profile's."""
    if profile not in ONLY.get(finding.code, (profile,)):
        return None
    severity = PROFILES[profile].get(finding.code, finding.severity)
    return finding if severity is finding.severity else replace(finding, severity=severity)


@frozen(kw_only=True)
class RuleExplanation:
    """One rule: what it says in a sentence, why it is there, and what to do. `severity` is that of
    the worst finding that it makes under the profile `spec`; `refs` names where the rule comes
    from.
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
    """Every rule by its code, in the order of the file, which keeps the rules of one group
    together.
    """
    import tomllib

    from capdisc_indexer.validation.fixes import FIXES  # 10 ms, which a check is spared

    text = Path(__file__).with_name("rules.toml").read_text(encoding="utf-8")
    return {code: _rule(code, table, code in FIXES) for code, table in tomllib.loads(text).items()}


def explain_rule(code: str) -> RuleExplanation:
    """The rule of a code that a finding has."""
    return load_rules()[code]


def _rule(code: str, table: Mapping[str, str], is_fixable: bool) -> RuleExplanation:
    return RuleExplanation(
        code=code,
        group=table["group"],
        severity=Severity(table["severity"]),
        summary=table["summary"],
        why=table["why"],
        fix=table["fix"],
        refs=tuple(table.get("refs", ())),
        fixable=is_fixable,
    )
