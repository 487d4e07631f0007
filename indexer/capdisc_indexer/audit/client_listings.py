"""How each client lists skills: its budget, its lines and its order, with the source and the date of
every figure.

docs/audit.md explains the figures.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from types import MappingProxyType
from unicodedata import east_asian_width

from capdisc_indexer.audit.listing_budgets import (
    ClientListing,
    FigureSource,
    ListedSkill,
    cut_all_evenly,
    drop_least_used,
    list_everything,
    stop_at_first,
)
from capdisc_indexer.text.similar_names import unknown_choice

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


def _claude_characters(window: int) -> float:
    """Claude Code takes four characters for a token of models up to 4.6, and three for newer
    ones, which are those with windows beyond 200,000 tokens.
    """
    return 4.0 if window <= 200_000 else 3.0


CLIENT_LISTINGS: Mapping[str, ClientListing] = MappingProxyType(
    {
        "claude": ClientListing(
            name="claude",
            title="Claude Code",
            version="2.1.330",
            format_line=_format_dash,
            fit=drop_least_used,
            measure=_measure_width,
            share=0.01,
            units_of_token=_claude_characters,
            max_description=1_536,
            cut_mark="…",
            own=5_204,
            own_skills=13,
            names_by_folder=True,
            has_when_to_use=True,
            prefers_used=True,
            order="most used first (half the weight each week), then as listed",
            overflow="keeps all names and drops whole descriptions of the least used",
            advice='"skillListingBudgetFraction": {share} in ~/.claude/settings.json',
            sources=(
                FigureSource(
                    figure="1 % of the window; 1,536 characters of description and when_to_use; "
                    "the least used are dropped first",
                    source="code.claude.com/docs/en/skills",
                    date="2026-10-05",
                ),
                FigureSource(
                    figure="4 or 3 characters a token; order, cut and drop as modelled; 13 own "
                    "skills of 5,204 to 6,211 characters; names by folder; 8,000 at 200,000 (Haiku 4.5, Opus 4.6), 30,000 at "
                    "1,000,000 (Opus 5.5)",
                    source="@anthropic-ai/claude-code 2.1.330: its code, and the list that it sent",
                    date="2026-11-22",
                ),
            ),
        ),
        "codex": ClientListing(
            name="codex",
            title="Codex",
            version="0.169.0",
            format_line=_format_with_path,
            fit=cut_all_evenly,
            measure=_count_quarter_bytes,
            unit="tokens",
            window=272_000,
            share=0.02,
            max_description=1_024,
            cut_mark="...",
            own=432,
            own_skills=4,
            own_descriptions=MappingProxyType(
                {"imagegen": 570, "openai-docs": 624, "skill-creator": 106, "skill-installer": 225}
            ),
            lists_hidden=True,
            lists_same_names=True,
            order="of the system, of the project, of the user; then by name",
            overflow="cuts all descriptions evenly; where names alone do not fit, drops all of "
            "them and leaves out the last skills",
            max_budget=10_000,
            advice="max_context_tokens = {budget} below [skills] in ~/.codex/config.toml",
            sources=(
                FigureSource(
                    figure="2 % of the window, or 8,000 characters where that is unknown; "
                    "descriptions are shortened first",
                    source="developers.openai.com/codex/skills",
                    date="2026-11-22",
                ),
                FigureSource(
                    figure="1,024 characters a description; four bytes a token; even cut; order",
                    source="openai/codex: codex-rs/ext/skills/src/render.rs",
                    date="2026-11-22",
                ),
                FigureSource(
                    figure="5,440 tokens (2 % of 272,000, gpt-5.5), 4 own skills of 432 tokens, "
                    "paths below the name of their root",
                    source="@openai/codex 0.169.0: the list that it sent",
                    date="2026-11-22",
                ),
            ),
        ),
        "copilot": ClientListing(
            name="copilot",
            title="Copilot CLI",
            version="1.0",
            format_line=_format_xml,
            fit=stop_at_first,
            measure=_count_characters,
            budget=15_000,
            order="by name (seen, not documented)",
            overflow="leaves out every skill from the first on that does not fit",
            advice="SKILL_CHAR_BUDGET={budget} in the environment",
            sources=(
                FigureSource(
                    figure="15,000 characters; stops at the first that does not fit. GitHub "
                    "documents neither",
                    source="github/copilot-cli issues 1464 and 2314, "
                    "microsoft/GitHub-Copilot-for-Azure issue 1227",
                    date="2026-03-26",
                ),
            ),
        ),
        "gemini": ClientListing(
            name="gemini",
            title="Gemini CLI",
            version="0.61.0",
            format_line=_format_xml_with_path,
            fit=list_everything,
            measure=_count_characters,
            order="as found",
            overflow="has no budget: lists every skill in full",
            sources=(
                FigureSource(
                    figure="no budget, no limit for one description",
                    source="@google/gemini-cli 0.61.0: renderAgentSkills",
                    date="2026-11-22",
                ),
            ),
        ),
        "opencode": ClientListing(
            name="opencode",
            title="opencode",
            version="1.18.33",
            format_line=_format_xml_with_path,
            fit=list_everything,
            measure=_count_characters,
            order="by name",
            overflow="has no budget: lists every skill in full",
            sources=(
                FigureSource(
                    figure="no budget, no limit for one description",
                    source="opencode-ai 1.18.33: Skill.fmt",
                    date="2026-11-22",
                ),
            ),
        ),
        "cursor": ClientListing(
            name="cursor",
            title="Cursor",
            version="2026-11",
            format_line=_format_dash,
            fit=list_everything,
            measure=_count_characters,
            order="not documented",
            overflow="documents no budget",
            sources=(
                FigureSource(
                    figure="nothing on a budget or an order",
                    source="cursor.com/docs/context/skills",
                    date="2026-11-22",
                ),
            ),
        ),
    }
)


def find_client(name: str) -> ClientListing:
    """How this client lists skills. Raises UsageError for an unknown one."""
    if name not in CLIENT_LISTINGS:
        raise unknown_choice("client", name, CLIENT_LISTINGS)
    return CLIENT_LISTINGS[name]
