"""The fields of a CAPABILITY.yaml with the keys that each has, and a warning for unknown keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from capdisc_indexer.sources.readers.field_reader import Fields

# The first key is the preferred one; case, `_` and `-` in a key do not matter.
MANIFEST_FIELDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "name": ("name",),
        "kind": ("kind",),
        "description": ("description",),
        "id": ("id",),
        "overlay": ("overlay",),
        "title": ("displayName", "title"),
        "category": ("category",),
        "tags": ("tags",),
        "keywords": ("keywords",),
        "phrases": ("phrases",),
        "examples": ("examples",),
        "queries": ("hypotheticalQueries",),
        "not_for": ("notFor", "doNotUseFor"),
        "requires": ("requires", "requiredTools"),
        "secrets": ("requiredSecrets", "secrets"),
        "bins": ("requiredBins", "bins"),
        "systems": ("os", "platforms"),
        "install_hint": ("installHint",),
        "composed_with": ("composedWith",),
        "related": ("related", "relatedTo", "relatedTools"),
        "edges": ("edges",),
        "risk": ("riskLevel", "risk"),
        "has_side_effects": ("hasSideEffects",),
        "confirm": ("requiresConfirmation",),
        "available": ("available",),
        "hidden": ("hidden",),
        "schema": ("inputSchema", "schema", "parameters"),
        "output_schema": ("outputSchema",),
        "input_examples": ("inputExamples",),
        "content": ("skillContent",),
        "usage_hint": ("usageHint",),
        "guidance": ("guidance",),
        "instructions": ("instructions",),
        "extract": ("extraction",),
        "run": ("run",),
        "metadata": ("metadata",),
        "version": ("version",),
        "author": ("author",),
        "license": ("license",),
        "homepage": ("homepage",),
    }
)
# Fields that a descriptor has no place for.
EXTRA_FIELDS = ("version", "author", "license", "homepage", "install_hint")
MAX_UNKNOWN = 20


def warn_of_unknown(fields: Fields) -> None:
    """Adds a warning for each unknown key, with the nearest known one."""
    known_keys = [key for keys in MANIFEST_FIELDS.values() for key in keys]
    for key, entry in list(fields.others.items())[:MAX_UNKNOWN]:
        fields.warn_at(
            entry,
            "unknown-key",
            f"unknown key {key[:64]!r}; not read",
            _suggestion(key, known_keys),
        )


def _suggestion(key: str, known_keys: Sequence[str]) -> str:
    from difflib import get_close_matches

    matches = get_close_matches(key[:64], known_keys, n=1, cutoff=0.7)
    return f"did you mean {matches[0]}?" if matches else "put other facts below metadata"
