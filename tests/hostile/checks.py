"""What single cases ask for besides what is asked of all."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hostile.case import Check
    from hostile.trial import Trial


def _ask(holds: Callable[[Trial], bool], fault: str) -> Check:
    return lambda trial: [] if holds(trial) else [fault]


def says(label: str, text: str) -> Check:
    """Some text of the command's JSON holds this one, unchanged."""

    def holds(trial: Trial) -> bool:
        texts = (each for said in trial.spoken(label) for each in _texts(json.loads(said.out)))
        return any(text in each for each in texts)

    return _ask(holds, f"{label} has another text")


def _texts(value: object) -> list[str]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [text for each in value for text in _texts(each)]
    return [value] if isinstance(value, str) else []


def advises(word: str) -> Check:
    """Some finding of the case names the word."""
    return _ask(
        lambda trial: any(word in one["message"] + one["hint"] for one in trial.own),
        f"no finding names {word}",
    )


def renders(text: str) -> Check:
    """The prompt in plain text holds this."""
    return _ask(
        lambda trial: any(text in said.out for said in trial.spoken("render text")),
        f"no prompt says {text!r}",
    )


def lists_as_shadowed(word: str) -> Check:
    """`list --shadowed` names what was shadowed."""
    return _ask(
        lambda trial: all(
            word in said.out for said in trial.spoken("list") if "--shadowed" in said.argv
        ),
        f"{word} is shadowed without a word",
    )


def one_line_each(trial: Trial) -> list[str]:
    """Each hit has one line among the summaries of a prompt, and below it that of its file."""
    prompt = next(trial.spoken("render text")).out
    summaries = prompt.partition("Relevant capabilities:\n")[2].partition("\n--- ")[0].splitlines()
    ids = {one["id"] for one in trial.capabilities}
    paths = {f"  {one['path']}" for one in trial.capabilities}
    strange = [
        line
        for line in summaries
        if line.removeprefix("- ").split(": ")[0] not in ids and line not in paths
    ]
    return [f"a line of its own: {line!r}" for line in strange]


def _find_five(trial: Trial) -> list[str]:
    """The five first hits for the neighbour's words."""
    said = next(trial.spoken("search --json"))
    return [hit["id"] for hit in json.loads(said.out)["hits"]][:5]


def ranks_first(identifier: str) -> Check:
    """The neighbour's words find this first."""
    return _ask(lambda trial: _find_five(trial)[:1] == [identifier], f"{identifier} is not first")


def at_most_of_five(prefix: str, most: int) -> Check:
    """Of the five first hits for the neighbour's words, no more have ids that begin so."""
    return _ask(
        lambda trial: sum(each.startswith(prefix) for each in _find_five(trial)) <= most,
        f"more than {most} of the first five are {prefix}",
    )
