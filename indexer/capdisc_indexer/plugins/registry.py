"""Which plug-ins there are: those that come with capdisc, and those of other distributions. Their
code is imported only where a command meets a name that the core does not have.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from capdisc_indexer.model.errors import PluginError, UsageError
from capdisc_indexer.plugins.entry_points import PluginSource, read_environment

if TYPE_CHECKING:
    from capdisc_indexer.plugins.plugin import Plugin

# Those of this distribution: the name, and where the value is.
BUNDLED = tuple(
    (name, f"capdisc_{name}.plugin:PLUGIN")
    for name in ("data", "run", "sessions", "audit", "remote")
)
_REINSTALL_HINT = "install capdisc again"
# Of an error that the code of others raised.
_MAX_CHARACTERS = 300


def load_plugins() -> tuple[Plugin, ...]:
    """All plug-ins that can be loaded, those of capdisc first."""
    return tuple(_load_all()[0].values())


def load_added_plugins() -> Mapping[PluginSource, Plugin]:
    """The plug-ins of other distributions that can be loaded."""
    if not read_environment().plugins:
        return {}
    return {source: plugin for source, plugin in _load_all()[0].items() if source.distribution}


def find_problems() -> Sequence[str]:
    """A text for each plug-in that cannot be loaded, which says why."""
    return _load_all()[1]


def describe_problems() -> str:
    """The plug-ins that cannot be loaded, as the end of an error about an unknown name; "" where
    there are none.
    """
    return "".join(f"; {problem}" for problem in find_problems())


def find_broken_references() -> Sequence[str]:
    """A text for each plug-in that names what cannot be imported. All code of other distributions
    is imported for it; of those of capdisc only the tools, which are left out where that fails
    (importing all takes 0.6 s).
    """
    problems = []
    for source, plugin in _load_all()[0].items():
        references = list(plugin.tools)
        if source.distribution:
            mappings = (plugin.render_formats, plugin.definition_formats, plugin.stores)
            references += [
                reference
                for mapping in (*mappings, plugin.services)
                for reference in mapping.values()
            ]
            references += [command.function for command in plugin.commands.values()]
            references += plugin.checks
        for reference in references:
            try:
                load_attribute(reference)
            except Exception as error:  # the code of others, which may raise anything
                problems.append(_describe(source, error))
                break
    return problems


def _describe(source: PluginSource, error: Exception) -> str:
    text = f"{type(error).__name__}: {error}"
    if isinstance(error, PluginError):
        text = f"{error.message} ({error.hint})"
    return f"{source.title} cannot be loaded: {' '.join(text.split())[:_MAX_CHARACTERS]}"


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
        raise PluginError(f"there is no {reference}: {error}", _hint(module)) from error


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
    return PluginError(f"no plug-in provides {what}{describe_problems()}", _REINSTALL_HINT)


def _hint(module: str) -> str:
    bundled = any(reference.startswith(module.partition(".")[0]) for _, reference in BUNDLED)
    return _REINSTALL_HINT if bundled else f"update or uninstall the package of {module}"


# The plug-in that is being loaded.
_LOADING: list[str] = []


@cache
def _load_all() -> tuple[Mapping[PluginSource, Plugin], Sequence[str]]:
    from capdisc_indexer.plugins.plugin import Plugin  # which no query needs

    if _LOADING:
        raise PluginError("its module imports what needs all plug-ins", "import it in a function")
    plugins: dict[PluginSource, Plugin] = {}
    problems: list[str] = []
    bundled = (PluginSource(name, reference) for name, reference in BUNDLED)
    for source in (*bundled, *read_environment().plugins):
        _LOADING.append(source.name)
        try:
            plugin = load_attribute(source.reference)
            if not isinstance(plugin, Plugin):
                raise PluginError(
                    f"{source.reference} is not a Plugin",
                    f"update or uninstall {source.distribution}",
                )
            plugins[source] = plugin
        except Exception as error:  # the code of others, which may raise anything
            problems.append(_describe(source, error))
        finally:
            _LOADING.pop()
    return plugins, problems


def find_store(address: str) -> Any:
    """The module that reaches this address, by its scheme; None where it is a path. Raises
    UsageError for a scheme that no plug-in has, PluginError where the plug-in cannot be loaded.
    """
    # One slash is enough, as `Path` makes one of two.
    match = re.match(r"([a-z][a-z0-9]+):/", address)
    if not match:
        return None
    stores = find_references("stores")
    if match[1] in stores:
        return load_attribute(stores[match[1]])
    if not stores:
        raise missing_error("an index on an object store")
    raise UsageError(
        "an index lies in a folder or at s3://BUCKET/PREFIX", "other stores speak S3, too"
    )
