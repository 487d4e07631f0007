"""A file with everything put right that can be without asking; a fix that would change anything
else is dropped.
"""

from __future__ import annotations

import json
import os
import stat
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from capdisc_indexer.model.errors import InputError
from capdisc_indexer.model.frozen import asdict, frozen, replace
from capdisc_indexer.model.types import Descriptor, Finding, Severity
from capdisc_indexer.sources.scan.scanned_files import FoundFile, printable_path
from capdisc_indexer.validation.capability_strings import SourceLines, readable_text
from capdisc_indexer.validation.finding_selection import RuleChoice, select_findings
from capdisc_indexer.validation.fixes import FIXES, Fix, FixPlaces
from capdisc_indexer.validation.fixes.field_region import visible_part
from capdisc_indexer.validation.program_text.rewriting import comparable_run
from capdisc_indexer.validation.validate import loaded_from, order_findings

# Put a new text in the place of a file that was read: in one step, and only if it still is that
# file.

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def rewrite_file(file: FoundFile, data: bytes) -> None:
    """Replace the file, keeping its mode and owner. Raises InputError where a link leads to it,
    where it changed since it was read, and where it cannot be written.
    """
    shown = printable_path(file.path)
    name = os.path.basename(file.path)
    if os.path.islink(file.path) or os.path.basename(file.resolved) != name:  # noqa: PTH114
        raise InputError(f"{shown} is a link; not written", "name the file itself")
    try:
        folder = _open_folder(os.path.dirname(file.resolved))  # noqa: PTH120
        try:
            _replace(folder, name, file, data)
        finally:
            os.close(folder)
    except OSError as error:
        raise InputError(
            f"{shown} cannot be written: {error.strerror}", "check its permissions"
        ) from error


def _open_folder(path: str) -> int:
    """A handle on the folder, opened part by part, so that no link on the way is followed."""
    folder = os.open("/", _FOLDER)
    for part in path.strip("/").split("/"):
        if part:
            try:
                inner = os.open(part, _FOLDER, dir_fd=folder)
            finally:
                os.close(folder)
            folder = inner
    return folder


def _replace(folder: int, name: str, file: FoundFile, data: bytes) -> None:
    status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    expected_stat = (file.inode, file.size, file.mtime_ns, file.ctime_ns)
    if not stat.S_ISREG(status.st_mode) or expected_stat != (
        status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns,
    ):  # fmt: skip
        raise InputError(
            f"{printable_path(file.path)} has changed since it was read; not written",
            "run the command again",
        )
    temporary_name = f".{name}.{os.getpid()}.new"
    try:
        _write(os.open(temporary_name, _NEW, 0o600, dir_fd=folder), data, status)
        os.replace(temporary_name, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary_name, dir_fd=folder)
        raise


def _write(handle: int, data: bytes, like: os.stat_result) -> None:
    with open(handle, "wb") as stream:
        stream.write(data)
        with suppress(PermissionError):  # only its owner's group, or root, can give a file away
            os.fchown(handle, like.st_uid, like.st_gid)
        os.fchmod(handle, stat.S_IMODE(like.st_mode))
        stream.flush()
        os.fsync(handle)


# A fix can bring out the next slip of the same file; more rounds than this are a file to be
# written anew.
MAX_ROUNDS = 20
_MARK = "\ufeff"


@frozen(kw_only=True)
class FixedFile:
    """A file before and after, and the rules whose findings were put right; none where nothing
    was.
    """

    file: FoundFile
    before: str
    after: str
    codes: tuple[str, ...] = ()


@frozen
class _State:
    """A text, the findings about it that are wanted, and what it must not lose by being put
    right.
    """

    text: str
    findings: tuple[Finding, ...]
    errors: Counter[str]
    meaning: tuple[str, ...]


def fix_file(file: FoundFile, data: bytes, profile: str, choice: RuleChoice) -> FixedFile:
    """The file put right as far as is safe. What is not UTF-8 stays as it is."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return FixedFile(file=file, before="", after="")
    first = state = _state(file, text, profile, choice)
    codes: list[str] = []
    for _ in range(MAX_ROUNDS):
        done = _round(file, state, profile, choice)
        if done is None:
            break
        code, state = done
        codes.append(code)
    return FixedFile(
        file=file, before=first.text, after=state.text, codes=tuple(dict.fromkeys(codes))
    )


def _round(
    file: FoundFile, state: _State, profile: str, choice: RuleChoice
) -> tuple[str, _State] | None:
    """The first fix that changes something and may, with what it leads to."""
    for code, fix in FIXES.items():
        places = frozenset(
            (finding.line, finding.column) for finding in state.findings if finding.code == code
        )
        text = _apply_fix(fix, state.text, places, code) if places else state.text
        if text != state.text:
            after = _state(file, text, profile, choice)
            if not after.errors - state.errors and _says_the_same(state, after):
                return code, after
    return None


def _apply_fix(fix: Fix, text: str, places: FixPlaces, code: str) -> str:
    """The text after the fix, which never sees the byte order mark unless it is what is wrong."""
    if code == "byte-order-mark" or not text.startswith(_MARK):
        return fix(text, places)
    return _MARK + fix(text.removeprefix(_MARK), places)


def _state(file: FoundFile, text: str, profile: str, choice: RuleChoice) -> _State:
    data = text.encode("utf-8")
    loaded = loaded_from(replace(file, size=len(data)), data)
    file_findings = order_findings(
        (finding for finding in loaded.findings if finding.path == file.path), profile
    )
    source = SourceLines([], {file.path: readable_text(data)})
    selected = select_findings(file_findings, choice, source).findings
    # A rule that was not selected still guards the file; one that somebody silenced does not.
    guarding = select_findings(file_findings, RuleChoice(ignore=choice.ignore), source).findings
    errors = Counter(finding.code for finding in guarding if finding.severity is Severity.ERROR)
    return _State(
        text, selected, errors, tuple(_meaning(descriptor) for descriptor in loaded.descriptors)
    )


def _says_the_same(before: _State, after: _State) -> bool:
    """Whether no capability changed. One that could not be read before may be there after."""
    return not before.meaning or before.meaning == after.meaning


def _meaning(descriptor: Descriptor) -> str:
    """All that a capability says, without what a fix may change: what nobody sees, whether a value
    is text, and how an argument reaches a shell.
    """
    source, run = replace(descriptor.source, content_hash=""), comparable_run(descriptor.run)
    plain = replace(
        descriptor, source=source, extra=_as_text(descriptor.extra), warnings=(), run=run
    )
    values = asdict(plain)
    return visible_part(json.dumps(values, ensure_ascii=False, default=str))


def _as_text(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _as_text(inner) for key, inner in value.items()}
    return [_as_text(inner) for inner in value] if isinstance(value, list) else str(value).lower()
