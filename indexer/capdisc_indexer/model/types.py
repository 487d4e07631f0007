"""Defines the values that cross packages: frozen, flat, and without behaviour."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, TypeAlias

from capdisc_indexer.model.frozen import field, fields, frozen
from capdisc_indexer.model.json_types import FileEntry, JsonObject, JsonSchema


class Severity(StrEnum):
    """How bad a finding is: an error keeps its capability out of the index, a warning does not."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@frozen
class Finding:
    """One problem of one file, and what to do about it. Lines and columns count from 1."""

    code: str
    severity: Severity
    message: str
    hint: str = ""
    path: str = ""
    line: int = 1
    column: int = 1


@frozen(kw_only=True)
class RuleExplanation:
    """One rule: what it finds in a sentence, why it exists, and what to do. `severity` is that of
    its worst finding under the profile `spec`; `refs` name the sources of the rule; `fixable` says
    whether `--fix` repairs its findings.
    """

    code: str
    group: str
    severity: Severity
    summary: str
    why: str
    fix: str
    refs: tuple[str, ...] = ()
    fixable: bool = False


@frozen(kw_only=True)
class SourceRef:
    """Where a capability comes from.

    `pointer` distinguishes several capabilities of one file ("" for the only one). `other_paths`
    lead to the same file by links. `link_target` is the real file or folder outside of the
    scanned ones that a link led to, "" for a file inside.
    """

    path: str
    format: str
    pointer: str = ""
    content_hash: str = ""
    root: str = ""
    other_paths: tuple[str, ...] = ()
    link_target: str = ""


@frozen(kw_only=True)
class Edge:
    """A directed relation between two capabilities; `weight` is 0..1."""

    kind: str
    source: str
    target: str
    weight: float = 1.0


@frozen
class ProducerEdge:
    """A capability, by id, that gives what another one needs; `weight` is 0..1, `why` names the
    parameter and the rule.
    """

    producer: str
    weight: float
    why: str


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

    `id` is `kind:name`; `warnings` holds rule codes that a reader of the capability should know.
    `bins` are programs, `a|b` for one of them; `systems` are the values of `sys.platform` that it
    works on, none for all. `stale` says that its file can no longer be read, and this is the last
    version that could. `not_for` holds requests and subjects that its author excludes.
    `input_examples` are arguments of whole calls. `other_names` are its name and id as written,
    where those in use are safer ones. `overlay` says which overlays add to it, and what its file
    says instead. `requires`, `composed_with` and `related` hold names or ids as written; they are
    resolved against the index when a query is answered, so that a capability may appear after the
    one that requires it.
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
    not_for: tuple[str, ...] = ()
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
    stale: bool = False
    schema: JsonSchema | None = None
    output_schema: Mapping[str, Any] | None = None
    input_examples: tuple[JsonObject, ...] = ()
    content: str = ""
    usage_hint: str = ""
    guidance: str = ""
    instructions: str = ""
    extract: Mapping[str, Any] | None = None
    run: Mapping[str, Any] | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    overlay: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    other_names: tuple[str, ...] = ()


# The fields that lists of capabilities print as JSON, in this order.
LISTED_FIELDS = ("name", "kind", "title", "description", "category", "tags", "risk", "confirm")


# What an overlay may say.
OVERLAY_FIELDS = ("description", "phrases", "tags", "category", "risk", "requires")


@frozen(kw_only=True)
class Overlay:
    """What a settings file or a manifest (`origin`) says about capabilities that come from
    elsewhere: those whose ids fit the pattern `id`. `is_own`: it stands in the user's own
    settings.
    """

    id: str
    origin: str
    description: str = ""
    phrases: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    category: str = ""
    risk: str = ""
    requires: tuple[str, ...] = ()
    is_own: bool = False


@frozen(kw_only=True)
class LoadedFile:
    """The capabilities and overlays of one file and its findings.

    `parts` are what the capabilities were made from, and parts that became none, for validation,
    which checks more than a reader needs.
    """

    descriptors: tuple[Descriptor, ...] = ()
    findings: tuple[Finding, ...] = ()
    parts: tuple[Any, ...] = ()
    overlays: tuple[Overlay, ...] = ()


# By the name of a preset, the names of the capabilities that it combines.
Presets: TypeAlias = Mapping[str, tuple[str, ...]]


@frozen(kw_only=True)
class RankingChoices:
    """What a user may choose about a ranking.

    `splits`: a text of several clauses is also searched clause by clause. `refuses`: where nothing
    fits there are no hits, and else the nearest, unjudged. `synonyms` are words of
    the user by the word that a query may have; `use_gains` (0..1) say by id by which share of its
    score a hit rises because it was used. Members of one of the `presets` count as used together.
    What lies in the folder `workspace` comes before what is near it and does not ("": no folder).
    """

    splits: bool = True
    refuses: bool = True
    synonyms: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    use_gains: Mapping[str, float] = field(default_factory=dict)
    presets: Presets = field(default_factory=dict)
    workspace: str = ""


@frozen(kw_only=True)
class Query:
    """A search request. Several `texts` are fused; all other fields but `limit`, `graph_boost`,
    `choices` and `presets` are filters, and empty ones let everything through. `graph_boost`
    (0..1) is how much a hit gains from hits that are used together with it; None is the measured
    share. The members of the named `presets` come along with the hits.
    """

    texts: tuple[str, ...]
    kinds: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    available: bool = False
    max_risk: str = ""
    limit: int = 10
    graph_boost: float | None = None
    choices: RankingChoices = RankingChoices()
    presets: tuple[str, ...] = ()

    @property
    def filters(self) -> frozenset[str]:
        """The names of the filters that are set."""
        others = ("texts", "limit", "graph_boost", "choices", "presets")
        names = (name for name in fields(self) if name not in others)
        return frozenset(name for name in names if getattr(self, name))


# The fields of a Descriptor that a query filters by, each with the field of Query that holds the
# values of which one is enough, whatever the case of their letters.
FACETS = (("kind", "kinds"), ("category", "categories"), ("tags", "tags"))


@frozen(kw_only=True)
class Hit:
    """One capability of an answer.

    `score` (0..1) orders the hits of one ranking; `relevance` (0..1) can be compared between
    queries, and falls with the rank. `via` names the hit that requires this one, `copies` the near
    copies that it stands for, and `signals` holds each part of the score. `section` names the
    section of its body that fits best, "" where none stands out.
    """

    id: str
    score: float
    relevance: float
    signals: Mapping[str, float] = field(default_factory=dict)
    via: str = ""
    copies: tuple[str, ...] = ()
    section: str = ""


@frozen(kw_only=True)
class Verdict:
    """Whether anything here answers a text (`fits`) that asks for something (`is_request`), the
    score 0..1 that says whether it asks, and what the score comes from.

    `parts` holds, by name, the text's own score 0..1 and the evidence of the search. `reason` says
    why a text is not a request for anything here: `talk`, `unclear` (something fits, and the text
    hardly asks for it), `unknown-words` (no capability mentions the words that say the most) or
    `nothing-fits`; "" for a request.
    """

    fits: bool
    is_request: bool
    score: float
    parts: Mapping[str, float]
    reason: str = ""


@frozen(kw_only=True)
class Ranking:
    """The answer to a query: hits, best first, and how they were found.

    `degraded` says what the search had to do without. `unmatched` are the query's words that no
    capability uses, `corrections` what was read in place of mistyped ones, `categories` those
    nearest to the query, with or without hits. `candidates` counts the capabilities that were
    scored, and `timings` are milliseconds by stage, which no answer depends on. `gate` is the
    verdict on the texts; None where everything is answered.
    """

    query: Query
    hits: tuple[Hit, ...]
    mode: str
    confidence: float
    unmatched: tuple[str, ...] = ()
    corrections: Mapping[str, str] = field(default_factory=dict)
    degraded: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    candidates: int = 0
    timings: Mapping[str, float] = field(default_factory=dict)
    gate: Verdict | None = None


@frozen(kw_only=True)
class Block:
    """A rendered text about one capability or category; `tokens` is its exact count."""

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
    """One level of detail: 0 overview, 1 summaries, 2 full detail, 3 the session, 4 additions of
    the caller.

    `omitted` counts the capabilities that did not fit beyond those in `dropped`.
    """

    level: int
    blocks: tuple[Block, ...]
    tokens: int
    dropped: tuple[DroppedBlock, ...] = ()
    omitted: int = 0


# The total where no budget is set.
UNLIMITED = 1_000_000_000


@frozen(kw_only=True)
class ModeChoice:
    """The mode that a request asks for ("": none), the words that say so, and how sure that is,
    0..0.9: 0.5 and 0.1 for each word; 1 where the request names the mode.
    """

    mode: str
    words: tuple[str, ...] = ()
    confidence: float = 0.0


@frozen(kw_only=True)
class Budgets:
    """Hard limits in tokens of printed text: for each tier, for the session, and in total."""

    tier0: int = 200
    tier1: int = 800
    tier2: int = 2_000
    memory: int = 200
    total: int = 3_000


@frozen(kw_only=True)
class LayoutPiece:
    """One piece of a layout: a text, or the name of a part of the context.

    A piece that is not `stable` may differ from turn to turn.
    """

    text: str = ""
    part: str = ""
    stable: bool = True


@frozen(kw_only=True)
class PrintOptions:
    """How a context is printed.

    `layout` gives the order of its parts (empty: the usual one), `split` is "prefix", "suffix",
    "both" or "" (not split). `facts` are additional fields of formats for programs, `request` is
    the message of the user.
    """

    layout: tuple[LayoutPiece, ...] = ()
    split: str = ""
    request: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)


@frozen(kw_only=True)
class Context:
    """A context that `render` prints: tiers of blocks within their budgets.

    `tokens` counts the printed text, `text_tokens` the prompt in it where a format wraps the
    prompt.
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
    """One published state of the index.

    `made_by` is the release that built it; `builder_id` is also in the state of the user who built
    it. `fingerprint` is that of the encoder of the vectors, `pieces` that of the encoder of the
    token bags, `background` the noise floor: the cosine that meaningless queries reach. `reranker`
    names the encoder that reorders hits, with the fingerprint of its vectors, "" without any.
    """

    number: int
    schema_version: int
    made_by: str
    builder_id: str
    encoder: str
    fingerprint: str
    pieces: str
    background: float
    reranker: str
    reranker_fingerprint: str
    counts: Mapping[str, int]
    files: Mapping[str, FileEntry]
    built_at: str


@frozen(kw_only=True)
class DeclaredSource:
    """A `[[source]]` of the configuration: files at the absolute `path` (a file, a folder or a
    pattern), read as `format`; `name` names what they describe.

    `origin` is the file that declares it; `trusted`: that file is the user's own. Only files in
    `within` are read (empty: everywhere), and none that leads, links resolved, out of the folder
    or file `confined_to` (empty: no such limit). `answers_folder` holds stored answers of programs
    and servers. `allow_secret_files` is the user's setting to read files that hold secrets.

    With `url` it is a document on the web, and `path` is where its last copy lies; with `text` it
    is that text itself, which lies at `path` for those who read it.

    With `is_conventional` it is a folder of a client rather than a declaration of anybody: it may
    be empty, and links in it count as in a scanned folder.
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
    is_conventional: bool = False
    url: str = ""
    text: str = ""


@frozen(kw_only=True)
class LinkRules:
    """Which links a scan follows out of the scanned folders, and which folders in those of the
    workspace it enters.

    A link that lies in one of `own_places` leads anywhere, a link in `workspace` anywhere inside
    it ("": no such folder); all are folders without links. A folder of another user than
    `own_users` is left out (empty: none is). `trusted` are the lines of the links and of other
    users' folders that the user allowed, as `TrustRequest` writes them.
    """

    workspace: str = ""
    own_places: tuple[str, ...] = ()
    trusted: frozenset[str] = frozenset()
    own_users: frozenset[int] = frozenset()


@frozen(kw_only=True)
class DefinitionGuard:
    """How a build recognises changed definitions that nobody accepted.

    `memory` is the file of accepted definitions; skills and manifests in `own_places` (folders
    without links) are the user's own and may change.
    """

    memory: str
    own_places: tuple[str, ...] = ()


@frozen(kw_only=True)
class HeldDefinition:
    """A capability that is left out because its definition changed.

    `accepted` is when the definition before it was first seen ("": unknown).
    """

    id: str
    path: str
    reasons: tuple[str, ...]
    accepted: str = ""


@frozen
class PassageLimits:
    """How much of one body is indexed in passages: up to this many of them, from this many of its
    first bytes; 0 passages: none.
    """

    passages: int = 200
    bytes: int = 262_144


@frozen(kw_only=True)
class Coverage:
    """Which folders and files an index covers: with `is_conventional` those of convention,
    settings and plugins; and always the absolute paths that a person `added`.
    """

    is_conventional: bool = False
    added: tuple[str, ...] = ()


@frozen(kw_only=True)
class BuildOptions:
    """How to build an index.

    `encoder`: None takes that of the last build. One that cannot be loaded is an error if
    `encoder_required`, else the index has no vectors. `reranker`: the encoder of vectors besides
    those, NO_RERANKER for none, None as in the last build. `rebuild` takes nothing from the last
    build; without `may_rebuild` a damaged index or one of another version is an error, with
    `same_release` one that another release published, even where that may be rebuilt. `verify`
    reads every byte of the last build and of the sources instead of trusting sizes and times. A
    file that was changed less than `grace_s` seconds ago and fails to parse keeps its last
    version: it may be half written. `sources` are read in addition to the roots, and `overlays`
    add to what is read. Without a `guard` no changed definition is left out. A last build with
    another `builder_id` is not used (None: any is). A root in `confined` is read only while it
    leads, links resolved, into one of its folders there. Paths below `workspace` are also counted
    as they are printed there, relative to it. `links` says which links are followed out of the
    roots. A build that would read or remove more than `max_changes` files is not made (None: any
    number). `coverage` is written down with the generation (None: the roots). It was made from
    `last_coverage`: where the index covers anything else by now, nothing is built (None: whatever
    it covers). `places` are the paths that the coverage stands for now, whether they exist or not:
    of a folder among them that is gone, the capabilities stay for a while. `awaited` are paths
    that need not exist and that trigger a rebuild when they appear or change. With `max_files`,
    only at most that many files are read, those of the first roots; the next build reads the
    others. With other `passage_limits` than those of the last build, which hold for None, nothing
    of it is reused. `seeds` are other indexes of the same user, each with the id of its builder: a
    build from nothing takes over what the first has that holds most of the same files. With
    `only_new_findings`, the report has the errors, the links that wait for trust, and of all other
    findings those of files whose content changed and those that the last build did not have. Then
    a build that finds no change by the stamps of files reads nothing else, and one that finds a
    few changed files reads those alone.
    """

    encoder: str | None = None
    encoder_required: bool = False
    reranker: str | None = None
    rebuild: bool = False
    may_rebuild: bool = True
    same_release: bool = False
    verify: bool = False
    lock_timeout_s: float = 10.0
    grace_s: float = 0.0
    sources: tuple[DeclaredSource, ...] = ()
    overlays: tuple[Overlay, ...] = ()
    guard: DefinitionGuard | None = None
    builder_id: str | None = None
    confined: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    workspace: str = ""
    max_changes: int | None = None
    coverage: Coverage | None = None
    last_coverage: Coverage | None = None
    places: tuple[str, ...] = ()
    awaited: tuple[str, ...] = ()
    max_files: int | None = None
    links: LinkRules = LinkRules()
    passage_limits: PassageLimits | None = None
    seeds: tuple[tuple[str, str], ...] = ()
    only_new_findings: bool = False


@frozen(kw_only=True)
class BuildReport:
    """The result of a build.

    `published` is False when nothing had changed. `held_definitions` are left out until a person
    accepts them; `changed_definitions` are the ids of those whose changes need no review.
    `changed_ids` are the ids of what `added`, `updated` and `removed` count, sorted. `missing` are
    the covered folders that are gone and whose capabilities stay, each with the time since when,
    in seconds of the epoch. `widened_by` says why a change made the build read all folders,
    `outside_places` are those outside of the roots that links lead to.
    """

    generation: Generation
    published: bool
    counts: Mapping[str, int]
    findings: tuple[Finding, ...]
    degraded: tuple[str, ...] = ()
    seconds: float = 0.0
    widened_by: str = ""
    roots: tuple[str, ...] = ()
    dropped_roots: tuple[str, ...] = ()
    dropped_sources: tuple[str, ...] = ()
    missing: Mapping[str, float] = field(default_factory=dict)
    held_definitions: tuple[HeldDefinition, ...] = ()
    changed_definitions: tuple[str, ...] = ()
    changed_ids: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    outside_places: tuple[str, ...] = ()


def has_errors(findings: Iterable[Finding]) -> bool:
    """Whether one of the findings keeps its capability out."""
    return any(finding.severity is Severity.ERROR for finding in findings)
