"""What single cases ask for beside what is asked of all."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hostile.case import Check
    from hostile.trial import Trial


def says(label: str, text: str) -> Check:
    """Some text of the command's JSON holds this one, unchanged."""

    def check(trial: Trial) -> list[str]:
        found = any(
            text in each for said in trial.spoken(label) for each in _texts(json.loads(said.out))
        )
        return [] if found else [f"{label} has another text"]

    return check


def _texts(value: object) -> list[str]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [text for each in value for text in _texts(each)]
    return [value] if isinstance(value, str) else []


def advises(word: str) -> Check:
    """Some finding of the case names the word."""

    def check(trial: Trial) -> list[str]:
        found = any(word in one["message"] + one["hint"] for one in trial.own)
        return [] if found else [f"no finding names {word}"]

    return check


def renders(text: str) -> Check:
    """The prompt in plain text holds this."""

    def check(trial: Trial) -> list[str]:
        return (
            []
            if any(text in said.out for said in trial.spoken("render text"))
            else [f"no prompt says {text!r}"]
        )

    return check


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


def lists_as_shadowed(word: str) -> Check:
    """`list --shadowed` names what was shadowed."""

    def check(trial: Trial) -> list[str]:
        said = [said for said in trial.spoken("list") if "--shadowed" in said.argv]
        return (
            [] if all(word in one.out for one in said) else [f"{word} is shadowed without a word"]
        )

    return check


def _found(trial: Trial) -> list[str]:
    said = next(trial.spoken("search --json"))
    return [hit["id"] for hit in json.loads(said.out)["hits"]]


def ranks_first(identifier: str) -> Check:
    """The neighbour's words find this first."""

    def check(trial: Trial) -> list[str]:
        found = _found(trial)
        return [] if found[:1] == [identifier] else [f"found first: {', '.join(found)}"]

    return check


def at_most_of_five(prefix: str, most: int) -> Check:
    """Of the five first hits for the neighbour's words, no more have ids that begin so."""

    def check(trial: Trial) -> list[str]:
        found = [identifier for identifier in _found(trial)[:5] if identifier.startswith(prefix)]
        return [f"of the first five: {', '.join(found)}"] if len(found) > most else []

    return check
