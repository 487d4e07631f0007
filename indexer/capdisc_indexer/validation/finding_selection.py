"""Which findings are wanted: by option or setting, and by comments inside the files for rules of
form.

A scanned file may come from anybody, so no comment in it can switch off a rule that guards its
reader.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from itertools import groupby

from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.types import Finding
from capdisc_indexer.validation.capability_strings import SourceLines
from capdisc_indexer.validation.suppression_comments import (
    is_guarded,
    silences_finding,
    suppression_comments,
)


@frozen(kw_only=True)
class RuleChoice:
    """Codes, or beginnings of codes that end with a hyphen. Nothing selected means every rule;
    `ignore` wins.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()

    def allows(self, code: str) -> bool:
        """Whether a finding of this code is wanted."""
        return (not self.select or code_matches(code, self.select)) and not code_matches(
            code, self.ignore
        )


ALL_RULES = RuleChoice()


@frozen(kw_only=True)
class SelectedFindings:
    """What is left, and which findings are not shown: by the choice, and by comments."""

    findings: tuple[Finding, ...]
    unwanted: tuple[Finding, ...] = ()
    commented: tuple[Finding, ...] = ()


def code_matches(code: str, patterns: Collection[str]) -> bool:
    """Whether one of the patterns means the code.

    >>> matches("name-case", ["name-"]), matches("name-case", ["name"])
    (True, False)
    """
    return any(
        code == pattern or (pattern.endswith("-") and code.startswith(pattern))
        for pattern in patterns
    )


def rule_choice(select: Iterable[str], ignore: Iterable[str]) -> RuleChoice:
    """The choice by texts that hold codes between commas. Raises UsageError for one that means no
    rule.
    """
    return RuleChoice(select=_codes(select), ignore=_codes(ignore))


def loosening(name: str, texts: Sequence[str]) -> list[str]:
    """Which parts of a setting, "select" or "ignore", leave out a rule that guards the reader.
    Parts that mean no rule are nobody's business here: `choice` refuses them.

    >>> loosening("ignore", ["name-case,hidden-text"]), loosening("select", ["name-case"])
    (['hidden-text'], ['name-case'])
    """
    from capdisc_indexer.validation.rule_explanations import load_rules

    patterns = [
        code for text in texts for part in text.split(",") if (code := part.strip().lower())
    ]
    guards = [code for code in load_rules() if is_guarded(code)]
    if name == "select":
        return (
            [", ".join(patterns)]
            if patterns and not all(code_matches(code, patterns) for code in guards)
            else []
        )
    return [
        pattern for pattern in patterns if any(code_matches(code, [pattern]) for code in guards)
    ]


def keep_guards(wanted: RuleChoice, select: bool, ignore: bool) -> RuleChoice:
    """The choice with every rule on that guards the reader, where its `select` or `ignore` comes
    from a file that the user does not trust.
    """
    if not (select or ignore):
        return wanted
    from capdisc_indexer.validation.rule_explanations import load_rules

    guards = [code for code in load_rules() if is_guarded(code)]
    form = (
        code for code in load_rules() if code_matches(code, wanted.ignore) and not is_guarded(code)
    )
    return RuleChoice(
        select=(*wanted.select, *guards) if select and wanted.select else wanted.select,
        ignore=tuple(form) if ignore else wanted.ignore,
    )


def _codes(texts: Iterable[str]) -> tuple[str, ...]:
    codes = tuple(
        dict.fromkeys(
            code for text in texts for part in text.split(",") if (code := part.strip().lower())
        )
    )
    if codes:
        from capdisc_indexer.validation.rule_explanations import load_rules

        for pattern in codes:
            if not any(code_matches(code, [pattern]) for code in load_rules()):
                raise unknown_code_error(pattern)
    return codes


def unknown_code_error(code: str) -> UsageError:
    """The error for a code that no rule has, with the nearest ones."""
    from difflib import get_close_matches

    from capdisc_indexer.validation.rule_explanations import load_rules

    near = get_close_matches(code[:64], list(load_rules()), n=3, cutoff=0.6)
    listing = "see: capdisc validate --rules"
    hint = f"did you mean {' or '.join(near)}? {listing}" if near else listing
    return UsageError(f"there is no rule {code[:64]!r}", hint)


def select_findings(
    findings: Sequence[Finding],
    choice: RuleChoice,
    source: SourceLines,
    uncommented: Set[str] = frozenset(),
) -> SelectedFindings:
    """The findings that are wanted and that no comment beside them silences, in the same order.
    The files `uncommented` are known to hold no comment.
    """
    left = [finding for finding in findings if choice.allows(finding.code)]
    # A file is read again only for a finding that a comment could silence.
    open_ = [
        finding
        for finding in left
        if not is_guarded(finding.code) and finding.path not in uncommented
    ]
    silenced = set(_silenced(open_, source))
    return SelectedFindings(
        findings=tuple(finding for finding in left if finding not in silenced)
        if silenced
        else tuple(left),
        unwanted=tuple(finding for finding in findings if not choice.allows(finding.code)),
        commented=tuple(finding for finding in left if finding in silenced) if silenced else (),
    )


def _silenced(findings: Iterable[Finding], source: SourceLines) -> Iterator[Finding]:
    """Those that a comment stands for; findings about one file follow each other, so that its
    comments are read once and then forgotten.
    """
    for path, about_one_file in groupby(findings, key=lambda finding: finding.path):
        of_file = suppression_comments(source.text(path), path)
        yield from (
            finding
            for finding in about_one_file
            if any(silences_finding(comment, finding) for comment in of_file)
        )
