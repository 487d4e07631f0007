"""A file with everything put right that can be without asking; a fix that would change anything else is dropped."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

from capdisc_indexer.check.fixes import FIXES, Fix, Places
from capdisc_indexer.check.fixes.invisible import visible_part
from capdisc_indexer.check.order import ordered
from capdisc_indexer.check.pipeline import loaded_from
from capdisc_indexer.check.selection import Choice, chosen
from capdisc_indexer.check.sourcetext import SourceText, readable
from capdisc_indexer.frozen import asdict, frozen, replace
from capdisc_indexer.program_text.rewriting import comparable_run
from capdisc_indexer.sources.files import FoundFile
from capdisc_indexer.types import Descriptor, Finding, Severity

# A fix can bring out the next slip of the same file; more rounds than this are a file to be written anew.
MAX_ROUNDS = 20
_MARK = "\ufeff"


@frozen(kw_only=True)
class Mended:
    """A file before and after, and the rules whose findings were put right; none where nothing was."""

    file: FoundFile
    before: str
    after: str
    codes: tuple[str, ...] = ()


@frozen
class _State:
    """A text, the findings about it that are wanted, and what it must not lose by being put right."""

    text: str
    findings: tuple[Finding, ...]
    errors: Counter[str]
    meaning: tuple[str, ...]


def mend(file: FoundFile, data: bytes, profile: str, wanted: Choice) -> Mended:
    """The file put right as far as is safe. What is not UTF-8 stays as it is."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return Mended(file=file, before="", after="")
    first = state = _state(file, text, profile, wanted)
    codes: list[str] = []
    for _ in range(MAX_ROUNDS):
        done = _round(file, state, profile, wanted)
        if done is None:
            break
        code, state = done
        codes.append(code)
    return Mended(file=file, before=first.text, after=state.text, codes=tuple(dict.fromkeys(codes)))


def _round(file: FoundFile, state: _State, profile: str, wanted: Choice) -> tuple[str, _State] | None:
    """The first fix that changes something and may, with what it leads to."""
    for code, fix in FIXES.items():
        places = frozenset((one.line, one.column) for one in state.findings if one.code == code)
        text = _fixed(fix, state.text, places, code) if places else state.text
        if text != state.text:
            after = _state(file, text, profile, wanted)
            if not after.errors - state.errors and _says_the_same(state, after):
                return code, after
    return None


def _fixed(fix: Fix, text: str, places: Places, code: str) -> str:
    """The text after the fix, which never sees the byte order mark unless it is what is wrong."""
    if code == "byte-order-mark" or not text.startswith(_MARK):
        return fix(text, places)
    return _MARK + fix(text.removeprefix(_MARK), places)


def _state(file: FoundFile, text: str, profile: str, wanted: Choice) -> _State:
    data = text.encode("utf-8")
    loaded = loaded_from(replace(file, size=len(data)), data)
    own = ordered((one for one in loaded.findings if one.path == file.path), profile)
    source = SourceText([], {file.path: readable(data)})
    kept = chosen(own, wanted, source).findings
    # A rule that was not selected still guards the file; one that somebody silenced does not.
    guarding = chosen(own, Choice(ignore=wanted.ignore), source).findings
    errors = Counter(one.code for one in guarding if one.severity is Severity.ERROR)
    return _State(text, kept, errors, tuple(_meaning(each) for each in loaded.descriptors))


def _says_the_same(before: _State, after: _State) -> bool:
    """Whether no capability changed. One that could not be read before may be there after."""
    return not before.meaning or before.meaning == after.meaning


def _meaning(descriptor: Descriptor) -> str:
    """All that a capability says, without what a fix may change: what nobody sees, whether a value is text, and how an
    argument reaches a shell."""
    source, run = replace(descriptor.source, content_hash=""), comparable_run(descriptor.run)
    plain = replace(descriptor, source=source, extra=_as_text(descriptor.extra), warnings=(), run=run)
    said = asdict(plain)
    return visible_part(json.dumps(said, ensure_ascii=False, default=str))


def _as_text(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _as_text(inner) for key, inner in value.items()}
    return [_as_text(inner) for inner in value] if isinstance(value, list) else str(value).lower()
