"""What the last build knew of each file, kept inside its generation, so that the next one reads only what changed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from capdisc_indexer.types import Finding, Severity


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One capability that a file declares. `id` is what the file says, `final` what the index calls it ("" when it is
    not indexed), `texts` the hashes of its embedding texts, `digest` that of its record, `card` what an overview
    shows of it."""

    id: str
    final: str = ""
    status: str = "indexed"
    other: str = ""
    texts: tuple[str, ...] = ()
    digest: str = ""
    card: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileState:
    """One scanned file: how it looked, what it held, what was wrong with it; `read_as` is what a declaration said of
    it."""

    path: str
    root: str
    stat: tuple[int, ...]
    content_hash: str
    claims: tuple[Claim, ...] = ()
    findings: tuple[Finding, ...] = ()
    read_as: str = ""

    def with_claims(self, claims: Iterable[Claim]) -> FileState:
        """The same file with other claims."""
        return replace(self, claims=tuple(claims))


def save(path: Path, files: Mapping[str, FileState]) -> None:
    """Write the states as JSON."""
    text = json.dumps(list(files.values()), ensure_ascii=False, separators=(",", ":"), default=_fields)
    path.write_bytes(text.encode("utf-8", "surrogatepass"))


def _fields(value: Any) -> dict[str, Any]:
    """A dataclass as JSON has it; what is inside follows by itself."""
    return {key: getattr(value, key) for key in value.__slots__}


def load(path: Path) -> dict[str, FileState]:
    """The states by path."""
    rows = json.loads(path.read_bytes().decode("utf-8", "surrogatepass"))
    return {row["path"]: _file(row) for row in rows}


def _file(row: dict[str, Any]) -> FileState:
    claims = tuple(Claim(**{**claim, "texts": tuple(claim["texts"])}) for claim in row.pop("claims"))
    findings = tuple(Finding(**{**one, "severity": Severity(one["severity"])}) for one in row.pop("findings"))
    return FileState(**{**row, "stat": tuple(row["stat"])}, claims=claims, findings=findings)
