"""What is remembered of a tool's definition: digests and traits, none of its words."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from capdisc_indexer.check.changes.orders import Order, normalise, orders, passage_digest, passages
from capdisc_indexer.check.changes.parameters import parameters_of
from capdisc_indexer.check.phrases import phrases
from capdisc_indexer.check.secret_keys import masked
from capdisc_indexer.check.texts import Text
from capdisc_indexer.errors import BROKEN
from capdisc_indexer.frozen import field, fields, frozen

MAX_PASSAGES = 64
# What an agent is told of a tool, or that decides how it is run. Not the category, which depends on the other tools of
# a list, and not what capdisc itself found out.
TOLD = (
    *("kind", "name", "title", "description", "tags", "phrases", "requires", "composed_with", "related", "secrets"),
    *("bins", "systems", "risk", "has_side_effects", "confirm", "available", "hidden", "schema", "output_schema"),
    *("content", "usage_hint", "guidance", "instructions", "extract", "run", "extra"),
)
_TEXTS = ("title", "description", "usage_hint", "phrases", "tags")
_BODIES = ("content", "guidance", "instructions")
_SCHEMAS = ("schema", "output_schema")
_HOST = re.compile(r"^[a-z][a-z0-9+.-]*://[^/?#]*", re.IGNORECASE)
# Content rules whose finding says that somebody wants more than to be found. A comment is no news in a body of
# Markdown, and in the description of a tool it is.
_RULES = frozenset(
    """
    bidi-control control-character encoded-payload html-comment impersonation injection-phrase invisible-character
    markup-breakout padding remote-execution suspicious-url
    """.split()
)
_SEEN_IN_PROSE = frozenset({"html-comment"})

# A capability's record: its head and its body in one.
Values = Mapping[str, Any]


@frozen(kw_only=True)
class Definition:
    """One definition, as it is compared. `digest` is over all that is told of it, `start` over what is run (a program
    with its arguments, or a host); `parameters` are letters by path, `passages` digests of what reads like an order."""

    digest: str
    has_side_effects: bool = False
    is_destructive: bool = False
    is_open: bool = False
    confirms: bool = False
    risk: str = ""
    start: str = ""
    secrets: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    passages: tuple[str, ...] = ()
    parameters: Mapping[str, str] = field(default_factory=dict)


def definition_of(values: Values, is_prose: bool) -> Definition:
    """What is to be remembered of a capability's record; `is_prose`: its body is a text for the model, as a skill's."""
    hints = _hints(values)
    texts = list(dict.fromkeys(order.digest for order in orders_of(values, is_prose)))
    return Definition(
        digest=definition_digest(values),
        has_side_effects=bool(values.get("has_side_effects")),
        is_destructive=hints.get("destructiveHint") is True or values.get("risk") in ("high", "critical"),
        is_open=hints.get("openWorldHint") is True,
        confirms=bool(values.get("confirm")),
        risk=str(values.get("risk", "")),
        start=_start(values.get("run")),
        secrets=tuple(sorted({*values.get("secrets", ()), *_variables(values.get("run"))})),
        rules=tuple(sorted(_fired(values, is_prose))),
        passages=tuple(texts[:MAX_PASSAGES]),
        parameters=parameters_of(values.get("schema") or {}),
    )


def definition_digest(values: Values) -> str:
    """Thirty-two digits over all that is told of a capability."""
    told = {key: values[key] for key in TOLD if key in values}
    text = json.dumps(told, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32]


def orders_of(values: Values, is_prose: bool) -> Iterator[Order]:
    """Each passage of any of its texts that reads like an order; and where a content rule says that there are orders,
    every passage in which that rule finds some."""
    for text, is_body in texts_of(values, is_prose):
        yield from orders(text, is_body)
        if "injection-phrase" in values.get("warnings", ()):
            yield from _injections(text, is_body)


def texts_of(values: Values, is_prose: bool) -> Iterator[tuple[str, bool]]:
    """Every text that an agent may be shown, without keys of services, each with whether it is the body of a skill."""
    yield from ((masked(text), is_body) for text, is_body in _texts(values, is_prose))


def _texts(values: Values, is_prose: bool) -> Iterator[tuple[str, bool]]:
    for key in (*_TEXTS, *_BODIES):
        value = values.get(key, "")
        is_body = is_prose and key in _BODIES
        yield from ((text, is_body) for text in ([value] if isinstance(value, str) else value) if isinstance(text, str))
    for key in _SCHEMAS:
        yield from ((text, False) for text in _strings(values.get(key)))
    yield from ((text, False) for text in _strings(_hints(values)))


def to_text(definition: Definition) -> str:
    """The definition as one line of JSON, of some 200 characters."""
    return json.dumps([getattr(definition, name) for name in fields(Definition)], separators=(",", ":"))


def from_text(text: str) -> Definition | None:
    """The definition that such a line holds; None for any other text."""
    try:
        values = dict(zip(fields(Definition), json.loads(text), strict=True))
        for name in ("secrets", "rules", "passages"):
            values[name] = tuple(values[name])
        definition = Definition(**values)
    except BROKEN:
        return None
    return definition if _is_whole(definition) else None


def _is_whole(definition: Definition) -> bool:
    words = (definition.digest, definition.risk, definition.start, *definition.secrets, *definition.rules)
    flags = (definition.has_side_effects, definition.is_destructive, definition.is_open, definition.confirms)
    if not isinstance(definition.parameters, dict):
        return False
    texts = {*map(type, words), *map(type, definition.passages), *map(type, definition.parameters.values())}
    return texts <= {str} and {*map(type, flags)} <= {bool}


def _injections(text: str, is_body: bool) -> Iterator[Order]:
    for passage in passages(normalise(text)):
        place = Text(value=passage, path="", line=1, field="" if is_body else "description")
        if any(finding.code == "injection-phrase" for finding in phrases([place])):
            yield Order("gives the model orders", " ".join(passage.split()), passage_digest(passage))


def _fired(values: Values, is_prose: bool) -> frozenset[str]:
    """The content rules that a reader of the capability is warned of, as far as they tell of more than vanity."""
    rules = _RULES - (_SEEN_IN_PROSE if is_prose else frozenset())
    return rules.intersection(values.get("warnings", ()))


def _hints(values: Values) -> Mapping[str, Any]:
    hints = (values.get("extra") or {}).get("annotations")
    return hints if isinstance(hints, Mapping) else {}


def _start(run: Any) -> str:
    """A digest of what is started: of a server its program and arguments, of an HTTP operation the host, of a command
    all of it. The path of an operation may change with each version of an API."""
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
    server, request = (run.get("mcp"), run.get("http")) if isinstance(run, Mapping) else (None, None)
    named = server.get("env") if isinstance(server, Mapping) else None
    yield from (name for name in (named or ()) if isinstance(name, str))
    schemes = request.get("security") if isinstance(request, Mapping) else None
    for scheme in schemes if isinstance(schemes, Sequence) else ():
        if isinstance(scheme, Mapping) and isinstance(name := scheme.get("secret"), str):
            yield name


def _strings(value: Any) -> Iterator[str]:
    """Every text of a JSON value, keys too; what was read is at most 32 levels deep."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield str(key)
            yield from _strings(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _strings(inner)
