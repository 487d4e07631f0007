"""Workflow guidance lies in `guidance/<category>.md` of a root; one for a category that nothing has is never shown."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

from capdisc_indexer.sources.files import printable
from capdisc_indexer.types import Finding, Severity


def orphans(root: str, categories: Collection[str]) -> Iterator[Finding]:
    """A warning for each guidance file of this root whose category no capability has."""
    known = {category.casefold() for category in categories}
    folder = Path(root, "guidance")
    try:
        found = [] if folder.is_symlink() else sorted(folder.iterdir())
    except OSError:  # a root without guidance, or a single file
        return
    for path in found:
        if path.suffix == ".md" and path.stem.casefold() not in known:
            message = f"no capability has the category {path.stem[:64]}"
            hint = f"name it after one of: {', '.join(sorted(categories)[:8])}"
            yield Finding(
                code="guidance-orphan", severity=Severity.WARNING, message=message, hint=hint, path=printable(str(path))
            )
