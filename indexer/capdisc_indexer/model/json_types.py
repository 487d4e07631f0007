"""Defines the shapes of JSON values that cross packages.

Values that an index stores have a fixed shape, and a type: the header of a capability, the
manifest, the overview. Values that others wrote (schemas, arguments, answers) have none; an alias
says what they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from typing import NotRequired, TypedDict
else:

    class TypedDict(dict):
        """A plain dict at run time: the classes of `typing` take 0.1 ms each, on every start."""

        def __init_subclass__(cls, total: bool = True) -> None: ...


# An object that was read from JSON or is about to be written.
JsonObject: TypeAlias = dict[str, Any]
# A JSON Schema, of any draft, as its author wrote it.
JsonSchema: TypeAlias = Mapping[str, Any]
# The arguments of a call by name, as a model or a person gave them.
Arguments: TypeAlias = Mapping[str, Any]


class SourceRecord(TypedDict):
    """A SourceRef as JSON."""

    path: str
    format: str
    pointer: str
    content_hash: str
    root: str
    other_paths: NotRequired[Sequence[str]]
    link_target: NotRequired[str]


class ParameterRecord(TypedDict):
    """A Parameter as JSON."""

    name: str
    type: NotRequired[str]
    required: NotRequired[bool]
    description: NotRequired[str]


class EdgeRecord(TypedDict):
    """An Edge as JSON."""

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
    """The prerequisites of a capability; a header holds them, too."""

    secrets: Sequence[str]
    bins: Sequence[str]
    systems: Sequence[str]


class CapabilityHeader(TypedDict):
    """The short fields of a capability, for lists, filters and summaries.

    The fields of Descriptor without the long ones; those with their default value are left out.
    The build adds `likeness` (MinHash signatures of description and content, 128 hex digits each,
    a space between), `size` (tokens and characters in full, tokens of name and description) and
    `exclusions` (all that the capability is not for: what is declared, and what its texts say).
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
    not_for: NotRequired[Sequence[str]]
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
    stale: NotRequired[bool]
    usage_hint: NotRequired[str]
    parameters: NotRequired[Sequence[ParameterRecord]]
    edges: NotRequired[Sequence[EdgeRecord]]
    likeness: NotRequired[str]
    exclusions: NotRequired[Sequence[str]]
    warnings: NotRequired[Sequence[str]]
    other_names: NotRequired[Sequence[str]]
    skill_requirements: NotRequired[Sequence[SkillRequirement]]
    size: NotRequired[Sequence[int]]


class OverviewCard(TypedDict):
    """The fields of a capability that the lines of an overview are made of."""

    kind: str
    name: str
    category: str


class CapabilityInterface(TypedDict, total=False):
    """What tells which capability gives what another one needs; all names as words in the
    singular.

    `route` is the "GET /path" of an endpoint; `needs` is what each required parameter identifies,
    by the parameter's name; `inputs` are all required parameters; `hints` are parameters with a
    description that may name a producer; `yields` are the identifying properties of the output
    schema, `lists` the plural nouns of the description. With `is_api`, what stands in the same
    file belongs to one API.
    """

    route: str
    needs: Mapping[str, str]
    inputs: Sequence[str]
    hints: Sequence[Sequence[str]]
    yields: Sequence[str]
    lists: Sequence[str]
    is_api: bool


class CapabilityCard(OverviewCard):
    """What a build keeps of a capability for overview and columns; `size` as in its header.

    `is_general` says that the capability declares no category. `interface` is left out where it is
    empty.
    """

    is_general: bool
    hidden: bool
    size: Sequence[int]
    interface: NotRequired[CapabilityInterface]


class NumberedColumn(TypedDict):
    """A column with few different values: each once, and for each row the number of its value."""

    values: list[str]
    numbers: list[int]


class ColumnsRecord(TypedDict):
    """Columns as JSON: `general` and `hidden` hold row numbers, all other columns have a value for
    each id.
    """

    ids: list[str]
    names: list[str]
    kinds: NumberedColumn
    categories: NumberedColumn
    general: list[int]
    tokens: list[int]
    characters: list[int]
    listing_tokens: list[int]
    hidden: list[int]


class CategoryRecord(TypedDict):
    """A category: how many capabilities it has, and its line at three lengths, longest first."""

    category: str
    count: int
    lines: Sequence[str]


class Overview(TypedDict):
    """The summary that a build stores of the whole catalogue.

    `static` holds the tokens and characters of everything in full, `counts` the tokens of each
    text that is printed often, `guided` the categories that have guidance.
    """

    categories: Sequence[CategoryRecord]
    kinds: Mapping[str, int]
    static: list[int]
    guided: Sequence[str]
    counts: Mapping[str, int]


class ScanRecord(TypedDict):
    """The facts that a build stores of its scan. `findings` are severity, code and path of those
    that are about no file that is indexed. `covers` are the fields of a Coverage, `devices` the
    numbers of the file systems of covered folders, `missing` those of them that are gone, each
    with the time since when. `workspace` is the folder that the index was built for.
    """

    roots: Sequence[str]
    scanned_at_ns: int
    stats: Mapping[str, Any]
    builder_id: str
    findings: NotRequired[Sequence[tuple[str, str, str]]]
    covers: NotRequired[Mapping[str, Any]]
    devices: NotRequired[Mapping[str, int]]
    missing: NotRequired[Mapping[str, float]]
    workspace: NotRequired[str]


class GuidanceRecord(TypedDict):
    """The guidance of categories by their case-folded names, and the tokens of each line."""

    categories: Mapping[str, Any]
    counts: Mapping[str, int]


class FileEntry(TypedDict):
    """The size in bytes and the digest of one file of a generation."""

    size: int
    sha256: str


class BuildFacts(TypedDict):
    """The fields of Generation that the build decides."""

    made_by: str
    builder_id: str
    encoder: str
    fingerprint: str
    pieces: str
    background: float
    reranker: str
    reranker_fingerprint: str
    counts: Mapping[str, int]
    built_at: str


class Manifest(BuildFacts):
    """The manifest of a generation: all fields of Generation but its number."""

    schema_version: int
    files: Mapping[str, FileEntry]
