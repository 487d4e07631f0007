"""The fixes that need no question: one function for each rule, in the order in which they are
tried.

Each takes a text and the places (line and column, counted from 1) of its findings, and returns the
text with only those fixed. None reads or writes a file; `validation.autofix` decides whether the
result may stay.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import TypeAlias

from capdisc_indexer.validation.fixes.field_region import (
    move_front_matter_up,
    remove_byte_order_mark,
    remove_invisible,
    unify_line_ends,
)
from capdisc_indexer.validation.fixes.keys import (
    join_tools,
    quote_metadata,
    quote_values,
    rename_keys,
    write_repaired,
)
from capdisc_indexer.validation.fixes.shell_words import pass_values_apart

FixPlaces: TypeAlias = frozenset[tuple[int, int]]
Fix: TypeAlias = Callable[[str, FixPlaces], str]

# From the outside in: the bytes of the file, the place of the fields, the fields as YAML, their
# values.
_YAML_MISTAKES = (
    "yaml-tab",
    "yaml-missing-blank",
    "yaml-block-mark",
    "yaml-unbalanced-quote",
    "yaml-reserved-start",
    "yaml-unquoted-colon",
)
FIXES: Mapping[str, Fix] = MappingProxyType(
    {
        "byte-order-mark": remove_byte_order_mark,
        "line-ends-mixed": unify_line_ends,
        "invisible-character": remove_invisible,
        "frontmatter-in-code-fence": move_front_matter_up,
        "frontmatter-not-first": move_front_matter_up,
        **{code: partial(write_repaired, slip=code) for code in _YAML_MISTAKES},
        "misspelt-field": rename_keys,
        "allowed-tools-type": join_tools,
        "metadata-type": quote_metadata,
        "ambiguous-scalar": quote_values,
        "program-text": pass_values_apart,
    }
)
