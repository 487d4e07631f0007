"""Which function definitions are printed, and how."""

from __future__ import annotations

from typing import Any

from capdisc import asking, output, querying, sessions
from capdisc_indexer.engines import token_count
from capdisc_indexer.errors import UsageError
from capdisc_indexer.frozen import frozen
from capdisc_indexer.tools import offering
from capdisc_indexer.tools.definitions import in_form, renamed_parameters
from capdisc_indexer.tools.definitions.values import Definition
from capdisc_indexer.tools.values import Desk
from capdisc_indexer.types import Query

_SETTINGS = {"on": True, "true": True, "1": True, "yes": True, "off": False, "false": False, "0": False, "no": False}


@frozen(kw_only=True)
class Offer:
    """What was asked for. `room` are the tokens that everything may have before `auto` gives the few instead."""

    query: Query
    form: str
    only: tuple[str, ...]
    is_whole: bool
    min_relevance: float
    progressive: bool | None
    auto: bool
    room: int
    session: str | None


@frozen(kw_only=True)
class Offered:
    """The definitions in their form, with the name of each id in it and the parameters that have other names, and how
    they were chosen."""

    form: str
    value: Any
    names: dict[str, str]
    parameters: dict[str, dict[str, str]]
    choice: str


def offer(asked: asking.Asked, desk: Desk, wanted: Offer, mode: str | None, encoder: str | None) -> Offered:
    """The definitions that were asked for. What was left out or called otherwise is said on stderr."""
    if wanted.only:
        return _in_form(wanted, offering.by_names(desk, wanted.only), "only")
    if wanted.query.texts:
        found = _found(asked, desk, wanted, mode, encoder)
        return _in_form(wanted, _extended(asked, desk, wanted, _ours(desk, wanted), found), "query")
    if not _is_progressive(asked, wanted):
        return _in_form(wanted, _static(desk, wanted), "static")
    few = _extended(asked, desk, wanted, _ours(desk, wanted), [])
    if _is_auto(asked, wanted):
        return _smaller(wanted, _static(desk, wanted), few)
    return _in_form(wanted, few, "progressive")


def _ours(desk: Desk, wanted: Offer) -> list[Definition]:
    return offering.discovery(desk, hidden=True) if wanted.is_whole else offering.bridge(desk)


def _static(desk: Desk, wanted: Offer) -> list[Definition]:
    return [*offering.discovery(desk, wanted.is_whole), *offering.everything(desk)]


def _extended(
    asked: asking.Asked, desk: Desk, wanted: Offer, ours: list[Definition], found: list[Definition]
) -> list[Definition]:
    """Ours, what is always wanted (by the setting `pin`, by the session), and what was found, each once."""
    names = [*asked.config["pin"], *_active(asked, wanted)]
    heads = [asked.index.resolve(name) for name in names]
    for name in (name for name, head in zip(names, heads, strict=True) if head is None):
        output.notice(f"notice: there is no {name}, which is to be in every list")
    kept = offering.offered(desk, [asked.index.whole(head) for head in heads if head])
    return list({each.id: each for each in (*ours, *kept, *found)}.values())


def _active(asked: asking.Asked, wanted: Offer) -> list[str]:
    if wanted.session is None:
        return []
    from capdisc_indexer import session

    there = session.exists(asked.here.state_dir(), wanted.session)
    return list(session.load(asked.here.state_dir(), wanted.session).active) if there else []


def _found(asked: asking.Asked, desk: Desk, wanted: Offer, mode: str | None, encoder: str | None) -> list[Definition]:
    querying.check(asked, wanted.query)
    ranking = querying.ranking_for(asked, wanted.query, mode, encoder)
    ids = [hit.id for hit in ranking.hits if hit.relevance >= wanted.min_relevance or hit.via]
    made = offering.offered(desk, offering.by_ids(desk, ids))
    kept = {each.id for each in made}
    sessions.remembered(asked.here, wanted.session, [each for each in ids if each in kept])
    if others := [each for each in ids if each not in kept]:
        output.notice(f"notice: found too, and no functions: {output.listed(others)} (search_tool says more)")
    if not ids:
        output.notice("notice: nothing fits the query")
    return made


def _is_progressive(asked: asking.Asked, wanted: Offer) -> bool:
    """Whether the few are wanted, or may be: with auto, the size of everything decides."""
    if wanted.progressive is not None:
        return wanted.progressive
    return _is_auto(asked, wanted) or _SETTINGS[_setting(asked)]


def _is_auto(asked: asking.Asked, wanted: Offer) -> bool:
    return wanted.progressive is None and (wanted.auto or _setting(asked) == "auto")


def _setting(asked: asking.Asked) -> str:
    text: str = asked.config["progressive"].strip().lower()
    if text != "auto" and text not in _SETTINGS:
        origin = asked.config.origins["progressive"]
        raise UsageError(f"progressive is {text!r} ({origin})", "set it to on, off or auto")
    return text


def _smaller(wanted: Offer, everything: list[Definition], few: list[Definition]) -> Offered:
    """Everything where its definitions fit into the room, else the few."""
    whole = _in_form(wanted, everything, "static")
    tokens = token_count()(output.json_text(whole.value, None))
    output.notice(f"notice: all definitions have {tokens:,} tokens; {wanted.room:,} are allowed")
    return whole if tokens <= wanted.room else _in_form(wanted, few, "progressive")


def _in_form(wanted: Offer, definitions: list[Definition], choice: str) -> Offered:
    value, names = in_form(wanted.form, definitions)
    changed = [f"{each.id} is {names[each.id]}" for each in definitions if names[each.id] != each.name]
    if changed and wanted.form != "json":
        output.notice(f"notice: called otherwise here: {output.listed(changed)} (--map lists all)")
    parameters = renamed_parameters(wanted.form, definitions)
    if others := [f"{own} is {new}" for each in parameters.values() for new, own in each.items()]:
        output.notice(f"notice: parameters called otherwise here: {output.listed(others)} (--map lists all)")
    return Offered(form=wanted.form, value=value, names=names, parameters=parameters, choice=choice)


def printed(made: Offered) -> str:
    """The definitions as their provider takes them; our own form is a document with its version and its tokens."""
    if made.form != "json":
        return output.json_text(made.value)
    tokens = token_count()(output.json_text(made.value, None))
    document = {"schema_version": output.SCHEMA_VERSION, "choice": made.choice, "tokens": tokens, "tools": made.value}
    return output.json_text(document)
