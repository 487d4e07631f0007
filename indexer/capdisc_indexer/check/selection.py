"""Which findings are wanted: by option or setting, and by comments inside the files for rules of form.

A scanned file may come from anybody, so no comment in it can switch off a rule that guards its reader.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from capdisc_indexer.check.comments import comments, silences
from capdisc_indexer.check.guarded import is_guarded
from capdisc_indexer.check.sourcetext import SourceText
from capdisc_indexer.errors import UsageError
from capdisc_indexer.frozen import frozen
from capdisc_indexer.types import Finding


@frozen(kw_only=True)
class Choice:
    """Codes, or beginnings of codes that end with a hyphen. Nothing selected means every rule; `ignore` wins."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()

    def allows(self, code: str) -> bool:
        """Whether a finding of this code is wanted."""
        return (not self.select or matches(code, self.select)) and not matches(code, self.ignore)


EVERYTHING = Choice()


@frozen(kw_only=True)
class Chosen:
    """What is left, and which findings are not shown: by the choice, and by comments."""

    findings: tuple[Finding, ...]
    unwanted: tuple[Finding, ...] = ()
    commented: tuple[Finding, ...] = ()


def matches(code: str, patterns: Collection[str]) -> bool:
    """Whether one of the patterns means the code.

    >>> matches("name-case", ["name-"]), matches("name-case", ["name"])
    (True, False)
    """
    return any(code == pattern or (pattern.endswith("-") and code.startswith(pattern)) for pattern in patterns)


def choice(select: Iterable[str], ignore: Iterable[str]) -> Choice:
    """The choice by texts that hold codes between commas. Raises UsageError for one that means no rule."""
    return Choice(select=_codes(select), ignore=_codes(ignore))


def loosening(name: str, texts: Sequence[str]) -> list[str]:
    """Which parts of a setting, "select" or "ignore", leave out a rule that guards the reader. Parts that mean no rule
    are nobody's business here: `choice` refuses them.

    >>> loosening("ignore", ["name-case,hidden-text"]), loosening("select", ["name-case"])
    (['hidden-text'], ['name-case'])
    """
    from capdisc_indexer.check.explain import rules

    patterns = [code for text in texts for part in text.split(",") if (code := part.strip().lower())]
    guards = [code for code in rules() if is_guarded(code)]
    if name == "select":
        return [", ".join(patterns)] if patterns and not all(matches(code, patterns) for code in guards) else []
    return [pattern for pattern in patterns if any(matches(code, [pattern]) for code in guards)]


def keep_guards(wanted: Choice, select: bool, ignore: bool) -> Choice:
    """The choice with every rule on that guards the reader, where its `select` or `ignore` comes from a file that the
    user does not trust."""
    if not (select or ignore):
        return wanted
    from capdisc_indexer.check.explain import rules

    guards = [code for code in rules() if is_guarded(code)]
    form = (code for code in rules() if matches(code, wanted.ignore) and not is_guarded(code))
    return Choice(
        select=(*wanted.select, *guards) if select and wanted.select else wanted.select,
        ignore=tuple(form) if ignore else wanted.ignore,
    )


def _codes(texts: Iterable[str]) -> tuple[str, ...]:
    given = tuple(dict.fromkeys(code for text in texts for part in text.split(",") if (code := part.strip().lower())))
    if given:
        from capdisc_indexer.check.explain import rules

        for pattern in given:
            if not any(matches(code, [pattern]) for code in rules()):
                raise unknown(pattern)
    return given


def unknown(code: str) -> UsageError:
    """The error for a code that no rule has, with the nearest ones."""
    from difflib import get_close_matches

    from capdisc_indexer.check.explain import rules

    near = get_close_matches(code[:64], list(rules()), n=3, cutoff=0.6)
    listing = "see: capdisc validate --rules"
    hint = f"did you mean {' or '.join(near)}? {listing}" if near else listing
    return UsageError(f"there is no rule {code[:64]!r}", hint)


def chosen(findings: Sequence[Finding], wanted: Choice, source: SourceText) -> Chosen:
    """The findings that are wanted and that no comment beside them silences, in the same order."""
    left = [one for one in findings if wanted.allows(one.code)]
    # A file is read again only for a finding that a comment could silence.
    open_ = [one for one in left if not is_guarded(one.code)]
    written = {path: comments(source.text(path), path) for path in {one.path for one in open_}}
    silenced = {one for one in open_ if any(silences(each, one) for each in written[one.path])}
    return Chosen(
        findings=tuple(one for one in left if one not in silenced),
        unwanted=tuple(one for one in findings if not wanted.allows(one.code)),
        commented=tuple(one for one in left if one in silenced),
    )
