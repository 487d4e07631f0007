"""The options and arguments that several commands share.

A command annotates its parameters with them. Options that belong together are the fields of a
frozen class, which a command takes as one parameter.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

from capdisc.args.command_line import argument, check_finite, option, parse_seconds
from capdisc.context import surroundings
from capdisc.output import command_process
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.risks import RISK_CHOICES, risk_level
from capdisc_indexer.model.types import Query

# Lines on stdin that are fused as queries of their own.
MAX_LINES = 16

MinRelevance = Annotated[
    float | None,
    option(
        min=0,
        max=1,
        callback=check_finite,
        help="Leave out hits of less relevance [0.05].",
        panel="Searching",
    ),
]
Ids = Annotated[bool, option(help="Print ids only, one per line.", panel="Output")]
Paths = Annotated[bool, option(help="Print file paths only, each once.", panel="Output")]
Null = Annotated[
    bool,
    option(
        "--null",
        "-0",
        help="End each id or path with a null byte: … --ids -0 | xargs -0 -n1 capdisc show",
        panel="Output",
    ),
]
Open = Annotated[
    bool,
    option(
        help="Open the first file in your editor (VISUAL, EDITOR).",
        panel="Output",
    ),
]
IndexDir = Annotated[
    Path | None,
    option(metavar="DIR", help="The folder of the index.", panel="Index"),
]
Json = Annotated[bool, option(help="Print JSON.", panel="Output")]
Fresh = Annotated[
    str | None,
    option(
        help="Pick up changed files first: auto: a few; require: all; off: none.",
        panel="Index",
        choices=("auto", "require", "off"),
    ),
]
Engine = Annotated[
    str | None,
    option(
        help="Where candidates come from: the index itself (matrix), or its LanceDB table.",
        panel="Index",
        choices=("auto", "matrix", "lancedb"),
    ),
]
LockTimeout = Annotated[
    float | None,
    option(
        metavar="TIME",
        parser=parse_seconds,
        help="How long to wait for another writer: 2, 2s, 500ms, 1m.",
        panel="Index",
    ),
]
Words = Annotated[
    list[str] | None, argument(metavar="[QUERY]...", help="What you need; - reads it from stdin.")
]
Also = Annotated[
    list[str] | None,
    option(
        metavar="QUERY",
        help="The query in other words; the rankings are fused.",
        panel="Searching",
    ),
]
Mode = Annotated[
    str | None,
    option(
        help="Search by words, by meaning or both; no-graph: without relations; rerank: both, reordered by the reranker.",
        panel="Searching",
        choices=("auto", "hybrid", "lexical", "vector", "no-graph", "rerank"),
    ),
]
Gate = Annotated[
    str,
    option(
        help='auto: print nothing for talk such as "thanks!"; off: answer every query.',
        panel="Searching",
        choices=("auto", "off"),
    ),
]
SessionName = Annotated[
    str | None,
    option(
        metavar="NAME",
        help="Record the hits in this session; a new one is created.",
        panel="Session",
    ),
]
EncoderName = Annotated[
    str | None,
    option(
        metavar="NAME",
        help="static, or an ONNX or sentence-transformers model: NAME, NAME@DIM or a path.",
        panel="Searching",
    ),
]
ContextSize = Annotated[
    int, option(min=1, help="With --auto: tokens of the model's context.", panel="Budget")
]
ThresholdPct = Annotated[
    float,
    option(
        min=0,
        max=100,
        callback=check_finite,
        help="With --auto: the percentage of the context that counts as small.",
        panel="Budget",
    ),
]


# An option under the heading Filters of help.
filter_option = partial(option, panel="Filters")


@frozen(kw_only=True)
class Filters:
    """The filter options as they were typed, the same for every command that takes a query."""

    kind: Annotated[list[str] | None, filter_option(help="Only this kind (repeatable).")] = None
    category: Annotated[
        list[str] | None,
        filter_option(help="Only this category (repeatable)."),
    ] = None
    tag: Annotated[list[str] | None, filter_option(help="Only with this tag (repeatable).")] = None
    id: Annotated[
        list[str] | None,
        filter_option(
            metavar="PATTERN",
            help="Only ids of this pattern, such as 'table:shop.*' (repeatable).",
        ),
    ] = None
    exclude: Annotated[
        list[str] | None,
        filter_option(metavar="ID", help="Leave this capability out (repeatable)."),
    ] = None
    max_risk: Annotated[
        str,
        filter_option(
            help="At most this risk; one that declares none counts as high.",
            choices=RISK_CHOICES,
        ),
    ] = ""
    available: Annotated[
        bool,
        filter_option(help="Only those whose secrets and programs are installed."),
    ] = False

    preset: Annotated[
        list[str] | None,
        filter_option(
            metavar="NAME",
            help="Add the members of this preset to the hits; list: show only them (repeatable).",
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
    piped = command_process.read_stdin_text() if "-" in typed_words else ""
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
        command_process.read_stdin_text() if reads_stdin else "",
    )
    return tuple(text.strip() for text in texts if text.strip())
