"""The two halves of a SKILL.md: the YAML between two lines of `---`, and the text after them."""

from __future__ import annotations

from collections.abc import Sequence

from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.types import Finding, Severity


@frozen(kw_only=True)
class FrontMatter:
    """Block and body, each with the line of the file that it starts in; `block` is None if there
    is no front matter.
    """

    block: str | None = None
    block_line: int = 1
    body: str = ""
    body_line: int = 1
    findings: tuple[Finding, ...] = ()


def split_front_matter(text: str, path: str = "") -> FrontMatter:
    """The front matter block and the body of a text whose line ends are all `\\n`.

    Only whole lines count as fences, so that ` --- ` inside a value is text. The lines are read
    one by one, since regular expressions for this took cubic time on a fence that is never closed.

    >>> halves = split_front_matter("---\\nname: a --- b\\n---\\nBody\\n")
    >>> halves.block, halves.body
    ('name: a --- b\\n', 'Body\\n')
    """
    lines = _split_lines(text)
    opening = next((index for index, line in enumerate(lines) if line.strip()), 0)
    has_next = opening + 1 < len(lines)
    is_wrapped = _opens_code(lines[opening]) and has_next and _is_fence(lines[opening + 1])
    opening += is_wrapped
    if not _is_fence(lines[opening]):
        return FrontMatter(body=text)
    closing = next(
        (index for index in range(opening + 1, len(lines)) if _is_fence(lines[index])), None
    )
    if closing is None:
        message, hint = "the front matter is never closed", "add a line --- after its last field"
        unclosed = Finding(
            "frontmatter-unclosed", Severity.ERROR, message, hint, path, opening + 1
        )
        return FrontMatter(findings=(unclosed,))
    body = _after_code(lines, closing + 1) if is_wrapped else closing + 1
    return FrontMatter(
        block="".join(f"{line}\n" for line in lines[opening + 1 : closing]),
        block_line=opening + 2,
        body="\n".join(lines[body:]),
        body_line=body + 1,
        findings=_place_findings(path, opening, is_wrapped),
    )


# Nearly every block is shorter than this.
_HEAD_LINES = 64


def _split_lines(text: str) -> list[str]:
    """The lines of the text. Where a whole block stands in the first ones, all others are one:
    splitting and joining a body took 30 of the 900 microseconds of reading a skill.
    """
    lines = text.split("\n", _HEAD_LINES)
    is_whole_block = lines[:-1].count("---") > 1 and not text.lstrip().startswith("`")
    return lines if is_whole_block else text.split("\n")


def _is_fence(line: str) -> bool:
    return line.rstrip() == "---"


def _opens_code(line: str) -> bool:
    language = line.strip("`").strip().lower()
    return line.startswith("```") and language in {"", "yaml", "yml", "markdown", "md"}


def _after_code(lines: Sequence[str], body: int) -> int:
    """The first line of the body, behind a line that closes the code fence."""
    next_text = next((index for index in range(body, len(lines)) if lines[index].strip()), body)
    closes_code = next_text < len(lines) and lines[next_text].rstrip() == "```"
    return next_text + 1 if closes_code else body


def _place_findings(path: str, opening: int, is_wrapped: bool) -> tuple[Finding, ...]:
    if not opening:
        return ()
    where = "stands inside a code fence" if is_wrapped else "does not start in the first line"
    code = "frontmatter-in-code-fence" if is_wrapped else "frontmatter-not-first"
    message = f"the front matter {where}; other readers will not find it"
    hint = "make --- the first line of the file"
    return (Finding(code, Severity.WARNING, message, hint, path, opening + 1),)
