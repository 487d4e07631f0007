"""Every format that is read, one entry each: how a file of it is told, and what reads it."""

from __future__ import annotations

from collections.abc import Callable

from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.types import LoadedFile
from capdisc_indexer.sources.scan.scanned_files import FoundFile

# What a format is to whoever looks for files of it and reads them.

Load = Callable[[FoundFile, bytes], LoadedFile]


@frozen(kw_only=True)
class SourceFormat:
    """One format. `load` never raises on what a file holds; without `reads` it gets no bytes and
    opens the file itself, which may be large. A file is told by its whole name (`filenames`, as
    other readers look for them, the preferred one first) or by how its name ends (`endings`).

    A `[[source]]` names the format by `declared`; several formats may share that word, told apart
    by `suffixes`, which are those of the files that a declared folder is searched for. `options`
    are what such a declaration may say beside path and name. `everywhere` formats are also looked
    for in the folder of a skill or capability, which a file of an `owns_folder` format makes of a
    folder. Files named in `companions` (lower case) belong to a file of this format beside them,
    so they are not capabilities of their own; of one that `keeps`, those are what programs
    answered.
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


def lazy_loader(module: str) -> Load:
    """The `load` of a module beside this one, imported by its first call: a scan that finds
    nothing changed parses nothing, so that it needs no YAML.
    """

    def load(file: FoundFile, data: bytes) -> LoadedFile:
        from importlib import import_module

        loaded: LoadedFile = import_module(f"capdisc_indexer.sources.formats.{module}").load(
            file, data
        )
        return loaded

    return load


MEBIBYTE = 1024 * 1024
# Patterns of names that are taken or left out, and name prefixes that are categories.
_CHOICE = ("include", "exclude", "categories")
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
    ),
    SourceFormat(
        format="skill",
        load=lazy_loader("skill"),
        limit_bytes=MEBIBYTE,
        filenames=("SKILL.md",),
        everywhere=True,
        owns_folder=True,
    ),
    SourceFormat(
        format="catalogue",
        load=lazy_loader("catalogue"),
        limit_bytes=64 * MEBIBYTE,
        filenames=("capabilities.jsonl", "corpus.jsonl"),
        declared="catalogue",
        suffixes=(".jsonl",),
        everywhere=True,
    ),
    SourceFormat(
        format="mcp",
        load=lazy_loader("tool_lists"),
        limit_bytes=16 * MEBIBYTE,
        filenames=("tools.json",),
        endings=(".tools.json",),
        declared="mcp",
        suffixes=(".json",),
        options=_CHOICE,
    ),
    SourceFormat(
        format="mcp-servers",
        load=lazy_loader("mcp_servers"),
        limit_bytes=MEBIBYTE,
        declared="mcp-servers",
        suffixes=(".json",),
        options=(*_CHOICE, "ask"),
        keeps=True,
    ),
    SourceFormat(
        format="functions",
        load=lazy_loader("tool_lists"),
        limit_bytes=16 * MEBIBYTE,
        declared="functions",
        suffixes=(".json", ".jsonl"),
        options=_CHOICE,
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
        options=("include", "exclude", "url"),
    ),
    SourceFormat(
        format="sqlite",
        load=lazy_loader("tables.sqlite"),
        limit_bytes=64 * 1024 * MEBIBYTE,
        endings=(".sqlite", ".sqlite3"),
        declared="sql",
        suffixes=(".sqlite", ".sqlite3", ".db"),
        options=("samples",),
        reads=False,
    ),
    SourceFormat(
        format="ddl",
        load=lazy_loader("tables.ddl"),
        limit_bytes=16 * MEBIBYTE,
        endings=(".sql",),
        declared="sql",
        suffixes=(".sql",),
    ),
    SourceFormat(
        format="reflected",
        load=lazy_loader("tables.reflection"),
        limit_bytes=64 * MEBIBYTE,
        declared="sql",
        suffixes=(".reflected.json",),
        options=("url_secret", "ask"),
    ),
    SourceFormat(
        format="csv",
        load=lazy_loader("tables.delimited"),
        limit_bytes=64 * 1024 * MEBIBYTE,
        declared="table",
        suffixes=(".csv", ".tsv"),
        options=("samples",),
        reads=False,
    ),
    SourceFormat(
        format="json",
        load=lazy_loader("tables.json_rows"),
        limit_bytes=64 * MEBIBYTE,
        declared="table",
        suffixes=(".json", ".jsonl", ".ndjson"),
        options=("samples",),
    ),
    SourceFormat(
        format="columnar",
        load=lazy_loader("tables.columnar"),
        limit_bytes=64 * 1024 * MEBIBYTE,
        declared="table",
        suffixes=(".parquet", ".arrow", ".feather"),
        options=("samples",),
        reads=False,
    ),
    SourceFormat(
        format="document",
        load=lazy_loader("documents.document_files"),
        limit_bytes=16 * MEBIBYTE,
        declared="document",
        suffixes=(".md", ".markdown", ".mdx", ".txt", ".text", ".rst", ".adoc"),
    ),
    SourceFormat(
        format="office",
        load=lazy_loader("documents.document_files"),
        limit_bytes=64 * MEBIBYTE,
        declared="document",
        suffixes=(".pdf", ".docx", ".pptx", ".xlsx"),
    ),
)
