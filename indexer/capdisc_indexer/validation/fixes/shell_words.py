"""Takes arguments out of the text of a shell: `[sh, -c, "echo {x}"]` becomes `"$1"` and a word of
its own.

Only where that means the same for every value that is one plain word: the text is the last word,
each placeholder stands bare or is the whole of a quoted part, and nothing else in the text depends
on arguments, on nested shells, or on how quotes are read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import capdisc_guard
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.json_types import JsonObject, JsonSchema
from capdisc_indexer.model.types import Descriptor
from capdisc_indexer.sources.readers.field_reader import squeeze_key
from capdisc_indexer.sources.readers.yaml_nodes import (
    ListNode,
    MapNode,
    TextNode,
    as_written,
    to_json,
)
from capdisc_indexer.validation.fixes.fields import (
    FieldRegion,
    capability_mappings,
    field_region,
)

_ITEM = re.compile(r"(\s*-\s+)$")
_SEPARATOR = re.compile(r",[ \t]*$")

# Shells in which "$1" is the first argument, and stays one word.
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "mksh", "ash"})
_FLAGS = re.compile(r"-[aefhlmnuvx]*")
_WITH_TEXT = re.compile(r"-[aefhlmnuvx]*c[aefhlmnuvx]*")
# Outside of single quotes: other arguments, substitutions, arithmetic, tests with patterns, here
# documents, escapes, comments, functions, and words that change the arguments.
_UNSURE = re.compile(
    r"\$[0-9@*#]|\$[({]|`|\\|<<|\(\(|\[\[|#|\(\s*\)|(?<![\w-])(?:eval|set|shift|getopts|source|select)(?![\w-])"
    r"|(?<![\w-])for\s+\w+\s*(?:;|\n|do\b)"
)
_MAX_ARGUMENTS = 9


@frozen
class _Style:
    """How a scalar is written: its raw text, and a function that writes any text likewise."""

    raw: str
    write: Callable[[str], str]


def pass_values_apart(text: str, places: frozenset[tuple[int, int]]) -> str:
    r"""The text with the arguments of these shell texts as words of their own.

    >>> pass_values_apart('run: {command: ["sh","-c","echo {x}"]}\n', frozenset({(1, 27)}))
    'run: {command: ["sh","-c","echo \\"$1\\"","sh","{x}"]}\n'
    """
    fields = field_region(text)
    commands = [command for node in capability_mappings(fields) for command in _commands(node)]
    # From the last to the first, so that a change moves no other.
    for items, schema in reversed(commands):
        if items.items and (items.items[-1].line, items.items[-1].column) in places:
            fields = _rewrite_command(fields, items, schema)
    return fields.text


def _commands(node: MapNode) -> list[tuple[ListNode, JsonSchema | None]]:
    entries = {squeeze_key(key): entry.value for key, entry in node.entries.items()}
    run, declared = entries.get("run"), entries.get("inputschema")
    command = run.entries.get("command") if isinstance(run, MapNode) else None
    if command is None or not isinstance(command.value, ListNode):
        return []
    schema = to_json(declared) if declared else None
    return [(command.value, schema if isinstance(schema, dict) else None)]


def _rewrite_command(
    fields: FieldRegion, items: ListNode, schema: JsonSchema | None
) -> FieldRegion:
    rewritten = rewrite_shell_text(as_written(items), schema)
    program, text_node = items.items[0], items.items[-1]
    if rewritten is None or not (
        isinstance(program, TextNode) and isinstance(text_node, TextNode)
    ):
        return fields
    number, start = text_node.line - 1, text_node.column - 1
    line = fields.line(number)
    style = _style_of(line, start, text_node)
    if style is None:
        return fields
    new_text, following = rewritten
    program_style = _style_of(fields.line(program.line - 1), program.column - 1, program)
    write_name = program_style.write if program_style else json.dumps
    # A word that begins with a brace is a mapping to YAML unless it stands in quotes.
    write_value = style.write if style.raw[:1] in "\"'" else json.dumps
    new_words = [_yaml_word(word, write_name, write_value) for word in following]
    before, after = line[:start] + style.write(new_text), line[start + len(style.raw) :]
    if fields.line(items.line - 1)[items.column - 1 :].startswith("["):
        separator = match[0] if (match := _SEPARATOR.search(line[:start])) else ", "
        words = "".join(f"{separator}{word}" for word in new_words)
        return fields.replace_lines(number, number, [before + words + after])
    if dash := _ITEM.match(line[:start]):
        lines = [before + after, *(dash[1] + word for word in new_words)]
        return fields.replace_lines(number, number, lines)
    return fields


def _yaml_word(
    word: str | list[str], write_name: Callable[[str], str], write_value: Callable[[str], str]
) -> str:
    """The word, or inner list of words, as YAML; placeholders and the shell's name each in their
    own style.
    """
    if isinstance(word, list):
        return f"[{', '.join(_yaml_word(inner, write_name, write_value) for inner in word)}]"
    return write_value(word) if word.startswith("{") else write_name(word)


def _style_of(line: str, start: int, node: TextNode) -> _Style | None:
    """How the scalar is written in its line; None for one of several lines, or with escapes that
    would not come back the same.
    """
    for write in (_in_double_quotes, _in_single_quotes) if not node.is_plain else (str,):
        raw = write(node.value)
        if line.startswith(raw, start):
            return _Style(raw, write)
    return None


def _in_double_quotes(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _in_single_quotes(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def rewrite_shell_text(
    command: object, schema: JsonSchema | None
) -> tuple[str, list[str | list[str]]] | None:
    """The text with `"$1"`, `"$2"`, … for its placeholders, and the words to put after it; None
    for a command that must stay as it is.

    >>> rewrite_shell_text(["sh", "-c", "cp {a} out/{b}"], None)
    ('cp "$1" out/"$2"', [['sh', '{a}', '{b}']])
    """
    if not isinstance(command, list) or not _is_simple(command):
        return None
    program, *options, text = command
    shell = capdisc_guard.program_name(program)
    names = list(dict.fromkeys(capdisc_guard.names_in(text)))
    if (
        not names
        or len(names) > _MAX_ARGUMENTS
        or (new_text := _use_positions(text, names)) is None
    ):
        return None
    words = [shell, *(f"{{{name}}}" for name in names)]
    # In an inner list: else an argument that is left out would move the next one to its place.
    is_loose = len(names) > 1 and not all(
        capdisc_guard.is_always_given(schema, name) for name in names
    )
    following: list[str | list[str]] = [words] if is_loose else [*words]
    if capdisc_guard.find_misuses({"command": [program, *options, new_text, *following]}, schema):
        return None
    return new_text, following


def _is_simple(command: list[str]) -> bool:
    """Whether the command is a shell, flags, one with `c` as the last of them, and a text."""
    if len(command) < 3 or not all(isinstance(word, str) for word in command):
        return False
    program, *flags, text_flag, _ = command
    if capdisc_guard.program_name(program) not in _SHELLS or capdisc_guard.names_in(program):
        return False
    return _WITH_TEXT.fullmatch(text_flag) is not None and all(map(_FLAGS.fullmatch, flags))


def comparable_run(descriptor: Descriptor) -> JsonObject | None:
    """The `run` of a capability in a form that is equal before and after this fix."""
    run = descriptor.run
    if not run or not isinstance(command := run.get("command"), list):
        return dict(run) if run else None
    if rewritten := rewrite_shell_text(command, None):
        command = [*command[:-1], rewritten[0], *rewritten[1]]
    flat = [word for group in command for word in (group if isinstance(group, list) else [group])]
    return {**run, "command": flat}


def _use_positions(text: str, names: list[str]) -> str | None:
    """The text with `"$1"` and so on; None for a placeholder inside other quoted text, or for text
    that might depend on arguments in another way.
    """
    parts: list[str] = []
    quote, opened_at, at = "", -1, 0
    while at < len(text):
        match = capdisc_guard.PLACEHOLDER.match(text, at)
        if match and match[2]:
            end, number = match.end(), names.index(match[2]) + 1
            is_whole = opened_at == at - 1 and text.startswith(quote, end)
            if match[3] or (quote and not is_whole):
                return None
            if quote:
                parts.pop()
                at, quote = end + 1, ""
            else:
                at = end
            parts.append(f'"${number}"')
            continue
        # `{{name}}` is the text `{name}`.
        piece = match[0] if match else text[at]
        if quote != "'" and _UNSURE.match(text, at):
            return None
        if piece in ("'", '"') and quote in ("", piece):
            quote, opened_at = ("", -1) if quote else (piece, at)
        parts.append(piece)
        at += len(piece)
    return None if quote else "".join(parts)
