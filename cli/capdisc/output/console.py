"""The two doors to the outside: results to stdout, everything else to stderr. The one gate to
rich.

What a person sees passes a sanitiser that shows control, direction and tag characters instead of
obeying them; what a program reads is JSON with those characters escaped.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Any

from capdisc_indexer.model.errors import CapdiscError, InputError
from capdisc_indexer.model.frozen import asdict, is_value
from capdisc_indexer.model.types import Finding
from capdisc_indexer.text.normalization import UNSAFE_CHARACTERS

# Long results: gathered whole before any of it is printed, so that a reader gets all of it or
# nothing.

_IN_MEMORY_BYTES = 4 * 1024 * 1024
_BLOCK_BYTES = 1024 * 1024


def gather(pieces: Iterable[str]) -> Iterator[bytes]:
    """The pieces as UTF-8 in blocks, once the last piece is made; the text ends with a line end,
    unless it is empty.

    What is longer than 4 MiB waits in a file without a name in the folder for temporary files.
    Raises InputError where there is no room for it.
    """
    encoded = _encode(pieces)
    first: list[bytes] = []
    size = 0
    for piece in encoded:
        first.append(piece)
        size += len(piece)
        if size > _IN_MEMORY_BYTES:
            yield from _spool(b"".join(first), encoded)
            return
    yield b"".join(first)


def _encode(pieces: Iterable[str]) -> Iterator[bytes]:
    """Results are UTF-8 whatever the locale says."""
    last = "\n"
    for piece in filter(None, pieces):
        yield piece.encode("utf-8", "replace")
        last = piece[-1]
    if last != "\n":
        yield b"\n"


def _spool(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    import tempfile  # 4 ms, which a short result is spared

    try:
        spool = tempfile.TemporaryFile()  # noqa: SIM115
    except OSError as error:
        raise _no_room(error) from error
    with spool:
        _write(spool, first)
        for piece in rest:
            _write(spool, piece)
        try:
            spool.seek(0)  # which writes out what is buffered
        except OSError as error:
            raise _no_room(error) from error
        while block := spool.read(_BLOCK_BYTES):
            yield block


def _write(spool: IO[bytes], data: bytes) -> None:
    try:
        spool.write(data)
    except OSError as error:
        raise _no_room(error) from error


def _no_room(error: OSError) -> InputError:
    import tempfile

    folder = tempfile.tempdir or "the folder for temporary files"
    message = f"the result is too long to keep in memory, and {folder} does not take it: {error.strerror or error}"
    return InputError(message, "free some space there, or name another folder with TMPDIR")


SCHEMA_VERSION = 1


class ReaderGoneError(Exception):
    """Whoever read stdout has seen enough."""


def sanitise(text: str) -> str:
    """The text with everything that could steer a terminal or hide from a reader made visible as
    <U+XXXX>.
    """
    return UNSAFE_CHARACTERS.sub(lambda match: f"<U+{ord(match[0]):04X}>", text)


def print_result(text: str) -> None:
    """Print a result, whole, with its last line end."""
    _write_stream(sys.stdout, text if text.endswith("\n") or not text else f"{text}\n")


def result_pieces(pieces: Iterable[str]) -> None:
    """Print a long result that is made piece by piece: all of it or nothing, with its last line
    end.

    Raises InputError where there is no room to gather it.
    """

    for block in gather(pieces):
        _write_stream(sys.stdout, block)


def print_lines(texts: Iterable[str]) -> None:
    """Print results line by line, sanitised for a person."""
    print_result("\n".join(sanitise(text) for text in texts))


def long_lines(texts: Iterable[str]) -> None:
    """The same, with one line in memory at a time; all of them are printed, or none."""
    result_pieces(f"{sanitise(text)}\n" for text in texts)


def print_document(value: dict[str, Any]) -> None:
    """Print one JSON document with its version; control and format characters come out escaped.

    On a terminal it is indented. In a pipe it is one line without blanks between its parts: a
    quarter fewer tokens for an agent, and less than half of the time to write it.
    """
    _print_json(value, _indent())


def _indent() -> int | None:
    return 2 if sys.stdout is not None and sys.stdout.isatty() else None


def long_document(value: dict[str, Any], name: str, items: Iterable[Any]) -> None:
    """The same, with the items in the document's empty list called `name`; one of them is in
    memory at a time.
    """
    result_pieces(json_pieces({"schema_version": SCHEMA_VERSION, **value}, name, items, _indent()))


def print_json_line(value: dict[str, Any]) -> None:
    """Print one JSON document on a line of its own, for who reads them as they come."""
    _print_json(value, None)


def _print_json(value: dict[str, Any], indent: int | None) -> None:
    print_result(format_json_text({"schema_version": SCHEMA_VERSION, **value}, indent))


def format_json_text(value: Any, indent: int | None = 2) -> str:
    """The value as JSON, frozen values as objects, with control and format characters escaped."""
    apart = (",", ":") if indent is None else None  # blanks after them are one token in six
    text = json.dumps(
        value, ensure_ascii=False, indent=indent, separators=apart, default=_to_json_value
    )
    return (
        text if text.isprintable() else UNSAFE_CHARACTERS.sub(_escape_match, text)
    )  # nothing printable is unsafe


def json_pieces(
    value: dict[str, Any], name: str, items: Iterable[Any], indent: int | None = 2
) -> Iterator[str]:
    """The value as `json_text` gives it, piece by piece, with the items in its one empty list
    called `name`.
    """
    text = format_json_text(value, indent)
    key = f'"{name}":[' if indent is None else f'"{name}": ['
    before, _, after = text.partition(f"{key}]")
    # An item begins on a line of its own below the key, and so do all lines of it.
    margin = "" if indent is None else f"\n{before[before.rfind(chr(10)) + 1 :]}"
    inner = margin + " " * (indent or 0)
    yield before + key
    mark = ""
    for item in items:
        text = format_json_text(item, indent)
        yield mark + inner + (text.replace("\n", inner) if inner else text)
        mark = ","
    yield f"{margin if mark else ''}]{after}"


def _escape_match(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))


def _to_json_value(value: Any) -> Any:
    if is_value(value) and not isinstance(value, type):
        return asdict(value)
    return str(value)


def print_notice(text: str) -> None:
    """Tell the person something that is not the result."""
    _write_stream(sys.stderr, f"{sanitise(text)}\n")


def print_error(problem: CapdiscError) -> None:
    """An expected error: what is wrong, and what to do."""
    print_notice(f"error: {problem.message}")
    if problem.hint:
        print_notice(f"hint: {problem.hint}")


def write_through(data: bytes, to_stderr: bool, is_terminal: bool) -> None:
    """Hand on what another program printed: as it came into a pipe or a file, made visible on a
    terminal.
    """
    stream = sys.stderr if to_stderr else sys.stdout
    if is_terminal or not hasattr(stream, "buffer"):
        _write_stream(stream, sanitise(data.decode("utf-8", "replace")))
    else:
        _write_stream(stream, data)


def format_finding(finding: Finding) -> list[str]:
    """A finding as a person reads it: where, how bad, what, and what to do. No path or text can
    add a line.
    """
    first = f"{finding.path}:{finding.line}:{finding.column}: {finding.severity}[{finding.code}]: {finding.message}"
    lines = [first, f"  hint: {finding.hint}"] if finding.hint else [first]
    return [line.replace("\n", "<U+000A>") for line in lines]


def format_names(names: Sequence[str], limit: int = 10, suffix: int = 0) -> str:
    """The first names, and how many more there are; `more` are not among the names."""
    rest = max(len(names) - limit, 0) + suffix
    shown = ", ".join(name if len(name) <= 80 else f"{name[:79]}…" for name in names[:limit])
    return f"{shown} and {rest:,} more" if rest else shown


def changed_definitions(ids: Sequence[str]) -> str:
    """One line on definitions that changed in ways that nobody has to look at."""
    return f"{format_count(len(ids), 'definition')} changed: {format_names(ids)}"


def _write_stream(stream: Any, text: str | bytes) -> None:
    """Results are UTF-8 whatever the locale says: budgets were counted, and JSON is defined, in
    it.
    """
    if stream is None:  # closed before we began
        return
    try:
        if hasattr(stream, "buffer"):
            stream.flush()
            stream.buffer.write(text.encode("utf-8", "replace") if isinstance(text, str) else text)
            stream.buffer.flush()
        else:
            stream.write(text)
    except OSError as problem:
        # What cannot be said on stderr must not cost the result. A pipe that broke is no OSError
        # to the layers above: they would end with status 1, which means "nothing found".
        if stream is not sys.stderr and isinstance(problem, BrokenPipeError):
            raise ReaderGoneError from problem
        if stream is not sys.stderr:
            raise


def format_count(number: int, singular: str, many: str = "") -> str:
    """The number with its noun: `1 file`, `2,041 files`."""
    return f"{number:,} {singular if number == 1 else many or singular + 's'}"


def bold(text: str, colour: bool) -> str:
    """The text in bold where colour is wanted."""
    return f"\x1b[1m{text}\x1b[0m" if colour else text


def dim(text: str, colour: bool) -> str:
    """The text dimmed where colour is wanted."""
    return f"\x1b[2m{text}\x1b[0m" if colour else text


def format_table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """Plain aligned columns; the last one is never padded. Numbers stand to the right."""
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in [list(headings), *cells]) for i in range(len(headings))]
    numeric = [
        bool(cells) and all(row[i].replace(",", "").isdigit() for row in cells)
        for i in range(len(headings))
    ]
    return [_format_row(row, widths, numeric) for row in [list(headings), *cells]]


def _format_row(row: Sequence[str], widths: Sequence[int], numeric: Sequence[bool]) -> str:
    padded = [
        cell.rjust(w) if right else cell.ljust(w)
        for cell, w, right in zip(row, widths, numeric, strict=True)
    ]
    return "  ".join(padded).rstrip()


@contextmanager
def progress_bar(shown: bool) -> Iterator[Callable[[str, int, int], None]]:
    """A progress bar on stderr when it is a terminal, nothing otherwise."""
    if not shown:
        yield lambda stage, done, total: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        tasks: dict[str, Any] = {}

        def update(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = bar.add_task(stage, total=total)
            bar.update(tasks[stage], completed=done, total=max(total, 1))

        yield update
