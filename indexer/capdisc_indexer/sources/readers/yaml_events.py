"""YAML from untrusted files as nodes, by the events of PyYAML's parser.

The events are counted as they come: the composer, which normally follows, recurses on the machine
stack and was ended by signal 11 by 30,000 nested brackets, and it expands aliases without limit.
Events alone, with an early stop, were safe for a million brackets on a stack of 512 KiB.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml

from capdisc_indexer.model.frozen import replace
from capdisc_indexer.sources.readers.yaml_nodes import (
    LINE_BREAKS,
    Entry,
    ListNode,
    MapNode,
    Node,
    RefusedTextError,
    TextNode,
    YamlLimits,
    YamlResult,
    is_null,
    place_in_text,
)
from capdisc_indexer.text.normalization import compile_late

# A carriage return that is not part of a line end moves a terminal back to overwrite its line.
_CONTROL = compile_late("[\x00-\x08\x0b-\x1f\x7f-\x84\x86-\x9f]")
_SURROGATE = compile_late("[\ud800-\udfff]")
_COMMENT_FOR_VALUE = compile_late(r"[ \t]*:[ \t]+#")
_HINTS = (
    ("mapping values are not allowed", "put a value that holds a colon and a blank in quotes"),
    (
        "cannot start any token",
        "indent with blanks, and put a value that starts with this character in quotes",
    ),
    ("expected <block end>", "align the keys, or put the value before this place in quotes"),
    ("quoted scalar", "close the quotes"),
    ("expected ',' or", "close the bracket"),
)


def read_events(text: str, path: str, first_line: int, limits: YamlLimits) -> YamlResult:
    """The documents of a text, by the events of the parser."""
    try:
        _refuse_controls(text)
        reader = _YamlReader(LINE_BREAKS.sub(" ", text), first_line, limits)
        return YamlResult(documents=tuple(reader.documents()))
    except RefusedTextError as error:
        refused = error
    except yaml.MarkedYAMLError as error:
        refused = _refused_syntax(error)
    except (yaml.YAMLError, UnicodeError) as error:
        message = f"not YAML: {str(error).splitlines()[0]}"
        refused = RefusedTextError("yaml-syntax", message, "remove the character")
    line = refused.finding.line + first_line - 1
    return YamlResult(finding=replace(refused.finding, path=path, line=line))


class _YamlReader:
    """Parses one text. Recursion ends at the limit of depth, which `_next` checks before a node is
    entered.
    """

    def __init__(self, text: str, first_line: int, limits: YamlLimits) -> None:
        # libyaml where PyYAML was built with it; both give the same events.
        loader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        self._parser = loader(text)
        self._text = text
        self._first_line, self._limits = first_line, limits
        self._events = 0
        self._depth = 0

    def documents(self) -> Iterator[Node]:
        """Each document that is not empty, as the one after a closing `---` is."""
        try:
            while not isinstance(event := self._next(), yaml.StreamEndEvent):
                if isinstance(event, yaml.DocumentStartEvent):
                    node = self._node(self._next())
                    if not is_null(node):
                        yield node
        finally:
            self._parser.dispose()

    def _next(self) -> yaml.Event:
        event: yaml.Event = self._parser.get_event()  # type: ignore[no-untyped-call]
        self._events += 1
        if self._events > self._limits.events:
            message = "too many values for one file"
            raise _refused_at(event, "yaml-too-many-nodes", message, "split the file")
        if isinstance(event, yaml.NodeEvent):
            _refuse_indirection(event)
        if isinstance(event, yaml.CollectionStartEvent):
            self._depth += 1
            if self._depth > self._limits.depth:
                message = f"nested more than {self._limits.depth} levels deep"
                raise _refused_at(event, "yaml-depth", message, "make it flatter")
        elif isinstance(event, yaml.CollectionEndEvent):
            self._depth -= 1
        return event

    def _node(self, event: yaml.Event) -> Node:
        line, column = self._place(event)
        if isinstance(event, yaml.ScalarEvent):
            _refuse_text(event)
            return TextNode(event.value, not event.style, line, column)
        if isinstance(event, yaml.SequenceStartEvent):
            return ListNode(tuple(self._items()), line, column)
        return MapNode(self._entries(), line, column)

    def _items(self) -> Iterator[Node]:
        while not isinstance(event := self._next(), yaml.SequenceEndEvent):
            yield self._node(event)

    def _entries(self) -> dict[str, Entry]:
        entries: dict[str, Entry] = {}
        while not isinstance(event := self._next(), yaml.MappingEndEvent):
            if not isinstance(event, yaml.ScalarEvent):
                message = "a key is a list or a mapping"
                raise _refused_at(event, "yaml-key-type", message, "use plain words as keys")
            _refuse_text(event)
            self._refuse_key(event, entries)
            line, column = self._place(event)
            value = self._node(self._next())
            entries[event.value] = Entry(
                event.value, value, line, column, self._is_commented_out(event, value)
            )
        return entries

    def _is_commented_out(self, key: yaml.ScalarEvent, value: Node) -> bool:
        is_empty = isinstance(value, TextNode) and value.is_plain and not value.value
        if not is_empty or not key.end_mark:
            return False
        behind_key = self._text.split("\n")[key.end_mark.line][key.end_mark.column :]
        return _COMMENT_FOR_VALUE.match(behind_key) is not None

    def _place(self, event: yaml.Event) -> tuple[int, int]:
        line, column = _place(event.start_mark)
        return line + self._first_line - 1, column

    def _refuse_key(self, event: yaml.ScalarEvent, entries: dict[str, Entry]) -> None:
        if event.value == "<<" and not event.style:
            raise _refused_at(
                event, "yaml-merge-key", "merge keys (<<) are not read", "write the keys out"
            )
        if event.value in entries:
            first_line = entries[event.value].line
            message = f"the key {event.value[:64]!r} stands twice, first in line {first_line}"
            raise _refused_at(event, "yaml-duplicate-key", message, "remove one of the two")


def _refuse_indirection(event: yaml.NodeEvent) -> None:
    if isinstance(event, yaml.AliasEvent):
        name = str(event.anchor)[:64]
        raise _refused_at(
            event, "yaml-alias", f"the alias *{name} is not read", "write the value out"
        )
    if getattr(event, "tag", None):
        hint = "remove the tag, or put the value in quotes"
        raise _refused_at(event, "yaml-tag", "tags (!) are not read", hint)


def _refuse_text(event: yaml.ScalarEvent) -> None:
    """Refuses controls and half characters that came in as escapes; the raw text was checked
    before.
    """
    if _SURROGATE.search(event.value):
        raise _refused_at(
            event, "invalid-unicode", "half of a surrogate pair", "write the whole character"
        )
    if match := _CONTROL.search(event.value):
        message = f"an escape for the control character U+{ord(match.group()):04X}"
        raise _refused_at(event, "control-character", message, "remove it")


def _refuse_controls(text: str) -> None:
    if match := _CONTROL.search(text):
        message = f"the control character U+{ord(match.group()):04X}"
        place = place_in_text(text, match.start())
        raise RefusedTextError("control-character", message, "remove it", *place)


def _refused_at(event: yaml.Event, code: str, message: str, hint: str) -> RefusedTextError:
    return RefusedTextError(code, message, hint, *_place(event.start_mark))


def _place(mark: Any) -> tuple[int, int]:
    return (mark.line + 1, mark.column + 1) if mark else (1, 1)


def _refused_syntax(error: yaml.MarkedYAMLError) -> RefusedTextError:
    reason = " ".join(part for part in (error.problem, error.context) if part)
    hint = next(
        (hint for sign, hint in _HINTS if sign in reason),
        "correct the line, or put its value in quotes",
    )
    place = _place(error.problem_mark or error.context_mark)
    return RefusedTextError("yaml-syntax", f"not YAML: {reason}", hint, *place)
