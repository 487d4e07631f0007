"""How one file is written and what lies beside it: rules that a build does not care about."""

from __future__ import annotations

from collections.abc import Iterator

from capdisc_indexer.check.layout import layout_rules
from capdisc_indexer.check.links import link_rules
from capdisc_indexer.check.manifest import manifest_rules
from capdisc_indexer.check.run_shape import program_text, run_shape, steering_variables
from capdisc_indexer.check.skill import skill_rules
from capdisc_indexer.sources import SOURCES
from capdisc_indexer.sources.files import FoundFile
from capdisc_indexer.types import Finding, Loaded, Severity


def form(file: FoundFile, loaded: Loaded) -> Iterator[Finding]:
    """What the format of the file, its clients or a careful author would mend. A place where reading failed already is
    not blamed again."""
    failed = {(one.line, one.column) for one in loaded.findings if one.severity is Severity.ERROR}
    for part in loaded.parts:
        if file.format == "skill":
            yield from (one for one in skill_rules(part, file.path) if (one.line, one.column) not in failed)
            yield from link_rules(part, file)
        elif file.format == "capability":
            yield from manifest_rules(part, file.path)
            yield from run_shape(part, file.path)
            yield from program_text(part, file.path)
            yield from steering_variables(part, file.path)
    if SOURCES[file.format].owns_folder:
        yield from layout_rules(file)
