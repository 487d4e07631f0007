"""Secrets taken out of what a program prints: first masked, then cut.

Where an output ends in the middle of a secret, because a limit of time or size ended the program
between two writes, the part that got through is masked like the whole.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote, quote_plus

from capdisc_indexer.execution.call_types import Outcome
from capdisc_indexer.model.frozen import replace

# Characters. Shorter values are words of every text; to mask them would garble it and hide
# nothing.
LEAST_MASKED = 6
# Bytes at the end of an output that are masked when a secret begins with them. Fewer end every
# tenth output by chance ("s", "er"), and tell next to nothing; of an output that was cut, they are
# left out.
LEAST_PARTIAL = 4


def unmasked_secrets(names: Iterable[str], environ: Mapping[str, str]) -> list[str]:
    """The names of those secrets that are set, and too short to be masked."""
    return [name for name in dict.fromkeys(names) if 0 < len(environ.get(name, "")) < LEAST_MASKED]


def mask_outcome(outcome: Outcome, secrets: Mapping[str, str], max_bytes: int) -> Outcome:
    """The outcome without secrets, each stream cut to `max_bytes` after that."""
    stdout, stderr = (
        mask_stream(data, secrets, outcome.is_truncated)[:max_bytes]
        for data in (outcome.stdout, outcome.stderr)
    )
    return replace(
        outcome, stdout=stdout, stderr=stderr, details=mask_json(dict(outcome.details), secrets)
    )


def mask_secrets(data: bytes, secrets: Mapping[str, str]) -> bytes:
    """The bytes with each secret, plain or as JSON, URLs and base64 write it, replaced by its
    name.

    >>> mask_secrets(b"a hush-hush b", {"KEY": "hush-hush"})
    b'a <secret KEY> b'
    """
    return _replaced(data, _occurrences(data, _forms(secrets)))


def mask_stream(data: bytes, secrets: Mapping[str, str], is_cut: bool) -> bytes:
    """The same for all that came of a stream, which may end inside a secret. `is_cut`: it was
    ended by us, so that a few bytes more or less at its end mean nothing.

    >>> mask_stream(b"key: hush-", {"KEY": "hush-hush"}, is_cut=True)
    b'key: <secret KEY>'
    """
    forms = _forms(secrets)
    places = [*_occurrences(data, forms), *_partial(data, forms, is_cut)]
    return _replaced(data, places)


def mask_json(value: Any, secrets: Mapping[str, str]) -> Any:
    """A JSON value whose texts hold no secret, those of its keys among them."""
    if isinstance(value, str):
        data = value.encode("utf-8", "surrogatepass")
        return mask_secrets(data, secrets).decode("utf-8", "surrogatepass")
    if isinstance(value, Mapping):
        return {mask_json(key, secrets): mask_json(inner, secrets) for key, inner in value.items()}
    return [mask_json(inner, secrets) for inner in value] if isinstance(value, list) else value


def _occurrences(data: bytes, forms: Sequence[tuple[bytes, str]]) -> Iterator[tuple[int, int, str]]:
    """Start, end and name of each, overlapping ones too."""
    for form, name in forms:
        at = data.find(form)
        while at >= 0:
            yield at, at + len(form), name
            at = data.find(form, at + 1)


def _partial(
    data: bytes, forms: Sequence[tuple[bytes, str]], is_cut: bool
) -> Iterator[tuple[int, int, str]]:
    """The end of the data that is the beginning of a secret; without a name where it is too short
    to be one.
    """
    for form, name in forms:
        length = next(
            (size for size in range(len(form) - 1, 0, -1) if data.endswith(form[:size])), 0
        )
        if length >= LEAST_PARTIAL:
            yield len(data) - length, len(data), name
        elif length and is_cut:
            yield len(data) - length, len(data), ""


def _replaced(data: bytes, places: Iterable[tuple[int, int, str]]) -> bytes:
    """The data with these places replaced; those that overlap as one, by the name of the longest
    at its start.
    """
    parts: list[bytes] = []
    done = 0
    for start, end, name in sorted(places, key=lambda place: (place[0], -place[1])):
        if start >= done:
            parts += [data[done:start], f"<secret {name}>".encode() if name else b""]
        done = max(done, end)
    return b"".join([*parts, data[done:]])


def _forms(secrets: Mapping[str, str]) -> list[tuple[bytes, str]]:
    """Every way in which a secret may be written, with its name; the longest first."""
    forms = [
        (form, name)
        for name, value in secrets.items()
        if len(value) >= LEAST_MASKED
        for form in _written(value)
    ]
    return sorted(forms, key=lambda pair: (-len(pair[0]), pair))


def _written(value: str) -> set[bytes]:
    data = value.encode("utf-8", "surrogateescape")
    in_urls = (quote(data, safe=""), quote(data), quote_plus(data))
    texts = (value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1], *in_urls)
    return {text.encode("utf-8", "surrogateescape") for text in texts} | {b64encode(data)}
