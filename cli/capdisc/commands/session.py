"""capdisc session: working memory across the turns of an agent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from capdisc import options, runtime
from capdisc.declaring import argument, option
from capdisc.sessions import changing, showing
from capdisc.sessions.order import Order
from capdisc_indexer.errors import UsageError

VERBS: dict[str, Callable[[Order], int]] = {
    "new": changing.new,
    "show": showing.show,
    "list": showing.list_,
    "use": changing.use,
    "observe": changing.observe,
    "clear": changing.clear,
    "add": changing.add,
    "drop": changing.drop,
    "note": changing.note,
    "prompt": showing.prompt,
}
# Which verbs each option means something to.
_TAKEN_BY = {
    "--ok": ("use",),
    "--failed": ("use",),
    "--tools": ("clear",),
    "--delete": ("clear",),
    "--max-tokens": ("prompt",),
}
_WORDS = ("use", "observe", "add", "drop", "note")


def session(
    verb: Annotated[str, argument(metavar="VERB", help=f"{', '.join(VERBS)}.")],
    name: Annotated[str | None, argument(metavar="[NAME]", help="The session; list takes none.")] = None,
    words: Annotated[
        list[str] | None, argument(metavar="[ID|TEXT]...", help="Capabilities, or the note; - reads stdin.")
    ] = None,
    ok: Annotated[bool, option("--ok", help="With use: it worked.")] = False,
    failed: Annotated[bool, option("--failed", help="With use: it did not.")] = False,
    tools: Annotated[bool, option("--tools", help="With clear: its capabilities alone.")] = False,
    delete: Annotated[bool, option("--delete", help="With clear: its file too.")] = False,
    max_tokens: Annotated[
        int | None, option("--max-tokens", min=1, help="With prompt: a hard limit; else the setting budget.")
    ] = None,
    index_dir: options.IndexDir = None,
    json: options.Json = False,
) -> int:
    """Keep what an agent found, used and met from turn to turn.

    new, clear and list manage sessions; show prints one in full, prompt as an agent reads it. use ID counts a use;
    observe ID reads that capability's result, JSON, from stdin, and keeps the things that its extraction rule names;
    add and drop ID say which capabilities every prompt shows in full; note TEXT keeps a line.

    Example: capdisc session new trip && capdisc search "book a room" --session trip && capdisc session prompt trip
    """
    given = {"--ok": ok, "--failed": failed, "--tools": tools, "--delete": delete, "--max-tokens": max_tokens}
    _check(verb, name, words or [], [option for option, value in given.items() if value])
    order = Order(
        here=runtime.current(),
        name=name or "",
        words=tuple(words or ()),
        result="ok" if ok else "failed" if failed else "",
        tools=tools,
        delete=delete,
        max_tokens=max_tokens,
        index_dir=index_dir,
        json=json,
    )
    return VERBS[verb](order)


def _check(verb: str, name: str | None, words: list[str], given: list[str]) -> None:
    """Raises UsageError for what does not go together."""
    if verb not in VERBS:
        raise UsageError(f"unknown verb {verb!r}", f"one of: {', '.join(VERBS)}")
    if (name is None) is not (verb == "list"):
        what = "list takes no name" if verb == "list" else "no session was named"
        raise UsageError(what, "capdisc session list names those that there are")
    if words and verb not in _WORDS:
        raise UsageError(f"{verb} takes the name of a session alone", "see: capdisc session --help")
    if wrong := [option for option in given if verb not in _TAKEN_BY[option]]:
        raise UsageError(f"{wrong[0]} does not go with {verb}", f"it goes with {_TAKEN_BY[wrong[0]][0]}")
    if len(given) > 1:
        raise UsageError(f"{given[0]} and {given[1]} exclude each other", "give one of them")
