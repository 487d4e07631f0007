"""The tables that a database declared when it was last asked. Nothing is asked here."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from capdisc_indexer.sources.decoding import decode
from capdisc_indexer.sources.files import FoundFile
from capdisc_indexer.sources.json_reader import read_json
from capdisc_indexer.sources.made import noted, plain_part
from capdisc_indexer.sources.tables.described import described
from capdisc_indexer.sources.tables.values import tables_from
from capdisc_indexer.types import DeclaredSource, Finding, Loaded, Severity

ENDING = ".reflected.json"
AGAIN = "run: capdisc index --ask-servers"


def load(file: FoundFile, data: bytes) -> Loaded:
    """The database and its tables, with a notice of when it was asked."""
    text = decode(data, file.path)
    value = text if isinstance(text, Finding) else read_json(text, file.path)
    if isinstance(value, Finding):
        return Loaded(findings=(value,))
    try:
        asked_at, tables = _answer(value)
    except (KeyError, TypeError, ValueError, AttributeError):
        wrong = noted(file, Severity.ERROR, "unreadable-data", "is no answer of a database that was asked", AGAIN)
        return Loaded(findings=(wrong,))
    name = plain_part(file.name) or plain_part(PurePath(file.path).name.removesuffix(ENDING))
    loaded = described(file, name, tables)
    message = f"the tables of {name} are those of {asked_at[:40]}"
    age = noted(file, Severity.INFO, "server-asked", message, AGAIN)
    return Loaded(descriptors=loaded.descriptors, findings=(age, *loaded.findings), parts=loaded.parts)


def _answer(value: Any) -> tuple[str, Any]:
    return str(value["asked_at"]), tables_from(value["answer"])


def kept_text(asked_at: str, answer: Mapping[str, Any]) -> bytes:
    """What is kept of an answer."""
    return json.dumps({"asked_at": asked_at, "answer": answer}, ensure_ascii=False, indent=1).encode()


def kept_name(source: DeclaredSource) -> str:
    """The file name that the answer to a declaration is kept under."""
    secret = str(source.options.get("url_secret", ""))
    digits = hashlib.sha256(f"{secret}\0{source.name}".encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{plain_part(source.name) or plain_part(secret.lower())}-{digits}{ENDING}"
