"""Repairs what can be repaired without asking, and writes the file; drops a fix that would change
anything else.

Each fix of the table takes a text and the places (line and column, counted from 1) of its
findings, and returns the text with only those fixed. None reads or writes a file; `fix_file`
decides whether the result may stay.
"""

from __future__ import annotations

import json
import os
import stat
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from types import MappingProxyType
from typing import Any, TypeAlias

from capdisc_indexer.model.errors import InputError
from capdisc_indexer.model.frozen import asdict, frozen, replace
from capdisc_indexer.model.types import Descriptor, Finding, Severity
from capdisc_indexer.platforms import system
from capdisc_indexer.sources.scan.scanned_files import FoundFile, printable_path
from capdisc_indexer.validation.capability_strings import SourceLines, readable_text
from capdisc_indexer.validation.field_fixes import (
    join_tools,
    move_front_matter_up,
    quote_metadata,
    quote_values,
    remove_byte_order_mark,
    remove_invisible,
    rename_keys,
    unify_line_ends,
    visible_part,
    write_repaired,
)
from capdisc_indexer.validation.finding_selection import RuleChoice, select_findings
from capdisc_indexer.validation.shell_word_fixes import comparable_run, pass_values_apart
from capdisc_indexer.validation.validate import loaded_from, order_findings

FixPlaces: TypeAlias = frozenset[tuple[int, int]]
Fix: TypeAlias = Callable[[str, FixPlaces], str]
# From the outside in: the bytes of the file, the place of the fields, the fields as YAML, their
# values.
_YAML_MISTAKES = (
    "yaml-tab",
    "yaml-missing-blank",
    "yaml-block-mark",
    "yaml-unbalanced-quote",
    "yaml-reserved-start",
    "yaml-unquoted-colon",
)
FIXES: Mapping[str, Fix] = MappingProxyType(
    {
        "byte-order-mark": remove_byte_order_mark,
        "line-ends-mixed": unify_line_ends,
        "invisible-character": remove_invisible,
        "frontmatter-in-code-fence": move_front_matter_up,
        "frontmatter-not-first": move_front_matter_up,
        **{code: partial(write_repaired, slip=code) for code in _YAML_MISTAKES},
        "misspelt-field": rename_keys,
        "allowed-tools-type": join_tools,
        "metadata-type": quote_metadata,
        "ambiguous-scalar": quote_values,
        "program-text": pass_values_apart,
    }
)
# One fix can uncover the next mistake of the same file; a file with more rounds than this needs to
# be rewritten.
MAX_ROUNDS = 20
_MARK = "\ufeff"


@frozen(kw_only=True)
class FixedFile:
    """A file before and after, and the rules whose findings were fixed, if any."""

    file: FoundFile
    before: str
    after: str
    codes: tuple[str, ...] = ()


@frozen
class _State:
    """A text with its findings, and what a fix must keep: no new errors, and the meaning."""

    text: str
    findings: tuple[Finding, ...]
    errors: Counter[str]
    meaning: tuple[str, ...]


def fix_file(file: FoundFile, data: bytes, profile: str, choice: RuleChoice) -> FixedFile:
    """The file with every safe fix. A file that is not UTF-8 stays as it is."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return FixedFile(file=file, before="", after="")
    first = state = _check_state(file, text, profile, choice)
    codes: list[str] = []
    for _ in range(MAX_ROUNDS):
        step = _try_fixes(file, state, profile, choice)
        if step is None:
            break
        code, state = step
        codes.append(code)
    return FixedFile(
        file=file, before=first.text, after=state.text, codes=tuple(dict.fromkeys(codes))
    )


def _try_fixes(
    file: FoundFile, state: _State, profile: str, choice: RuleChoice
) -> tuple[str, _State] | None:
    """The code of the first fix that changes something and is safe, with the state after it."""
    for code, fix in FIXES.items():
        places = frozenset(
            (finding.line, finding.column) for finding in state.findings if finding.code == code
        )
        text = _apply_fix(fix, state.text, places, code) if places else state.text
        if text != state.text:
            after = _check_state(file, text, profile, choice)
            if not after.errors - state.errors and _keeps_meaning(state, after):
                return code, after
    return None


def _apply_fix(fix: Fix, text: str, places: FixPlaces, code: str) -> str:
    """The text after the fix. Only the fix for the byte order mark sees that mark."""
    if code == "byte-order-mark" or not text.startswith(_MARK):
        return fix(text, places)
    return _MARK + fix(text.removeprefix(_MARK), places)


def _check_state(file: FoundFile, text: str, profile: str, choice: RuleChoice) -> _State:
    data = text.encode("utf-8")
    loaded = loaded_from(replace(file, size=len(data)), data)
    file_findings = order_findings(
        (finding for finding in loaded.findings if finding.path == file.path), profile
    )
    source = SourceLines([], {file.path: readable_text(data)})
    selected = select_findings(file_findings, choice, source).findings
    # A rule that was not selected still guards the file; one that the user ignores does not.
    guarding = select_findings(file_findings, RuleChoice(ignore=choice.ignore), source).findings
    errors = Counter(finding.code for finding in guarding if finding.severity is Severity.ERROR)
    return _State(
        text, selected, errors, tuple(_meaning(descriptor) for descriptor in loaded.descriptors)
    )


def _keeps_meaning(before: _State, after: _State) -> bool:
    """Whether no capability changed. One that could not be read before may be new."""
    return not before.meaning or before.meaning == after.meaning


def _meaning(descriptor: Descriptor) -> str:
    """All that a capability says as JSON, without what a fix may change: invisible characters,
    whether a value is text, and how an argument reaches a shell.
    """
    source, run = replace(descriptor.source, content_hash=""), comparable_run(descriptor)
    plain = replace(
        descriptor, source=source, extra=_to_lower_text(descriptor.extra), warnings=(), run=run
    )
    values = asdict(plain)
    return visible_part(json.dumps(values, ensure_ascii=False, default=str))


def _to_lower_text(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _to_lower_text(inner) for key, inner in value.items()}
    return (
        [_to_lower_text(inner) for inner in value]
        if isinstance(value, list)
        else str(value).lower()
    )


def rewrite_file(file: FoundFile, data: bytes) -> None:
    """Replace the file with `data` in one step, keeping its mode and owner. Raises InputError when
    a link leads to it, when it changed since it was read, and when it cannot be written.
    """
    shown = printable_path(file.path)
    name = os.path.basename(file.path)
    if os.path.islink(file.path) or os.path.basename(file.resolved) != name:  # noqa: PTH114
        raise InputError(f"{shown} is a link; not written", "name the file itself")
    try:
        folder = system.open_folder(os.path.dirname(file.resolved))  # noqa: PTH120
        try:
            _replace(folder, file, data)
        finally:
            if folder is not None:
                os.close(folder)
    except OSError as error:
        raise InputError(
            f"{shown} cannot be written: {error.strerror}", "check its permissions"
        ) from error


def _replace(folder: int | None, file: FoundFile, data: bytes) -> None:
    parent, base_name = os.path.split(file.resolved)
    name, temporary_name = base_name, f".{base_name}.{os.getpid()}.new"
    if folder is None:
        name, temporary_name = file.resolved, system.join(parent, temporary_name)
    status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    expected_stat = (file.inode, file.size, file.mtime_ns, file.ctime_ns)
    if not stat.S_ISREG(status.st_mode) or expected_stat != (
        status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns,
    ):  # fmt: skip
        raise InputError(
            f"{printable_path(file.path)} has changed since it was read; not written",
            "run the command again",
        )
    try:
        _write_like(system.create_file(temporary_name, folder), data, status)
        os.replace(temporary_name, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary_name, dir_fd=folder)
        raise


def _write_like(handle: int, data: bytes, like: os.stat_result) -> None:
    with open(handle, "wb") as stream:
        stream.write(data)
        system.copy_owner(handle, like)
        system.set_mode(handle, stat.S_IMODE(like.st_mode))
        stream.flush()
        system.sync_file(handle)
