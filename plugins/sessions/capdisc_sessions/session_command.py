"""capdisc session: working memory across the turns of an agent."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import wrap
from typing import Annotated

from capdisc.args import params
from capdisc.args.command_line import argument, option
from capdisc.context import surroundings
from capdisc.output import console
from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.text.similar_names import unknown_choice
from capdisc_sessions import session_verbs as verbs
from capdisc_sessions.session_verbs import SessionCommand

VERBS: dict[str, Callable[[SessionCommand], int]] = {
    "new": verbs.new,
    "show": verbs.show,
    "list": verbs.list_,
    "turn": verbs.turn,
    "use": verbs.use,
    "observe": verbs.observe,
    "clear": verbs.clear,
    "add": verbs.add,
    "drop": verbs.drop,
    "note": verbs.note,
    "prompt": verbs.prompt,
}
# The verbs that take each option.
_OPTION_VERBS = {
    "--ok": ("use",),
    "--failed": ("use",),
    "--tools": ("clear",),
    "--delete": ("clear",),
    "--max-tokens": ("prompt", "turn"),
}
# Of each verb: what is typed after it, what it does, and an example.
_VERB_HELP: dict[str, tuple[str, str, str]] = {
    "turn": (
        "NAME MESSAGE [--max-tokens N] [--json]",
        "Find what a message needs, record it, and print the prompt of the turn: what was found, how to "
        "use it, and the memory of the session, which is begun if it is new. --json adds the "
        "definitions of the functions of this turn and of those before.",
        'capdisc session turn trip "book a room for Tuesday"',
    ),
    "new": ("NAME", "Begin a session.", "capdisc session new trip"),
    "show": (
        "NAME [--json]",
        "Print the session in full: what was found (discoveredTools) and used (usedTools), entities, "
        "notes, and the way of working.",
        "capdisc session show trip --json",
    ),
    "list": ("[--json]", "Print the names of all sessions.", "capdisc session list"),
    "use": (
        "NAME ID... [--ok|--failed]",
        "Count a use of each capability, with its result.",
        "capdisc session use trip create-event --ok",
    ),
    "observe": (
        "NAME ID",
        "Read a result of the capability, JSON, from stdin, and keep the entities that its extraction "
        "rule names: at most five.",
        "capdisc session observe trip create-event < result.json",
    ),
    "clear": (
        "NAME [--tools] [--delete]",
        "Forget everything, or with --tools only the capabilities; --delete removes the file, too.",
        "capdisc session clear trip --tools",
    ),
    "add": (
        "NAME ID...",
        "Show these capabilities in full in every prompt of the session.",
        "capdisc session add trip create-event",
    ),
    "drop": (
        "NAME ID...",
        "Show them no longer in every prompt.",
        "capdisc session drop trip create-event",
    ),
    "note": (
        "NAME TEXT",
        "Keep a line. Its words set the way of working: prove, verify, audit are auditable; analyze, "
        "explore, compare are exploratory; explain, define are knowledge. A line with redo, again, "
        "repeat or retry keeps the mode, and 'redo in exploratory mode' names one.",
        'capdisc session note trip "redo in exploratory mode"',
    ),
    "prompt": (
        "NAME [--max-tokens N]",
        "Print the memory of the session as an agent reads it.",
        "capdisc session prompt trip --max-tokens 200",
    ),
}
_VERBS_WITH_WORDS = ("turn", "use", "observe", "add", "drop", "note")


def print_verb_help(verb: str) -> bool:
    """Print the help of one verb; False for a word that is none."""
    if verb not in _VERB_HELP:
        return False
    typed, about, example = _VERB_HELP[verb]
    lines = [f"Usage: capdisc session {verb} {typed}", "", *wrap(about, 78), ""]
    console.print_lines([*lines, f"Example: {example}", "", "All verbs: capdisc session --help"])
    return True


def session(
    verb: Annotated[str, argument(metavar="VERB", help=f"{', '.join(VERBS)}.")],
    name: Annotated[
        str | None, argument(metavar="[NAME]", help="The session; list takes none.")
    ] = None,
    words: Annotated[
        list[str] | None,
        argument(
            metavar="[ID|TEXT]...", help="Capabilities, the message, or the note; - reads stdin."
        ),
    ] = None,
    ok: Annotated[bool, option("--ok", help="With use: it worked.")] = False,
    failed: Annotated[bool, option("--failed", help="With use: it did not.")] = False,
    tools: Annotated[bool, option("--tools", help="With clear: only its capabilities.")] = False,
    delete: Annotated[bool, option("--delete", help="With clear: delete its file, too.")] = False,
    max_tokens: Annotated[
        int | None,
        option(
            "--max-tokens",
            min=1,
            help="With prompt and turn: a hard limit, by default the setting budget.",
        ),
    ] = None,
    index_dir: params.IndexDir = None,
    json: params.Json = False,
) -> int:
    """Keep what an agent found and used from turn to turn.

    turn MESSAGE does what an agent's turn begins with: it finds what the message needs, records
    it, and prints the prompt. new, clear and list manage sessions; show prints one in full, prompt
    as an agent reads it. use ID counts a use; observe ID reads that capability's result, JSON,
    from stdin, and keeps the things that its extraction rule names; add and drop ID say which
    capabilities every prompt shows in full; note TEXT keeps a line, and its words set the way of
    working. capdisc session VERB --help explains one verb.

    Example: capdisc session turn trip "book a room"
    """
    option_values = {
        "--ok": ok,
        "--failed": failed,
        "--tools": tools,
        "--delete": delete,
        "--max-tokens": max_tokens,
    }
    _check_usage(
        verb, name, words or [], [option for option, value in option_values.items() if value]
    )
    command = SessionCommand(
        runtime=surroundings.current_runtime(),
        name=name or "",
        words=tuple(words or ()),
        result="ok" if ok else "failed" if failed else "",
        tools=tools,
        delete=delete,
        max_tokens=max_tokens,
        index_dir=index_dir,
        json=json,
    )
    return VERBS[verb](command)


def _check_usage(verb: str, name: str | None, words: list[str], given_options: list[str]) -> None:
    """Raises UsageError for a verb with a name, words or options that it does not take."""
    if verb not in VERBS:
        raise unknown_choice("verb", verb, VERBS)
    if (name is None) is not (verb == "list"):
        message = "list takes no name" if verb == "list" else "no session was named"
        raise UsageError(message, "capdisc session list names those that there are")
    if words and verb not in _VERBS_WITH_WORDS:
        raise UsageError(
            f"{verb} takes the name of a session alone", "see: capdisc session --help"
        )
    if wrong := [option for option in given_options if verb not in _OPTION_VERBS[option]]:
        raise UsageError(
            f"{wrong[0]} does not go with {verb}", f"it goes with {_OPTION_VERBS[wrong[0]][0]}"
        )
    if len(given_options) > 1:
        raise UsageError(
            f"{given_options[0]} and {given_options[1]} exclude each other", "give one of them"
        )
