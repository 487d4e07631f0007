"""Compares two versions of a definition: the reasons to look at the change before the tool is
used, and the lines to compare it by.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from capdisc_guard.changes.definition import (
    ToolDefinition,
    Values,
    definition_of,
    new_orders,
)
from capdisc_guard.changes.exfiltration import newly_carries, newly_open_objects
from capdisc_guard.changes.orders import Order
from capdisc_guard.masking import mask_keys
from capdisc_indexer.text.normalization import one_line

MAX_REASONS, MAX_QUOTED, MAX_LINES, MAX_LINE = 8, 100, 400, 2_000
_RISKS = ("", "low", "medium", "high", "critical")


def compare_definitions(
    before: ToolDefinition | Values, values: Values, is_prose: bool
) -> tuple[str, ...]:
    """The reasons why somebody has to look at the change from `before`, a definition or a record,
    to the record `values`, a clause each, at most MAX_REASONS; empty for a harmless change.
    """
    if not isinstance(before, ToolDefinition):
        before = definition_of(before, is_prose)
    now = definition_of(values, is_prose)
    reasons = (
        *_text_changes(before, now, values, is_prose),
        *_parameter_changes(before, now),
        *_nature_changes(before, now),
    )
    return reasons[:MAX_REASONS]


def list_definition_lines(values: Values) -> tuple[str, ...]:
    """The definition for a person to compare: a line for each sentence, parameter and fact, at
    most MAX_LINES. Invisible characters are still in them; whoever prints them makes them visible.
    """
    lines = (" ".join(mask_keys(line).split())[:MAX_LINE] for line in _iter_lines(values))
    return tuple(line for line in lines if line)[:MAX_LINES]


def _text_changes(
    before: ToolDefinition, now: ToolDefinition, values: Values, is_prose: bool
) -> Iterator[str]:
    first_of_effect: dict[str, Order] = {}
    for order in new_orders(before, values, is_prose):
        first_of_effect.setdefault(order.effect, order)
    for effect, order in first_of_effect.items():
        yield f"a new sentence {effect}: {_quote(order.passage)}"
    if not first_of_effect:
        for rule in now.rules:
            if rule not in before.rules:
                yield f"its text newly breaks the rule {rule}"


def _parameter_changes(before: ToolDefinition, now: ToolDefinition) -> Iterator[str]:
    for path, letters in now.parameters.items():
        if newly_carries(before.parameters.get(path), letters):
            is_new = path not in before.parameters
            what = "the new parameter" if is_new else "the changed parameter"
            yield f"{what} {one_line(path, 80)} could carry data out"
    for path in newly_open_objects(before.parameters, now.parameters):
        where = f" in {one_line(path, 80)}" if path else ""
        yield f"it takes arguments{where} that its schema does not name, and took none before"


def _nature_changes(before: ToolDefinition, now: ToolDefinition) -> Iterator[str]:
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
    if (
        _risk_rank(now.risk) < _risk_rank(before.risk)
        and before.has_side_effects == now.has_side_effects
    ):
        yield f"it calls its risk {now.risk or 'unknown'}, and called it {before.risk} before"
    if now.is_open and not before.is_open:
        yield "it reaches out to other systems, and did not before"
    if before.start != now.start:
        yield "another program, command or host is behind it"
    if new := [name for name in now.secrets if name not in before.secrets]:
        yield f"it newly wants {', '.join(new[:3])}"


def _risk_rank(risk: str) -> int:
    return _RISKS.index(risk) if risk in _RISKS else len(_RISKS)


def _quote(passage: str) -> str:
    return f"“{one_line(passage, MAX_QUOTED)}”"


def _iter_lines(values: Values) -> Iterator[str]:
    yield f"title: {values.get('title', '')}" if values.get("title") else ""
    for key in ("description", "usage_hint", "content", "guidance", "instructions"):
        # Before the text is split, as a key may have several lines.
        for line in mask_keys(str(values.get(key, ""))).split("\n"):
            yield from line.replace(". ", ".\n").split("\n")
    yield from (f"phrase: {phrase}" for phrase in values.get("phrases", ()))
    schema = values.get("schema") or {}
    yield from _parameter_lines(schema, "", schema.get("required", ()), 0)
    yield f"side effects: {'yes' if values.get('has_side_effects') else 'no'}"
    yield f"asks for confirmation: {'yes' if values.get('confirm') else 'no'}"
    yield f"risk: {values.get('risk') or 'unknown'}"
    yield f"secrets: {', '.join(values.get('secrets', ())) or 'none'}"
    for key, fact in (values.get("run") or {}).items():
        yield f"run by {key}: {_fact_text(fact)}"
    for key, fact in ((values.get("extra") or {}).get("annotations") or {}).items():
        yield f"says of itself: {key} {_fact_text(fact)}"
    if values.get("output_schema"):
        yield f"returns: {_fact_text(values['output_schema'])}"


def _parameter_lines(schema: Any, prefix: str, required: Any, depth: int) -> Iterator[str]:
    """A line for each property, at any depth, with all that its schema says of it."""
    members = schema.get("properties") if isinstance(schema, dict) and depth < 8 else None
    for name, inner in members.items() if isinstance(members, dict) else ():
        table = inner if isinstance(inner, dict) else {}
        facts = {
            key: fact
            for key, fact in table.items()
            if key not in ("type", "description", "properties")
        }
        must = " (required)" if isinstance(required, list | tuple) and name in required else ""
        other_facts = f" {_fact_text(facts)}" if facts else ""
        yield f"parameter {prefix}{name}: {_fact_text(table.get('type', 'any'))}{must} {table.get('description', '')}{other_facts}"
        yield from _parameter_lines(table, f"{prefix}{name}.", table.get("required"), depth + 1)
    if isinstance(schema, dict) and "additionalProperties" in schema:
        yield f"further arguments{f' in {prefix}' if prefix else ''}: {_fact_text(schema['additionalProperties'])}"


def _fact_text(fact: Any) -> str:
    if isinstance(fact, str):
        return fact
    import json

    return json.dumps(fact, ensure_ascii=False, default=str)[:2_000]
