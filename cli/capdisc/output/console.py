"""Prints results to stdout and everything else to stderr. The one gate to rich.

Text for a person passes a sanitiser that shows control, direction and tag characters instead of
obeying them; text for a program is JSON with those characters escaped.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import IO, Any, TypeAlias

from capdisc_indexer.model.errors import CapdiscError, InputError
from capdisc_indexer.model.frozen import asdict, is_value
from capdisc_indexer.model.json_types import JsonObject
from capdisc_indexer.model.types import Finding
from capdisc_indexer.text.normalization import UNSAFE_CHARACTERS, name_first

SCHEMA_VERSION = 1
PROGRESS_LINE_S = 10.0
# A longer result is gathered in a file.
_IN_MEMORY_BYTES = 4 * 1024 * 1024
_BLOCK_BYTES = 1024 * 1024
# The label of a message, or the severity and rule behind the place of a finding.
_LABEL = r"^(?:\S.*?:\d+:\d+: )?((?:  )?(error|warning|info|hint|notice)(?:\[[a-z0-9-]+\])?:)"
_LABEL_CODES = {"error": "1;31", "warning": "33", "info": "36", "notice": "36", "hint": "32"}
_DIFF_CODES = {"+++": "1", "---": "1", "@@ ": "36", "+": "32", "-": "31"}

# Takes what is printed, and whether it is for stderr; False: it is to be printed as usual.
OutputTaker: TypeAlias = Callable[[bytes, bool], bool]
_DIVERSION: ContextVar[OutputTaker | None] = ContextVar("output taker", default=None)
# What the running command has printed and may print; `begin_output` resets both.
_HAS_RESULT: ContextVar[bool] = ContextVar("a result was printed", default=False)
_IS_SILENCED: ContextVar[bool] = ContextVar("notices are not printed", default=False)


class ReaderGoneError(Exception):
    """The reader of stdout has closed it."""


def gather(pieces: Iterable[str]) -> Iterator[bytes]:
    """The pieces as blocks of UTF-8, once the last piece is made; the text ends with a line end,
    unless it is empty.

    More than 4 MiB go into a file without a name in the folder for temporary files. Raises
    InputError where that has no room.
    """
    encoded = _encode(pieces)
    buffered: list[bytes] = []
    size = 0
    for piece in encoded:
        buffered.append(piece)
        size += len(piece)
        if size > _IN_MEMORY_BYTES:
            yield from _spool(b"".join(buffered), encoded)
            return
    yield b"".join(buffered)


def _encode(pieces: Iterable[str]) -> Iterator[bytes]:
    """The pieces as UTF-8, whatever the locale says, with a line end after the last."""
    last_character = "\n"
    for piece in filter(None, pieces):
        yield piece.encode("utf-8", "replace")
        last_character = piece[-1]
    if last_character != "\n":
        yield b"\n"


def _spool(buffered: bytes, pieces: Iterator[bytes]) -> Iterator[bytes]:
    import tempfile  # 4 ms, which a short result is spared

    try:
        spool = tempfile.TemporaryFile()  # noqa: SIM115
    except OSError as error:
        raise _no_room(error) from error
    with spool:
        _write(spool, buffered)
        for piece in pieces:
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


def begin_output() -> None:
    """Forget what the last command of this process printed."""
    _HAS_RESULT.set(False)
    _IS_SILENCED.set(False)


def silence_notices() -> None:
    """Print no notices until the next command begins; errors are printed."""
    _IS_SILENCED.set(True)


def sanitise(text: str) -> str:
    """The text with every character that could steer a terminal or hide from a reader written as
    <U+XXXX>.
    """
    if text.isprintable():  # no printable character is unsafe
        return text
    return UNSAFE_CHARACTERS.sub(lambda match: f"<U+{ord(match[0]):04X}>", text)


def print_result(text: str) -> None:
    """Print a result with its last line end."""
    _write_stream(sys.stdout, text if text.endswith("\n") or not text else f"{text}\n")


def print_pieces(pieces: Iterable[str]) -> None:
    """Print a result that is made piece by piece, with its last line end: all of it or nothing.

    Raises InputError where there is no room to gather it.
    """
    for block in gather(pieces):
        _write_stream(sys.stdout, block)


def print_bytes(data: bytes) -> None:
    """Print a result for a program as it is: nothing is made visible, no line end is added."""
    _write_stream(sys.stdout, data)


def print_lines(texts: Iterable[str]) -> None:
    """Print results line by line, sanitised for a person."""
    print_result("\n".join(sanitise(text) for text in texts))


def print_answer(as_json: bool, document: JsonObject, lines: Iterable[str]) -> None:
    """Print the document for a program, or the lines for a person."""
    if as_json:
        print_document(document)
    else:
        print_lines(lines)


def print_long_lines(texts: Iterable[str]) -> None:
    """Print any number of lines, sanitised for a person: all of them or none. One line at a time
    is in memory.
    """
    print_pieces(f"{sanitise(text)}\n" for text in texts)


def print_document(document: JsonObject) -> None:
    """Print one JSON document with its version, and with control and format characters escaped.

    On a terminal it is indented. In a pipe it is one line without blanks between its parts: a
    quarter fewer tokens for an agent, and less than half of the time to write it.
    """
    _print_json(document, _indent())


def _indent() -> int | None:
    return 2 if sys.stdout is not None and sys.stdout.isatty() else None


def print_long_document(document: JsonObject, name: str, items: Iterable[object]) -> None:
    """The same, with the items in the document's empty list `name`. One item at a time is in
    memory.
    """
    document = {"schema_version": SCHEMA_VERSION, **document}
    print_pieces(json_pieces(document, name, items, _indent()))


def print_json_line(document: JsonObject) -> None:
    """Print one JSON document on a line of its own, for programs that read one after the other."""
    _print_json(document, None)


def _print_json(document: JsonObject, indent: int | None) -> None:
    print_result(format_json_text({"schema_version": SCHEMA_VERSION, **document}, indent))


def format_json_text(value: object, indent: int | None = 2) -> str:
    """The value as JSON, frozen values as objects, with control and format characters escaped."""
    separators = (",", ":") if indent is None else None  # blanks after them are one token in six
    text = json.dumps(
        value, ensure_ascii=False, indent=indent, separators=separators, default=_to_json_value
    )
    if text.isprintable():  # no printable character is unsafe
        return text
    return UNSAFE_CHARACTERS.sub(_escape_match, text)


def json_pieces(
    document: JsonObject, name: str, items: Iterable[object], indent: int | None = 2
) -> Iterator[str]:
    """The document as `format_json_text` gives it, piece by piece, with the items in its one empty
    list `name`.
    """
    text = format_json_text(document, indent)
    key = f'"{name}":[' if indent is None else f'"{name}": ['
    before, _, after = text.partition(f"{key}]")
    # An item begins on a line of its own below the key, and so do all lines of it.
    margin = "" if indent is None else f"\n{before[before.rfind(chr(10)) + 1 :]}"
    inner = margin + " " * (indent or 0)
    yield before + key
    comma = ""
    for item in items:
        text = format_json_text(item, indent)
        yield comma + inner + (text.replace("\n", inner) if inner else text)
        comma = ","
    yield f"{margin if comma else ''}]{after}"


def _escape_match(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))


def _to_json_value(value: object) -> object:
    if is_value(value) and not isinstance(value, type):
        return asdict(value)
    return str(value)


def print_notice(text: str) -> None:
    """Print a line on stderr, for a person: something that is not the result. Where stderr may be
    coloured, the word that says what kind of line it is has its colour.
    """
    if not _IS_SILENCED.get():
        _write_message(text)


def print_question(text: str) -> None:
    """Print a question on stderr; the answer is typed behind it."""
    _write_stream(sys.stderr, f"{sanitise(text)} ")


def _write_message(text: str) -> None:
    line = sanitise(text)
    _write_stream(sys.stderr, f"{colour_label(line) if _colours_stderr() else line}\n")


def colour_label(line: str) -> str:
    """The line with its label in the colour of the label's word; a line without one as it is."""
    if not (match := re.match(_LABEL, line)):
        return line
    start, end = match.span(1)
    return f"{line[:start]}\x1b[{_LABEL_CODES[match[2]]}m{line[start:end]}\x1b[0m{line[end:]}"


def colour_finding_line(line: str) -> str:
    """A line of a finding: its label as in `colour_label`, the excerpt dimmed, the caret bold."""
    if not line.startswith("  | "):
        return colour_label(line)
    return _with_code(line, "1;33" if line.strip(" |\n") == "^" else "2")


def colour_diff_line(line: str) -> str:
    """A line of a unified diff in the colours that git gives it."""
    code = next((code for start, code in _DIFF_CODES.items() if line.startswith(start)), "")
    return _with_code(line, code) if code else line


def _with_code(line: str, code: str) -> str:
    text = line.rstrip("\n")
    return f"\x1b[{code}m{text}\x1b[0m{line[len(text) :]}"


def _colours_stderr() -> bool:
    environ = os.environ
    is_terminal = sys.stderr is not None and sys.stderr.isatty()
    if not (is_terminal or "FORCE_COLOR" in environ or "CLICOLOR_FORCE" in environ):
        return False
    return allows_colour(environ, is_terminal)


def allows_colour(environ: Mapping[str, str], is_terminal: bool) -> bool:
    """Whether a stream may be coloured: NO_COLOR forbids it, FORCE_COLOR and CLICOLOR_FORCE ask
    for it; else it is where the stream is a terminal that obeys codes, unless CLICOLOR is 0.
    """
    if environ.get("NO_COLOR"):
        return False
    if any(environ.get(name, "0") not in ("", "0") for name in ("FORCE_COLOR", "CLICOLOR_FORCE")):
        return True
    return is_terminal and environ.get("TERM") != "dumb" and environ.get("CLICOLOR") != "0"


def print_error(error: CapdiscError) -> None:
    """Print on stderr what is wrong, and what to do."""
    _write_message(f"error: {error.message}")
    if error.hint:
        _write_message(f"hint: {error.hint}")


def print_error_document(code: str, error: CapdiscError, exit_status: int) -> None:
    """Print the error as JSON on stdout, for the program that reads the result there; nothing
    where a result has been printed, which it would spoil.
    """
    if not _HAS_RESULT.get():
        document = {"code": code, "message": error.message, "hint": error.hint}
        print_document({"error": {**document, "exit": exit_status}})


def write_through(data: bytes, to_stderr: bool, is_terminal: bool) -> None:
    """Print the output of another program: unchanged into a pipe or a file, sanitised on a
    terminal.
    """
    stream = sys.stderr if to_stderr else sys.stdout
    if is_terminal or not hasattr(stream, "buffer"):
        _write_stream(stream, sanitise(data.decode("utf-8", "replace")))
    else:
        _write_stream(stream, data)


def format_finding(finding: Finding) -> list[str]:
    """The lines of a finding for a person: where, how bad, what, and what to do. No path or text
    can add a line.
    """
    place = f"{finding.path}:{finding.line}:{finding.column}"
    lines = [f"{place}: {finding.severity}[{finding.code}]: {finding.message}"]
    if finding.hint:
        lines.append(f"  hint: {finding.hint}")
    return [line.replace("\n", "<U+000A>") for line in lines]


def format_names(names: Sequence[str], limit: int = 10, unnamed: int = 0) -> str:
    """The first names, and how many more there are; `unnamed` of these are not among `names`."""
    short = [name if len(name) <= 80 else f"{name[:79]}…" for name in names]
    return name_first(short, limit, unnamed=unnamed)


def format_changed_definitions(ids: Sequence[str]) -> str:
    """The notice on definitions that changed in ways that nobody has to review."""
    return f"{format_count(len(ids), 'definition')} changed: {format_names(ids)}"


@contextmanager
def divert_output(taker: OutputTaker | None) -> Iterator[None]:
    """Inside, the taker gets what is printed; None: nobody does."""
    token = _DIVERSION.set(taker)
    try:
        yield
    finally:
        _DIVERSION.reset(token)


def print_encoded(data: bytes, to_stderr: bool) -> None:
    """Print what is encoded and sanitised already."""
    _write_stream(sys.stderr if to_stderr else sys.stdout, data)


def _write_stream(stream: Any, text: str | bytes) -> None:
    """Write UTF-8 whatever the locale says: budgets are counted, and JSON is defined, in it."""
    if stream is None:  # it was closed when the process started
        return
    if stream is sys.stdout and text:
        _HAS_RESULT.set(True)
    if taker := _DIVERSION.get():
        data = text.encode("utf-8", "replace") if isinstance(text, str) else text
        if taker(data, stream is sys.stderr):
            return
    try:
        if hasattr(stream, "buffer"):
            stream.flush()
            stream.buffer.write(text.encode("utf-8", "replace") if isinstance(text, str) else text)
            stream.buffer.flush()
        else:
            stream.write(text)
    except OSError as error:
        if stream is sys.stderr:  # a notice that cannot be printed must not cost the result
            return
        # An error of its own: as an OSError, a pipe whose reader is gone would end with status 1,
        # which means "nothing found".
        if isinstance(error, BrokenPipeError):
            raise ReaderGoneError from error
        raise


def format_count(number: int, singular: str, plural: str = "") -> str:
    """The number with its noun: `1 file`, `2,041 files`."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def bold(text: str, colour: bool) -> str:
    """The text in bold; without `colour` as it is."""
    return f"\x1b[1m{text}\x1b[0m" if colour else text


def dim(text: str, colour: bool) -> str:
    """The text dimmed; without `colour` as it is."""
    return f"\x1b[2m{text}\x1b[0m" if colour else text


def format_table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """The lines of a table in aligned columns, numbers to the right; the last is not padded."""
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
    """A function that draws a progress bar on stderr, from a stage and how much of it is done;
    where `shown` is False it prints a line every ten seconds, so that the log of a long build says
    that it goes on.
    """
    if not shown:
        yield _print_progress_lines()
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


def _print_progress_lines() -> Callable[[str, int, int], None]:
    import time

    started = printed = time.monotonic()

    def update(stage: str, done: int, total: int) -> None:
        nonlocal printed
        now = time.monotonic()
        if now - printed >= PROGRESS_LINE_S:
            printed = now
            of_total = f" of {total:,}" if total else ""
            print_notice(f"{stage}: {done:,}{of_total}, {now - started:.0f} s")

    return update
