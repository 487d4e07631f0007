"""The output of a program without the secrets that it was given: first masked, then cut.

Where an output ends in the middle of a secret, because a limit of time or size ended the program
between two writes, the part that got through is masked like the whole.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias
from urllib.parse import quote, quote_plus

from capdisc_indexer.model.frozen import replace
from capdisc_run.call_types import Outcome

# In characters. A shorter value is a word of every text; to mask it would garble the text and hide
# nothing.
LEAST_MASKED = 6
# In bytes: an end of an output that is the beginning of a secret is masked where it is as long. A
# shorter one ends every tenth output by chance ("s", "er"), and tells next to nothing; it is left
# out of an output that was cut.
LEAST_PARTIAL = 4

# Start, end and name of a secret in an output.
_Span: TypeAlias = tuple[int, int, str]
# A way to write a secret, and its name.
_Spelling: TypeAlias = tuple[bytes, str]


def unmasked_secrets(names: Iterable[str], environ: Mapping[str, str]) -> list[str]:
    """The names of the secrets that are set and too short to be masked, without repetitions."""
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
    return _replace_spans(data, _find_spans(data, _spellings(secrets)))


def mask_stream(data: bytes, secrets: Mapping[str, str], is_cut: bool) -> bytes:
    """The same for everything that came of a stream, which may end inside a secret. `is_cut`: we
    ended the stream, so that a few bytes more or less at its end mean nothing.

    >>> mask_stream(b"key: hush-", {"KEY": "hush-hush"}, is_cut=True)
    b'key: <secret KEY>'
    """
    spellings = _spellings(secrets)
    if is_cut:
        data = _drop_short_beginnings(data, spellings)
    spans = [*_find_spans(data, spellings), *_find_end_spans(data, spellings)]
    return _replace_spans(data, spans)


def mask_json(value: Any, secrets: Mapping[str, str]) -> Any:
    """The JSON value with secrets masked in its texts and in its keys."""
    if isinstance(value, str):
        data = value.encode("utf-8", "surrogatepass")
        return mask_secrets(data, secrets).decode("utf-8", "surrogatepass")
    if isinstance(value, Mapping):
        return {mask_json(key, secrets): mask_json(inner, secrets) for key, inner in value.items()}
    return [mask_json(inner, secrets) for inner in value] if isinstance(value, list) else value


def _find_spans(data: bytes, spellings: Sequence[_Spelling]) -> Iterator[_Span]:
    """Where secrets stand in the data; spans may overlap."""
    for spelling, name in spellings:
        start = data.find(spelling)
        while start >= 0:
            yield start, start + len(spelling), name
            start = data.find(spelling, start + 1)


def _drop_short_beginnings(data: bytes, spellings: Sequence[_Spelling]) -> bytes:
    """The data without the few bytes at its end that a secret begins with. What stands before them
    may end so again: of the secret `aa-aaaa`, both `aa-` and `aa-a` are beginnings.
    """
    while 0 < (length := _longest_beginning(data, spellings)) < LEAST_PARTIAL:
        data = data[:-length]
    return data


def _longest_beginning(data: bytes, spellings: Sequence[_Spelling]) -> int:
    return max((_beginning_at_end(data, spelling) for spelling, _ in spellings), default=0)


def _beginning_at_end(data: bytes, spelling: bytes) -> int:
    """How many bytes at the end of the data begin the spelling without completing it."""
    lengths = range(len(spelling) - 1, 0, -1)
    return next((length for length in lengths if data.endswith(spelling[:length])), 0)


def _find_end_spans(data: bytes, spellings: Sequence[_Spelling]) -> Iterator[_Span]:
    """The ends of the data that are the beginning of a secret, and long enough to tell it."""
    for spelling, name in spellings:
        length = _beginning_at_end(data, spelling)
        if length >= LEAST_PARTIAL:
            yield len(data) - length, len(data), name


def _replace_spans(data: bytes, spans: Iterable[_Span]) -> bytes:
    """The data with the spans replaced by names. Those that overlap are replaced as one, by the
    name of the longest that begins first.
    """
    parts: list[bytes] = []
    position = 0
    for start, end, name in sorted(spans, key=lambda span: (span[0], -span[1])):
        if start >= position:
            parts += [data[position:start], f"<secret {name}>".encode()]
        position = max(position, end)
    return b"".join([*parts, data[position:]])


def _spellings(secrets: Mapping[str, str]) -> list[_Spelling]:
    """Every way in which a secret may be written, the longest first."""
    spellings = [
        (spelling, name)
        for name, value in secrets.items()
        if len(value) >= LEAST_MASKED
        for spelling in _spellings_of(value)
    ]
    return sorted(spellings, key=lambda pair: (-len(pair[0]), pair))


def _spellings_of(value: str) -> set[bytes]:
    """The value plain, as JSON and URLs write it, and in base64."""
    data = value.encode("utf-8", "surrogateescape")
    in_urls = (quote(data, safe=""), quote(data), quote_plus(data))
    texts = (value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1], *in_urls)
    return {text.encode("utf-8", "surrogateescape") for text in texts} | {b64encode(data)}
