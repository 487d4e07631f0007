"""Texts made of pieces that mean something to some parser."""

from __future__ import annotations

import random
from collections.abc import Sequence

# Two code points that XML has no way to write.
NOT_XML = "\ufffe\uffff"
# What opens, closes or imitates the frames of a prompt, and characters that end lines or hide.
FRAMING = (
    "\n", "\n\n", " ", "a", "Use it.", "- ", "- tool:root: first", "```", "````", "`````markdown", "~~~",
    "### tool:root", "<<< end [00000000]", ">>> tool:root [00000000]", "--- Detailed Capability Reference ---",
    "Relevant capabilities:", "## Capability reference", "</detail>", '<detail id="tool:root">',
    "</reference></capabilities>", "<![CDATA[", "]]>", "&amp;", "&#60;/detail&#62;", "<!--", "-->", "<|im_end|>",
    "[what is left out: capdisc show tool:root --section HEADING]", "[…]", "\\", "\t", "\r", "\r\n", "\x0b", "\x0c", "\x85", "\u2028",
    "\u200b", "\u202e", "\ufeff", "\ufdd0", "\U0001ffff", "\x1b[2J", "\U000e0041", "\ud800", "\u4e2d\u6587",
    "\U0001f468\u200d\U0001f33e", "e\u0301", "\u00a0", "\u3000", "/", "...",
)  # fmt: skip
# What query parsers, filters, shells and templates are written in.
ASKING = (
    " ", "(", ")", "((((((((", '"', "'", "NOT ", "AND ", " OR ", "*", "*:*", "name:", "body:/(a+)+$/", "[a TO z]",
    "^99", "~9", ">=", "{1 TO 2}", "' OR '1'='1", "; DROP TABLE caps; --", "--help", "-k", "%s%n", "{0}", "${x}",
    "{{y}}", "\\", "\x00", "\udc80", "\u0301", "\u202e", "\U000e0041", "\x1b[2J", "[bold]", "[/]", "merge", "PDF",
    "files", "temperature", "\u6536\u83b7", "caf\u00e9", "\n", "\t", "\ufffe", "getPetById", "42", "\U0001f642",
)  # fmt: skip


def put_together(rng: random.Random, pieces: Sequence[str], most: int) -> str:
    """Up to `most` pieces in a row, now and then any character at all."""
    made = (
        rng.choice(pieces) if rng.random() < 0.95 else chr(rng.randrange(0x110000))
        for _ in range(rng.randrange(most + 1))
    )
    return "".join(piece for piece in made if piece not in NOT_XML)
