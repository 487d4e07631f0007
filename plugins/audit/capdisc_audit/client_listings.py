"""How each client lists skills: its lines, and how it measures and fits them.

The table of clients has the figures with their sources; docs/audit.md explains them.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from types import MappingProxyType
from unicodedata import east_asian_width

from capdisc_audit.listing_budgets import (
    ClientListing,
    FigureSource,
    LineFormat,
    ListedSkill,
    cut_all_evenly,
    drop_least_used,
    list_everything,
    stop_at_first,
)
from capdisc_indexer.config.client_table import client_sections
from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.model.json_types import JsonObject
from capdisc_indexer.text.similar_names import unknown_choice

_FITS = {
    "everything": list_everything,
    "drop least used": drop_least_used,
    "cut all evenly": cut_all_evenly,
    "stop at first": stop_at_first,
}

# The lines of the clients, and how each measures them. A line end counts with its line.


def _format_dash(skill: ListedSkill, description: str) -> str:
    return f"- {skill.name}: {description}" if description else f"- {skill.name}"


def _format_with_path(skill: ListedSkill, description: str) -> str:
    text = f"{description} " if description else ""
    return f"- {skill.name}: {text}(file: {skill.short_path})"


def _format_xml(skill: ListedSkill, description: str) -> str:
    """As Copilot CLI writes it; Gemini CLI and opencode escape nothing and indent."""
    return (
        f"<skill>\n  <name>{escape(skill.name)}</name>\n"
        f"  <description>{escape(description)}</description>\n"
        "  <location>Custom</location>\n</skill>"
    )


def _format_xml_with_path(skill: ListedSkill, description: str) -> str:
    return (
        f"  <skill>\n    <name>{skill.name}</name>\n"
        f"    <description>{description}</description>\n"
        f"    <location>{skill.path}</location>\n  </skill>"
    )


def _count_characters(line: str) -> int:
    return len(line) + 1


def _measure_width(line: str) -> int:
    """Columns of a terminal, as Claude Code counts: two for a character of Chinese."""
    wide = 0 if line.isascii() else sum(east_asian_width(sign) in "WF" for sign in line)
    return len(line) + wide + 1


def _count_quarter_bytes(line: str) -> int:
    """Codex takes four bytes for a token, rounded up for each line."""
    return -(-(len(line.encode()) + 1) // 4)


_LINES: Mapping[str, LineFormat] = {
    "dash": _format_dash,
    "path": _format_with_path,
    "xml": _format_xml,
    "xml with path": _format_xml_with_path,
}
_MEASURES = {
    "characters": _count_characters,
    "columns": _measure_width,
    "quarter bytes": _count_quarter_bytes,
}


def _make_listing(name: str, rules: JsonObject) -> ClientListing:
    values = dict(rules)
    return ClientListing(
        name=name,
        title=client_sections("title")[name],
        format_line=_LINES[values.pop("line")],
        fit=_FITS[values.pop("fit", "everything")],
        measure=_MEASURES[values.pop("measure", "characters")],
        sources=[FigureSource(**source) for source in values.pop("sources")],
        **values,
    )


# Clients with a budget come first.
CLIENT_LISTINGS: Mapping[str, ClientListing] = MappingProxyType(
    {
        listing.name: listing
        for listing in sorted(
            (_make_listing(name, rules) for name, rules in client_sections("listing").items()),
            key=lambda listing: listing.fit is list_everything,
        )
    }
)


def find_client(name: str) -> ClientListing:
    """How this client lists skills. Raises UsageError for an unknown one, and for one whose list
    has no published figures.
    """
    if name in client_sections("programs") and name not in CLIENT_LISTINGS:
        raise UsageError(
            f"nothing is known of how {name} lists skills, or cuts them",
            f"audit one of: {', '.join(CLIENT_LISTINGS)}",
        )
    if name not in CLIENT_LISTINGS:
        raise unknown_choice("client", name, CLIENT_LISTINGS)
    return CLIENT_LISTINGS[name]
