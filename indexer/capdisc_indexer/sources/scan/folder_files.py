"""The capability files directly in one folder, each with its format and the files that belong to
it; and warnings about their names.

Files of every casing are read on every system. Warnings name casings that other readers do not
find, names that differ only by case or Unicode form, and characters with a meaning to shells or
other systems.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress

from capdisc_indexer.model.frozen import replace, shallow_dict
from capdisc_indexer.model.types import Finding, Severity
from capdisc_indexer.platforms import resolve_path, system, to_nfc
from capdisc_indexer.sources.format_table import SOURCES, source_for
from capdisc_indexer.sources.readers.file_bytes import read_head
from capdisc_indexer.sources.scan.folder_tree import (
    GUIDANCE_FOLDER,
    MAX_FILES,
    SUFFIX,
    LinkFollower,
    ScanFolder,
)
from capdisc_indexer.sources.scan.scanned_files import (
    FileStat,
    FoundFile,
    not_a_file,
    printable_path,
    unreadable_finding,
)
from capdisc_indexer.sources.source_format import SourceFormat
from capdisc_indexer.text.normalization import UNSAFE_CHARACTERS, compile_late

# Paths are strings, since they may hold bytes that are not text, and a Path for each of 10,000
# folders takes long.
# ruff: noqa: PTH114, PTH116


# A format is recognised by the begin of a file if its name says little.
HEAD_BYTES = 256
LOOK_BYTES = 4_096
# Files with these endings are opened for that during a scan.
SNIFFED_SUFFIXES = (".json", ".yaml", ".yml", ".db")
# Blanks before the word are those of its line: with line ends, each empty line would read all
# others.
_OPENAPI = compile_late(
    rb"""(?:^(?:\xef\xbb\xbf)?|[{,])[^\S\n]*["']?(?:openapi["']?\s*:\s*["']?3|swagger["']?\s*:\s*["']?2)""",
    re.MULTILINE,
)
_SQLITE = b"SQLite format 3\0"
_JSON = compile_late(rb"(?:\xef\xbb\xbf)?\s*[\[{]")
_FUNCTIONS = compile_late(
    rb'"type"\s*:\s*"function"|"input_schema"|"function_?declarations"', re.I
)
_CATALOGUE = compile_late(rb'"kind"\s*:\s*"(?:tool|skill|agent|command)"')
_TOOLS = compile_late(rb'"tools"\s*:\s*\[|"inputSchema"')
# Part by part: characters of shells, Windows and options, blanks at the ends, names of devices.
_ODD = compile_late(
    r"[\x00-\x1f\x7f<>:\"|?*\\$`;&%!{}]|(?:^|/)[-~ ]|[ .](?:/|$)|(?:^|/)(?:con|prn|aux|nul|com\d|lpt\d)(?:[./]|$)",
    re.IGNORECASE,
)


def is_companion(filename: str) -> bool:
    """Whether a file of this name belongs to a manifest next to it."""
    return any(filename.lower() in source.companions for source in SOURCES.values())


def find_files(
    folder: ScanFolder, entries: Sequence[os.DirEntry[str]], links: LinkFollower
) -> tuple[list[FoundFile], list[Finding]]:
    """The capability files among a folder's entries, and findings about entries of such names."""
    named = {
        entry.name: source for entry in entries if (source := _recognise_format(folder, entry))
    }
    if not named:
        return [], []
    owned = {name for source in named.values() for name in source.companions}
    twin_findings = find_case_twins(
        name for name, source in named.items() if source.everywhere and name.lower() not in owned
    )
    files: list[FoundFile] = []
    companions: list[FileStat] = []
    companion_findings: list[Finding] = []
    findings = [
        twin_warning(printable_path(system.join(folder.path, name)), winner)
        for name, winner in twin_findings.items()
    ]
    relevant = [entry for entry in entries if (entry.name in named or entry.name.lower() in owned)]
    for entry in relevant:
        if entry.name in twin_findings or system.is_folder(entry):
            continue
        if entry.name in named:
            findings += odd_name(
                folder.relative + entry.name, system.join(folder.path, entry.name)
            )
        is_owned = entry.name.lower() in owned
        status = stat_entry(folder, entry, links)
        if isinstance(status, Finding):
            (companion_findings if is_owned else findings).append(status)
        elif is_owned:
            companions.append(status)
        else:
            outside = links.outside_of(folder, status.resolved)
            files.append(found_file(folder, entry.name, named[entry.name], status, outside))
    if not files:
        findings += companion_findings
    return [_with_companions(file, companions, companion_findings) for file in files], findings


def _recognise_format(folder: ScanFolder, entry: os.DirEntry[str]) -> SourceFormat | None:
    """The format of an entry by its name or, if many programs use the ending, by its first bytes;
    None for any other.
    """
    if system.is_folder(entry):
        return None
    if source := source_for(entry.name):
        return source if source.everywhere or not folder.owned else None
    if folder.owned or system.is_link(entry):
        return None
    return by_head(entry.name, system.join(folder.resolved, entry.name))


def _with_companions(
    file: FoundFile, neighbours: Sequence[FileStat], companion_findings: Sequence[Finding]
) -> FoundFile:
    names = SOURCES[file.format].companions
    if not names or not (neighbours or companion_findings):
        return file
    companions = tuple(
        status for status in neighbours if os.path.basename(status.path).lower() in names
    )
    return replace(file, companions=companions, lost=tuple(companion_findings))


def found_file(
    folder: ScanFolder,
    name: str,
    source: SourceFormat,
    status: FileStat,
    outside: str | None = None,
) -> FoundFile:
    """A file directly in the folder, to be read in this format; `outside` is given for a link
    whose place differs from that of its folder.
    """
    return FoundFile(
        **shallow_dict(status),
        relative=to_nfc(folder.relative + name),
        root=folder.root.path,
        root_order=folder.root.order,
        format=source.format,
        link_target=folder.outside if outside is None else outside,
    )


def stat_entry(
    folder: ScanFolder, entry: os.DirEntry[str], links: LinkFollower
) -> FileStat | Finding:
    """The stamps of the regular file that the entry is or leads to, or the finding that says why
    there is none.
    """
    path, resolved = folder.inside(entry.name)
    if system.is_link(entry):
        followed = links.follow(folder, entry.name)
        if isinstance(followed, Finding):
            return followed
        resolved = followed.resolved
    return stat_of(path, resolved)


def sorted_entries(folder: str) -> list[os.DirEntry[str]]:
    """The entries of a real folder by name. Raises OSError where it cannot be read."""
    with os.scandir(folder) as entries:
        return sorted(entries, key=lambda entry: entry.name)


def guidance_files(root: str) -> Iterator[FileStat]:
    """The files of guidance of a root. Links are not followed, and files without readable stamps
    are left out.
    """
    folder = system.join(root, GUIDANCE_FOLDER)
    try:
        guides = [
            entry
            for entry in sorted_entries(folder)
            if entry.name.endswith(SUFFIX) and entry.is_file(follow_symlinks=False)
        ]
    except OSError:  # a root without guidance, or a single file
        return
    if os.path.islink(folder):
        return
    real_folder = resolve_path(folder)
    for entry in guides[:MAX_FILES]:
        status = stat_of(entry.path, system.join(real_folder, entry.name))
        if isinstance(status, FileStat):
            yield status


def stat_of(path: str, resolved: str) -> FileStat | Finding:
    """The stamps of a regular file, or the finding that says why there is none at `resolved`."""
    try:
        status = os.stat(resolved, follow_symlinks=False)
    except OSError as error:
        return unreadable_finding(path, error)
    if not stat.S_ISREG(status.st_mode):
        return not_a_file(path)
    return FileStat(
        path=path,
        resolved=resolved,
        size=status.st_size,
        mtime_ns=status.st_mtime_ns,
        ctime_ns=status.st_ctime_ns,
        inode=status.st_ino,
    )


def by_head(name: str, path: str) -> SourceFormat | None:
    """The format of a file by its first bytes, if it is an API description or a database; None for
    any other.
    """
    if not name.lower().endswith(SNIFFED_SUFFIXES):
        return None
    return _of_head(read_head(path, HEAD_BYTES))


def by_look(path: str) -> SourceFormat | None:
    """The format of a file that its user named, by its first bytes, which may also be those of a
    list of tools or functions, or of a catalogue.
    """
    head = read_head(path, LOOK_BYTES)
    if path.endswith(".jsonl") and _CATALOGUE.search(head):
        return SOURCES["catalogue"]
    if (source := _of_head(head)) or not _JSON.match(head):
        return source
    if _FUNCTIONS.search(head):
        return SOURCES["functions"]
    return SOURCES["mcp"] if _TOOLS.search(head) else None


def _of_head(head: bytes) -> SourceFormat | None:
    if head.startswith(_SQLITE):
        return SOURCES["sqlite"]
    return SOURCES["openapi"] if _OPENAPI.search(head) else None


def casing_findings(file: FoundFile) -> tuple[Finding, ...]:
    """A warning if other readers do not recognise the file by its name."""
    name = os.path.basename(file.path)
    expected = SOURCES[file.format].filenames
    if not expected or name == expected[0] or (name in expected and file.format == "catalogue"):
        return ()
    message = f"other readers look for {expected[0]}, not {name}"
    return (_name_warning(file.path, message, f"rename it to {expected[0]}"),)


def find_case_twins(names: Iterable[str]) -> dict[str, str]:
    """Each name that differs from another one by case only, with the one that is read instead.

    >>> find_case_twins(["SKILL.md", "skill.md"])
    {'skill.md': 'SKILL.md'}
    """
    chosen: dict[str, str] = {}
    ordered = sorted(names, key=lambda name: (not _is_expected(name), name))
    for name in ordered:
        chosen.setdefault(name.lower(), name)
    return {name: chosen[name.lower()] for name in ordered if chosen[name.lower()] != name}


def twin_warning(path: str, winner: str) -> Finding:
    """The finding for a file that is not read because of its twin."""
    message = f"{os.path.basename(path)} is not read, since {winner} is next to it"
    return _name_warning(path, message, "remove one of the two")


def path_twins(folder: str, names: Iterable[str]) -> Iterator[Finding]:
    """A warning for each name that differs from another one by its Unicode form only: some systems
    keep only one of them.
    """
    by_normal_form: dict[str, str] = {}
    message = "another folder or file has the same name in another Unicode form"
    for name in names:
        if not name.isascii() and by_normal_form.setdefault(to_nfc(name), name) != name:
            path = printable_path(system.join(folder, name))
            yield Finding("path-twin", Severity.WARNING, message, "rename one of the two", path)


def _is_expected(name: str) -> bool:
    source = source_for(name)
    return source is not None and name in source.filenames


def _name_warning(path: str, message: str, hint: str) -> Finding:
    return Finding("misnamed-manifest", Severity.WARNING, message, hint, path)


def odd_name(relative: str, path: str) -> Iterator[Finding]:
    """A warning about the file at `path` if its path below the root has a character with a meaning
    elsewhere.
    """
    if relative.isascii() and not _ODD.search(relative):
        return
    shown = printable_path(relative)
    if oddity := _oddity(relative, shown):
        message = f"the path {shown[:200]!r} {oddity}"
        place = printable_path(path)
        yield Finding("path-character", Severity.WARNING, message, "rename the folder", place)


def _oddity(relative: str, shown: str) -> str:
    if shown != relative:
        return "is not UTF-8"
    if UNSAFE_CHARACTERS.search(relative) or "\n" in relative or "\t" in relative:
        return "holds control or hidden characters"
    if _ODD.search(relative):
        return "holds characters with a meaning to shells or other systems"
    return ""


class FolderStamps:
    """The stamps of the folders of a scan, each taken before the folder is read; only those on
    `devices` are believed: over a network they may lag behind.
    """

    def __init__(self, devices: Collection[int] = ()) -> None:
        self._devices = devices
        # Folders whose stamps do not tell what is in them: links, sniffed files, other disks.
        self.uncertain_count = 0
        # Time of content, time of inode and size.
        self.taken: list[tuple[ScanFolder, tuple[int, int, int]]] = []

    def take(self, folder: ScanFolder) -> None:
        """Notes the stamps of a folder, if it can be read."""
        with suppress(OSError):
            status = os.stat(folder.resolved, follow_symlinks=False)
            self.taken.append((folder, (status.st_mtime_ns, status.st_ctime_ns, status.st_size)))
            self.uncertain_count += status.st_dev not in self._devices

    def note_entries(self, folder: ScanFolder, entries: Sequence[os.DirEntry[str]]) -> None:
        """Notes a folder whose contents links or the first bytes of files decide."""
        self.uncertain_count += any(
            system.is_link(entry) or _is_sniffed(folder, entry.name) for entry in entries
        )


def _is_sniffed(folder: ScanFolder, name: str) -> bool:
    return not folder.owned and name.lower().endswith(SNIFFED_SUFFIXES) and not source_for(name)
