"""From what was typed and configured to what was checked."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from capdisc import files, output, runtime, streams, trusting
from capdisc_indexer.check.pipeline import Checked, check
from capdisc_indexer.check.profiles import PROFILES
from capdisc_indexer.check.selection import Choice, choice, keep_guards
from capdisc_indexer.config import Config
from capdisc_indexer.errors import InputError, UsageError
from capdisc_indexer.frozen import frozen, replace
from capdisc_indexer.sources import MAX_READ_BYTES
from capdisc_indexer.sources.files import printable
from capdisc_indexer.trust import Grant, TrustRequest
from capdisc_indexer.types import DeclaredSource


@frozen(kw_only=True)
class Asked:
    """What is to be checked and how; `origins` names where the choice of rules comes from, for whoever misses one.

    `named` says that the roots were typed; `piped` is the text from stdin with its name, None where files are meant.
    """

    here: runtime.Runtime
    roots: tuple[Path, ...]
    named: bool
    sources: tuple[DeclaredSource, ...]
    piped: tuple[bytes, str] | None
    profile: str
    choice: Choice
    origins: tuple[str, ...]


def asked(
    paths: Sequence[Path] | None,
    stdin_filename: str,
    profile: str | None,
    select: Sequence[str] | None,
    ignore: Sequence[str] | None,
    quiet: bool = False,
) -> Asked:
    """What is meant: options first, then settings; unless `quiet`, what of these waits for trust is said. Raises
    UsageError for what makes no sense, InputError for a broken configuration and where there is nothing to check."""
    here = runtime.current()
    config = here.config()
    typed = {"select": select, "ignore": ignore}
    texts = {name: given if given is not None else config[f"validate.{name}"] for name, given in typed.items()}
    origins = [f"--{name}" if typed[name] is not None else config.origins[f"validate.{name}"] for name in texts]
    piped = _piped(paths, stdin_filename)
    waiting = {request.setting for request in _announced(here, config, typed, bool(paths), quiet)}
    wanted = choice(texts["select"], texts["ignore"])
    return Asked(
        here=here,
        roots=() if piped else _roots(here, config, paths),
        named=bool(paths),
        sources=() if piped else here.sources(config, paths or ()),
        piped=piped,
        profile=_profile(profile or config["validate.profile"]),
        choice=keep_guards(wanted, "validate.select" in waiting, "validate.ignore" in waiting),
        origins=tuple(dict.fromkeys(each for each in origins if each != "default")),
    )


def _announced(
    here: runtime.Runtime, config: Config, typed: Mapping[str, Any], is_named: bool, quiet: bool
) -> tuple[TrustRequest, ...]:
    """What waits for trust and matters here: the choice of rules that was not typed, and without names, folders."""
    rules = tuple(trusting.rule_requests(config))
    grant = here.load_grant() if rules else Grant()
    waiting = [
        request
        for request in rules
        if typed[request.setting.removeprefix("validate.")] is None and not grant.covers(request, config.digest)
    ]
    if not is_named:
        folders = (*config.waiting, *here.waiting_links(config))
        waiting += [request for request in folders if request.setting in ("roots", "source", "link")]
    if not quiet:
        trusting.announce(waiting, config.file or str(here.workspace))
    return tuple(waiting)


def checked(want: Asked) -> Checked:
    """What was found. A folder that was named and holds nothing to check is a problem, since nobody names one so."""
    if want.piped is None:
        found = check(want.roots, want.profile, want.choice, want.sources)
        empty = [_nothing(path) for path in want.roots if want.named and path.is_dir() and not _holds(found, path)]
        return replace(found, problems=(*found.problems, *empty))
    from capdisc_indexer.check.standalone import check_text

    return check_text(*want.piped, want.profile, want.choice)


def _holds(found: Checked, folder: Path) -> bool:
    """Whether the folder has a capability file, or something that is wrong with one."""
    chosen = found.chosen
    findings = (*chosen.findings, *chosen.unwanted, *chosen.commented)
    paths = (*((file.path, file.resolved) for file in found.files), *((one.path, one.path) for one in findings))
    below = (f"{str(folder).rstrip('/')}/", f"{str(folder.resolve()).rstrip('/')}/")
    return any(f"{path}/".startswith(below[0]) or resolved.startswith(below[1]) for path, resolved in paths)


def _nothing(folder: Path) -> InputError:
    names = "a SKILL.md, a CAPABILITY.yaml or a capabilities.jsonl"
    return InputError(f"{printable(str(folder))} holds no capability file", f"name a folder with {names} in it")


def _profile(name: str) -> str:
    if name not in PROFILES:
        raise UsageError(f"there is no profile {name!r}", f"one of: {', '.join(PROFILES)}")
    return name


def _piped(paths: Sequence[Path] | None, name: str) -> tuple[bytes, str] | None:
    if files.STDIN not in map(str, paths or ()):
        if name:
            hint = "say: capdisc validate - --stdin-filename NAME"
            raise UsageError("--stdin-filename is for a text from stdin", hint)
        return None
    if len(paths or ()) > 1:
        raise UsageError("stdin is checked alone", "name the files in a call of their own")
    from capdisc_indexer.check.standalone import default_name

    data = streams.stdin_bytes(MAX_READ_BYTES + 1)
    # With a folder, the name is that of a file here, whose text is not yet saved.
    return data, os.path.abspath(name) if "/" in name else name or default_name(data)  # noqa: PTH100


def _roots(here: runtime.Runtime, config: Config, paths: Sequence[Path] | None) -> tuple[Path, ...]:
    """The paths, or the configured and conventional folders that exist."""
    if paths:
        return tuple(here.expand(path) for path in paths)
    for path in here.configured(config):
        if not path.exists():
            output.notice(f"notice: {path} does not exist (from {config.origins['roots']})")
    found = tuple(dict.fromkeys(path for _, path in here.roots(config) if path.exists()))
    if not found and not config.sources:
        raise InputError("there is nothing to check here", "name a folder or a file: capdisc validate PATH")
    return found


def refuse(write: bool, fix: bool, piped: bool, for_programs: bool) -> None:
    """Raises UsageError for options that make no sense together."""
    if write and not fix:
        raise UsageError("--write goes with --fix", "say: capdisc validate --fix --write PATH")
    if write and piped:
        raise UsageError("a text from stdin cannot be written back", "leave --write out: the change is printed")
    if fix and not write and for_programs:
        raise UsageError("--fix prints a diff, which has no other format", "leave the format out, or add --write")
