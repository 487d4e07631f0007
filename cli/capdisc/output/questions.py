"""Questions to a person at the terminal."""

from __future__ import annotations

import sys
from contextlib import suppress

from capdisc.output import console
from capdisc_indexer.platforms import system

YES = ("y", "yes")


def read_answer(question: str) -> str:
    """The answer to a question at the terminal, in lower case. What was typed before the question
    was printed does not count.
    """
    console.print_question(question)
    with suppress(OSError, ValueError):  # no terminal, or closed
        system.discard_typed_text(sys.stdin.fileno())
    return sys.stdin.readline().strip().lower()
