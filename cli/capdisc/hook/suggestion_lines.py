"""How is a suggestion put into words: a line for each capability, in the length that the budget
allows, and with `--detail` the part of its text that fits best?

The texts of capabilities are other people's. Each stays on its line, without characters that steer
or hide and without markup that could end the frame in which a client puts it.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from operator import mul
from pathlib import Path

from capdisc.context import open_index
from capdisc.context.client_places import find_plugins_here
from capdisc.context.surroundings import Runtime
from capdisc.hook.answer import HEADING, Limits, Suggestion, Suggestions
from capdisc_indexer import encoders
from capdisc_indexer.config.client_table import (
    client_sections,
    conventional_roots,
    settings_folders,
)
from capdisc_indexer.config.settings_reader import parse_json, read_text
from capdisc_indexer.model.errors import EncoderError
from capdisc_indexer.model.frozen import replace
from capdisc_indexer.model.json_types import CapabilityHeader
from capdisc_indexer.platforms import system
from capdisc_indexer.text.location import locate_file
from capdisc_indexer.text.normalization import (
    end_sentence,
    one_line,
    simple_words,
    strip_controls,
)

SPEAK, SHADOW = MODES = ("speak", "shadow")
# Characters of the reasons: the longest with which all capabilities fit.
_REASON_LENGTHS = (50, 0)
# How much less the beginning of a text may fit than a later part, as a difference of cosines.
_FIRST_LEAD = 0.12
# A part that is shorter says too little by itself ("Use when asked").
_MIN_REASON_CHARACTERS = 24
# A comma ends a part only where the part would be too long with what follows.
_SENTENCE_END = re.compile(r"(?<=[.!?;。！？；])\s+|\s+[—–]\s+|\s*\n+\s*")
_CLAUSE_END = re.compile(r"(?<=[,:])\s+")
# The marks of a list, a heading, a quotation or a table at the begin of a line, and what makes
# words bold or code: a reason is plain text.
_MARKUP = re.compile(
    r"^[ \t]*(?:(?:[-*+•>|]|\d{1,2}[.)]|#{1,6})[ \t]+)+|[ \t]*\|[ \t]*$|\*\*|`", re.MULTILINE
)
_LIST_ITEM = re.compile(r"(?<=[^\s.!?;:,])[ \t]*\n\s*(?:[-*+•]|\d{1,2}[.)])[ \t]+")
# A part that stands alone does not begin with the word that joined it, nor end with such a mark.
_CONJUNCTION = re.compile(r"^(?:and|or|und|oder|et|ou|y|o|e|и|или)\s+", re.IGNORECASE)
_LOOSE_ENDS = " ,:;-–—|/"
# What reads as a tag of markup to a model, in the frames of clients as well.
_TAG = re.compile(r"</?[A-Za-z][^<>]{0,200}>")
_CLIENT_FRAME = re.compile(r"<(?=/?(?:system|user|hook|assistant|human|developer)[-_]?\w*>)", re.I)
# Of a section this much is compared with the prompt: encoding takes 30 µs a word.
_COMPARED_CHARACTERS = 400
_MAX_SECTIONS = 40

# From the text of a prompt to how well each text fits it: higher is better.
Scorer = Callable[[str, Sequence[str]], list[float]]
# A client's tool refuses a skill in any other state.
_LOADED_STATES = (None, "on", "name-only")


def fit_budget(
    ctx: open_index.CommandContext,
    prompt: str,
    headers: Sequence[CapabilityHeader],
    limits: Limits,
) -> Suggestions:
    """The suggestions of as many capabilities as fit, with reasons as long as that allows."""
    score, tokenizer = choose_scorer(), ctx.config["tokenizer"]
    tool_names = find_tool_names(ctx.runtime, limits.client, headers)
    ways = [_format_way(ctx, header, tool_names) for header in headers]
    lines = [
        [_format_line(ctx, header, prompt, score, length, way) for length in _REASON_LENGTHS]
        for header, way in zip(headers, ways, strict=True)
    ]
    heading, *counts = _count_texts(tokenizer, [HEADING, *(line for row in lines for line in row)])
    width = len(_REASON_LENGTHS)
    sizes = [counts[start : start + width] for start in range(0, len(counts), width)]
    number, length = _choose_length(heading, sizes, limits.budget_tokens)
    if not number:
        return Suggestions(reason=f"nothing fits into {limits.budget_tokens} tokens")
    items = [
        Suggestion(
            id=header["id"],
            name=clean_text(header["name"], 80),
            line=lines[position][length],
            tokens=sizes[position][length],
            digest=_digest(header),
        )
        for position, header in enumerate(headers[:number])
    ]
    if limits.detail:
        tokens_left = limits.budget_tokens - heading - sum(item.tokens for item in items)
        items = [
            _add_detail(ctx, item, header, prompt, score, tokens_left, way)
            for item, header, way in zip(items, headers, ways, strict=False)
        ]
    return Suggestions(
        items=tuple(items),
        is_shown=ctx.config["hook.show"],
        is_shadow=_is_shadow(ctx.config["hook.mode"]),
    )


def _is_shadow(mode: str) -> bool:
    """Whether answers are counted and not printed. Raises UsageError for an unknown mode."""
    if mode not in MODES:
        from capdisc_indexer.text.similar_names import unknown_choice

        raise unknown_choice("hook.mode", mode, MODES)
    return mode == SHADOW


def _digest(header: CapabilityHeader) -> str:
    """A digest that changes with the capability, and not with the prompt."""
    content = f"{header['description']}\0{header['source']['content_hash']}"
    return hashlib.sha256(content.encode("utf-8", "replace")).hexdigest()[:16]


def _add_detail(
    ctx: open_index.CommandContext,
    item: Suggestion,
    header: CapabilityHeader,
    prompt: str,
    score: Scorer,
    tokens_left: int,
    way: str,
) -> Suggestion:
    """The suggestion with the section of its text that fits the prompt best, of those that fit
    whole into the tokens; as it is where none does, or it has no text.
    """
    from capdisc.render.frame_key import frame_key
    from capdisc_indexer.rendering.formats import FORMATS
    from capdisc_indexer.rendering.formats.text import with_mark_key
    from capdisc_indexer.text.token_counts import find_tokenizer, make_counter

    descriptor = ctx.index.full_descriptor(header)
    body = _CLIENT_FRAME.sub("‹", strip_controls(descriptor.content or descriptor.instructions))
    form = with_mark_key(FORMATS["text"], lambda: frame_key(ctx.runtime.user_state_dir()))
    counter = make_counter(find_tokenizer(ctx.config["tokenizer"]))
    for name, text in _rank_sections(body, prompt, score):
        place = f'section "{name}"' if name else "text"
        detail = (
            f"The {place} of {clean_text(header['name'], 80)} ({way}):\n"
            f"{form.frame_open(item.id, text)}{text}{form.frame_close(item.id, text)}"
        )
        if (tokens := counter.count(detail)) <= tokens_left:
            return replace(item, detail=detail, detail_tokens=tokens)
    return item


def _rank_sections(body: str, prompt: str, score: Scorer) -> Iterator[tuple[str, str]]:
    """The whole body, whose name is "", then its sections, each with its heading, those first that
    fit the prompt best.
    """
    from capdisc_indexer.text.sections import split_sections

    if not body.strip():
        return
    yield "", f"{body.strip()}\n"
    sections = [section for section in split_sections(body) if section.level][:_MAX_SECTIONS]
    texts = [body[section.start : section.end].strip() for section in sections]
    scores = score(prompt, [text[:_COMPARED_CHARACTERS] for text in texts])
    for position in sorted(range(len(texts)), key=lambda position: -scores[position]):
        yield clean_text(sections[position].heading, 80), f"{texts[position]}\n"


def _format_line(
    ctx: open_index.CommandContext,
    header: CapabilityHeader,
    prompt: str,
    score: Scorer,
    length: int,
    way: str,
) -> str:
    """`- NAME (KIND): why it fits. Read PATH`; without the reason for the length 0."""
    kind = "" if header["kind"] == "skill" else f" ({clean_text(header['kind'], 30)})"
    reason = select_reason(prompt, header["description"], score, length) if length else ""
    lacking = open_index.missing_requirements(ctx.runtime, header)
    notes = ["Ask before use."] if header.get("confirm") else []
    notes += [] if header.get("available", True) else ["[not available]"]
    notes += [f"[missing here: {clean_text(', '.join(lacking), 60)}]"] if lacking else []
    parts = (end_sentence(reason), way, *notes)
    text = " ".join(part for part in parts if part)
    return f"- {clean_text(header['name'], 80)}{kind}: {text}\n"


def _format_way(
    ctx: open_index.CommandContext, header: CapabilityHeader, tool_names: Mapping[str, str]
) -> str:
    """How the model gets the whole capability: by the client's tool that loads skills, else `Read`
    with the path of its file, or `Run` with the command that prints it, where the file holds
    several.
    """
    path = header["source"]["path"]
    if name := tool_names.get(header["id"]):
        return f"Use the skill {clean_text(name, 160)}"
    if header["source"]["pointer"] or not Path(path).is_file():
        return f"Run: capdisc show {system.quote_word(clean_text(header['id'], 200))}"
    # Relative only to the folder of the prompt itself, from which a relative path can be opened.
    return f"Read {one_line(locate_file(path, ctx.runtime.cwd))}"


def select_reason(prompt: str, description: str, score: Scorer, length: int) -> str:
    """The part of a description that fits the prompt best, in at most `length` characters: mostly
    its first sentence, which says what the capability does. Where it has no sentence, the line or
    the clauses that fit best, without the marks of a list or of emphasis.
    """
    lines = clean_text(description, 0, keep_lines=True)
    plain = _MARKUP.sub("", _LIST_ITEM.sub("; ", lines.strip()))
    sentences = _split_text(plain, _SENTENCE_END)
    sentence = _select_best(prompt, sentences, score)
    if len(sentence) > length:
        runs = _join_clauses(sentence, length)
        run = _select_best(prompt, [one_line(sentence, length), *runs], score)
        is_first = sentence.startswith(run.rstrip("…"))
        sentence = run if is_first else f"… {_CONJUNCTION.sub('', run)}"
    return one_line(sentence, length).rstrip(_LOOSE_ENDS)


def _select_best(prompt: str, texts: Sequence[str], score: Scorer) -> str:
    """The text with the highest score, or the first one where that is hardly lower; "" of none."""
    if len(texts) < 2:
        return "".join(texts)
    scores = score(prompt, texts)
    best = max(scores)
    return texts[0 if scores[0] >= best - _FIRST_LEAD else scores.index(best)]


def _split_text(text: str, ends: re.Pattern[str]) -> list[str]:
    """The parts of the text; one too short to say anything is joined to the one before."""
    parts: list[str] = []
    for part in filter(None, map(str.strip, ends.split(text))):
        if parts and min(len(part), len(parts[-1])) < _MIN_REASON_CHARACTERS:
            parts[-1] = f"{parts[-1]} {part}"
        else:
            parts.append(part)
    return parts


def _join_clauses(sentence: str, length: int) -> list[str]:
    """Runs of the sentence's clauses, each at most `length` long; none begins in brackets."""
    runs: list[str] = []
    clauses, depth = _split_text(sentence, _CLAUSE_END), 0
    for start in range(len(clauses)):
        is_within, depth = depth > 0, depth + clauses[start].count("(") - clauses[start].count(")")
        if is_within:
            continue
        run = clauses[start]
        for clause in clauses[start + 1 :]:
            if len(run) + 1 + len(clause) > length:
                break
            run = f"{run} {clause}"
        runs.append(run)
    return runs


def clean_text(text: str, length: int, keep_lines: bool = False) -> str:
    """Another's text on one line (or on its lines, for a split) without tags."""
    plain = _TAG.sub(" ", text)
    return plain if keep_lines else one_line(plain, length)


def choose_scorer() -> Scorer:
    """How texts are compared with a prompt: by the shipped encoder, which knows other languages,
    or without it by common words.
    """
    try:
        encode = encoders.load_shipped_encoder().encode_query
    except EncoderError:
        return score_by_words

    @cache  # the same sentences are compared for each length of a line
    def encode_text(text: str) -> list[float]:
        return _unit_vector(encode(text))

    def score_by_vectors(prompt: str, texts: Sequence[str]) -> list[float]:
        return [sum(map(mul, encode_text(prompt), encode_text(text))) for text in texts]

    return score_by_vectors


def _unit_vector(encoded: bytes) -> list[float]:
    values = memoryview(encoded).cast("b").tolist()
    length = math.hypot(*values) or 1.0
    return [value / length for value in values]


def score_by_words(prompt: str, texts: Sequence[str]) -> list[float]:
    """For each text, the share of the prompt's words that it has."""
    words = set(simple_words(prompt))
    return [len(words & set(simple_words(text))) / max(len(words), 1) for text in texts]


def _count_texts(tokenizer: str, texts: Sequence[str]) -> list[int]:
    """The tokens of each text. Raises UsageError for an unknown tokenizer."""
    from capdisc_indexer.text.token_counts import find_tokenizer, make_counter

    counter = make_counter(find_tokenizer(tokenizer))
    return [counter.count(text) for text in texts]


def _choose_length(heading: int, sizes: Sequence[Sequence[int]], budget: int) -> tuple[int, int]:
    """How many lines fit into the budget, and the position of their length, the longest first: as
    many lines as possible, then the longest that all of them can have. `sizes[line][length]` are
    tokens. (0, 0) where not even one line fits.

    >>> _choose_length(10, [[20, 12], [20, 12]], 40)
    (2, 1)
    """
    for number in range(len(sizes), 0, -1):
        for length in range(len(sizes[0])):
            if heading + sum(line[length] for line in sizes[:number]) <= budget:
                return number, length
    return 0, 0


# By which name does a client's own tool load a skill that the client lists itself?
# What this tool loads is counted by the client, which also acts on the skill's fields. A skill
# that lies elsewhere, or that its user has switched off in the client, is read by its path.


def find_tool_names(
    runtime: Runtime, client: str, headers: Sequence[CapabilityHeader]
) -> Mapping[str, str]:
    """By id, what the client's tool calls those of the capabilities that it loads."""
    if "skills" not in client_sections("uses").get(client, {}):
        return {}
    places = (client, runtime.cwd, runtime.workspace, runtime.home)
    prefixes = {path: "" for _, path in conventional_roots(*places)}
    paths = {header["id"]: Path(header["source"]["path"]) for header in headers}
    if client == "claude" and any(path.parent.parent not in prefixes for path in paths.values()):
        for plugin in find_plugins_here(runtime, client)[0]:
            prefixes |= dict.fromkeys(plugin.skills, f"{plugin.name}:")
    is_named_by_folder = "names_by_folder" in client_sections("listing").get(client, {})
    names = {}
    for header in headers:
        path = paths[header["id"]]
        prefix = prefixes.get(path.parent.parent)
        name = path.parent.name if is_named_by_folder else header["name"]
        if path.name == "SKILL.md" and prefix is not None and _is_loaded(runtime, client, name):
            names[header["id"]] = prefix + name
    return names


def _is_loaded(runtime: Runtime, client: str, name: str) -> bool:
    """Whether no settings of the client keep the skill from its model."""
    section = client_sections("visibility").get(client, {"user": ()})
    folders = settings_folders(runtime.home, runtime.workspace, runtime.environ, runtime.system)
    for file in (*section["user"], *section.get("workspace", ())):
        with suppress(OSError, ValueError, AttributeError):
            states = parse_json(read_text(Path(file.format_map(folders)))).get(section["keys"][0])
            if isinstance(states, dict) and states.get(name) not in _LOADED_STATES:
                return False
            if isinstance(states, list) and name in states:
                return False
    return True
