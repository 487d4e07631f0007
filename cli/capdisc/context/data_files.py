"""Which files of data lie in a folder that no scan reads, and which `[[source]]` reads them?"""

from __future__ import annotations

import json
import os
from collections import Counter
from glob import escape
from pathlib import Path

from capdisc_indexer.platforms import system
from capdisc_indexer.sources.format_table import manifest_for, named_source, source_for
from capdisc_indexer.sources.scan.folder_files import by_head, by_look
from capdisc_indexer.sources.scan.folder_tree import SKIPPED_FOLDERS
from capdisc_indexer.sources.source_format import SourceFormat

_MAX_FILES = 5_000
_MAX_DECLARATIONS = 20
# A repository may have a README in each folder: a person decides about more files than this.
_MAX_MATCHES = 100
# Of all modules, those whose functions are meant for agents.
_TOOL_MODULES = "tools.py"
# They belong to pages, and say nothing about what a folder holds.
_PICTURES = (".png", ".svg", ".jpg", ".jpeg", ".gif", ".webp")


def draft_declarations(folder: Path, base: Path, *, is_scanned: bool = False) -> list[str]:
    """A `[[source]]` for each kind of data files in the folder, and for each in the folders
    directly in it with all that lies below, with paths as from `base`; one of many files as a
    comment. Left out are skills and capabilities, pages in `base` itself, and what lies in a
    folder that mostly holds something else; of a folder that `is_scanned` what a scan gives, and
    pages if it gives any.
    """
    matches, scanned_count, seen_count = Counter[tuple[str, str, str]](), 0, 0
    known_counts, totals = Counter[str](), Counter[str]()
    for place, folders, names in os.walk(folder):
        if any((manifest := manifest_for(name)) and manifest.owns_folder for name in names):
            folders.clear()
            scanned_count += 1
            continue
        folders[:] = sorted({name for name in folders if name[0] != "."} - SKIPPED_FOLDERS)
        parts = Path(place).relative_to(folder).parts
        group = system.relpath(folder.joinpath(*parts[:1]), base)
        totals[group] += sum(not name.endswith(_PICTURES) for name in names)
        paths = map(Path(place).joinpath, names[:_MAX_FILES])
        for path in (path for path in paths if not path.is_symlink()):
            by_name = source_for(path.name) or by_head(path.name, path.as_posix())
            source = by_name or _recognise_data(path)
            scanned_count += by_name is not None
            known_counts[group] += source is not None
            if source and source.declared and not (by_name and is_scanned):
                shown = system.relpath(path, base)
                if source.by_suffix and source.format != "python":
                    pattern = f"{escape(group)}/{'**/' if parts else ''}*{path.suffix}"
                    shown = system.normpath(pattern)
                matches[group, source.declared, shown] += 1
        seen_count += len(names)
        if seen_count > _MAX_FILES:
            break
    own_group = system.relpath(folder, base)
    tables = [
        _format_declaration(word, path, count)
        for (group, word, path), count in sorted(matches.items())
        if path.isprintable()
        and (group == own_group or 2 * known_counts[group] >= totals[group])
        and (word != "document" or not (group == "." or (is_scanned and scanned_count)))
    ]
    return tables[:_MAX_DECLARATIONS]


def _recognise_data(path: Path) -> SourceFormat | None:
    """The format of a file of data, a module only if it is one of tools."""
    # Lines of JSON may be capabilities, too.
    lines = by_look(path.as_posix()) if path.suffix == ".jsonl" else None
    source = lines or named_source(path.name)
    is_other = source and source.format == "python" and not path.name.endswith(_TOOL_MODULES)
    return None if is_other else source


def _format_declaration(word: str, path: str, count: int) -> str:
    lines = ["[[source]]", f'format = "{word}"', f"path = {json.dumps(path, ensure_ascii=False)}"]
    if count > _MAX_MATCHES:
        lines = [f"# {line}" for line in (f"{count:,} files:", *lines)]
    return "\n".join(lines)
