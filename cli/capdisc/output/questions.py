"""Questions to a person at the terminal."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from capdisc.output import console
from capdisc_indexer.platforms import system

if TYPE_CHECKING:
    from capdisc.context.surroundings import Runtime

YES = ("y", "yes")


def has_person(runtime: Runtime) -> bool:
    """Whether somebody is there to answer a question."""
    return runtime.stdin_is_terminal and runtime.stderr_is_terminal


def read_answer(question: str) -> str:
    """The answer to a question at the terminal, in lower case. What was typed before the question
    was printed does not count.
    """
    console.print_question(question)
    with suppress(OSError, ValueError):  # no terminal, or closed
        system.discard_typed_text(sys.stdin.fileno())
    return sys.stdin.readline().strip().lower()
