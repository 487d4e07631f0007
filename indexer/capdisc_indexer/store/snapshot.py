"""Opens one generation of an index for reading: capabilities, vectors and metadata."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from capdisc_indexer.model.errors import (
    ApprovalRequiredError,
    CapdiscError,
    DamagedIndexError,
    IndexStateError,
    UsageError,
)
from capdisc_indexer.model.json_types import CapabilityHeader, JsonObject, Overview, ScanRecord
from capdisc_indexer.model.records import from_record
from capdisc_indexer.model.types import Descriptor, Generation, ProducerEdge, Query
from capdisc_indexer.platforms import system
from capdisc_indexer.store import generation, locks, native_errors
from capdisc_indexer.store.documents import Documents
from capdisc_indexer.store.matrix import Matrix

if TYPE_CHECKING:
    from capdisc_indexer.store.columns import Columns
    from capdisc_indexer.store.passages import Passages
    from capdisc_indexer.store.table_search import TableSearch

PRODUCERS_FILE = "producers.jsonl"
_NO_INDEX_MESSAGE = "there is no index yet"
_INDEX_HINT = "run: capdisc index"
_NAMES_HINT = "capdisc search WORDS finds capabilities, capdisc list names all"


class Index:
    """The documents and vectors of one generation, which stays on disk while this is open.

    `builder_id` is the id in the user's state ("": none). Raises ForeignIndexError when another
    user built the index, before any library opens a file of it; with None the builder is not
    checked. Raises IndexStateError when there is no index, or it is damaged or of another version.
    Where `table` is set, candidates come from the LanceDB table instead of text index and matrix.
    """

    table: TableSearch | None = None

    def __init__(self, index_dir: Path, builder_id: str | None = None) -> None:
        self.index_dir = index_dir
        self._meta: dict[str, Any] = {}
        self._columns: Columns | None = None
        self._passages: Passages | None = None
        self._reranker_matrix: Matrix | None = None
        self._producers: bytes | None = None
        self.generation, self._lease = _lease_current(index_dir, builder_id)
        self.folder = generation.generation_folder(index_dir, self.generation.number)
        try:
            self.documents = Documents(self.folder / "text")
            self.matrix = self._open_matrix()
            self._check_agreement()
        except BaseException as error:
            self._release(error)
            raise
        generation.mark_use(index_dir)

    def __enter__(self) -> Index:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._release(error)

    def close(self) -> None:
        """Release the lease on the generation."""
        os.close(self._lease)

    def _release(self, error: BaseException | None) -> None:
        """Release the lease. Raises DamagedIndexError when an unexpected error came from changed
        files.

        At open the largest files are compared by size alone, so a changed byte in them shows as
        some error later.
        """
        try:
            is_expected = isinstance(
                error, None | CapdiscError | OSError | KeyboardInterrupt | SystemExit
            )
            if is_expected:
                return
            if changed := generation.verify_digests(self.index_dir, self.generation):
                message = (
                    f"the index is damaged: {self.folder / changed[0]} does not match its digest"
                )
                raise DamagedIndexError(message, native_errors.REBUILD_HINT) from error
        finally:
            self.close()

    def meta(self, name: str) -> Any:
        """One of the small JSON files that the build wrote (`meta/NAME.json`), read once."""
        if name not in self._meta:
            self._meta[name] = json.loads((self.folder / "meta" / f"{name}.json").read_bytes())
        return self._meta[name]

    @property
    def overview(self) -> Overview:
        """Kinds, categories and sizes of the whole catalogue, read once."""
        overview: Overview = self.meta("overview")
        return overview

    @property
    def scan(self) -> ScanRecord:
        """The roots that were scanned, and when, read once."""
        scan: ScanRecord = self.meta("scan")
        return scan

    @property
    def columns(self) -> Columns:
        """The fields that lists need of every capability, read once.

        Raises IndexStateError when they do not match the documents.
        """
        if self._columns is None:
            from capdisc_indexer.store.columns import read_columns  # which no search needs

            self._columns = read_columns(self.meta("columns"))
            if len(self._columns.ids) != len(self.documents):
                raise IndexStateError(
                    "the index is damaged: its stores do not agree", native_errors.REBUILD_HINT
                )
        return self._columns

    def heads(self, query: Query | None = None) -> Iterator[CapabilityHeader]:
        """The headers of all capabilities that pass the filters, in order of their ids; only a few
        are in memory at a time.
        """
        filters, columns = query or Query(texts=()), self.columns
        ids = [columns.ids[place] for place in columns.matching(filters)]
        return self.documents.in_order(ids, filters)

    def producers(self, identifier: str) -> tuple[ProducerEdge, ...]:
        """The capabilities that give what this one needs, surest first; none in a catalogue
        without parameters.
        """
        if self._producers is None:
            try:
                self._producers = (self.folder / "meta" / PRODUCERS_FILE).read_bytes()
            except FileNotFoundError:
                self._producers = b""
        return find_producer_edges(self._producers, identifier)

    def guidance(self, categories: Iterable[str]) -> dict[str, dict[str, str]]:
        """The guidance of these categories (`category` and `text`) by their case-folded names.

        Categories without guidance are left out; the file is read only if one of them has some.
        """
        guided = set(self.overview["guided"])
        selected = dict.fromkeys(
            name.casefold() for name in categories if name.casefold() in guided
        )
        stored = self.meta("guidance")["categories"] if selected else {}
        return {name: stored[name] for name in selected}

    def resolve(self, name: str) -> CapabilityHeader | None:
        """The header of the capability with this id or name, or with what `shortest_name` makes of
        it, or None.

        Of several, an exact id wins, then the first tool by id, then the first by id.
        """
        headers = self.documents.by_alias(name)
        exact = [header for header in headers if header["id"] == name]
        tools = [header for header in headers if header["kind"] == "tool"]
        matches = exact or tools or headers
        return matches[0] if matches else self._resolve_abbreviation(name)

    def shortest_name(self, header: CapabilityHeader) -> str:
        """The shortest text by which `descriptor` finds this capability: its name, its name with
        the last folders that tell it from others of this name, or its id.
        """
        name, identifier = header["name"], header["id"]
        folders = _qualifier(header).split("/") if _qualifier(header) else []
        suffixes = ("/".join(folders[-count:]) for count in range(1, len(folders) + 1))
        for candidate in (name, *(f"{name}@{suffix}" for suffix in suffixes)):
            match = self.resolve(candidate)
            if match and match["id"] == identifier and len(candidate) < len(identifier):
                return candidate
        return identifier

    def _resolve_abbreviation(self, text: str) -> CapabilityHeader | None:
        """The header of the one capability with the name before the `@` whose folder ends with the
        path behind it, where its id is qualified by that folder.
        """
        name, _, suffix = text.partition("@")
        if not name or not suffix:
            return None
        matches = [
            header
            for header in self.documents.by_alias(name)
            if f"/{_qualifier(header)}".endswith(f"/{suffix}")
        ]
        return matches[0] if len(matches) == 1 else None

    def descriptor(self, name: str) -> Descriptor:
        """The whole capability with this id or name, or with what `shortest_name` makes of it.

        Raises UsageError naming the nearest ids when there is none, ApprovalRequiredError when it
        is left out because its definition changed.
        """
        header = self.resolve(name)
        if header is None:
            self._check_not_held(name)
            if name.startswith(("/", ".", "~")):
                raise UsageError(f"no capability lies at {name!r}", _NAMES_HINT)
            raise UsageError(f"there is no capability {name!r}", self._suggest_ids(name))
        return self.full_descriptor(header)

    def _check_not_held(self, name: str) -> None:
        # An answer does not need it.
        from capdisc_indexer.store.state_database import StateDatabase

        if name in StateDatabase(self.folder).held_ids():
            raise ApprovalRequiredError(
                f"{name} is held back, since its definition changed",
                f"look at the change: capdisc trust {system.quote_word(name)}",
            )

    def full_descriptor(self, header: CapabilityHeader) -> Descriptor:
        """The capability of a header, with its long parts."""
        return self.with_counts(header)[0]

    def with_counts(
        self, header: CapabilityHeader, is_whole: bool = True
    ) -> tuple[Descriptor, JsonObject]:
        """The whole capability of a header, and the token counts of its rendered pieces as the
        build stored them; without `is_whole` only what its lines need of both.
        """
        read = self.documents.body if is_whole else self.documents.line
        body = json.loads(read(header["id"]))
        return from_record(header, body), body["counts"]

    def list_with_counts(
        self, ids: Sequence[str], details: int
    ) -> tuple[tuple[Descriptor, JsonObject], ...]:
        """The same of each of these capabilities, of which the first `details` are whole."""
        headers = self.documents.headers_for(ids, Query(texts=()))
        return tuple(
            self.with_counts(headers[key], place < details) for place, key in enumerate(ids)
        )

    def _suggest_ids(self, name: str) -> str:
        from capdisc_indexer.text.similar_names import nearest_names

        # Without the kind, whose letters all ids of one kind have in common.
        plain = {identifier.partition(":")[2]: identifier for identifier in self.columns.ids}
        near = [plain[match] for match in nearest_names(name.partition(":")[2] or name, plain)]
        suggestion = f"did you mean {' or '.join(near)}? " if near else ""
        return suggestion + _NAMES_HINT

    @property
    def passages(self) -> Passages | None:
        """The passages of bodies, opened once; None without any.

        Raises IndexStateError when they do not match their count.
        """
        counts = self.generation.counts
        if self._passages is None and counts["passages"]:
            from capdisc_indexer.store.passages import Passages

            self._passages = Passages(
                self.folder / "passages", counts["passages"], counts["passage_dim"]
            )
        return self._passages

    @property
    def reranker_matrix(self) -> Matrix | None:
        """The vectors of the reranker, opened once; None without any."""
        dim = self.generation.counts["reranker_dim"]
        if self._reranker_matrix is None and dim:
            self._reranker_matrix = Matrix(self.folder / "reranker", dim)
        return self._reranker_matrix

    @property
    def has_vectors(self) -> bool:
        """Whether the index can be searched by vectors."""
        return self.matrix is not None

    def mentions(self, term: str) -> bool:
        """Whether a text of a capability has the term (with FUZZY_SUFFIX: a similar one), be it in
        a deep section.
        """
        if self.documents.document_frequency(term):
            return True
        return self.passages is not None and self.passages.frequency(term) > 0

    def _open_matrix(self) -> Matrix | None:
        dim = self.generation.counts["dim"]
        return Matrix(self.folder / "matrix", dim) if dim else None

    def _check_agreement(self) -> None:
        counts = self.generation.counts
        rows = len(self.matrix) if self.matrix else 0
        if len(self.documents) != counts["capabilities"] or rows != counts["rows"]:
            raise IndexStateError(
                "the index is damaged: its stores do not agree", native_errors.REBUILD_HINT
            )


def encode_producers(edges_of_id: Mapping[str, Sequence[ProducerEdge]]) -> bytes:
    """The edges as a line of JSON for each id, an empty line first: a reader finds the line of one
    id without parsing the others.
    """
    rows = (
        [identifier, [[edge.producer, edge.weight, edge.why] for edge in edges]]
        for identifier, edges in sorted(edges_of_id.items())
    )
    return b"".join(b"\n" + json.dumps(row).encode() for row in rows)


def find_producer_edges(data: bytes, identifier: str) -> tuple[ProducerEdge, ...]:
    """The edges of one id, from what `encode_producers` wrote."""
    start = data.find(b"\n[" + json.dumps(identifier).encode() + b",")
    if start < 0:
        return ()
    end = data.find(b"\n", start + 1)
    _, rows = json.loads(data[start : end if end >= 0 else None])
    return tuple(ProducerEdge(*row) for row in rows)


def _qualifier(header: CapabilityHeader) -> str:
    """The folder that tells an id from another's of the same name: `a/b` of `skill:pdf@a/b`."""
    prefix = f"{header['kind']}:{header['name']}@"
    return header["id"][len(prefix) :] if header["id"].startswith(prefix) else ""


def _lease_current(index_dir: Path, builder_id: str | None) -> tuple[Generation, int]:
    """The published generation and a lease on it (a file descriptor).

    Tries again when a new generation is published meanwhile.
    """
    for _ in range(10):
        pointer = generation.read_pointer(index_dir)
        try:
            manifest = generation.load_current(index_dir, builder_id)
            if manifest is None:
                raise IndexStateError(_NO_INDEX_MESSAGE, _INDEX_HINT)
            fd = locks.acquire_lease(
                generation.generation_folder(index_dir, manifest.number) / "LEASE"
            )
        except PermissionError as error:
            raise IndexStateError(
                f"the index cannot be read: {error.filename}", "check its permissions"
            ) from error
        except (OSError, IndexStateError):
            # If the pointer has changed, the generation was removed because newer ones came: try
            # again. Else the error is real.
            if generation.read_pointer(index_dir) == pointer:
                raise
            continue
        if generation.generation_folder(index_dir, manifest.number).joinpath("MANIFEST").exists():
            return manifest, fd
        os.close(fd)
    raise IndexStateError("the index is being replaced faster than it can be opened", "try again")
