"""Which plug-ins there are: those that come with capdisc, and those of other distributions, which
name theirs as entry points of the group `capdisc.plugins`.

`importlib.metadata.entry_points` takes 53 ms, half of a cold query. So the entry points are kept in
a file of the cache, which is good as long as no folder of the environment changed: an installer
adds a folder for each distribution. A query asks for plug-ins only where it meets a name that the
core does not have.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Any, NamedTuple

from capdisc_indexer.model.errors import MALFORMED_DATA_ERRORS, PluginError
from capdisc_indexer.plugins.plugin import Plugin

# Paths are plain text: a Path takes ten times as long.
# ruff: noqa: PTH103, PTH105, PTH109, PTH111, PTH112, PTH116, PTH117, PTH118, PTH120, PTH123

GROUP = "capdisc.plugins"
# Those of this distribution: the name, and where the value is.
BUNDLED = tuple(
    (name, f"capdisc_{name}.plugin:PLUGIN")
    for name in ("data", "run", "sessions", "audit", "remote")
)
_CACHE_FILE = "plugins.json"
_REINSTALL_HINT = "install capdisc again"


class PluginSource(NamedTuple):
    """Where a plug-in comes from: its name, "module:attribute" of its value, and the name of its
    distribution, "" for those that come with capdisc.
    """

    name: str
    reference: str
    distribution: str = ""

    @property
    def title(self) -> str:
        """What messages call it."""
        origin = f" of {self.distribution}" if self.distribution else ""
        return f"the plug-in {self.name!r}{origin}"


def load_plugins() -> tuple[Plugin, ...]:
    """All plug-ins that can be loaded, those of capdisc first."""
    return _load_all()[0]


def find_problems() -> Mapping[str, str]:
    """What is wrong with each plug-in that cannot be loaded, by its title."""
    return _load_all()[1]


def load_attribute(reference: str) -> Any:
    """What "module:attribute" names, or the module itself where there is no attribute. Raises
    PluginError where it does not exist, and ImportError where it needs a library that does not.
    """
    from importlib import import_module

    module, _, attribute = reference.partition(":")
    try:
        loaded = import_module(module)
        return getattr(loaded, attribute) if attribute else loaded
    except (ModuleNotFoundError, AttributeError) as error:
        if isinstance(error, ImportError) and not f"{module}.".startswith(f"{error.name}."):
            raise
        raise PluginError(f"{reference} cannot be loaded: {error}", _hint(module)) from error


def find_service(name: str) -> Any:
    """The module that provides the service, None where no plug-in does."""
    reference = find_references("services").get(name)
    return load_attribute(reference) if reference else None


def load_service(name: str) -> Any:
    """The module that provides the service. Raises PluginError where no plug-in does."""
    service = find_service(name)
    if service is None:
        raise missing_error(f"the service {name!r}")
    return service


def find_references(field: str) -> Mapping[str, str]:
    """What all plug-ins have in this field, which holds "module:attribute" by name; the first one
    that has a name provides it.
    """
    references: dict[str, str] = {}
    for plugin in load_plugins():
        references |= {**getattr(plugin, field), **references}  # in the order of the plug-ins
    return references


def missing_error(what: str) -> PluginError:
    """The error for something that no plug-in adds, which names those that cannot be loaded."""
    problems = "".join(f"; {title}: {problem}" for title, problem in find_problems().items())
    return PluginError(f"no plug-in provides {what}{problems}", _REINSTALL_HINT)


def read_resource(reference: str) -> str:
    """The text of the file that "module:file" names, which lies in the folder of the module. Raises
    PluginError.
    """
    module, _, name = reference.partition(":")
    folder = os.path.dirname(load_attribute(module).__file__ or "")
    try:
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            return file.read()
    except (OSError, ValueError) as error:
        raise PluginError(f"{reference} cannot be read: {error}", _hint(module)) from error


def _hint(module: str) -> str:
    bundled = any(reference.startswith(module.partition(".")[0]) for _, reference in BUNDLED)
    return _REINSTALL_HINT if bundled else f"update or uninstall the package of {module}"


@cache
def _load_all() -> tuple[tuple[Plugin, ...], Mapping[str, str]]:
    plugins: list[Plugin] = []
    problems: dict[str, str] = {}
    for source in _find_sources():
        try:
            plugin = load_attribute(source.reference)
        except PluginError as error:
            problems[source.title] = str(error.__cause__ or error.message)
        except Exception as error:  # the code of others, which may raise anything
            problems[source.title] = f"{type(error).__name__}: {error}"
        else:
            if isinstance(plugin, Plugin):
                plugins.append(plugin)
            else:
                problems[source.title] = f"{source.reference} is not a Plugin"
    return tuple(plugins), problems


def _find_sources() -> Iterator[PluginSource]:
    for name, reference in BUNDLED:
        yield PluginSource(name, reference)
    yield from _find_entry_points()


def _find_entry_points() -> Sequence[PluginSource]:
    """The plug-ins of other distributions, in the order of their names."""
    folders = _environment_folders()
    stamps = [[folder, os.stat(folder).st_mtime_ns] for folder in folders]
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    path = os.path.join(cache, "capdisc", _CACHE_FILE)
    try:
        with open(path, encoding="utf-8") as file:
            known = json.load(file)
        if known["stamps"] == stamps:
            return [PluginSource(*map(str, row)) for row in known["rows"]]
    except (OSError, *MALFORMED_DATA_ERRORS):
        pass  # there is none yet, or it is damaged
    rows = _read_entry_points(folders)
    temporary = f"{path}.{os.getpid()}"
    with suppress(OSError):  # where it cannot be written, the next command looks again
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with open(temporary, "w", encoding="utf-8") as file:
            json.dump({"stamps": stamps, "rows": rows}, file)
        os.replace(temporary, path)
    return rows


def _environment_folders() -> list[str]:
    """The folders that distributions are found in. The current one is not, and none that is named
    from there: whoever wrote it may have put a distribution into it.
    """
    try:
        current = os.getcwd()
    except OSError:  # it was deleted
        current = ""
    return [
        entry
        for entry in dict.fromkeys(sys.path)
        if os.path.isabs(entry) and os.path.isdir(entry) and os.path.realpath(entry) != current
    ]


def _read_entry_points(folders: Sequence[str]) -> list[PluginSource]:
    from importlib import metadata

    found: dict[str, PluginSource] = {}
    for distribution in metadata.distributions(path=list(folders)):
        for entry_point in distribution.entry_points.select(group=GROUP):
            source = PluginSource(
                entry_point.name, entry_point.value, distribution.metadata["Name"] or ""
            )
            found.setdefault(entry_point.name, source)  # the first in the path wins, as in imports
    return [found[name] for name in sorted(found)]
