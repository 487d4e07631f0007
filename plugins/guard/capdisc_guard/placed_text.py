"""A text that is checked, with its place, and what all checks need."""

from __future__ import annotations

from collections.abc import Iterator

from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.types import Finding, Severity


@frozen(kw_only=True)
class CapabilityText:
    """One text and its place: the value of a field, or a body. `field` is its top-level key, ""
    for a body.

    `one_line` says that the text comes from a single line, or was folded, so that places inside it
    are unknown.
    """

    value: str
    path: str
    line: int
    column: int = 1
    field: str = ""
    one_line: bool = False

    @property
    def is_body(self) -> bool:
        """Whether this is a long text rather than a field."""
        return not self.field

    def finding(
        self,
        code: str,
        message: str,
        hint: str,
        offset: int = 0,
        severity: Severity = Severity.WARNING,
    ) -> Finding:
        """A finding at an offset in the text."""
        line, column = self.line, self.column
        if not self.one_line:
            line += self.value.count("\n", 0, offset)
            column = offset - self.value.rfind("\n", 0, offset)
        return Finding(
            code=code, severity=severity, message=message, hint=hint, path=self.path, line=line,
            column=column,
        )  # fmt: skip


def find_places(text: str, *words: str) -> Iterator[int]:
    """The offsets of each of these words in the text, word by word, each in order."""
    for word in words:
        place = text.find(word)
        while place >= 0:
            yield place
            place = text.find(word, place + 1)


def is_plain_word(value: str) -> bool:
    """Whether no content rule can find anything in the text, as in most keys and names: it is too
    short for a secret key, and every other rule needs a blank or another sign.
    """
    return (
        len(value) < 20 and value.isascii() and value.replace("-", "").replace("_", "").isalnum()
    )
