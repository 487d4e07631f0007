"""A tool's definition as it is compared, and as it is remembered: whole where it is short, else by
its traits.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Set
from itertools import islice
from typing import Any

from capdisc_indexer.model.errors import MALFORMED_DATA_ERRORS
from capdisc_indexer.model.frozen import field, fields, frozen
from capdisc_indexer.validation.capability_strings import CapabilityText
from capdisc_indexer.validation.changes.exfiltration import parameters_of
from capdisc_indexer.validation.changes.orders import Order, orders, piece_digest, pieces, words_of
from capdisc_indexer.validation.injection_phrases import injection_findings
from capdisc_indexer.validation.secret_keys import mask_keys

# More are not remembered, and count as new when they are met again.
MAX_PIECES = 500
_FLAGS = ("has_side_effects", "is_destructive", "is_open", "confirms", "is_coarse")
# Of 10,000 tools of real servers, 99 in a hundred are shorter; the bodies of skills are mostly
# longer.
MAX_WHOLE = 4_096
_INJECTION = "injection-phrase"
_as_json = json.JSONEncoder(
    ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=str
).encode
# What an agent is told of a tool, or that decides how it is run. Not the category, which depends
# on the other tools of a list, and not what capdisc itself found out.
TOLD = (
    *(
        "kind",
        "name",
        "title",
        "description",
        "tags",
        "phrases",
        "requires",
        "composed_with",
        "related",
        "secrets",
    ),
    *(
        "bins",
        "systems",
        "risk",
        "has_side_effects",
        "confirm",
        "available",
        "hidden",
        "schema",
        "output_schema",
    ),
    *("content", "usage_hint", "guidance", "instructions", "extract", "run", "extra"),
)
_TEXTS = ("title", "description", "usage_hint", "phrases", "tags")
_BODIES = ("content", "guidance", "instructions")
_SCHEMAS = ("schema", "output_schema")
_HOST = re.compile(r"^[a-z][a-z0-9+.-]*://[^/?#]*", re.IGNORECASE)
# Content rules whose finding says that somebody wants more than to be found. A comment is no news
# in a body of Markdown, and in the description of a tool it is.
_RULES = frozenset(
    """
    bidi-control control-character encoded-payload html-comment impersonation injection-phrase
    markup-breakout padding remote-execution suspicious-url
    """.split()
)
_SEEN_IN_PROSE = frozenset({"html-comment"})

# A capability's record: its head and its body in one.
Values = Mapping[str, Any]


@frozen(kw_only=True)
class Definition:
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


def definition_of(values: Values, is_prose: bool, is_coarse: bool = False) -> Definition:
    """What is compared of a capability's record; `is_prose`: its body is a text for the model, as
    a skill's.
    """
    hints, schema = _hints(values), values.get("schema")
    texts = texts_of(values, is_prose)
    every = (piece for text, _ in texts for piece in pieces(text, is_coarse))
    return Definition(
        has_side_effects=bool(values.get("has_side_effects")),
        is_destructive=hints.get("destructiveHint") is True
        or values.get("risk") in ("high", "critical"),
        is_open=hints.get("openWorldHint") is True,
        confirms=bool(values.get("confirm")),
        is_coarse=is_coarse,
        risk=str(values.get("risk", "")),
        start=_start(values.get("run")),
        secrets=tuple(sorted({*values.get("secrets", ()), *_variables(values.get("run"))})),
        rules=_fired(values, is_prose),
        pieces=tuple(dict.fromkeys(map(piece_digest, islice(every, MAX_PIECES)))),
        parameters=parameters_of(schema, words_of("\n".join(_strings(schema, []))))
        if schema
        else {},
    )


def told_of(values: Values) -> str:
    """All that is told of a capability, as one line of JSON that depends on nothing else."""
    return _as_json({key: values[key] for key in TOLD if key in values})


def digest_of(told: str) -> str:
    """Thirty-two digits over it."""
    return hashlib.sha256(told.encode("utf-8", "replace")).hexdigest()[:32]


def new_orders(before: Definition, values: Values, is_prose: bool) -> Iterator[Order]:
    """What reads like an order in those pieces of the texts that `before` did not have; and where
    a content rule says that there are orders, those pieces in which that rule finds some.
    """
    known = frozenset(before.pieces)
    for text, is_body in texts_of(values, is_prose):
        found = list(orders(text, known, is_body, before.is_coarse))
        if not found and _INJECTION in values.get("warnings", ()):
            found = list(_injections(text, known, is_body, before.is_coarse))
        yield from found


def texts_of(values: Values, is_prose: bool) -> list[tuple[str, bool]]:
    """Every text that an agent may be shown, each with whether it is the body of a skill. What
    schemas and hints say is one text, a paragraph each.
    """
    texts: list[tuple[str, bool]] = []
    for key in (*_TEXTS, *_BODIES):
        value = values.get(key)
        if value:
            is_body = is_prose and key in _BODIES
            texts += [(text, is_body) for text in ([value] if isinstance(value, str) else value)]
    words: list[str] = []
    for key in _SCHEMAS:
        _strings(values.get(key), words)
    _strings(_hints(values), words)
    if words:
        texts.append(("\n\n".join(words), False))
    return texts


def to_text(values: Values, told: str, is_prose: bool) -> str:
    """What is remembered of a capability's record: an object with all that is told of it and what
    its readers were warned of, or where that has more than 4,096 characters a list of what is
    compared of it.
    """
    if len(told) > MAX_WHOLE:
        definition = definition_of(values, is_prose, is_coarse=True)
        return _as_json([getattr(definition, name) for name in fields(Definition)])
    return (
        _as_json({**json.loads(told), "warnings": values["warnings"]})
        if values.get("warnings")
        else told
    )


def from_text(text: str, is_prose: bool) -> tuple[Definition, Values] | None:
    """The definition that such a text holds, with the record where that was short enough; None for
    any other text.
    """
    try:
        remembered = json.loads(text)
        if isinstance(remembered, dict):
            return definition_of(remembered, is_prose), remembered
        values = dict(zip(fields(Definition), remembered, strict=True))
        for name in ("secrets", "rules", "pieces"):
            values[name] = tuple(values[name])
        definition = Definition(**values)
        return (definition, {}) if _is_whole(definition) else None
    except MALFORMED_DATA_ERRORS:
        return None


def _is_whole(definition: Definition) -> bool:
    words = (
        definition.risk,
        definition.start,
        *definition.secrets,
        *definition.rules,
        *definition.pieces,
    )
    flags = [getattr(definition, name) for name in _FLAGS]
    if not isinstance(definition.parameters, dict):
        return False
    return {*map(type, words), *map(type, definition.parameters.values())} <= {str} and {
        *map(type, flags)
    } <= {bool}


def _injections(text: str, known: Set[str], is_body: bool, is_coarse: bool) -> Iterator[Order]:
    for piece in pieces(text, is_coarse):
        place = CapabilityText(value=piece, path="", line=1, field="" if is_body else "description")
        is_new = piece_digest(piece) not in known
        if is_new and any(finding.code == _INJECTION for finding in injection_findings([place])):
            yield Order("gives the model orders", " ".join(mask_keys(piece).split()))


def _fired(values: Values, is_prose: bool) -> tuple[str, ...]:
    """The content rules that a reader of the capability is warned of, as far as they tell of more
    than vanity.
    """
    rules = _RULES.intersection(values.get("warnings", ())) - (
        _SEEN_IN_PROSE if is_prose else frozenset()
    )
    return tuple(sorted(rules))


def _hints(values: Values) -> Mapping[str, Any]:
    hints = (values.get("extra") or {}).get("annotations")
    return hints if isinstance(hints, Mapping) else {}


def _start(run: Any) -> str:
    """A digest of what is started: of a server its program and arguments, of an HTTP operation the
    host, of a command all of it. The path of an operation may change with each version of an API.
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


def _variables(run: Any) -> Iterator[str]:
    """The variables that a server gets, and the secrets of an operation."""
    server, request = (
        (run.get("mcp"), run.get("http")) if isinstance(run, Mapping) else (None, None)
    )
    named = server.get("env") if isinstance(server, Mapping) else None
    yield from (
        name for name in (named if isinstance(named, list) else ()) if isinstance(name, str)
    )
    schemes = request.get("security") if isinstance(request, Mapping) else None
    for scheme in schemes if isinstance(schemes, list) else ():
        if isinstance(scheme, Mapping) and isinstance(name := scheme.get("secret"), str):
            yield name


def _strings(value: Any, found: list[str]) -> list[str]:
    """Every text of a JSON value, keys too, added to what was found; what was read is at most 32
    levels deep.
    """
    if isinstance(value, str):
        found.append(value)
    elif isinstance(value, dict):
        for key, inner in value.items():
            found.append(str(key))
            _strings(inner, found)
    elif isinstance(value, list | tuple):
        for inner in value:
            _strings(inner, found)
    return found
