"""Rules that need more than one file: names and ids that collide or look alike, near copies,
descriptions that compete, needs that nothing meets, and guidance for no category.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from capdisc_indexer.model.types import Finding, Severity
from capdisc_indexer.sources.formats.naming_rules import (
    LOOKALIKES,
    MAX_NAME,
    ClaimOutcome,
    fold_id,
    judge_claim,
    plain_look,
)
from capdisc_indexer.sources.scan.folder_tree import category_of
from capdisc_indexer.sources.scan.scanned_files import printable_path
from capdisc_indexer.text.normalization import compile_late
from capdisc_indexer.text.similar_names import compact_name
from capdisc_indexer.validation.capability_strings import FILE_START, CatalogueMember, finding_at
from capdisc_indexer.validation.competing_descriptions import find_competitions

# The skills of a client, such as those in `.claude/skills`.
_CLIENT_SKILLS = compile_late(r"(?:^|.*/)\.[^/]+/skills?(?=/)")

# So many capabilities that say nearly the same would fill every answer.
FLOOD_SIZE = 20

# From this many characters on, one letter more or less is a slip or a trick, and not another word.
MIN_LOOKALIKE = 8
# With this many, at most one cut in 64 is taken for another.
_BITS_A_CUT = 64
_DIGITS = str.maketrans("0135", "oles")

# Categories with this share of letters in common are spellings of one, from this length on.
_SIMILAR_SHARE, _MIN_SIMILAR_LENGTH = 0.88, 6
_MAX_CATEGORIES = 500


def check_catalogue(members: Sequence[CatalogueMember], roots: Iterable[str]) -> Iterator[Finding]:
    """The findings about a collection of capabilities, which come in the order of the scan of
    these roots.
    """
    for rule in (
        id_collisions, find_lookalikes, find_floods, find_competitors, unmet_needs, similar_categories
    ):  # fmt: skip
        yield from rule(members)
    categories = {member.category for member in members}
    for root in sorted(set(roots)):
        yield from orphan_guidance(root, categories)


def id_collisions(members: Sequence[CatalogueMember]) -> Iterator[Finding]:
    """A finding for each capability whose id, but for capital letters, an earlier one has;
    identical copies have none. Inside one root the later one is wrong, across roots the earlier
    one wins.

    Two skills of one name are only a warning where no client reads both: collections of skills
    have many, and the index tells them apart by folder.
    """
    owners: dict[str, CatalogueMember] = {}
    read_together: dict[tuple[str, str], CatalogueMember] = {}
    names: dict[str, CatalogueMember] = {}
    for member in members:
        owner = owners.setdefault(fold_id(member.id), member)
        outcome = judge_claim(owner.claim, member.claim)
        folder = _shared_folder(member)
        rival = read_together.setdefault((fold_id(member.id), folder), member)
        if folder and rival is not member:
            yield _collision(rival, member, ClaimOutcome.DUPLICATE)
        elif owner is not member and outcome is not ClaimOutcome.COPY:
            yield _collision(owner, member, outcome)
        namesake = names.setdefault(member.name.casefold(), member)
        if namesake.kind != member.kind and namesake.root_order == member.root_order:
            message = f"{namesake.id} of {namesake.path} has the same name"
            hint = "call for each by its id"
            yield member.finding("name-clash", message, hint, Severity.INFO)


def _shared_folder(member: CatalogueMember) -> str:
    """The folder of which a client reads all skills: one of its own, else that of the skill's
    folder; "" for what is not a SKILL.md.
    """
    folder, _, name = member.path.rpartition("/")
    if name.casefold() != "skill.md":
        return ""
    match = _CLIENT_SKILLS.match(folder)
    return match[0] if match else folder.rpartition("/")[0]


def _collision(owner: CatalogueMember, member: CatalogueMember, outcome: ClaimOutcome) -> Finding:
    what = "is" if owner.id == member.id else f"and {owner.id}, but for capital letters, are"
    message, hint = f"{member.id} {what} already defined by {owner.path}", "rename one of them"
    if outcome is ClaimOutcome.SHADOWED:
        hint += ", or remove the one that you do not want"
        return member.finding("shadowed-id", message, hint)
    severity = Severity.ERROR if outcome is ClaimOutcome.DUPLICATE else Severity.WARNING
    return member.finding("duplicate-id", message, hint, severity)


def find_floods(members: Sequence[CatalogueMember]) -> Iterator[Finding]:
    """One finding for each group of near copies, at its first member."""
    groups = [(member.root_order, member.description_digest) for member in members]
    sizes = Counter(groups)
    reported: set[tuple[int, bytes]] = set()
    for member, group in zip(members, groups, strict=True):
        if member.description_digest and sizes[group] >= FLOOD_SIZE and group not in reported:
            reported.add(group)
            message = f"one of {sizes[group]:,} capabilities that say nearly the same"
            hint = "keep one, and give it phrases"
            yield member.finding("near-duplicate-flood", message, hint)


def find_competitors(members: Sequence[CatalogueMember]) -> Iterator[Finding]:
    """A finding for each capability whose description competes with an earlier one's, with the
    nearest such pair. Near copies have none: they are one hit.
    """
    distinct = list(
        {
            (member.root_order, member.description_digest or member.id): member
            for member in reversed(members)
            if member.listed.words
        }.values()
    )[::-1]
    reported: set[int] = set()
    for pair in find_competitions([member.listed for member in distinct]):
        if pair.second not in reported:
            reported.add(pair.second)
            first, second = distinct[pair.first], distinct[pair.second]
            message = f'"{pair.request}" asks for {first.id} of {first.path} as much as for this'
            hint = "say in each what it is not for; capdisc eval --triggers asks their phrases"
            yield second.finding("competing-descriptions", message, hint, Severity.INFO)


def unmet_needs(members: Sequence[CatalogueMember]) -> Iterator[Finding]:
    """Findings for needed names that nothing in this collection has, and one for each ring of
    capabilities that need one another, at its first member.
    """
    ids = _ids_of_targets(members)
    for member in members:
        for need in member.needs:
            for target in need.targets:
                if target.casefold() not in ids:
                    message = f"{need.key} names {target[:64]}, which is not in this collection"
                    yield member.finding(
                        "dependency-missing", message, "correct the name", place=need
                    )
    by_id = {member.id: member for member in members}
    needs = {
        member.id: [ids.get(target.casefold(), "") for target in member.requires]
        for member in by_id.values()
        if member.requires
    }
    for ring in find_rings(needs):
        way = f", by way of {', '.join(ring[1:4])}" if ring[1:] else ""
        hint = "break the ring; what merely goes together is composedWith"
        first, message = by_id[ring[0]], f"requires itself{way}"
        yield first.finding("dependency-cycle", message, hint, place=first.needs[0])


def _ids_of_targets(members: Sequence[CatalogueMember]) -> dict[str, str]:
    """The id behind each name that some capability needs, by the name in one case; a name that
    nothing has is missing. All names of all capabilities would take 40 MB for a large collection,
    with three each.
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


def find_rings(needs: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """The groups in which every name needs every other, directly or by others (the strongly
    connected components, by Kosaraju's algorithm, in time linear in the needs).

    >>> find_rings({"a": ["b"], "b": ["a", "c"], "c": [], "d": ["d"], "e": ["a"]})
    [['a', 'b'], ['d']]
    """
    needed_by: dict[str, list[str]] = {key: [] for key in needs}
    for key, requirements in needs.items():
        for need in requirements:
            if need in needed_by:
                needed_by[need].append(key)
    rings, done = [], set[str]()
    for start in reversed(_topological_order(needs)):
        if start not in done:
            group = _reachable_from(start, needed_by, done)
            if len(group) > 1 or start in needs[start]:
                rings.append(sorted(group))
    return sorted(rings)


def _topological_order(needs: Mapping[str, Sequence[str]]) -> list[str]:
    """Every name after all that it needs, as far as rings allow; without recursion, as chains may
    be long.
    """
    order, visited = [], set[str]()
    for start in needs:
        pending = [(start, iter(needs[start]))] if start not in visited else []
        visited.add(start)
        while pending:
            unvisited = (need for need in pending[-1][1] if need in needs and need not in visited)
            need = next(unvisited, None)
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


def find_lookalikes(members: Sequence[CatalogueMember]) -> Iterator[Finding]:
    """Findings for names that a reader takes for an earlier one: drawn alike, or a letter away."""
    shared = _shared_cuts({member.name for member in members})
    drawn: dict[str, CatalogueMember] = {}
    near: dict[str, CatalogueMember] = {}
    for member in members:
        if member.has_mixed_scripts:
            message = "the title mixes letters of scripts that look alike"
            yield member.finding("confusable-name", message, "write it in one")
        skeleton = _skeleton(member.name)
        cuts = [cut for cut in _cuts_of(member.name, skeleton) if hash(cut) in shared]
        near_member = _lookalike(member, drawn.setdefault(skeleton, member), cuts, near)
        if near_member and _is_slip(near_member.name, member.name):
            poser, victim = member, near_member
            if _poses_as(near_member, member):
                poser, victim = near_member, member
            severity = Severity.ERROR if _poses_as(poser, victim) else Severity.WARNING
            message = f"the name is easily taken for {victim.name} of {victim.path}"
            hint = "choose a name that differs more"
            yield poser.finding("confusable-name", message, hint, severity)
        for cut in cuts:
            near.setdefault(cut, member)


def _shared_cuts(names: Iterable[str]) -> set[int]:
    """The hashes of the cuts that several names have, and a few that only one has.

    A large collection has millions of cuts, and next to none of them twice: 40,000 names of 16
    letters took 53 MB in a dictionary, and shared 4,607 cuts. 64 bits for each cut, 8 MB in all,
    tell which of them are worth keeping.
    """
    skeletons = {name: _skeleton(name) for name in names}
    bits = _BITS_A_CUT * sum(len(skeleton) + 1 for skeleton in skeletons.values())
    seen_bits = bytearray(bits // 8 + 1)
    shared: set[int] = set()
    for name, skeleton in skeletons.items():
        for cut in set(_cuts_of(name, skeleton)):
            value = hash(cut)
            place, bit = divmod(value % bits, 8)
            if seen_bits[place] >> bit & 1:
                shared.add(value)
            seen_bits[place] |= 1 << bit
    return shared


def _lookalike(
    member: CatalogueMember,
    twin: CatalogueMember,
    cuts: Sequence[str],
    near: Mapping[str, CatalogueMember],
) -> CatalogueMember | None:
    """The member whose name is drawn like this one, or is a letter away from it; None where there
    is none, or where the names differ only in case.
    """
    name = member.name
    if twin.name == name:
        twin = next((near[cut] for cut in cuts if cut in near and near[cut].name != name), member)
    return None if twin.name.casefold() == name.casefold() else twin


def _poses_as(member: CatalogueMember, other: CatalogueMember) -> bool:
    """Whether only letters of another script or form tell the member's id from the other's, so
    that a build leaves it out.
    """
    look = plain_look(member.id)
    return look != fold_id(member.id) and look == fold_id(other.id)


def _skeleton(name: str) -> str:
    plain = unicodedata.normalize("NFKC", name).translate(LOOKALIKES).translate(_DIGITS).lower()
    return re.sub(r"[^\w]|_", "", plain.replace("rn", "m").replace("vv", "w"))[:MAX_NAME]


def _cuts_of(name: str, skeleton: str) -> list[str]:
    """The skeleton, and the skeleton without each of its letters: names that are an edit apart
    share one of these cuts. A short name has none, since most short words are an edit apart.
    """
    if len(name) < MIN_LOOKALIKE:
        return []
    return [
        skeleton,
        *(skeleton[:index] + skeleton[index + 1 :] for index in range(len(skeleton))),
    ]


def _is_slip(first: str, second: str) -> bool:
    """Whether two names differ by a slip, and not as singular and plural, numbers or words do."""
    a, b = first.lower(), second.lower()
    if re.sub(r"\d+", "", a) == re.sub(r"\d+", "", b) or a.rstrip("s") == b.rstrip("s"):
        return False
    parts_a, parts_b = re.split(r"[-_. /:]+", a), re.split(r"[-_. /:]+", b)
    if len(parts_a) != len(parts_b):
        return "".join(parts_a) == "".join(parts_b)
    differing = [(x, y) for x, y in zip(parts_a, parts_b, strict=True) if x != y]
    return all(min(len(x), len(y)) >= 5 or _skeleton(x) == _skeleton(y) for x, y in differing)


def similar_categories(members: Sequence[CatalogueMember]) -> Iterator[Finding]:
    """A finding for the first capability of each category that looks like one with more
    capabilities: other separators, the plural, a letter or two.
    """
    sizes = Counter(member.category.casefold() for member in members if member.category)
    order = sorted(sizes, key=lambda category: (-sizes[category], category))[:_MAX_CATEGORIES]
    likeness: dict[str, str] = {}
    for position, category in enumerate(order):
        similar = (larger for larger in order[:position] if _are_similar(category, larger))
        if larger := next(similar, ""):
            likeness[category] = larger
    for member in members:
        if larger := likeness.pop(member.category.casefold(), ""):
            message = f"the category {member.category[:64]} looks like {larger[:64]}"
            hint = f"if both are one, write {larger[:64]} in each"
            yield member.finding("similar-categories", message, hint)


def _are_similar(category: str, other: str) -> bool:
    """Whether two names of categories are easily spellings of one.

    >>> _are_similar("pages", "page"), _are_similar("site settings", "site-settings")
    (True, True)
    >>> _are_similar("sections", "posts"), _are_similar("import", "export")
    (False, False)
    """
    form, other_form = _singular(compact_name(category)), _singular(compact_name(other))
    if form == other_form or min(len(form), len(other_form)) < _MIN_SIMILAR_LENGTH:
        return form == other_form
    from difflib import SequenceMatcher

    matcher = SequenceMatcher(None, form, other_form, autojunk=False)
    return matcher.quick_ratio() >= _SIMILAR_SHARE and matcher.ratio() >= _SIMILAR_SHARE


def _singular(name: str) -> str:
    if name.endswith("ies") and len(name) > 4:
        return f"{name[:-3]}y"
    return name[:-1] if name.endswith("s") and len(name) > 3 else name


def orphan_guidance(root: str, categories: Collection[str]) -> Iterator[Finding]:
    """A warning for each `guidance/<category>.md` of this root whose category no capability has:
    nothing would ever show it.
    """
    known_categories = {category.casefold() for category in categories}
    folder = Path(root, "guidance")
    try:
        files = [] if folder.is_symlink() else sorted(folder.iterdir())
    except OSError:  # a root without guidance, or a single file
        return
    for path in files:
        if path.suffix == ".md" and category_of(path.name).casefold() not in known_categories:
            message = f"no capability has the category {path.stem[:64]}"
            hint = f"name it after one of: {', '.join(sorted(categories)[:8])}"
            shown = printable_path(path.as_posix())
            yield finding_at(FILE_START, shown, "guidance-orphan", message, hint)
