"""The files that a `[[source]]` of the configuration means."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator

from capdisc_indexer.config.settings import fixed_part
from capdisc_indexer.model.errors import InputError
from capdisc_indexer.model.frozen import replace
from capdisc_indexer.model.types import DeclaredSource, Finding, Severity
from capdisc_indexer.sources import DECLARED, SOURCES, SourceFormat, declared_source, of_declaration
from capdisc_indexer.sources.formats.tables.inference import MAX_SAMPLES
from capdisc_indexer.sources.scan.folder_files import found_file, stat_of
from capdisc_indexer.sources.scan.folder_tree import (
    MAX_DEPTH,
    SKIPPED_FOLDERS,
    ScanFolder,
    ScanRoot,
    is_folder,
    is_inside,
    resolve_link,
    stray_finding,
)
from capdisc_indexer.sources.scan.scanned_files import FileStat, FoundFile, printable_path

# Patterns of paths: `apis/*.json`, `docs/**/*.md`. `*` stays within a folder, `**/` is any number
# of folders.

# What says the same thing twice makes matching slow.
_REPEATED = re.compile(r"(?:\*\*/)+|\*{2,}(?!/)")
_PIECE = re.compile(r"\*\*/?|\*|\?|\[!?[^]/]+\]|.", re.DOTALL)
_MEANING = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def path_matcher(pattern: str) -> Callable[[str], bool]:
    """Whether a path, relative and with slashes, fits the pattern; everything fits the empty one.

    >>> fits = matcher("**/*.y[a]ml"); fits("a/b/c.yaml"), fits("c.yaml"), fits("c.yml")
    (True, True, False)
    """
    if not pattern:
        return lambda path: True
    pieces = _PIECE.findall(
        _REPEATED.sub(lambda match: "**/" if match[0].endswith("/") else "**", pattern)
    )
    try:
        compiled = re.compile("".join(map(_meaning, pieces)), re.DOTALL)
    except re.error:  # a range that ends before it begins
        return lambda path: False
    return lambda path: compiled.fullmatch(path) is not None


def _meaning(piece: str) -> str:
    if piece.startswith("[") and len(piece) > 2:
        inner = piece[1:-1].replace("\\", "\\\\")
        return f"[^{inner[1:]}]" if inner.startswith("!") else f"[{inner}]"
    return _MEANING.get(piece) or re.escape(piece)


# Paths are plain text here: they may hold bytes that are no text.
# ruff: noqa: PTH110, PTH112, PTH118, PTH120


def declared_files(declaration: DeclaredSource, order: int) -> Iterator[FoundFile | Finding]:
    """Each file of the declaration, in the order of their paths, or why there is none.

    Below a folder, links are followed to what lies in it. Raises InputError for a format or an
    option that is unknown.
    """
    check_declaration(declaration)
    base, pattern = (
        (declaration.path, "") if os.path.exists(declaration.path) else fixed_part(declaration.path)
    )
    try:
        resolved = os.path.realpath(base, strict=True)
    except OSError as error:
        if not declaration.within:
            yield (
                _unasked_finding(declaration)
                if "url_secret" in declaration.options
                else _missing_finding(declaration, error.strerror or str(error))
            )
        return
    if _strays(declaration, resolved):
        yield stray_finding(base)
        return
    has_files = os.path.isdir(resolved)
    results = list(
        _below(declaration, ScanRoot(order, base, resolved), pattern)
        if has_files
        else _single(declaration, order, base)
    )
    for result in results:
        if isinstance(result, FoundFile) and _strays(declaration, result.resolved):
            yield stray_finding(result.path)
        elif _is_selected(declaration, result):
            yield result if isinstance(result, Finding) else _with_declaration(declaration, result)
    if not results and not declaration.within:
        yield _missing_finding(declaration, "no file fits it")


def check_declaration(one: DeclaredSource) -> None:
    """Raises InputError for a format or an option that there is not."""
    if one.format not in DECLARED:
        raise InputError(
            f"{one.origin}: there is no format {one.format!r}", f"one of: {', '.join(DECLARED)}"
        )
    known = {option for source in of_declaration(one.format) for option in source.options}
    if unknown := sorted(set(one.options) - known):
        hint = (
            f"beside format, path and name it may say: {', '.join(sorted(known))}"
            if known
            else "leave it out"
        )
        raise InputError(
            f"{one.origin}: a source of format {one.format} has no option {unknown[0]!r}", hint
        )
    samples = one.options.get("samples", 0)
    if isinstance(samples, bool) or not isinstance(samples, int) or not 0 <= samples <= MAX_SAMPLES:
        what = f"samples of a source cannot be {str(samples)[:40]!r}"
        raise InputError(
            f"{one.origin}: {what}",
            f"give a whole number from 0 to {MAX_SAMPLES:,}, such as samples = 5",
        )


def _single(declaration: DeclaredSource, order: int, path: str) -> Iterator[FoundFile | Finding]:
    folder = os.path.dirname(path)
    place = ScanFolder(
        ScanRoot(order, folder, os.path.realpath(folder)), folder, os.path.realpath(folder)
    )
    source = declared_source(declaration.format, path) or of_declaration(declaration.format)[0]
    status = stat_of(path, os.path.realpath(path))
    yield (
        status
        if isinstance(status, Finding)
        else found_file(place, os.path.basename(path), source, status)
    )


def _below(
    declaration: DeclaredSource, root: ScanRoot, pattern: str
) -> Iterator[FoundFile | Finding]:
    fits = path_matcher(pattern)
    levels = MAX_DEPTH if not pattern or "**" in pattern else pattern.count("/")
    pending = [root.folder()]
    while pending:
        folder = pending.pop()
        entries = _entries(folder)
        for entry in entries:
            source = None if is_folder(entry) else declared_source(declaration.format, entry.name)
            if source and fits(folder.relative + entry.name):
                yield _entry(folder, entry, source)
        inner = [
            entry.name
            for entry in entries
            if is_folder(entry) and entry.name not in SKIPPED_FOLDERS
        ]
        pending += [folder.inner(name) for name in reversed(inner) if folder.depth < levels]


def _entry(
    folder: ScanFolder, entry: os.DirEntry[str], source: SourceFormat
) -> FoundFile | Finding:
    path, resolved = (
        os.path.join(folder.path, entry.name),
        os.path.join(folder.resolved, entry.name),
    )
    place = resolve_link(resolved, [folder.root.resolved]) if entry.is_symlink() else resolved
    status = place if isinstance(place, Finding) else stat_of(path, place)
    return status if isinstance(status, Finding) else found_file(folder, entry.name, source, status)


def _entries(folder: ScanFolder) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder.resolved) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []


def _is_selected(declaration: DeclaredSource, result: FoundFile | Finding) -> bool:
    places = (result.path,) if isinstance(result, Finding) else (result.path, result.resolved)
    return not declaration.within or any(is_inside(place, declaration.within) for place in places)


def _strays(source: DeclaredSource, resolved: str) -> bool:
    """Whether a real path lies outside what the declaration is kept to."""
    return bool(source.confined_to) and not is_inside(resolved, [source.confined_to])


def _with_declaration(declaration: DeclaredSource, file: FoundFile) -> FoundFile:
    is_alone = os.path.realpath(declaration.path) == file.resolved
    answer_files = _saved_answers(declaration.answers_folder) if SOURCES[file.format].keeps else ()
    return replace(
        file,
        name=declaration.name,
        options=declaration.options,
        is_alone=is_alone,
        is_declared=True,
        companions=answer_files,
        allows_secrets=declaration.allow_secret_files,
    )


def _saved_answers(folder: str) -> tuple[FileStat, ...]:
    """The answers in a folder of ours; where there is none, nothing was asked yet."""
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".json"))
    except OSError:
        return ()
    place = os.path.realpath(folder)
    statuses = (stat_of(os.path.join(folder, name), os.path.join(place, name)) for name in names)
    return tuple(status for status in statuses if isinstance(status, FileStat))


def _unasked_finding(declaration: DeclaredSource) -> Finding:
    what = declaration.name or str(declaration.options["url_secret"])
    return Finding(
        code="server-unasked",
        severity=Severity.WARNING,
        message=f"the database {what[:64]} was not asked for its tables yet",
        hint="run: capdisc index --ask-servers",
        path=printable_path(declaration.origin),
    )


def _missing_finding(declaration: DeclaredSource, why: str) -> Finding:
    message = f"the source {printable_path(declaration.path)} cannot be found: {why}"
    hint = (
        f"correct its path in {printable_path(declaration.origin)}"
        if declaration.origin
        else "correct its path"
    )
    return Finding(
        code="source-missing",
        severity=Severity.ERROR,
        message=message,
        hint=hint,
        path=printable_path(declaration.path),
    )
