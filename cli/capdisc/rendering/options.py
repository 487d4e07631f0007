"""The options of `capdisc render` that no other command has."""

from __future__ import annotations

from typing import Annotated

import typer

from capdisc.options import finite
from capdisc_indexer.render import FORMATS

Budget = Annotated[int | None, typer.Option("--budget", min=1, help="Tokens in all; a hard limit.")]
TierBudget = Annotated[
    str, typer.Option("--tier-budget", metavar="TIER=N,…", help="Tokens of tiers 0, 1, 2 and of memory: 0=150,1=600.")
]
TierTop = Annotated[
    str, typer.Option("--tier-top", metavar="TIER=N,…", help="How many summaries and details: 1=5,2=2.")
]
Each = Annotated[
    int, typer.Option("--max-each", min=0, metavar="N", help="With --style full: tokens of one capability; 0: all.")
]
TokenizerName = Annotated[str | None, typer.Option("--tokenizer", help="Whose tokens: o200k, claude or chars4.")]
FormatName = Annotated[str, typer.Option("--format", help=f"{', '.join(FORMATS)}.")]
Json = Annotated[bool, typer.Option("--json", help="The same as --format json.")]
Tiers = Annotated[
    str | None, typer.Option("--tier", help="Which tiers: 0 overview, 1 summaries, 2 detail.  [default: 0,1,2]")
]
Detail = Annotated[str | None, typer.Option("--detail", help="Of each hit its name, summary, or full text.")]
Split = Annotated[
    str, typer.Option("--split", help="prefix: what is the same each turn; suffix: the rest; both, with a border.")
]
Hint = Annotated[str | None, typer.Option("--hint", help="How the overview says to find more: cli, tool or none.")]
Hints = Annotated[bool, typer.Option("--hints", help="Summaries with their hints of when to use them.")]
ByKind = Annotated[bool, typer.Option("--by-kind", help="The overview by kind first.")]
Diagnostics = Annotated[bool, typer.Option("--diagnostics", help="Where the time went: in JSON, else on stderr.")]
StyleName = Annotated[
    str | None, typer.Option("--style", help="tools: a short prompt; full: everything; auto: by --model.")
]
Model = Annotated[str, typer.Option("--model", metavar="NAME", help="The model that will read it.")]
TemplateName = Annotated[
    str, typer.Option("--template", metavar="FILE|NAME", help="A prompt with $placeholders around the context.")
]
Append = Annotated[
    list[str] | None, typer.Option("--append", metavar="FILE", help="Add this text; - is stdin (repeatable).")
]
SessionName = Annotated[
    str | None,
    typer.Option("--session", metavar="NAME", help="With this session's memory; it learns what is found."),
]
Auto = Annotated[bool, typer.Option("--auto", help="Everything in full where it is small beside the context.")]
ContextSize = Annotated[int, typer.Option("--context-size", min=1, help="With --auto: tokens of the model's context.")]
ThresholdPct = Annotated[
    float,
    typer.Option("--threshold-pct", min=0, max=100, callback=finite, help="With --auto: how much is small."),
]
MinRelevance = Annotated[
    float,
    typer.Option("--min-relevance", min=0, max=1, callback=finite, help="Leave out what is less relevant."),
]
OnEmpty = Annotated[
    str, typer.Option("--on-empty", help="When nothing fits: none prints the overview, all a line of each, or error.")
]
