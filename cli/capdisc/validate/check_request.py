"""What `capdisc validate` is asked to check, by options and settings, and the check itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import capdisc_indexer as cd
from capdisc.context import surroundings, user_files, workspace_trust
from capdisc.context.client_places import find_plugins_here, link_rules
from capdisc.context.coverage import USUAL, name_absent_roots
from capdisc.context.index_scope import (
    folder_requests,
    list_declared_sources,
    list_scan_roots,
    place_sources,
)
from capdisc.output import command_process, console
from capdisc_indexer.config.configuration import Config
from capdisc_indexer.config.settings import fixed_part
from capdisc_indexer.config.trust import LINK, OWNER, Grant, TrustRequest
from capdisc_indexer.model.errors import InputError, UsageError
from capdisc_indexer.model.frozen import frozen, replace
from capdisc_indexer.model.types import DeclaredSource
from capdisc_indexer.platforms import system
from capdisc_indexer.sources.format_table import MAX_READ_BYTES
from capdisc_indexer.sources.scan.scanned_files import FoundFile, printable_path
from capdisc_indexer.text.normalization import compile_late
from capdisc_indexer.validation.finding_selection import RuleChoice, keep_guards, rule_choice
from capdisc_indexer.validation.rules import find_profile
from capdisc_indexer.validation.validate import CheckedFile, ValidationResult

_MANY_FILES = 1_000
# The folders of Claude Code; others below .claude, such as worktrees, hold anything.
_CLAUDE_FOLDERS = compile_late(r"/\.claude/(?:skills|agents|commands|plugins)(?:/|$)")


@frozen(kw_only=True)
class ValidateRequest:
    """What to check, and with which rules. `origins` names the options and settings that choose
    rules. `has_paths` says that the roots were typed. `piped_text` is the text from stdin with its
    name, None where files are checked. `reason` says why the profile is not the usual one.
    """

    runtime: surroundings.Runtime
    roots: tuple[Path, ...]
    has_paths: bool
    sources: tuple[DeclaredSource, ...]
    piped_text: tuple[bytes, str] | None
    profile: str
    choice: RuleChoice
    origins: tuple[str, ...]
    reason: str = ""


def parse_request(
    paths: Sequence[Path] | None,
    stdin_filename: str,
    profile: str | None,
    select: Sequence[str] | None,
    ignore: Sequence[str] | None,
    quiet: bool = False,
    is_of_user: bool = False,
) -> ValidateRequest:
    """The request by options, then by settings: of the workspace's folders, or with `is_of_user`
    of the user's, where no path is named. Unless `quiet`, a notice names the settings that
    wait for trust. Raises UsageError for options that make no sense, InputError for a broken
    configuration and where there is nothing to check.
    """
    runtime = surroundings.current_runtime()
    config = runtime.config()
    typed_codes = {"select": select, "ignore": ignore}
    texts = {
        name: value if value is not None else config[f"validate.{name}"]
        for name, value in typed_codes.items()
    }
    origins = [
        f"--{name}" if typed_codes[name] is not None else config.origins[f"validate.{name}"]
        for name in texts
    ]
    piped = _read_piped(paths, stdin_filename)
    requests = _waiting_requests(runtime, config, typed_codes, bool(paths))
    if not quiet:
        workspace_trust.announce(requests, config.file or runtime.workspace.as_posix())
    waiting = {request.setting for request in requests}
    choice = rule_choice(texts["select"], texts["ignore"])
    roots, sources = _select_places(runtime, config, paths, is_of_user) if not piped else ((), ())
    places = [*roots, *(path for path in map(_fixed_path, sources) if path.exists())]
    reason = ""
    is_open = not profile and config.origins["validate.profile"] == "default" and bool(places)
    if is_open and all(_CLAUDE_FOLDERS.search(place.as_posix()) for place in places):
        profile, reason = "claude-code", "only folders of Claude Code are checked"
    return ValidateRequest(
        runtime=runtime,
        roots=roots,
        has_paths=bool(paths),
        sources=sources,
        piped_text=piped,
        profile=_select_profile(profile or config["validate.profile"], quiet),
        choice=keep_guards(choice, "validate.select" in waiting, "validate.ignore" in waiting),
        origins=tuple(dict.fromkeys(origin for origin in origins if origin != "default")),
        reason=reason,
    )


def _waiting_requests(
    runtime: surroundings.Runtime,
    config: Config,
    typed_codes: Mapping[str, Sequence[str] | None],
    has_paths: bool,
) -> tuple[TrustRequest, ...]:
    """The requests that wait for trust and matter for this check: the choice of rules where it was
    not typed, and folders where no path was.
    """
    rules = tuple(workspace_trust.rule_requests(config))
    grant = runtime.load_grant() if rules else Grant()
    waiting = [
        request
        for request in rules
        if typed_codes[request.setting.removeprefix("validate.")] is None
        and not grant.covers(request, config.digest)
    ]
    if not has_paths:
        folders = (*config.waiting, *folder_requests(runtime, config))
        waiting += [
            request for request in folders if request.setting in ("roots", "source", LINK, OWNER)
        ]
    return tuple(waiting)


def run_checks(request: ValidateRequest) -> ValidationResult:
    """The findings, and the problems of what was not checked, such as an empty typed folder."""
    if request.piped_text is None:
        check_result = cd.validate(
            request.roots,
            request.profile,
            request.choice,
            request.sources,
            _map_files,
            link_rules(request.runtime),
        )
        empty = [
            _empty_folder_error(path)
            for path in request.roots
            if request.has_paths and path.is_dir() and not _holds_capabilities(check_result, path)
        ]
        return replace(check_result, problems=(*check_result.problems, *empty))
    from capdisc_indexer.validation.validate import check_text

    return check_text(*request.piped_text, request.profile, request.choice)


def _map_files(
    work: Callable[[FoundFile], CheckedFile], files: Sequence[FoundFile]
) -> Iterator[CheckedFile]:
    """The results of the work for each file, in order; for many files, from a pool of processes."""
    if len(files) < _MANY_FILES:
        yield from map(work, files)
        return
    from capdisc_indexer.indexing.worker_pool import WorkerPool  # 10 ms, which a hook is spared

    with WorkerPool() as pool:
        yield from pool.map(work, files, len(files))


def _holds_capabilities(check_result: ValidationResult, folder: Path) -> bool:
    """Whether the folder has a capability file, or a finding about one."""
    chosen = check_result.chosen
    findings = (*chosen.findings, *chosen.unwanted, *chosen.commented)
    paths = (
        *((file.path, file.resolved) for file in check_result.files),
        *((finding.path, finding.path) for finding in findings),
    )
    below = (f"{folder.as_posix().rstrip('/')}/", f"{folder.resolve().as_posix().rstrip('/')}/")
    return any(
        f"{path}/".startswith(below[0]) or resolved.startswith(below[1])
        for path, resolved in paths
    )


def _empty_folder_error(folder: Path) -> InputError:
    names = "a SKILL.md, a CAPABILITY.yaml or a capabilities.jsonl"
    return InputError(
        f"{printable_path(folder.as_posix())} holds no capability file",
        f"name a folder with {names} in it",
    )


def _select_profile(name: str, quiet: bool) -> str:
    """The profile of this name. A notice says which one `claude` is: everywhere else that word
    means Claude Code. Raises UsageError for an unknown name.
    """
    profile = find_profile(name)
    if name == "claude" and not quiet:
        console.print_notice(
            "notice: claude is the profile claude-ai (claude.ai and the Skills API); "
            "for Claude Code: --profile claude-code"
        )
    return profile


def _read_piped(paths: Sequence[Path] | None, name: str) -> tuple[bytes, str] | None:
    if user_files.STDIN not in map(str, paths or ()):
        if name:
            hint = "run: capdisc validate - --stdin-filename NAME"
            raise UsageError("--stdin-filename is for a text from stdin", hint)
        return None
    if len(paths or ()) > 1:
        raise UsageError("stdin is checked alone", "check the files in a separate call")
    from capdisc_indexer.validation.validate import default_name

    data = command_process.read_stdin_bytes(MAX_READ_BYTES + 1)
    # With a folder, the name is that of a file here, whose text is not yet saved.
    return data, system.abspath(name) if "/" in name else name or default_name(data)


def _select_places(
    runtime: surroundings.Runtime,
    config: Config,
    paths: Sequence[Path] | None,
    is_of_user: bool,
) -> tuple[tuple[Path, ...], tuple[DeclaredSource, ...]]:
    """The typed paths, or the folders that exist of the workspace or of the user, and the sources
    in them. Raises InputError where there are none.
    """
    sources = (
        *list_declared_sources(runtime, config, paths or ()),
        *place_sources(runtime, config, paths or ()),
    )
    if paths:
        if is_of_user:
            raise UsageError("--user goes without PATH", "leave out one of them")
        return tuple(runtime.expand(path) for path in paths), sources
    name_absent_roots(runtime, config, USUAL)
    origins = {"user", "machine", str(runtime.user_config)}
    for plugin in find_plugins_here(runtime, config["folders"])[0]:
        origins |= {plugin.id, f"plugin {plugin.id}"}
    # In the home folder, the workspace's folders are the user's.
    is_of_user = is_of_user or runtime.workspace == runtime.home
    roots = [
        path
        for origin, path in list_scan_roots(runtime, config)
        if (origin in origins) is is_of_user and path.exists()
    ]
    chosen = tuple(source for source in sources if (source.origin in origins) is is_of_user)
    if not roots and not any(_fixed_path(source).exists() for source in chosen):
        hint = "name a folder or a file: capdisc validate PATH"
        raise InputError(
            "there is nothing to check here",
            hint if is_of_user else f"{hint}, or check your own: capdisc validate --user",
        )
    return tuple(dict.fromkeys(roots)), chosen


def _fixed_path(source: DeclaredSource) -> Path:
    return Path(fixed_part(source.path)[0])


def check_fix_options(write: bool, fix: bool, is_piped: bool, is_for_people: bool) -> None:
    """Raises UsageError for options that need or exclude another one."""
    if write and not fix:
        raise UsageError("--write goes with --fix", "run: capdisc validate --fix --write PATH")
    if write and is_piped:
        raise UsageError(
            "a text from stdin cannot be written back", "leave --write out: the change is printed"
        )
    if fix and not write and not is_for_people:
        raise UsageError(
            "--fix prints a diff, which has no other format",
            "leave the format out, or add --write",
        )
