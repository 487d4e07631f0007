"""Looks for what a text may do to an agent that reads it: a library below the core of capdisc.

- Texts: `find_risks` finds text that hides, poses as something else, gives orders or runs.
- Masks: `mask_keys` covers the keys of services in a text.
- Definitions: `compare_definitions` gives the reasons to look at a changed tool before it is used.
- Commands: `find_misuses` finds arguments that a program of a command would run or obey.

The other names are what callers of these need with them. Each is imported when it is first used.
Only these names are public; the modules behind them may change.
"""

from __future__ import annotations

# ruff: noqa: I001 — which would give each name an import of its own.

# Not from typing: see capdisc_indexer/__init__.py.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from capdisc_guard.changes.comparison import (
        compare_definitions as compare_definitions,
        list_definition_lines as list_definition_lines,
    )
    from capdisc_guard.changes.definition import (
        TOLD as TOLD,
        ToolDefinition as ToolDefinition,
        digest_definition as digest_definition,
        recall_definition as recall_definition,
        remember_definition as remember_definition,
    )
    from capdisc_guard.hidden_text import (
        REMOVABLE as REMOVABLE,
        invisible_offsets as invisible_offsets,
        show_invisible as show_invisible,
    )
    from capdisc_guard.masking import (
        MASK as MASK,
        holds_key as holds_key,
        line_beginnings as line_beginnings,
        mask_descriptor as mask_descriptor,
        mask_keys as mask_keys,
        mask_strings as mask_strings,
        redact_findings as redact_findings,
        redact_samples as redact_samples,
    )
    from capdisc_guard.placed_text import CapabilityText as CapabilityText
    from capdisc_guard.program_text.command_words import (
        PLACEHOLDER as PLACEHOLDER,
        names_in as names_in,
    )
    from capdisc_guard.program_text.interpreters import program_name as program_name
    from capdisc_guard.program_text.misuses import (
        describe_misuse as describe_misuse,
        find_misuses as find_misuses,
        refuse_misuses as refuse_misuses,
    )
    from capdisc_guard.program_text.steering import (
        allows_dash as allows_dash,
        is_always_given as is_always_given,
        is_closed as is_closed,
        is_steering as is_steering,
        steering_hint as steering_hint,
    )
    from capdisc_guard.text_risks import find_risks as find_risks

_NAMES_BY_MODULE = {
    "changes.comparison": "compare_definitions list_definition_lines",
    "changes.definition": "TOLD ToolDefinition digest_definition recall_definition remember_definition",
    "hidden_text": "REMOVABLE invisible_offsets show_invisible",
    "masking": "MASK holds_key line_beginnings mask_descriptor mask_keys mask_strings redact_findings redact_samples",
    "placed_text": "CapabilityText",
    "program_text.command_words": "PLACEHOLDER names_in",
    "program_text.interpreters": "program_name",
    "program_text.misuses": "describe_misuse find_misuses refuse_misuses",
    "program_text.steering": "allows_dash is_always_given is_closed is_steering steering_hint",
    "text_risks": "find_risks",
}


def __getattr__(name: str) -> Any:
    """A public name, from the module that has it."""
    from importlib import import_module

    for module, names in _NAMES_BY_MODULE.items():
        if name in names.split():
            value = globals()[name] = getattr(import_module(f"{__name__}.{module}"), name)
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
