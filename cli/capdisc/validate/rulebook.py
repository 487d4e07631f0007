"""What `validate --rule`, `--rules` and `--schema` print: the rules and why they are there, and
the JSON Schemas of the manifests.
"""

from __future__ import annotations

from pathlib import Path

from capdisc.output import console
from capdisc.output.failures import ExitCode
from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.model.frozen import asdict
from capdisc_indexer.model.json_types import JsonObject
from capdisc_indexer.validation import schemas
from capdisc_indexer.validation.finding_selection import unknown_code_error
from capdisc_indexer.validation.profiles import ONLY, PROFILES
from capdisc_indexer.validation.rule_explanations import RuleExplanation, load_rules
from capdisc_indexer.validation.suppression_comments import is_guarded

SCHEMAS = ("capability", "skill")


def print_rules(code: str | None, json: bool) -> int:
    """Print one rule, or all of them in a table. Raises UsageError for an unknown code."""
    if code and code not in load_rules():
        raise unknown_code_error(code)
    chosen = [load_rules()[code]] if code else list(load_rules().values())
    if json:
        console.print_document({"rules": [_rule_document(rule) for rule in chosen]})
    elif code:
        console.print_lines(_format_rule(chosen[0]))
    else:
        rows = [
            (rule.code, rule.severity, rule.group, "yes" if rule.fixable else "", rule.summary)
            for rule in chosen
        ]
        console.print_lines(
            console.format_table(("rule", "severity", "group", "--fix", "what is found"), rows)
        )
    return ExitCode.OK


def print_schema(name: str) -> int:
    """Print the JSON Schema of a manifest's fields. Raises UsageError for an unknown name."""
    if name not in SCHEMAS:
        raise UsageError(f"there is no schema of {name!r}", f"one of: {', '.join(SCHEMAS)}")
    console.print_result(
        Path(schemas.__path__[0], f"{name}.schema.json").read_text(encoding="utf-8")
    )
    return ExitCode.OK


def _format_rule(rule: RuleExplanation) -> list[str]:
    severities = [f"{profile} {level}" for profile, level in _profile_severities(rule).items()]
    lines = [
        f"{rule.code} ({rule.group})",
        rule.summary,
        "",
        f"why       {rule.why}",
        f"fix       {rule.fix}",
        f"severity  {', '.join(severities)}",
    ]
    if rule.fixable:
        lines.append("          validate --fix puts it right")
    if is_guarded(rule.code):
        lines.append("          only --ignore and settings silence it, no comment in a file")
    return [*lines, *(f"see       {reference}" for reference in rule.refs)]


def _profile_severities(rule: RuleExplanation) -> dict[str, str]:
    """The severity of the rule in each profile that has it."""
    profiles = [profile for profile in PROFILES if profile in ONLY.get(rule.code, (profile,))]
    return {profile: str(PROFILES[profile].get(rule.code, rule.severity)) for profile in profiles}


def _rule_document(rule: RuleExplanation) -> JsonObject:
    return {
        **asdict(rule),
        "guarded": is_guarded(rule.code),
        "profiles": _profile_severities(rule),
    }
