"""The definition of a tool as it is compared, and as it is remembered: whole when it is short,
else by its traits.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Set
from itertools import islice
from typing import Any

from capdisc_guard.changes.exfiltration import parameters_of
from capdisc_guard.changes.orders import Order, orders, piece_digest, pieces
from capdisc_guard.injection_phrases import injection_findings
from capdisc_guard.masking import mask_keys
from capdisc_guard.placed_text import CapabilityText
from capdisc_indexer.model.errors import MALFORMED_DATA_ERRORS
from capdisc_indexer.model.frozen import field, fields, frozen

# Further pieces are not remembered, and count as new in the next version.
MAX_PIECES = 500
_FLAGS = ("has_side_effects", "is_destructive", "is_open", "confirms", "is_coarse")
# Of 10,000 tools of real servers, 99 in a hundred are shorter; the bodies of skills are mostly
# longer.
MAX_WHOLE = 4_096
_INJECTION = "injection-phrase"
_as_json = json.JSONEncoder(
    ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=str
).encode
# The fields of a record that an agent reads, or that decide how it is run. Not the category, which
# depends on the other tools of a list, and not what capdisc itself found out.
TOLD = tuple(
    """
    kind name title description tags phrases not_for requires composed_with related secrets bins systems risk
    has_side_effects confirm available hidden schema output_schema input_examples content usage_hint guidance
    instructions extract run extra
    """.split()
)
_TEXTS = ("title", "description", "usage_hint", "phrases", "tags")
_BODIES = ("content", "guidance", "instructions")
_SCHEMAS = ("schema", "output_schema")
_HOST = re.compile(r"^[a-z][a-z0-9+.-]*://[^/?#]*", re.IGNORECASE)
# Content rules that suggest bad intent, and not only the wish to be found. A comment is usual in a
# body of Markdown, and not in the description of a tool.
_RULES = frozenset(
    """
    bidi-control control-character encoded-payload html-comment impersonation injection-phrase
    markup-breakout padding remote-execution suspicious-url
    """.split()
)
_HARMLESS_IN_PROSE = frozenset({"html-comment"})

# A capability's record, header and body in one, as an index stores it.
Values = Mapping[str, Any]


@frozen(kw_only=True)
class ToolDefinition:
    """One definition, as it is compared. `start` is a digest of what is run (a program with its
    arguments, or a host), `parameters` are letters by path, `pieces` digests of the sentences of
    all texts, or where `is_coarse` of their paragraphs.
    """

    has_side_effects: bool = False
    is_destructive: bool = False
    is_open: bool = False
    confirms: bool = False
    is_coarse: bool = False
    risk: str = ""
    start: str = ""
    secrets: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    pieces: tuple[str, ...] = ()
    parameters: Mapping[str, str] = field(default_factory=dict)


def definition_of(values: Values, is_prose: bool, is_coarse: bool = False) -> ToolDefinition:
    """The traits of a capability's record. `is_prose` says that its body is a text for the model,
    as that of a skill.
    """
    annotations, schema = _annotations(values), values.get("schema")
    texts = texts_of(values, is_prose)
    all_pieces = (piece for text, _ in texts for piece in pieces(text, is_coarse))
    return ToolDefinition(
        has_side_effects=bool(values.get("has_side_effects")),
        is_destructive=annotations.get("destructiveHint") is True
        or values.get("risk") in ("high", "critical"),
        is_open=annotations.get("openWorldHint") is True,
        confirms=bool(values.get("confirm")),
        is_coarse=is_coarse,
        risk=str(values.get("risk", "")),
        start=_start_digest(values.get("run")),
        secrets=tuple(sorted({*values.get("secrets", ()), *_variable_names(values.get("run"))})),
        rules=_broken_rules(values, is_prose),
        pieces=tuple(dict.fromkeys(map(piece_digest, islice(all_pieces, MAX_PIECES)))),
        parameters=parameters_of(schema) if schema else {},
    )


def digest_definition(values: Values) -> str:
    """A digest of 32 hexadecimal digits over the fields TOLD of a record: equal for equal
    definitions.
    """
    return _digest(_told_json(values))


def _digest(definition_json: str) -> str:
    return hashlib.sha256(definition_json.encode("utf-8", "replace")).hexdigest()[:32]


def _told_json(values: Values) -> str:
    return _as_json({key: values[key] for key in TOLD if key in values})


def new_orders(before: ToolDefinition, values: Values, is_prose: bool) -> Iterator[Order]:
    """The orders in pieces of the texts that `before` did not have. When the content rule for
    orders has a warning, pieces in which that rule finds some count too.
    """
    known_digests = frozenset(before.pieces)
    for text, is_body in texts_of(values, is_prose):
        text_orders = list(orders(text, known_digests, is_body, before.is_coarse))
        if not text_orders and _INJECTION in values.get("warnings", ()):
            text_orders = list(_injection_orders(text, known_digests, is_body, before.is_coarse))
        yield from text_orders


def texts_of(values: Values, is_prose: bool) -> list[tuple[str, bool]]:
    """Every text that an agent may read, with whether it is the body of a skill. The texts in
    schemas and annotations are one text together, a paragraph each.
    """
    texts: list[tuple[str, bool]] = []
    for key in (*_TEXTS, *_BODIES):
        value = values.get(key)
        if value:
            is_body = is_prose and key in _BODIES
            texts += [(text, is_body) for text in ([value] if isinstance(value, str) else value)]
    words: list[str] = []
    for key in _SCHEMAS:
        _collect_strings(values.get(key), words)
    _collect_strings(_annotations(values), words)
    if words:
        texts.append(("\n\n".join(words), False))
    return texts


def remember_definition(values: Values, is_prose: bool) -> tuple[str, str]:
    """The digest of a capability's record, and the text to remember it by: an object with the
    fields TOLD and the warnings, or, where that would have more than MAX_WHOLE characters, a list
    of its traits.
    """
    text = _told_json(values)
    digest = _digest(text)
    if len(text) > MAX_WHOLE:
        definition = definition_of(values, is_prose, is_coarse=True)
        text = _as_json([getattr(definition, name) for name in fields(ToolDefinition)])
    elif values.get("warnings"):
        text = _as_json({**json.loads(text), "warnings": values["warnings"]})
    return digest, text


def recall_definition(text: str, is_prose: bool) -> tuple[ToolDefinition, Values] | None:
    """The definition in a text by `remember_definition`, with the record if that was short enough,
    else {}; None for any other text.
    """
    try:
        remembered = json.loads(text)
        if isinstance(remembered, dict):
            return definition_of(remembered, is_prose), remembered
        values = dict(zip(fields(ToolDefinition), remembered, strict=True))
        for name in ("secrets", "rules", "pieces"):
            values[name] = tuple(values[name])
        definition = ToolDefinition(**values)
        return (definition, {}) if _is_whole(definition) else None
    except MALFORMED_DATA_ERRORS:
        return None


def _is_whole(definition: ToolDefinition) -> bool:
    flags = [getattr(definition, name) for name in _FLAGS]
    words = [definition.risk, definition.start]
    words += [*definition.secrets, *definition.rules, *definition.pieces]
    if not isinstance(definition.parameters, dict):
        return False
    words += definition.parameters.values()
    return all(isinstance(flag, bool) for flag in flags) and all(
        isinstance(word, str) for word in words
    )


def _injection_orders(
    text: str, known_digests: Set[str], is_body: bool, is_coarse: bool
) -> Iterator[Order]:
    for piece in pieces(text, is_coarse):
        place = CapabilityText(
            value=piece, path="", line=1, field="" if is_body else "description"
        )
        is_new = piece_digest(piece) not in known_digests
        if is_new and any(finding.code == _INJECTION for finding in injection_findings([place])):
            yield Order("gives the model orders", " ".join(mask_keys(piece).split()))


def _broken_rules(values: Values, is_prose: bool) -> tuple[str, ...]:
    """The content rules among the warnings that suggest bad intent."""
    rules = _RULES.intersection(values.get("warnings", ())) - (
        _HARMLESS_IN_PROSE if is_prose else frozenset()
    )
    return tuple(sorted(rules))


def _annotations(values: Values) -> Mapping[str, object]:
    annotations = (values.get("extra") or {}).get("annotations")
    return annotations if isinstance(annotations, Mapping) else {}


def _start_digest(run: Any) -> str:
    """A digest of what `run` starts: program and arguments of a server, the host of an HTTP
    operation, all of a command. The path of an operation may change with each version of an API.
    """
    if not isinstance(run, Mapping):
        return ""
    server, request = run.get("mcp"), run.get("http")
    started: Any = run
    if isinstance(server, Mapping):
        started = [server.get("command"), server.get("args"), server.get("url")]
    elif isinstance(request, Mapping):
        host = _HOST.match(str(request.get("url", "")))
        started = host[0].lower() if host else str(request.get("url", ""))
    text = json.dumps(started, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


def _variable_names(run: Any) -> Iterator[str]:
    """The environment variables of a server, and the secrets of an HTTP operation."""
    server, request = (
        (run.get("mcp"), run.get("http")) if isinstance(run, Mapping) else (None, None)
    )
    variables = server.get("env") if isinstance(server, Mapping) else None
    for name in variables if isinstance(variables, list) else ():
        if isinstance(name, str):
            yield name
    schemes = request.get("security") if isinstance(request, Mapping) else None
    for scheme in schemes if isinstance(schemes, list) else ():
        if isinstance(scheme, Mapping) and isinstance(name := scheme.get("secret"), str):
            yield name


def _collect_strings(value: Any, strings: list[str]) -> list[str]:
    """Add every text of a JSON value, keys too, to `strings`. Recursive, since the reader allows
    32 levels.
    """
    if isinstance(value, str):
        strings.append(value)
    elif isinstance(value, dict):
        for key, inner in value.items():
            strings.append(str(key))
            _collect_strings(inner, strings)
    elif isinstance(value, list | tuple):
        for inner in value:
            _collect_strings(inner, strings)
    return strings
