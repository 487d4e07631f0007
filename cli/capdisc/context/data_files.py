"""Which files of data lie in a folder that no scan reads, and which `[[source]]` reads them?"""

from __future__ import annotations

import json
import os
from collections import Counter
from glob import escape
from pathlib import Path

from capdisc_indexer.sources.format_table import manifest_for, named_source, source_for
from capdisc_indexer.sources.scan.folder_files import by_head, by_look
from capdisc_indexer.sources.scan.folder_tree import SKIPPED_FOLDERS
from capdisc_indexer.sources.source_format import SourceFormat

_MAX_FILES = 5_000
_MAX_DECLARATIONS = 20
# A repository may have a README in each of its folders: a person decides about so many files.
_MAX_MATCHES = 100
# Of all modules, those whose functions are meant for agents.
_TOOL_MODULES = "tools.py"


def write_declarations(
    folder: Path, base: Path, *, is_scanned: bool = False, has_pages: bool = True
) -> list[str]:
    """A `[[source]]` for each kind of data files in the folder, and for each in the folders directly
    in it with all that lies below, with paths as from `base`; one of many files as a comment. Left
    out are skills and capabilities, pages in `base` itself or without `has_pages`, what a folder
    that `is_scanned` gives anyway, and what lies in a folder that mostly holds something else.
    """
    matches, totals = Counter[tuple[str, str, str]](), Counter[str]()
    for place, folders, names in os.walk(folder):
        if any((manifest := manifest_for(name)) and manifest.owns_folder for name in names):
            folders.clear()
            continue
        folders[:] = sorted({name for name in folders if name[0] != "."} - SKIPPED_FOLDERS)
        parts = Path(place).relative_to(folder).parts
        group = os.path.relpath(folder.joinpath(*parts[:1]), base)
        totals[group] += len(names)
        for name in names:
            source = _recognise_data(place, name, is_scanned)
            is_page = source and source.declared == "document"
            if not source or (is_page and (group == "." or not has_pages)):
                continue
            path = os.path.relpath(os.path.join(place, name), base)  # noqa: PTH118
            if source.by_suffix and source.format != "python":
                pattern = f"**/*{Path(name).suffix}" if parts else f"*{Path(name).suffix}"
                path = os.path.normpath(f"{escape(group)}/{pattern}")
            if path.isprintable():
                matches[group, source.declared, path] += 1
        if totals.total() > _MAX_FILES:
            break
    own_group = os.path.relpath(folder, base)
    known = Counter[str]()
    for (group, _, _), count in matches.items():
        known[group] += count
    tables = [
        _write_declaration(word, path, count)
        for (group, word, path), count in sorted(matches.items())
        if group == own_group or 2 * known[group] >= totals[group]
    ]
    return tables[:_MAX_DECLARATIONS]


def _recognise_data(folder: str, name: str, is_scanned: bool) -> SourceFormat | None:
    """The format of a file that a declaration can name, a module only if it is one of tools; None
    for a link, and for a file that a scan reads where its folder `is_scanned`.
    """
    path = Path(folder, name)
    if path.is_symlink():
        return None
    scanned = source_for(name) or by_head(name, str(path))
    if scanned and is_scanned:
        return None
    # Lines of JSON may be capabilities, too.
    lines = by_look(str(path)) if name.endswith(".jsonl") else None
    source = scanned or lines or named_source(name)
    if source and source.format == "python" and not name.endswith(_TOOL_MODULES):
        return None
    return source if source and source.declared else None


def _write_declaration(word: str, path: str, count: int) -> str:
    lines = ["[[source]]", f'format = "{word}"', f"path = {json.dumps(path, ensure_ascii=False)}"]
    if count > _MAX_MATCHES:
        lines = [f"# {line}" for line in (f"{count:,} files:", *lines)]
    return "\n".join(lines)
