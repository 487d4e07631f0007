"""The shapes of JSON values that cross packages.

What an index stores has a fixed shape, and a type here: the header of a capability, the overview,
what is kept of a scan. What others wrote (schemas, arguments, answers) has none; its name says
what it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypeAlias, TypedDict

# An object that was read from JSON, or is about to be written.
JsonObject: TypeAlias = dict[str, Any]
# A JSON Schema, of any draft, as its author wrote it.
JsonSchema: TypeAlias = Mapping[str, Any]
# Arguments of a call by name, as a model or a person gave them.
Arguments: TypeAlias = Mapping[str, Any]


class SourceRecord(TypedDict):
    """Where a capability was read: SourceRef as JSON."""

    path: str
    format: str
    pointer: str
    content_hash: str
    root: str


class ParameterRecord(TypedDict):
    """One parameter: Parameter as JSON."""

    name: str
    type: NotRequired[str]
    required: NotRequired[bool]
    description: NotRequired[str]


class EdgeRecord(TypedDict):
    """One relation to another capability: Edge as JSON."""

    kind: str
    source: str
    target: str
    weight: float


class SkillRequirement(TypedDict):
    """A name that a skill needs; `why` is the field of its frontmatter, `weight` 0..1."""

    target: str
    weight: float
    why: str


class Requirements(TypedDict, total=False):
    """What a capability cannot be used without; a header is one, too."""

    secrets: Sequence[str]
    bins: Sequence[str]
    systems: Sequence[str]


class CapabilityHeader(TypedDict):
    """What an index stores of a capability for lists, filters and summaries.

    The fields of Descriptor but for the long ones, each left out where it has its default; then
    what the build adds: `likeness` (64 hexadecimal digits of a MinHash, a space where a hash is
    missing) and `size` (tokens and characters in full, tokens of name and description).
    """

    id: str
    kind: str
    name: str
    description: str
    source: SourceRecord
    title: NotRequired[str]
    category: NotRequired[str]
    tags: NotRequired[Sequence[str]]
    phrases: NotRequired[Sequence[str]]
    related: NotRequired[Sequence[str]]
    requires: NotRequired[Sequence[str]]
    composed_with: NotRequired[Sequence[str]]
    secrets: NotRequired[Sequence[str]]
    bins: NotRequired[Sequence[str]]
    systems: NotRequired[Sequence[str]]
    risk: NotRequired[str]
    confirm: NotRequired[bool]
    has_side_effects: NotRequired[bool]
    available: NotRequired[bool]
    hidden: NotRequired[bool]
    usage_hint: NotRequired[str]
    parameters: NotRequired[Sequence[ParameterRecord]]
    edges: NotRequired[Sequence[EdgeRecord]]
    likeness: NotRequired[str]
    warnings: NotRequired[Sequence[str]]
    skill_requirements: NotRequired[Sequence[SkillRequirement]]
    size: NotRequired[Sequence[int]]


class CategoryRecord(TypedDict):
    """A category: how many capabilities it has, and its line at three lengths, longest first."""

    category: str
    count: int
    lines: Sequence[str]


class Overview(TypedDict):
    """What a build writes down of the whole catalogue.

    `static` is tokens and characters of everything in full; `counts` the tokens of each piece of
    text that prints often; `guided` the categories that have guidance.
    """

    categories: Sequence[CategoryRecord]
    kinds: Mapping[str, int]
    static: list[int]
    guided: Sequence[str]
    counts: Mapping[str, int]


class ScanRecord(TypedDict):
    """What a build writes down of its scan."""

    roots: Sequence[str]
    scanned_at_ns: int
    stats: Mapping[str, Any]
    builder_id: str


class GuidanceRecord(TypedDict):
    """The guidance of categories by their names, and the tokens of each line of it."""

    categories: Mapping[str, Any]
    counts: Mapping[str, int]
