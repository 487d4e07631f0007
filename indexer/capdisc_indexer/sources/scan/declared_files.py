"""The files of a `[[source]]` in the configuration, with the patterns of paths that it may use:
`apis/*.json`, `docs/**/*.md`.
"""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Callable, Iterator, Sequence

from capdisc_indexer.config.settings import fixed_part
from capdisc_indexer.model.errors import InputError
from capdisc_indexer.model.frozen import replace
from capdisc_indexer.model.types import DeclaredSource, Finding, LinkRules, Severity
from capdisc_indexer.platforms import resolve_path, system, to_nfc
from capdisc_indexer.plugins.registry import describe_problems
from capdisc_indexer.sources.format_table import (
    DECLARED,
    SOURCES,
    declared_source,
    of_declaration,
    source_for,
)
from capdisc_indexer.sources.scan.folder_files import (
    found_file,
    sorted_entries,
    stat_entry,
    stat_of,
)
from capdisc_indexer.sources.scan.folder_tree import (
    MAX_DEPTH,
    SKIPPED_FOLDERS,
    LinkFollower,
    ScanFolder,
    ScanRoot,
    is_inside,
    stray_finding,
)
from capdisc_indexer.sources.scan.scanned_files import FileStat, FoundFile, printable_path
from capdisc_indexer.sources.source_format import MAX_SAMPLES, SourceFormat

# Paths are strings, since they may hold bytes that are not text.
# ruff: noqa: PTH110, PTH112

_TEXT_OPTIONS = frozenset({"description", "prefix"})


def declared_files(
    declaration: DeclaredSource,
    order: int,
    links: LinkFollower | None = None,
    confined_to: Sequence[str] = (),
) -> Iterator[FoundFile | Finding]:
    """Each file of the declaration, in the order of paths, or a finding that says why there is
    none.

    Below a folder, links are followed if they lead into it, or where `links` allows it; links to
    folders only in a conventional place. Such a place is read only while it leads into one of the
    real folders `confined_to` (empty: wherever it leads). Raises InputError for an unknown format
    or option.
    """
    check_declaration(declaration)
    links = links or LinkFollower(LinkRules(), ())
    base, pattern = declaration.path, ""
    if not os.path.exists(base):
        base, pattern = fixed_part(declaration.path)
    try:
        resolved = resolve_path(base, strict=True)
    except OSError as error:
        if not declaration.within and not declaration.is_conventional:
            yield _absent_finding(declaration, error.strerror or str(error))
        return
    if _strays(declaration, resolved) or (confined_to and not is_inside(resolved, confined_to)):
        yield stray_finding(base)
        return
    root = ScanRoot(order, base, resolved)
    results = (
        list(_files_below(declaration, root, pattern, links))
        if os.path.isdir(resolved)
        else [_single_file(declaration, root)]
    )
    for result in results:
        if isinstance(result, FoundFile) and _strays(declaration, result.resolved):
            yield stray_finding(result.path)
        elif not _is_selected(declaration, result):
            continue
        elif isinstance(result, Finding):
            yield result
        else:
            is_alone = not pattern and result.resolved == resolved
            yield _with_declaration(declaration, result, is_alone)
    if not results and not declaration.within and not declaration.is_conventional:
        yield _missing_finding(declaration, "no file fits it")


def check_declaration(source: DeclaredSource) -> None:
    """Raises InputError for an unknown format or option, an invalid number of samples, or a
    description or prefix that is not text.
    """
    if source.format not in DECLARED:
        raise InputError(
            f"{source.origin}: there is no format {source.format!r}{describe_problems()}",
            f"one of: {', '.join(DECLARED)}",
        )
    options = {option for form in of_declaration(source.format) for option in form.options}
    if unknown := sorted(set(source.options) - options):
        hint = "leave it out"
        if options:
            hint = f"its options besides format, path and name: {', '.join(sorted(options))}"
        message = f"a source of format {source.format} has no option {unknown[0]!r}"
        raise InputError(f"{source.origin}: {message}", hint)
    samples = source.options.get("samples", 0)
    if (
        isinstance(samples, bool)
        or not isinstance(samples, int)
        or not 0 <= samples <= MAX_SAMPLES
    ):
        raise InputError(
            f"{source.origin}: samples of a source cannot be {str(samples)[:40]!r}",
            f"give a whole number from 0 to {MAX_SAMPLES:,}, such as samples = 5",
        )
    for name in _TEXT_OPTIONS & set(source.options):
        if not isinstance(source.options[name], str):
            raise InputError(
                f"{source.origin}: {name} of a source must be a text", f'write {name} = "…"'
            )


def _single_file(declaration: DeclaredSource, root: ScanRoot) -> FoundFile | Finding:
    source = (
        declared_source(declaration.format, root.path) or of_declaration(declaration.format)[0]
    )
    status = stat_of(root.path, root.resolved)
    if isinstance(status, Finding):
        return status
    return found_file(root.folder(), os.path.basename(root.path), source, status)


def _files_below(
    declaration: DeclaredSource, root: ScanRoot, pattern: str, links: LinkFollower
) -> Iterator[FoundFile | Finding]:
    fits = path_matcher(pattern)
    levels = MAX_DEPTH if not pattern or "**" in pattern else pattern.count("/")
    pending, entered = [root.folder()], set[str]()
    while pending:
        folder = pending.pop()
        if folder.resolved in entered:
            continue
        entered.add(folder.resolved)
        if not declaration.trusted and (finding := links.refuse_owner(folder)):
            yield finding
            continue
        try:
            entries = sorted_entries(folder.resolved)
        except OSError:
            continue
        for entry in entries:
            source = None if system.is_folder(entry) else _format_of(declaration, entry.name)
            if source and fits(folder.relative + entry.name):
                yield _read_entry(folder, entry, source, links)
        if folder.depth >= levels:
            continue
        inner_folders: list[ScanFolder] = []
        for entry in entries:
            inner = _inner_folder(declaration, folder, entry, links)
            if isinstance(inner, Finding):
                yield inner
            elif inner:
                inner_folders.append(inner)
        pending += reversed(inner_folders)


def _format_of(declaration: DeclaredSource, name: str) -> SourceFormat | None:
    """The format of a file of this name; None for a skill or manifest in a conventional place."""
    if declaration.is_conventional and source_for(name):
        return None
    return declared_source(declaration.format, name)


def _inner_folder(
    declaration: DeclaredSource, folder: ScanFolder, entry: os.DirEntry[str], links: LinkFollower
) -> ScanFolder | Finding | None:
    """The folder of this entry; in a conventional place also where it is a link to one."""
    if entry.name in SKIPPED_FOLDERS:
        return None
    if system.is_folder(entry):
        return folder.inner(entry.name)
    if (
        not declaration.is_conventional
        or not system.is_link(entry)
        or not os.path.isdir(entry.path)
    ):
        return None
    followed = links.follow(folder, entry.name, Severity.WARNING)
    if isinstance(followed, Finding):
        return followed
    return folder.inner(entry.name).at(*followed)


def _read_entry(
    folder: ScanFolder, entry: os.DirEntry[str], source: SourceFormat, links: LinkFollower
) -> FoundFile | Finding:
    status = stat_entry(folder, entry, links)
    if isinstance(status, Finding):
        return status
    outside = links.outside_of(folder, status.resolved)
    return found_file(folder, entry.name, source, status, outside)


def _is_selected(declaration: DeclaredSource, result: FoundFile | Finding) -> bool:
    places = (result.path,) if isinstance(result, Finding) else (result.path, result.resolved)
    return not declaration.within or any(is_inside(place, declaration.within) for place in places)


def _strays(source: DeclaredSource, resolved: str) -> bool:
    """Whether a real path lies outside the folder that the declaration is confined to."""
    return bool(source.confined_to) and not is_inside(resolved, [source.confined_to])


def _with_declaration(declaration: DeclaredSource, file: FoundFile, is_alone: bool) -> FoundFile:
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
    """The stored answers of servers; none if no server was asked yet."""
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".json"))
    except OSError:
        return ()
    place = resolve_path(folder)
    statuses = (stat_of(system.join(folder, name), system.join(place, name)) for name in names)
    return tuple(status for status in statuses if isinstance(status, FileStat))


def _absent_finding(declaration: DeclaredSource, why: str) -> Finding:
    origin = printable_path(declaration.origin)
    if "url_secret" in declaration.options:
        name = declaration.name or str(declaration.options["url_secret"])
        message = f"the database {name[:64]} was not asked for its tables yet"
        hint = "run: capdisc index --ask-servers"
        return Finding("server-unasked", Severity.WARNING, message, hint, origin)
    if declaration.url:
        message = f"the source {printable_path(declaration.url)} was not fetched yet"
        hint = "run: capdisc index --network"
        return Finding("source-missing", Severity.WARNING, message, hint, origin)
    return _missing_finding(declaration, why)


def _missing_finding(declaration: DeclaredSource, why: str) -> Finding:
    path, origin = printable_path(declaration.path), printable_path(declaration.origin)
    message = f"the source {path} cannot be found: {why}"
    hint = f"correct its path in {origin}" if origin else "correct its path"
    return Finding("source-missing", Severity.ERROR, message, hint, path)


def path_matcher(pattern: str) -> Callable[[str], bool]:
    """A function that tells whether a path, relative and with slashes, fits the pattern.

    `*` stays within a folder, `**/` is any number of folders; every path fits an empty pattern. A
    workspace may bring the pattern: so matching takes time in proportion to pattern times path, as
    in `fnmatch`, which never comes back to a star before the last one.

    >>> fits = path_matcher("**/*.y[a]ml"); fits("a/b/c.yaml"), fits("c.yaml"), fits("c.yml")
    (True, True, False)
    """
    if not pattern:
        return lambda path: True
    # `docs/**` and `docs/**.md` are `docs/**/*` and `docs/**/*.md`.
    parts = re.sub(r"(^|/)\*\*+(?=[^/*]|$)", r"\1**/*", to_nfc(pattern)).split("/")
    matchers = [None if part == "**" else re.compile(fnmatch.translate(part)) for part in parts]
    return lambda path: _fits_parts(to_nfc(path).split("/"), matchers)


def _fits_parts(names: Sequence[str], matchers: Sequence[re.Pattern[str] | None]) -> bool:
    """Whether the parts of a pattern fit all names of a path, one each; None fits any number."""
    ends = {0}  # how many names the parts up to here may have taken
    for matcher in matchers:
        if matcher is None:
            ends = set(range(min(ends, default=len(names) + 1), len(names) + 1))
        else:
            ends = {end + 1 for end in ends if end < len(names) and matcher.match(names[end])}
    return len(names) in ends
