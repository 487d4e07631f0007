"""Checks SKILL.md by the Agent Skills specification: rules of form that a lenient reader can do
without.

The letters with digits number the rules: N name, D description, L licence, C compatibility, X
other fields, B body.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from pathlib import PurePath

from capdisc_indexer.model.types import Finding, Severity
from capdisc_indexer.sources.formats.naming_rules import MAX_NAME
from capdisc_indexer.sources.formats.parsed_capability import LongText, ParsedCapability
from capdisc_indexer.sources.readers.field_reader import squeeze_key
from capdisc_indexer.sources.readers.yaml_nodes import MapNode, TextNode

MAX_COMPATIBILITY = 500
BODY_LINES = 500
BODY_CHARACTERS = 20_000  # 5,000 tokens of English
SHORT_DESCRIPTION = 20

OF_THE_FORMAT = ("name", "description", "license", "compatibility", "metadata", "allowed-tools")
# Fields of clients and collections that mean something to somebody.
KNOWN_TO_CLIENTS = frozenset(
    """
    agent always anyBins apiKey argument-hint arguments author background bins category command-arg-mode
    command-dispatch command-tool context dependencies disable-model-invocation disallowed-tools displayName effort
    emoji env examples hidden homepage hooks hypotheticalQueries install keywords model os paths phrases primaryEnv
    repository requires risk riskLevel shell skillKey source tags title tools triggers usageHint user-invocable version
    when_to_use
    """.split()
)
_RESERVED_WORDS = ("anthropic", "claude")
_TAG = re.compile(r"</?[A-Za-z][\w-]*(?:\s[^<>\n]*)?/?>")
_W, _I = Severity.WARNING, Severity.INFO


def check_skill(part: ParsedCapability, path: str) -> Iterator[Finding]:
    """Findings about the front matter and the body of a skill, in the order of the rules."""
    rules = _SkillChecks(part.node, path)
    yield from rules.name(PurePath(path).parent.name)
    yield from rules.description()
    yield from rules.optional_fields()
    yield from rules.other_fields()
    yield from check_body(part)


class _SkillChecks:
    """The rules for the front matter of one skill."""

    def __init__(self, node: MapNode, path: str) -> None:
        self._node, self._path = node, path

    def name(self, folder: str) -> Iterator[Finding]:
        """N3 to N10: length, letters, hyphens, and the name of the folder."""
        name = unicodedata.normalize("NFKC", self._text("name")).strip()
        if not name:
            return
        if len(name) > MAX_NAME:
            yield self._finding_at(
                "name",
                "name-too-long",
                f"the name has {len(name)} characters, more than {MAX_NAME}",
                "shorten it",
            )
        if name != name.lower():
            yield self._finding_at(
                "name",
                "name-case",
                "the name holds capital letters",
                f"write {name.lower()[:MAX_NAME]}",
            )
        if odd_characters := sorted(
            {
                character
                for character in name
                if not (
                    character.isalnum() or character == "-" or unicodedata.combining(character)
                )
            }
        ):
            message = (
                f"the name holds {' '.join(repr(character) for character in odd_characters[:5])}"
            )
            yield self._finding_at(
                "name", "name-characters", message, "use letters, digits and hyphens only"
            )
        if name.startswith("-") or name.endswith("-") or "--" in name:
            message = "the name begins or ends with a hyphen, or has two in a row"
            yield self._finding_at(
                "name", "name-hyphens", message, "put single hyphens between words"
            )
        if not name.isascii():
            message = "the name holds letters beyond a to z, which some clients refuse"
            yield self._finding_at(
                "name", "name-not-ascii", message, "use a to z, digits and hyphens"
            )
        if any(word in name.lower() for word in _RESERVED_WORDS):
            message = "the name holds a word that claude.ai keeps for itself"
            yield self._finding_at(
                "name", "name-reserved-word", message, "name what the skill does"
            )
        if folder and name != unicodedata.normalize("NFKC", folder):
            hint = f"rename the folder to {name[:MAX_NAME]}, or the skill to {folder[:MAX_NAME]}"
            yield self._finding_at(
                "name", "name-folder-mismatch", "the name is not that of the skill's folder", hint
            )

    def description(self) -> Iterator[Finding]:
        """D4 and D5: too short, and tags in it."""
        text = self._text("description").strip()
        if text and len(text) < SHORT_DESCRIPTION:
            plural = "" if len(text) == 1 else "s"
            message = f"the description has only {len(text)} character{plural}"
            yield self._finding_at(
                "description",
                "description-vague",
                message,
                "say what the skill does and when to use it",
            )
        if _TAG.search(text):
            message = "the description holds a tag, which claude.ai refuses"
            yield self._finding_at(
                "description", "description-xml", message, "write it without < and >"
            )

    def optional_fields(self) -> Iterator[Finding]:
        """L1, C1, C2. A value of a wrong type already has a finding from the reader."""
        licence = self._node.entries.get("license")
        if licence and isinstance(licence.value, TextNode) and len(licence.value.value) > 200:
            hint = "name the licence, or a file beside SKILL.md"
            yield self._finding_at(
                "license", "license-type", "license is not a name or a file's name", hint
            )
        entry = self._node.entries.get("compatibility")
        if entry and not (
            isinstance(entry.value, TextNode)
            and 1 <= len(entry.value.value.strip()) <= MAX_COMPATIBILITY
        ):
            message = f"compatibility is not a text of 1 to {MAX_COMPATIBILITY} characters"
            yield self._finding_at(
                "compatibility", "compatibility-length", message, "shorten it, or leave it out"
            )

    def other_fields(self) -> Iterator[Finding]:
        """X1 and X2: fields that the format does not have."""
        of_the_format = {squeeze_key(name): name for name in OF_THE_FORMAT}
        known_fields = {squeeze_key(name) for name in KNOWN_TO_CLIENTS}
        for key in self._node.entries:
            if key in OF_THE_FORMAT:
                continue
            if (meant := of_the_format.get(squeeze_key(key))) in self._node.entries:
                continue  # written twice, for which the reader has a finding
            if meant:
                yield self._finding_at(
                    key,
                    "misspelt-field",
                    f"other readers do not know {key[:64]}",
                    f"write {meant}",
                )
            elif squeeze_key(key) in known_fields:
                message = f"{key[:64]} is a field of some clients, not of the format"
                yield self._finding_at(
                    key, "client-field", message, "put it below metadata for others", _I
                )
            else:
                message = f"the format has no field {key[:64]}"
                yield self._finding_at(
                    key, "unknown-field", message, "put other facts below metadata"
                )

    def _text(self, key: str) -> str:
        entry = self._node.entries.get(key)
        return entry.value.value if entry and isinstance(entry.value, TextNode) else ""

    def _finding_at(
        self, key: str, code: str, message: str, hint: str, severity: Severity = _W
    ) -> Finding:
        entry = self._node.entries[key]
        return Finding(
            code=code, severity=severity, message=message, hint=hint, path=self._path, line=entry.line,
            column=entry.column,
        )  # fmt: skip


def check_body(part: ParsedCapability) -> Iterator[Finding]:
    """B1 to B3: a body, and not a long one."""
    body = part.longs[0]
    line_count = body.value.count("\n") + (not body.value.endswith("\n"))
    if not body.value.strip():
        message, hint = "there is nothing below the front matter", "say how the skill is done"
        yield _body_finding(body, "body-empty", message, hint)
    elif line_count >= BODY_LINES or len(body.value) > BODY_CHARACTERS:
        message = f"the body has {line_count:,} lines and {len(body.value):,} characters"
        yield _body_finding(
            body, "body-long", message, "move parts that are seldom needed into files beside it"
        )


def _body_finding(body: LongText, code: str, message: str, hint: str) -> Finding:
    return Finding(
        code=code, severity=_W, message=message, hint=hint, path=body.path, line=body.line
    )
