"""The two halves of a SKILL.md: the YAML block between two fence lines, and the text after it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import pairwise

from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.types import Finding, Severity
from capdisc_indexer.sources.readers.yaml_nodes import Node, TextNode
from capdisc_indexer.sources.readers.yaml_reader import LINE_BREAKS, read_yaml

# A second try for a block of fields that is not YAML: the usual slips put right, each with a
# warning.
#
# Nearly all broken front matter in public skills is one of two slips: an unquoted value that holds
# a colon and a blank (4,895 of 15,365 failures in a census), and text on the line of a block mark
# (9,018). Both mean one thing only.

MAX_DEPTH = 8
MAX_FINDINGS = 50  # of one file; whoever mends these sees the next
MAX_CHARACTERS = 64 * 1024  # each field is parsed on its own, which is not worth it for more

# A field or a list item: what stands before its value, and the value as far as this line goes.
_FIELD = re.compile(r"(?P<indent> *)(?P<head>-(?= )|[A-Za-z_][\w.-]*:)(?P<gap>[ \t]*)(?P<value>.*)")
_BLOCK_MARK = re.compile(r"(?P<mark>[|>])[+-]?[ \t]+(?P<text>[^#\s].*)")


@frozen
class _Slip:
    code: str
    message: str
    hint: str


_TAB = _Slip("yaml-tab", "is indented with a tab, which YAML does not allow", "indent with blanks")
_NO_BLANK = _Slip(
    "yaml-missing-blank", "has no blank after its colon", "write a blank after the colon"
)
_MARK = _Slip(
    "yaml-block-mark",
    "has text on the line of its block mark",
    "start the text on the next line, indented",
)
_QUOTE = _Slip(
    "yaml-unbalanced-quote",
    "has quotes that do not match",
    "quote the whole value, or nothing of it",
)
_START = _Slip(
    "yaml-reserved-start",
    "starts with a character that means something in YAML",
    "put the value in quotes",
)
_COLON = _Slip(
    "yaml-unquoted-colon", "holds a colon and a blank without quotes", "put the value in quotes"
)
_OTHER = _Slip("yaml-repaired", "is not YAML and was read as plain text", "put the value in quotes")


# A template's mark ({{name}}) is YAML: a mapping that is the key of another one.
_REPAIRABLE = frozenset({"yaml-syntax", "yaml-key-type"})
_TEMPLATE = "{{"
# Slips that cannot come from a file which is only half written; an unclosed quote or bracket can.
CERTAIN_SLIPS = frozenset({_COLON.code, _MARK.code})
ALL_SLIPS = CERTAIN_SLIPS | {slip.code for slip in (_TAB, _NO_BLANK, _QUOTE, _START, _OTHER)}


def read_leniently(
    text: str, path: str, first_line: int, slips: frozenset[str]
) -> tuple[tuple[Node, ...], tuple[Finding, ...]]:
    """The documents of a text, with these slips put right if it is not YAML as it stands, and what
    was found.
    """
    breaks = _line_breaks(text, path, first_line)
    result = read_yaml(text, path, first_line)
    if result.finding is None:
        return result.documents, breaks
    if result.finding.code in _REPAIRABLE and len(text) <= MAX_CHARACTERS:
        repaired, findings = repair_block(text, path, first_line, slips)
        again = read_yaml(repaired, path, first_line)
        if again.finding is None:
            return again.documents, (*breaks, *findings)
    return (), (*breaks, result.finding)


def _line_breaks(text: str, path: str, first_line: int) -> tuple[Finding, ...]:
    """A warning for a line separator that editors show as part of a line, and that YAML would take
    for its end.
    """
    match = LINE_BREAKS.search(text)
    if not match:
        return ()
    message = f"the character U+{ord(match[0]):04X}, at which some readers begin a new line; read as a blank"
    return (
        Finding(
            code="line-break-in-field",
            severity=Severity.WARNING,
            message=message,
            hint="remove it",
            path=path,
            line=first_line + text.count("\n", 0, match.start()),
            column=match.start() - text.rfind("\n", 0, match.start()),
        ),
    )


def repair_block(
    block: str, path: str = "", first_line: int = 1, slips: frozenset[str] = ALL_SLIPS
) -> tuple[str, tuple[Finding, ...]]:
    """The block with its broken fields made readable, line for line where it was, and what was
    done.

    A field is touched only if it is not YAML on its own, so that one slip changes nothing else.

    >>> repair("name: a\\ndescription: Use when: asked\\n")[0]
    'name: a\\ndescription: "Use when: asked"\\n'
    """
    work = _Repair(block.split("\n"), path, first_line, slips)
    if _TAB.code in slips:
        work.tabs()
    work.fields(0, len(work.lines), "", 0)
    return "\n".join(work.lines), tuple(work.findings)


class _Repair:
    """One block being repaired in place."""

    def __init__(self, lines: list[str], path: str, first_line: int, slips: frozenset[str]) -> None:
        self.lines = lines
        self.findings: list[Finding] = []
        self._path = path
        self._first_line = first_line
        self._slips = slips

    def tabs(self) -> None:
        """Turns tabs at the start of lines into blanks."""
        for number, line in enumerate(self.lines):
            text = line.lstrip("\t ")
            indent = line[: len(line) - len(text)]
            if "\t" in indent and text:
                self.lines[number] = indent.replace("\t", "  ") + text
                self._note(_TAB, number, "the line")

    def fields(self, start: int, end: int, indent: str, depth: int) -> None:
        """Repairs each field at this indentation; what is indented deeper belongs to the field
        above it.
        """
        starts = [
            number for number in range(start, end) if _starts_field(self.lines[number], indent)
        ]
        for first, last_line in pairwise([*starts, end]):
            self._field(first, last_line, depth)

    def _field(self, start: int, end: int, depth: int) -> None:
        match = _FIELD.fullmatch(self.lines[start])
        result = read_yaml("\n".join(self.lines[start:end]))
        if match is None or (result.finding and not _is_repairable(result.finding, match["value"])):
            return
        if result.finding is None:
            if not match["gap"] and match["value"] and isinstance(result.documents[0], TextNode):
                self._replace(start, end, match, _NO_BLANK, match["value"])
        elif match["value"]:
            self._replace(start, end, match, *_reading(match["value"], self.lines[start + 1 : end]))
        elif depth < MAX_DEPTH:
            self.fields(start + 1, end, _indent(self.lines[start + 1 : end]), depth + 1)

    def _replace(self, start: int, end: int, match: re.Match[str], slip: _Slip, text: str) -> None:
        """Puts the value in quotes. JSON's quotes are YAML's too, and everything else keeps its
        line.
        """
        if slip.code not in self._slips:
            return
        self.lines[start] = (
            f"{match['indent']}{match['head']} {json.dumps(text, ensure_ascii=False)}"
        )
        self.lines[start + 1 : end] = [""] * (end - start - 1)
        name = "the list item" if match["head"] == "-" else match["head"].removesuffix(":")
        self._note(slip, start, name, len(match["indent"]) + 1)

    def _note(self, slip: _Slip, number: int, name: str, column: int = 1) -> None:
        if len(self.findings) >= MAX_FINDINGS:
            return
        self.findings.append(
            Finding(
                code=slip.code,
                severity=Severity.WARNING,
                message=f"{name} {slip.message}; other readers will refuse the file",
                hint=slip.hint,
                path=self._path,
                line=self._first_line + number,
                column=column,
            )
        )


def _is_repairable(finding: Finding, value: str) -> bool:
    return finding.code == "yaml-syntax" or (
        finding.code in _REPAIRABLE and value.startswith(_TEMPLATE)
    )


def _starts_field(line: str, indent: str) -> bool:
    if line.startswith(("---", "...")):
        return not indent
    match = _FIELD.fullmatch(line)
    return match is not None and match["indent"] == indent and not match["value"].startswith("//")


def _indent(lines: Sequence[str]) -> str:
    first = next((line for line in lines if line.strip()), "")
    return first[: len(first) - len(first.lstrip(" "))]


def _reading(value: str, continuation: Sequence[str]) -> tuple[_Slip, str]:
    """What is wrong with a value that is not YAML, and the text that its author meant."""
    stripped_lines = [line.strip() for line in continuation]
    if match := _BLOCK_MARK.fullmatch(value):
        return _MARK, ("\n" if match["mark"] == "|" else " ").join(
            [match["text"], *stripped_lines]
        ).strip()
    text = " ".join(part for part in [value.strip(), *stripped_lines] if part)
    if text[0] in "\"'":
        return _QUOTE, _without_quotes(text)
    if text[0] in "[]{}@`*&%!|>,?#":
        return _START, text
    return (_COLON if ": " in text or text.endswith(":") else _OTHER), text


def _without_quotes(text: str) -> str:
    quote = text[0]
    if len(text) > 1 and text.endswith(quote):
        return text[1:-1]
    return text[1:] if text.count(quote) == 1 else text


@frozen(kw_only=True)
class FrontMatter:
    """Block and body, each with the line of the file that it starts in. `block` is None where
    there is none.
    """

    block: str | None
    block_line: int
    body: str
    body_line: int
    findings: tuple[Finding, ...] = ()


def split_front_matter(text: str, path: str = "") -> FrontMatter:
    """The front matter block and the body of a text whose line ends are all `\\n`.

    Only whole lines count as fences, so that ` --- ` inside a value stays what it is. Lines are
    walked through rather than matched: expressions for this job have taken cubic time on a fence
    that is never closed.

    >>> halves = split("---\\nname: a --- b\\n---\\nBody\\n")
    >>> halves.block, halves.body
    ('name: a --- b\\n', 'Body\\n')
    """
    lines = text.split("\n")
    opening = next((index for index, line in enumerate(lines) if line.strip()), 0)
    is_wrapped = (
        _opens_code(lines[opening]) and opening + 1 < len(lines) and _is_fence(lines[opening + 1])
    )
    opening += is_wrapped
    if not _is_fence(lines[opening]):
        return FrontMatter(block=None, block_line=1, body=text, body_line=1)
    closing = next(
        (index for index in range(opening + 1, len(lines)) if _is_fence(lines[index])), None
    )
    if closing is None:
        return FrontMatter(
            block=None,
            block_line=1,
            body="",
            body_line=1,
            findings=(_unclosed_block(path, opening + 1),),
        )
    body = _after_code(lines, closing + 1) if is_wrapped else closing + 1
    return FrontMatter(
        block="".join(f"{line}\n" for line in lines[opening + 1 : closing]),
        block_line=opening + 2,
        body="\n".join(lines[body:]),
        body_line=body + 1,
        findings=_place_findings(path, opening, is_wrapped),
    )


def _is_fence(line: str) -> bool:
    return line.rstrip() == "---"


def _opens_code(line: str) -> bool:
    return line.startswith("```") and line.strip("`").strip().lower() in {
        "",
        "yaml",
        "yml",
        "markdown",
        "md",
    }


def _after_code(lines: Sequence[str], body: int) -> int:
    """The first body line, past the one that closes the code fence if it follows the block at
    once.
    """
    closes = next((index for index in range(body, len(lines)) if lines[index].strip()), body)
    return closes + 1 if closes < len(lines) and lines[closes].rstrip() == "```" else body


def _unclosed_block(path: str, line: int) -> Finding:
    return Finding(
        code="frontmatter-unclosed",
        severity=Severity.ERROR,
        message="the front matter is never closed",
        hint="add a line --- after its last field",
        path=path,
        line=line,
    )


def _place_findings(path: str, opening: int, is_wrapped: bool) -> tuple[Finding, ...]:
    if not opening:
        return ()
    where = "stands inside a code fence" if is_wrapped else "does not start in the first line"
    finding = Finding(
        code="frontmatter-in-code-fence" if is_wrapped else "frontmatter-not-first",
        severity=Severity.WARNING,
        message=f"the front matter {where}; other readers will not find it",
        hint="make --- the first line of the file",
        path=path,
        line=opening + 1,
    )
    return (finding,)
