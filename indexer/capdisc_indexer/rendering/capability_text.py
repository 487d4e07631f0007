"""The texts of a capability that all formats share: in full, and on one line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence, Set

from capdisc_indexer.graph import find_skill_requirements
from capdisc_indexer.model.frozen import replace
from capdisc_indexer.model.json_types import JsonSchema
from capdisc_indexer.model.records import UNCATEGORISED
from capdisc_indexer.model.types import Descriptor
from capdisc_indexer.text.normalization import (
    compile_late,
    end_sentence,
    one_line,
    strip_controls,
)

MAX_SCHEMA_DEPTH = 6
_SHOWN_FILES = 20
_SENTENCE_END = compile_late(r"(?<=[.!?;。！？])\s+|\s*\n")
_WORD = compile_late(r"\w+")
# A line in full has so much.
DESCRIPTION_CHARACTERS, SHOWN_PARAMETERS = 240, 3
# A shorter line has the first sentence, and the shortest that still tells something the words that
# it begins with: eight say what a capability does. Over seven judged sets a list of such lines
# tells 83 in a hundred of the needed ones in 150 tokens, one of sentences of 110 characters 80.
SENTENCE_CHARACTERS, BRIEF_WORDS, BRIEF_CHARACTERS = 110, 8, 80
# So many sentences of a description can lend their first words to the line, as the request has it.
_BRIEF_SENTENCES, _LATER_CHARACTERS, _MIN_COMMON_WORDS = 4, 8 * SENTENCE_CHARACTERS, 2
# How descriptions announce what they are for. One in six of 2,038 public skills begins so.
_USER_ASKS = (
    r"(?:when(?:ever)?|for|if) (?:the|a|your) users?"
    r"(?: (?:asks?|wants?|needs?|says?|requests?|mentions?)"
    r"(?: (?:to|for|about|you to|help with))?)?:? "
)
_ANNOUNCEMENT = compile_late(
    r"(?i)^(?:(?:this (?:skill|tool|agent) (?:should|must|can) be (?:used|invoked|triggered)"
    rf"|(?:use|invoke|activate)(?: this(?: skill| tool| agent)?| it)?) (?:{_USER_ASKS}|(?=when|for |if ))"
    rf"|{_USER_ASKS})"
)
_ENDING = compile_late(r"(?<=....)(?:ing|ed|es|s|e)$")
# Words that say nothing about what is asked for; of English, as most descriptions are.
_FILLERS = frozenset(
    "a an and are as be by can do for from how i in is it me my of on or that the "
    "this to use user when with you your".split()
)
_ID_CHARACTERS = 100
ASK_NOTE = "Ask before use."
STALE_NOTE = "the file is broken now; this is its last good version"


def reference_text(descriptor: Descriptor) -> str:
    """Everything about the capability, for a reader who has nothing else of it: title, kind and id
    before the text in full.
    """
    d = descriptor
    text = detail_text(replace(d, title=""))
    return f"# {one_line(d.title or d.name)}\nKind: {d.kind} | Id: {one_line(d.id)}\n\n{text}"


def detail_text(descriptor: Descriptor) -> str:
    """The text of the capability in full, without its id: fields first, then schema, then
    instructions. Its headings divide it into the sections that an excerpt chooses from.
    """
    d = descriptor
    lines = [fields_text(d)]
    if d.schema:
        lines += ["", "## Input Schema", *_format_properties(d.schema, 1)]
    elif d.parameters:
        lines += [
            "",
            "## Columns" if d.kind == "table" else "## Parameters",
            *(
                f"  {one_line(p.name, 80)} ({one_line(p.type, 80)}): {one_line(p.description)}"
                for p in d.parameters
            ),
        ]
    if d.output_schema:
        lines += ["", "## Output Schema", *_format_properties(d.output_schema, 1)]
    for heading, text in (
        ("Guidance", d.guidance),
        ("Instructions", d.instructions),
        ("Content", d.content),
    ):
        if text.strip():
            body = strip_controls(text).strip()
            # Most texts of skills begin with a heading of their own.
            has_heading = heading == "Content" and body.startswith("#")
            lines += ["", *([] if has_heading else [f"## {_section_heading(d, heading)}"]), body]
    joined = "\n".join(lines).strip() + "\n"
    # No token may join it with the line before it (see `render_format`).
    return f" {joined}" if joined.startswith("/") else joined


def fields_text(descriptor: Descriptor) -> str:
    """What a text in full begins with: title, description, and the short fields. The title stands
    there where the name does not say it already.
    """
    d = descriptor
    title, description = one_line(d.title), strip_controls(d.description).strip()
    repeats = (d.name, description[: len(title)], d.content.lstrip("# \n")[: len(title)])
    is_new = title and _letters(title) not in map(_letters, repeats)
    lines = [*([f"Title: {title}"] if is_new else []), description, *_format_labels(d)]
    return "\n".join(lines).strip()


def required_by(descriptor: Descriptor) -> tuple[str, ...]:
    """What the capability requires, as its author wrote it: the names of `requires`, of typed
    edges and of a skill's `dependencies`, each once.
    """
    edges = (edge.target for edge in descriptor.edges if edge.kind == "REQUIRES")
    dependencies = (
        need["target"]
        for need in find_skill_requirements(descriptor.extra)
        if need["why"] == "dependencies"
    )
    return tuple(dict.fromkeys((*descriptor.requires, *edges, *dependencies)))


def _letters(text: str) -> str:
    return "".join(character for character in text.casefold() if character.isalnum())


def _section_heading(d: Descriptor, heading: str) -> str:
    if heading != "Content":
        return heading
    return "Text" if d.kind in {"document", "section"} else "Skill Instructions"


def guidance_id(category: str) -> str:
    """The id of a category's guidance in a context; no capability is of that kind."""
    return f"guidance:{category}"


def guidance_text(text: str) -> str:
    """The guidance of a category as it is printed in its frame."""
    return strip_controls(text).strip() + "\n"


def _format_labels(d: Descriptor) -> list[str]:
    risk = ", ".join(
        part
        for part in (
            d.risk,
            "has side effects" if d.has_side_effects else "",
            "ask before use" if d.confirm else "",
        )
        if part
    )
    fields: list[tuple[str, object]] = [
        ("Stale", STALE_NOTE if d.stale else ""),
        ("Category", one_line(d.category) if d.category != UNCATEGORISED else ""),
        ("When to use", one_line(d.usage_hint)),
        ("Not for", d.not_for),
        ("Requires", required_by(d)),
        ("Required secrets", d.secrets),
        ("Required programs", d.bins),
        ("Required system", " or ".join(d.systems)),
        ("To install", d.extra.get("install_hint")),
        ("Used together with", d.composed_with),
        ("Related", d.related),
        ("Risk", risk),
        ("Tags", d.tags),
        ("Allowed tools", d.extra.get("allowed-tools")),
        *_origin_labels(d),
    ]
    lines = [f"{label}: {_join_values(value)}" for label, value in fields if value]
    return ["", *lines] if lines else []


def _origin_labels(d: Descriptor) -> list[tuple[str, object]]:
    """Which MCP server a skill is of, and its other files there, so that nobody takes it for one
    of this machine.
    """
    is_of_server = d.kind == "skill" and d.source.format in ("mcp", "mcp-servers")
    if not is_of_server or "uri" not in d.extra:
        return []
    files = [str(name) for name in d.extra.get("files", ())]
    rest = [f"and {len(files) - _SHOWN_FILES} more"] if len(files) > _SHOWN_FILES else []
    place = f"the MCP server {d.extra.get('server')}, {d.extra['uri']}"
    return [("Served by", place), ("Its other files there", files[:_SHOWN_FILES] + rest)]


def _join_values(value: object) -> str:
    return (
        ", ".join(one_line(str(entry)) for entry in value)
        if isinstance(value, (tuple, list))
        else one_line(str(value))
    )


def _format_properties(schema: JsonSchema, depth: int) -> list[str]:
    """A line for each property: name (type, required): text [a|b] (default: v); nested objects are
    indented.
    """
    properties = schema.get("properties")
    if depth > MAX_SCHEMA_DEPTH or not isinstance(properties, Mapping):
        return [] if depth > 1 else [f"  {_format_type(schema)}"]
    required = schema.get("required") if isinstance(schema.get("required"), (list, tuple)) else ()
    lines = []
    for name, value in properties.items():
        property_schema = value if isinstance(value, Mapping) else {}
        lines.append(
            "  " * depth + _format_property(str(name), property_schema, name in (required or ()))
        )
        is_array = _format_type(property_schema).startswith("array")
        inner = property_schema.get("items") if is_array else property_schema
        if isinstance(inner, Mapping) and inner.get("properties"):
            lines += _format_properties(inner, depth + 1)
    return lines


def _format_property(name: str, schema: JsonSchema, required: bool) -> str:
    text = f"{one_line(name, 80)} ({_format_type(schema)}{', required' if required else ''})"
    if schema.get("description"):
        text += f": {one_line(str(schema['description']), 300)}"
    if isinstance(schema.get("enum"), (list, tuple)):
        text += f" [{'|'.join(one_line(str(choice), 40) for choice in schema['enum'][:20])}]"
    if "default" in schema:
        text += f" (default: {one_line(json.dumps(schema['default'], ensure_ascii=False), 80)})"
    return text


def _format_type(schema: JsonSchema) -> str:
    kind = schema.get("type")
    for union in ("anyOf", "oneOf"):
        if kind is None and isinstance(schema.get(union), (list, tuple)):
            return "|".join(
                dict.fromkeys(
                    _format_type(variant)
                    for variant in schema[union]
                    if isinstance(variant, Mapping)
                )
            )
    if isinstance(kind, (list, tuple)):
        return "|".join(one_line(str(type_name), 20) for type_name in kind)
    if kind == "array":
        return (
            f"array<{_format_type(schema['items'])}>"
            if isinstance(schema.get("items"), Mapping)
            else "array"
        )
    return one_line(str(kind), 20) if kind else ("object" if schema.get("properties") else "any")


# A capability on one line: in full, then shorter and shorter.


def summary_line(descriptor: Descriptor, note: str = "", hint: bool = False) -> str:
    """The capability on one line: id, description, first parameters, what it requires, and at last
    `note`.

    No field can break the line, and each has a maximum length.
    """
    d = descriptor
    parts = [f"{name_line(d)}: {end_sentence(one_line(d.description, DESCRIPTION_CHARACTERS))}"]
    if d.parameters and d.kind != "table":  # whose description names its columns
        names = [one_line(p.name, 40) for p in d.parameters[:SHOWN_PARAMETERS]]
        parts.append(
            f"Params: {', '.join(names)}{', …' if len(d.parameters) > SHOWN_PARAMETERS else ''}."
        )
    if needs := required_by(d):
        parts.append(f"Requires: {', '.join(one_line(name, 60) for name in needs[:5])}.")
    if hint and d.usage_hint:
        parts.append(f"Hint: {end_sentence(one_line(d.usage_hint, SENTENCE_CHARACTERS))}")
    return _append_notes(" ".join(parts), d, note)


def shorter_lines(
    descriptor: Descriptor, note: str = "", words: Set[str] = frozenset()
) -> list[str]:
    """The line with the first sentence of the description, and with its first words. Where these
    have none of the request's words and a later sentence has several, one line with the first
    words of that sentence. What needs consent says so even there.
    """
    if later := _find_later_text(descriptor.description, words):
        return [_short_line(descriptor, later, note)]
    texts = (_first_purpose(descriptor.description), brief_description(descriptor.description))
    return [_short_line(descriptor, text, note) for text in texts]


def later_lines(descriptor: Descriptor, note: str = "") -> list[str]:
    """The lines that `shorter_lines` makes of later sentences, for whatever request."""
    return [_short_line(descriptor, text, note) for text in _later_texts(descriptor.description)]


def may_have_later_line(description: str, words: Set[str]) -> bool:
    """Whether the description has enough of the request's words for a line of a later sentence.
    Most have not, which is found out in a tenth of the time.
    """
    folded = description[:_LATER_CHARACTERS].casefold()
    return sum(word.rstrip() in folded for word in words) >= _MIN_COMMON_WORDS


def _find_later_text(description: str, words: Set[str]) -> str:
    if not may_have_later_line(description, words):
        return ""
    first = brief_description(description)
    if not first.endswith("…"):  # a short sentence says what the capability does in fewest tokens
        return ""
    best = _choose_text([first, *_later_texts(description)], words)
    return "" if best == first else best


def _later_texts(description: str) -> list[str]:
    """The first words of what follows the first sentence, the second, and so on."""
    sentences = _split_sentences(description)
    places = range(1, min(len(sentences), _BRIEF_SENTENCES))
    texts = [_cut_words(" ".join(sentences[place:])) for place in places]
    return [text for text in texts if text.count(" ") >= BRIEF_WORDS - 1]


def _split_sentences(description: str) -> list[str]:
    """The first sentences of the description, the last with what follows it."""
    beginning = description.lstrip()[:_LATER_CHARACTERS]
    return [text for text in _SENTENCE_END.split(beginning, maxsplit=_BRIEF_SENTENCES) if text]


def _cut_words(sentence: str) -> str:
    words = _ANNOUNCEMENT.sub("", sentence).split(None, BRIEF_WORDS)
    text = " ".join(words[:BRIEF_WORDS])
    text = f"{text.rstrip(',;:.')}…" if len(words) > BRIEF_WORDS else text
    return one_line(text, SENTENCE_CHARACTERS)


def _short_line(descriptor: Descriptor, text: str, note: str) -> str:
    sentence = end_sentence(text.rstrip(" ;,:"))
    return _append_notes(f"{name_line(descriptor)}: {sentence}", descriptor, note)


def request_words(texts: Iterable[str]) -> Set[str]:
    """The words of a request as they are looked for in descriptions: a short one with the blank
    behind it, a longer one without the ending of a plural or tense.
    """
    words = {word for text in texts for word in _WORD.findall(text.casefold())} - _FILLERS
    return {_ENDING.sub("", word) if len(word) > 4 else f"{word} " for word in words}


def fitting_text(description: str, words: Set[str], characters: int) -> str:
    """The description in at most this many characters: from its beginning or, where that has none
    of the request's words and a later sentence has several, from that sentence on.
    """
    beginning = one_line(_ANNOUNCEMENT.sub("", description.lstrip()), characters)
    sentences = _split_sentences(description)
    rests = [one_line(" ".join(sentences[place:]), characters) for place in range(len(sentences))]
    best = _choose_text([beginning, *rests[1:]], words)
    return best if best == beginning else one_line(f"… {best}", characters)


def _choose_text(texts: Sequence[str], words: Set[str]) -> str:
    """The first text, which says what the capability does; where it has none of these words, the
    one that has most of them, if it has several.
    """
    counts = [_count_common(text, words) for text in texts]
    best = max(counts)
    return texts[counts.index(best)] if not counts[0] and best >= _MIN_COMMON_WORDS else texts[0]


def _count_common(text: str, words: Set[str]) -> int:
    plain = f" {' '.join(_WORD.findall(text.casefold()))} "
    return sum(f" {word}" in plain for word in words)


def brief_description(description: str) -> str:
    """The first words of the description, or its first sentence where that is shorter; without the
    words that only say that something follows.

    >>> brief_description("Joins PDF files. Use it for reports.")
    'Joins PDF files.'
    >>> brief_description("Reads the entries of one or more calendars between two dates.")
    'Reads the entries of one or more calendars…'
    >>> brief_description("Use when the user asks to plan a trip by train through several countries.")
    'plan a trip by train through several countries.'
    """
    sentence = _first_purpose(description)
    words, count = sentence.split(" "), 0
    for place, word in enumerate(words[:-1], 1):
        count += len(_WORD.findall(word))
        if count >= BRIEF_WORDS:
            sentence = f"{' '.join(words[:place]).rstrip(',;:.')}…"
            break
    return one_line(sentence, BRIEF_CHARACTERS)


def _first_purpose(description: str) -> str:
    """The first sentence without the words that only say that something follows."""
    beginning = description.lstrip()
    sentence = first_sentence(_ANNOUNCEMENT.sub("", beginning))
    # A few words alone would not say what it is for.
    return sentence if sentence.count(" ") >= BRIEF_WORDS - 1 else first_sentence(beginning)


def first_sentence(description: str) -> str:
    """The first sentence of the description, cut on a word where it is long."""
    beginning = description.lstrip()[: 4 * SENTENCE_CHARACTERS]
    return one_line(_SENTENCE_END.split(beginning, maxsplit=1)[0], SENTENCE_CHARACTERS)


def shortest_line(descriptor: Descriptor) -> str:
    """The id, and whether it needs consent."""
    identifier = name_line(descriptor)
    return f"{identifier}: {ASK_NOTE}" if descriptor.confirm else identifier


def shorter_descriptions(descriptor: Descriptor) -> Sequence[Descriptor]:
    """The capability with shorter descriptions, for a format without lines."""
    return [
        replace(descriptor, description=one_line(descriptor.description, limit))
        for limit in (SENTENCE_CHARACTERS, BRIEF_CHARACTERS)
    ]


def pointer_line(descriptor: Descriptor, note: str = "") -> str:
    """The line of a capability whose text stands further down."""
    return _append_notes(f"{name_line(descriptor)}: see below.", descriptor, note)


def availability_note(
    names: Sequence[str], is_available: bool = True, warnings: Sequence[str] = ()
) -> str:
    """The note on a capability that its author switched off, that lacks these secrets or programs
    here, or that its reader should know these rules about.
    """
    parts = [] if is_available else ["not available"]
    parts += [f"missing: {', '.join(one_line(name, 60) for name in names)}"] if names else []
    parts += [f"review before use: {', '.join(warnings)}"] if warnings else []
    return f"[{'; '.join(parts)}]" if parts else ""


def name_line(descriptor: Descriptor) -> str:
    """The id alone."""
    return one_line(descriptor.id, _ID_CHARACTERS)


def _append_notes(line: str, d: Descriptor, note: str) -> str:
    return " ".join(part for part in (line, ASK_NOTE if d.confirm else "", note) if part)
