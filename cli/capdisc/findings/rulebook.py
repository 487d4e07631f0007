"""What the rules are and why, and the JSON Schemas of the manifests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from capdisc import output
from capdisc.exit_codes import ExitCode
from capdisc_indexer.check import schemas
from capdisc_indexer.check.explain import Rule, rules
from capdisc_indexer.check.guarded import is_guarded
from capdisc_indexer.check.profiles import ONLY, PROFILES
from capdisc_indexer.check.selection import unknown
from capdisc_indexer.errors import UsageError
from capdisc_indexer.frozen import asdict

SCHEMAS = ("capability", "skill")


def show(code: str | None, json: bool) -> int:
    """Print one rule, or all of them in a table. Raises UsageError for a code that no rule has."""
    if code and code not in rules():
        raise unknown(code)
    named = [rules()[code]] if code else list(rules().values())
    if json:
        output.document({"rules": [_document(one) for one in named]})
    elif code:
        output.lines(_lines(named[0]))
    else:
        rows = [(one.code, one.severity, one.group, "yes" if one.fixable else "", one.summary) for one in named]
        output.lines(output.table(("rule", "severity", "group", "--fix", "what is found"), rows))
    return ExitCode.OK


def show_schema(name: str) -> int:
    """Print the JSON Schema of a manifest's fields. Raises UsageError for a manifest that has none."""
    if name not in SCHEMAS:
        raise UsageError(f"there is no schema of {name!r}", f"one of: {', '.join(SCHEMAS)}")
    output.result(Path(schemas.__path__[0], f"{name}.schema.json").read_text(encoding="utf-8"))
    return ExitCode.OK


def _lines(one: Rule) -> list[str]:
    lines = [f"{one.code} ({one.group})", one.summary, "", f"why       {one.why}", f"fix       {one.fix}"]
    lines += [f"severity  {', '.join(f'{profile} {level}' for profile, level in _levels(one).items())}"]
    lines += ["          validate --fix puts it right"] if one.fixable else []
    lines += ["          only --ignore and settings silence it, no comment in a file"] if is_guarded(one.code) else []
    return [*lines, *(f"see       {each}" for each in one.refs)]


def _levels(one: Rule) -> dict[str, str]:
    """How bad it is to each profile that has the rule."""
    named = [profile for profile in PROFILES if profile in ONLY.get(one.code, (profile,))]
    return {profile: str(PROFILES[profile].get(one.code, one.severity)) for profile in named}


def _document(one: Rule) -> dict[str, Any]:
    return {**asdict(one), "guarded": is_guarded(one.code), "profiles": _levels(one)}
