"""The few requests that a shared index needs of its store, through obstore, whose errors come out as ours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from capdisc_indexer import engines
from capdisc_indexer.errors import BusyError
from capdisc_indexer.frozen import frozen
from capdisc_indexer.remote.answers import ConditionError, NotModifiedError, said
from capdisc_indexer.remote.values import Shared, StoreError

POINTER = "CURRENT"
CHUNK_BYTES = 8 << 20
_POINTER_BYTES = 200
# Of a request, to connect, and for all tries of it together, in seconds; and how often it is tried again.
_QUICK = (4, 2, 4, 1)
_PATIENT = (120, 5, 60, 4)


@frozen(kw_only=True)
class Head:
    """What the pointer says, and the tag of that version of it."""

    text: str
    etag: str


class Bucket:
    """The objects of one shared index. Every method raises StoreError when the store refuses or does not answer."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._engine = engines.obstore()

    @cached_property
    def _glances(self) -> Any:
        return self._store(*_QUICK)

    @cached_property
    def _objects(self) -> Any:
        return self._store(*_PATIENT)

    def _store(self, request_s: int, connect_s: int, all_s: int, retries: int) -> Any:
        from datetime import timedelta

        access = self._shared.access
        limits = {"timeout": f"{request_s}s", "connect_timeout": f"{connect_s}s", "allow_http": access.allow_http}
        return self._engine.store.S3Store(
            self._shared.bucket,
            prefix=self._shared.prefix or None,
            config=dict(access.options),
            client_options=limits,
            retry_config={"max_retries": retries, "retry_timeout": timedelta(seconds=all_s)},
        )

    def look(self, known: str = "") -> Head | None:
        """The pointer; None where it is still the version of the tag `known`. Raises MissingError where none is."""
        options = {"if_none_match": known} if known else {}
        try:
            with said(self._shared, POINTER):
                answer = self._engine.get(self._glances, POINTER, options=options)
                data = b"".join(_at_most(answer.stream(_POINTER_BYTES), _POINTER_BYTES))
        except NotModifiedError:
            return None
        return Head(text=data.decode("ascii", "replace"), etag=str(answer.meta["e_tag"] or "")[:200])

    def read(self, name: str, most: int) -> bytes:
        """A small object. Raises StoreError for one of more than `most` bytes."""
        with said(self._shared, name):
            answer = self._engine.get(self._objects, name)
            return b"".join(_at_most(answer.stream(CHUNK_BYTES), most))

    def pieces(self, name: str, size: int) -> Iterator[bytes]:
        """An object of `size` bytes, each piece by a request of its own, which is made again if it fails."""
        for start in range(0, size, CHUNK_BYTES):
            end = min(start + CHUNK_BYTES, size)
            with said(self._shared, name):
                piece = bytes(self._engine.get_range(self._objects, name, start=start, end=end))
            yield piece

    def put(self, name: str, content: bytes | Path) -> None:
        """Write an object, a large one in parts."""
        with said(self._shared, name):
            self._engine.put(self._objects, name, content, chunk_size=CHUNK_BYTES)

    def point(self, text: str, last: Head | None) -> None:
        """Replace the pointer, if it is still `last`. Raises BusyError when it is another one by now."""
        try:
            self._put_if(POINTER, text.encode(), {"e_tag": last.etag} if last else "create")
        except ConditionError:
            # An answer that got lost is asked for again, and then it is our own text that is in the way.
            self._check_pointer(text)

    def _check_pointer(self, expected: str) -> None:
        """Raises BusyError unless the pointer says this."""
        now = self.look()
        if now is None or now.text != expected:
            what = f"another writer has published to {self._shared.url} meanwhile"
            raise BusyError(what, "run it again: it builds upon what is published now")

    def obeys(self, name: str, content: bytes) -> bool:
        """Whether a condition that does not hold keeps this object, which is there, from being written again."""
        try:
            self._put_if(name, content, {"e_tag": '"00000000000000000000000000000000"'})
        except ConditionError:
            return True
        return False

    def _put_if(self, name: str, content: bytes, mode: Any) -> None:
        with said(self._shared, name):
            self._engine.put(self._objects, name, content, mode=mode)

    def listed(self, folder: str) -> tuple[list[str], list[dict[str, Any]]]:
        """The folders and the objects right below `folder` ("" or ending in "/")."""
        with said(self._shared, folder or POINTER):
            found = self._engine.list_with_delimiter(self._objects, folder)
            return list(found["common_prefixes"]), list(found["objects"])

    def below(self, folder: str) -> list[dict[str, Any]]:
        """Every object below the folder, however deep."""
        with said(self._shared, folder):
            return [each for page in self._engine.list(self._objects, folder) for each in page]

    def remove(self, names: Sequence[str]) -> None:
        """Remove the objects; those that are gone already do not matter."""
        with said(self._shared, names[0] if names else ""):
            self._engine.delete(self._objects, list(names))


def _at_most(chunks: Any, most: int) -> Iterator[bytes]:
    left = most
    for chunk in chunks:
        left -= len(chunk)
        if left < 0:
            raise StoreError(f"an object of the store is larger than {most:,} bytes", "run: capdisc index --rebuild")
        yield bytes(chunk)
