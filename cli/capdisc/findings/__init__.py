"""How findings are told: one module for each format, each with a function `text` from the report to what is printed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from types import MappingProxyType

from capdisc.findings.report import Report
from capdisc_indexer.errors import UsageError

FORMATS: Mapping[str, str] = MappingProxyType(
    {
        "full": "full",
        "concise": "concise",
        "json": "json_format",
        "json-lines": "json_lines",
        "github": "github",
        "sarif": "sarif",
    }
)


def formatter(name: str) -> Callable[[Report], str]:
    """The format's function; its module is imported only now. Raises UsageError for a name that is none."""
    if name not in FORMATS:
        raise UsageError(f"there is no format {name!r}", f"one of: {', '.join(FORMATS)}")
    text: Callable[[Report], str] = import_module(f"capdisc.findings.{FORMATS[name]}").text
    return text
