"""The answer to a shell that asks which words can stand next on a command line.

`capdisc --complete WORD…` gets the words after `capdisc`, the last one as far as it is typed. Each
line of the answer is a word, a tab and what it means; `:files` or `:dirs` alone asks the shell to
complete paths. What cannot be found is not an error: a shell has no place for one.

A key press must not wait, so the commands, options and fixed values come from a table that
`just docs` writes from the declarations, and ids, kinds and categories from one file of the index.
Over `python -c pass`, in CPU time: an option 1.9, a session 3.4, an id or a tag 4.4.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path
    from typing import Any, TypeAlias

    from capdisc.args.command_line import Command, CommandParameter
    from capdisc.context.surroundings import Runtime
    from capdisc_indexer.config.configuration import Config
    from capdisc_indexer.model.json_types import JsonObject
    from capdisc_indexer.plugins.plugin import PluginCommand

    # A candidate and what it means, "" where it speaks for itself.
    Candidate: TypeAlias = tuple[str, str]

TABLE_FILE = "completion.json"
FILES, FOLDERS = "files", "dirs"
# What `capdisc trust` names: paths, and ids of definitions that wait and of tools of servers.
TRUSTED = "trusted"
# A shell draws a menu of these; nobody reads more.
_MAX_CANDIDATES = 5_000
# What an index or the sessions hold.
_STORED = ("ids", "kinds", "categories", "tags", "sessions")


def print_candidates(words: Sequence[str]) -> int:
    """Print what can stand in the place of the last word. Returns the exit code, which is always
    0.
    """
    try:
        lines = [
            f"{word}\t{about}" if about else word
            for word, about in find_candidates(words)
            if f"{word}{about}".isprintable()  # a tab or a line end would be read as another field
        ]
        text = "".join(f"{line}\n" for line in lines[:_MAX_CANDIDATES])
        sys.stdout.buffer.write(text.encode("utf-8", "replace"))
        sys.stdout.buffer.flush()
    except Exception:
        return 0
    return 0


def load_table() -> JsonObject:
    """The table that `just docs` writes from the declarations of the commands."""
    import json

    path = f"{__file__.rpartition('/')[0]}/{TABLE_FILE}"
    with open(path, encoding="utf-8") as file:  # noqa: PTH123
        table: JsonObject = json.load(file)
    return table


def find_candidates(words: Sequence[str]) -> list[Candidate]:
    """The words that can stand in the place of the last one and begin as it does."""
    table = load_table()
    *before, current = words or ("",)
    name = table["aliases"].get(before[0], before[0]) if before else ""
    command = table["commands"].get(name)
    if not before:
        candidates = [(word, entry["about"]) for word, entry in table["commands"].items()]
        candidates += [
            (added_name, entry.about)
            for added_name, entry in _list_added_commands().items()
            if added_name not in table["commands"]
        ]
        candidates += [("--help", "Explain the commands."), ("--version", "Print the version.")]
        return _select_prefixed(candidates, current)
    if command is None and (added := _list_added_commands().get(name)):
        command = _describe_added_command(added)
    return _CommandLine(table, command, before[1:]).complete(current) if command else []


def _list_added_commands() -> dict[str, PluginCommand]:
    """The commands that plug-ins of other distributions add."""
    from capdisc_indexer.plugins.registry import load_added_plugins

    plugins = load_added_plugins().values()
    return {name: entry for plugin in plugins for name, entry in plugin.commands.items()}


def _describe_added_command(entry: PluginCommand) -> JsonObject:
    from pathlib import Path

    from capdisc_indexer.plugins.registry import load_attribute

    def find_values(parameter: CommandParameter) -> str | list[str]:
        return list(parameter.param.choices) or (FILES if parameter.type is Path else "")

    return describe_command(load_attribute(entry.function), entry.about, find_values)


def describe_command(
    command: Command, about: str, find_values: Callable[[CommandParameter], str | list[str]]
) -> JsonObject:
    """The entry of a command in the table; `find_values` says where values of a parameter come
    from.
    """
    from capdisc.args.command_line import option_words, split_parameters

    positionals, options = split_parameters(command)
    entries = [
        {
            "names": option_words(parameter),
            "values": "" if parameter.type is bool else find_values(parameter) or "text",
            "is_list": parameter.is_list,
            "about": first_sentence(parameter.param.help),
        }
        for parameter in options
    ]
    return {
        "about": about,
        "options": [
            *entries,
            {"names": ["--help", "-h"], "values": "", "is_list": False, "about": "Explain."},
        ],
        "positionals": [find_values(parameter) for parameter in positionals],
        "is_list": bool(positionals) and positionals[-1].is_list,
    }


def first_sentence(text: str) -> str:
    """The text up to its first full stop, colon or semicolon, without that."""
    import re

    return re.split(r"(?<=[.;:])\s", text, maxsplit=1)[0].rstrip(".;:")


def _select_prefixed(candidates: Iterable[Candidate], prefix: str) -> list[Candidate]:
    return [candidate for candidate in candidates if candidate[0].startswith(prefix)]


class _CommandLine:
    """The words of one command before the cursor, read by the table."""

    def __init__(self, table: dict[str, Any], command: dict[str, Any], words: list[str]) -> None:
        self._table, self._command = table, command
        self._options = {name: entry for entry in command["options"] for name in entry["names"]}
        self._positionals: list[str] = []
        self._used: set[str] = set()
        self._values: dict[str, str] = {}
        self._pending = ""  # the option whose value comes next
        self._is_closed = False  # `--` came: no more options
        for word in words:
            self._read_word(word)

    def _read_word(self, word: str) -> None:
        if self._pending:
            self._values[self._pending], self._pending = word, ""
        elif self._is_closed or not word.startswith("-") or word == "-":
            self._positionals.append(word)
        elif word == "--":
            self._is_closed = True
        else:
            name, sign, value = word.partition("=")
            entry = self._options.get(name)
            if entry and not entry["is_list"]:
                self._used.update(entry["names"])
            if entry and entry["values"] and sign:
                self._values[name] = value
            elif entry and entry["values"]:
                self._pending = name

    def complete(self, current: str) -> list[Candidate]:
        """The words that can stand in the place of `current`."""
        name, sign, value = current.partition("=")
        if self._pending:
            return self._complete_value(self._options[self._pending]["values"], current)
        if not self._is_closed and sign and name in self._options:
            values = self._complete_value(self._options[name]["values"], value)
            return [
                (word if word.startswith(":") else f"{name}={word}", about)
                for word, about in values
            ]
        if not self._is_closed and current.startswith("-"):
            return _select_prefixed(self._list_options(current), current)
        sources = self._command["positionals"]
        place = len(self._positionals)
        if place < len(sources):
            return self._complete_value(sources[place], current)
        return self._complete_value(sources[-1], current) if self._command["is_list"] else []

    def _list_options(self, current: str) -> Iterator[Candidate]:
        """The long name of each option that may still come; a short one where it is typed."""
        for entry in self._command["options"]:
            if not self._used.isdisjoint(entry["names"]):
                continue
            for name in entry["names"]:
                if name.startswith("--") or name == current:
                    yield name, entry["about"]

    def _complete_value(self, values: str | list[str], current: str) -> list[Candidate]:
        if isinstance(values, list):
            return _select_prefixed(((value, "") for value in values), current)
        if values in (FILES, FOLDERS):
            return [(f":{values}", "")]
        if values == TRUSTED:
            return [*_list_trusted(current), (f":{FILES}", "")]
        if values == "setting-values":
            choices = self._table["settings"].get(self._positionals[1], [])
            return _select_prefixed(((choice, "") for choice in choices), current)
        if values in self._table["lists"]:
            candidates = self._table["lists"][values].items()
            return _select_prefixed(candidates, current)
        return [(name, "") for name in self._stored_names(values, current)]

    def _stored_names(self, kind: str, prefix: str) -> list[str]:
        """The ids, kinds, categories, tags or sessions that begin with the prefix."""
        if kind not in _STORED:
            return []
        from capdisc.context import surroundings

        runtime = surroundings.current_runtime()
        config = runtime.config()
        if kind == "sessions":
            names = [path.stem for path in (runtime.state_dir() / "sessions").glob("*.json")]
        else:
            typed_dir = self._values.get("--index-dir")
            names = list(_read_index(runtime, config, typed_dir, kind, prefix))
        return sorted(name for name in set(names) if name.startswith(prefix))


def _list_trusted(prefix: str) -> list[Candidate]:
    """The ids of definitions that are held back, and of the tools of MCP servers in the index."""
    from pathlib import Path

    from capdisc.context import surroundings
    from capdisc_indexer.model.errors import CapdiscError
    from capdisc_indexer.store import definition_memory

    runtime = surroundings.current_runtime()
    candidates: dict[str, str] = {}
    try:
        ids = _read_index(runtime, runtime.config(), None, "ids", "tool:")
        candidates = {
            identifier: ""
            for identifier in sorted(ids)
            if identifier.startswith("tool:") and "." in identifier
        }
        for change in definition_memory.waiting(Path(runtime.definition_guard().memory)):
            candidates[change.id] = "its definition changed"
    except (CapdiscError, OSError):
        pass  # paths can still be completed
    return _select_prefixed(candidates.items(), prefix)


def _read_index(
    runtime: Runtime, config: Config, typed_dir: str | None, kind: str, prefix: str
) -> Iterable[str]:
    """The names of one kind in the published index. Raises CapdiscError where there is none, or
    somebody else built it.
    """
    import json
    from pathlib import Path

    from capdisc.context.freshness import locate_index
    from capdisc_indexer.store import generation

    place = locate_index(runtime, config, Path(typed_dir) if typed_dir else None)
    index_dir, runtime = place.index_dir, place.runtime
    published = generation.load_unchecked(index_dir)
    if published is None:
        return ()
    shared = runtime.shared_index(Path(typed_dir) if typed_dir else None, config)
    generation.check_builder(
        index_dir, published.builder_id, runtime.builder_id(index_dir, shared)
    )
    folder = generation.generation_folder(index_dir, published.number)
    if kind == "tags":
        return _read_tags(folder, prefix)
    columns = json.loads((folder / "meta" / "columns.json").read_bytes())
    if kind != "ids":
        values: list[str] = columns[kind]["values"]
        return values
    ids: list[str] = columns["ids"]
    if not prefix or ":" in prefix:
        return ids
    return [*ids, *(identifier.partition(":")[2] for identifier in ids)]


def _read_tags(folder: Path, prefix: str) -> Iterable[str]:
    from capdisc_indexer.store.documents import Documents

    return Documents(folder / "text").tags(prefix)
