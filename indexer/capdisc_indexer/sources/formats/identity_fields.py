"""What a capability is found by: its name, kind, id and description, whatever its file has in
their places.

Nothing is lost because one of them is missing or odd. What is written stays the title or another
name of the capability, what ids are made of is safe, and a warning says what was read. Refused is
only what has nothing to be found by, and a name that poses as another one.
"""

from __future__ import annotations

import os
import re

from capdisc_indexer.model.types import Descriptor, SourceRef
from capdisc_indexer.sources.formats.naming_rules import (
    MAX_ID,
    MAX_NAME,
    clean_name,
    folder_of,
    name_in_words,
    name_problem,
    read_kind,
    safe_name,
    short_name,
    usable_name,
)
from capdisc_indexer.sources.readers.field_reader import Fields, clip_description
from capdisc_indexer.sources.scan.scanned_files import FoundFile
from capdisc_indexer.text.normalization import compile_late, one_line

CAPABILITY_KINDS = frozenset(
    """
    agent api channel command database document emergent-tool extension function intent operation
    productivity prompt resource section server skill table term tool voice
    """.split()
)
DEFAULT_KIND = "tool"
UNKNOWN_KIND = "unknown-kind"
LEAD_CHARACTERS = 240  # of a text that replaces a missing description
_MAX_TITLE = 1_024
_ID = compile_late(r"[\w][\w .:/@+-]{0,255}")
_NOT_IN_ID = compile_late(r"[^\w .:/@+-]+")
# Ids of a catalogue are printed one a line and typed after `capdisc show`: no blanks at the ends,
# nothing invisible, no markup, no leading hyphen.
_TYPEABLE_ID = compile_late(r"\w[^<>`\"]{0,255}")
_NOT_TYPEABLE = compile_late(r"[<>`\"]+")
_WORD = compile_late(r"[^\W\d_]{3}")  # a number or a digest has none
# A line of a data set that has none of these is a record of something else.
_TELLING_FIELDS = frozenset({"kind", "description", "schema", "phrases", "examples"})
_NO_LEAD = compile_late(r"#{1,6}\s|```|~~~|---|<!--|\||!\[|</?\w")


def read_identity(
    fields: Fields,
    file: FoundFile,
    source: SourceRef,
    title: str,
    body: str,
    identity: str,
    prefix: str,
) -> Descriptor:
    """A capability that has only what it is found by, with a finding in `fields` for all that is
    not as it should be.

    `title` is written in its file, `body` is its long text. `identity` is the id of formats with a
    rule of their own for it; `prefix` stands before the name in the id of others.
    """
    written = _read_name(fields, file, body, identity)
    name = usable_name(written)
    kind = _read_kind(fields) if name else DEFAULT_KIND
    if identity or prefix:
        capability_id, declared = identity or f"{prefix}{name}", ""
    else:
        capability_id, declared = _read_id(fields, kind, name)
    is_changed = clean_name(name) != clean_name(written)
    return Descriptor(
        id=capability_id,
        kind=kind,
        name=name,
        description=_read_description(fields, body, name),
        source=source,
        title=title or (one_line(written)[:_MAX_TITLE] if is_changed else name),
        other_names=tuple(other for other in (written, declared) if other not in ("", name)),
    )


def _read_kind(fields: Fields) -> str:
    written = fields.required_text("kind", "add a line kind: tool", DEFAULT_KIND)
    kind = read_kind(written) or DEFAULT_KIND
    problem = name_problem(written)
    if problem and problem.is_refused:
        message = problem.message.replace("the name", "the kind", 1)
        fields.error("kind", problem.code, message, "write it in letters of one script")
    elif kind not in CAPABILITY_KINDS:
        from difflib import get_close_matches

        near = get_close_matches(kind, sorted(CAPABILITY_KINDS), n=1, cutoff=0.75)
        hint = f"did you mean {near[0]}?" if near else "leave it if it is meant"
        fields.warn("kind", UNKNOWN_KIND, f"the kind {kind} is the author's own", hint)
    elif kind != written.lower():
        message = f"the kind {written[:64]!r} is read as {kind}"
        fields.warn("kind", "field-value", message, "write one word")
    return kind


def _read_name(fields: Fields, file: FoundFile, body: str, identity: str) -> str:
    """The name as written, else what can take its place."""
    has_name = fields.has_text("name")
    substitute = "" if has_name else _find_name(fields, file, body, identity)
    written = fields.required_text("name", "add a line name: ...", substitute)
    problem = name_problem(written) if has_name else None
    if problem and problem.is_refused:
        fields.error("name", problem.code, problem.message, "use letters of one script")
    elif problem and not usable_name(written):
        fields.error("name", problem.code, problem.message, "use letters, digits and - _ . /")
    # Data sets and servers name functions as their languages do: `find(x, y)`.
    elif problem and (problem.is_harmful or file.format == "capability"):
        read_as = usable_name(written)
        message = problem.message
        if read_as != clean_name(written):
            message += f"; its id has {read_as[:MAX_NAME]!r}"
        fields.warn("name", problem.code, message, "use letters, digits and - _ . /")
    elif len(clean_name(written)) > MAX_NAME:
        message = f"the name has more than {MAX_NAME} characters"
        fields.warn("name", "name-too-long", message, "shorten it")
    return written


def _find_name(fields: Fields, file: FoundFile, body: str, identity: str) -> str:
    """The title, the id without its kind, the first words of a text, or the folder of a manifest;
    "" where there is none of them, or where no field says that this is a capability.
    """
    is_manifest = file.format == "capability"
    known_fields = {field for field in fields.entries if fields.value(field) is not None}
    if not known_fields & _TELLING_FIELDS and not (is_manifest and known_fields):
        return ""
    declared_id = identity or fields.quiet_text("id")
    local_id = declared_id.partition(":")[2] or declared_id
    candidates = (
        fields.quiet_text("title"),
        local_id if _WORD.search(local_id) else "",
        short_name(fields.quiet_text("description") or find_lead(body)),
        local_id,
        folder_of(file) if is_manifest else "",
    )
    return next((candidate for candidate in candidates if usable_name(candidate)), "")


def _read_id(fields: Fields, kind: str, name: str) -> tuple[str, str]:
    """The id, which begins with the kind, and the id as written if that is another one."""
    written = fields.text("id")
    if not written or (_ID.fullmatch(written) and written.startswith(f"{kind}:")):
        return written or f"{kind}:{name}", ""
    first, colon, end = written.partition(":")
    plain = end if colon and read_kind(first) in {kind, *CAPABILITY_KINDS} else written
    local_part = " ".join(_NOT_IN_ID.sub(" ", one_line(plain)).split()).strip("./@+-: ") or name
    identity = _fit_id(f"{kind}:{local_part}", written)
    message = f"the id is not of the form kind:name; read as {identity[:MAX_NAME]}"
    hint = f"leave it out, or write {kind}:..."
    if colon:
        hint += f"; to add to {written[:MAX_NAME]}, write overlay instead of id"
    fields.warn("id", "field-value", message, hint)
    return identity, written


def typeable_id(written: str) -> str:
    """The id of a line as it can be printed and typed: as written, or without what prevents that;
    "" where nothing is left.

    >>> typeable_id("PDF&URL"), typeable_id("--all"), typeable_id("<b>")
    ('PDF&URL', 'all', 'b')
    """
    if _TYPEABLE_ID.fullmatch(written) and written.isprintable() and written == one_line(written):
        return written
    text = one_line(_NOT_TYPEABLE.sub(" ", written))
    start = re.search(r"\w", text)
    return _fit_id(text[start.start() :], written) if start else ""


def _fit_id(identity: str, written: str) -> str:
    """The id, cut and with a digest at its end if it is too long."""
    if len(identity) <= MAX_ID:
        return identity
    return f"{identity[: MAX_ID - MAX_NAME]}{safe_name(written)[-9:].replace(' ', '-')}"


def _read_description(fields: Fields, body: str, name: str) -> str:
    """The description; where there is none, the beginning of the body, else the name in words.
    Of a very long one, the beginning.
    """
    if not name:  # an error says that nothing can find it
        return fields.quiet_text("description")
    hint = "add a line description: what it does and when to use it"
    substitute = ""
    if not fields.has_text("description"):
        substitute = find_lead(body) or name_in_words(fields.quiet_text("title") or name)
    text = fields.required_text("description", hint, substitute)
    return clip_description(fields, text, "field-too-long", "skillContent")


def find_lead(body: str) -> str:
    """The first paragraph of a text on one line, without headings, lists of links and code; at
    most LEAD_CHARACTERS.

    >>> find_lead("# Crane\\n\\nFolds a crane\\nof paper.\\n\\nThen another.")
    'Folds a crane of paper.'
    """
    for paragraph in re.split(r"\n\s*\n", body[:8_192].replace(os.linesep, "\n")):
        lines = [
            line for line in paragraph.strip().split("\n") if not _NO_LEAD.match(line.strip())
        ]
        if lead := one_line(" ".join(lines), LEAD_CHARACTERS):
            return lead
    return ""
