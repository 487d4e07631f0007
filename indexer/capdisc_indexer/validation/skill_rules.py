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
from typing import TypeAlias

from capdisc_indexer.model.types import Finding, Severity
from capdisc_indexer.sources.formats.naming_rules import MAX_NAME
from capdisc_indexer.sources.formats.parsed_capability import LongText, ParsedCapability
from capdisc_indexer.sources.readers.field_reader import squeeze_key
from capdisc_indexer.sources.readers.yaml_nodes import Entry, MapNode, TextNode
from capdisc_indexer.text.normalization import compile_late
from capdisc_indexer.validation.capability_strings import finding_at
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
_BELOW_METADATA = "put it below metadata for others"
# A code, a message and a hint, about one field.
_Problem: TypeAlias = tuple[str, str, str]


def check_skill(part: ParsedCapability, path: str) -> Iterator[Finding]:
    """Findings about the front matter and the body of a skill, in the order of the rules."""
    entries, folder = part.node.entries, PurePath(path).parent
    for key, problems in (
        ("name", _name_problems(_text_of(part.node, "name"), folder)),
        ("description", _description_problems(_text_of(part.node, "description"))),
        ("license", _licence_problems(entries.get("license"))),
        ("compatibility", _compatibility_problems(entries.get("compatibility"))),
    ):
        for code, message, hint in problems:
            yield finding_at(entries[key], path, code, message, hint)
    yield from _field_findings(part.node, path)
    yield from _body_findings(part.longs[0])


def _text_of(node: MapNode, key: str) -> str:
    entry = node.entries.get(key)
    return entry.value.value if entry and isinstance(entry.value, TextNode) else ""


def _name_problems(written: str, parent: PurePath) -> Iterator[_Problem]:
    """N3 to N10: length, letters, hyphens, and the name of the folder."""
    name = unicodedata.normalize("NFKC", written).strip()
    if not name:
        return
    folder = "" if str(parent) == EMPTY_FOLDER else parent.name
    hint = _name_hint(name, folder)
    if len(name) > MAX_NAME:
        yield "name-too-long", f"the name has {len(name):,} characters, more than {MAX_NAME}", hint
    if name != name.lower():
        yield "name-case", "the name has uppercase letters", hint
    odd = {
        letter
        for letter in name
        if not (letter.isalnum() or letter == "-" or unicodedata.combining(letter))
    }
    if odd:
        shown = ", ".join(_CHARACTER_NAMES.get(letter, repr(letter)) for letter in sorted(odd)[:5])
        yield "name-characters", f"the name holds {shown}", hint
    if name.startswith("-") or name.endswith("-") or "--" in name:
        message = "the name begins or ends with a hyphen, or has two in a row"
        yield "name-hyphens", message, hint
    if not name.isascii():
        message = "the name holds letters beyond a to z, which some clients refuse"
        yield "name-not-ascii", message, hint
    if any(word in name.lower() for word in _RESERVED_WORDS):
        plain = _plain_name(name, _RESERVED_WORDS)
        message = "the name holds a word that claude.ai keeps for itself"
        rename = _rename_hint(plain, folder) if plain else "name what the skill does"
        yield "name-reserved-word", message, rename
    if folder and name != unicodedata.normalize("NFKC", folder):
        yield "name-folder-mismatch", "the name does not match its folder", hint


def _description_problems(written: str) -> Iterator[_Problem]:
    """D4 to D6: too short, the text of a skeleton, and tags in it."""
    text = written.strip()
    if placeholder := placeholder_problem(text):
        yield placeholder
    elif text and len(text) < SHORT_DESCRIPTION:
        yield vague_problem(len(text), "say what the skill does and when to use it")
    if _TAG.search(text):
        message = "the description holds a tag, which claude.ai refuses"
        yield "description-xml", message, "write it without < and >"


def placeholder_problem(description: str) -> _Problem | None:
    """The problem of a description that is still that of a skeleton, of a skill or a manifest."""
    if not _PLACEHOLDER.match(description.strip()):
        return None
    message = "the description is still that of a skeleton"
    return "description-placeholder", message, "say what it does and when to use it"


def vague_problem(length: int, hint: str) -> _Problem:
    """The problem of a description of a few characters, of a skill or a manifest."""
    plural = "" if length == 1 else "s"
    return "description-vague", f"the description has only {length} character{plural}", hint


def _licence_problems(entry: Entry | None) -> Iterator[_Problem]:
    """L1. A value of a wrong type already has a finding from the reader."""
    if entry and isinstance(entry.value, TextNode) and len(entry.value.value) > 200:
        hint = "name the licence, or a file next to SKILL.md"
        yield "license-type", "license is not a name or a file's name", hint


def _compatibility_problems(entry: Entry | None) -> Iterator[_Problem]:
    """C1, C2."""
    text = entry.value.value.strip() if entry and isinstance(entry.value, TextNode) else ""
    if entry and not 1 <= len(text) <= MAX_COMPATIBILITY:
        message = f"compatibility is not a text of 1 to {MAX_COMPATIBILITY} characters"
        yield "compatibility-length", message, "shorten it, or leave it out"


def _field_findings(node: MapNode, path: str) -> Iterator[Finding]:
    """X1 to X3: fields that the format does not have."""
    of_the_format = {squeeze_key(name): name for name in OF_THE_FORMAT}
    known_fields = {squeeze_key(name) for name in KNOWN_TO_CLIENTS}
    for key, entry in node.entries.items():
        meant, shown = of_the_format.get(squeeze_key(key)), key[:64]
        if key in OF_THE_FORMAT or meant in node.entries:
            continue  # a key that is written twice has a finding by the reader
        if meant:
            message = f"other readers do not know {shown}"
            yield finding_at(entry, path, "misspelt-field", message, f"write {meant}")
        elif field := claude_code_field(key):
            message = f"{shown} is a field of Claude Code, not of the format"
            yield finding_at(
                entry, path, "claude-code-field", message, _BELOW_METADATA, Severity.INFO
            )
            yield from check_field(field, entry, path)
        elif squeeze_key(key) in known_fields:
            message = f"{shown} is a field of some clients, not of the format"
            yield finding_at(entry, path, "client-field", message, _BELOW_METADATA, Severity.INFO)
        else:
            hint = "put other facts below metadata"
            yield finding_at(
                entry, path, "unknown-field", f"the format has no field {shown}", hint
            )


def _body_findings(body: LongText) -> Iterator[Finding]:
    """B1 to B3: a body, and not a long one."""
    lines = body.value.count("\n") + (not body.value.endswith("\n"))
    if not body.value.strip():
        message, hint = "there is nothing below the front matter", "say how the skill is done"
        yield finding_at(body, body.path, "body-empty", message, hint)
    elif lines >= BODY_LINES or len(body.value) > BODY_CHARACTERS:
        message = f"the body has {lines:,} lines and {len(body.value):,} characters"
        hint = "move parts that are seldom needed into files of their own"
        yield finding_at(body, body.path, "body-long", message, hint)


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
