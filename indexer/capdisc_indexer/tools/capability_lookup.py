"""What every discovery tool begins with: which capabilities fit a text or are of one kind, which
one a name means, however it is spelt, and what its loader kept about it.

A loader of data keeps that in `extra`; who writes a manifest by hand may put the same keys below
`metadata`. Nothing vouches for the shape of a value, so each reader here gives one plain type, and
something empty for a value of any other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, TypedDict

from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.model.frozen import frozen, replace
from capdisc_indexer.model.json_types import CapabilityHeader
from capdisc_indexer.model.records import UNCATEGORISED
from capdisc_indexer.model.types import Descriptor, Hit, Query, Ranking
from capdisc_indexer.rendering.capability_text import availability_note
from capdisc_indexer.retrieval.pipeline import search_index
from capdisc_indexer.retrieval.verdict import select_shown_hits
from capdisc_indexer.text.normalization import one_line, space_identifiers
from capdisc_indexer.text.similar_names import compact_name, nearest_names
from capdisc_indexer.tools.tool_types import ToolContext

DESCRIPTION_CHARACTERS = 300
# How many hits are searched for where a tool then filters by what the index cannot filter by.
WIDE_LIMIT = 200
# A name that is spelt in a way that the index has no alias for is searched for by its words; so
# many hits are compared.
_MAX_NEIGHBOURS = 50
# The keys under which a loader names what a capability is a part of.
CONTAINER_KEYS = ("database", "api", "document", "server")
# What is kept of a capability, by key. A value has whatever shape its author gave it.
Metadata: TypeAlias = Mapping[str, object]


@frozen(kw_only=True)
class SearchResult:
    """A ranking with the headers of its hits by id."""

    ranking: Ranking
    headers: Mapping[str, CapabilityHeader]

    @property
    def pairs(self) -> list[tuple[Hit, CapabilityHeader]]:
        """The hits with their headers, best first."""
        return [(hit, self.headers[hit.id]) for hit in self.ranking.hits]

    @property
    def confidence(self) -> float:
        """How sure the ranking is, 0..1 with two digits."""
        return round(self.ranking.confidence, 2)


def search_capabilities(
    ctx: ToolContext,
    text: str,
    limit: int,
    kinds: Sequence[str] = (),
    category: str = "",
    mode: str | None = None,
) -> SearchResult:
    """The capabilities that fit the text, best first: none of a kind that the index does not
    have.
    """
    search_mode = mode or ctx.mode
    encoder = None if search_mode == "lexical" else ctx.encoder()
    query = Query(
        texts=(text,),
        kinds=tuple(kinds),
        categories=(category,) if category else (),
        limit=limit,
        graph_boost=ctx.graph_boost,
        choices=ctx.choices,
    )
    ranking = search_index(ctx.index, query, encoder, search_mode, ctx.available)
    hits = tuple(select_shown_hits(ranking.hits, ctx.min_relevance))
    headers = ctx.index.documents.headers_for([hit.id for hit in hits], Query(texts=()))
    return SearchResult(ranking=replace(ranking, hits=hits), headers=headers)


def select_hits(
    search_result: SearchResult,
    limit: int,
    matches: Callable[[Descriptor], bool],
    ctx: ToolContext,
) -> list[tuple[Hit, Descriptor]]:
    """The first hits whose descriptor matches, at most `limit`."""
    full_hits = ((hit, ctx.index.full_descriptor(header)) for hit, header in search_result.pairs)
    selected = [(hit, descriptor) for hit, descriptor in full_hits if matches(descriptor)]
    return selected[:limit]


def headers_of_kinds(ctx: ToolContext, *kinds: str) -> Iterator[CapabilityHeader]:
    """The headers of all capabilities of these kinds that are not hidden, by id; without kinds, of
    all.
    """
    headers = ctx.index.documents.all_headers(Query(texts=(), kinds=kinds))
    return (header for header in headers if not header.get("hidden"))


def short_description(header: CapabilityHeader | Descriptor) -> str:
    """The description on one line, at most DESCRIPTION_CHARACTERS long, and the mark."""
    description = header.description if isinstance(header, Descriptor) else header["description"]
    return mark_for_review(one_line(description, DESCRIPTION_CHARACTERS), header)


def mark_for_review(text: str, header: CapabilityHeader | Descriptor) -> str:
    """The text with a mark behind it where the capability should be reviewed before use."""
    warnings = header.warnings if isinstance(header, Descriptor) else header.get("warnings", ())
    return f"{text} {availability_note((), warnings=warnings)}".rstrip()


class HitRow(TypedDict):
    """A hit as most answers show it; `relevance` is 0..1 with two digits."""

    id: str
    name: str
    kind: str
    description: str
    category: str
    relevance: float
    available: bool


def hit_row(ctx: ToolContext, hit: Hit, header: CapabilityHeader) -> HitRow:
    """The row of a hit."""
    return {
        "id": header["id"],
        "name": header["name"],
        "kind": header["kind"],
        "description": short_description(header),
        "category": header.get("category") or UNCATEGORISED,
        "relevance": round(hit.relevance, 2),
        "available": ctx.available(header),
    }


def local_name(identifier: str) -> str:
    """The id without its kind, and without the suffix that tells the capabilities of two files
    apart.

    >>> local_name("table:chinook.tracks@b")
    'chinook.tracks'
    """
    return identifier.partition(":")[2].partition("@")[0]


def name_without_kind(name_or_id: str) -> str:
    """The name as it is; of an id, its local name."""
    return local_name(name_or_id) if ":" in name_or_id else name_or_id


def find_by_name(ctx: ToolContext, name: str, kinds: Sequence[str] = ()) -> list[CapabilityHeader]:
    """The headers of all capabilities whose id, name or title is this name, without regard to case
    and separators; by id. Where the name is exactly an id, that one alone. `table:orders` names
    what `orders` does, where the id is `table:shop.orders`.
    """
    forms = dict.fromkeys(
        [name, space_identifiers(name), compact_name(name), *(f"{kind}:{name}" for kind in kinds)]
    )
    headers = {
        header["id"]: header for form in forms for header in ctx.index.documents.by_alias(form)
    }
    if not headers:
        headers = {header["id"]: header for header in _similar_names(ctx, name)}
    candidates = [header for header in headers.values() if not kinds or header["kind"] in kinds]
    exact = [header for header in candidates if header["id"] == name]
    kind, _, bare_name = name.partition(":")
    if not candidates and bare_name and kind in kinds:
        return find_by_name(ctx, bare_name, kinds)
    return exact or sorted(candidates, key=lambda header: header["id"])


def _similar_names(ctx: ToolContext, name: str) -> Iterable[CapabilityHeader]:
    """The headers whose name differs in separators alone, which the index of aliases does not
    find.
    """
    documents, form = ctx.index.documents, compact_name(name)
    if not form:
        return
    terms = documents.analyse(" ".join(documents.words(name)))
    for _, header in documents.search(terms, Query(texts=()), _MAX_NEIGHBOURS):
        names = (header["name"], header.get("title", ""), local_name(header["id"]), header["id"])
        if form in map(compact_name, names):
            yield header


def find_capability(ctx: ToolContext, name: str, *kinds: str, within: str = "") -> Descriptor:
    """The one capability of these kinds with this name, as a part of `within` where that is given.

    Raises UsageError with the nearest names where there is none, and with all ids where there are
    several.
    """
    forms = [f"{within}.{name}", name] if within else [name]
    for form in forms:
        descriptors = [
            ctx.index.full_descriptor(header) for header in find_by_name(ctx, form, kinds)
        ]
        matches = [
            descriptor
            for descriptor in descriptors
            if not within or is_part_of(descriptor, within)
        ]
        if len(matches) == 1:
            return matches[0]
        if matches:
            raise ambiguous_error(kinds[0], name, [descriptor.id for descriptor in matches])
    raise _unknown_error(ctx, kinds, name, within)


def is_part_of(descriptor: Descriptor, container: str) -> bool:
    """Whether the capability belongs to the database, API, document or server of this name or
    id.
    """
    names = container_names(descriptor)
    if not names:
        names = [descriptor.category, local_name(descriptor.id).rpartition(".")[0]]
    if is_file_of_rows(descriptor):
        names += [descriptor.name, local_name(descriptor.id)]
    return compact_name(container.partition(":")[2] or container) in map(compact_name, names)


_FORMATS_OF_ROWS = frozenset(
    {"csv", "tsv", "json", "jsonl", "ndjson", "parquet", "arrow", "feather"}
)


def is_file_of_rows(descriptor: Descriptor) -> bool:
    """Whether the capability is a table that is a file of its own (CSV, JSON lines), which counts
    as a database of this one table, too.
    """
    return descriptor.kind == "table" and descriptor.source.format in _FORMATS_OF_ROWS


def container_name(descriptor: Descriptor) -> str:
    """The name of what the capability is a part of."""
    declared = next(iter(container_names(descriptor)), "")
    return declared or local_name(descriptor.id).rpartition(".")[0] or descriptor.category


def container_names(descriptor: Descriptor) -> list[str]:
    """The names of all containers that a loader or an author declared."""
    metadata = capability_metadata(descriptor)
    containers = (text_value(metadata, key) for key in CONTAINER_KEYS)
    return [name_without_kind(container) for container in containers if container]


def ambiguous_error(kind: str, name: str, ids: Iterable[str]) -> UsageError:
    """The error for a name that several capabilities have, which names them."""
    listed_ids = ", ".join(one_line(identifier, 80) for identifier in [*ids][:10])
    return UsageError(
        f"more than one {kind} is called {one_line(name, 80)!r}", f"say which: {listed_ids}"
    )


def _unknown_error(ctx: ToolContext, kinds: Sequence[str], name: str, within: str) -> UsageError:
    headers = list(headers_of_kinds(ctx, *kinds))
    names = [header["name"] for header in headers]
    near = nearest_names(name, [*names, *(local_name(header["id"]) for header in headers)])
    where = f" in {one_line(within, 80)}" if within else ""
    hint = (
        f"did you mean: {', '.join(one_line(candidate, 80) for candidate in near)}"
        if near
        else f"run: capdisc list --kind {kinds[0]}"
    )
    return UsageError(f"there is no {kinds[0]} {one_line(name, 80)!r}{where}", hint)


def capability_metadata(descriptor: Descriptor) -> Metadata:
    """Everything that is kept of a capability; what a loader found wins over what an author wrote
    below `metadata`.
    """
    return {**mapping_value(descriptor.extra, "metadata"), **descriptor.extra}


def text_value(metadata: Metadata, key: str) -> str:
    """The text or number under a key, on one line; "" where there is none."""
    value = metadata.get(key)
    is_text = isinstance(value, str | int | float) and not isinstance(value, bool)
    return one_line(str(value)) if is_text else ""


def int_value(metadata: Metadata, key: str) -> int | None:
    """The whole number under a key."""
    value = metadata.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def record_list(metadata: Metadata, key: str) -> list[Metadata]:
    """The mappings in the list under a key."""
    return [record for record in sequence_value(metadata, key) if isinstance(record, Mapping)]


def mapping_value(metadata: Metadata, key: str) -> Metadata:
    """The mapping under a key, or an empty one."""
    value = metadata.get(key)
    return value if isinstance(value, Mapping) else {}


def sequence_value(metadata: Metadata, key: str) -> list[Any] | tuple[Any, ...]:
    """The list or tuple under a key, or an empty one."""
    value = metadata.get(key)
    return value if isinstance(value, list | tuple) else ()


def text_list(metadata: Metadata, key: str) -> list[str]:
    """The texts under a key, each on one line; a single text is split at its commas."""
    value = metadata.get(key)
    parts = value.split(",") if isinstance(value, str) else sequence_value(metadata, key)
    return [one_line(str(part)) for part in parts if str(part).strip()]


def excerpt(content: str, words: Sequence[str], limit: int = 300) -> str:
    """The part of the text in which the most of the words stand, on one line of at most `limit`
    characters.
    """
    line = one_line(content)
    if len(line) <= limit:
        return line
    lower_line, lower_words = line.lower(), [word.lower() for word in words if len(word) > 2]
    starts = [position for word in lower_words if (position := lower_line.find(word)) >= 0]
    best = max(
        starts,
        default=0,
        key=lambda start: (_count_words(lower_line[start : start + limit], lower_words), -start),
    )
    start = max(0, lower_line.rfind(" ", 0, max(best - limit // 4, 0)) + 1)
    return ("…" if start else "") + one_line(line[start:], limit)


def _count_words(window: str, words: Sequence[str]) -> int:
    return sum(word in window for word in words)
