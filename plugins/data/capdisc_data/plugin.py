"""What this plug-in adds: formats of data sources, the tools that ask about them, and `plan`."""

from __future__ import annotations

from typing import Any

from capdisc_indexer.plugins.plugin import Plugin, PluginCommand
from capdisc_indexer.sources.source_format import (
    MEBIBYTE,
    SELECTION_OPTIONS,
    SourceFormat,
    lazy_loader,
)

# What formats of one kind have in common.
_API: Any = {
    "limit_bytes": 16 * MEBIBYTE,
    "options": ("include", "exclude", "url", "description"),
    "lists_tools": True,
}
_SAMPLED: Any = {"options": ("samples", "description")}
_TABLE: Any = {"declared": "table", "by_suffix": True, **_SAMPLED}
# Opened by its loader, since it may be larger than memory.
_LARGE: Any = {"limit_bytes": 64 * 1024 * MEBIBYTE, "reads": False}
_DOCUMENT: Any = {"declared": "document", "by_suffix": True, "options": ("description",)}
PLUGIN = Plugin(
    name="data",
    formats=(
        SourceFormat(
            format="openapi",
            load=lazy_loader("capdisc_data.openapi"),
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
            suffixes=(".json", ".yaml", ".yml"),
            **_API,
        ),
        SourceFormat(
            format="postman",
            load=lazy_loader("capdisc_data.postman"),
            endings=(".postman_collection.json",),
            declared="postman",
            suffixes=(".json",),
            **_API,
        ),
        SourceFormat(
            format="graphql",
            load=lazy_loader("capdisc_data.graphql_schema"),
            filenames=("schema.graphql", "schema.graphqls", "schema.gql"),
            endings=(".graphqls", ".schema.graphql", ".schema.gql"),
            declared="graphql",
            suffixes=(".graphql", ".graphqls", ".gql", ".json"),
            by_suffix=True,
            **_API,
        ),
        SourceFormat(
            format="python",
            load=lazy_loader("capdisc_data.python_module"),
            limit_bytes=2 * MEBIBYTE,
            declared="python",
            suffixes=(".py",),
            by_suffix=True,
            options=(*SELECTION_OPTIONS, "prefix", "omit", "run"),
            lists_tools=True,
        ),
        SourceFormat(
            format="a2a",
            load=lazy_loader("capdisc_data.published_cards", "load_agent_card"),
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
            load=lazy_loader("capdisc_data.published_cards", "load_server_card"),
            limit_bytes=MEBIBYTE,
            filenames=("server.json",),
            declared="mcp-server",
            suffixes=(".json",),
            lists_tools=True,
        ),
        SourceFormat(
            format="sqlite",
            load=lazy_loader("capdisc_data.sqlite"),
            endings=(".sqlite", ".sqlite3"),
            declared="sql",
            suffixes=(".sqlite", ".sqlite3", ".db"),
            **_SAMPLED,
            **_LARGE,
        ),
        SourceFormat(
            format="ddl",
            load=lazy_loader("capdisc_data.ddl"),
            limit_bytes=16 * MEBIBYTE,
            endings=(".sql",),
            declared="sql",
            suffixes=(".sql",),
            options=("description",),
        ),
        SourceFormat(
            format="reflected",
            load=lazy_loader("capdisc_data.reflection"),
            limit_bytes=64 * MEBIBYTE,
            declared="sql",
            suffixes=(".reflected.json",),
            options=("url_secret", "ask", "description"),
        ),
        SourceFormat(
            format="csv",
            load=lazy_loader("capdisc_data.text_tables", "load_delimited"),
            suffixes=(".csv", ".tsv"),
            **_TABLE,
            **_LARGE,
        ),
        SourceFormat(
            format="json",
            load=lazy_loader("capdisc_data.text_tables", "load_json"),
            limit_bytes=64 * MEBIBYTE,
            suffixes=(".json", ".jsonl", ".ndjson"),
            **_TABLE,
        ),
        SourceFormat(
            format="columnar",
            load=lazy_loader("capdisc_data.columnar"),
            suffixes=(".parquet", ".arrow", ".feather"),
            **_TABLE,
            **_LARGE,
        ),
        SourceFormat(
            format="document",
            load=lazy_loader("capdisc_data.document_files"),
            limit_bytes=16 * MEBIBYTE,
            suffixes=(".md", ".markdown", ".mdx", ".txt", ".text", ".rst", ".adoc"),
            **_DOCUMENT,
        ),
        SourceFormat(
            format="office",
            load=lazy_loader("capdisc_data.document_files"),
            limit_bytes=64 * MEBIBYTE,
            suffixes=(".pdf", ".docx", ".pptx", ".xlsx"),
            **_DOCUMENT,
        ),
    ),
    tools=("capdisc_data.data_tools:TOOLS",),
    services={"databases": "capdisc_data.reflection"},
    commands={
        "plan": PluginCommand(
            about="Check a plan of an agent against the index.",
            function="capdisc_data.plan_command:plan",
            below="call",
        )
    },
)
