"""What can be put right without asking, shown as a change or written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from capdisc import output
from capdisc.findings.asked import Asked
from capdisc.findings.report import shown
from capdisc_indexer.check.mending import Mended, mend
from capdisc_indexer.check.pipeline import Checked
from capdisc_indexer.check.rewriting import rewrite
from capdisc_indexer.errors import InputError
from capdisc_indexer.sources import SOURCES
from capdisc_indexer.sources.files import FoundFile, read_bytes


def mended(want: Asked, found: Checked) -> list[Mended]:
    """Each file that can be put right, before and after."""
    about = {one.path for one in found.chosen.findings}
    named = [file for file in found.files if want.piped or file.path in about]
    done = [mend(file, data, want.profile, want.choice) for file in named if (data := _data(want, file)) is not None]
    return [one for one in done if one.codes]


def diff(want: Asked, changes: Iterable[Mended]) -> str:
    """The changes as a unified diff, what is hidden made visible."""
    lines = [line for one in changes for line in _lines(one, _name(want, one))]
    return "\n".join(output.safe(line.removesuffix("\n")) for line in lines)


def write(want: Asked, changes: Iterable[Mended], quiet: bool) -> list[InputError]:
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


def _lines(one: Mended, name: str) -> Iterator[str]:
    from difflib import unified_diff

    before, after = (text.splitlines(keepends=True) for text in (one.before, one.after))
    for line in unified_diff(before, after, f"a/{name.lstrip('/')}", f"b/{name.lstrip('/')}"):
        yield line
        if not line.endswith("\n"):
            yield "\\ No newline at end of file"
