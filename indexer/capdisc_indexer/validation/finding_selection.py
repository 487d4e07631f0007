"""Selects findings: by options and settings, and by comments in the files for rules of form.

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
    """The rules that a user wants, as codes or as beginnings of codes that end with a hyphen. An
    empty `select` means every rule; `ignore` wins.
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
    """The findings to show, those that the choice leaves out, and those that comments silence."""

    findings: tuple[Finding, ...]
    unwanted: tuple[Finding, ...] = ()
    commented: tuple[Finding, ...] = ()


def code_matches(code: str, patterns: Collection[str]) -> bool:
    """Whether one of the patterns covers the code.

    >>> code_matches("name-case", ["name-"]), code_matches("name-case", ["name"])
    (True, False)
    """
    return any(
        code == pattern or (pattern.endswith("-") and code.startswith(pattern))
        for pattern in patterns
    )


def rule_choice(select: Iterable[str], ignore: Iterable[str]) -> RuleChoice:
    """The choice from texts that hold codes between commas. Raises UsageError for a code that
    covers no rule.
    """
    return RuleChoice(select=_parse_codes(select), ignore=_parse_codes(ignore))


def loosening(name: str, texts: Sequence[str]) -> list[str]:
    """The parts of the setting `name`, "select" or "ignore", that leave out a rule that guards the
    reader. Parts that cover no rule do not count: `rule_choice` refuses them.

    >>> loosening("ignore", ["name-case,hidden-text"]), loosening("select", ["name-case"])
    (['hidden-text'], ['name-case'])
    """
    from capdisc_indexer.validation.rule_explanations import load_rules

    patterns = [
        code for text in texts for part in text.split(",") if (code := part.strip().lower())
    ]
    guards = [code for code in load_rules() if is_guarded(code)]
    if name == "select":
        keeps_guards = not patterns or all(code_matches(code, patterns) for code in guards)
        return [] if keeps_guards else [", ".join(patterns)]
    return [
        pattern for pattern in patterns if any(code_matches(code, [pattern]) for code in guards)
    ]


def keep_guards(choice: RuleChoice, select: bool, ignore: bool) -> RuleChoice:
    """The choice with all rules on that guard the reader. `select` and `ignore` say which part of
    the choice comes from a file that the user does not trust.
    """
    if not (select or ignore):
        return choice
    from capdisc_indexer.validation.rule_explanations import load_rules

    guards = [code for code in load_rules() if is_guarded(code)]
    form_codes = (
        code for code in load_rules() if code_matches(code, choice.ignore) and not is_guarded(code)
    )
    return RuleChoice(
        select=(*choice.select, *guards) if select and choice.select else choice.select,
        ignore=tuple(form_codes) if ignore else choice.ignore,
    )


def _parse_codes(texts: Iterable[str]) -> tuple[str, ...]:
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
    """The error for a code that no rule has; its hint names the most similar codes."""
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
    """The findings that the choice allows and no comment silences, in the same order. The files
    `uncommented` certainly hold no comment.
    """
    allowed = [finding for finding in findings if choice.allows(finding.code)]
    # A file is read again only for a finding that a comment could silence.
    silenceable = [
        finding
        for finding in allowed
        if not is_guarded(finding.code) and finding.path not in uncommented
    ]
    silenced = set(_silenced_findings(silenceable, source))
    unwanted = tuple(finding for finding in findings if not choice.allows(finding.code))
    if not silenced:  # the usual case, in which no finding needs a hash
        return SelectedFindings(findings=tuple(allowed), unwanted=unwanted)
    return SelectedFindings(
        findings=tuple(finding for finding in allowed if finding not in silenced),
        unwanted=unwanted,
        commented=tuple(finding for finding in allowed if finding in silenced),
    )


def _silenced_findings(findings: Iterable[Finding], source: SourceLines) -> Iterator[Finding]:
    """The findings that a comment silences. Findings about one file follow each other, so that its
    comments are read once.
    """
    for path, file_findings in groupby(findings, key=lambda finding: finding.path):
        comments = suppression_comments(source.text(path), path)
        for finding in file_findings:
            if any(silences_finding(comment, finding) for comment in comments):
                yield finding
