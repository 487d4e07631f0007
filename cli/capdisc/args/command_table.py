"""Every command, named once."""

from __future__ import annotations

import re
from collections.abc import Callable

from capdisc.args import fast_parser
from capdisc.context.signals import StopSignal
from capdisc.output import failures

# Each command with what the overview says of it; its module is imported only when it is the one
# that runs.
COMMANDS = {
    "index": "Bring the index up to date with folders of capabilities.",
    "watch": "Keep the index up to date while files change.",
    "search": "Find the capabilities that fit a sentence.",
    "render": "Print a context for an agent, within a token budget.",
    "show": "Print a capability in full.",
    "list": "List the capabilities, or what each would cost.",
    "validate": "Check capability files.",
    "tools": "Print function definitions for a model to call.",
    "call": "Ask one discovery tool, as an agent would.",
    "session": "Keep what an agent found, used and met from turn to turn.",
    "graph": "Print how capabilities belong together.",
    "run": "Run a capability that says how, after asking.",
    "mcp": "Serve the discovery tools to an agent over MCP.",
    "serve": "Answer searches at once, from a warm process.",
    "status": "Say what the index holds and where it lies.",
    "doctor": "Say what is wrong with the index and what mends it.",
    "eval": "Measure how well the index answers judged queries.",
    "trust": "Allow what a workspace's file or an index from elsewhere may do.",
    "config": "Print every setting and where it comes from.",
    "init": "Start a capability folder here.",
    "new": "Write a capability to start from.",
}

_LONE_SURROGATES = re.compile("[\ud800-\udfff]")  # what Python makes of bytes that are no UTF-8


def _load_command(name: str) -> Callable[..., int]:
    from importlib import import_module

    attribute = f"{name}_" if name in ("list", "eval") else name  # which Python has functions of
    command: Callable[..., int] = getattr(import_module(f"capdisc.commands.{name}"), attribute)
    return command


def run_command(argv: list[str], stop: StopSignal | None = None) -> int:
    """Run one command line and give its exit code. Nothing that goes wrong leaves as a traceback.

    With `stop`, whatever a signal made of the command is answered by that signal's exit code
    alone.
    """
    if argv[:1] and argv[0] not in (
        "index",
        "watch",
        "validate",
        "eval",
    ):  # which take paths of any bytes
        argv = [_LONE_SURROGATES.sub("\ufffd", word) for word in argv]
    named = argv[0] if argv[:1] and argv[0] in COMMANDS else None
    try:
        return int(_dispatch(argv, named))
    except BaseException as error:
        return stop.code if stop and stop.signal else failures.handle_error(error, named)


def _dispatch(argv: list[str], named: str | None) -> int:
    command = _load_command(named) if named else None
    if command and (options := fast_parser.parse(command, argv[1:])) is not None:
        return command(**options)
    from capdisc.args import typer_app

    return typer_app.run(argv or ["--help"], COMMANDS, command, named)
