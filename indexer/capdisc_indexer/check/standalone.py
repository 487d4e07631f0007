"""One text without a folder, such as an editor pipes through: checked alone, with nothing beside it read."""

from __future__ import annotations

import os

from capdisc_indexer.check.order import ordered
from capdisc_indexer.check.pipeline import Checked, loaded_from
from capdisc_indexer.check.selection import EVERYTHING, Choice, chosen
from capdisc_indexer.check.sourcetext import SourceText, readable
from capdisc_indexer.errors import UsageError
from capdisc_indexer.frozen import replace
from capdisc_indexer.sources import SOURCES, Source, source_for
from capdisc_indexer.sources.files import FoundFile
from capdisc_indexer.types import Finding, Severity

# A place where no file can be, so that no reader of a path finds anything, whatever the text names.
NOWHERE = "/dev/null/nowhere"
# Nothing is known of what would lie beside the text.
_OF_NEIGHBOURS = frozenset({"link-missing", "path-missing", "vanished"})


def check_text(data: bytes, name: str, profile: str = "spec", wanted: Choice = EVERYTHING) -> Checked:
    """What is wrong with a text, as if it stood in a file of that name; an absolute name tells its folder too.

    Raises UsageError for a name that no capability file has.
    """
    source = source_for(os.path.basename(name))
    if source is None or not source.reads:
        names = ", ".join(each for one in SOURCES.values() for each in one.filenames)
        raise UsageError(f"{name} is no name of a capability file", f"one of: {names}")
    file = _file(data, name, source)
    skipped = _OF_NEIGHBOURS if name.startswith("/") else _OF_NEIGHBOURS | {"name-folder-mismatch"}
    found = _too_large(file, source) if len(data) > source.limit_bytes else loaded_from(file, data).findings
    findings = [replace(one, path=name) for one in found if one.code not in skipped]
    texts = SourceText([], {name: readable(data)})
    return Checked(files=(file,), chosen=chosen(ordered(findings, profile), wanted, texts), source=texts)


def default_name(data: bytes) -> str:
    """The name for a text that came without one: a skill begins with a fence."""
    return "SKILL.md" if readable(data[:4096]).lstrip().startswith("---") else "CAPABILITY.yaml"


def _file(data: bytes, name: str, source: Source) -> FoundFile:
    path = f"{NOWHERE}/{name.lstrip('/')}"
    return FoundFile(
        path=path, resolved=path, size=len(data), mtime_ns=0, ctime_ns=0, inode=0, relative=name, root=NOWHERE,
        root_order=0, format=source.format,
    )  # fmt: skip


def _too_large(file: FoundFile, source: Source) -> tuple[Finding, ...]:
    message = f"the text is larger than {source.limit_bytes // 1024} KiB"
    hint = "move long parts into files beside it"
    return (Finding(code="file-too-large", severity=Severity.ERROR, message=message, hint=hint, path=file.path),)
