"""Every capability that may be shown, for a context without a query: read as far as the budget
reaches.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from capdisc.context import open_index
from capdisc_indexer.model.records import from_record
from capdisc_indexer.model.types import Descriptor, Query
from capdisc_indexer.rendering.formats.format import RenderFormat
from capdisc_indexer.rendering.token_accounting import COUNTED_FORMATS, learn_counts
from capdisc_indexer.store.columns import is_told_by_columns
from capdisc_indexer.text.token_counts import TokenCounter

_AT_A_TIME = 128
# A fit that is searched for by bisection asks for the first ones again and again.
_REMEMBERED_BATCHES = 16


def offered_places(asked: open_index.CommandContext, query: Query) -> list[int]:
    """The places in the index's columns of what is not hidden and has the query's kinds and
    categories.
    """
    columns = asked.index.columns
    return [place for place in columns.matching(query) if place not in columns.hidden]


def offered_heads(
    asked: open_index.CommandContext, query: Query, ids: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """The heads of those of the ids that pass the query's filters, in the order given."""
    heads = asked.index.documents.in_order(ids, query)
    return (
        head
        for head in heads
        if not query.available or open_index.is_available(asked.runtime, head)
    )


class Everything:
    """The capabilities that pass the filters, suit the format and are not hidden, in the order of
    their ids. Each is read when it is reached, and the counts that the index keeps of it are given
    to the counter; `missing` says of those that were read what they lack here.
    """

    def __init__(
        self,
        asked: open_index.CommandContext,
        query: Query,
        form: RenderFormat,
        counter: TokenCounter,
    ) -> None:
        self._asked, self._query, self._form, self._counter = asked, query, form, counter
        columns = asked.index.columns
        places = offered_places(asked, query)
        self._ids = [columns.ids[place] for place in places if form.suits(columns.kinds[place])]
        self._batches: dict[int, list[Descriptor]] = {}
        self.missing: dict[str, tuple[str, ...]] = {}

    def __iter__(self) -> Iterator[Descriptor]:
        for start in range(0, len(self._ids), _AT_A_TIME):
            batch = self._batches.get(start)
            if batch is None:
                batch = list(map(self._read, self._heads(start)))
                if len(self._batches) < _REMEMBERED_BATCHES:
                    self._batches[start] = batch
            yield from batch

    def __len__(self) -> int:
        if is_told_by_columns(self._query):
            return len(self._ids)
        return sum(1 for _ in offered_heads(self._asked, self._query, self._ids))

    def leave_out(self, ids: Collection[str]) -> None:
        """From now on without these, which are shown elsewhere."""
        self._ids = [identifier for identifier in self._ids if identifier not in ids]
        self._batches.clear()

    def get(self, identifier: str) -> Descriptor | None:
        """The one with this id, without its long parts."""
        head = self._asked.index.documents.headers_for([identifier], Query(texts=())).get(
            identifier
        )
        return from_record(head) if head else None

    def _heads(self, start: int) -> Iterator[dict[str, Any]]:
        return offered_heads(self._asked, self._query, self._ids[start : start + _AT_A_TIME])

    def _read(self, head: dict[str, Any]) -> Descriptor:
        if self._form.levels != (1,) and (
            names := open_index.missing_requirements(self._asked.runtime, head)
        ):
            self.missing[head["id"]] = names
        if (
            self._form.name not in COUNTED_FORMATS
        ):  # nothing of the body is printed, or was counted ahead
            return from_record(head)
        descriptor, counts = self._asked.index.with_counts(head)
        learn_counts(self._counter, self._form, descriptor, counts, with_detail=False)
        return descriptor
