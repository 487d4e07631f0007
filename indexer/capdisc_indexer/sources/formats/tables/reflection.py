"""Tables of a database server, or of any database that SQLAlchemy has a driver for: asked by a
process of its own.

Only the schema is asked for, no row is read or counted: the database is somebody's, and may be
busy.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any

from capdisc_indexer import lazy_imports
from capdisc_indexer.model.errors import InputError
from capdisc_indexer.model.frozen import asdict
from capdisc_indexer.model.types import DeclaredSource, Finding, LoadedFile, Severity
from capdisc_indexer.sources.formats.derived_capability import file_finding, plain_part
from capdisc_indexer.sources.formats.tables.table_capabilities import build_table_capabilities
from capdisc_indexer.sources.formats.tables.table_types import (
    Column,
    ReaderNote,
    Table,
    Tables,
    tables_from,
)
from capdisc_indexer.sources.readers.json_reader import read_json
from capdisc_indexer.sources.readers.reader_subprocess import ReaderProcessError, read_in_subprocess
from capdisc_indexer.sources.readers.text_decoding import decode
from capdisc_indexer.sources.scan.scanned_files import FoundFile

# The tables that a database declared when it was last asked. Nothing is asked here.

REFLECTED_SUFFIX = ".reflected.json"
ASK_AGAIN = "run: capdisc index --ask-servers"


def load(file: FoundFile, data: bytes) -> LoadedFile:
    """The database and its tables, with a notice of when it was asked."""
    text = decode(data, file.path)
    value = text if isinstance(text, Finding) else read_json(text, file.path)
    if isinstance(value, Finding):
        return LoadedFile(findings=(value,))
    try:
        asked_at, tables = _answer(value)
    except (KeyError, TypeError, ValueError, AttributeError):
        wrong = file_finding(
            file,
            Severity.ERROR,
            "unreadable-data",
            "is no answer of a database that was asked",
            ASK_AGAIN,
        )
        return LoadedFile(findings=(wrong,))
    name = plain_part(file.name) or plain_part(
        PurePath(file.path).name.removesuffix(REFLECTED_SUFFIX)
    )
    loaded = build_table_capabilities(file, name, tables)
    message = f"the tables of {name} are those of {asked_at[:40]}"
    age = file_finding(file, Severity.INFO, "server-asked", message, ASK_AGAIN)
    return LoadedFile(
        descriptors=loaded.descriptors, findings=(age, *loaded.findings), parts=loaded.parts
    )


def _answer(value: Any) -> tuple[str, Any]:
    return str(value["asked_at"]), tables_from(value["answer"])


def kept_text(asked_at: str, answer: Mapping[str, Any]) -> bytes:
    """What is kept of an answer."""
    return json.dumps(
        {"asked_at": asked_at, "answer": answer}, ensure_ascii=False, indent=1
    ).encode()


def kept_name(source: DeclaredSource) -> str:
    """The file name that the answer to a declaration is kept under."""
    secret = str(source.options.get("url_secret", ""))
    digits = hashlib.sha256(
        f"{secret}\0{source.name}".encode("utf-8", "surrogatepass")
    ).hexdigest()[:8]
    return f"{plain_part(source.name) or plain_part(secret.lower())}-{digits}{REFLECTED_SUFFIX}"


MAX_SECONDS = 60
MAX_TABLES = 1_000
MAX_COLUMNS = 500
_KINDS = {
    "postgresql": "postgresql",
    "mysql": "mysql",
    "mariadb": "mysql",
    "sqlite": "sqlite",
    "bigquery": "bigquery",
}


def reflect_database(url: str, seconds: int = MAX_SECONDS) -> dict[str, Any]:
    """What the database at this address declares, as JSON has `Tables`. No message repeats the
    address, which holds a password. Raises InputError where it cannot be asked, or takes too long.
    """
    try:
        answer: dict[str, Any] = read_in_subprocess(
            "tables.reflection", {"url": url}, seconds=seconds
        )
    except ReaderProcessError as error:
        raise InputError(
            _without(str(error), url), "see whether the database can be reached from here"
        ) from None
    if "error" in answer:
        raise InputError(_without(answer["error"], url), answer["hint"])
    return answer


def read_request(request: Mapping[str, Any], data: bytes) -> dict[str, Any]:
    """The answer of the process that asks."""
    try:
        sqlalchemy = lazy_imports.sqlalchemy()
        engine = _engine(sqlalchemy, request["url"])
        inspector = sqlalchemy.inspect(engine)
        return asdict(_read(inspector, _KINDS.get(engine.dialect.name, engine.dialect.name)))
    except InputError as error:
        return {"error": error.message, "hint": error.hint}
    except ImportError as error:
        return {
            "error": f"its driver is not installed ({error})",
            "hint": "install the package of the driver",
        }
    except Exception as error:  # each driver has errors of its own
        message = (str(error).splitlines() or [""])[0]
        return {
            "error": f"{type(error).__name__}: {message}"[:300],
            "hint": "see whether it can be reached from here",
        }


def _engine(sqlalchemy: Any, url: str) -> Any:
    try:
        return sqlalchemy.create_engine(url)
    except sqlalchemy.exc.ArgumentError as error:
        message = "the secret is no address of a database"
        raise InputError(
            message, "set it to one such as postgresql://user:password@host/name"
        ) from error


def _read(inspector: Any, kind: str) -> Tables:
    views = set(inspector.get_view_names())
    names = sorted({*inspector.get_table_names(), *views})
    notes: list[ReaderNote] = []
    if len(names) > MAX_TABLES:
        message = f"{len(names) - MAX_TABLES:,} of {len(names):,} tables are left out"
        notes.append(ReaderNote(severity="warning", code="table-skipped", message=message))
    tables = tuple(_table(inspector, name, name in views) for name in names[:MAX_TABLES])
    return Tables(kind=kind, tables=tables, notes=tuple(notes))


def _table(inspector: Any, name: str, is_view: bool) -> Table:
    keys = {} if is_view else dict(_foreign_keys(inspector, name))
    primary = [] if is_view else inspector.get_pk_constraint(name).get("constrained_columns") or []
    columns = tuple(
        Column(
            name=str(column["name"]),
            type=str(column["type"])[:200],
            nullable=bool(column.get("nullable", True)),
            key=primary.index(column["name"]) + 1 if column["name"] in primary else 0,
            default=None if column.get("default") is None else str(column["default"])[:2_000],
            refers_to=keys.get(column["name"], ""),
            comment=str(column.get("comment") or "")[:1_000],
        )
        for column in inspector.get_columns(name)[:MAX_COLUMNS]
    )
    return Table(name=name, columns=columns, is_view=is_view, comment=_comment(inspector, name))


def _foreign_keys(inspector: Any, name: str) -> Iterator[tuple[str, str]]:
    for key in inspector.get_foreign_keys(name):
        for key_column, referred_column in zip(
            key["constrained_columns"], key["referred_columns"], strict=False
        ):
            yield key_column, f"{key['referred_table']}.{referred_column}"


def _comment(inspector: Any, name: str) -> str:
    try:
        return str(inspector.get_table_comment(name).get("text") or "")[:1_000]
    except NotImplementedError:  # SQLite has none
        return ""


def _without(text: str, url: str) -> str:
    """The text without the address and without what stands in it between the name and the host."""
    password = url.partition("://")[2].rpartition("@")[0].partition(":")[2]
    hidden = text.replace(url, "[address]")
    return hidden.replace(password, "[secret]") if len(password) > 2 else hidden
