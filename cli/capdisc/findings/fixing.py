"""What can be put right without asking, shown as a change or written."""

from __future__ import annotations

from collections.abc import Iterator

from capdisc import output
from capdisc.findings.asked import Asked
from capdisc.findings.report import shown
from capdisc_indexer.check.mending import Mended, mend
from capdisc_indexer.check.pipeline import Checked
from capdisc_indexer.check.rewriting import rewrite
from capdisc_indexer.check.secret_keys import masked
from capdisc_indexer.check.unseen import shown as shown_text
from capdisc_indexer.errors import InputError
from capdisc_indexer.sources import SOURCES
from capdisc_indexer.sources.file_bytes import read_bytes
from capdisc_indexer.sources.files import FoundFile


def mended(want: Asked, found: Checked) -> Iterator[Mended]:
    """Each file that can be put right, before and after, one after the other."""
    about = {one.path for one in found.chosen.findings}
    for file in found.files:
        if (want.piped or file.path in about) and (data := _data(want, file)) is not None:
            change = mend(file, data, want.profile, want.choice)
            if change.codes:
                yield change


def diff(want: Asked, found: Checked, quiet: bool) -> Iterator[str]:
    """The changes as pieces of a unified diff, what is hidden made visible and keys masked, which stderr is told unless
    quiet, as soon as all of them are known.

    `patch -p1` and `git apply` take it for files with line ends `\\n`. The carriage returns of others show as
    `<U+000D>`, as every character that a terminal would obey, so that only --write changes such lines.
    """
    count = 0
    masked_names: list[str] = []
    for one in mended(want, found):
        count += 1
        name = _name(want, one)
        masks = [masked(one.before), masked(one.after)]
        lines = list(_lines(masks[0], masks[1], name))
        if masks != [one.before, one.after] and lines != list(_lines(one.before, one.after, name)):
            masked_names.append(name)
        yield from (f"{output.safe(shown_text(line))}\n" for line in lines)
    if count and not quiet:
        output.notice(f"notice: {output.count(count, 'file')} can be put right; to do so, add --write")
        for name in masked_names:
            output.notice(f"notice: keys are masked in the change of {name}; only --write applies it whole")


def write_fixes(want: Asked, found: Checked, quiet: bool) -> list[InputError]:
    """Writes each change and says so, unless quiet; what could not be written."""
    problems = []
    for one in mended(want, found):
        try:
            rewrite(one.file, one.after.encode("utf-8"))
        except InputError as problem:
            problems.append(problem)
        else:
            if not quiet:
                output.notice(f"fixed {_name(want, one)}: {', '.join(one.codes)}")
    return problems


def _data(want: Asked, file: FoundFile) -> bytes | None:
    if want.piped:
        return want.piped[0]
    data = read_bytes(file, SOURCES[file.format].limit_bytes)
    return data if isinstance(data, bytes) else None


def _name(want: Asked, one: Mended) -> str:
    return shown(want.piped[1] if want.piped else one.file.path, want.here.cwd)


def _lines(before: str, after: str, name: str) -> Iterator[str]:
    from difflib import unified_diff

    # What follows a blank in a name is a date to patch, unless a tab stands between the two.
    tail = "\t" if " " in name else ""
    below = f"{name.lstrip('/')}{tail}"
    for line in unified_diff(_split(before), _split(after), f"a/{below}", f"b/{below}"):
        yield line.removesuffix("\n")
        if not line.endswith("\n"):
            yield "\\ No newline at end of file"


def _split(text: str) -> list[str]:
    """The lines with their ends; other characters end a line to Python, and to no program that reads a diff."""
    *lines, last = text.split("\n")
    return [*(f"{line}\n" for line in lines), *([last] if last else [])]
