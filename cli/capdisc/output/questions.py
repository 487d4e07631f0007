"""Questions to a person at the terminal."""

from __future__ import annotations

import sys
from contextlib import suppress

from capdisc.output import console

YES = ("y", "yes")


def read_answer(question: str) -> str:
    """The answer to a question at the terminal, in lower case. What was typed before the question
    was printed does not count.
    """
    import termios

    console.print_question(question)
    with suppress(termios.error, OSError, ValueError):
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
    return sys.stdin.readline().strip().lower()
