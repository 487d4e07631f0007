"""The few requests that a shared index makes to its store, through obstore, whose errors come out
as ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any, TypedDict

from capdisc_indexer import lazy_imports
from capdisc_indexer.model.errors import BusyError, CapdiscError
from capdisc_indexer.store.shared_index import SharedIndex
from capdisc_remote.store_layout import MissingObjectError, PointerVersion, StoreError

POINTER = "CURRENT"
CHUNK_BYTES = 8 << 20
_POINTER_BYTES = 200
_ACCESS_HINT = "check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION and AWS_ENDPOINT_URL, and what they may do"


class NotModifiedError(Exception):
    """The object is still the version that was asked about."""


class ConditionError(Exception):
    """The condition of a write does not hold."""


class StoredObject(TypedDict):
    """What the store says of an object, among other things."""

    path: str
    last_modified: datetime


class Bucket:
    """The objects of one shared index. Every method raises StoreError where the store refuses, or
    does not answer.
    """

    def __init__(self, shared: SharedIndex) -> None:
        self._shared = shared
        self._engine = lazy_imports.obstore()

    @cached_property
    def _quick_store(self) -> Any:
        return self._open_store(request_s=4, connect_s=2, total_s=4, retries=1)

    @cached_property
    def _patient_store(self) -> Any:
        return self._open_store(request_s=120, connect_s=5, total_s=60, retries=4)

    def _open_store(self, request_s: int, connect_s: int, total_s: int, retries: int) -> Any:
        """`total_s` is the limit for all tries of one request together."""
        access = self._shared.access
        return self._engine.store.S3Store(
            self._shared.bucket,
            prefix=self._shared.prefix or None,
            config=dict(access.options),
            client_options={
                "timeout": f"{request_s}s",
                "connect_timeout": f"{connect_s}s",
                "allow_http": access.allow_http,
            },
            retry_config={
                "max_retries": retries,
                "retry_timeout": timedelta(seconds=total_s),
            },
        )

    def read_pointer(self, known_etag: str = "") -> PointerVersion | None:
        """The pointer; None where it is still the version of the tag `known_etag`. Raises
        MissingObjectError where there is none.
        """
        options = {"if_none_match": known_etag} if known_etag else {}
        try:
            with translate_store_errors(self._shared, POINTER):
                answer = self._engine.get(self._quick_store, POINTER, options=options)
                data = b"".join(_limit_bytes(answer.stream(_POINTER_BYTES), _POINTER_BYTES))
        except NotModifiedError:
            return None
        return PointerVersion(
            text=data.decode("ascii", "replace"), etag=str(answer.meta["e_tag"] or "")[:200]
        )

    def read(self, name: str, max_bytes: int) -> bytes:
        """A small object. Raises StoreError for one of more than `max_bytes`."""
        with translate_store_errors(self._shared, name):
            answer = self._engine.get(self._patient_store, name)
            return b"".join(_limit_bytes(answer.stream(CHUNK_BYTES), max_bytes))

    def read_chunks(self, name: str, size: int) -> Iterator[bytes]:
        """An object of `size` bytes in chunks, each by its own request, which is repeated
        if it fails.
        """
        for start in range(0, size, CHUNK_BYTES):
            end = min(start + CHUNK_BYTES, size)
            with translate_store_errors(self._shared, name):
                chunk = bytes(
                    self._engine.get_range(self._patient_store, name, start=start, end=end)
                )
            yield chunk

    def put(self, name: str, content: bytes | Path) -> None:
        """Writes an object, a large one in parts."""
        with translate_store_errors(self._shared, name):
            self._engine.put(self._patient_store, name, content, chunk_size=CHUNK_BYTES)

    def replace_pointer(self, text: str, expected: PointerVersion | None) -> None:
        """Replaces the pointer, if it is still `expected`. Raises BusyError where it is another
        one by now.
        """
        try:
            self._put_if(
                POINTER, text.encode(), {"e_tag": expected.etag} if expected else "create"
            )
        except ConditionError:
            # Where an answer was lost, obstore repeats the request, and finds our own text there.
            self._check_pointer(text)

    def _check_pointer(self, expected: str) -> None:
        """Raises BusyError unless the pointer says this."""
        pointer = self.read_pointer()
        if pointer is None or pointer.text != expected:
            message = f"another writer has published to {self._shared.url} meanwhile"
            raise BusyError(message, "run it again: it builds upon what is published now")

    def honours_conditions(self, name: str, content: bytes) -> bool:
        """Whether a condition that does not hold keeps this object, which must exist, from being
        written again.
        """
        try:
            self._put_if(name, content, {"e_tag": '"00000000000000000000000000000000"'})
        except ConditionError:
            return True
        return False

    def _put_if(self, name: str, content: bytes, mode: Any) -> None:
        with translate_store_errors(self._shared, name):
            self._engine.put(self._patient_store, name, content, mode=mode)

    def list_folder(self, folder: str) -> tuple[list[str], list[StoredObject]]:
        """The folders and the objects right below `folder` ("" or ending in "/")."""
        with translate_store_errors(self._shared, folder or POINTER):
            listing = self._engine.list_with_delimiter(self._patient_store, folder)
            return list(listing["common_prefixes"]), list(listing["objects"])

    def list_tree(self, folder: str) -> list[StoredObject]:
        """Every object below the folder, however deep."""
        with translate_store_errors(self._shared, folder):
            return [
                entry for page in self._engine.list(self._patient_store, folder) for entry in page
            ]

    def remove(self, names: Sequence[str]) -> None:
        """Removes the objects; it does not matter whether some are gone already."""
        with translate_store_errors(self._shared, names[0] if names else ""):
            self._engine.delete(self._patient_store, list(names))


def _limit_bytes(chunks: Iterable[bytes], max_bytes: int) -> Iterator[bytes]:
    remaining_bytes = max_bytes
    for chunk in chunks:
        remaining_bytes -= len(chunk)
        if remaining_bytes < 0:
            raise StoreError(
                f"an object of the store is larger than {max_bytes:,} bytes",
                "run: capdisc index --rebuild",
            )
        yield bytes(chunk)


# What a store answers when it does not do what it was asked, as an error of ours.


@contextmanager
def translate_store_errors(shared: SharedIndex, name: str) -> Iterator[None]:
    """Turns any error that a library raises about an object into one of ours, which says no more
    than a status or a code: the messages of libraries may quote their options, secrets among them.
    """
    try:
        yield
    except (
        CapdiscError,
        ImportError,
        TypeError,
        AttributeError,
        KeyboardInterrupt,
        SystemExit,
        GeneratorExit,
    ):
        raise
    except BaseException as error:
        kind, text = type(error).__name__, str(error)
        if kind == "NotModifiedError":
            raise NotModifiedError from None
        if kind in ("AlreadyExistsError", "PreconditionError"):
            raise ConditionError from None
        if kind in ("NotSupportedError", "NotImplementedError") or "501 Not Implemented" in text:
            hint = "use a store that does: AWS S3, MinIO and Cloudflare R2 do"
            raise StoreError(
                f"the store of {shared.url} knows no conditional writes", hint
            ) from None
        if isinstance(error, FileNotFoundError) and "NoSuchBucket" not in text:
            raise MissingObjectError(f"there is no {shared.url}/{name}") from None
        raise StoreError(
            f"{shared.url} cannot be used: {_reason(error, text)}", _hint(shared, text)
        ) from None


def _reason(error: BaseException, text: str) -> str:
    if isinstance(error, OSError) and not isinstance(error, FileNotFoundError) and error.filename:
        return f"{error.strerror}: {error.filename}"
    if code := re.search(r"<Code>([A-Za-z]{1,60})</Code>", text):
        return code[1]
    if status := re.search(r"status code: (\d{3} [A-Za-z ]{1,40})", text):
        return status[1].strip()
    if "builder error" in text:
        return "it is not reached by https"
    if re.search("HTTP error|timed out|timeout|metadata", text):
        return "it does not answer"
    return type(error).__name__


def _hint(shared: SharedIndex, text: str) -> str:
    if "builder error" in text:
        return "use an endpoint with https, or set AWS_ALLOW_HTTP=true"
    if "169.254.169.254" in text:
        return "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_SKIP_SIGNATURE=true for a public bucket"
    return _ACCESS_HINT
