"""Lists that other programs write: which of their entries a declaration takes, their categories,
and each entry as a manifest.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import takewhile

from capdisc_indexer.model.frozen import frozen, replace
from capdisc_indexer.model.types import Finding, LoadedFile
from capdisc_indexer.sources.formats.catalogue import (
    as_manifest_fields,
    cap_findings,
    load_entry,
)
from capdisc_indexer.sources.formats.field_table import field_plan
from capdisc_indexer.sources.formats.long_text_file import Companions
from capdisc_indexer.sources.formats.manifest import DEFAULT_CATEGORY, build_descriptor
from capdisc_indexer.sources.formats.parsed_capability import join_loaded
from capdisc_indexer.sources.readers.yaml_nodes import Entry, Json, MapNode, TextNode, map_node
from capdisc_indexer.sources.scan.scanned_files import FoundFile, content_hash, source_ref

_SCHEMAS = ("inputSchema", "outputSchema")
_MAX_PLAIN_WORD = 16  # characters; a key or password is longer


def is_wanted(name: str, options: Mapping[str, object]) -> bool:
    """Whether the patterns of `include` (none: every name) and `exclude` let the name through.

    >>> is_wanted("sql_run", {"include": ["sql_*"]}), is_wanted("sql_drop", {"exclude": "*_drop"})
    (True, False)
    """
    include = options.get("include")
    is_in = not _texts(include) or is_listed(name, include)
    return is_in and not is_listed(name, options.get("exclude"))


def is_listed(name: str, patterns: object) -> bool:
    """Whether one of the patterns of an option (a text or a list of texts) fits the name."""
    return any(fnmatchcase(name, pattern) for pattern in _texts(patterns))


def categorize_names(
    names: Sequence[str], options: Mapping[str, object], server: str, *, singles: bool = False
) -> dict[str, str]:
    """The category of each name: the longest prefix of `categories` that it begins with, else the
    longest run of parts, by underscores, with which all names of its first part begin; else its
    server. A verb is not a category, nor the end of one. With `singles`, a first part that one name
    has alone counts, too.

    Tools of a server are filed by their first parts only where two or more of these divide half of
    them or more, and none is a verb: `create_issue` and `create_page` are not a group of tools. Then
    all first parts count.

    >>> names = ["sql_opt_explain", "sql_opt_cluster", "base_read", "base_list", "chat_ask"]
    >>> list(categorize_names(names, {}, "td").values())
    ['sql_opt', 'sql_opt', 'base', 'base', 'chat']
    """
    prefixes = sorted(_texts(options.get("categories")), key=len, reverse=True)
    groups: dict[str, list[list[str]]] = {}
    for name in names:
        if "_" in name:
            *parts, _ = name.split("_")
            groups.setdefault(parts[0], []).append(parts)
    if server and not _divide_server(groups, len(names)):
        groups = {}
    stems = {
        word: _cut_verbs(_common_parts(runs) if len(runs) > 1 else [word])
        for word, runs in groups.items()
        if len(runs) > 1 or server or singles
    }

    def category(name: str) -> str:
        for prefix in prefixes:
            stem = prefix.rstrip("_")
            if stem and (name == prefix or name.startswith(f"{stem}_")):
                return stem
        first_word = name.partition("_")[0] if "_" in name else ""
        return stems.get(first_word) or server or DEFAULT_CATEGORY

    return {name: category(name) for name in names}


def _common_parts(runs: Sequence[Sequence[str]]) -> list[str]:
    """The parts with which all runs begin."""
    places = takewhile(lambda parts: len(set(parts)) == 1, zip(*runs, strict=False))
    return [parts[0] for parts in places]


def _cut_verbs(parts: Sequence[str]) -> str:
    while parts and parts[-1].lower() in _VERBS:
        parts = parts[:-1]
    return "_".join(parts)


# With these a name says what its tool does, and not which group of tools it belongs to.
_VERBS = frozenset(
    """
    add apply approve archive ask assign browse call cancel check clear close commit connect convert copy
    count create delete describe disable download edit enable execute export fetch filter find fork
    generate get import insert invite install list load lookup make mark merge move navigate open
    patch post preview publish pull push put query read rebase remove rename reply request reset
    resolve restart restore retrieve run save scan schedule search select send set share show sort
    start stop submit subscribe sync take test toggle trigger unassign unsubscribe update upload
    upsert validate verify view wait watch write
    """.split()
)


def _divide_server(groups: Mapping[str, Sequence[object]], name_count: int) -> bool:
    """Whether the first parts that names share divide the tools of one server into groups."""
    shared = {word: len(names) for word, names in groups.items() if word and len(names) > 1}
    has_verb = any(word.lower() in _VERBS for word in shared)
    return len(shared) > 1 and not has_verb and 2 * sum(shared.values()) >= name_count


def read_text_field(table: Mapping[str, Json], key: str) -> str:
    """The text at a key without blanks around it; "" for anything else."""
    value = table.get(key)
    return value.strip() if isinstance(value, str) else ""


def _texts(value: object) -> list[str]:
    listed = value if isinstance(value, list) else [value]
    return [entry for entry in listed if isinstance(entry, str) and entry]


@frozen(kw_only=True)
class CapabilityDraft:
    """One capability of a list: its fields as a manifest has them, its line, and what stands
    before and after its name in its id.

    `run` and `extra` go into the descriptor as they are; `findings` were made on the way here.
    """

    fields: Mapping[str, Json]
    line: int
    prefix: str
    run: Mapping[str, Json] | None = None
    extra: Mapping[str, Json] | None = None
    findings: tuple[Finding, ...] = ()
    suffix: str = ""


def _load_draft(draft: CapabilityDraft, file: FoundFile) -> LoadedFile:
    """The capability, or the findings that keep it out. Its digest is that of its own entry, so
    that a changed entry does not change the others.
    """
    value = as_manifest_fields(draft.fields)
    node = map_node(value, draft.line)
    fields = field_plan("catalogue").open(node, file.path)
    digest = content_hash(
        json.dumps([value, draft.run, draft.extra], ensure_ascii=False).encode("utf-8", "replace")
    )
    source = source_ref(file, digest, str(value.get("name") or ""))
    capability = build_descriptor(fields, file, source, Companions(), prefix=draft.prefix)
    run, extra = draft.run or capability.run, dict(draft.extra or {})
    capability = replace(capability, id=capability.id + draft.suffix, run=run, extra=extra)
    loaded = load_entry(_with_joined_texts(node, value), fields, capability, file)
    return join_loaded(loaded, before=draft.findings)


def _with_joined_texts(node: MapNode, value: Mapping[str, Json]) -> MapNode:
    """The node with the texts of each schema joined: the content rules took two thirds of a build
    for them one by one.
    """
    joined = {
        key: " | ".join(dict.fromkeys(_words(value[key]))) for key in _SCHEMAS if key in value
    }
    texts = {
        key: Entry(key, TextNode(text, False, node.line, 1), node.line, 1)
        for key, text in joined.items()
    }
    return MapNode({**node.entries, **texts}, node.line, node.column)


def _words(value: Json) -> Iterator[str]:
    """Every text and key of a schema without short plain words, in which nothing can hide."""
    if isinstance(value, str):
        if len(value) > _MAX_PLAIN_WORD or not value.isalnum():
            yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _words(key)
            yield from _words(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _words(inner)


def merge_drafts(
    parts: Iterable[CapabilityDraft | Finding], file: FoundFile, before: Sequence[Finding] = ()
) -> LoadedFile:
    """All capabilities of a list that can be read; of very many findings, the first."""
    loaded = join_loaded(
        *(
            LoadedFile(findings=(part,)) if isinstance(part, Finding) else _load_draft(part, file)
            for part in parts
        )
    )
    return replace(loaded, findings=(*before, *cap_findings(loaded.findings)))
