"""The fields of one document, each as the type that it should have; a value of another type
becomes a finding, never an exception.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

from capdisc_indexer.model.types import Finding, Severity, has_errors
from capdisc_indexer.sources.readers.yaml_nodes import (
    Entry,
    Json,
    ListNode,
    MapNode,
    Node,
    TextNode,
    is_null,
    to_json,
)
from capdisc_indexer.text.normalization import compile_late, visible_text

QUOTE_THE_HASH = "put the value in quotes, # and all"
MAX_ITEMS = 64
LONG_DESCRIPTION = 1_024
MAX_DESCRIPTION = 4_096

_TRUE = frozenset({"true", "yes", "on", "1"})
_FALSE = frozenset({"false", "no", "off", "0"})
# Texts that YAML 1.1 reads as truth values, numbers or dates, so that two readers of a file
# disagree.
AMBIGUOUS_SCALAR = compile_late(
    r"y|n|yes|no|on|off|true|false|[-+]?[0-9][0-9_]*(:[0-5]?[0-9])*(\.[0-9]*)?(e[-+]?[0-9]+)?|0x[0-9a-f]+"
    r"|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}.*",
    re.IGNORECASE,
)


def squeeze_key(key: str) -> str:
    """The key without case and separators: `riskLevel`, `risk_level` and `risk-level` are the same
    key.
    """
    return key.replace("_", "").replace("-", "").lower()


def split_outside(text: str, separators: str) -> list[str]:
    """The pieces between separators that stand outside round brackets, each stripped, none empty.

    >>> split_outside("Bash(git log, git diff) Read,Edit", ", ")
    ['Bash(git log, git diff)', 'Read', 'Edit']
    """
    pieces: list[str] = [""]
    depth = start = 0
    for index, character in enumerate(text):
        depth = max(0, depth + (character == "(") - (character == ")"))
        if character in separators and not depth:
            pieces.append(text[start:index])
            start = index + 1
    return [stripped for piece in [*pieces, text[start:]] if (stripped := piece.strip())]


class Fields:
    """The fields of a document. `names` has the keys of each field, the preferred one first;
    `entries` has the entries by field, `others` those of unknown keys by key.
    """

    def __init__(
        self,
        node: MapNode,
        path: str,
        names: Mapping[str, tuple[str, ...]],
        findings: list[Finding] | None = None,
    ) -> None:
        self.findings = [] if findings is None else findings
        self.entries: dict[str, Entry] = {}
        self.others: dict[str, Entry] = {}
        self._node = node
        self._path = path
        owners = _owners(tuple(names.items())) if node.entries else {}
        for key, entry in sorted(
            node.entries.items(), key=lambda item: _rank(item[0], names, owners)
        ):
            field = owners.get(squeeze_key(key))
            if field is None:
                self.others[key] = entry
            else:
                self._claim(field, entry)

    def _claim(self, field: str, entry: Entry) -> None:
        if earlier := self.entries.get(field):
            message = f"{entry.key} says the same as {earlier.key} in line {earlier.line} and is not read"
            self.warn_at(entry, "duplicate-field", message, "keep one of the two")
        else:
            self.entries[field] = entry

    def within(self, node: Node | None, names: Mapping[str, tuple[str, ...]]) -> Fields:
        """The fields of a mapping in this document, none if it is not a mapping; its findings are
        those of the document.
        """
        mapping = node if isinstance(node, MapNode) else MapNode({}, 1, 1)
        return Fields(mapping, self._path, names, self.findings)

    @property
    def has_error(self) -> bool:
        """Whether a finding keeps the capability out."""
        return has_errors(self.findings)

    def note(
        self, field: str, severity: Severity, code: str, message: str, hint: str = ""
    ) -> None:
        """Adds a finding at the place of the field, or of the document if the field is missing."""
        self._add(self.entries.get(field, self._node), severity, code, message, hint)

    def warn(self, field: str, code: str, message: str, hint: str = "") -> None:
        """Adds a finding that does not keep the capability out."""
        self.note(field, Severity.WARNING, code, message, hint)

    def warn_at(self, entry: Entry, code: str, message: str, hint: str = "") -> None:
        """Adds a warning at a key that belongs to no field."""
        self._add(entry, Severity.WARNING, code, message, hint)

    def error(self, field: str, code: str, message: str, hint: str = "") -> None:
        """Adds a finding that keeps the capability out."""
        self.note(field, Severity.ERROR, code, message, hint)

    def _warn_of_type(self, field: str, problem: str, hint: str) -> None:
        self.warn(field, "field-type", f"{self.key(field)} {problem}", hint)

    def place(self, field: str, finding: Finding) -> None:
        """Adds a finding that was made elsewhere, at the field's place."""
        message = f"{self.key(field)}: {finding.message}"
        self.note(field, finding.severity, finding.code, message, finding.hint)

    def _add(
        self, place: Entry | Node, severity: Severity, code: str, message: str, hint: str
    ) -> None:
        self.findings.append(
            Finding(code, severity, message, hint, self._path, place.line, place.column)
        )

    def value(self, field: str) -> Node | None:
        """The value of the field; None if it is missing or null."""
        entry = self.entries.get(field)
        return None if entry is None or is_null(entry.value) else entry.value

    def is_commented_out(self, field: str) -> bool:
        """Whether the value is missing because `#` begins a comment."""
        return field in self.entries and self.entries[field].is_commented_out

    def key(self, field: str) -> str:
        """The key as written."""
        return self.entries[field].key if field in self.entries else field

    def text(self, field: str) -> str:
        """The text, stripped; "" if there is none. An unquoted `no` or `1.0` stays as written,
        with a warning.
        """
        node = self.value(field)
        if node is None:
            return ""
        if not isinstance(node, TextNode):
            self._warn_of_type(field, "is not text", "write it as text")
            return ""
        if node.is_plain and AMBIGUOUS_SCALAR.fullmatch(node.value):
            message = f"{self.key(field)}: {node.value[:64]} is not text to other readers"
            self.warn(field, "ambiguous-scalar", message, "put the value in quotes")
        return node.value.strip()

    def required_text(self, field: str, hint: str, substitute: str = "") -> str:
        """The text. Where there is none that shows, `substitute` with a warning; without a
        substitute, "" with an error.
        """
        if self.has_text(field):
            return self.text(field)
        node, code = self.value(field), "field-missing"
        message = f"the field {field} is missing or empty"
        if node is not None and not isinstance(node, TextNode):
            code, message = "field-type", f"{self.key(field)} is not text"
        elif isinstance(node, TextNode) and node.value.strip():
            code, message = "field-empty", f"the {field} shows nothing"
        elif self.is_commented_out(field):
            message, hint = f"the field {field} is empty: # begins a comment", QUOTE_THE_HASH
        if substitute:
            self.warn(field, code, f"{message}; {substitute[:64]!r} is used", hint)
        else:
            self.error(field, code, message, hint)
        return substitute

    def has_text(self, field: str) -> bool:
        """Whether the field holds a text that a reader can see."""
        return bool(visible_text(self.quiet_text(field)))

    def quiet_text(self, field: str) -> str:
        """The text, stripped, without a finding; "" if the field is missing."""
        node = self.value(field)
        return node.value.strip() if isinstance(node, TextNode) else ""

    def texts(self, field: str, separators: str = ",") -> tuple[str, ...]:
        """The texts of a list, stripped, without empty ones and repetitions; a single text is
        split at `separators`.
        """
        node = self.value(field)
        if node is None:
            return ()
        if isinstance(node, TextNode):
            return self._limit_items(field, split_outside(node.value, separators))
        if isinstance(node, ListNode):
            items = [
                item.value
                for item in node.items
                if isinstance(item, TextNode) and not is_null(item)
            ]
            if len(items) < len(node.items):
                self._warn_of_type(field, "holds items that are not text", "write them as text")
            return self._limit_items(field, items)
        self._warn_of_type(field, "is not a list", "write a list, or text with commas")
        return ()

    def _limit_items(self, field: str, items: Iterable[str]) -> tuple[str, ...]:
        unique = tuple(
            dict.fromkeys(stripped for item in items if (stripped := " ".join(item.split())))
        )
        if len(unique) > MAX_ITEMS:
            message = (
                f"{self.key(field)} has {len(unique):,} items; the first {MAX_ITEMS:,} are read"
            )
            self.warn(field, "too-many-items", message, "keep the telling ones")
        return unique[:MAX_ITEMS]

    def flag(self, field: str, default: bool = False, *, unreadable: bool | None = None) -> bool:
        """The truth value: true, yes, on, 1 or false, no, off, 0; else `default`. A value that is
        neither is `unreadable` where that is given: what asks for caution must not fail open.
        """
        node = self.value(field)
        word = node.value.strip().lower() if isinstance(node, TextNode) else ""
        if node is not None and word not in _TRUE | _FALSE:
            self._warn_of_type(field, "is neither true nor false", "write true or false")
            return default if unreadable is None else unreadable
        return word in _TRUE if word in _TRUE | _FALSE else default

    def number(self, field: str) -> float | None:
        """The number, or None if the field is missing."""
        node = self.value(field)
        value = None if node is None else to_json(node)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
        if node is not None:
            self._warn_of_type(field, "is not a number", "write a number")
        return None

    def mapping(self, field: str, *, exact: bool = False) -> dict[str, Json] | None:
        """The mapping as JSON, or None if the field is missing."""
        node = self.value(field)
        if node is None:
            return None
        value = to_json(node, exact=exact)
        if isinstance(value, dict):
            return value
        self._warn_of_type(field, "is not a mapping", "write key: value lines below it")
        return None


def _rank(key: str, names: Mapping[str, tuple[str, ...]], owners: Mapping[str, str]) -> int:
    """The place of a key among those of its field: of `name` and `Name` in one file, the preferred
    one is read.
    """
    keys = names.get(owners.get(squeeze_key(key), ""), ())
    return keys.index(key) if key in keys else len(keys)


@lru_cache(64)  # formats have a few such tables, which are the same for every file
def _owners(names: tuple[tuple[str, tuple[str, ...]], ...]) -> Mapping[str, str]:
    return {squeeze_key(key): field for field, keys in names for key in keys}


def clip_description(fields: Fields, text: str, code: str, other_place: str) -> str:
    """The description as far as it is read, with a warning about a long one."""
    if len(text) > LONG_DESCRIPTION:
        cut = f"; the first {MAX_DESCRIPTION:,} are read" if len(text) > MAX_DESCRIPTION else ""
        message = (
            f"the description has {len(text):,} characters, more than {LONG_DESCRIPTION:,}{cut}"
        )
        fields.warn("description", code, message, f"move details into {other_place}")
    return text[:MAX_DESCRIPTION].rstrip()
