"""The tables that a database declared when it was last asked. Nothing is asked here."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from capdisc_indexer.model.types import DeclaredSource, Finding, LoadedFile, Severity
from capdisc_indexer.sources.formats.derived_capability import file_finding, plain_part
from capdisc_indexer.sources.formats.tables.table_capabilities import build_table_capabilities
from capdisc_indexer.sources.formats.tables.table_types import tables_from
from capdisc_indexer.sources.readers.json_reader import read_json
from capdisc_indexer.sources.readers.text_decoding import decode
from capdisc_indexer.sources.scan.scanned_files import FoundFile

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
