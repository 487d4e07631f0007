"""A capability as the rules across files need it: small enough to keep one for every file of a
large collection.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.types import Descriptor, Finding, LoadedFile, Severity
from capdisc_indexer.sources.formats.naming_rules import scripts
from capdisc_indexer.sources.formats.parsed_capability import ParsedCapability
from capdisc_indexer.sources.scan.scanned_files import FoundFile, printable_path
from capdisc_indexer.text.normalization import STOP_WORDS, simple_words

# Of the smallest hashes of a description's words; near copies share them all.
_MAX_HASHES = 6
# Descriptions with fewer words and a number each ("Opens valve 12") belong to a family, and are no
# copies of each other.
_MIN_WORDS = 5


@frozen(kw_only=True)
class Need:
    """The names under one key of a capability (`requires`, `related`, …), and the place of the
    key.
    """

    key: str
    targets: tuple[str, ...]
    line: int
    column: int


@frozen(kw_only=True)
class CatalogueMember:
    """One capability of a collection, without its texts: 0.4 KB where a parsed file takes 58.

    `root_order` is the number of its root, `line` and `column` are those of its name.
    `description_digest` is equal for descriptions that say nearly the same, and empty for one of
    few words.
    """

    id: str
    name: str
    kind: str
    category: str
    path: str
    root_order: int
    content_hash: str
    is_declared: bool
    has_mixed_scripts: bool
    description_digest: bytes
    needs: tuple[Need, ...]
    line: int
    column: int

    @property
    def requires(self) -> tuple[str, ...]:
        """The capabilities that it cannot be used without, as written."""
        return next((need.targets for need in self.needs if need.key == "requires"), ())


def members_of(file: FoundFile, loaded: LoadedFile) -> Iterator[CatalogueMember]:
    """The capabilities of a file that have no error."""
    path = printable_path(file.path)
    for part in loaded.parts:
        descriptor = part.descriptor
        if descriptor:
            line, column = _place(part, "name")
            yield CatalogueMember(
                id=descriptor.id,
                name=descriptor.name,
                kind=descriptor.kind,
                category=descriptor.category,
                path=path,
                root_order=file.root_order,
                content_hash=descriptor.source.content_hash,
                is_declared=descriptor.source.format == "capability",
                has_mixed_scripts=len(scripts(descriptor.title)) > 1,
                description_digest=_description_digest(descriptor.description),
                needs=tuple(_needs(part, descriptor)),
                line=line,
                column=column,
            )


def finding_at(
    member: CatalogueMember,
    code: str,
    severity: Severity,
    message: str,
    hint: str,
    place: Need | None = None,
) -> Finding:
    """A finding at the capability's name, or at the key of a need."""
    line, column = (place.line, place.column) if place else (member.line, member.column)
    return Finding(
        code=code,
        severity=severity,
        message=message,
        hint=hint,
        path=member.path,
        line=line,
        column=column,
    )


def _needs(part: ParsedCapability, descriptor: Descriptor) -> Iterator[Need]:
    for key, targets in (
        ("requires", descriptor.requires),
        ("composedWith", descriptor.composed_with),
        ("related", descriptor.related),
        ("edges", tuple(edge.target for edge in descriptor.edges)),
    ):
        if targets:
            line, column = _place(part, key)
            yield Need(key=key, targets=targets, line=line, column=column)


def _place(part: ParsedCapability, key: str) -> tuple[int, int]:
    entries = part.node.entries
    place = entries.get(key) or entries.get("id") or part.node
    return place.line, place.column


def _description_digest(description: str) -> bytes:
    words = sorted(
        {word.lower() for word in simple_words(description) if not any(map(str.isdigit, word))}
    )
    if sum(word not in STOP_WORDS for word in words) < _MIN_WORDS:
        return b""
    hashes = sorted(hashlib.blake2b(word.encode(), digest_size=8).digest() for word in words)[
        :_MAX_HASHES
    ]
    return hashlib.blake2b(b"".join(hashes), digest_size=16).digest()
