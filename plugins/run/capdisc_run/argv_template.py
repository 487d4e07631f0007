"""The words of a command with the arguments in their places: a value stays inside its word,
whatever it holds.

The index holds the words with their keys masked; `with_written_words` reads them from the file
again.
"""

# Paths are plain text here: they may hold bytes that are not text.
# ruff: noqa: PTH120

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence

from capdisc_guard import MASK, PLACEHOLDER, allows_dash, mask_strings, names_in
from capdisc_indexer.model.errors import InputError, UsageError
from capdisc_indexer.model.frozen import replace, shallow_dict
from capdisc_indexer.model.json_types import Arguments, JsonSchema
from capdisc_indexer.model.types import Descriptor, Finding
from capdisc_indexer.platforms import system
from capdisc_indexer.sources.format_table import SOURCES
from capdisc_indexer.sources.formats.mcp_servers import servers_of, start_of
from capdisc_indexer.sources.readers.file_bytes import read_input
from capdisc_indexer.sources.scan.folder_files import stat_of
from capdisc_indexer.sources.scan.folder_tree import is_inside
from capdisc_indexer.sources.scan.scanned_files import FileStat, FoundFile
from capdisc_indexer.text.normalization import one_line

_LIST_HINT = 'write the command as a list of words: command: ["git", "log", "--max-count={count}"]'


def build_argv(
    command: object,
    arguments: Arguments,
    parameter_names: Iterable[str],
    schema: JsonSchema | None = None,
) -> tuple[str, ...]:
    """The words of the command with the values of its placeholders.

    A word whose placeholder has no value is left out; so is a list of words inside the command, as
    a whole. `{name...}` gives each item of a list a word of its own.

    Raises InputError for what is not a command, or has a placeholder that is not a parameter.
    Raises UsageError for a value that the program could take for an option: one that begins with a
    dash, in a word that begins with it, unless `--` stands before, or the parameter's schema says
    that it is meant (see `allows_dash`).

    >>> command = ["ls", ["--width", "{width}"], "--", "{paths...}"]
    >>> build_argv(command, {"paths": ["a b", "-c"]}, ["width", "paths"])
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
    known_names = set(parameter_names)
    if unknown := [name for name in placeholders(command) if name not in known_names]:
        listed_names = ", ".join(f"{{{name}}}" for name in unknown)
        raise InputError(
            f"its command holds {listed_names}, which is not a parameter",
            "write {{name}} for the text {name}",
        )
    words: list[str] = []
    after_dashes = False
    for item in command:
        group = item if isinstance(item, list) else [item]
        filled_words = _fill_group(group, arguments, schema, after_dashes)
        # Only a `--` of the manifest's own ends the options, not one that is an argument.
        after_dashes = after_dashes or (bool(filled_words) and "--" in group)
        words += filled_words
    return tuple(words)


def placeholders(command: object) -> list[str]:
    """The names of the placeholders in the command, without repetitions."""
    items = command if isinstance(command, list) else []
    words = [word for item in items for word in (item if isinstance(item, list) else [item])]
    return list(
        dict.fromkeys(name for word in words if isinstance(word, str) for name in names_in(word))
    )


def fill_placeholders(word: str, values: Arguments) -> list[str]:
    """The words that come of the word with these values, unchecked; none where a value is
    missing.
    """
    has_values = all(values.get(name) is not None for name in names_in(word))
    return _substitute(word, values) if has_values else []


def argument_text(value: object) -> str:
    """The value as one word: a text as it is, with halves of surrogate pairs replaced; anything
    else as JSON.
    """
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text.encode("utf-8", "replace").decode()


def _fill_group(
    group: Sequence[object],
    arguments: Arguments,
    schema: JsonSchema | None,
    after_dashes: bool,
) -> list[str]:
    template_words = [word for word in group if isinstance(word, str)]
    if len(template_words) < len(group):
        raise InputError("its command holds something that is not a word", _LIST_HINT)
    if any(arguments.get(name) is None for word in template_words for name in names_in(word)):
        return []
    words: list[str] = []
    for word in template_words:
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
    # An agent may be talked into a value that begins with a dash: to the program that is an
    # option.
    leading = PLACEHOLDER.match(word)
    if leading and leading[2] and not after_dashes:
        for text, value in zip(texts, _values(word, arguments, leading[2]), strict=True):
            if text.startswith("-") and not allows_dash(schema, leading[2], value):
                raise _option_error(leading[2], word, text)
    return texts


def _option_error(name: str, word: str, text: str) -> UsageError:
    what = "begins with a dash, which the program would take for an option"
    hint = f'the manifest can allow it: "--", "{word}" or "--{name}={{{name}}}", or a schema that names the dash'
    return UsageError(f"{name} {what}: {one_line(text, 60)}", hint)


def _values(word: str, arguments: Arguments, name: str) -> Sequence[object]:
    """The values behind the texts that come of a word: the items of a list where each has a word
    of its own.
    """
    placeholder, value = PLACEHOLDER.fullmatch(word), arguments[name]
    return value if placeholder and placeholder[3] and isinstance(value, list) else [value]


def _substitute(word: str, arguments: Arguments) -> list[str]:
    """The word with its placeholders replaced; a word for each item where it is `{name...}`."""
    placeholder = PLACEHOLDER.fullmatch(word)
    if not (placeholder and placeholder[3]):
        return [
            PLACEHOLDER.sub(
                lambda match: (
                    f"{{{match[1]}}}" if match[1] else argument_text(arguments[match[2]])
                ),
                word,
            )
        ]
    value = arguments[placeholder[2]]
    return [argument_text(item) for item in (value if isinstance(value, list) else [value])]


# The words as the file of the capability has them.


def with_written_words(descriptor: Descriptor, roots: Sequence[str]) -> Descriptor:
    """The capability with its `run` and its schema as its file has them; unchanged where nothing
    in them is masked.

    Raises InputError where the file cannot be read, or has other words by now.
    """
    if not (_is_masked(descriptor.run) or _is_masked(descriptor.schema)):
        return descriptor
    if file := _find_file(descriptor, roots):
        for run, schema in _written_forms(descriptor, file):
            written = replace(
                descriptor,
                run=run if _is_masked(descriptor.run) else descriptor.run,
                schema=schema if _is_masked(descriptor.schema) else descriptor.schema,
            )
            if _masked_text(written) == _masked_text(descriptor):
                return written
    identifier = one_line(descriptor.id)
    raise InputError(
        f"{identifier} cannot be run: its words hold a key, and its file says other ones now",
        "run: capdisc index; better, take the key out and name its variable in requiredSecrets",
    )


def _is_masked(value: object) -> bool:
    return value is not None and MASK in json.dumps(value, default=str)


def _masked_text(descriptor: Descriptor) -> str:
    return json.dumps([mask_strings(descriptor.run), mask_strings(descriptor.schema)], default=str)


def _find_file(descriptor: Descriptor, roots: Sequence[str]) -> FoundFile | None:
    """The capability's file; None where it is gone, or lies outside of the folders now."""
    source = descriptor.source
    resolved = system.realpath(source.path)
    status = stat_of(source.path, resolved)
    # A declared file may lie anywhere; a file of a root that became a link must not lead out of
    # all folders.
    folders = [system.realpath(folder) for folder in (*roots, source.root)]
    folders += [source.link_target] if source.link_target else []
    if isinstance(status, Finding) or not is_inside(resolved, folders):
        return None
    return FoundFile(
        **shallow_dict(status),
        relative=system.relpath(source.path, source.root),
        root=source.root,
        root_order=0,
        format=source.format,
        companions=_find_companions(source.path, resolved, source.format),
    )


def _find_companions(path: str, resolved: str, format_name: str) -> tuple[FileStat, ...]:
    folder, resolved_folder = os.path.dirname(path), os.path.dirname(resolved)
    companion_names = SOURCES[format_name].companions
    stats = [
        stat_of(system.join(folder, name), system.join(resolved_folder, name))
        for name in sorted(os.listdir(resolved_folder))
        if name.lower() in companion_names
    ]
    return tuple(stat for stat in stats if not isinstance(stat, Finding))


def _written_forms(
    descriptor: Descriptor, file: FoundFile
) -> list[tuple[Mapping[str, object] | None, JsonSchema | None]]:
    """Each `run` with its schema that the file may mean by this capability."""
    if SOURCES[file.format].keeps:
        mcp = (descriptor.run or {}).get("mcp")
        if not isinstance(mcp, Mapping):
            return []
        servers = [server for server in servers_of(file) if not isinstance(server, Finding)]
        starts = [start for server in servers if (start := start_of(server))]
        return [({"mcp": {**mcp, **start}}, descriptor.schema) for start in starts]
    data = read_input(file)
    if isinstance(data, Finding):
        return []
    descriptors = SOURCES[file.format].load(file, data).descriptors
    return [
        (candidate.run, candidate.schema)
        for candidate in descriptors
        if candidate.source.pointer == descriptor.source.pointer
    ]
