"""Tables of a database server, or of any database that SQLAlchemy has a driver for.

`reflect_database` asks the database in a process of its own, and only for its schema: it belongs
to somebody and may be busy, so no row is read or counted. `load` reads the answer that was stored
then, and asks nobody.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any

from capdisc_data.table_capabilities import build_table_capabilities
from capdisc_data.tables import (
    Column,
    ReaderNote,
    Table,
    Tables,
    tables_from_json,
)
from capdisc_indexer import lazy_imports
from capdisc_indexer.model.errors import InputError
from capdisc_indexer.model.frozen import asdict
from capdisc_indexer.model.json_types import JsonObject
from capdisc_indexer.model.types import DeclaredSource, Finding, LoadedFile, Severity
from capdisc_indexer.sources.formats.naming_rules import plain_part
from capdisc_indexer.sources.formats.parsed_capability import file_finding
from capdisc_indexer.sources.readers.file_bytes import decode
from capdisc_indexer.sources.readers.json_reader import read_json
from capdisc_indexer.sources.readers.reader_subprocess import (
    ReaderProcessError,
    read_in_subprocess,
)
from capdisc_indexer.sources.readers.yaml_nodes import Json
from capdisc_indexer.sources.scan.scanned_files import FoundFile

MAX_SECONDS = 60
MAX_TABLES = 1_000
MAX_COLUMNS = 500
REFLECTED_SUFFIX = ".reflected.json"
_ASK_AGAIN_HINT = "run: capdisc index --ask-servers"
_KINDS = {
    "postgresql": "postgresql",
    "mysql": "mysql",
    "mariadb": "mysql",
    "sqlite": "sqlite",
    "bigquery": "bigquery",
}


def load(file: FoundFile, data: bytes) -> LoadedFile:
    """The database and its tables as it declared them when it was last asked, with a notice of
    when that was.
    """
    text = decode(data, file.path)
    value = text if isinstance(text, Finding) else read_json(text, file.path)
    if isinstance(value, Finding):
        return LoadedFile(findings=(value,))
    try:
        asked_at, tables = _parse_answer(value)
    except (KeyError, TypeError, ValueError, AttributeError):
        message = "is not the answer of a database that was asked"
        finding = file_finding(file, Severity.ERROR, "unreadable-data", message, _ASK_AGAIN_HINT)
        return LoadedFile(findings=(finding,))
    name = plain_part(file.name) or plain_part(
        PurePath(file.path).name.removesuffix(REFLECTED_SUFFIX)
    )
    loaded = build_table_capabilities(file, name, tables)
    message = f"the tables of {name} are those of {asked_at[:40]}"
    age = file_finding(file, Severity.INFO, "server-asked", message, _ASK_AGAIN_HINT)
    return LoadedFile(
        descriptors=loaded.descriptors, findings=(age, *loaded.findings), parts=loaded.parts
    )


def _parse_answer(value: Json) -> tuple[str, Tables]:
    """When the database was asked, and its tables. Raises KeyError, TypeError, ValueError or
    AttributeError for JSON of another shape.
    """
    if not isinstance(value, dict) or not isinstance(answer := value["answer"], dict):
        raise TypeError
    return str(value["asked_at"]), tables_from_json(answer)


def kept_text(asked_at: str, answer: JsonObject) -> bytes:
    """The stored form of an answer, which `load` reads."""
    stored = {"asked_at": asked_at, "answer": answer}
    return json.dumps(stored, ensure_ascii=False, indent=1).encode()


def kept_name(source: DeclaredSource) -> str:
    """The file name that the answer to a declaration is stored under."""
    secret = str(source.options.get("url_secret", ""))
    digits = hashlib.sha256(
        f"{secret}\0{source.name}".encode("utf-8", "surrogatepass")
    ).hexdigest()[:8]
    return f"{plain_part(source.name) or plain_part(secret.lower())}-{digits}{REFLECTED_SUFFIX}"


def reflect_database(url: str, seconds: int = MAX_SECONDS) -> JsonObject:
    """The tables of the database at this address, as `Tables` in JSON.

    No message repeats the address, which holds a password. Raises InputError if the database
    cannot be asked or takes longer than `seconds`.
    """
    try:
        answer = read_in_subprocess(__name__, {"url": url}, seconds=seconds)
    except ReaderProcessError as error:
        message = _hide_address(str(error), url)
        raise InputError(message, "check that the database can be reached from here") from None
    if "error" in answer:
        raise InputError(_hide_address(answer["error"], url), answer["hint"])
    return answer


def read_request(request: JsonObject, data: bytes) -> JsonObject:
    """`Tables` as JSON, or `error` and `hint`: the answer of the process that asks."""
    try:
        sqlalchemy = lazy_imports.sqlalchemy()
        engine = _engine(sqlalchemy, request["url"])
        inspector = sqlalchemy.inspect(engine)
        return asdict(
            _read_tables(inspector, _KINDS.get(engine.dialect.name, engine.dialect.name))
        )
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
            "hint": "check that it can be reached from here",
        }


def _engine(sqlalchemy: Any, url: str) -> Any:
    try:
        return sqlalchemy.create_engine(url)
    except sqlalchemy.exc.ArgumentError as error:
        message = "the secret is not the address of a database"
        raise InputError(
            message, "set it to one such as postgresql://user:password@host/name"
        ) from error


def _read_tables(inspector: Any, kind: str) -> Tables:
    views = set(inspector.get_view_names())
    names = sorted({*inspector.get_table_names(), *views})
    notes: list[ReaderNote] = []
    if len(names) > MAX_TABLES:
        message = f"{len(names) - MAX_TABLES:,} of {len(names):,} tables are left out"
        notes.append(ReaderNote("table-skipped", message))
    tables = tuple(_read_table(inspector, name, name in views) for name in names[:MAX_TABLES])
    return Tables(kind=kind, tables=tables, notes=tuple(notes))


def _read_table(inspector: Any, name: str, is_view: bool) -> Table:
    targets = {} if is_view else dict(_foreign_keys(inspector, name))
    primary = [] if is_view else inspector.get_pk_constraint(name).get("constrained_columns") or []
    columns = tuple(
        _read_column(column, primary, targets)
        for column in inspector.get_columns(name)[:MAX_COLUMNS]
    )
    return Table(name=name, columns=columns, is_view=is_view, comment=_comment(inspector, name))


def _read_column(column: JsonObject, primary: list[str], targets: Mapping[str, str]) -> Column:
    name, default = column["name"], column.get("default")
    return Column(
        name=str(name),
        type=str(column["type"])[:200],
        nullable=bool(column.get("nullable", True)),
        key=primary.index(name) + 1 if name in primary else 0,
        default=None if default is None else str(default)[:2_000],
        refers_to=targets.get(name, ""),
        comment=str(column.get("comment") or "")[:1_000],
    )


def _foreign_keys(inspector: Any, name: str) -> Iterator[tuple[str, str]]:
    """Each column of a foreign key, and the `table.column` that it leads to."""
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


def _hide_address(text: str, url: str) -> str:
    """The text without the address, and without the password in it."""
    password = url.partition("://")[2].rpartition("@")[0].partition(":")[2]
    hidden = text.replace(url, "[address]")
    return hidden.replace(password, "[secret]") if len(password) > 2 else hidden
