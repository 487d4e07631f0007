"""Why a changed definition has to be looked at before it is used, and how the two versions
differ.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from typing import Any

from capdisc_indexer.model.types import Finding, Severity
from capdisc_indexer.text.normalization import one_line
from capdisc_indexer.validation.changes import CODE
from capdisc_indexer.validation.changes.definition import (
    Definition,
    Values,
    definition_of,
    new_orders,
)
from capdisc_indexer.validation.changes.exfiltration import newly_carries, opened
from capdisc_indexer.validation.secret_keys import mask_keys

MAX_REASONS, MAX_QUOTED, MAX_LINES, MAX_LINE = 8, 100, 400, 2_000
_RISKS = ("", "low", "medium", "high", "critical")


def suspicious_changes(before: Definition, values: Values, is_prose: bool) -> tuple[str, ...]:
    """What of the change to the record `values` somebody has to look at, a clause each; none for a
    harmless one.
    """
    now = definition_of(values, is_prose)
    found = (
        *_text_changes(before, now, values, is_prose),
        *_parameter_changes(before, now),
        *_nature_changes(before, now),
    )
    return found[:MAX_REASONS]


def held_back_finding(identifier: str, path: str, reasons: Sequence[str], command: str) -> Finding:
    """The finding for a capability that is left out until somebody has looked at it."""
    why = "; ".join(reasons)
    return Finding(
        code=CODE,
        severity=Severity.ERROR,
        message=f"{one_line(identifier)} is held back, since its definition changed: {why}",
        hint=f"look at the change: {command}",
        path=path,
    )


def definition_lines(values: Values) -> tuple[str, ...]:
    """The definition as a person compares it: a line for each sentence, parameter and fact; at
    most 400. Characters that nobody sees are still in them, for whoever prints them to show.
    """
    lines = (" ".join(mask_keys(line).split())[:MAX_LINE] for line in _lines(values))
    return tuple(line for line in lines if line)[:MAX_LINES]


def difference(before: Sequence[str], now: Sequence[str]) -> tuple[str, ...]:
    """The lines that went (`-`) and came (`+`), with one line around them."""
    found = list(difflib.unified_diff(list(before), list(now), n=1, lineterm=""))
    return tuple(line for line in found[2:] if not line.startswith("@@"))


def _text_changes(
    before: Definition, now: Definition, values: Values, is_prose: bool
) -> Iterator[str]:
    found = {order.says: order for order in reversed(list(new_orders(before, values, is_prose)))}
    yield from (
        f"a new sentence {says}: {_quoted(order.shown)}" for says, order in reversed(found.items())
    )
    if not found:
        yield from (
            f"its text newly breaks the rule {rule}"
            for rule in now.rules
            if rule not in before.rules
        )


def _parameter_changes(before: Definition, now: Definition) -> Iterator[str]:
    for path, letters in now.parameters.items():
        if newly_carries(before.parameters.get(path), letters):
            is_new = path not in before.parameters
            what = "the new parameter" if is_new else "the changed parameter"
            yield f"{what} {one_line(path, 80)} could carry data out"
    for path in opened(before.parameters, now.parameters):
        where = f" in {one_line(path, 80)}" if path else ""
        yield f"it takes arguments{where} that its schema does not name, and took none before"


def _nature_changes(before: Definition, now: Definition) -> Iterator[str]:
    if before.has_side_effects != now.has_side_effects:
        what = (
            "changes things, and only read before"
            if now.has_side_effects
            else "says that it only reads now"
        )
        yield f"it {what}"
    if now.is_destructive and not before.is_destructive:
        yield "it may destroy things, and did not before"
    if before.confirms and not now.confirms:
        yield "it asks for no confirmation any more"
    if _rank(now.risk) < _rank(before.risk) and before.has_side_effects == now.has_side_effects:
        yield f"it calls its risk {now.risk or 'unknown'}, and called it {before.risk} before"
    if now.is_open and not before.is_open:
        yield "it reaches out to other systems, and did not before"
    if before.start != now.start:
        yield "another program, command or host is behind it"
    if new := [name for name in now.secrets if name not in before.secrets]:
        yield f"it newly wants {', '.join(new[:3])}"


def _rank(risk: str) -> int:
    return _RISKS.index(risk) if risk in _RISKS else len(_RISKS)


def _quoted(passage: str) -> str:
    return f"“{one_line(passage, MAX_QUOTED)}”"


def _lines(values: Values) -> Iterator[str]:
    yield f"title: {values.get('title', '')}" if values.get("title") else ""
    for key in ("description", "usage_hint", "content", "guidance", "instructions"):
        # Keys of several lines are found before the lines are told apart.
        for line in mask_keys(str(values.get(key, ""))).split("\n"):
            yield from line.replace(". ", ".\n").split("\n")
    yield from (f"phrase: {phrase}" for phrase in values.get("phrases", ()))
    schema = values.get("schema") or {}
    yield from _parameter_lines(schema, "", schema.get("required", ()), 0)
    yield f"side effects: {'yes' if values.get('has_side_effects') else 'no'}"
    yield f"asks for confirmation: {'yes' if values.get('confirm') else 'no'}"
    yield f"risk: {values.get('risk') or 'not said'}"
    yield f"secrets: {', '.join(values.get('secrets', ())) or 'none'}"
    for key, fact in (values.get("run") or {}).items():
        yield f"run by {key}: {_shown(fact)}"
    for key, fact in ((values.get("extra") or {}).get("annotations") or {}).items():
        yield f"says of itself: {key} {_shown(fact)}"
    if values.get("output_schema"):
        yield f"returns: {_shown(values['output_schema'])}"


def _parameter_lines(schema: Any, prefix: str, required: Any, depth: int) -> Iterator[str]:
    """A line for each property, with whatever its schema says beside those inside."""
    members = schema.get("properties") if isinstance(schema, dict) and depth < 8 else None
    for name, inner in members.items() if isinstance(members, dict) else ():
        table = inner if isinstance(inner, dict) else {}
        facts = {
            key: fact
            for key, fact in table.items()
            if key not in ("type", "description", "properties")
        }
        must = " (required)" if isinstance(required, list | tuple) and name in required else ""
        more = f" {_shown(facts)}" if facts else ""
        yield f"parameter {prefix}{name}: {_shown(table.get('type', 'any'))}{must} {table.get('description', '')}{more}"
        yield from _parameter_lines(table, f"{prefix}{name}.", table.get("required"), depth + 1)
    if isinstance(schema, dict) and "additionalProperties" in schema:
        yield f"further arguments{f' in {prefix}' if prefix else ''}: {_shown(schema['additionalProperties'])}"


def _shown(fact: Any) -> str:
    if isinstance(fact, str):
        return fact
    import json

    return json.dumps(fact, ensure_ascii=False, default=str)[:2_000]
