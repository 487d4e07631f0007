"""Where capabilities come from: one entry per format, and the file names that belong to it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from capdisc_indexer.sources.formats import Source as Source
from capdisc_indexer.sources.formats import late

MEBIBYTE = 1024 * 1024
# Patterns of names that are taken or left out, and name prefixes that are categories.
_CHOICE = ("include", "exclude", "categories")
_JSON_OR_YAML = (".json", ".yaml", ".yml")
_ALL = (
    Source(
        format="capability",
        load=late("capability"),
        limit_bytes=256 * 1024,
        filenames=("CAPABILITY.yaml", "CAPABILITY.yml"),
        companions=("schema.json", "skill.md"),
        everywhere=True,
        owns_folder=True,
    ),
    Source(
        format="skill",
        load=late("skill"),
        limit_bytes=MEBIBYTE,
        filenames=("SKILL.md",),
        everywhere=True,
        owns_folder=True,
    ),
    Source(
        format="catalogue",
        load=late("catalogue"),
        limit_bytes=64 * MEBIBYTE,
        filenames=("capabilities.jsonl", "corpus.jsonl"),
        declared="catalogue",
        suffixes=(".jsonl",),
        everywhere=True,
    ),
    Source(
        format="mcp",
        load=late("tool_lists"),
        limit_bytes=16 * MEBIBYTE,
        filenames=("tools.json",),
        endings=(".tools.json",),
        declared="mcp",
        suffixes=(".json",),
        options=_CHOICE,
    ),
    Source(
        format="mcp-servers",
        load=late("mcp_servers"),
        limit_bytes=MEBIBYTE,
        declared="mcp-servers",
        suffixes=(".json",),
        options=(*_CHOICE, "ask"),
        keeps=True,
    ),
    Source(
        format="functions",
        load=late("tool_lists"),
        limit_bytes=16 * MEBIBYTE,
        declared="functions",
        suffixes=(".json", ".jsonl"),
        options=_CHOICE,
    ),
    Source(
        format="openapi",
        load=late("openapi"),
        limit_bytes=16 * MEBIBYTE,
        filenames=("openapi.json", "openapi.yaml", "openapi.yml", "swagger.json", "swagger.yaml", "swagger.yml"),
        endings=(".openapi.json", ".openapi.yaml", ".openapi.yml"),
        declared="openapi",
        suffixes=_JSON_OR_YAML,
        options=("include", "exclude", "url"),
    ),
    Source(
        format="sqlite",
        load=late("tables.sqlite"),
        limit_bytes=64 * 1024 * MEBIBYTE,
        endings=(".sqlite", ".sqlite3"),
        declared="sql",
        suffixes=(".sqlite", ".sqlite3", ".db"),
        options=("samples",),
        reads=False,
    ),
    Source(
        format="ddl",
        load=late("tables.ddl"),
        limit_bytes=16 * MEBIBYTE,
        endings=(".sql",),
        declared="sql",
        suffixes=(".sql",),
    ),
    Source(
        format="reflected",
        load=late("tables.reflected"),
        limit_bytes=64 * MEBIBYTE,
        declared="sql",
        suffixes=(".reflected.json",),
        options=("url_secret", "ask"),
    ),
    Source(
        format="csv",
        load=late("tables.delimited"),
        limit_bytes=64 * 1024 * MEBIBYTE,
        declared="table",
        suffixes=(".csv", ".tsv"),
        options=("samples",),
        reads=False,
    ),
    Source(
        format="json",
        load=late("tables.json_rows"),
        limit_bytes=64 * MEBIBYTE,
        declared="table",
        suffixes=(".json", ".jsonl", ".ndjson"),
        options=("samples",),
    ),
    Source(
        format="columnar",
        load=late("tables.columnar"),
        limit_bytes=64 * 1024 * MEBIBYTE,
        declared="table",
        suffixes=(".parquet", ".arrow", ".feather"),
        options=("samples",),
        reads=False,
    ),
    Source(
        format="document",
        load=late("documents.texts"),
        limit_bytes=16 * MEBIBYTE,
        declared="document",
        suffixes=(".md", ".markdown", ".mdx", ".txt", ".text", ".rst", ".adoc"),
    ),
    Source(
        format="office",
        load=late("documents.apart"),
        limit_bytes=64 * MEBIBYTE,
        declared="document",
        suffixes=(".pdf", ".docx", ".pptx", ".xlsx"),
    ),
)
SOURCES: Mapping[str, Source] = MappingProxyType({source.format: source for source in _ALL})
DECLARED = tuple(sorted({source.declared for source in _ALL if source.declared}))
# What is read whole, even as a text that findings are shown in.
MAX_READ_BYTES = max(source.limit_bytes for source in _ALL if source.reads)

_BY_NAME = {name.lower(): source for source in _ALL for name in source.filenames}
_BY_ENDING = tuple((ending, source) for source in _ALL for ending in source.endings)
_ENDINGS = tuple(ending for ending, _ in _BY_ENDING)


def source_for(filename: str) -> Source | None:
    """The source whose format a file of this name has, or None."""
    name = filename.lower()
    if named := _BY_NAME.get(name):
        return named
    if not name.endswith(_ENDINGS):
        return None
    return next(source for ending, source in _BY_ENDING if name.endswith(ending))


def manifest_for(filename: str) -> Source | None:
    """The same for the formats that are looked for everywhere, even beside a skill."""
    source = source_for(filename)
    return source if source and source.everywhere else None


def declared_source(word: str, filename: str) -> Source | None:
    """The source that a declaration means by its format for a file of this name, or None.

    >>> declared_source("openapi", "shop.yaml").format, declared_source("openapi", "notes.md")
    ('openapi', None)
    """
    named = of_declaration(word)
    return next((source for source in named if filename.lower().endswith(source.suffixes)), None)


def of_declaration(word: str) -> tuple[Source, ...]:
    """The sources that share this word for a declaration."""
    return tuple(source for source in _ALL if source.declared == word)
