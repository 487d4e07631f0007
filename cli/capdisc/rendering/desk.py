"""What a context is made from: the open index, what was typed, and what was found and decided so far."""

from __future__ import annotations

from collections.abc import Sequence

from capdisc import asking, files, output, querying
from capdisc.rendering import disclosing, limits, shaping
from capdisc.rendering.disclosing import Disclosure
from capdisc.rendering.everything import Everything
from capdisc.rendering.finding import Found, Stored, all_in_full, find, unasked
from capdisc.rendering.limits import Room
from capdisc.rendering.memory import Brought, brought
from capdisc.rendering.pinning import pinned
from capdisc.rendering.typed import Typed
from capdisc_indexer.errors import IndexStateError, UsageError
from capdisc_indexer.frozen import frozen
from capdisc_indexer.render.format import Format
from capdisc_indexer.tokenizers import tokenizer
from capdisc_indexer.tokens import TokenCounter, Tokenizer, counter_of
from capdisc_indexer.types import Query


@frozen(kw_only=True)
class Desk:
    """All of it. `texts` are what is asked."""

    asked: asking.Asked
    typed: Typed
    texts: tuple[str, ...]
    form: Format
    room: Room
    counter: TokenCounter
    found: Found
    told: Disclosure
    session: Brought
    pinned: tuple[Stored, ...]

    @property
    def is_catalogue(self) -> bool:
        """Whether the format has one tier and no other part."""
        return self.form.levels == (1,)


def prepared(asked: asking.Asked, typed: Typed) -> Desk:
    """The desk. Raises UsageError for what makes no sense, IndexStateError for an index without a capability."""
    shaping.checked(typed)
    form = shaping.form_of(typed.shape, asked.here.user_state_dir())
    room, texts = limits.room(asked.config, typed.limits), _texts(asked, typed)
    if not len(asked.index.documents) and form.levels != (1,):
        hint = "write one (capdisc new skill NAME), then run: capdisc index PATH"
        raise IndexStateError("no capabilities are indexed", hint)
    query = typed.request.filters.query(texts, max(room.summaries, room.details, 1))
    querying.check(asked, query)
    chosen = _tokenizer(asked, typed)
    told = disclosing.disclosure(asked, typed.prompting, query, chosen)
    counter = counter_of(chosen)
    counter.learn(asked.index.meta("overview")["counts"])
    return Desk(
        asked=asked,
        typed=typed,
        texts=texts,
        form=form,
        room=room,
        counter=counter,
        found=_found(asked, typed, query, form, told, counter),
        told=told,
        session=brought(asked, typed.prompting.session),
        pinned=pinned(asked, query),
    )


def _texts(asked: asking.Asked, typed: Typed) -> tuple[str, ...]:
    """The query; stdin is not it where it is a text to be added or a template."""
    request, prompting = typed.request, typed.prompting
    takers = [*prompting.append, prompting.template, *(request.words or ())]
    if takers.count(files.STDIN) > 1:
        raise UsageError("stdin can be read once", "give - in one place")
    if files.STDIN in takers and files.STDIN not in (request.words or ()):
        texts: Sequence[str] = (" ".join(request.words or ()), *(request.also or ()))
        return tuple(text.strip() for text in texts if text.strip())
    return querying.whole_text(asked.here, request.words, request.also)


def _tokenizer(asked: asking.Asked, typed: Typed) -> Tokenizer:
    chosen = tokenizer(typed.limits.tokenizer or asked.config["tokenizer"])
    if chosen.about:
        output.notice(f"notice: {chosen.about}")
    return chosen


def _found(
    asked: asking.Asked, typed: Typed, query: Query, form: Format, told: Disclosure, counter: TokenCounter
) -> Found:
    def everything() -> Everything:
        return Everything(asked, query, form, counter)

    if told.is_everything:
        return Found(ranking=unasked(query), stored=all_in_full(asked, query), is_everything=True)
    if form.levels == (1,) and not query.texts:
        return Found(ranking=unasked(query), is_everything=True, everything=everything())
    return find(asked, typed.request, query, everything)
