"""The state of a file in a generation: how it looked, which capabilities it declared, and its
findings. `state_database` stores it, so that the next build reads only what changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from capdisc_indexer.model.json_types import CapabilityCard, JsonObject
from capdisc_indexer.model.types import Finding, Severity

TextHashesById = Mapping[str, Sequence[str]]
# The distance of the vector that is nearest to a null query, and the hash of its text.
NearestText = tuple[float, str]
# The status of a capability whose definition changed: it is left out until a person accepts it.
HELD = "held"
# The finding about a file of which the last version that could be read is kept.
STALE = "stale-version"


# NamedTuples: a build may have one for every file, changed or not, and frozen values took a third
# of a build that finds a change.


class DeclaredId(NamedTuple):
    """One capability that a file declares.

    `id` is as in the file, `resolved_id` as in the index ("" when it is not indexed). `texts` are
    the hashes of its embedding texts, `digest` is that of its record, `card` its fields for an
    overview.
    """

    id: str
    resolved_id: str = ""
    status: str = "indexed"
    other_path: str = ""
    texts: tuple[str, ...] = ()
    digest: str = ""
    card: CapabilityCard | None = None


class FileState(NamedTuple):
    """One scanned file: its stat and hash, the ids that it declares, and its findings.

    `read_as` is the format and name of the declaration that covers it, and the links to it; where
    overlays add to its capabilities, behind a digest of these and a NUL.
    """

    path: str
    root: str
    stat: tuple[int, ...]
    content_hash: str
    declared_ids: tuple[DeclaredId, ...] = ()
    findings: tuple[Finding, ...] = ()
    read_as: str = ""

    def with_declared_ids(self, declared_ids: Iterable[DeclaredId]) -> FileState:
        """The same file with other declared ids; the same object where they are equal."""
        new_ids = tuple(declared_ids)
        return self if new_ids == self.declared_ids else self._replace(declared_ids=new_ids)


def is_stale(state: FileState) -> bool:
    """Whether the capabilities of the file are those of an older version of it."""
    return any(finding.code == STALE for finding in state.findings)


def parse_finding(row: JsonObject) -> Finding:
    """The finding of a row of JSON."""
    return Finding(**{**row, "severity": Severity(row["severity"])})


def content_hashes_by_id(files: Mapping[str, FileState]) -> dict[str, str]:
    """The content hash behind every indexed id."""
    return {
        declared_id.resolved_id: state.content_hash
        for state in files.values()
        for declared_id in state.declared_ids
        if declared_id.resolved_id
    }


def text_hashes_by_id(files: Mapping[str, FileState]) -> TextHashesById:
    """The text hashes of every indexed id in the order of the ids, as the matrix has its rows."""
    hashes_by_id = {
        declared_id.resolved_id: declared_id.texts
        for state in files.values()
        for declared_id in state.declared_ids
        if declared_id.resolved_id
    }
    return {key: hashes_by_id[key] for key in sorted(hashes_by_id)}
