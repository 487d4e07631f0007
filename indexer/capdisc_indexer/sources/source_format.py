"""What a format of source files is: how its files are recognised, and what reads them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from capdisc_indexer.model.frozen import frozen

if TYPE_CHECKING:
    from capdisc_indexer.model.types import LoadedFile

    # At run time this import would add 5 ms to `--help`, which reads no file.
    from capdisc_indexer.sources.scan.scanned_files import FoundFile

# Reads a file of a format; never raises on what the file holds.
Load: TypeAlias = "Callable[[FoundFile, bytes], LoadedFile]"
MEBIBYTE = 1024 * 1024
# The most sample values of a column that a declaration may ask for.
MAX_SAMPLES = 1_000
# The options of formats that list tools: patterns of names to take or leave out, and name prefixes
# that are categories.
SELECTION_OPTIONS = ("include", "exclude", "categories")


@frozen(kw_only=True)
class SourceFormat:
    """One format of source files.

    A file is recognised by its full name (`filenames`, as other readers look for them, the
    preferred one first) or by its ending (`endings`). Without `reads`, `load` gets no bytes and
    opens the file itself, which may be large.

    A `[[source]]` names the format by `declared`. Several formats may share that word, and differ
    by `suffixes`, the endings of files that are searched in a declared folder. `options` are the
    keys that such a declaration may have besides path and name. With `by_suffix`, a file that its
    user names is of this format if it has one of the suffixes but `.json`, which says too little.

    A file of an `owns_folder` format makes its folder that of a skill or capability; in such a
    folder, only files of `everywhere` formats are capabilities of their own. Files named in
    `companions` (lower case) belong to a file of this format next to them. With `keeps`, the
    companions are stored answers of programs.

    A changed definition is reviewed before an agent reads it: of a format that `lists_tools`, as
    programs answer or publish them, wherever its files lie; of one that `is_prose` and tells an
    agent in words how to act, where they are neither the user's own nor in the workspace. Tables
    and documents are data.
    """

    format: str
    load: Load
    limit_bytes: int
    filenames: tuple[str, ...] = ()
    endings: tuple[str, ...] = ()
    companions: tuple[str, ...] = ()
    declared: str = ""
    suffixes: tuple[str, ...] = ()
    by_suffix: bool = False
    options: tuple[str, ...] = ()
    keeps: bool = False
    reads: bool = True
    everywhere: bool = False
    owns_folder: bool = False
    lists_tools: bool = False
    is_prose: bool = False


def lazy_loader(module: str, function: str = "load") -> Load:
    """The loading function of this module, which is imported by the first call: a scan that finds
    no change parses nothing and needs no YAML.
    """

    def load(file: FoundFile, data: bytes) -> LoadedFile:
        from importlib import import_module

        loaded: LoadedFile = getattr(import_module(module), function)(file, data)
        if "description" not in file.options:
            return loaded
        from capdisc_indexer.sources.formats.parsed_capability import add_declared_description

        return add_declared_description(loaded, file)

    return load
