"""Keeps arguments out of program text: which words of a command a program would run or obey, which
arguments of a call would get there, and how that is said.

Everything reads the command as the manifest writes it, before any argument is filled in, so that
`validate`, `run` and the tools of an agent agree on it.
"""

from __future__ import annotations

from collections.abc import Mapping

from capdisc_guard.program_text.command_reading import Reading
from capdisc_guard.program_text.command_words import Misuse, command_words, names_in
from capdisc_indexer.model.errors import ApprovalRequiredError
from capdisc_indexer.model.frozen import replace
from capdisc_indexer.model.json_types import JsonSchema
from capdisc_indexer.text.normalization import one_line

_MAX_NAMES = 3
# The message and the hint by the kind of misuse; interpreters have better hints for program text.
_WORDS = {
    "text": (
        "{program} would run {names} as a part of its program",
        "let a script of the capability take it as an argument",
    ),
    "stdin": (
        "{program} would run what it reads on stdin, which holds arguments of the call",
        "give the program as a file, and the arguments as words",
    ),
    "program": ("{names} would decide which program {program} starts", "name the program itself"),
    "option": (
        "{names} stands where {program} looks for options",
        'put "--" in front of it, or write the option: "--name={names}"',
    ),
    "variable": ("{names} would fill {program}, which decides what programs load", "leave it out"),
    "unreadable": ("its command is too long to be checked", "put it into a script"),
}


def find_misuses(
    run: Mapping[str, object] | None, schema: JsonSchema | None
) -> tuple[Misuse, ...]:
    """Every argument of `run.command` that a program would run or obey, in the order of the words.

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
    """Program text comes first, so that it is what a word is reported for."""
    return int(misuse.kind != "text")


def refuse_misuses(
    identifier: str, run: Mapping[str, object] | None, schema: JsonSchema | None
) -> None:
    """Raises ApprovalRequiredError when a program of the command would run or obey an argument."""
    for misuse in find_misuses(run, schema):
        message, hint = describe_misuse(misuse)
        raise ApprovalRequiredError(f"{one_line(identifier)} is not run: {message}", hint)


def describe_misuse(misuse: Misuse) -> tuple[str, str]:
    """The message and the hint of a misuse, a sentence each."""
    names = ", ".join(f"{{{name}}}" for name in misuse.names[:_MAX_NAMES]) or "an argument"
    program = one_line(misuse.program, 40)
    message, hint = _WORDS[misuse.kind]
    if misuse.when_left_out:
        message += ", when a call leaves out a parameter before it"
        hint = "require that parameter, with a type; or put what belongs together in an inner list"
    elif misuse.kind == "text":
        return message.format(program=program, names=names), misuse.hint or hint
    return message.format(program=program, names=names), hint.format(names=names)
