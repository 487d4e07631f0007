"""What a format is to whoever looks for files of it and reads them."""

from __future__ import annotations

from collections.abc import Callable

from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.types import LoadedFile
from capdisc_indexer.sources.scan.scanned_files import FoundFile

Load = Callable[[FoundFile, bytes], LoadedFile]


@frozen(kw_only=True)
class SourceFormat:
    """One format. `load` never raises on what a file holds; without `reads` it gets no bytes and
    opens the file itself, which may be large. A file is told by its whole name (`filenames`, as
    other readers look for them, the preferred one first) or by how its name ends (`endings`).

    A `[[source]]` names the format by `declared`; several formats may share that word, told apart
    by `suffixes`, which are those of the files that a declared folder is searched for. `options`
    are what such a declaration may say beside path and name. `everywhere` formats are also looked
    for in the folder of a skill or capability, which a file of an `owns_folder` format makes of a
    folder. Files named in `companions` (lower case) belong to a file of this format beside them,
    so they are not capabilities of their own; of one that `keeps`, those are what programs
    answered.
    """

    format: str
    load: Load
    limit_bytes: int
    filenames: tuple[str, ...] = ()
    endings: tuple[str, ...] = ()
    companions: tuple[str, ...] = ()
    declared: str = ""
    suffixes: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    keeps: bool = False
    reads: bool = True
    everywhere: bool = False
    owns_folder: bool = False


def lazy_loader(module: str) -> Load:
    """The `load` of a module beside this one, imported by its first call: a scan that finds
    nothing changed parses nothing, so that it needs no YAML.
    """

    def load(file: FoundFile, data: bytes) -> LoadedFile:
        from importlib import import_module

        loaded: LoadedFile = import_module(f"capdisc_indexer.sources.formats.{module}").load(
            file, data
        )
        return loaded

    return load
