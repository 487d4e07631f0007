"""What the last build knew of each file, kept inside its generation, so that the next one reads only what changed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from capdisc_indexer.frozen import frozen, replace, shallow
from capdisc_indexer.types import Finding, Severity

Wanted = Mapping[str, Sequence[str]]


@frozen(kw_only=True)
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


@frozen(kw_only=True)
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
        """The same file with other claims; itself where they are the same ones."""
        fresh = tuple(claims)
        return self if fresh == self.claims else replace(self, claims=fresh)


def save(path: Path, files: Mapping[str, FileState]) -> None:
    """Write the states as JSON: a list a file, a list a claim, and each root once."""
    roots = list(dict.fromkeys(one.root for one in files.values()))
    number = {root: at for at, root in enumerate(roots)}
    rows = [
        (one.path, number[one.root], one.stat, one.content_hash, one.read_as, one.findings, list(map(_row, one.claims)))
        for one in files.values()
    ]
    text = json.dumps([roots, rows], ensure_ascii=False, separators=(",", ":"), default=shallow)
    path.write_bytes(text.encode("utf-8", "surrogatepass"))


def _row(claim: Claim) -> tuple[Any, ...]:
    one = claim
    return (one.id, one.final, one.status, one.other, one.texts, one.digest, one.card)


def load(path: Path) -> dict[str, FileState]:
    """The states by path."""
    roots, rows = json.loads(path.read_bytes().decode("utf-8", "surrogatepass"))
    return {row[0]: _file(roots, row) for row in rows}


def _file(roots: Sequence[str], row: Sequence[Any]) -> FileState:
    path, root, stat, content_hash, read_as, findings, claims = row
    return FileState(
        path=path,
        root=roots[root],
        stat=tuple(stat),
        content_hash=content_hash,
        claims=tuple(map(_claim, claims)),
        findings=tuple(Finding(**{**one, "severity": Severity(one["severity"])}) for one in findings),
        read_as=read_as,
    )


def _claim(row: Sequence[Any]) -> Claim:
    name, final, status, other, texts, digest, card = row
    return Claim(id=name, final=final, status=status, other=other, texts=tuple(texts), digest=digest, card=card)


def wanted_texts(files: Mapping[str, FileState]) -> Wanted:
    """The text hashes of every indexed id, in the order of the ids: as the rows of a matrix stand."""
    found = {claim.final: claim.texts for one in files.values() for claim in one.claims if claim.final}
    return {key: found[key] for key in sorted(found)}
