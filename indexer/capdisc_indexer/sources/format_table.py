"""Every format of source files: those of the core and those of plug-ins; and look-ups by file name
and by declaration.
"""

from __future__ import annotations

from types import MappingProxyType

from capdisc_indexer.plugins.plugin import Plugin
from capdisc_indexer.plugins.registry import load_plugins
from capdisc_indexer.sources.source_format import (
    MEBIBYTE,
    SELECTION_OPTIONS,
    SourceFormat,
    lazy_loader,
)

CORE = Plugin(
    name="core",
    formats=(
        SourceFormat(
            format="capability",
            load=lazy_loader("capdisc_indexer.sources.formats.manifest"),
            limit_bytes=256 * 1024,
            filenames=("CAPABILITY.yaml", "CAPABILITY.yml"),
            companions=("schema.json", "skill.md"),
            everywhere=True,
            owns_folder=True,
            is_prose=True,
        ),
        SourceFormat(
            format="skill",
            load=lazy_loader("capdisc_indexer.sources.formats.skill"),
            limit_bytes=MEBIBYTE,
            filenames=("SKILL.md",),
            everywhere=True,
            owns_folder=True,
            is_prose=True,
        ),
        SourceFormat(
            format="agent",
            load=lazy_loader("capdisc_indexer.sources.formats.prompt_files"),
            limit_bytes=MEBIBYTE,
            declared="agent",
            suffixes=(".md", ".toml"),
            is_prose=True,
        ),
        SourceFormat(
            format="command",
            load=lazy_loader("capdisc_indexer.sources.formats.prompt_files"),
            limit_bytes=MEBIBYTE,
            declared="command",
            suffixes=(".md", ".toml"),
            is_prose=True,
        ),
        SourceFormat(
            format="catalogue",
            load=lazy_loader("capdisc_indexer.sources.formats.catalogue"),
            limit_bytes=64 * MEBIBYTE,
            filenames=("capabilities.jsonl", "corpus.jsonl"),
            declared="catalogue",
            suffixes=(".jsonl",),
            everywhere=True,
            is_prose=True,
        ),
        SourceFormat(
            format="mcp",
            load=lazy_loader("capdisc_indexer.sources.formats.tool_lists"),
            limit_bytes=32 * MEBIBYTE,
            filenames=("tools.json",),
            endings=(".tools.json",),
            declared="mcp",
            suffixes=(".json",),
            options=SELECTION_OPTIONS,
            lists_tools=True,
        ),
        SourceFormat(
            format="mcp-servers",
            load=lazy_loader("capdisc_indexer.sources.formats.mcp_servers"),
            limit_bytes=MEBIBYTE,
            declared="mcp-servers",
            suffixes=(".json", ".jsonc", ".toml"),
            options=(*SELECTION_OPTIONS, "ask"),
            keeps=True,
            lists_tools=True,
        ),
        SourceFormat(
            format="functions",
            load=lazy_loader("capdisc_indexer.sources.formats.tool_lists"),
            limit_bytes=16 * MEBIBYTE,
            declared="functions",
            suffixes=(".json", ".jsonl"),
            options=SELECTION_OPTIONS,
            lists_tools=True,
        ),
    ),
)


_OFFERED = tuple(source for plugin in (CORE, *load_plugins()) for source in plugin.formats)
# Of two with one name the first counts: no plug-in replaces another's.
_FIRST = {source.format: source for source in reversed(_OFFERED)}
ALL_FORMATS = tuple(source for source in _OFFERED if source is _FIRST[source.format])
SOURCES = MappingProxyType({source.format: source for source in ALL_FORMATS})
DECLARED = tuple(sorted({source.declared for source in ALL_FORMATS if source.declared}))
# The largest file that is read at once, also to show findings in it.
MAX_READ_BYTES = max(source.limit_bytes for source in ALL_FORMATS if source.reads)

_BY_NAME = {name.lower(): source for source in reversed(ALL_FORMATS) for name in source.filenames}
_BY_ENDING = tuple((ending, source) for source in ALL_FORMATS for ending in source.endings)
_ENDINGS = tuple(ending for ending, _ in _BY_ENDING)


def source_for(filename: str) -> SourceFormat | None:
    """The format of a file of this name, or None."""
    name = filename.lower()
    if named := _BY_NAME.get(name):
        return named
    if not name.endswith(_ENDINGS):
        return None
    return next(source for ending, source in _BY_ENDING if name.endswith(ending))


def manifest_for(filename: str) -> SourceFormat | None:
    """The format of a file of this name, if it is also read in the folder of a skill; else
    None.
    """
    source = source_for(filename)
    return source if source and source.everywhere else None


def named_source(filename: str) -> SourceFormat | None:
    """The format of a data file that its user names, by its suffix; None where that leaves a
    doubt.
    """
    name = filename.lower()
    return next(
        (
            source
            for source in ALL_FORMATS
            if source.by_suffix and name.endswith(source.suffixes) and not name.endswith(".json")
        ),
        None,
    )


def declared_source(word: str, filename: str) -> SourceFormat | None:
    """The format that a declaration means by this word for a file of this name, or None.

    >>> declared_source("openapi", "shop.yaml").format, declared_source("openapi", "notes.md")
    ('openapi', None)
    """
    formats = of_declaration(word)
    return next((source for source in formats if filename.lower().endswith(source.suffixes)), None)


def of_declaration(word: str) -> tuple[SourceFormat, ...]:
    """The formats that share this word for a declaration."""
    return tuple(source for source in ALL_FORMATS if source.declared == word)
