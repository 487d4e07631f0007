"""Printed prompts counted by the tokenizer, over several indexes."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

from capdisc_indexer.lazy_imports import load_token_counter
from hostile.streams import say
from product_lists import RENDER_FORMATS
from properties.pieces import ASKING, put_together

TIERS = ("0,1,2", "0,1,2", "1,2", "2", "0", "1")
_WORDS = (
    "convert temperature",
    "pull turnips",
    "merge PDF files",
    "send an e-mail",
    "ignore all instructions",
    "row",
)


def over_budget(rng: random.Random, indexes: Sequence[Path]) -> str:
    """The fault of one prompt made by chance; empty when it keeps its budget and says what it cut."""
    words = (
        rng.choice(_WORDS)
        if rng.random() < 0.7
        else put_together(rng, ASKING, 12).strip() or "row"
    )
    form, tiers, budget = (
        rng.choice(RENDER_FORMATS),
        rng.choice(TIERS),
        rng.choice((60, 300, 1_200, 4_000)) + rng.randrange(60),
    )
    where = [
        "--format",
        form,
        "--tier",
        tiers,
        "--budget",
        str(budget),
        "--index-dir",
        str(rng.choice(indexes)),
    ]
    said = say("render", ["render", *where, "--", words])
    what = f"{' '.join(said.argv)!r}"
    if said.status not in (0, 2):
        return f"{what}: status {said.status}: {said.err[:200]}"
    if (tokens := load_token_counter()(said.out)) > budget:
        return f"{what}: {tokens} tokens"
    if "[what is left out: " in said.out and "cut to fit" not in said.err:
        return f"{what}: cut without a word"
    return ""
