"""Rules that need more than one file."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.types import Descriptor, Finding, LoadedFile, Severity
from capdisc_indexer.sources.formats.derived_capability import ParsedCapability
from capdisc_indexer.sources.formats.naming_rules import LOOKALIKES, MAX_NAME, scripts
from capdisc_indexer.sources.scan.scanned_files import FoundFile, printable_path
from capdisc_indexer.text.normalization import STOP_WORDS, simple_words

# Workflow guidance lies in `guidance/<category>.md` of a root; one for a category that nothing has
# is never shown.


def orphan_guidance(root: str, categories: Collection[str]) -> Iterator[Finding]:
    """A warning for each guidance file of this root whose category no capability has."""
    known_categories = {category.casefold() for category in categories}
    folder = Path(root, "guidance")
    try:
        files = [] if folder.is_symlink() else sorted(folder.iterdir())
    except OSError:  # a root without guidance, or a single file
        return
    for path in files:
        if path.suffix == ".md" and path.stem.casefold() not in known_categories:
            message = f"no capability has the category {path.stem[:64]}"
            hint = f"name it after one of: {', '.join(sorted(categories)[:8])}"
            yield Finding(
                code="guidance-orphan",
                severity=Severity.WARNING,
                message=message,
                hint=hint,
                path=printable_path(str(path)),
            )


# What the rules across files need of one capability: small enough to keep for every file of a
# large collection.

_MARKS = 6  # of the smallest hashes of a description's words; near copies share them all
# Fewer telling words with another number each ("Opens valve 12") are the members of a family, and
# no copies.
_TELLING = 5


@frozen(kw_only=True)
class Need:
    """The names that one key of a capability gives, and where the key stands."""

    key: str
    targets: tuple[str, ...]
    line: int
    column: int


@frozen(kw_only=True)
class CatalogueMember:
    """One capability of a collection, without its texts: 0.4 KB where a parsed file takes 58.

    `root_order` says whose file comes first, `line` and `column` are those of its name.
    `description_digest` is the same for descriptions that say nearly the same, and empty for one
    of few words.
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
        """What it cannot be used without, as written."""
        return next((need.targets for need in self.needs if need.key == "requires"), ())


def members_of(file: FoundFile, loaded: LoadedFile) -> Iterator[CatalogueMember]:
    """The capabilities of a file that nothing refuses."""
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
    """A finding at the capability's name, or where it says what it needs."""
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
    if sum(word not in STOP_WORDS for word in words) < _TELLING:
        return b""
    marks = sorted(hashlib.blake2b(word.encode(), digest_size=8).digest() for word in words)[
        :_MARKS
    ]
    return hashlib.blake2b(b"".join(marks), digest_size=16).digest()


# Ids that are taken already: inside one root the later one is wrong, across roots the earlier one
# wins.


def id_collisions(members: Sequence[CatalogueMember]) -> Iterator[Finding]:
    """Every capability whose id, but for capital letters, an earlier one has; identical copies are
    none.

    Two skills of one name are a warning, as collections of skills have many and the index tells
    them apart by folder.
    """
    owners: dict[str, CatalogueMember] = {}
    names: dict[str, CatalogueMember] = {}
    for member in members:
        owner = owners.setdefault(member.id.casefold(), member)
        if owner is not member and not _is_copy(owner, member):
            yield _collision(owner, member)
        namesake = names.setdefault(member.name.casefold(), member)
        if namesake.kind != member.kind and namesake.root_order == member.root_order:
            message = f"{namesake.id} of {namesake.path} has the same name"
            yield finding_at(
                member, "name-clash", Severity.INFO, message, "call for each by its id"
            )


def _is_copy(owner: CatalogueMember, member: CatalogueMember) -> bool:
    return owner.content_hash == member.content_hash and owner.path != member.path


def _collision(owner: CatalogueMember, member: CatalogueMember) -> Finding:
    what = "is" if owner.id == member.id else f"and {owner.id}, but for capital letters, are"
    message, hint = f"{member.id} {what} already defined by {owner.path}", "rename one of them"
    if owner.root_order != member.root_order:
        return finding_at(
            member,
            "shadowed-id",
            Severity.WARNING,
            message,
            f"{hint}, or remove the one that is not wanted",
        )
    return finding_at(
        member,
        "duplicate-id",
        Severity.ERROR if member.is_declared else Severity.WARNING,
        message,
        hint,
    )


# Many capabilities of one root that say nearly the same, so that they would fill every answer.

FLOOD_SIZE = 20


def find_floods(members: Sequence[CatalogueMember]) -> Iterator[Finding]:
    """One finding for each group of near copies, at its first member."""
    sizes = Counter(map(_group, members))
    reported: set[tuple[int, bytes]] = set()
    for member in members:
        group = _group(member)
        if member.description_digest and sizes[group] >= FLOOD_SIZE and group not in reported:
            reported.add(group)
            message = f"one of {sizes[group]} capabilities that say nearly the same"
            yield finding_at(
                member,
                "near-duplicate-flood",
                Severity.WARNING,
                message,
                "keep one, and give it phrases",
            )


def _group(member: CatalogueMember) -> tuple[int, bytes]:
    return member.root_order, member.description_digest


# What capabilities need of each other: names that nobody has, and rings.


def unmet_needs(members: Sequence[CatalogueMember]) -> Iterator[Finding]:
    """Names that nothing in this collection has, and the first of each ring of capabilities that
    need one another.
    """
    ids = _ids_of_targets(members)
    for member in members:
        yield from _missing_needs(member, ids)
    by_id = {member.id: member for member in members}
    needs = {
        member.id: [ids.get(target.casefold(), "") for target in member.requires]
        for member in by_id.values()
        if member.requires
    }
    for ring in find_rings(needs):
        message = (
            f"requires itself, by way of {', '.join(ring[1:4])}" if ring[1:] else "requires itself"
        )
        hint = "break the ring; what merely goes together is composedWith"
        first = by_id[ring[0]]
        yield finding_at(first, "dependency-cycle", Severity.WARNING, message, hint, first.needs[0])


def _ids_of_targets(members: Sequence[CatalogueMember]) -> dict[str, str]:
    """The id behind each name that some capability gives as a target, by the name in one case; of
    those that nothing has, none. Only these names are kept: three for each capability of a large
    collection take 40 MB.
    """
    targets = {
        target.casefold() for member in members for need in member.needs for target in need.targets
    }
    ids: dict[str, str] = {}
    for member in members if targets else ():
        for alias in (member.id, member.name, member.id.partition(":")[2]):
            if (name := alias.casefold()) in targets:
                ids.setdefault(name, member.id)
    return ids


def _missing_needs(member: CatalogueMember, ids: Mapping[str, str]) -> Iterator[Finding]:
    for need in member.needs:
        for target in need.targets:
            if target.casefold() not in ids:
                message = f"{need.key} names {target[:64]}, which is not in this collection"
                yield finding_at(
                    member,
                    "dependency-missing",
                    Severity.WARNING,
                    message,
                    "correct the name",
                    need,
                )


def find_rings(needs: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """The groups in which each reaches each of the others, in time linear in the needs (Kosaraju's
    way).

    >>> rings({"a": ["b"], "b": ["a", "c"], "c": [], "d": ["d"], "e": ["a"]})
    [['a', 'b'], ['d']]
    """
    back: dict[str, list[str]] = {key: [] for key in needs}
    for key, requirements in needs.items():
        for need in requirements:
            if need in back:
                back[need].append(key)
    ring_list, done = [], set[str]()
    for start in reversed(_topological_order(needs)):
        if start not in done:
            group = _reachable_from(start, back, done)
            if len(group) > 1 or start in needs[start]:
                ring_list.append(sorted(group))
    return sorted(ring_list)


def _topological_order(needs: Mapping[str, Sequence[str]]) -> list[str]:
    """Every name after all that it needs, as far as rings allow; without recursion, as chains may
    be long.
    """
    order, visited = [], set[str]()
    for start in needs:
        pending = [(start, iter(needs[start]))] if start not in visited else []
        visited.add(start)
        while pending:
            need = next(
                (
                    requirement
                    for requirement in pending[-1][1]
                    if requirement in needs and requirement not in visited
                ),
                None,
            )
            if need is None:
                order.append(pending.pop()[0])
            else:
                visited.add(need)
                pending.append((need, iter(needs[need])))
    return order


def _reachable_from(start: str, edges: Mapping[str, Sequence[str]], done: set[str]) -> list[str]:
    group, pending = [], [start]
    done.add(start)
    while pending:
        key = pending.pop()
        group.append(key)
        frontier = [neighbour for neighbour in edges[key] if neighbour not in done]
        done.update(frontier)
        pending += frontier
    return group


# Names that a reader takes for another's: drawn alike, or a slip of the finger away.

MAX_LOOKALIKES = (
    8  # characters from which one letter more or less is a slip or a trick, and not another word
)

# So that at most one cut in 64 looks like another's.
_BITS_A_CUT = 64
_DIGITS = str.maketrans("0135", "oles")


def find_lookalikes(members: Sequence[CatalogueMember]) -> Iterator[Finding]:
    """Names that a reader takes for an earlier one: drawn alike, or a letter away."""
    shared = _shared_cuts({member.name for member in members})
    drawn: dict[str, CatalogueMember] = {}
    near: dict[str, CatalogueMember] = {}
    for member in members:
        if member.has_mixed_scripts:
            message = "the title mixes letters of scripts that look alike"
            yield _finding(member, message, "write it in one")
        skeleton = _skeleton(member.name)
        cuts = [cut for cut in _cuts_of(member.name, skeleton) if hash(cut) in shared]
        near_member = _other(member, drawn.setdefault(skeleton, member), cuts, near)
        if near_member and _is_slip(near_member.name, member.name):
            message = f"the name is easily taken for {near_member.name} of {near_member.path}"
            yield _finding(member, message, "choose a name that differs more")
        for cut in cuts:
            near.setdefault(cut, member)


def _shared_cuts(names: Iterable[str]) -> set[int]:
    """The hashes of those cuts that several names may have; a few too many, and none too few.

    A large collection has millions of cuts, and next to none of them twice: 40,000 names of 16
    letters took 53 MB in a dictionary, and shared 4,607 cuts. 64 bits for each cut tell which are
    worth keeping, in 8 MB.
    """
    skeletons = {name: _skeleton(name) for name in names}
    bits = _BITS_A_CUT * sum(len(skeleton) + 1 for skeleton in skeletons.values())
    seen = bytearray(bits // 8 + 1)
    shared: set[int] = set()
    for name, skeleton in skeletons.items():
        for cut in set(_cuts_of(name, skeleton)):
            value = hash(cut)
            place, bit = divmod(value % bits, 8)
            if seen[place] >> bit & 1:
                shared.add(value)
            seen[place] |= 1 << bit
    return shared


def _other(
    member: CatalogueMember,
    twin: CatalogueMember,
    cuts: Sequence[str],
    near: Mapping[str, CatalogueMember],
) -> CatalogueMember | None:
    """Who has another name that is drawn like this one, or is a letter away from it; capitals make
    no other name.
    """
    name = member.name
    if twin.name == name:
        twin = next((near[cut] for cut in cuts if cut in near and near[cut].name != name), member)
    return None if twin.name.casefold() == name.casefold() else twin


def _finding(member: CatalogueMember, message: str, hint: str) -> Finding:
    return finding_at(member, "confusable-name", Severity.WARNING, message, hint)


def _skeleton(name: str) -> str:
    plain = unicodedata.normalize("NFKC", name).translate(LOOKALIKES).translate(_DIGITS).lower()
    return re.sub(r"[^\w]|_", "", plain.replace("rn", "m").replace("vv", "w"))[:MAX_NAME]


def _cuts_of(name: str, skeleton: str) -> list[str]:
    """The skeleton, and the skeleton without each letter: two names share one if they are an edit
    apart. A short name has none, since most short words are an edit apart.
    """
    if len(name) < MAX_LOOKALIKES:
        return []
    return [skeleton, *(skeleton[:index] + skeleton[index + 1 :] for index in range(len(skeleton)))]


def _is_slip(first: str, second: str) -> bool:
    """Whether two names differ as slips do, and not as singular and plural, numbers or words
    do.
    """
    a, b = first.lower(), second.lower()
    if re.sub(r"\d+", "", a) == re.sub(r"\d+", "", b) or a.rstrip("s") == b.rstrip("s"):
        return False
    parts_a, parts_b = re.split(r"[-_. /:]+", a), re.split(r"[-_. /:]+", b)
    if len(parts_a) != len(parts_b):
        return "".join(parts_a) == "".join(parts_b)
    odd = [(x, y) for x, y in zip(parts_a, parts_b, strict=True) if x != y]
    return all(min(len(x), len(y)) >= 5 or _skeleton(x) == _skeleton(y) for x, y in odd)


def check_catalogue(members: Sequence[CatalogueMember], roots: Iterable[str]) -> Iterator[Finding]:
    """What is wrong with these capabilities as a collection, given in the order of the scan of
    these roots.
    """
    yield from id_collisions(members)
    yield from find_lookalikes(members)
    yield from find_floods(members)
    yield from unmet_needs(members)
    categories = {member.category for member in members}
    for root in sorted(set(roots)):
        yield from orphan_guidance(root, categories)
