"""Selects findings: by options and settings, and by comments in the files for rules of form: `#
capdisc: ignore=name-case` in YAML, `<!-- capdisc: ignore=body-long -->` in Markdown, at the end of
a line or alone on the line before.

A scanned file may come from anybody, so no comment in it can switch off a rule that guards its
reader.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from itertools import groupby

from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.model.frozen import frozen, replace
from capdisc_indexer.model.types import Finding, Severity
from capdisc_indexer.sources.readers.frontmatter import split_front_matter
from capdisc_indexer.sources.readers.yaml_nodes import LINE_BREAKS, MAX_EVENTS
from capdisc_indexer.sources.readers.yaml_reader import MAX_CHARACTERS, repair_block
from capdisc_indexer.text.normalization import compile_late
from capdisc_indexer.validation.capability_strings import SourceLines, finding_at
from capdisc_indexer.validation.content_rules import SILENCEABLE
from capdisc_indexer.validation.rules import load_rules

MARK = "capdisc:"  # without which a text holds no comment of ours
_CODES = r"[ \t]{0,8}capdisc:[ \t]{0,8}ignore=([a-z0-9, -]+)"
_YAML = compile_late(rf"(?:^|(?<=[ \t]))#{_CODES}")
_MARKDOWN = compile_late(rf"<!--{_CODES}-->")
_MAX_CODES = 20  # of one comment


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
    choice = RuleChoice(select=_split_codes(select), ignore=_split_codes(ignore))
    for pattern in (*choice.select, *choice.ignore):
        if not any(code_matches(code, [pattern]) for code in load_rules()):
            raise unknown_code_error(pattern)
    return choice


def _split_codes(texts: Iterable[str]) -> tuple[str, ...]:
    codes = (part.strip().lower() for text in texts for part in text.split(","))
    return tuple(dict.fromkeys(filter(None, codes)))


def loosening(name: str, texts: Sequence[str]) -> list[str]:
    """The parts of the setting `name`, "select" or "ignore", that leave out a rule that guards the
    reader. Parts that cover no rule do not count: `rule_choice` refuses them.

    >>> loosening("ignore", ["name-case,hidden-text"]), loosening("select", ["name-case"])
    (['hidden-text'], ['name-case'])
    """
    patterns = _split_codes(texts)
    if name == "select":
        keeps_guards = not patterns or all(code_matches(code, patterns) for code in _guards())
        return [] if keeps_guards else [", ".join(patterns)]
    return [
        pattern for pattern in patterns if any(code_matches(code, [pattern]) for code in _guards())
    ]


def keep_guards(choice: RuleChoice, select: bool, ignore: bool) -> RuleChoice:
    """The choice with all rules on that guard the reader. `select` and `ignore` say which part of
    the choice comes from a file that the user does not trust.
    """
    if select and choice.select:
        choice = replace(choice, select=(*choice.select, *_guards()))
    if ignore:
        ignored = [code for code in load_rules() if code_matches(code, choice.ignore)]
        choice = replace(choice, ignore=tuple(code for code in ignored if not is_guarded(code)))
    return choice


def _guards() -> list[str]:
    return [code for code in load_rules() if is_guarded(code)]


def unknown_code_error(code: str) -> UsageError:
    """The error for a code that no rule has; its hint names the most similar codes."""
    from difflib import get_close_matches

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
    allowed, unwanted = list[Finding](), list[Finding]()
    for finding in findings:
        (allowed if choice.allows(finding.code) else unwanted).append(finding)
    # A file is read again only for a finding that a comment could silence.
    silenceable = [
        finding
        for finding in allowed
        if not is_guarded(finding.code) and finding.path not in uncommented
    ]
    commented = tuple(_silenced_findings(silenceable, source))
    if commented:  # else, as usual, no finding needs a hash
        silenced = set(commented)
        allowed = [finding for finding in allowed if finding not in silenced]
    return SelectedFindings(findings=tuple(allowed), unwanted=tuple(unwanted), commented=commented)


def _silenced_findings(findings: Iterable[Finding], source: SourceLines) -> Iterator[Finding]:
    """The findings that a comment silences. Findings about one file follow each other, so that its
    comments are read once.
    """
    for path, file_findings in groupby(findings, key=lambda finding: finding.path):
        comments = suppression_comments(source.text(path), path)
        for finding in file_findings:
            if any(silences_finding(comment, finding) for comment in comments):
                yield finding


# The rules of form, which a comment inside a file can silence. Every other rule guards the reader
# of the file.


def is_guarded(code: str) -> bool:
    """Whether only options and settings of the user can silence the rule.

    >>> is_guarded("hidden-text"), is_guarded("field-value"), is_guarded("name-case")
    (True, True, False)
    """
    return code not in SILENCEABLE


@frozen
class SuppressionComment:
    """The codes that one comment names, the lines that it stands for, and its own place."""

    codes: tuple[str, ...]
    lines: frozenset[int]
    line: int
    column: int


def suppression_comments(text: str, path: str) -> tuple[SuppressionComment, ...]:
    """The comments of a text whose line ends are all `\\n`. JSON has none.

    >>> suppression_comments("name: Ox  # capdisc: ignore=name-case\\n", "CAPABILITY.yaml")[0].lines
    frozenset({1})
    """
    if MARK not in text:
        return ()
    lower = path.lower()
    if lower.endswith((".yaml", ".yml")):
        return tuple(_yaml_comments(text, 1))
    return tuple(_skill_comments(text)) if lower.endswith((".md", ".markdown")) else ()


def silences_finding(comment: SuppressionComment, finding: Finding) -> bool:
    """Whether the comment covers the finding's line and names its rule, a rule of form."""
    return (
        finding.line in comment.lines
        and finding.code in comment.codes
        and not is_guarded(finding.code)
    )


def refused_suppressions(text: str, path: str) -> Iterator[Finding]:
    """A finding for each comment that names a rule which no comment can silence."""
    for comment in suppression_comments(text, path):
        if named := [code for code in comment.codes if is_guarded(code)]:
            message = f"{', '.join(named[:5])} cannot be silenced from inside a file"
            hint = "remove the comment; the user who runs the check can add --ignore"
            yield finding_at(comment, path, "ignore-refused", message, hint, Severity.INFO)


def _skill_comments(text: str) -> Iterator[SuppressionComment]:
    halves = split_front_matter(text)
    if halves.block is not None:
        for comment in _yaml_comments(halves.block, halves.block_line):
            # The fence is a line that can hold no comment, so the first line below stands for it.
            is_first = comment.line == halves.block_line and comment.line + 1 in comment.lines
            yield replace(comment, lines=comment.lines | {1}) if is_first else comment
    yield from _comments_in_lines(halves.body.split("\n"), halves.body_line, _MARKDOWN)


def _yaml_comments(text: str, first: int) -> Iterator[SuppressionComment]:
    comments_at = {
        (comment.line - first, comment.column - 1): comment
        for comment in _comments_in_lines(text.split("\n"), first, _YAML)
    }
    if comments_at:
        free = outside_values(text, comments_at.keys())
        yield from (comment for place, comment in comments_at.items() if place in free)


def _comments_in_lines(
    lines: Sequence[str], first: int, pattern: re.Pattern[str]
) -> Iterator[SuppressionComment]:
    for number, line in enumerate(lines, first):
        match = pattern.search(line) if MARK in line else None
        if match is None or (pattern is _YAML and line[match.end() :].strip()):
            continue
        codes = tuple(code for part in match[1].split(",")[:_MAX_CODES] if (code := part.strip()))
        if any(" " in code for code in codes):  # words among the codes make the comment unclear
            continue
        is_alone = not (line[: match.start()] + line[match.end() :]).strip()
        lines_covered = frozenset({number, number + 1} if is_alone else {number})
        yield SuppressionComment(codes, lines_covered, number, match.start() + 1)


# Line and column, counted from 0.
LineColumn = tuple[int, int]


def outside_values(text: str, places: Set[LineColumn]) -> Set[LineColumn]:
    """Those of the places that stand in no key and no value of a YAML text: a `#` inside a block
    or between quotes begins no comment.

    In doubt a place is inside: in a line that is only readable after repair, and in a text that is
    no YAML at all.

    >>> sorted(outside_values("a: b # c\\nd: |  # e\\n  # f\\n", {(0, 5), (1, 6), (2, 2)}))
    [(0, 5), (1, 6)]
    """
    import yaml  # 7 ms; few files hold a comment

    plain = LINE_BREAKS.sub(" ", text)
    try:
        return _outside_scalars(plain, places)
    except (yaml.YAMLError, UnicodeError):
        if len(text) > MAX_CHARACTERS:
            return frozenset()
    repaired = repair_block(plain)[0]
    line_pairs = zip(plain.split("\n"), repaired.split("\n"), strict=True)
    unchanged = {number for number, (old, new) in enumerate(line_pairs) if old == new}
    try:
        return _outside_scalars(repaired, {place for place in places if place[0] in unchanged})
    except (yaml.YAMLError, UnicodeError):
        return frozenset()


def _outside_scalars(text: str, places: Set[LineColumn]) -> Set[LineColumn]:
    ordered = sorted(places)
    inside: set[LineColumn] = set()
    for start, end in _scalar_spans(text):
        inside.update(ordered[bisect_left(ordered, start) : bisect_left(ordered, end)])
    return places - inside


def _scalar_spans(text: str) -> Iterator[tuple[LineColumn, LineColumn]]:
    """The start and end of each scalar. The line of a block's mark can end with a comment."""
    import yaml

    loader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    parser = loader(text)
    try:
        for _ in range(MAX_EVENTS):
            event: yaml.Event = parser.get_event()  # type: ignore[no-untyped-call]
            if isinstance(event, yaml.StreamEndEvent):
                return
            if isinstance(event, yaml.ScalarEvent) and event.start_mark and event.end_mark:
                start, end = event.start_mark, event.end_mark
                first = (
                    (start.line + 1, 0)
                    if event.style in ("|", ">")
                    else (start.line, start.column)
                )
                yield first, (end.line, end.column)
    finally:
        parser.dispose()
    raise yaml.YAMLError("more values than are read")
