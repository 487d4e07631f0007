"""An open snapshot of one generation."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from capdisc_indexer.model.errors import (
    ApprovalRequiredError,
    CapdiscError,
    DamagedIndexError,
    IndexStateError,
    UsageError,
)
from capdisc_indexer.model.json_types import CapabilityHeader, Overview, ScanRecord
from capdisc_indexer.model.records import from_record
from capdisc_indexer.model.types import Descriptor, Generation, Query
from capdisc_indexer.store import generation, locks, native_errors
from capdisc_indexer.store.columns import Columns, read_columns
from capdisc_indexer.store.documents import Documents
from capdisc_indexer.store.matrix import Matrix

_NO_INDEX_MESSAGE = "there is no index yet"
_INDEX_HINT = "run: capdisc index PATH"


class Index:
    """Documents and vectors of one generation; both belong to it, and it stays on disk while this
    is open.

    With `builder_id`, what the user's state has for this folder ("": nothing), one that was built
    by another raises ForeignIndexError before any library opens a file of it. With None, nobody
    asks who built it.
    """

    def __init__(self, index_dir: Path, builder_id: str | None = None) -> None:
        self.index_dir = index_dir
        self._meta: dict[str, Any] = {}
        self._columns: Columns | None = None
        self.generation, self._lease = _lease_current(index_dir, builder_id)
        self.folder = generation.generation_folder(index_dir, self.generation.number)
        try:
            self.documents = Documents(self.folder / "text")
            self.matrix = self._open_matrix()
            self._check_agreement()
        except BaseException as error:
            self._release(error)
            raise

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
        """Let the generation go."""
        os.close(self._lease)

    def _release(self, error: BaseException | None) -> None:
        """Let go. Raises DamagedIndexError when what nobody expected has its reason in files that
        have changed.

        At open, the largest are compared by size alone; whatever a changed byte in them leads to
        ends here.
        """
        try:
            unexpected = not isinstance(
                error, None | CapdiscError | OSError | KeyboardInterrupt | SystemExit
            )
            if unexpected and (wrong := generation.verify_digests(self.index_dir, self.generation)):
                message = (
                    f"the index is damaged: {self.folder / wrong[0]} does not match its digest"
                )
                raise DamagedIndexError(message, native_errors.REBUILD_HINT) from error
        finally:
            self.close()

    def meta(self, name: str) -> Any:
        """One of the small JSON files that the build left beside the stores, read once; nobody
        changes it.
        """
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
        """What lists need of every capability, read once. Raises IndexStateError where it is of
        other capabilities than the documents are.
        """
        if self._columns is None:
            self._columns = read_columns(self.meta("columns"))
            if len(self._columns.ids) != len(self.documents):
                raise IndexStateError(
                    "the index is damaged: its stores do not agree", native_errors.REBUILD_HINT
                )
        return self._columns

    def heads(self, query: Query | None = None) -> Iterator[CapabilityHeader]:
        """The heads of all capabilities that pass the filters, in order of their ids; a few are in
        memory at a time.
        """
        wanted, columns = query or Query(texts=()), self.columns
        ids = [columns.ids[place] for place in columns.matching(wanted)]
        return self.documents.in_order(ids, wanted)

    def guidance(self, categories: Iterable[str]) -> dict[str, dict[str, str]]:
        """What is to be known of these categories, as far as there is something: `category` and
        `text` of each, each once, whatever the case of its letters. Its file is read only where
        one of them is in it.
        """
        guided = set(self.overview["guided"])
        selected = dict.fromkeys(
            name.casefold() for name in categories if name.casefold() in guided
        )
        stored = self.meta("guidance")["categories"] if selected else {}
        return {name: stored[name] for name in selected}

    def resolve(self, name: str) -> CapabilityHeader | None:
        """The head of the capability with this id or name; an exact id wins, then tools, then the
        first by id.
        """
        headers = self.documents.by_alias(name)
        exact = [header for header in headers if header["id"] == name]
        tools = [header for header in headers if header["kind"] == "tool"]
        matches = exact or tools or headers
        return matches[0] if matches else None

    def descriptor(self, name: str) -> Descriptor:
        """The whole capability with this id or name. Raises UsageError naming the nearest ids when
        there is none.
        """
        header = self.resolve(name)
        if header is None:
            self._check_held(name)
            raise UsageError(f"there is no capability {name!r}", self._suggest_ids(name))
        return self.full_descriptor(header)

    def _check_held(self, name: str) -> None:
        """Raises RefusedError where the capability is left out until somebody has looked at how it
        changed.
        """
        import shlex

        from capdisc_indexer.store import file_states  # neither of which an answer needs

        files = file_states.load_states(self.folder / "meta" / "files.json").files.values()
        if any(
            claim.id == name and claim.status == file_states.HELD
            for one in files
            for claim in one.declared_ids
        ):
            message = f"{name} is held back, since its definition changed"
            raise ApprovalRequiredError(
                message, f"look at the change: capdisc trust {shlex.quote(name)}"
            )

    def full_descriptor(self, header: CapabilityHeader) -> Descriptor:
        """The capability of a head, with its long parts."""
        return from_record(header, json.loads(self.documents.body(header["id"]) or b"{}"))

    def with_counts(self, header: CapabilityHeader) -> tuple[Descriptor, dict[str, Any]]:
        """The whole capability of a head, and the token counts of its rendered pieces as the build
        stored them.
        """
        body = json.loads(self.documents.body(header["id"]))
        return from_record(header, body), body["counts"]

    def _suggest_ids(self, name: str) -> str:
        from difflib import get_close_matches

        ids = self.columns.ids
        plain = {identifier.partition(":")[2]: identifier for identifier in ids}
        close = [
            plain.get(match, match)
            for match in get_close_matches(name, [*plain, *ids], n=3, cutoff=0.5)
        ]
        return f"did you mean: {', '.join(dict.fromkeys(close))}" if close else "run: capdisc list"

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


def _lease_current(index_dir: Path, builder_id: str | None) -> tuple[Generation, int]:
    """The published generation with a lease on it; when another is published meanwhile, that
    one.
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
            # Removed under our eyes, because newer ones came? Then look again; else it is as bad
            # as it looks.
            if generation.read_pointer(index_dir) == pointer:
                raise
            continue
        if generation.generation_folder(index_dir, manifest.number).joinpath("MANIFEST").exists():
            return manifest, fd
        os.close(fd)
    raise IndexStateError("the index is being replaced faster than it can be opened", "try again")
