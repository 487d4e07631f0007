"""Arguments in program text, found in what a manifest says of how it is run, and told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from capdisc_indexer.model.errors import ApprovalRequiredError
from capdisc_indexer.model.frozen import replace
from capdisc_indexer.model.json_types import JsonSchema
from capdisc_indexer.text.normalization import one_line
from capdisc_indexer.validation.program_text.command_reading import Reading
from capdisc_indexer.validation.program_text.placeholders import Misuse, command_words, names_in

_MAX_NAMES = 3


def find_misuses(run: Mapping[str, Any] | None, schema: JsonSchema | None) -> tuple[Misuse, ...]:
    """Every argument of `run.command` that would be run or obeyed, in the order of the words.

    Tools of MCP servers and HTTP requests have no command that arguments are filled into.
    """
    command = (run or {}).get("command")
    words = command_words(command, schema)
    stdin = (run or {}).get("stdin")
    is_fed = stdin == "json" or (isinstance(stdin, str) and bool(names_in(stdin)))
    if not words or not (is_fed or any(word.names for word in words)):
        return ()
    by_place: dict[tuple[int, ...], Misuse] = {}
    for misuse in sorted(Reading(words, is_fed).read(), key=_weight):
        by_place.setdefault(misuse.at, misuse)
    for misuse in sorted(Reading(words, is_fed, may_vanish=True).read(), key=_weight):
        by_place.setdefault(misuse.at, replace(misuse, when_left_out=True))
    return tuple(by_place[at] for at in sorted(by_place))


def _weight(misuse: Misuse) -> int:
    """Of one word, program text is what is told."""
    return int(misuse.kind != "text")


def refuse_misuses(
    identifier: str, run: Mapping[str, Any] | None, schema: JsonSchema | None
) -> None:
    """Raises RefusedError where an argument would be run or obeyed by a program of the command."""
    for misuse in find_misuses(run, schema):
        message, hint = describe_misuse(misuse)
        raise ApprovalRequiredError(f"{one_line(identifier)} is not run: {message}", hint)


def describe_misuse(misuse: Misuse) -> tuple[str, str]:
    """What is wrong, and what to write instead, a sentence each."""
    names = (
        ", ".join(f"{{{name}}}" for name in misuse.names[:_MAX_NAMES]) or "what the call is given"
    )
    program = one_line(misuse.program, 40)
    hint = misuse.hint or "let a script of the capability take it as an argument"
    if misuse.kind == "text":
        message = f"{program} would run {names} as a part of its program"
    elif misuse.kind == "stdin":
        message = f"{program} would run what it reads on stdin, and that is what the call is given"
        hint = "give the program as a file, and the arguments as words"
    elif misuse.kind == "program":
        message, hint = (
            f"{names} would decide which program {program} starts",
            "name the program itself",
        )
    elif misuse.kind == "option":
        message = f"{names} stands where {program} looks for options"
        hint = f'put "--" in front of it, or write the option: "--name={names}"'
    elif misuse.kind == "variable":
        message = f"{names} would fill {program}, which decides what programs load"
        hint = "leave it out"
    else:
        message, hint = "its command is too long to be checked", "put it into a script"
    if misuse.when_left_out:
        message += ", once a parameter before it is left out"
        hint = "require that parameter, with a type; or put what belongs together in an inner list"
    return message, hint
