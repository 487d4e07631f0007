"""The core of capdisc: turns folders of capability descriptions into an index, and a line of text
into a context.

Words used throughout
    capability   something an agent can use: a skill, a tool, a table, an operation
    manifest     the file that describes it (CAPABILITY.yaml, SKILL.md)
    descriptor   the same facts in one shape, whatever the format
    source       a format that descriptors are read from; root: a folder that is scanned
    finding      something wrong with a file: code, severity, message, hint, place
    query, hit, ranking   what is asked, one answer, all answers in order
    score        orders the hits of one ranking; relevance: absolute, 0..1; confidence: that the first hit is right
    encoder      turns text into a vector; embedding text: the text of a capability that is encoded
    tier         level of detail of a rendered context: 0 overview, 1 summaries, 2 detail
    block        one piece of a tier; budget: hard limit on printed tokens
    generation   one published, immutable state of the index

`import capdisc_indexer as cd` gives the front door: `cd.build`, `cd.open_index`, `cd.validate` and
`cd.watch`, which `api.py` documents with an example, and the types that they take and give. Each
name is imported when it is first used.

This package prints nothing, reads no environment variable and makes no network call.
"""

from __future__ import annotations

from capdisc_indexer.model.version import __version__ as __version__

# Not from typing: `capdisc --version` imports this module and the version alone.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from capdisc_indexer.api import (
        OpenIndex,
        RenderedContext,
        build,
        open_index,
        validate,
        watch,
    )
    from capdisc_indexer.model.errors import CapdiscError
    from capdisc_indexer.model.types import (
        BuildOptions,
        BuildReport,
        Context,
        Descriptor,
        Finding,
        Hit,
        Query,
        Ranking,
    )
    from capdisc_indexer.watching import WatchOptions, WatchUpdate

__all__ = [
    "BuildOptions",
    "BuildReport",
    "CapdiscError",
    "Context",
    "Descriptor",
    "Finding",
    "Hit",
    "OpenIndex",
    "Query",
    "Ranking",
    "RenderedContext",
    "WatchOptions",
    "WatchUpdate",
    "build",
    "open_index",
    "validate",
    "watch",
]
_MODULES = {
    "CapdiscError": "model.errors",
    "OpenIndex": "api",
    "RenderedContext": "api",
    "WatchOptions": "watching",
    "WatchUpdate": "watching",
    "build": "api",
    "open_index": "api",
    "validate": "api",
    "watch": "api",
}


def __getattr__(name: str) -> Any:
    """A name of the front door, from the module that has it."""
    from importlib import import_module

    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES.get(name, 'model.types')}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
