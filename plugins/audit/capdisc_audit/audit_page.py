"""The page of `capdisc audit --html`: one file that needs no network, with the audit inside it.

What is written into it is data alone: `audit_page.html` beside this file makes all elements.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from capdisc.output import console
from capdisc_audit import skill_map
from capdisc_audit.audit_report import advise_budget, client_document
from capdisc_audit.hook_week import HookWeek
from capdisc_audit.listing_budgets import ListingState
from capdisc_audit.overlaps import description_vectors
from capdisc_audit.savings import Saving, describe_saving
from capdisc_audit.skill_audit import AuditReport, ClientReport
from capdisc_indexer.model.json_types import CapabilityHeader, JsonObject
from capdisc_indexer.store.snapshot import Index
from capdisc_indexer.text.normalization import one_line

_NAME_CHARACTERS, _ABOUT_CHARACTERS = 80, 320
_STATES = tuple(ListingState)


def format_page(
    title: str,
    index: Index,
    headers: Sequence[CapabilityHeader],
    report: AuditReport,
    week: HookWeek | None,
    plans: Mapping[str, Saving | str],
) -> str:
    """The page for these capabilities; `plans` are what each client need not list, or why that is
    not known.
    """
    page = Path(__file__).with_name("audit_page.html").read_text(encoding="utf-8")
    document = {
        "title": one_line(title, _NAME_CHARACTERS),
        "made": time.strftime("%Y-%m-%d"),
        "noun": report.noun,
        "listing_tokens": report.listing_tokens,
        "loaded_tokens": report.loaded_tokens,
        "skills": _list_skills(index, headers),
        "clients": [_client_data(client, plans) for client in report.clients],
        "overlaps": report.overlaps,
        "copies": report.copies,
        "week": week,
    }
    # With `<` as a code no text can end the element that holds the data, or begin another.
    data = console.format_json_text(document, indent=None).replace("<", "\\u003c")
    return page.replace("{{audit}}", data)


def _list_skills(index: Index, headers: Sequence[CapabilityHeader]) -> list[list[object]]:
    """Id, name, description, tokens when loaded, and the place on the map where there is one."""
    has_places = index.matrix is not None
    vectors = (
        description_vectors(index, [header["id"] for header in headers]) if has_places else ()
    )
    places = skill_map.place_points(vectors)
    return [
        [
            header["id"],
            one_line(header["name"], _NAME_CHARACTERS),
            one_line(header["description"], _ABOUT_CHARACTERS),
            header.get("size", (0,))[0],
            *(round(part, 4) for part in (places[number] if has_places else ())),
        ]
        for number, header in enumerate(headers)
    ]


def _client_data(client: ClientReport, plans: Mapping[str, Saving | str]) -> JsonObject:
    """The client and its list; each entry is an id, the number of its state, what is shown of how
    many characters, and what it takes of what it needs.
    """
    plan = plans.get(client.listing.client)
    return {
        **client_document(client),
        "advice": list(advise_budget(client)),
        "entries": [
            [
                entry.id,
                _STATES.index(entry.state),
                entry.shown_characters,
                entry.description_characters,
                entry.takes,
                entry.needs,
            ]
            for entry in client.listing.entries
        ],
        "saving": {
            "ids": plan.ids,
            "state": plan.state,
            "tokens": [[window, *counts] for window, counts in plan.tokens.items()],
            "lines": list(describe_saving(client.listing.client, plan)),
            "is_use_known": plan.is_use_known,
        }
        if isinstance(plan, Saving)
        else plan,
    }
