"""Comments that silence rules of form: `# capdisc: ignore=name-case` in YAML, `<!-- capdisc: ignore=body-long -->` in
Markdown, at the end of the line or alone on the line before it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from capdisc_indexer.check.guarded import is_guarded
from capdisc_indexer.frozen import frozen
from capdisc_indexer.sources.frontmatter import split
from capdisc_indexer.types import Finding, Severity

MARK = "capdisc:"  # without which a text holds no comment of ours
_CODES = r"[ \t]{0,8}capdisc:[ \t]{0,8}ignore=([a-z0-9, -]+)"
_YAML = re.compile(rf"(?:^|(?<=[ \t]))#{_CODES}")
_MARKDOWN = re.compile(rf"<!--{_CODES}-->")
_MAX_CODES = 20  # of one comment


@frozen
class Comment:
    """The codes that one comment names, the lines that it stands for, and its own place."""

    codes: tuple[str, ...]
    lines: frozenset[int]
    line: int
    column: int


def comments(text: str, path: str) -> tuple[Comment, ...]:
    """The comments of a text whose line ends are all `\\n`. JSON has none.

    >>> comments("name: Ox  # capdisc: ignore=name-case\\n", "CAPABILITY.yaml")[0].lines
    frozenset({1})
    """
    if MARK not in text:
        return ()
    lower = path.lower()
    if lower.endswith((".yaml", ".yml")):
        return tuple(_of_yaml(text, 1))
    return tuple(_of_skill(text)) if lower.endswith((".md", ".markdown")) else ()


def silences(comment: Comment, finding: Finding) -> bool:
    """Whether the comment stands for the finding's line, names its rule, and may."""
    return finding.line in comment.lines and finding.code in comment.codes and not is_guarded(finding.code)


def refused(text: str, path: str) -> tuple[Finding, ...]:
    """A finding for each comment that names a rule which nothing inside a file can switch off."""
    return tuple(one for each in comments(text, path) if (one := _refusal(each, path)))


def _refusal(comment: Comment, path: str) -> Finding | None:
    named = [code for code in comment.codes if is_guarded(code)]
    if not named:
        return None
    message = f"{', '.join(named[:5])} cannot be silenced from inside a file"
    hint = "remove the comment; whoever runs the check can say --ignore"
    return Finding(
        code="ignore-refused", severity=Severity.INFO, message=message, hint=hint, path=path, line=comment.line,
        column=comment.column,
    )  # fmt: skip


def _of_skill(text: str) -> Iterator[Comment]:
    halves = split(text)
    if halves.block is not None:
        for comment in _of_yaml(halves.block, halves.block_line):
            # The fence is a line that can hold no comment, so the one below it speaks for it.
            is_first = comment.line == halves.block_line and comment.line + 1 in comment.lines
            yield Comment(comment.codes, comment.lines | {1}, comment.line, comment.column) if is_first else comment
    yield from _in(halves.body.split("\n"), halves.body_line, _MARKDOWN)


def _of_yaml(text: str, first: int) -> Iterator[Comment]:
    found = {(each.line - first, each.column - 1): each for each in _in(text.split("\n"), first, _YAML)}
    if found:
        from capdisc_indexer.check.yaml_comments import outside_values

        free = outside_values(text, found.keys())
        yield from (comment for place, comment in found.items() if place in free)


def _in(lines: Sequence[str], first: int, pattern: re.Pattern[str]) -> Iterator[Comment]:
    for number, line in enumerate(lines, first):
        found = pattern.search(line) if MARK in line else None
        if found is None or (pattern is _YAML and line[found.end() :].strip()):
            continue
        codes = tuple(code for part in found[1].split(",")[:_MAX_CODES] if (code := part.strip()))
        if any(" " in code for code in codes):  # words among the codes: nobody can say what is meant
            continue
        is_alone = not (line[: found.start()] + line[found.end() :]).strip()
        yield Comment(codes, frozenset({number, number + 1} if is_alone else {number}), number, found.start() + 1)
