"""What can be put right without asking, shown as a change or written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from capdisc import output
from capdisc.findings.asked import Asked, checked
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


def put_right(want: Asked, found: Checked, write: bool, quiet: bool) -> tuple[Checked, str, list[InputError]]:
    """What is found once all that may be is put right, the change as a diff, and what could not be written."""
    changes = mended(want, found)
    if write:
        unwritten = written(want, changes, quiet)
        return checked(want), "", unwritten
    if changes and not quiet:
        output.notice(f"notice: {output.count(len(changes), 'file')} can be put right; to do so, add --write")
    return found, diff(want, changes, quiet), []


def mended(want: Asked, found: Checked) -> list[Mended]:
    """Each file that can be put right, before and after."""
    about = {one.path for one in found.chosen.findings}
    named = [file for file in found.files if want.piped or file.path in about]
    done = [mend(file, data, want.profile, want.choice) for file in named if (data := _data(want, file)) is not None]
    return [one for one in done if one.codes]


def diff(want: Asked, changes: Iterable[Mended], quiet: bool) -> str:
    """The changes as a unified diff, what is hidden made visible and keys masked, which stderr is told unless quiet.

    `patch -p1` and `git apply` take it for files with line ends `\\n`. The carriage returns of others show as
    `<U+000D>`, as every character that a terminal would obey, so that only --write changes such lines.
    """
    lines: list[str] = []
    for one in changes:
        name = _name(want, one)
        masks = [masked(one.before), masked(one.after)]
        lines += (told := list(_lines(masks[0], masks[1], name)))
        if masks != [one.before, one.after] and told != list(_lines(one.before, one.after, name)) and not quiet:
            output.notice(f"notice: keys are masked in the change of {name}; only --write applies it whole")
    return "\n".join(output.safe(shown_text(line)) for line in lines)


def written(want: Asked, changes: Iterable[Mended], quiet: bool) -> list[InputError]:
    """Writes each change and says so, unless quiet; what could not be written."""
    problems = []
    for one in changes:
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
