"""What the rules are and why, and the JSON Schemas of the manifests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from capdisc.output import console
from capdisc.output.exit_codes import ExitCode
from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.model.frozen import asdict
from capdisc_indexer.validation import schemas
from capdisc_indexer.validation.finding_selection import unknown_code_error
from capdisc_indexer.validation.profiles import ONLY, PROFILES
from capdisc_indexer.validation.rule_explanations import RuleExplanation, load_rules
from capdisc_indexer.validation.suppression_comments import is_guarded

SCHEMAS = ("capability", "skill")


def print_rules(code: str | None, json: bool) -> int:
    """Print one rule, or all of them in a table. Raises UsageError for a code that no rule has."""
    if code and code not in load_rules():
        raise unknown_code_error(code)
    named = [load_rules()[code]] if code else list(load_rules().values())
    if json:
        console.print_document({"rules": [_rule_document(rule) for rule in named]})
    elif code:
        console.print_lines(_format_rule(named[0]))
    else:
        rows = [
            (rule.code, rule.severity, rule.group, "yes" if rule.fixable else "", rule.summary)
            for rule in named
        ]
        console.print_lines(
            console.format_table(("rule", "severity", "group", "--fix", "what is found"), rows)
        )
    return ExitCode.OK


def print_schema(name: str) -> int:
    """Print the JSON Schema of a manifest's fields. Raises UsageError for a manifest that has
    none.
    """
    if name not in SCHEMAS:
        raise UsageError(f"there is no schema of {name!r}", f"one of: {', '.join(SCHEMAS)}")
    console.print_result(
        Path(schemas.__path__[0], f"{name}.schema.json").read_text(encoding="utf-8")
    )
    return ExitCode.OK


def _format_rule(rule: RuleExplanation) -> list[str]:
    lines = [
        f"{rule.code} ({rule.group})",
        rule.summary,
        "",
        f"why       {rule.why}",
        f"fix       {rule.fix}",
    ]
    lines += [
        f"severity  {', '.join(f'{profile} {level}' for profile, level in _severity_levels(rule).items())}"
    ]
    lines += ["          validate --fix puts it right"] if rule.fixable else []
    lines += (
        ["          only --ignore and settings silence it, no comment in a file"]
        if is_guarded(rule.code)
        else []
    )
    return [*lines, *(f"see       {reference}" for reference in rule.refs)]


def _severity_levels(rule: RuleExplanation) -> dict[str, str]:
    """How bad it is to each profile that has the rule."""
    named = [profile for profile in PROFILES if profile in ONLY.get(rule.code, (profile,))]
    return {profile: str(PROFILES[profile].get(rule.code, rule.severity)) for profile in named}


def _rule_document(rule: RuleExplanation) -> dict[str, Any]:
    return {**asdict(rule), "guarded": is_guarded(rule.code), "profiles": _severity_levels(rule)}
