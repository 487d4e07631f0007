"""An open snapshot of one generation."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any

from capdisc_indexer.errors import CapdiscError, DamagedIndexError, IndexStateError, RefusedError, UsageError
from capdisc_indexer.records import from_record
from capdisc_indexer.store import generation, integrity, leases
from capdisc_indexer.store.lexical import Documents
from capdisc_indexer.store.matrix import Matrix
from capdisc_indexer.types import Descriptor, Generation

_NO_INDEX = "there is no index yet"
_HOW = "run: capdisc index PATH"


class Index:
    """Documents and vectors of one generation; both belong to it, and it stays on disk while this is open.

    With `builder_id`, what the user's state has for this folder ("": nothing), one that was built by another raises
    ForeignIndexError before any library opens a file of it. With None, nobody asks who built it.
    """

    def __init__(self, index_dir: Path, builder_id: str | None = None) -> None:
        self.index_dir = index_dir
        self._meta: dict[str, Any] = {}
        self.generation, self._lease = _leased(index_dir, builder_id)
        self.folder = generation.folder(index_dir, self.generation.number)
        try:
            self.documents = Documents(self.folder / "text")
            self.matrix = self._open_matrix()
            self._check_agreement()
        except BaseException as error:
            self._leave(error)
            raise

    def __enter__(self) -> Index:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leave(error)

    def close(self) -> None:
        """Let the generation go."""
        os.close(self._lease)

    def _leave(self, error: BaseException | None) -> None:
        """Let go. Raises DamagedIndexError when what nobody expected has its reason in files that have changed.

        At open, the largest are compared by size alone; whatever a changed byte in them leads to ends here.
        """
        try:
            unexpected = not isinstance(error, None | CapdiscError | OSError | KeyboardInterrupt | SystemExit)
            if unexpected and (wrong := generation.verify_digests(self.index_dir, self.generation)):
                what = f"the index is damaged: {self.folder / wrong[0]} does not match its digest"
                raise DamagedIndexError(what, integrity.REBUILD) from error
        finally:
            self.close()

    def meta(self, name: str) -> Any:
        """One of the small JSON files that the build left beside the stores, read once; nobody changes it."""
        if name not in self._meta:
            self._meta[name] = json.loads((self.folder / "meta" / f"{name}.json").read_bytes())
        return self._meta[name]

    def guidance(self, categories: Iterable[str]) -> dict[str, dict[str, str]]:
        """What is to be known of these categories, as far as there is something: `category` and `text` of each, each
        once, whatever the case of its letters. Its file is read only where one of them is in it."""
        known = set(self.meta("overview")["guided"])
        wanted = dict.fromkeys(name.casefold() for name in categories if name.casefold() in known)
        stored = self.meta("guidance")["categories"] if wanted else {}
        return {name: stored[name] for name in wanted}

    def resolve(self, name: str) -> dict[str, Any] | None:
        """The head of the capability with this id or name; an exact id wins, then tools, then the first by id."""
        heads = self.documents.by_alias(name)
        exact = [head for head in heads if head["id"] == name]
        tools = [head for head in heads if head["kind"] == "tool"]
        found = exact or tools or heads
        return found[0] if found else None

    def descriptor(self, name: str) -> Descriptor:
        """The whole capability with this id or name. Raises UsageError naming the nearest ids when there is none."""
        head = self.resolve(name)
        if head is None:
            self._check_held(name)
            raise UsageError(f"there is no capability {name!r}", self._nearest(name))
        return self.whole(head)

    def _check_held(self, name: str) -> None:
        """Raises RefusedError where the capability is left out until somebody has looked at how it changed."""
        import shlex

        from capdisc_indexer import state  # neither of which an answer needs

        files = state.load(self.folder / "meta" / "files.json").files.values()
        if any(claim.id == name and claim.status == state.HELD for one in files for claim in one.claims):
            message = f"{name} is held back, since its definition changed"
            raise RefusedError(message, f"look at the change: capdisc trust {shlex.quote(name)}")

    def whole(self, head: dict[str, Any]) -> Descriptor:
        """The capability of a head, with its long parts."""
        return from_record(head, json.loads(self.documents.body(head["id"]) or b"{}"))

    def with_counts(self, head: dict[str, Any]) -> tuple[Descriptor, dict[str, Any]]:
        """The whole capability of a head, and the token counts of its rendered pieces as the build stored them."""
        body = json.loads(self.documents.body(head["id"]))
        return from_record(head, body), body["counts"]

    def dump(self, head: dict[str, Any]) -> str:
        """The capability as an agent without an index would get it: description, schemas and instructions."""
        from capdisc_indexer.render.content import (
            detail_text,  # with it come all formats, which a search has no use for
        )

        return detail_text(self.whole(head))

    def _nearest(self, name: str) -> str:
        from difflib import get_close_matches

        ids = [str(head["id"]) for head in self.documents.everything()]
        plain = {identifier.partition(":")[2]: identifier for identifier in ids}
        close = [plain.get(match, match) for match in get_close_matches(name, [*plain, *ids], n=3, cutoff=0.5)]
        return f"did you mean: {', '.join(dict.fromkeys(close))}" if close else "run: capdisc list"

    def _open_matrix(self) -> Matrix | None:
        dim = self.generation.counts["dim"]
        return Matrix(self.folder / "matrix", dim) if dim else None

    def _check_agreement(self) -> None:
        counts = self.generation.counts
        rows = len(self.matrix) if self.matrix else 0
        if len(self.documents) != counts["capabilities"] or rows != counts["rows"]:
            raise IndexStateError("the index is damaged: its stores do not agree", integrity.REBUILD)


def _leased(index_dir: Path, builder_id: str | None) -> tuple[Generation, int]:
    """The published generation with a lease on it; when another is published meanwhile, that one."""
    for _ in range(10):
        before = generation.pointer(index_dir)
        try:
            found = generation.current(index_dir, builder_id)
            if found is None:
                raise IndexStateError(_NO_INDEX, _HOW)
            handle = leases.lease(generation.folder(index_dir, found.number) / "LEASE")
        except PermissionError as error:
            raise IndexStateError(f"the index cannot be read: {error.filename}", "check its permissions") from error
        except (OSError, IndexStateError):
            # Removed under our eyes, because newer ones came? Then look again; else it is as bad as it looks.
            if generation.pointer(index_dir) == before:
                raise
            continue
        if generation.folder(index_dir, found.number).joinpath("MANIFEST").exists():
            return found, handle
        os.close(handle)
    raise IndexStateError("the index is being replaced faster than it can be opened", "try again")
