"""SKILL.md by the Agent Skills specification: rules of form, which a reader that means well can do
without.

Letters with digits number the rules: N name, D description, L licence, C compatibility, X other
fields, B body.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from pathlib import PurePath

from capdisc_indexer.model.types import Finding, Severity
from capdisc_indexer.sources.formats.derived_capability import LongText, ParsedCapability
from capdisc_indexer.sources.formats.naming_rules import MAX_NAME
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
_WORDS_KEPT_BACK = ("anthropic", "claude")
_TAG = re.compile(r"</?[A-Za-z][\w-]*(?:\s[^<>\n]*)?/?>")
_W, _I = Severity.WARNING, Severity.INFO


def skill_rules(part: ParsedCapability, path: str) -> Iterator[Finding]:
    """What the specification or a client would say of this skill."""
    rules = _SkillChecks(part.node, path)
    yield from rules.name(PurePath(path).parent.name)
    yield from rules.description()
    yield from rules.optional()
    yield from rules.others()
    yield from body_rules(part)


class _SkillChecks:
    """The front matter of one skill being looked at."""

    def __init__(self, node: MapNode, path: str) -> None:
        self._node, self._path = node, path

    def name(self, folder: str) -> Iterator[Finding]:
        """N3 to N10."""
        name = unicodedata.normalize("NFKC", self._text("name")).strip()
        if not name:
            return
        if len(name) > MAX_NAME:
            yield self._at(
                "name",
                "name-too-long",
                f"the name has {len(name)} characters, more than {MAX_NAME}",
                "shorten it",
            )
        if name != name.lower():
            yield self._at(
                "name",
                "name-case",
                "the name holds capital letters",
                f"write {name.lower()[:MAX_NAME]}",
            )
        if odd := sorted(
            {
                character
                for character in name
                if not (character.isalnum() or character == "-" or unicodedata.combining(character))
            }
        ):
            message = f"the name holds {' '.join(repr(character) for character in odd[:5])}"
            yield self._at(
                "name", "name-characters", message, "use letters, digits and hyphens only"
            )
        if name.startswith("-") or name.endswith("-") or "--" in name:
            message = "the name begins or ends with a hyphen, or has two in a row"
            yield self._at("name", "name-hyphens", message, "put single hyphens between words")
        if not name.isascii():
            message = "the name holds letters beyond a to z, which some clients refuse"
            yield self._at("name", "name-not-ascii", message, "use a to z, digits and hyphens")
        if any(word in name.lower() for word in _WORDS_KEPT_BACK):
            message = "the name holds a word that claude.ai keeps for itself"
            yield self._at("name", "name-reserved-word", message, "name what the skill does")
        if folder and name != unicodedata.normalize("NFKC", folder):
            hint = f"rename the folder to {name[:MAX_NAME]}, or the skill to {folder[:MAX_NAME]}"
            yield self._at(
                "name", "name-folder-mismatch", "the name is not that of the skill's folder", hint
            )

    def description(self) -> Iterator[Finding]:
        """D4 and D5."""
        text = self._text("description").strip()
        if text and len(text) < SHORT_DESCRIPTION:
            message = f"the description has only {len(text)} characters"
            yield self._at(
                "description",
                "description-vague",
                message,
                "say what the skill does and when to use it",
            )
        if _TAG.search(text):
            message = "the description holds a tag, which claude.ai refuses"
            yield self._at("description", "description-xml", message, "write it without < and >")

    def optional(self) -> Iterator[Finding]:
        """L1, C1, C2; what is of a wrong type altogether was found when it was read."""
        licence = self._node.entries.get("license")
        if licence and isinstance(licence.value, TextNode) and len(licence.value.value) > 200:
            hint = "name the licence, or a file beside SKILL.md"
            yield self._at(
                "license", "license-type", "license is not a name or a file's name", hint
            )
        entry = self._node.entries.get("compatibility")
        if entry and not (
            isinstance(entry.value, TextNode)
            and 1 <= len(entry.value.value.strip()) <= MAX_COMPATIBILITY
        ):
            message = f"compatibility is not a text of 1 to {MAX_COMPATIBILITY} characters"
            yield self._at(
                "compatibility", "compatibility-length", message, "shorten it, or leave it out"
            )

    def others(self) -> Iterator[Finding]:
        """X1 and X2."""
        of_the_format = {squeeze_key(name): name for name in OF_THE_FORMAT}
        known_fields = {squeeze_key(name) for name in KNOWN_TO_CLIENTS}
        for key in self._node.entries:
            if key in OF_THE_FORMAT:
                continue
            if (meant := of_the_format.get(squeeze_key(key))) in self._node.entries:
                continue  # said twice, which was found when it was read
            if meant:
                yield self._at(
                    key, "misspelt-field", f"other readers do not know {key[:64]}", f"write {meant}"
                )
            elif squeeze_key(key) in known_fields:
                message = f"{key[:64]} is a field of some clients, not of the format"
                yield self._at(key, "client-field", message, "put it below metadata for others", _I)
            else:
                message = f"the format has no field {key[:64]}"
                yield self._at(key, "unknown-field", message, "put other facts below metadata")

    def _text(self, key: str) -> str:
        entry = self._node.entries.get(key)
        return entry.value.value if entry and isinstance(entry.value, TextNode) else ""

    def _at(self, key: str, code: str, message: str, hint: str, severity: Severity = _W) -> Finding:
        entry = self._node.entries[key]
        return Finding(
            code=code, severity=severity, message=message, hint=hint, path=self._path, line=entry.line,
            column=entry.column,
        )  # fmt: skip


def body_rules(part: ParsedCapability) -> Iterator[Finding]:
    """B1 to B3."""
    body = part.longs[0]
    lines = body.value.count("\n") + (not body.value.endswith("\n"))
    if not body.value.strip():
        message, hint = "there is nothing below the front matter", "say how the skill is done"
        yield _at_body(body, "body-empty", message, hint)
    elif lines >= BODY_LINES or len(body.value) > BODY_CHARACTERS:
        message = f"the body has {lines:,} lines and {len(body.value):,} characters"
        yield _at_body(
            body, "body-long", message, "move parts that are seldom needed into files beside it"
        )


def _at_body(body: LongText, code: str, message: str, hint: str) -> Finding:
    return Finding(
        code=code, severity=_W, message=message, hint=hint, path=body.path, line=body.line
    )
