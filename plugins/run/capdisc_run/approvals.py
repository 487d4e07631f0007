"""What has to be asked before a call is made, and what is remembered of the answers.

Whoever writes into an indexed folder decides what `run` starts, and whoever talks an agent round,
with which arguments. So each call is shown once as it is before it is made for the first time,
whatever its manifest says of itself; a yes holds for this content and these arguments alone. Of a
tool that declares no side effects, numbers, choices and truth values may differ, since their
author wrote down what they can be; and whoever sits at the terminal may say yes to any arguments.

The files that a call names are part of what a yes holds for, by their bytes; so are those that the
entry of an MCP server in a workspace names (`named_files`). Named are the words
of the command, parts of such a word (`--file=x`, `sh -c 'cd a && ./x'`), the defaults of the
parameters, and Python modules after `-m`. What these files read, import or start in their turn is
not followed.
"""

# ruff: noqa: PTH112, PTH113, PTH120, PTH123

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from capdisc_guard import is_closed
from capdisc_indexer.config.settings_reader import parse_json
from capdisc_indexer.model.errors import InputError
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.json_types import Arguments
from capdisc_indexer.model.types import Descriptor
from capdisc_indexer.platforms import system
from capdisc_indexer.store import state_file
from capdisc_indexer.validation.arguments import fill_defaults
from capdisc_run.argv_template import fill_placeholders
from capdisc_run.call_types import Call, HttpCall
from capdisc_run.http_request import SAFE_METHODS

# A call of one of these risks is asked about each time.
_CONFIRMED_RISKS = ("medium", "high", "critical")
# How many answers are remembered; the oldest calls are asked about again.
_MAX_APPROVALS = 2_000
# In place of a definition, in the entry of a tool of an MCP server that was approved by its name.
_NAMED = "gateway"


@frozen(kw_only=True)
class Approval:
    """The fingerprints by which a yes to a call is remembered: to the tool as it is now
    (`definition`), to it with these arguments (`exact`), to it with any (`any_arguments`, "" for a
    tool that is approved with its arguments only).
    """

    definition: str
    exact: str
    any_arguments: str = ""


# How many folders are searched for the files: those that words name (`--directory server`,
# `cd scripts`) among them.
_MAX_FOLDERS = 16
# A larger file is not read for its digest.
_MAX_BYTES = 64 * 1024 * 1024
# What separates words where a shell reads them, and an option from its value.
_WORD_SEPARATORS = re.compile(r"[\s;|&()<>\"'`=,]+")
# An option with its value in one word.
_ATTACHED_VALUE = re.compile(r"-[^-\W].")
# Options in one word, of which the last is -m.
_MODULE_OPTION = re.compile(r"-[A-Za-z]*m")
_MODULE = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")


def approval_reasons(
    descriptor: Descriptor, call: Call, is_known: bool, has_other_arguments: bool = False
) -> tuple[str, ...]:
    """Why somebody has to say yes to this call; empty when nobody has to. `has_other_arguments`
    says that the tool has been approved with other arguments.
    """
    has_side_effects = descriptor.has_side_effects or (
        isinstance(call, HttpCall) and call.method not in SAFE_METHODS
    )
    how = "with these arguments" if has_other_arguments else "before as it is now"
    conditions = (
        (not is_known, f"it has not been run {how}"),
        (has_side_effects, "it has side effects"),
        (descriptor.risk in _CONFIRMED_RISKS, f"its risk is {descriptor.risk}"),
        (descriptor.confirm, "its manifest asks for confirmation"),
    )
    return tuple(reason for holds, reason in conditions if holds)


def fingerprint(descriptor: Descriptor, call: Call) -> str:
    """What a yes holds for: how the capability is run, where, by which program, with which secrets
    and which defaults, and the bytes of the files that it names (see `file_digests`). The
    arguments are not part of it: see `approval_of`.
    """
    facts = {
        "id": descriptor.id,
        "path": descriptor.source.path,
        "run": descriptor.run,
        "schema": descriptor.schema,
        "cwd": None if isinstance(call, HttpCall) else system.realpath(call.cwd),
        "secrets": sorted(call.environment),
        "program": None if isinstance(call, HttpCall) else call.argv[0],
        "files": file_digests(descriptor, call),
        "says": [descriptor.risk, descriptor.has_side_effects, descriptor.confirm],
    }
    return _digest(facts)


def approval_of(descriptor: Descriptor, call: Call, arguments: Arguments) -> Approval:
    """The fingerprints of a yes to this call with these arguments, defaults filled in."""
    definition = fingerprint(descriptor, call)
    filled_arguments = fill_defaults(descriptor.schema, arguments)
    is_harmless = not approval_reasons(descriptor, call, is_known=True)
    exact = {
        name: value
        for name, value in filled_arguments.items()
        if not (is_harmless and is_closed(descriptor.schema, name))
    }
    takes_arguments = bool(filled_arguments) or bool((descriptor.schema or {}).get("properties"))
    return Approval(
        definition=definition,
        exact=_digest("exact", definition, exact),
        any_arguments=_digest("any", definition) if is_harmless and takes_arguments else "",
    )


def pending_reasons(
    state_dir: Path, descriptor: Descriptor, call: Call, approval: Approval
) -> tuple[str, ...]:
    """Why somebody has to say yes to this call here; empty when nobody has to. Raises InputError
    where the file of approvals cannot be trusted.
    """
    entries = _load_approvals(state_dir)
    is_known = approval.exact in entries or (
        approval.any_arguments != "" and approval.any_arguments in entries
    )
    definitions = [
        entry.get("definition") for entry in entries.values() if isinstance(entry, Mapping)
    ]
    return approval_reasons(
        descriptor, call, is_known, has_other_arguments=approval.definition in definitions
    )


def is_approved(state_dir: Path, call_fingerprint: str) -> bool:
    """Whether somebody has said yes to it here. Raises InputError where the file of approvals
    cannot be trusted.
    """
    return call_fingerprint in _load_approvals(state_dir)


def approve(state_dir: Path, call_fingerprint: str, identifier: str, definition: str = "") -> None:
    """Remembers a yes."""
    with state_file.lock_folder(_approvals_path(state_dir).parent):
        now = time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime())
        entry = {"id": identifier, "at": now, "definition": definition}
        entries = {**_load_approvals(state_dir), call_fingerprint: entry}
        _save_approvals(state_dir, dict(list(entries.items())[-_MAX_APPROVALS:]))


def _save_approvals(state_dir: Path, entries: Mapping[str, object]) -> None:
    """Only inside `lock_folder`."""
    state_file.replace_state_file(
        _approvals_path(state_dir),
        json.dumps({"version": 1, "approved": entries}, indent=1).encode(),
    )


@frozen(kw_only=True)
class NamedApproval:
    """A tool of an MCP server that was approved with any arguments: its id, and when."""

    id: str
    at: str


def approve_named(state_dir: Path, digests: Mapping[str, str]) -> None:
    """Remembers a yes to tools of MCP servers: their ids by the digests of what it holds for."""
    for digest, identifier in digests.items():
        approve(state_dir, digest, identifier, _NAMED)


def list_named(state_dir: Path) -> dict[str, NamedApproval]:
    """The tools of MCP servers that were approved, by digest, oldest first."""
    return {
        digest: NamedApproval(id=str(entry.get("id", "")), at=str(entry.get("at", "")))
        for digest, entry in _load_approvals(state_dir).items()
        if isinstance(entry, Mapping) and entry.get("definition") == _NAMED
    }


def revoke_named(state_dir: Path, digests: Collection[str]) -> list[str]:
    """Forgets the approvals of tools of MCP servers by what they hold for; the ids."""
    chosen = {
        digest: named.id for digest, named in list_named(state_dir).items() if digest in digests
    }
    if chosen:
        with state_file.lock_folder(_approvals_path(state_dir).parent):
            entries = _load_approvals(state_dir)
            remaining = {key: entry for key, entry in entries.items() if key not in chosen}
            _save_approvals(state_dir, remaining)
    return list(dict.fromkeys(chosen.values()))


def _digest(*parts: object) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


def _approvals_path(state_dir: Path) -> Path:
    return state_dir / "running" / "approved.json"


def _load_approvals(state_dir: Path) -> dict[str, object]:
    """The entries {id, at, definition} by fingerprint, oldest first; an entry may be damaged."""
    data = state_file.read_state_file(_approvals_path(state_dir))
    if data is None:
        return {}
    try:
        approved = parse_json(data)["approved"]
        return {str(key): value for key, value in approved.items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"cannot read {_approvals_path(state_dir)}",
            "remove it; each call will be asked about again",
        ) from error


# The files that a call names.


def file_digests(descriptor: Descriptor, call: Call) -> dict[str, str]:
    """A digest of each file that the call names, by its path. Raises InputError for a file that
    cannot be read.
    """
    return {path: digest_file(resolved) for path, resolved in _called_files(descriptor, call)}


def list_covered_files(descriptor: Descriptor, call: Call) -> list[str]:
    """The paths of the files that the call names, with links resolved and without repetitions."""
    return list(dict.fromkeys(resolved for _, resolved in _called_files(descriptor, call)))


def _called_files(descriptor: Descriptor, call: Call) -> Iterator[tuple[str, str]]:
    """The files that the call names, in the capability's folder and in that of the run."""
    if isinstance(call, HttpCall):
        return iter(())
    folders = (os.path.dirname(descriptor.source.path), str(call.cwd))
    return named_files(_command_words(descriptor), folders)


def named_files(words: Sequence[str], folders: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Path and resolved path of each file that words of a command name: in these folders, and in
    folders that the words name.
    """
    names = list(dict.fromkeys(_candidate_names(words)))
    for folder in _search_folders(folders, names):
        for path in (system.join(folder, name) for name in names):
            if os.path.isfile(resolved := system.realpath(path)):
                yield path, resolved


def _search_folders(parents: Sequence[str], names: Sequence[str]) -> Iterator[str]:
    """The folders that exist, without repetitions: first those that are always searched, then
    those that words name.
    """
    named_folders = (system.join(parent, name) for name in names for parent in parents)
    seen_folders: set[str] = set()
    for folder in (*parents, *named_folders):
        resolved = system.realpath(folder)
        if resolved in seen_folders or not os.path.isdir(resolved):
            continue
        seen_folders.add(resolved)
        yield folder
        if len(seen_folders) == _MAX_FOLDERS:
            return


def _candidate_names(command_words: Sequence[str]) -> Iterator[str]:
    """Texts that may name a file. `__main__.py` is what Python runs of a folder."""
    words = [word for word in command_words if word and "\0" not in word]
    parts = [part for word in words for part in _WORD_SEPARATORS.split(word) if part]
    yield "__main__.py"
    yield from (*words, *parts)
    yield from (word.partition("=")[2] for word in words if "=" in word)
    for part in parts:
        if part.startswith("@"):
            yield part[1:]
        elif _ATTACHED_VALUE.match(part):
            yield part[2:]
        if part.startswith("-m"):
            yield from _module_files(part[2:])
    for option, part in pairwise(parts):
        if _MODULE_OPTION.fullmatch(option):
            yield from _module_files(part)


def _module_files(name: str) -> Iterator[str]:
    """The files that Python may read for the module, those of its packages first."""
    if not _MODULE.fullmatch(name):
        return
    steps = name.split(".")
    for count in range(1, len(steps) + 1):
        yield system.join(*steps[:count], "__init__.py")
    yield f"{system.join(*steps)}.py"
    yield system.join(*steps, "__main__.py")


def _command_words(descriptor: Descriptor) -> list[str]:
    """The words of the command as they are written; with the parameters' defaults filled in; and
    the defaults alone.
    """
    run, defaults = descriptor.run or {}, fill_defaults(descriptor.schema, {})
    words, mcp = run.get("command"), run.get("mcp")
    if "command" not in run and isinstance(mcp, Mapping):
        words = [mcp.get("command"), mcp.get("args")]
    written_words = list(_iter_texts(words))
    filled_words = [text for word in written_words for text in fill_placeholders(word, defaults)]
    return [*written_words, *filled_words, *_iter_texts(defaults)]


def _iter_texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | Mapping):
        for child in value.values() if isinstance(value, Mapping) else value:
            yield from _iter_texts(child)


def digest_file(path: str) -> str:
    """The SHA-256 of the file's bytes; of a file that is too large to be read each time, its
    status, which changes with them (no program sets the time of the last change to an inode).
    Raises InputError for a file that cannot be read.
    """
    try:
        with open(path, "rb") as stream:
            file_stat = os.fstat(stream.fileno())
            if file_stat.st_size > _MAX_BYTES:
                times = f"{file_stat.st_mtime_ns} {file_stat.st_ctime_ns}"
                return f"{file_stat.st_size} {times} {file_stat.st_ino}"
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise InputError(
            f"cannot read {path}: {error.strerror}", "check its permissions"
        ) from error
