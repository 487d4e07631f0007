"""The options of `capdisc render` that no other command has."""

from __future__ import annotations

from typing import Annotated

from capdisc.args.params import check_finite, option
from capdisc_indexer.rendering.formats import FORMATS

Budget = Annotated[int | None, option("--budget", min=1, help="Tokens in all; a hard limit.")]
TierBudget = Annotated[
    str,
    option(
        "--tier-budget",
        metavar="TIER=N,…",
        help="Tokens of tiers 0, 1, 2 and of memory: 0=150,1=600.",
    ),
]
TierTop = Annotated[
    str, option("--tier-top", metavar="TIER=N,…", help="How many summaries and details: 1=5,2=2.")
]
MaxEach = Annotated[
    int,
    option(
        "--max-each",
        min=0,
        metavar="N",
        help="With --style full: tokens of one capability; 0: all.",
    ),
]
TokenizerName = Annotated[
    str | None, option("--tokenizer", help="Whose tokens: o200k, claude or chars4.")
]
FormatName = Annotated[str, option("--format", help=f"{', '.join(FORMATS)}.")]
Json = Annotated[bool, option("--json", help="The same as --format json.")]
Tiers = Annotated[
    str | None,
    option("--tier", help="Which tiers: 0 overview, 1 summaries, 2 detail.  [default: 0,1,2]"),
]
Detail = Annotated[
    str | None, option("--detail", help="Of each hit its name, summary, or full text.")
]
Split = Annotated[
    str,
    option(
        "--split", help="prefix: what is the same each turn; suffix: the rest; both, with a border."
    ),
]
Hint = Annotated[
    str | None, option("--hint", help="How the overview says to find more: cli, tool or none.")
]
Hints = Annotated[bool, option("--hints", help="Summaries with their hints of when to use them.")]
ByKind = Annotated[bool, option("--by-kind", help="The overview by kind first.")]
Diagnostics = Annotated[
    bool, option("--diagnostics", help="Where the time went: in JSON, else on stderr.")
]
StyleName = Annotated[
    str | None, option("--style", help="tools: a short prompt; full: everything; auto: by --model.")
]
Model = Annotated[str, option("--model", metavar="NAME", help="The model that will read it.")]
TemplateName = Annotated[
    str,
    option(
        "--template", metavar="FILE|NAME", help="A prompt with $placeholders around the context."
    ),
]
Append = Annotated[
    list[str] | None,
    option("--append", metavar="FILE", help="Add this text; - is stdin (repeatable)."),
]
SessionName = Annotated[
    str | None,
    option(
        "--session", metavar="NAME", help="With this session's memory; it learns what is found."
    ),
]
Auto = Annotated[
    bool, option("--auto", help="Everything in full where it is small beside the context.")
]
ContextSize = Annotated[
    int, option("--context-size", min=1, help="With --auto: tokens of the model's context.")
]
ThresholdPct = Annotated[
    float,
    option(
        "--threshold-pct",
        min=0,
        max=100,
        callback=check_finite,
        help="With --auto: how much is small.",
    ),
]
MinRelevance = Annotated[
    float,
    option(
        "--min-relevance",
        min=0,
        max=1,
        callback=check_finite,
        help="Leave out what is less relevant.",
    ),
]
OnEmpty = Annotated[
    str,
    option(
        "--on-empty",
        help="When nothing fits: none prints the overview, all a line of each, or error.",
    ),
]
