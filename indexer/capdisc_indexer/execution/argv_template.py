"""Arguments in the words of a command: each placeholder stays inside its word, whatever its value
holds.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from capdisc_indexer.model.errors import InputError, UsageError
from capdisc_indexer.model.frozen import replace
from capdisc_indexer.model.json_types import Arguments, JsonSchema
from capdisc_indexer.model.types import Descriptor, Finding
from capdisc_indexer.sources import SOURCES
from capdisc_indexer.sources.formats.mcp_servers import ServerConfig, servers_of
from capdisc_indexer.sources.readers.file_bytes import read_input
from capdisc_indexer.sources.scan.folder_files import stat_of
from capdisc_indexer.sources.scan.folder_tree import is_inside
from capdisc_indexer.sources.scan.scanned_files import FoundFile
from capdisc_indexer.text.normalization import one_line
from capdisc_indexer.validation.masking import MASK, mask_strings
from capdisc_indexer.validation.program_text.placeholders import PLACEHOLDER, names_in
from capdisc_indexer.validation.program_text.steering import allows_dash

# The words that a capability is run by as its file has them: the index holds them with their keys
# masked.

# Paths are plain text here: they may hold bytes that are no text.
# ruff: noqa: PTH118, PTH120


def with_written_words(descriptor: Descriptor, roots: Sequence[str]) -> Descriptor:
    """The capability with its `run` and its schema as its file has them; itself where nothing in
    them is masked.

    Raises InputError where the file cannot be read, or says something else by now.
    """
    if not (_is_masked(descriptor.run) or _is_masked(descriptor.schema)):
        return descriptor
    if file := _found_file(descriptor, roots):
        for run, schema in _written(descriptor, file):
            whole = replace(
                descriptor,
                run=run if _is_masked(descriptor.run) else descriptor.run,
                schema=schema if _is_masked(descriptor.schema) else descriptor.schema,
            )
            if _masked_text(whole) == _masked_text(descriptor):
                return whole
    message = f"{one_line(descriptor.id)} cannot be run: its words hold a key, and its file says other ones now"
    raise InputError(
        message,
        "run: capdisc index; better, take the key out and name its variable in requiredSecrets",
    )


def _is_masked(value: Any) -> bool:
    return value is not None and MASK in json.dumps(value, default=str)


def _masked_text(descriptor: Descriptor) -> str:
    return json.dumps([mask_strings(descriptor.run), mask_strings(descriptor.schema)], default=str)


def _found_file(descriptor: Descriptor, roots: Sequence[str]) -> FoundFile | None:
    source = descriptor.source
    resolved = os.path.realpath(source.path)
    status = stat_of(source.path, resolved)
    # What is declared may lie anywhere; a file of a root that became a link must not lead out of
    # all of them.
    places = [os.path.realpath(place) for place in (*roots, source.root)]
    if isinstance(status, Finding) or not is_inside(resolved, places):
        return None
    return FoundFile(
        path=source.path,
        resolved=resolved,
        size=status.size,
        mtime_ns=status.mtime_ns,
        ctime_ns=status.ctime_ns,
        inode=status.inode,
        relative=os.path.relpath(source.path, source.root),
        root=source.root,
        root_order=0,
        format=source.format,
        companions=_companions(source.path, resolved, source.format),
    )


def _companions(path: str, resolved: str, format: str) -> Any:
    folder, place = os.path.dirname(path), os.path.dirname(resolved)
    names = [name for name in os.listdir(place) if name.lower() in SOURCES[format].companions]
    stats = [
        stat_of(os.path.join(folder, name), os.path.join(place, name)) for name in sorted(names)
    ]
    return tuple(one for one in stats if not isinstance(one, Finding))


def _written(descriptor: Descriptor, file: FoundFile) -> Sequence[tuple[Any, Any]]:
    """Each `run` and schema that the file may mean."""
    if SOURCES[file.format].keeps:
        call = (descriptor.run or {}).get("mcp")
        if not isinstance(call, Mapping):
            return ()
        servers = [one for one in servers_of(file) if isinstance(one, ServerConfig)]
        return [({"mcp": {**call, **one.start()}}, descriptor.schema) for one in servers]
    data = read_input(file)
    if isinstance(data, Finding):
        return ()
    loaded = SOURCES[file.format].load(file, data).descriptors
    return [
        (one.run, one.schema) for one in loaded if one.source.pointer == descriptor.source.pointer
    ]


_LIST_HINT = 'write the command as a list of words: command: ["git", "log", "--max-count={count}"]'


def build_argv(
    command: Any,
    arguments: Arguments,
    parameter_names: Iterable[str],
    schema: JsonSchema | None = None,
) -> tuple[str, ...]:
    """The words of the command with the values of its placeholders.

    A word whose placeholder has no value is left out; so is a list of words inside the command as
    a whole. `{name...}` gives each item of a list a word of its own. Raises InputError for a
    command that is none or whose placeholder is no parameter, UsageError for a value that the
    program could take for an option: one that begins with a dash, in a word that begins with it,
    unless `--` stands before or the parameter's schema says that it is meant (see `allows_dash`).

    >>> build_argv(["ls", ["--width", "{width}"], "--", "{paths...}"], {"paths": ["a b", "-c"]}, ["width", "paths"])
    ('ls', '--', 'a b', '-c')
    """
    if (
        not isinstance(command, list)
        or not command
        or not isinstance(command[0], str)
        or not command[0].strip()
    ):
        raise InputError(
            "its command is not a list of words that begins with a program", _LIST_HINT
        )
    if names_in(command[0]):
        raise InputError(
            "its command leaves the program to the arguments", "name the program itself"
        )
    if unknown := [name for name in placeholders(command) if name not in set(parameter_names)]:
        named = ", ".join(f"{{{name}}}" for name in unknown)
        raise InputError(
            f"its command holds {named}, which is no parameter",
            "write {{name}} for the text {name}",
        )
    words: list[str] = []
    after_dashes = False
    for group in command:
        inner = group if isinstance(group, list) else [group]
        filled = _fill_group(inner, arguments, schema, after_dashes)
        # Only a `--` of the manifest's own ends the options, not one that is an argument.
        after_dashes = after_dashes or (bool(filled) and "--" in inner)
        words += filled
    return tuple(words)


def placeholders(command: Any) -> list[str]:
    """The names in the command, each once."""
    groups = command if isinstance(command, list) else []
    words = [word for group in groups for word in (group if isinstance(group, list) else [group])]
    return list(
        dict.fromkeys(name for word in words if isinstance(word, str) for name in names_in(word))
    )


def fill_placeholders(word: str, values: Mapping[str, Any]) -> list[str]:
    """The word with these values in its places, unchecked, each item of a list by itself; none
    where a value is missing.
    """
    return (
        _substitute(word, values)
        if all(values.get(name) is not None for name in names_in(word))
        else []
    )


def argument_text(value: Any) -> str:
    """The value as one word: text as it is, but for halves of surrogate pairs; all else as
    JSON.
    """
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text.encode("utf-8", "replace").decode()


def _fill_group(
    group: Sequence[Any],
    arguments: Arguments,
    schema: JsonSchema | None,
    after_dashes: bool,
) -> list[str]:
    if not all(isinstance(word, str) for word in group):
        raise InputError("its command holds something that is no word", _LIST_HINT)
    if any(arguments.get(name) is None for word in group for name in names_in(word)):
        return []
    words: list[str] = []
    for word in group:
        words += _fill_word(word, arguments, schema, after_dashes)
        after_dashes = after_dashes or word == "--"
    return words


def _fill_word(
    word: str,
    arguments: Arguments,
    schema: JsonSchema | None,
    after_dashes: bool,
) -> list[str]:
    texts = _substitute(word, arguments)
    if any("\0" in text for text in texts):
        raise UsageError(
            "an argument holds a NUL character, which no program can be given", "leave it out"
        )
    # What an agent was talked into may begin with a dash: to the program that is an option, not a
    # value.
    leading = PLACEHOLDER.match(word)
    if leading and leading[2] and not after_dashes:
        for text, value in zip(texts, _items(word, arguments, leading[2]), strict=True):
            if text.startswith("-") and not allows_dash(schema, leading[2], value):
                raise _is_an_option(leading[2], word, text)
    return texts


def _is_an_option(name: str, word: str, text: str) -> UsageError:
    what = "begins with a dash, which the program would take for an option"
    hint = f'the manifest can allow it: "--", "{word}" or "--{name}={{{name}}}", or a schema that names the dash'
    return UsageError(f"{name} {what}: {one_line(text, 60)}", hint)


def _items(word: str, arguments: Arguments, name: str) -> Sequence[Any]:
    """The values behind the texts of a word: the items of a list where each has a word of its
    own.
    """
    whole, value = PLACEHOLDER.fullmatch(word), arguments[name]
    return value if whole and whole[3] and isinstance(value, list) else [value]


def _substitute(word: str, arguments: Arguments) -> list[str]:
    placeholder = PLACEHOLDER.fullmatch(word)
    if not (placeholder and placeholder[3]):
        return [
            PLACEHOLDER.sub(
                lambda match: f"{{{match[1]}}}" if match[1] else argument_text(arguments[match[2]]),
                word,
            )
        ]
    value = arguments[placeholder[2]]
    return [argument_text(item) for item in (value if isinstance(value, list) else [value])]
