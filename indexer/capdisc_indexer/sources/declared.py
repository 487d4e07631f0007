"""The files that a `[[source]]` of the configuration means."""

# Paths are plain text here: they may hold bytes that are no text.
# ruff: noqa: PTH110, PTH112, PTH118, PTH120

from __future__ import annotations

import os
from collections.abc import Iterator

from capdisc_indexer.declarations import fixed_part
from capdisc_indexer.errors import InputError
from capdisc_indexer.frozen import replace
from capdisc_indexer.sources import DECLARED, SOURCES, Source, declared_source, of_declaration
from capdisc_indexer.sources.files import FileStat, FoundFile, printable
from capdisc_indexer.sources.folder import found_file, stat_of
from capdisc_indexer.sources.links import inside, stray_finding, target
from capdisc_indexer.sources.patterns import matcher
from capdisc_indexer.sources.tables.sampling import MAX_SAMPLES
from capdisc_indexer.sources.tree import MAX_DEPTH, SKIPPED, Folder, Root, is_folder
from capdisc_indexer.types import DeclaredSource, Finding, Severity


def declared_files(one: DeclaredSource, order: int) -> Iterator[FoundFile | Finding]:
    """Each file of the declaration, in the order of their paths, or why there is none.

    Below a folder, links are followed to what lies in it. Raises InputError for a format or an option that is unknown.
    """
    check_declaration(one)
    base, pattern = (one.path, "") if os.path.exists(one.path) else fixed_part(one.path)
    try:
        resolved = os.path.realpath(base, strict=True)
    except OSError as error:
        if not one.within:
            yield _unasked(one) if "url_secret" in one.options else _missing(one, error.strerror or str(error))
        return
    if _strays(one, resolved):
        yield stray_finding(base)
        return
    has_files = os.path.isdir(resolved)
    found = list(_below(one, Root(order, base, resolved), pattern) if has_files else _single(one, order, base))
    for each in found:
        if isinstance(each, FoundFile) and _strays(one, each.resolved):
            yield stray_finding(each.path)
        elif _wanted(one, each):
            yield each if isinstance(each, Finding) else _declared(one, each)
    if not found and not one.within:
        yield _missing(one, "no file fits it")


def check_declaration(one: DeclaredSource) -> None:
    """Raises InputError for a format or an option that there is not."""
    if one.format not in DECLARED:
        raise InputError(f"{one.origin}: there is no format {one.format!r}", f"one of: {', '.join(DECLARED)}")
    known = {option for source in of_declaration(one.format) for option in source.options}
    if unknown := sorted(set(one.options) - known):
        hint = f"beside format, path and name it may say: {', '.join(sorted(known))}" if known else "leave it out"
        raise InputError(f"{one.origin}: a source of format {one.format} has no option {unknown[0]!r}", hint)
    samples = one.options.get("samples", 0)
    if isinstance(samples, bool) or not isinstance(samples, int) or not 0 <= samples <= MAX_SAMPLES:
        what = f"samples of a source cannot be {str(samples)[:40]!r}"
        raise InputError(f"{one.origin}: {what}", f"give a whole number from 0 to {MAX_SAMPLES:,}, such as samples = 5")


def _single(one: DeclaredSource, order: int, path: str) -> Iterator[FoundFile | Finding]:
    folder = os.path.dirname(path)
    place = Folder(Root(order, folder, os.path.realpath(folder)), folder, os.path.realpath(folder))
    source = declared_source(one.format, path) or of_declaration(one.format)[0]
    status = stat_of(path, os.path.realpath(path))
    yield status if isinstance(status, Finding) else found_file(place, os.path.basename(path), source, status)


def _below(one: DeclaredSource, root: Root, pattern: str) -> Iterator[FoundFile | Finding]:
    fits = matcher(pattern)
    levels = MAX_DEPTH if not pattern or "**" in pattern else pattern.count("/")
    pending = [root.folder()]
    while pending:
        folder = pending.pop()
        entries = _entries(folder)
        for entry in entries:
            source = None if is_folder(entry) else declared_source(one.format, entry.name)
            if source and fits(folder.relative + entry.name):
                yield _entry(folder, entry, source)
        inner = [each.name for each in entries if is_folder(each) and each.name not in SKIPPED]
        pending += [folder.inner(name) for name in reversed(inner) if folder.depth < levels]


def _entry(folder: Folder, entry: os.DirEntry[str], source: Source) -> FoundFile | Finding:
    path, resolved = os.path.join(folder.path, entry.name), os.path.join(folder.resolved, entry.name)
    place = target(resolved, [folder.root.resolved]) if entry.is_symlink() else resolved
    status = place if isinstance(place, Finding) else stat_of(path, place)
    return status if isinstance(status, Finding) else found_file(folder, entry.name, source, status)


def _entries(folder: Folder) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder.resolved) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []


def _wanted(one: DeclaredSource, found: FoundFile | Finding) -> bool:
    places = (found.path,) if isinstance(found, Finding) else (found.path, found.resolved)
    return not one.within or any(inside(place, one.within) for place in places)


def _strays(source: DeclaredSource, resolved: str) -> bool:
    """Whether a real path lies outside what the declaration is kept to."""
    return bool(source.confined_to) and not inside(resolved, [source.confined_to])


def _declared(one: DeclaredSource, file: FoundFile) -> FoundFile:
    is_alone = os.path.realpath(one.path) == file.resolved
    kept = _kept(one.kept) if SOURCES[file.format].keeps else ()
    return replace(
        file,
        name=one.name,
        options=one.options,
        is_alone=is_alone,
        is_declared=True,
        companions=kept,
        allows_secrets=one.allow_secret_files,
    )


def _kept(folder: str) -> tuple[FileStat, ...]:
    """The answers in a folder of ours; where there is none, nothing was asked yet."""
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".json"))
    except OSError:
        return ()
    place = os.path.realpath(folder)
    each = (stat_of(os.path.join(folder, name), os.path.join(place, name)) for name in names)
    return tuple(one for one in each if isinstance(one, FileStat))


def _unasked(one: DeclaredSource) -> Finding:
    what = one.name or str(one.options["url_secret"])
    return Finding(
        code="server-unasked",
        severity=Severity.WARNING,
        message=f"the database {what[:64]} was not asked for its tables yet",
        hint="run: capdisc index --ask-servers",
        path=printable(one.origin),
    )


def _missing(one: DeclaredSource, why: str) -> Finding:
    message = f"the source {printable(one.path)} cannot be found: {why}"
    hint = f"correct its path in {printable(one.origin)}" if one.origin else "correct its path"
    return Finding(code="source-missing", severity=Severity.ERROR, message=message, hint=hint, path=printable(one.path))
