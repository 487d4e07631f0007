"""What a client shows of the skills in an index, what they cost, and where they compete."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePath

from capdisc_audit.client_listings import CLIENT_LISTINGS, find_client
from capdisc_audit.listing_budgets import (
    LARGE_WINDOW,
    UNSEEN_STATES,
    ClientListing,
    ListedSkill,
    Listing,
    ListingEntry,
    ListingSettings,
    ListingState,
    list_skills,
)
from capdisc_audit.overlaps import (
    OverlapReport,
    PhraseReport,
    Progress,
    check_phrases,
    find_copies,
    find_overlaps,
)
from capdisc_indexer.encoders import Encoder
from capdisc_indexer.model.frozen import frozen, replace
from capdisc_indexer.model.json_types import CapabilityHeader
from capdisc_indexer.store.snapshot import Index
from capdisc_indexer.text.token_counts import find_tokenizer, make_counter


@frozen(kw_only=True)
class ClientReport:
    """The list of one client, and the settings that it was made with; `with_large_window` is the
    list with LARGE_WINDOW where something is dropped and no window was named.
    """

    listing: Listing
    settings: ListingSettings
    with_large_window: Listing | None = None

    @property
    def rule(self) -> ClientListing:
        """How this client lists skills."""
        return CLIENT_LISTINGS[self.listing.client]

    @property
    def is_use_unknown(self) -> bool:
        """Whether the client drops by use, and no use of these skills is known."""
        is_dropping = bool(self.listing.with_state((ListingState.DROPPED,)))
        return self.rule.prefers_used and is_dropping and not self.settings.uses


@frozen(kw_only=True)
class SkillCost:
    """What one skill costs: its whole line in the list, and its whole text, in tokens."""

    entry: ListingEntry
    listing_tokens: int
    loaded_tokens: int


@frozen(kw_only=True)
class AuditReport:
    """All findings of one audit. `noun` is what the capabilities are called. `is_detailed` says
    that it is about one client, which then has `costs`.
    """

    total: int
    noun: str
    listing_tokens: int
    loaded_tokens: int
    is_detailed: bool
    clients: Sequence[ClientReport]
    costs: Sequence[SkillCost]
    overlaps: OverlapReport
    copies: Sequence[Sequence[str]]
    without_exclusion: Sequence[str]
    phrases: PhraseReport


def audit_index(
    index: Index,
    headers: Sequence[CapabilityHeader],
    settings: Mapping[str, ListingSettings],
    is_detailed: bool,
    encoder: Encoder | None,
    searches: int,
    progress: Progress,
    locate: Callable[[str, CapabilityHeader], CapabilityHeader | None],
) -> AuditReport:
    """The audit of these capabilities, with the lists of the clients that `settings` names, each
    of those that `locate` finds in its folders. At most `searches` searches look for overlaps, and
    as many try phrases, at 10 ms each.
    """
    copies = find_copies(headers)
    clients = tuple(
        _audit_client(
            name, [place for header in headers if (place := locate(name, header))], settings[name]
        )
        for name in settings
    )
    return AuditReport(
        total=len(headers),
        noun="skill" if {header["kind"] for header in headers} == {"skill"} else "capability",
        listing_tokens=sum(header.get("size", (0, 0, 0))[2] for header in headers),
        loaded_tokens=sum(header.get("size", (0, 0, 0))[0] for header in headers),
        is_detailed=is_detailed,
        clients=clients,
        costs=_measure_costs(clients[0].listing, headers) if is_detailed else (),
        overlaps=find_overlaps(index, headers, copies, encoder, searches, progress),
        copies=copies,
        without_exclusion=[header["id"] for header in headers if not header.get("exclusions")],
        phrases=check_phrases(index, headers, encoder, searches, progress),
    )


def _audit_client(
    name: str, headers: Sequence[CapabilityHeader], settings: ListingSettings
) -> ClientReport:
    listed = list_client_skills(name, headers)
    listing = list_skills(find_client(name), listed, settings)
    is_open = settings.window is None and settings.budget is None
    large = None
    if (
        is_open
        and find_client(name).share is not None
        and listing.with_state((*UNSEEN_STATES, ListingState.CUT))
    ):
        large = list_skills(find_client(name), listed, replace(settings, window=LARGE_WINDOW))
    return ClientReport(listing=listing, settings=settings, with_large_window=large)


def file_of(header: CapabilityHeader) -> str:
    """The absolute path of the file of a capability."""
    root, path = header["source"]["root"], header["source"]["path"]
    return path if path.startswith("/") else f"{root}/{path}"


def list_client_skills(client: str, headers: Sequence[CapabilityHeader]) -> list[ListedSkill]:
    """The skills as this client reads them, by name."""
    rule = find_client(client)
    roots: dict[str, int] = {}
    skills = []
    for header in sorted(headers, key=lambda header: (header["name"], header["id"])):
        if header.get("hidden") and not rule.lists_hidden:
            continue
        root, path = header["source"]["root"], header["source"]["path"]
        number = roots.setdefault(root, len(roots) + 1)
        skills.append(
            ListedSkill(
                id=header["id"],
                name=header["name"],
                description=header["description"],
                when_to_use=header.get("usage_hint", ""),
                path=file_of(header),
                short_path=f"r{number}/{path.removeprefix(root).lstrip('/')}",
                folder=PurePath(path).parent.name if path.endswith("/SKILL.md") else "",
            )
        )
    return skills


def _measure_costs(listing: Listing, headers: Sequence[CapabilityHeader]) -> tuple[SkillCost, ...]:
    """What each skill costs in the client's list and when it is loaded."""
    counter = make_counter(find_tokenizer("o200k"))
    loaded = {header["id"]: header.get("size", (0,))[0] for header in headers}
    return tuple(
        SkillCost(
            entry=entry,
            listing_tokens=counter.count(entry.whole),
            loaded_tokens=loaded[entry.id],
        )
        for entry in listing.entries
    )


def problem_counts(report: AuditReport | None) -> Mapping[str, int]:
    """How many there are of each problem that `--error` can name, by its name."""
    states = [
        entry.state
        for client in (report.clients if report else ())
        for entry in client.listing.entries
    ]
    return {
        "dropped": sum(state in UNSEEN_STATES for state in states),
        "cut": states.count(ListingState.CUT),
        "overlap": len(report.overlaps.overlaps) if report else 0,
        "copy": len(report.copies) if report else 0,
        "no-exclusion": len(report.without_exclusion) if report else 0,
        "phrase": len(report.phrases.lost) if report else 0,
    }
