"""How findings are told: one module for each format, each with a function `pieces` from the report
to what is printed, piece by piece: the text for a large collection does not fit into memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from types import MappingProxyType

from capdisc.validate.report import Report
from capdisc_indexer.model.errors import UsageError

FORMATS: Mapping[str, str] = MappingProxyType(
    {
        "full": "full",
        "concise": "concise",
        "json": "json_document",
        "json-lines": "json_lines_format",
        "github": "github",
        "sarif": "sarif",
    }
)


def load_formatter(name: str) -> Callable[[Report], Iterator[str]]:
    """The format's function; its module is imported only now. Raises UsageError for a name that is
    none.
    """
    if name not in FORMATS:
        raise UsageError(f"there is no format {name!r}", f"one of: {', '.join(FORMATS)}")
    pieces: Callable[[Report], Iterator[str]] = import_module(
        f"capdisc.validate.{FORMATS[name]}"
    ).pieces
    return pieces
