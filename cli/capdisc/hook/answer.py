"""What is the answer to a prompt made of, and what fits into its budget?

The tokenizer takes 30 to 50 ms to load, a third of a cold search, and holds the interpreter
meanwhile. So a hook lets another process load it while it searches.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence

from capdisc_indexer.model.frozen import frozen

HEADING = "Skills and tools here that may fit this request (read the file before use):\n"


@frozen(kw_only=True)
class Limits:
    """How much is printed: tokens in all, capabilities, and whether a part of the best one's text
    is added. `gate` is a mode of `--gate`.
    """

    budget_tokens: int
    capabilities: int
    detail: bool
    gate: str


@frozen(kw_only=True)
class Suggestion:
    """A capability that fits: its line, the part of its text to print with it ("": none), and their
    tokens. `digest` changes with what the capability says.
    """

    id: str
    line: str
    tokens: int
    digest: str
    detail: str = ""
    detail_tokens: int = 0


@frozen(kw_only=True)
class Suggestions:
    """What fits a prompt, best first, and `reason`: why nothing does, or what was left out."""

    items: tuple[Suggestion, ...] = ()
    reason: str = ""


# From the name of a tokenizer and texts to the tokens of each text.
CountTexts = Callable[[str, Sequence[str]], list[int]]


def count_here(tokenizer: str, texts: Sequence[str]) -> list[int]:
    """The tokens of each text. Raises UsageError for an unknown tokenizer."""
    from capdisc_indexer.text.token_counts import find_tokenizer, make_counter

    counter = make_counter(find_tokenizer(tokenizer))
    return [counter.count(text) for text in texts]


def start_counter() -> CountTexts:
    """A counter that works once, in a process that is started now; in this one where there can be
    none.
    """
    try:
        questions, answers = os.pipe(), os.pipe()
        helper = os.fork()
    except OSError:
        return count_here
    if not helper:
        _run_helper(questions, answers)
    os.close(questions[0])
    os.close(answers[1])

    def count_in_helper(tokenizer: str, texts: Sequence[str]) -> list[int]:
        try:
            with os.fdopen(questions[1], "wb") as stream:
                stream.write(json.dumps([tokenizer, texts]).encode())
            with os.fdopen(answers[0], "rb") as stream:
                counts = json.loads(stream.read())
            os.waitpid(helper, 0)
        except (OSError, ValueError):
            return count_here(tokenizer, texts)
        return [int(count) for count in counts]

    return count_in_helper


def _run_helper(questions: tuple[int, int], answers: tuple[int, int]) -> None:
    """Answer one question, and end this process; also where nobody asks."""
    try:
        from capdisc_indexer import lazy_imports

        nowhere = os.open(os.devnull, os.O_RDWR)
        for number in range(3):  # the guard waits until nobody can write to its pipes
            os.dup2(nowhere, number)
        os.close(questions[1])
        os.close(answers[0])
        lazy_imports.load_token_counter()
        with os.fdopen(questions[0], "rb") as stream:
            tokenizer, texts = json.loads(stream.read())
        os.write(answers[1], json.dumps(count_here(tokenizer, texts)).encode())
    finally:
        os._exit(0)


def choose_length(heading: int, sizes: Sequence[Sequence[int]], budget: int) -> tuple[int, int]:
    """How many lines fit, and which length of theirs: as many lines as possible, all of the first
    length with which they fit. `sizes[line][length]` are tokens. (0, 0) where not even one fits.

    >>> choose_length(10, [[20, 12], [20, 12]], 40)
    (2, 1)
    """
    for number in range(len(sizes), 0, -1):
        for length in range(len(sizes[0])):
            if heading + sum(line[length] for line in sizes[:number]) <= budget:
                return number, length
    return 0, 0
