"""What the last build knew of each file, kept inside its generation, so that the next one reads only what changed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from capdisc_indexer.frozen import field, frozen, shallow
from capdisc_indexer.types import Finding, Severity

_dumped = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=shallow).encode
Wanted = Mapping[str, Sequence[str]]
# The status of a capability that is left out until somebody has looked at how its definition changed.
HELD = "held"


# Tuples, which json reads and writes as they are: a run has one of each for every file, changed or not, and making
# values of the other kind took a third of one that finds a change.


class Claim(NamedTuple):
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


class FileState(NamedTuple):
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
        return self if fresh == self.claims else self._replace(claims=fresh)


@frozen(kw_only=True)
class Saved:
    """The states as a file holds them, by path, each with its line there."""

    roots: Sequence[str] = ()
    files: Mapping[str, FileState] = field(default_factory=dict)
    lines: Mapping[str, str] = field(default_factory=dict)


def save(path: Path, files: Mapping[str, FileState], before: Saved) -> None:
    """Write the states as lines of JSON: one with the roots, then one a file. What is as it was `before` keeps its
    line: of 10,000 files that saves 70 of 80 ms."""
    roots = list(dict.fromkeys(one.root for one in files.values()))
    number = {root: at for at, root in enumerate(roots)}
    old, lines = before.files if roots == before.roots else {}, before.lines
    rows = [lines[key] if old.get(key) is one else _line(one, number) for key, one in files.items()]
    path.write_bytes("\n".join([_dumped(roots), *rows]).encode("utf-8", "surrogatepass"))


def _line(one: FileState, number: Mapping[str, int]) -> str:
    return _dumped((one.path, number[one.root], *one[2:]))


def load(path: Path) -> Saved:
    """The states that a file holds."""
    first, *lines = path.read_bytes().decode("utf-8", "surrogatepass").split("\n")
    roots, parsed = json.loads(first), json.JSONDecoder().raw_decode
    states = [_state(roots, *parsed(line)[0]) for line in lines]
    paths = [one.path for one in states]
    return Saved(roots=roots, files=dict(zip(paths, states, strict=True)), lines=dict(zip(paths, lines, strict=True)))


def _state(
    roots: Sequence[str], path: str, root: int, stat: Any, content_hash: str, claims: Any, findings: Any, read_as: str
) -> FileState:
    own = tuple([_claim(*one) for one in claims])
    return FileState(path, roots[root], tuple(stat), content_hash, own, tuple(map(_finding, findings)), read_as)


def _claim(name: str, final: str, status: str, other: str, texts: Any, digest: str, card: Any) -> Claim:
    return Claim(name, final, status, other, tuple(texts), digest, card)


def _finding(row: Mapping[str, Any]) -> Finding:
    return Finding(**{**row, "severity": Severity(row["severity"])})


def finals(files: Mapping[str, FileState]) -> dict[str, str]:
    """The content hash behind every indexed id."""
    return {claim.final: one.content_hash for one in files.values() for claim in one.claims if claim.final}


def wanted_texts(files: Mapping[str, FileState]) -> Wanted:
    """The text hashes of every indexed id, in the order of the ids: as the rows of a matrix stand."""
    found = {claim.final: claim.texts for one in files.values() for claim in one.claims if claim.final}
    return {key: found[key] for key in sorted(found)}
