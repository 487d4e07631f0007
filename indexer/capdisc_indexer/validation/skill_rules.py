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
from capdisc_indexer.text.normalization import compile_late
from capdisc_indexer.validation.claude_code_rules import check_field, claude_code_field

# The folder of a text without one, such as an editor pipes through: a place where no file can be,
# so that no rule reads anything, whatever the text names.
EMPTY_FOLDER = "/dev/null/nowhere"
MAX_COMPATIBILITY = 500
BODY_LINES = 500
BODY_CHARACTERS = 20_000  # 5,000 tokens of English
SHORT_DESCRIPTION = 20

OF_THE_FORMAT = ("name", "description", "license", "compatibility", "metadata", "allowed-tools")
# Fields of clients and collections that mean something to somebody.
KNOWN_TO_CLIENTS = frozenset(
    """
    agent always anyBins apiKey argument-hint arguments author background bins category command-arg-mode
    command-dispatch command-tool composedWith context dependencies disable-model-invocation disallowed-tools
    displayName effort emoji env examples hidden homepage hooks hypotheticalQueries install keywords model notFor
    os paths phrases primaryEnv related relatedTo relatedTools repository requiredTools requires risk riskLevel
    shell skillKey source tags title tools triggers usageHint user-invocable version when_to_use
    """.split()
)
_RESERVED_WORDS = ("anthropic", "claude")
# What a person calls the characters that names hold most often by mistake.
_CHARACTER_NAMES = {
    " ": "a blank",
    "_": "an underscore",
    ".": "a dot",
    "/": "a slash",
    ":": "a colon",
}
_VALID_NAME = compile_late(r"[a-z0-9]+(?:-[a-z0-9]+)*")
# Letters that have no part in ASCII to fall back to.
_SPELT_OUT = str.maketrans(
    {"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ð": "d"}
)
# How descriptions of skeletons begin, ours and those of other tools.
_PLACEHOLDER = compile_late(
    r"does one thing well\b|\W{0,3}(?:todo|fixme|tbd)\b|lorem ipsum|replace (?:this|me|with)\b"
    r"|(?:a )?(?:brief |short |clear |one-line )?description of (?:what )?(?:this|the|your) (?:skill|tool|agent|command)\b"
    r"|(?:your|insert|add|enter|write)(?: a| the| your)? description\b|what this (?:skill|tool|agent|command) does\b",
    re.IGNORECASE,
)
_TAG = compile_late(r"</?[A-Za-z][\w-]*(?:\s[^<>\n]*)?/?>")
_W, _I = Severity.WARNING, Severity.INFO
_BELOW_METADATA = "put it below metadata for others"


def check_skill(part: ParsedCapability, path: str) -> Iterator[Finding]:
    """Findings about the front matter and the body of a skill, in the order of the rules."""
    rules = _SkillChecks(part.node, path)
    folder = PurePath(path).parent
    yield from rules.name("" if str(folder) == EMPTY_FOLDER else folder.name)
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
        hint = _name_hint(name, folder)
        if len(name) > MAX_NAME:
            message = f"the name has {len(name):,} characters, more than {MAX_NAME}"
            yield self._finding_at("name", "name-too-long", message, hint)
        if name != name.lower():
            yield self._finding_at("name", "name-case", "the name has uppercase letters", hint)
        if odd_characters := sorted(
            {
                character
                for character in name
                if not (
                    character.isalnum() or character == "-" or unicodedata.combining(character)
                )
            }
        ):
            named = [_CHARACTER_NAMES.get(letter, repr(letter)) for letter in odd_characters[:5]]
            message = f"the name holds {', '.join(named)}"
            yield self._finding_at("name", "name-characters", message, hint)
        if name.startswith("-") or name.endswith("-") or "--" in name:
            message = "the name begins or ends with a hyphen, or has two in a row"
            yield self._finding_at("name", "name-hyphens", message, hint)
        if not name.isascii():
            message = "the name holds letters beyond a to z, which some clients refuse"
            yield self._finding_at("name", "name-not-ascii", message, hint)
        if any(word in name.lower() for word in _RESERVED_WORDS):
            message = "the name holds a word that claude.ai keeps for itself"
            unreserved = _plain_name(name, _RESERVED_WORDS)
            yield self._finding_at(
                "name",
                "name-reserved-word",
                message,
                _rename_hint(unreserved, folder) if unreserved else "name what the skill does",
            )
        if folder and name != unicodedata.normalize("NFKC", folder):
            yield self._finding_at(
                "name", "name-folder-mismatch", "the name does not match its folder", hint
            )

    def description(self) -> Iterator[Finding]:
        """D4 to D6: too short, the text of a skeleton, and tags in it."""
        text = self._text("description").strip()
        if finding := placeholder_finding(self._node, self._path):
            yield finding
        elif text and len(text) < SHORT_DESCRIPTION:
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
        """X1 to X3: fields that the format does not have."""
        of_the_format = {squeeze_key(name): name for name in OF_THE_FORMAT}
        known_fields = {squeeze_key(name) for name in KNOWN_TO_CLIENTS}
        for key, entry in self._node.entries.items():
            if key in OF_THE_FORMAT:
                continue
            if (meant := of_the_format.get(squeeze_key(key))) in self._node.entries:
                continue  # written twice, for which the reader has a finding
            shown = key[:64]
            if meant:
                message = f"other readers do not know {shown}"
                yield self._finding_at(key, "misspelt-field", message, f"write {meant}")
            elif field := claude_code_field(key):
                message = f"{shown} is a field of Claude Code, not of the format"
                yield self._finding_at(key, "claude-code-field", message, _BELOW_METADATA, _I)
                yield from check_field(field, entry, self._path)
            elif squeeze_key(key) in known_fields:
                message = f"{shown} is a field of some clients, not of the format"
                yield self._finding_at(key, "client-field", message, _BELOW_METADATA, _I)
            else:
                message = f"the format has no field {shown}"
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


def _name_hint(name: str, folder: str) -> str:
    """What to write in place of the name: nothing that is a mistake itself, in any profile that
    lets the words of the name stand.

    >>> _name_hint("Bad Skill", "bad_skill"), _name_hint("PDF", "pdf")
    ('write bad-skill, and rename the folder to it', 'write pdf')
    >>> _name_hint("pdf-merge", "pdf_merge"), _name_hint("pdf-merge", "pdf")
    ('rename the folder to pdf-merge', 'write pdf, or rename the folder to pdf-merge')
    """
    if _is_valid_name(name):
        rename = f"rename the folder to {name}"
        return f"write {folder}, or {rename}" if _is_valid_name(folder) else rename
    if _is_valid_name(folder):
        return f"write {folder}"
    plain = _plain_name(name) or _plain_name(folder)
    return _rename_hint(plain, folder) if plain else "write it with a to z, digits and hyphens"


def _rename_hint(name: str, folder: str) -> str:
    return f"write {name}" + (", and rename the folder to it" if folder not in ("", name) else "")


def _is_valid_name(name: str) -> bool:
    """Whether every client takes it for a name."""
    return bool(_VALID_NAME.fullmatch(name)) and len(name) <= MAX_NAME


def _plain_name(text: str, without: tuple[str, ...] = ()) -> str:
    """A valid name of the words of a text, as far as they can be written with a to z, and without
    words that hold one of `without`; "" where none is left.

    >>> _plain_name("Café  Menü_(2)"), _plain_name("Claude-PDF", ("claude",)), _plain_name("技能")
    ('cafe-menu-2', 'pdf', '')
    """
    letters = unicodedata.normalize("NFKD", text.lower().translate(_SPELT_OUT))
    words = re.findall(r"[a-z0-9]+", letters.encode("ascii", "ignore").decode())
    name = "-".join(word for word in words if not any(part in word for part in without))
    return name[:MAX_NAME].rstrip("-")


def placeholder_finding(node: MapNode, path: str) -> Finding | None:
    """A finding where the description is still that of a skeleton; of a skill or of a manifest."""
    entry = node.entries.get("description")
    if not (entry and isinstance(entry.value, TextNode)):
        return None
    if not _PLACEHOLDER.match(entry.value.value.strip()):
        return None
    return Finding(
        code="description-placeholder", severity=_W, message="the description is still that of a skeleton",
        hint="say what it does and when to use it", path=path, line=entry.line, column=entry.column,
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
