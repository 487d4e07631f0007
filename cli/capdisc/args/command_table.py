"""The table of all commands, and how a command line reaches one of them."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from capdisc.args.command_line import Command, call_command, parse, rename_options
from capdisc.output import console, failures
from capdisc.output.command_process import StopSignal
from capdisc_indexer.text.normalization import compile_late

if TYPE_CHECKING:
    from capdisc_indexer.plugins.plugin import Plugin, PluginCommand

# Each command of the core with its line in the overview. Its module is imported only when it runs.
_CORE_COMMANDS: Mapping[str, str] = {
    "index": "Bring the index up to date.",
    "watch": "Keep the index up to date while files change.",
    "search": "Find the skills and tools that fit a request.",
    "render": "Print a context for an agent within a token budget.",
    "hook": "Suggest skills for a prompt (called by a client's hook).",
    "show": "Print a capability in full.",
    "list": "List capabilities, or what each costs in tokens.",
    "validate": "Check capability files.",
    "tools": "Print function definitions for a model to call.",
    "call": "Ask one discovery tool, as an agent would.",
    "graph": "Print the relations between capabilities.",
    "mcp": "Serve search to an agent over MCP.",
    "status": "Print what the index holds and where it lies.",
    "doctor": "Find what is wrong, and the commands that fix it.",
    "trust": "Approve a workspace's servers, links and settings.",
    "config": "Print or change settings, with where each comes from.",
    "setup": "Connect capdisc to Claude Code, Codex and other clients.",
    "uninstall": "Remove what capdisc has on this machine.",
    "init": "Write a first skill and tool here, to learn from.",
    "new": "Create a skill or tool from a template.",
    "add": "Index a capability that an agent made on the fly.",
    "remove": "Remove what add wrote.",
    "completion": "Print the completion script for a shell.",
    "help": "Explain a command, also as a manual page.",
}
# Commands that have no module of their own.
_MODULES: Mapping[str, str] = {"init": "new", "remove": "add"}
# Commands with the name of a function of Python.
_PYTHON_NAMES = ("list", "help")
# Another name of a command, which does not need a line of its own in the overview.
COMMAND_ALIASES: Mapping[str, str] = MappingProxyType({"find": "search"})
# The options of the warm server, which is gone. For one release they are accepted without effect.
_SERVER_VARIABLE = "CAPDISC_SERVER"
_SERVER_OPTIONS: Mapping[str, str] = MappingProxyType(
    {
        "watch": "--serve",
        **dict.fromkeys(
            ("search", "render", "show", "list", "tools", "graph", "status"), "--server"
        ),
    }
)

# Bytes of a word that are not UTF-8; only these commands take paths of any bytes.
_LONE_SURROGATES = compile_late("[\ud800-\udfff]")
_COMMANDS_WITH_PATHS = ("index", "watch", "validate", "eval", "add")


def _core_function(name: str) -> str:
    return f"capdisc.commands.{_MODULES.get(name, name)}:{name}{'_' * (name in _PYTHON_NAMES)}"


def _make_core() -> Plugin:
    from capdisc_indexer.plugins.plugin import Plugin, PluginCommand  # which no query needs

    commands = {
        name: PluginCommand(about=about, function=_core_function(name))
        for name, about in _CORE_COMMANDS.items()
    }
    return Plugin(name="core", commands=commands)


@cache
def list_commands() -> Mapping[str, PluginCommand]:
    """All commands by name, in the order of the overview: those of the core and those of plug-ins.
    A plug-in cannot replace a command that is there already.
    """
    from capdisc_indexer.plugins.registry import load_plugins  # which no query needs

    commands: dict[str, PluginCommand] = {}
    names: list[str] = []
    for plugin in (_make_core(), *load_plugins()):
        for name, command in plugin.commands.items():
            if commands.setdefault(name, command) is command:
                is_placed = command.below in commands
                names.insert(names.index(command.below) + 1 if is_placed else len(names), name)
    return {name: commands[name] for name in names}


def summarise_commands() -> Mapping[str, str]:
    """The line of each command in the overview, by name."""
    return {name: command.about for name, command in list_commands().items()}


def load_command(name: str) -> Command:
    """The function behind a command, whose module is imported. Raises LookupError for an unknown
    name, PluginError where the code of a plug-in cannot be loaded.
    """
    from importlib import import_module

    if name not in _CORE_COMMANDS:
        from capdisc_indexer.plugins.registry import load_attribute

        plugin_command: Command = load_attribute(list_commands()[name].function)
        return plugin_command
    module, _, function = _core_function(name).partition(":")
    command: Command = getattr(import_module(module), function)
    return command


def run_command(argv: list[str], stop: StopSignal | None = None) -> int:
    """Run one command line and return its exit code. No error leaves it as a traceback.

    Where a signal came in (`stop`), its exit code is returned, whatever error it caused.
    """
    if argv and argv[0] not in _COMMANDS_WITH_PATHS:
        argv = [word if word.isascii() else _LONE_SURROGATES.sub("\ufffd", word) for word in argv]
    console.begin_output()
    try:
        return int(_dispatch(_drop_server_options(resolve_aliases(argv))))
    except BaseException as error:
        if stop and stop.signal:
            return stop.code
        options = argv[: argv.index("--")] if "--" in argv else argv
        return failures.handle_error(error, as_json="--json" in options)


def resolve_aliases(argv: Sequence[str]) -> list[str]:
    """The command line with the command's own name: `find` is search, `version` is --version."""
    first, *others = argv or ("--help",)
    return [COMMAND_ALIASES.get(first, "--version" if first == "version" else first), *others]


def _drop_server_options(argv: Sequence[str]) -> list[str]:
    """The command line without options of the warm server; a notice names one that is there."""
    option = _SERVER_OPTIONS.get(argv[0], "")
    if not option:
        return list(argv)
    words: list[str] = []
    ignored = _SERVER_VARIABLE if os.environ.get(_SERVER_VARIABLE) else ""
    remaining = iter(argv)
    for word in remaining:
        if word == "--":
            words += [word, *remaining]
        elif word.partition("=")[0] != option:
            words.append(word)
        else:
            ignored = option
            if word == "--server":
                next(remaining, None)  # its value
    if ignored and not {"-q", "--quiet"} & set(words):
        console.print_notice(
            f"notice: {ignored} has no effect any more: the warm server is gone; "
            "for a process that stays warm: capdisc mcp"
        )
    return words


def _dispatch(argv: list[str]) -> int:
    is_known = argv[0] in _CORE_COMMANDS or (
        not argv[0].startswith("-") and argv[0] in list_commands()
    )
    name = argv[0] if is_known else None
    command = load_command(name) if name else None
    if command:
        argv[1:] = rename_options(command, argv[1:])
        values = parse(command, argv[1:])
        if values is not None:
            return call_command(command, values)
    if command and {"-h", "--help"} & set(argv[2:]):  # `capdisc session VERB --help`
        print_verb_help = getattr(sys.modules[command.__module__], "print_verb_help", None)
        if print_verb_help and print_verb_help(argv[1]):
            return 0
    from capdisc.args import help_panels

    seldom: set[str] = set()
    if help_panels.asks_for_help(argv):
        if name and command:
            if help_panels.ALL_WORD not in argv:
                seldom = help_panels.find_seldom_options(name, command)
            argv = [name, "--help"]
        if _print_help(argv, name, command, seldom):
            return 0
    from capdisc.args import typer_app

    return typer_app.run(argv, summarise_commands(), command, name, seldom)


def _print_help(
    argv: Sequence[str], name: str | None, command: Command | None, seldom: Collection[str]
) -> bool:
    """Draw the help on a terminal that obeys codes, and the overview everywhere; False where typer
    prints it.
    """
    from capdisc.args import help_panels
    from capdisc.context import surroundings
    from capdisc.output import terminal

    is_on_terminal = sys.stdout is not None and sys.stdout.isatty()
    screen = terminal.find_screen(surroundings.current_runtime()) if is_on_terminal else None
    if name and command and screen:
        help_panels.print_command_help(screen, name, command, seldom)
    elif argv[0] not in help_panels.HELP_WORDS:
        return False
    elif screen:
        help_panels.print_overview(screen, summarise_commands(), help_panels.ALL_WORD in argv)
    else:
        help_panels.print_plain_overview(summarise_commands(), help_panels.ALL_WORD in argv)
    return True
