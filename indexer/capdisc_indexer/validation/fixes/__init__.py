"""What can be put right without asking: one function for each code, in the order in which they are
tried.

Each takes a text and the places (line and column, counted from 1) of its findings, and returns the
text with just those put right. None reads or writes a file; `mending` decides whether what comes
out may stay.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import TypeAlias

from capdisc_indexer.validation.fixes.field_region import (
    at_the_top,
    line_ends,
    without_invisible,
    without_mark,
)
from capdisc_indexer.validation.fixes.keys import (
    one_text,
    quote_values,
    quoted_metadata,
    rename_keys,
    write_repaired,
)
from capdisc_indexer.validation.fixes.shell_words import pass_values_apart

FixPlaces: TypeAlias = frozenset[tuple[int, int]]
Fix: TypeAlias = Callable[[str, FixPlaces], str]

# A file is put in order from the outside in: its bytes, where the fields begin, the fields as
# YAML, their values.
_SLIPS = (
    "yaml-tab",
    "yaml-missing-blank",
    "yaml-block-mark",
    "yaml-unbalanced-quote",
    "yaml-reserved-start",
    "yaml-unquoted-colon",
)
FIXES: Mapping[str, Fix] = MappingProxyType(
    {
        "byte-order-mark": without_mark,
        "line-ends-mixed": line_ends,
        "invisible-character": without_invisible,
        "frontmatter-in-code-fence": at_the_top,
        "frontmatter-not-first": at_the_top,
        **{code: partial(write_repaired, slip=code) for code in _SLIPS},
        "misspelt-field": rename_keys,
        "allowed-tools-type": one_text,
        "metadata-type": quoted_metadata,
        "ambiguous-scalar": quote_values,
        "program-text": pass_values_apart,
    }
)
