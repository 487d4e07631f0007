"""One capability by its name, however it is spelt, and what to say when there is none or more than one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from capdisc_indexer.arguments.naming import compact, nearest
from capdisc_indexer.errors import UsageError
from capdisc_indexer.text import one_line, spaced_identifiers
from capdisc_indexer.tools.finding import Head, of_kinds
from capdisc_indexer.tools.held import held, text
from capdisc_indexer.tools.values import Desk
from capdisc_indexer.types import Descriptor, Query

# A name that is spelt in yet another way shares its words with the real one.
_NEIGHBOURS = 50
# Under which keys a loader says what a capability is a part of.
WHOLES = ("database", "api", "document", "server")


def tail(identifier: str) -> str:
    """The id without its kind, and without the mark that tells two files' capabilities apart.

    >>> tail("table:chinook.tracks@b")
    'chinook.tracks'
    """
    return identifier.partition(":")[2].partition("@")[0]


def spelt(desk: Desk, name: str, kinds: Sequence[str] = ()) -> list[dict[str, Any]]:
    """The heads of all capabilities that the name may mean: their id, name or title, without regard to case and
    separators. An id that is exactly so is the only one."""
    forms = dict.fromkeys([name, spaced_identifiers(name), compact(name), *(f"{kind}:{name}" for kind in kinds)])
    heads = {head["id"]: head for form in forms for head in desk.index.documents.by_alias(form)}
    if not heads:
        heads = {head["id"]: head for head in _alike(desk, name)}
    found = [head for head in heads.values() if not kinds or head["kind"] in kinds]
    exact = [head for head in found if head["id"] == name]
    return exact or sorted(found, key=lambda head: str(head["id"]))


def _alike(desk: Desk, name: str) -> Iterable[dict[str, Any]]:
    """Those whose name differs in separators alone; an index of names has one form of each."""
    documents, form = desk.index.documents, compact(name)
    terms = documents.analyse(" ".join(documents.words(name)))
    for _, head in documents.search(terms, Query(texts=()), _NEIGHBOURS) if form else ():
        if form in {
            compact(head["name"]),
            compact(head.get("title", "")),
            compact(tail(head["id"])),
            compact(head["id"]),
        }:
            yield head


def named(desk: Desk, name: str, *kinds: str, within: str = "") -> Descriptor:
    """The one capability of these kinds with this name; `within` says what it is a part of. Raises UsageError naming
    the nearest where there is none, and all of them where there are several."""
    forms = [f"{within}.{name}", name] if within else [name]
    for form in forms:
        whole = [desk.index.whole(head) for head in spelt(desk, form, kinds)]
        found = [descriptor for descriptor in whole if not within or is_part(descriptor, within)]
        if len(found) == 1:
            return found[0]
        if found:
            raise _ambiguous(kinds[0], name, [descriptor.id for descriptor in found])
    raise _unknown(desk, kinds, name, within)


def is_part(descriptor: Descriptor, whole: str) -> bool:
    """Whether the capability belongs to the database, API, document or server of this name or id."""
    facts, form = held(descriptor), compact(whole.partition(":")[2] or whole)
    owners = [text(facts, key) for key in WHOLES]
    said = {compact(tail(owner) if ":" in owner else owner) for owner in owners if owner}
    return form in (said or {compact(descriptor.category), compact(tail(descriptor.id).rpartition(".")[0])})


def whole_of(descriptor: Descriptor) -> str:
    """The name of what the capability is a part of."""
    facts = held(descriptor)
    owner = next((owner for key in WHOLES if (owner := text(facts, key))), "")
    return (tail(owner) if ":" in owner else owner) or tail(descriptor.id).rpartition(".")[0] or descriptor.category


def _ambiguous(kind: str, name: str, ids: list[str]) -> UsageError:
    listed = ", ".join(one_line(each, 80) for each in ids[:10])
    return UsageError(f"more than one {kind} is called {one_line(name, 80)!r}", f"say which: {listed}")


def _unknown(desk: Desk, kinds: Sequence[str], name: str, within: str) -> UsageError:
    heads: list[Head] = list(of_kinds(desk, *kinds))
    close = nearest(name, [str(head["name"]) for head in heads] + [tail(str(head["id"])) for head in heads])
    where = f" in {one_line(within, 80)}" if within else ""
    hint = f"did you mean: {', '.join(one_line(each, 80) for each in close)}" if close else _how(kinds[0])
    return UsageError(f"there is no {kinds[0]} {one_line(name, 80)!r}{where}", hint)


def _how(kind: str) -> str:
    return f"run: capdisc list --kind {kind}"
