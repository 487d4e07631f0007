"""The two halves of a SKILL.md: the YAML block between two fence lines, and the text after it."""

from __future__ import annotations

from collections.abc import Sequence

from capdisc_indexer.frozen import frozen
from capdisc_indexer.types import Finding, Severity


@frozen(kw_only=True)
class Split:
    """Block and body, each with the line of the file that it starts in. `block` is None where there is none."""

    block: str | None
    block_line: int
    body: str
    body_line: int
    findings: tuple[Finding, ...] = ()


def split(text: str, path: str = "") -> Split:
    """The front matter block and the body of a text whose line ends are all `\\n`.

    Only whole lines count as fences, so that ` --- ` inside a value stays what it is. Lines are walked through rather
    than matched: expressions for this job have taken cubic time on a fence that is never closed.

    >>> halves = split("---\\nname: a --- b\\n---\\nBody\\n")
    >>> halves.block, halves.body
    ('name: a --- b\\n', 'Body\\n')
    """
    lines = text.split("\n")
    opening = next((index for index, line in enumerate(lines) if line.strip()), 0)
    is_wrapped = _opens_code(lines[opening]) and opening + 1 < len(lines) and _is_fence(lines[opening + 1])
    opening += is_wrapped
    if not _is_fence(lines[opening]):
        return Split(block=None, block_line=1, body=text, body_line=1)
    closing = next((index for index in range(opening + 1, len(lines)) if _is_fence(lines[index])), None)
    if closing is None:
        return Split(block=None, block_line=1, body="", body_line=1, findings=(_unclosed(path, opening + 1),))
    body = _after_code(lines, closing + 1) if is_wrapped else closing + 1
    return Split(
        block="".join(f"{line}\n" for line in lines[opening + 1 : closing]),
        block_line=opening + 2,
        body="\n".join(lines[body:]),
        body_line=body + 1,
        findings=_place_findings(path, opening, is_wrapped),
    )


def _is_fence(line: str) -> bool:
    return line.rstrip() == "---"


def _opens_code(line: str) -> bool:
    return line.startswith("```") and line.strip("`").strip().lower() in {"", "yaml", "yml", "markdown", "md"}


def _after_code(lines: Sequence[str], body: int) -> int:
    """The first body line, past the one that closes the code fence if it follows the block at once."""
    closes = next((index for index in range(body, len(lines)) if lines[index].strip()), body)
    return closes + 1 if closes < len(lines) and lines[closes].rstrip() == "```" else body


def _unclosed(path: str, line: int) -> Finding:
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
