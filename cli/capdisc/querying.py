"""What is asked, from what was typed to a ranking: shared by every command that takes a query."""

from __future__ import annotations

from collections.abc import Sequence

from capdisc import asking, output, runtime, streams
from capdisc_indexer.discover import MODES, discover
from capdisc_indexer.encoders import Encoder
from capdisc_indexer.errors import EncoderError, UsageError
from capdisc_indexer.frozen import frozen, replace
from capdisc_indexer.store.schema import RISKS
from capdisc_indexer.types import Query, Ranking

# Lines on stdin that are fused as queries of their own.
MAX_LINES = 16


@frozen
class Filters:
    """The filter options as they were typed, the same for every command that takes a query."""

    kind: Sequence[str] | None
    category: Sequence[str] | None
    tag: Sequence[str] | None
    exclude: Sequence[str] | None
    max_risk: str
    available: bool

    def query(self, texts: tuple[str, ...], limit: int) -> Query:
        """What is asked with these filters."""
        return Query(
            texts=texts,
            kinds=tuple(self.kind or ()),
            categories=tuple(self.category or ()),
            tags=tuple(self.tag or ()),
            exclude=tuple(self.exclude or ()),
            max_risk=self.max_risk,
            available=self.available,
            limit=limit,
        )


def texts_of(words: Sequence[str] | None, also: Sequence[str] | None) -> tuple[str, ...]:
    """The queries: the words as one, each `--also`, and where `-` asks for it, stdin: a few lines are queries of their
    own, more than that is one text."""
    given = list(words or ())
    own = " ".join(word for word in given if word != "-").strip()
    piped = streams.stdin_text() if "-" in given else ""
    lines = [line for line in piped.splitlines() if line.strip()]
    texts = (own, *(also or ()), *(lines if len(lines) <= MAX_LINES else (piped,)))
    return tuple(text.strip() for text in texts if text.strip())


def whole_text(here: runtime.Runtime, words: Sequence[str] | None, also: Sequence[str] | None) -> tuple[str, ...]:
    """The queries of a prompt: as `texts_of`, but stdin is one text however many lines it has, and is read without
    being asked for when nothing else is given and it is not a terminal."""
    given = [word for word in words or () if word != "-"]
    asked = "-" in (words or ()) or not (given or also or here.stdin_is_terminal)
    texts = (" ".join(given), *(also or ()), streams.stdin_text() if asked else "")
    return tuple(text.strip() for text in texts if text.strip())


def check(asked: asking.Asked, query: Query) -> None:
    """Raises UsageError for a kind, category, tag or risk that can match nothing here."""
    facts = asked.index.meta("overview")
    known = {"kind": set(facts["kinds"]), "category": {each["category"].lower() for each in facts["categories"]}}
    for label, values in (("kind", query.kinds), ("category", query.categories)):
        for value in values:
            if value.lower() not in {each.lower() for each in known[label]}:
                raise UsageError(f"unknown {label} {value!r}", f"here there are: {', '.join(sorted(known[label]))}")
    for tag in query.tags:
        if not asked.index.documents.tagged(tag):
            raise UsageError(f"no capability has the tag {tag!r}", "run: capdisc list --json")
    for name in query.exclude:
        if asked.index.resolve(name) is None:
            output.notice(f"notice: there is no {name} to leave out")
    if query.max_risk and query.max_risk not in RISKS:
        raise UsageError(f"unknown risk {query.max_risk!r}", f"one of: {', '.join(RISKS)}")


def ranking_for(asked: asking.Asked, query: Query, mode: str | None, encoder_name: str | None = None) -> Ranking:
    """The ranking of a query that was checked, with whatever was degraded said on stderr."""
    chosen = mode_of(asked, mode)
    encoder, why = (None, "") if chosen == "lexical" else encoder_or_why(asked, encoder_name)
    found = discover(asked.index, query, encoder, chosen, lambda head: asking.available(asked.here, head))
    for text in found.degraded:
        output.notice(f"notice: {text}{why and f' ({why})'}")
    return replace(found, degraded=(*asked.degraded, *found.degraded)) if asked.degraded else found


def mode_of(asked: asking.Asked, mode: str | None) -> str:
    """The mode by option or setting. Raises UsageError when there is no such mode."""
    chosen: str = mode or asked.config["mode"]
    if chosen not in MODES:
        raise UsageError(f"unknown mode {chosen!r}", f"one of: {', '.join(MODES)}")
    return chosen


def encoder_or_why(asked: asking.Asked, name: str | None) -> tuple[Encoder | None, str]:
    """The encoder by option, setting or index; None, and why, when it cannot be used."""
    chosen = asked.here.encoder_name(name or asked.config["encoder"]) or asked.index.generation.encoder
    if not chosen:
        return None, ""
    try:
        return asking.load_encoder(chosen), ""
    except EncoderError as error:
        return None, f"{error.message}; {error.hint}"
