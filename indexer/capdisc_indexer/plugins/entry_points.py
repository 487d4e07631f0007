"""What other distributions of the environment add: plug-ins, which they name as entry points of
the group `capdisc.plugins`, and tables of clients, in the group `capdisc.clients`.

`importlib.metadata.entry_points` takes 53 ms, half of a cold query. So the entry points are kept
in a file of the cache, which is good as long as no folder of the environment changed: an installer
adds a folder for each distribution. The file also has the tables of clients, whose folders of
skills each query looks at: reading it takes 0.2 ms. What an entry point names is not imported here.
"""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from capdisc_indexer.model.errors import MALFORMED_DATA_ERRORS
from capdisc_indexer.model.frozen import asdict, field, frozen, replace
from capdisc_indexer.model.json_types import JsonObject
from capdisc_indexer.model.version import __version__
from capdisc_indexer.platforms import system

# Paths are plain text: a Path takes ten times as long.
# ruff: noqa: PTH103, PTH116, PTH120, PTH123

GROUP, CLIENTS_GROUP = "capdisc.plugins", "capdisc.clients"
_CACHE_FILE = "plugins.json"


@frozen
class PluginSource:
    """Where a plug-in comes from: its name, "module:attribute" of its value, and the name and
    release of its distribution, "" for those that come with capdisc.
    """

    name: str
    reference: str
    distribution: str = ""
    release: str = ""

    @property
    def title(self) -> str:
        """What messages call it."""
        origin = f" of {self.distribution}" if self.distribution else ""
        return f"the plug-in {self.name!r}{origin}"


@frozen
class ClientTable:
    """A table of clients that a distribution adds: its file with the stamp, the clients by name as
    in `clients/clients.toml`, and what is wrong with the file, "" for nothing.
    """

    distribution: str
    path: str = ""
    stamp: int = 0
    clients: JsonObject = field(default_factory=dict)
    problem: str = ""


@frozen
class Environment:
    """What the distributions of the environment add: plug-ins, and tables of clients."""

    plugins: Sequence[PluginSource] = ()
    clients: Sequence[ClientTable] = ()


@cache
def read_environment() -> Environment:
    """What other distributions add, in the order of the names."""
    stamps = _stamp_folders()
    path = _cache_path()
    try:
        with open(path, encoding="utf-8") as file:
            known = json.load(file)
        tables = [ClientTable(**row) for row in known["clients"]]
        is_good = known["stamps"] == stamps and all(
            table.stamp == _stamp(table.path) for table in tables
        )
        if is_good:
            return Environment([PluginSource(**row) for row in known["plugins"]], tables)
    except (OSError, *MALFORMED_DATA_ERRORS):
        pass  # not written yet, or damaged
    environment = _read_entry_points([folder for folder, _ in stamps])
    _write_cache(path, {"stamps": stamps, **asdict(environment)})
    return environment


def describe_release() -> str:
    """The release of capdisc and those of the plug-ins of other distributions: an index that was
    built with others is rebuilt.

    >>> describe_release() == __version__  # where there are none
    True
    """
    plugins = read_environment().plugins
    added = ", ".join(f"{source.name} {source.release}" for source in plugins)
    return f"{__version__} with {added}" if added else __version__


def _stamp_folders() -> list[list[Any]]:
    """The folders that distributions are found in, each with its stamp. Relative ones and the
    current one are left out: whoever wrote that may have put a distribution there.
    """
    current = _stat(".")
    folders = []
    for entry in filter(os.path.isabs, dict.fromkeys(sys.path)):
        status = _stat(entry)
        is_current = status and current and os.path.samestat(status, current)
        if status and stat.S_ISDIR(status.st_mode) and not is_current:
            folders.append([entry, status.st_mtime_ns])
    return folders


def _stat(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except (OSError, ValueError):
        return None


def _stamp(path: str) -> int:
    status = _stat(path)
    return status.st_mtime_ns if status else 0


def _read_entry_points(folders: Sequence[str]) -> Environment:
    """The entry points of the distributions in these folders. Only those whose file names a group
    of ours are read with `importlib.metadata`: of 60 distributions it takes 2 ms instead of 120.
    """
    plugins: dict[str, PluginSource] = {}
    tables: dict[str, ClientTable] = {}
    for path in _find_distributions(folders):
        from importlib import metadata
        from pathlib import Path

        distribution = metadata.PathDistribution(Path(path))
        try:
            about = distribution.metadata
            origin = about["Name"], about["Version"]
            entry_points = list(distribution.entry_points)
        except MALFORMED_DATA_ERRORS:  # loading it says that it cannot be loaded
            origin, entry_points = (os.path.basename(path), ""), []
            plugins.setdefault(path, PluginSource("", "", *origin))
        for entry_point in entry_points:
            name, value = entry_point.name, entry_point.value
            # The first in the path wins, as in imports.
            if entry_point.group == GROUP:
                plugins.setdefault(name, PluginSource(name, value, *origin))
            elif entry_point.group == CLIENTS_GROUP and name not in tables:
                tables[name] = _read_clients(origin[0], value, folders)
    return Environment(
        [plugins[name] for name in sorted(plugins)], [tables[name] for name in sorted(tables)]
    )


def _find_distributions(folders: Sequence[str]) -> Iterator[str]:
    for folder in folders:
        try:
            names = sorted(os.listdir(folder))
        except OSError:
            continue
        for name in names:
            path = system.join(folder, name)
            if name.endswith(".dist-info") and b"[capdisc." in _read(f"{path}/entry_points.txt"):
                yield path


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def _read_clients(distribution: str, reference: str, folders: Sequence[str]) -> ClientTable:
    """The table in the file that "package:file" names. The package is not imported."""
    import tomllib
    from importlib.machinery import PathFinder

    package, _, name = reference.partition(":")
    top, *inner = package.split(".")
    spec = PathFinder.find_spec(top, folders)
    if spec is None or not spec.origin:
        problem = f"{distribution}: there is no package {top!r} for the clients of {reference}"
        return ClientTable(distribution, problem=problem)
    path = system.join(os.path.dirname(spec.origin), *inner, name)
    table = ClientTable(distribution, path, _stamp(path))
    try:
        clients = tomllib.loads(_read(path).decode())
    except ValueError as error:
        return replace(table, problem=f"{path}: {error}")
    # As in the cache: a date is a text.
    return replace(table, clients=json.loads(json.dumps(clients, default=str)))


def _cache_path() -> str:
    folder = system.find_user_folder("cache", os.environ, system.expanduser("~"))
    return system.join(folder, _CACHE_FILE)


def _write_cache(path: str, content: JsonObject) -> None:
    """Writes the file; where that cannot be done, and where another process reads half of it, the
    next command looks again.
    """
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(json.dumps(content))
    except OSError:
        return
