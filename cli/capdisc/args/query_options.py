"""The words and filters of a query as they are typed, for every command that takes one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from capdisc.args.params import option
from capdisc.context import surroundings
from capdisc.output import standard_streams
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.risks import RISK_CHOICES, risk_level
from capdisc_indexer.model.types import Query

# Lines on stdin that are fused as queries of their own.
MAX_LINES = 16
MAX_SYNONYM_BYTES = 256 * 1024


@frozen(kw_only=True)
class Filters:
    """The filter options as they were typed, the same for every command that takes a query."""

    kind: Annotated[
        list[str] | None, option("--kind", help="Only this kind (repeatable).", panel="Filters")
    ] = None
    category: Annotated[
        list[str] | None,
        option("--category", help="Only this category (repeatable).", panel="Filters"),
    ] = None
    tag: Annotated[
        list[str] | None, option("--tag", help="Only with this tag (repeatable).", panel="Filters")
    ] = None
    id: Annotated[
        list[str] | None,
        option(
            "--id",
            metavar="PATTERN",
            help="Only ids of this pattern, such as 'table:shop.*' (repeatable).",
            panel="Filters",
        ),
    ] = None
    exclude: Annotated[
        list[str] | None,
        option(
            "--exclude",
            metavar="ID",
            help="Leave this capability out (repeatable).",
            panel="Filters",
        ),
    ] = None
    max_risk: Annotated[
        str,
        option(
            "--max-risk",
            help="At most this risk; one that declares none counts as high.",
            panel="Filters",
            choices=RISK_CHOICES,
        ),
    ] = ""
    available: Annotated[
        bool,
        option(
            "--available",
            help="Only those whose secrets and programs are installed.",
            panel="Filters",
        ),
    ] = False

    preset: Annotated[
        list[str] | None,
        option(
            "--preset",
            metavar="NAME",
            help="Add the members of this preset to the hits; list: show only them (repeatable).",
            panel="Filters",
        ),
    ] = None

    def query(self, texts: tuple[str, ...], limit: int) -> Query:
        """The query for these texts with the filters."""
        return Query(
            texts=texts,
            kinds=tuple(self.kind or ()),
            categories=tuple(self.category or ()),
            tags=tuple(self.tag or ()),
            ids=tuple(self.id or ()),
            exclude=tuple(self.exclude or ()),
            max_risk=risk_level(self.max_risk) or self.max_risk,
            available=self.available,
            limit=limit,
            presets=tuple(self.preset or ()),
        )


def query_texts(words: Sequence[str] | None, also: Sequence[str] | None) -> tuple[str, ...]:
    """The texts to search for: the words as one text, each `--also`, and stdin where a word is
    `-`. Up to MAX_LINES lines of stdin are texts of their own; more are one text.
    """
    typed_words = list(words or ())
    joined_words = " ".join(word for word in typed_words if word != "-").strip()
    piped = standard_streams.read_stdin_text() if "-" in typed_words else ""
    lines = [line for line in piped.splitlines() if line.strip()]
    texts = (joined_words, *(also or ()), *(lines if len(lines) <= MAX_LINES else (piped,)))
    return tuple(text.strip() for text in texts if text.strip())


def prompt_texts(
    runtime: surroundings.Runtime, words: Sequence[str] | None, also: Sequence[str] | None
) -> tuple[str, ...]:
    """The texts to search for in `render`: as `query_texts`, but stdin is always one text, and is
    read without `-`, too, where nothing else is typed and it is not a terminal.
    """
    typed_words = [word for word in words or () if word != "-"]
    reads_stdin = "-" in (words or ()) or not (typed_words or also or runtime.stdin_is_terminal)
    texts = (
        " ".join(typed_words),
        *(also or ()),
        standard_streams.read_stdin_text() if reads_stdin else "",
    )
    return tuple(text.strip() for text in texts if text.strip())
