"""Where capabilities come from: one entry per format, and the file names that belong to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from capdisc_indexer.sources.files import FoundFile
from capdisc_indexer.types import Loaded


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One format. `load` never raises on what a file holds. `filenames` are the exact names that other readers look
    for, the preferred one first; files named in `companions` (lower case) belong to a file of this format beside them,
    so they are not capabilities of their own."""

    format: str
    recognise: Callable[[str], bool]
    load: Callable[[FoundFile, bytes], Loaded]
    limit_bytes: int
    filenames: tuple[str, ...] = ()
    companions: tuple[str, ...] = ()


def _named(filenames: tuple[str, ...]) -> Callable[[str], bool]:
    names = frozenset(name.lower() for name in filenames)
    return lambda filename: filename.lower() in names


# Each loader is imported by its first call: a scan that finds nothing changed parses nothing, so it needs no YAML.
def _load_capability(file: FoundFile, data: bytes) -> Loaded:
    from capdisc_indexer.sources.capability import load

    return load(file, data)


def _load_skill(file: FoundFile, data: bytes) -> Loaded:
    from capdisc_indexer.sources.skill import load

    return load(file, data)


def _load_catalogue(file: FoundFile, data: bytes) -> Loaded:
    from capdisc_indexer.sources.catalogue import load

    return load(file, data)


_MANIFESTS = ("CAPABILITY.yaml", "CAPABILITY.yml")
_SKILLS = ("SKILL.md",)
_CATALOGUES = ("capabilities.jsonl", "corpus.jsonl")

SOURCES: Mapping[str, Source] = MappingProxyType(
    {
        "capability": Source(
            format="capability",
            recognise=_named(_MANIFESTS),
            load=_load_capability,
            limit_bytes=256 * 1024,
            filenames=_MANIFESTS,
            companions=("schema.json", "skill.md"),
        ),
        "skill": Source(
            format="skill",
            recognise=_named(_SKILLS),
            load=_load_skill,
            limit_bytes=1024 * 1024,
            filenames=_SKILLS,
        ),
        "catalogue": Source(
            format="catalogue",
            recognise=_named(_CATALOGUES),
            load=_load_catalogue,
            limit_bytes=64 * 1024 * 1024,
            filenames=_CATALOGUES,
        ),
    }
)


def source_for(filename: str) -> Source | None:
    """The source whose format a file of this name has, or None."""
    return next((source for source in SOURCES.values() if source.recognise(filename)), None)
