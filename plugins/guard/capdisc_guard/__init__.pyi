# ruff: noqa: I001 — which would give each name an import of its own.

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
