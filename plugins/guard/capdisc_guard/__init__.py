"""Looks for what a text may do to an agent that reads it: a library below the core of capdisc.

- Texts: `find_risks` finds text that hides, poses as something else, gives orders or runs.
- Masks: `mask_keys` covers the keys of services in a text.
- Definitions: `compare_definitions` gives the reasons to look at a changed tool before it is used.
- Commands: `find_misuses` finds arguments that a program of a command would run or obey.

The other names are what callers of these need with them. Each is imported when it is first used.
Only these names are public; the modules behind them may change.
"""

from __future__ import annotations

# For type checkers, `__init__.pyi` lists the same names.
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


def __getattr__(name: str) -> object:
    """A public name, from the module that has it."""
    from importlib import import_module

    for module, names in _NAMES_BY_MODULE.items():
        if name in names.split():
            value = globals()[name] = getattr(import_module(f"{__name__}.{module}"), name)
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
