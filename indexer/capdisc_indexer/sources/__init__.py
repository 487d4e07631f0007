"""Every format of source files, one entry each: how its files are recognised, and what reads them;
and look-ups in that table by file name and by declaration.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.types import LoadedFile
from capdisc_indexer.sources.scan.scanned_files import FoundFile

# Reads a file of a format; never raises on what the file holds.
Load = Callable[[FoundFile, bytes], LoadedFile]


@frozen(kw_only=True)
class SourceFormat:
    """One format of source files.

    A file is recognised by its full name (`filenames`, as other readers look for them, the
    preferred one first) or by its ending (`endings`). Without `reads`, `load` gets no bytes and
    opens the file itself, which may be large.

    A `[[source]]` names the format by `declared`. Several formats may share that word, and differ
    by `suffixes`, the endings of files that are searched in a declared folder. `options` are the
    keys that such a declaration may have beside path and name.

    A file of an `owns_folder` format makes its folder that of a skill or capability; in such a
    folder, only files of `everywhere` formats are capabilities of their own. Files named in
    `companions` (lower case) belong to a file of this format beside them. With `keeps`, the
    companions are stored answers of programs.

    A changed definition is reviewed before an agent reads it: of a format that `lists_tools`, as
    programs answer or publish them, wherever its files lie; of one that `is_prose` and tells an
    agent in words how to act, where they are neither the user's own nor in the workspace. Tables
    and documents are data.
    """

    format: str
    load: Load
    limit_bytes: int
    filenames: tuple[str, ...] = ()
    endings: tuple[str, ...] = ()
    companions: tuple[str, ...] = ()
    declared: str = ""
    suffixes: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    keeps: bool = False
    reads: bool = True
    everywhere: bool = False
    owns_folder: bool = False
    lists_tools: bool = False
    is_prose: bool = False


def lazy_loader(module: str, function: str = "load") -> Load:
    """The loading function of a module in `formats`, which is imported by the first call: a scan that
    finds no change parses nothing and needs no YAML.
    """

    def load(file: FoundFile, data: bytes) -> LoadedFile:
        from importlib import import_module

        reader = import_module(f"capdisc_indexer.sources.formats.{module}")
        loaded: LoadedFile = getattr(reader, function)(file, data)
        if "description" not in file.options:
            return loaded
        from capdisc_indexer.sources.formats.parsed_capability import add_declared_description

        return add_declared_description(loaded, file)

    return load


MEBIBYTE = 1024 * 1024
# Patterns of names to take or leave out, and name prefixes that are categories.
_SELECTION_OPTIONS = ("include", "exclude", "categories")
_JSON_OR_YAML = (".json", ".yaml", ".yml")
ALL_FORMATS = (
    SourceFormat(
        format="capability",
        load=lazy_loader("capability"),
        limit_bytes=256 * 1024,
        filenames=("CAPABILITY.yaml", "CAPABILITY.yml"),
        companions=("schema.json", "skill.md"),
        everywhere=True,
        owns_folder=True,
        is_prose=True,
    ),
    SourceFormat(
        format="skill",
        load=lazy_loader("skill"),
        limit_bytes=MEBIBYTE,
        filenames=("SKILL.md",),
        everywhere=True,
        owns_folder=True,
        is_prose=True,
    ),
    SourceFormat(
        format="agent",
        load=lazy_loader("prompt_files"),
        limit_bytes=MEBIBYTE,
        declared="agent",
        suffixes=(".md", ".toml"),
        is_prose=True,
    ),
    SourceFormat(
        format="command",
        load=lazy_loader("prompt_files"),
        limit_bytes=MEBIBYTE,
        declared="command",
        suffixes=(".md", ".toml"),
        is_prose=True,
    ),
    SourceFormat(
        format="catalogue",
        load=lazy_loader("catalogue"),
        limit_bytes=64 * MEBIBYTE,
        filenames=("capabilities.jsonl", "corpus.jsonl"),
        declared="catalogue",
        suffixes=(".jsonl",),
        everywhere=True,
        is_prose=True,
    ),
    SourceFormat(
        format="mcp",
        load=lazy_loader("tool_lists"),
        limit_bytes=32 * MEBIBYTE,
        filenames=("tools.json",),
        endings=(".tools.json",),
        declared="mcp",
        suffixes=(".json",),
        options=_SELECTION_OPTIONS,
        lists_tools=True,
    ),
    SourceFormat(
        format="mcp-servers",
        load=lazy_loader("mcp_servers"),
        limit_bytes=MEBIBYTE,
        declared="mcp-servers",
        suffixes=(".json", ".jsonc", ".toml"),
        options=(*_SELECTION_OPTIONS, "ask"),
        keeps=True,
        lists_tools=True,
    ),
    SourceFormat(
        format="functions",
        load=lazy_loader("tool_lists"),
        limit_bytes=16 * MEBIBYTE,
        declared="functions",
        suffixes=(".json", ".jsonl"),
        options=_SELECTION_OPTIONS,
        lists_tools=True,
    ),
    SourceFormat(
        format="openapi",
        load=lazy_loader("openapi"),
        limit_bytes=16 * MEBIBYTE,
        filenames=(
            "openapi.json",
            "openapi.yaml",
            "openapi.yml",
            "swagger.json",
            "swagger.yaml",
            "swagger.yml",
        ),
        endings=(".openapi.json", ".openapi.yaml", ".openapi.yml"),
        declared="openapi",
        suffixes=_JSON_OR_YAML,
        options=("include", "exclude", "url", "description"),
        lists_tools=True,
    ),
    SourceFormat(
        format="postman",
        load=lazy_loader("openapi.postman"),
        limit_bytes=16 * MEBIBYTE,
        endings=(".postman_collection.json",),
        declared="postman",
        suffixes=(".json",),
        options=("include", "exclude", "url", "description"),
        lists_tools=True,
    ),
    SourceFormat(
        format="graphql",
        load=lazy_loader("graphql_schema"),
        limit_bytes=16 * MEBIBYTE,
        filenames=("schema.graphql", "schema.graphqls", "schema.gql"),
        endings=(".graphqls", ".schema.graphql", ".schema.gql"),
        declared="graphql",
        suffixes=(".graphql", ".graphqls", ".gql", ".json"),
        options=("include", "exclude", "url", "description"),
        lists_tools=True,
    ),
    SourceFormat(
        format="python",
        load=lazy_loader("python_module"),
        limit_bytes=2 * MEBIBYTE,
        declared="python",
        suffixes=(".py",),
        options=(*_SELECTION_OPTIONS, "prefix"),
        lists_tools=True,
    ),
    SourceFormat(
        format="a2a",
        load=lazy_loader("published_cards", "load_agent_card"),
        limit_bytes=MEBIBYTE,
        filenames=("agent-card.json",),
        endings=(".agent-card.json",),
        declared="a2a",
        suffixes=(".json",),
        options=("include", "exclude"),
        lists_tools=True,
    ),
    SourceFormat(
        format="mcp-server",
        load=lazy_loader("published_cards", "load_server_card"),
        limit_bytes=MEBIBYTE,
        filenames=("server.json",),
        declared="mcp-server",
        suffixes=(".json",),
        lists_tools=True,
    ),
    SourceFormat(
        format="sqlite",
        load=lazy_loader("tables.sqlite"),
        limit_bytes=64 * 1024 * MEBIBYTE,
        endings=(".sqlite", ".sqlite3"),
        declared="sql",
        suffixes=(".sqlite", ".sqlite3", ".db"),
        options=("samples", "description"),
        reads=False,
    ),
    SourceFormat(
        format="ddl",
        load=lazy_loader("tables.ddl"),
        limit_bytes=16 * MEBIBYTE,
        endings=(".sql",),
        declared="sql",
        suffixes=(".sql",),
        options=("description",),
    ),
    SourceFormat(
        format="reflected",
        load=lazy_loader("tables.reflection"),
        limit_bytes=64 * MEBIBYTE,
        declared="sql",
        suffixes=(".reflected.json",),
        options=("url_secret", "ask", "description"),
    ),
    SourceFormat(
        format="csv",
        load=lazy_loader("tables.delimited"),
        limit_bytes=64 * 1024 * MEBIBYTE,
        declared="table",
        suffixes=(".csv", ".tsv"),
        options=("samples", "description"),
        reads=False,
    ),
    SourceFormat(
        format="json",
        load=lazy_loader("tables.json_rows"),
        limit_bytes=64 * MEBIBYTE,
        declared="table",
        suffixes=(".json", ".jsonl", ".ndjson"),
        options=("samples", "description"),
    ),
    SourceFormat(
        format="columnar",
        load=lazy_loader("tables.columnar"),
        limit_bytes=64 * 1024 * MEBIBYTE,
        declared="table",
        suffixes=(".parquet", ".arrow", ".feather"),
        options=("samples", "description"),
        reads=False,
    ),
    SourceFormat(
        format="document",
        load=lazy_loader("documents.document_files"),
        limit_bytes=16 * MEBIBYTE,
        declared="document",
        suffixes=(".md", ".markdown", ".mdx", ".txt", ".text", ".rst", ".adoc"),
        options=("description",),
    ),
    SourceFormat(
        format="office",
        load=lazy_loader("documents.document_files"),
        limit_bytes=64 * MEBIBYTE,
        declared="document",
        suffixes=(".pdf", ".docx", ".pptx", ".xlsx"),
        options=("description",),
    ),
)
SOURCES: Mapping[str, SourceFormat] = MappingProxyType(
    {source.format: source for source in ALL_FORMATS}
)
DECLARED = tuple(sorted({source.declared for source in ALL_FORMATS if source.declared}))
# The largest file that is read at once, also to show findings in it.
MAX_READ_BYTES = max(source.limit_bytes for source in ALL_FORMATS if source.reads)

_BY_NAME = {name.lower(): source for source in ALL_FORMATS for name in source.filenames}
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
    """The format of a file of this name, if it is also read in the folder of a skill; else None."""
    source = source_for(filename)
    return source if source and source.everywhere else None


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
