"""Valid files of every source format, which fuzz tests change: those of the fixtures, and one or more of
each format that these lack.
"""

from __future__ import annotations

import io
import json
import sqlite3
import tempfile
import zipfile
from collections.abc import Mapping
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

from capdisc_indexer.sources.format_table import SOURCES, declared_source, source_for

FIXTURES = Path(__file__).resolve().parent.parent.parent / "fixtures"
MAX_BYTES = 16 * 1024
_OFFICE = "http://schemas.openxmlformats.org"
_WORD = f"{_OFFICE}/wordprocessingml/2006/main"
_SHEET = f"{_OFFICE}/spreadsheetml/2006/main"
_RELATION = f"{_OFFICE}/officeDocument/2006/relationships"

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "to": {"type": ["string", "null"], "description": "Who gets it.", "pattern": "^[a-z]+$"},
        "count": {"type": "integer", "minimum": 1, "default": 5, "enum": [1, 5]},
        "parts": {"type": "array", "items": {"$ref": "#/$defs/part"}, "maxItems": 3},
        "mode": {"anyOf": [{"const": "fast"}, {"type": "boolean"}], "format": "date"},
    },
    "required": ["to"],
    "additionalProperties": False,
    "$defs": {"part": {"type": "object", "properties": {"name": {"type": "string"}}}},
}
MANIFEST: dict[str, Any] = {
    "id": "tool:send-mail",
    "name": "send-mail",
    "kind": "tool",
    "title": "Send mail",
    "description": "Sends a mail to somebody. Use when a letter is to go out.",
    "category": "office/mail",
    "tags": ["mail", "letters"],
    "examples": ["write to Ann"],
    "phrases": ["send it off"],
    "notFor": ["chat messages"],
    "requires": ["read-contacts"],
    "edges": [{"target": "read-contacts", "type": "REQUIRES", "weight": 0.5}],
    "inputSchema": SCHEMA,
    "outputSchema": {"type": "string"},
    "inputExamples": [{"to": "ann", "count": 5}],
    "riskLevel": "high",
    "requiresConfirmation": True,
    "requiredSecrets": ["MAIL_KEY"],
    "guidance": "Ask before it goes out.",
    "usageHint": "When a letter is wanted.",
    "skillContent": "# Mail\n\nSee [the codes](codes.md).",
    "run": {"command": ["echo", "-s", "{count}", "{to}"], "env": {"LANG": "C"}, "timeout": 5},
    "extract": {"pattern": "[0-9]+", "type": "integer"},
    "metadata": {"a": {"b": [1, 2.5, True, None]}},
}
SKILL: dict[str, Any] = {
    "name": "fold-paper",
    "description": "Folds paper cranes. Use when somebody wants a crane. Not for knitting.",
    "license": "MIT",
    "compatibility": "needs paper",
    "allowed-tools": "Read Bash(git:*) Grep",
    "metadata": {"version": "1.0", "openclaw": {"requires": {"bins": ["ls"], "env": ["A_B"]}}},
    "argument-hint": "[count]",
    "disable-model-invocation": False,
    "model": "sonnet",
    "tags": ["paper"],
    "requires": ["cut-paper"],
}
_BODY = "# Fold\n\nSee [codes](references/codes.md) and ![it](a.png).\n\n## Steps\n\n1. `fold $ARGUMENTS`\n\n```sh\nrm -rf {x}\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"
_TOOL = {"name": "plant_tree", "description": "Plants a tree.", "inputSchema": SCHEMA}
_FUNCTION = {
    "type": "function",
    "function": {"name": "water", "description": "Waters.", "parameters": SCHEMA},
}
_OPENAPI: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {"title": "Shop", "version": "1", "description": "Sells books."},
    "servers": [{"url": "https://{host}.example/v1", "variables": {"host": {"default": "a"}}}],
    "security": [{"key": []}],
    "paths": {
        "/books/{id}": {
            "parameters": [
                {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
            ],
            "get": {
                "operationId": "getBook",
                "summary": "Gets a book.",
                "tags": ["books"],
                "responses": {
                    "200": {
                        "description": "A book.",
                        "content": {
                            "application/json": {"schema": {"$ref": "#/components/schemas/Book"}}
                        },
                    }
                },
            },
            "post": {
                "requestBody": {"content": {"application/json": {"schema": SCHEMA}}},
                "callbacks": {"done": {"{$request.body#/url}": {"post": {}}}},
            },
        }
    },
    "components": {
        "schemas": {
            "Book": {
                "allOf": [{"$ref": "#/components/schemas/Thing"}],
                "discriminator": {"propertyName": "kind"},
            },
            "Thing": {"properties": {"title": {"type": "string", "example": "Emma"}}},
        },
        "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}},
    },
}
_SWAGGER: dict[str, Any] = {
    "swagger": "2.0",
    "info": {"title": "Old", "version": "1"},
    "host": "old.example",
    "basePath": "/v1",
    "paths": {
        "/a": {
            "put": {
                "parameters": [{"name": "b", "in": "body", "schema": {"$ref": "#/definitions/A"}}],
                "responses": {"default": {"description": "Done."}},
            }
        }
    },
    "definitions": {"A": {"type": "object", "properties": {"x": {"type": "file"}}}},
}
_POSTMAN: dict[str, Any] = {
    "info": {"name": "Bank", "description": {"content": "Accounts."}},
    "variable": [{"key": "base", "value": "https://bank.example"}],
    "auth": {"type": "bearer", "bearer": [{"key": "token", "value": "{{token}}"}]},
    "item": [
        {
            "name": "Transfers",
            "item": [
                {
                    "name": "Send money",
                    "request": {
                        "method": "POST",
                        "description": "Sends money.",
                        "header": [{"key": "X", "value": "1"}],
                        "url": {
                            "raw": "{{base}}/accounts/:id?dry=1",
                            "variable": [{"key": "id", "value": "7", "description": "Whose."}],
                            "query": [{"key": "dry", "value": "1"}],
                        },
                        "body": {"mode": "raw", "raw": '{"to": "x", "amount": {{amount}}}'},
                    },
                }
            ],
        },
        {"name": "List", "request": "{{base}}/accounts"},
    ],
}
_GRAPHQL = '''schema { query: Root mutation: Change }
type Root { "One book." book(isbn: ID!): Book search(text: String!, first: Int = 10, sort: Sort): [Book!]! }
type Change { """Puts it into the basket.""" add(input: BasketInput!): Int @deprecated(reason: "old") }
enum Sort { PRICE TITLE } scalar Date union Any = Book
input BasketInput { isbn: ID! count: Int = 1 inner: BasketInput }
type Book implements Node { isbn: ID! title(upper: Boolean = false): String } interface Node { isbn: ID! }
'''
_PYTHON = '''"""Mail."""
from typing import Literal, Optional, Annotated

def send(to: list[str], body: str = "hi", *, level: Literal["low", 2, None] = "low", later: Optional[int] = None) -> bool:
    """Sends a mail.

    Args:
        to: The addresses.
        level: How soon.

    Returns:
        Whether it went out.
    """

async def fetch(limit: "int | None" = 20, *rest: dict[str, tuple[int, ...]], **more: Annotated[str, 1]): ...

class Box:
    x: int = 1
    @staticmethod
    def empty(ids: set[int] = {1, 2}, f=lambda: 0) -> None:
        """Empties.

        :param ids: Which.
        """
'''
_AGENT_CARD: dict[str, Any] = {
    "protocolVersion": "0.3.0",
    "name": "Trip Planner",
    "description": "Plans journeys.",
    "url": "https://trips.example/a2a",
    "version": "2.1",
    "skills": [
        {
            "id": "find-train",
            "name": "Find a train",
            "description": "Finds a train.",
            "tags": ["travel"],
            "examples": ["when does it leave"],
            "inputModes": ["text/plain"],
        }
    ],
    "securitySchemes": {"a": {"type": "http", "scheme": "bearer"}},
}
_SERVER_CARD: dict[str, Any] = {
    "name": "io.example/tides",
    "description": "Tide times.",
    "version": "1.0.2",
    "repository": {"url": "https://tides.example", "source": "git"},
    "packages": [
        {
            "registryType": "npm",
            "identifier": "@example/tides",
            "environmentVariables": [{"name": "TIDES_KEY", "isRequired": True, "isSecret": True}],
            "packageArguments": [{"type": "named", "name": "--port", "value": "{p}"}],
        }
    ],
    "remotes": [{"type": "streamable-http", "url": "https://x.example", "headers": []}],
}
SERVERS: dict[str, Any] = {
    "mcpServers": {
        "tides": {"command": "npx", "args": ["-y", "tides"], "env": {"KEY": "${KEY:-x}"}},
        "web": {"type": "http", "url": "https://x.example/mcp", "headers": {"A": "${B}"}},
    }
}
_TABLE: dict[str, Any] = {
    "name": "books",
    "schema": "",
    "comment": "All books.",
    "columns": [{"name": "id", "type": "INTEGER"}, {"name": "title", "type": "TEXT"}],
}
_REFLECTED = {"asked_at": "2026-01-02", "answer": {"kind": "x", "tables": [], "notes": []}}
_DDL = """-- All books.
CREATE TABLE "main".books (id INTEGER PRIMARY KEY, title VARCHAR(20) NOT NULL DEFAULT 'a''b', price DECIMAL(8, 2)
  CHECK (price > 0), writer INT REFERENCES writers (id) ON DELETE CASCADE, UNIQUE (title, price));
COMMENT ON TABLE books IS 'What is sold.'; CREATE INDEX i ON books (title); INSERT INTO books VALUES (1, 'x', 2, 3);
CREATE VIEW cheap AS SELECT * FROM books WHERE price < 5; ALTER TABLE books ADD COLUMN isbn TEXT;
"""
_TOML_SERVERS = (
    '[mcp_servers.tides]\ncommand = "npx"\nargs = ["-y", "tides"]\nenv = { KEY = "x" }\n'
)
_TOML_COMMAND = (
    'description = "Reviews a change."\nprompt = """Review {{args}} and !{git diff}."""\n'
)


def as_lines(values: Mapping[str, object]) -> str:
    """A mapping as YAML with a key on each line; JSON is YAML."""
    return "".join(f"{key}: {json.dumps(value)}\n" for key, value in values.items())


def front_matter(values: Mapping[str, object], body: str = _BODY) -> bytes:
    """A Markdown file with these values before it."""
    return f"---\n{as_lines(values)}---\n{body}".encode()


def _archive(parts: Mapping[str, str]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as made:
        for name, text in parts.items():
            made.writestr(name, text)
    return stream.getvalue()


def _word() -> bytes:
    text = "<w:p><w:pPr><w:pStyle w:val='H'/></w:pPr><w:r><w:t>Leave</w:t></w:r></w:p><w:p><w:r><w:t>Ask.</w:t></w:r></w:p>"
    styles = "<w:style w:styleId='H'><w:name w:val='heading 1'/></w:style>"
    return _archive(
        {
            "word/document.xml": f"<w:document xmlns:w='{_WORD}'><w:body>{text}</w:body></w:document>",
            "word/styles.xml": f"<w:styles xmlns:w='{_WORD}'>{styles}</w:styles>",
        }
    )


def _workbook() -> bytes:
    cells = "<c r='A1' t='s'><v>0</v></c><c r='B1'><v>2</v></c>"
    return _archive(
        {
            "xl/workbook.xml": f"<workbook xmlns='{_SHEET}' xmlns:r='{_RELATION}'><sheets><sheet name='S' r:id='r1'/></sheets></workbook>",
            "xl/_rels/workbook.xml.rels": f"<Relationships xmlns='{_OFFICE}/package/2006/relationships'><Relationship Id='r1' Target='s.xml'/></Relationships>",
            "xl/s.xml": f"<worksheet xmlns='{_SHEET}'><sheetData><row r='1'>{cells}</row></sheetData></worksheet>",
            "xl/sharedStrings.xml": f"<sst xmlns='{_SHEET}'><si><t>who</t></si></sst>",
        }
    )


def _database() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.db"
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.executescript(
                "PRAGMA page_size=512; CREATE TABLE books (id INTEGER PRIMARY KEY, title TEXT, b BLOB);"
                "INSERT INTO books VALUES (1, 'Emma', x'00ff'); CREATE VIEW v AS SELECT title FROM books;"
            )
        connection.close()
        return path.read_bytes()


def _columnar(name: str) -> bytes:
    import pyarrow as pa
    from pyarrow import feather, parquet

    table = pa.table({"id": [1, 2], "title": ["Emma", None], "more": [[1], []]})
    stream = io.BytesIO()
    if name.endswith(".parquet"):
        parquet.write_table(table, stream)
    else:
        feather.write_feather(table, stream, compression="uncompressed")
    return stream.getvalue()


def _json(value: object) -> bytes:
    return json.dumps(value).encode()


def _own_seeds() -> dict[str, list[tuple[str, bytes]]]:
    prompt = {"name": "review", "description": "Reviews a change.", "tools": "Read, Bash(git:*)"}
    command = {"description": "Reviews.", "argument-hint": "[file]", "allowed-tools": ["Read"]}
    lines = _json(MANIFEST) + b"\n" + _json({**MANIFEST, "name": "other", "id": "x"}) + b"\n"
    row = b'{"id": 1, "title": "Emma", "more": {"a": [1]}}\n'
    return {
        "capability": [
            ("CAPABILITY.yaml", as_lines(MANIFEST).encode()),
            ("CAPABILITY.yaml", b"overlay: tool:*\nphrases: [a, b]\nrisk: low\ncategory: x\n"),
        ],
        "skill": [("SKILL.md", front_matter(SKILL))],
        "agent": [("a.md", front_matter(prompt)), ("a.toml", _TOML_COMMAND.encode())],
        "command": [("c.md", front_matter(command)), ("c.toml", _TOML_COMMAND.encode())],
        "catalogue": [("capabilities.jsonl", lines)],
        "mcp": [("tools.json", _json({"tools": [_TOOL]}))],
        "mcp-servers": [
            ("mcp.json", _json(SERVERS)),
            ("mcp.jsonc", b"// a\n" + _json(SERVERS)),
            ("config.toml", _TOML_SERVERS.encode()),
        ],
        "functions": [
            ("functions.json", _json([_FUNCTION, _TOOL])),
            ("functions.jsonl", _json(_FUNCTION)),
        ],
        "openapi": [
            ("openapi.json", _json(_OPENAPI)),
            ("openapi.yaml", as_lines(_OPENAPI).encode()),
            ("swagger.json", _json(_SWAGGER)),
        ],
        "postman": [("a.postman_collection.json", _json(_POSTMAN))],
        "graphql": [("schema.graphql", _GRAPHQL.encode())],
        "python": [("mail.py", _PYTHON.encode())],
        "a2a": [("agent-card.json", _json(_AGENT_CARD))],
        "mcp-server": [("server.json", _json(_SERVER_CARD))],
        "sqlite": [("a.db", _database())],
        "ddl": [("a.sql", _DDL.encode())],
        "reflected": [
            ("a.reflected.json", _json(_REFLECTED)),
            (
                "b.reflected.json",
                _json({"asked_at": "x", "answer": {"kind": "x", "tables": [_TABLE], "notes": []}}),
            ),
        ],
        "csv": [("a.csv", b'id,title\n1,"Emma, a ""book"""\n2,x\n'), ("a.tsv", b"a\tb\n1\t2\n")],
        "json": [("rows.json", b"[" + row + b"," + row + b"]"), ("rows.jsonl", row * 3)],
        "columnar": [(name, _columnar(name)) for name in ("a.parquet", "a.arrow")],
        "document": [
            ("a.md", b"---\ntitle: A\n---\n" + _BODY.encode()),
            ("a.txt", b"One.\n\nTwo.\n" * 9),
            ("a.rst", b"Title\n=====\n\n.. note:: x\n\nMore\n----\n\n::\n\n  code\n"),
            ("a.adoc", b"= Title\n\n== Part\n\n----\ncode\n----\n"),
        ],
        "office": [("a.docx", _word()), ("a.xlsx", _workbook()), ("a.pdf", b"%PDF-1.4\n%%EOF")],
    }


@cache
def seeds_by_format() -> Mapping[str, tuple[tuple[str, bytes], ...]]:
    """Names and contents of valid files, for each format of the table of sources."""
    seeds = _own_seeds()
    for path in sorted(FIXTURES.rglob("*")):
        is_small = path.is_file() and path.stat().st_size < MAX_BYTES
        if not is_small or path.is_relative_to(FIXTURES / "catalogs" / "office"):
            continue
        source = source_for(path.name)
        for word in ("openapi", "graphql", "table", "document", "sql"):
            source = source or declared_source(word, path.name)
        if source is not None:
            seeds[source.format].append((path.name, path.read_bytes()))
    return {format_name: tuple(seeds.get(format_name, ())) for format_name in SOURCES}
