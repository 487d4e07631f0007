"""Every value that crosses a module boundary: frozen, flat, and free of behaviour beyond a small
derived property.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from capdisc_indexer.model.frozen import field, frozen
from capdisc_indexer.model.json_types import JsonSchema


class Severity(StrEnum):
    """How bad a finding is: an error keeps its capability out of the index, a warning does not."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@frozen(kw_only=True)
class Finding:
    """One thing that is wrong with one file, and what to do about it. Lines and columns count from
    1.
    """

    code: str
    severity: Severity
    message: str
    hint: str = ""
    path: str = ""
    line: int = 1
    column: int = 1


@frozen(kw_only=True)
class SourceRef:
    """Where a capability comes from. `pointer` tells apart several capabilities of one file (""
    for the only one).
    """

    path: str
    format: str
    pointer: str = ""
    content_hash: str = ""
    root: str = ""


@frozen(kw_only=True)
class Edge:
    """A directed relation between two capabilities; `weight` is 0..1."""

    kind: str
    source: str
    target: str
    weight: float = 1.0


@frozen(kw_only=True)
class Parameter:
    """One input of a capability, as its JSON schema declares it."""

    name: str
    type: str = "any"
    required: bool = False
    description: str = ""


@frozen(kw_only=True)
class Descriptor:
    """One capability, the same shape for every source format.

    `id` is `kind:name`, `warnings` the codes of what a reader should be wary of. `bins` are
    programs, `a|b` for one of them; `systems` are those of `sys.platform` that it works on, none
    for all. `requires`, `composed_with` and `related` hold names or ids as written; they are
    resolved against the index when a query is answered, so that a capability may appear after the
    one that needs it.
    """

    id: str
    kind: str
    name: str
    description: str
    source: SourceRef
    title: str = ""
    category: str = ""
    tags: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    requires: tuple[str, ...] = ()
    composed_with: tuple[str, ...] = ()
    related: tuple[str, ...] = ()
    edges: tuple[Edge, ...] = ()
    secrets: tuple[str, ...] = ()
    bins: tuple[str, ...] = ()
    systems: tuple[str, ...] = ()
    risk: str = ""
    has_side_effects: bool = False
    confirm: bool = False
    available: bool = True
    hidden: bool = False
    schema: JsonSchema | None = None
    output_schema: Mapping[str, Any] | None = None
    content: str = ""
    usage_hint: str = ""
    guidance: str = ""
    instructions: str = ""
    extract: Mapping[str, Any] | None = None
    run: Mapping[str, Any] | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


@frozen(kw_only=True)
class LoadedFile:
    """What one file held: its capabilities and what was wrong with it. `parts` are the
    `sources.parts.Part`s behind them, with those that came to nothing, for whoever checks more
    than a reader needs.
    """

    descriptors: tuple[Descriptor, ...] = ()
    findings: tuple[Finding, ...] = ()
    parts: tuple[Any, ...] = ()


@frozen(kw_only=True)
class Query:
    """What is asked. Several `texts` are fused; empty filters let everything through."""

    texts: tuple[str, ...]
    kinds: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    available: bool = False
    max_risk: str = ""
    limit: int = 10


@frozen(kw_only=True)
class Hit:
    """One answer. `score` orders (0..1 within this ranking), `relevance` is absolute (0..1), `via`
    names the hit that requires this one, `copies` the near copies it stands for, and `signals`
    holds each part of the score.
    """

    id: str
    score: float
    relevance: float
    signals: Mapping[str, float] = field(default_factory=dict)
    via: str = ""
    copies: tuple[str, ...] = ()


@frozen(kw_only=True)
class Ranking:
    """The answer to a query: hits best first, and everything that the reader should know about how
    it came to be.

    `unmatched` are the query's words that no capability uses, `categories` those nearest to the
    query, hits or not. `candidates` counts what was looked at, and `timings` are milliseconds by
    stage, which no answer depends on.
    """

    query: Query
    hits: tuple[Hit, ...]
    mode: str
    confidence: float
    unmatched: tuple[str, ...] = ()
    degraded: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    candidates: int = 0
    timings: Mapping[str, float] = field(default_factory=dict)


@frozen(kw_only=True)
class Block:
    """One piece of rendered text about one capability (or category); `tokens` is its exact
    count.
    """

    id: str
    text: str
    tokens: int


@frozen(kw_only=True)
class DroppedBlock:
    """A block that did not fit, or only in part."""

    id: str
    tier: int
    tokens: int
    clipped: bool = False


@frozen(kw_only=True)
class Tier:
    """One level of detail: 0 overview, 1 summaries, 2 full detail. Beside them: 3, what a session
    remembers, and 4, what the caller adds. `omitted` counts what did not fit beyond those in
    `dropped`.
    """

    level: int
    blocks: tuple[Block, ...]
    tokens: int
    dropped: tuple[DroppedBlock, ...] = ()
    omitted: int = 0


# The total of a budget that nobody set.
UNLIMITED = 1_000_000_000


@frozen(kw_only=True)
class Budgets:
    """Hard limits in tokens of printed text, for each tier, for what a session remembers, and for
    all of it.
    """

    tier0: int = 200
    tier1: int = 800
    tier2: int = 2_000
    memory: int = 200
    total: int = 3_000


@frozen(kw_only=True)
class LayoutPiece:
    """Of a layout: some text, or the name of the part that stands there. What is not `stable` may
    differ from turn to turn.
    """

    text: str = ""
    part: str = ""
    stable: bool = True


@frozen(kw_only=True)
class PrintOptions:
    """How a context is printed: in the order of `layout` (none: the usual one), split into
    "prefix", "suffix" or "both" ("": in one). `facts` are what formats for programs say beside it,
    `request` what a user is to be heard saying.
    """

    layout: tuple[LayoutPiece, ...] = ()
    split: str = ""
    request: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)


@frozen(kw_only=True)
class Context:
    """What `render` prints: tiers of blocks, already within their budgets. `tokens` counts what is
    printed, `text_tokens` the prompt in it where a format wraps it up.
    """

    ranking: Ranking
    tiers: tuple[Tier, ...]
    tokens: int
    budgets: Budgets
    tokenizer: str
    text_tokens: int = 0
    printing: PrintOptions = field(default_factory=PrintOptions)


@frozen(kw_only=True)
class Generation:
    """One published state of the index. `fingerprint` is of the encoder behind the vectors,
    `pieces` of the one behind the bags of pieces, `background` the cosine that meaningless queries
    reach. `made_by` is the release that built it, `builder_id` what the state of the user who
    built it knows it by.
    """

    number: int
    schema_version: int
    made_by: str
    builder_id: str
    encoder: str
    fingerprint: str
    pieces: str
    background: float
    counts: Mapping[str, int]
    files: Mapping[str, Any]
    built_at: str


@frozen(kw_only=True)
class DeclaredSource:
    """A `[[source]]` of the configuration: files at an absolute `path` (a file, a folder or a
    pattern), to be read as `format`, with a name for what they describe.

    `origin` is the file that declares it, `trusted` says that this is the user's own. `within`
    keeps to what lies in these places (none: everywhere), `answers_folder` is the folder that
    answers of programs are kept in. `allow_secret_files` is the user's own setting: files that
    hold secrets are read as well. What leads out of the real folder or file `confined_to` (empty:
    there is no such limit) once links are resolved is not read.
    """

    format: str
    path: str
    name: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    origin: str = ""
    trusted: bool = False
    within: tuple[str, ...] = ()
    answers_folder: str = ""
    allow_secret_files: bool = False
    confined_to: str = ""


@frozen(kw_only=True)
class DefinitionGuard:
    """What tells changed definitions of others from the user's own: the file that remembers what
    was accepted, and the folders (without links) whose skills and manifests are the user's to
    change.
    """

    memory: str
    own_places: tuple[str, ...] = ()


@frozen(kw_only=True)
class HeldDefinition:
    """A capability that is left out since its definition changed: the id and the file, why, and
    when the one before it was first seen ("": nobody knows).
    """

    id: str
    path: str
    reasons: tuple[str, ...]
    accepted: str = ""


@frozen(kw_only=True)
class BuildOptions:
    """How to build: which encoder (None: the last build's), and how much of the last build to
    trust.

    Without `may_rebuild` an index that is damaged or of another version is an error instead of
    being built anew.

    An encoder that cannot be loaded is an error when it is required; else searching goes by words
    alone. A file that was changed less than `grace_s` seconds ago and fails to parse keeps its
    last version: it may be half written. `sources` are read beside the roots. Of the last build,
    nothing is taken that has another `builder_id` (None: whoever built it). A root that `confined`
    names is read only as long as it leads into one of these real folders. Without a `guard` no
    changed definition is held back.
    """

    encoder: str | None = None
    encoder_required: bool = False
    rebuild: bool = False
    may_rebuild: bool = True
    verify: bool = False
    lock_timeout_s: float = 10.0
    grace_s: float = 0.0
    sources: tuple[DeclaredSource, ...] = ()
    guard: DefinitionGuard | None = None
    builder_id: str | None = None
    confined: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@frozen(kw_only=True)
class BuildReport:
    """What a build did. `published` is False when nothing had changed. `held_definitions` are left
    out until somebody has looked at them, `changed_definitions` the ids of those that changed in
    ways that nobody has to look at.
    """

    generation: Generation
    published: bool
    counts: Mapping[str, int]
    findings: tuple[Finding, ...]
    degraded: tuple[str, ...] = ()
    seconds: float = 0.0
    roots: tuple[str, ...] = ()
    dropped_roots: tuple[str, ...] = ()
    dropped_sources: tuple[str, ...] = ()
    held_definitions: tuple[HeldDefinition, ...] = ()
    changed_definitions: tuple[str, ...] = ()
