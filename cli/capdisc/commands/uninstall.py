"""capdisc uninstall: what capdisc has put on this machine for this user, and its removal."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated

from capdisc.args import params
from capdisc.args.command_line import option
from capdisc.commands import setup_changes
from capdisc.context import surroundings
from capdisc.output import console
from capdisc.output.command_process import YES, ExitCode, has_person, read_answer
from capdisc.setup import recorded_entries
from capdisc.setup.client_settings import CLIENTS
from capdisc.setup.file_changes import FileChange
from capdisc.setup.settings_entries import find_own_plugin
from capdisc_indexer.installation import find_installation, remove_command
from capdisc_indexer.model.errors import CapdiscError, InputError
from capdisc_indexer.model.json_types import JsonObject
from capdisc_indexer.text.shell_quoting import quote_word

_NAME = "capdisc"
_STATE = "state"
_ABOUT = {
    "indexes": "made again by a search",
    _STATE: "sessions, facts, trust, what the hook remembers",
    "settings": "yours, for all projects",
}


def uninstall(
    yes: Annotated[bool, option("--yes", "-y", help="Remove without a question.")] = False,
    json: params.Json = False,
) -> int:
    """Remove what capdisc has on this machine: its entries in the settings of clients, indexes,
    state and settings.

    Lists all of it with its size, and removes it once you say yes; then says how to remove the
    program itself. Skills and other files of your projects stay. Exit status 1: something is left,
    and why; 5: nobody said yes.

    Example: capdisc uninstall
    """
    runtime = surroundings.current_runtime()
    changes, problems = recorded_entries.plan_undo_of_all(runtime)
    pending = [change for change in changes if change.is_change]
    folders = list(_find_folders(runtime, has_records=bool(problems)))
    due = [Path(folder["path"]) for folder in folders if not folder["left"]]
    if not json:
        console.print_lines(_format_plan(pending, folders))
    is_due = bool(pending or due)
    is_asked = is_due and not (json or yes) and has_person(runtime)
    is_agreed = is_due and (yes or (is_asked and read_answer("Remove all of this? [y/N]") in YES))
    if is_agreed:
        setup_changes.write_changes(runtime, changes, undo=True)
        for path in due:
            _remove_folder(path)
    command = remove_command(find_installation())
    if json:
        files = [
            {"path": change.path.as_posix(), "parts": setup_changes.part_names(change)}
            for change in pending
        ]
        facts = {"removed": is_agreed, "package": command}
        console.print_document({"files": files, "folders": folders, **facts})
    if is_due and not is_agreed:
        raise setup_changes.describe_refusal(runtime, json, "removed")
    for problem in problems:
        console.print_notice(f"notice: {problem.message} ({problem.hint})")
    for folder in folders:
        if folder["left"]:
            console.print_notice(f"notice: {folder['path']} is left: {folder['left']}")
    for client in CLIENTS:
        if plugin := find_own_plugin(runtime, client):
            console.print_notice(f"notice: the plugin stays: {client} plugin uninstall {plugin}")
    console.print_notice(f"to remove the program: {command}")
    return ExitCode.FINDINGS if problems or len(due) < len(folders) else ExitCode.OK


def _find_folders(runtime: surroundings.Runtime, has_records: bool) -> Iterator[JsonObject]:
    """The folders that are there: what each holds, its size, and why it is left (None: it goes).
    With `has_records` that of the state is still needed.
    """
    places = {
        runtime.user_folder("cache"): "indexes",
        runtime.user_state_dir(): _STATE,
        runtime.trust_dir.parent: _STATE,
        runtime.user_config.parent: "settings",
    }
    usual = {path for path in places if path.is_absolute()}
    if runtime.environ.get("CAPDISC_STATE_DIR"):
        usual.discard(runtime.user_state_dir())
    with suppress(CapdiscError):  # a setting that cannot be read leads nowhere
        config = runtime.config()
        if config["index_dir"]:
            places.setdefault(runtime.index_dir(None, config), "indexes")
    for path, noun in places.items():
        if path.is_dir():
            # Whoever wrote the settings of a project may have named any folder.
            reason = _find_reason(runtime, path, is_usual=path in usual)
            if not reason and noun == _STATE and has_records:
                reason = "it says what is to be taken out of the files above"
            yield {
                "path": path.as_posix(),
                "what": noun,
                "bytes": _measure(path),
                "left": reason or None,
            }


def _find_reason(runtime: surroundings.Runtime, path: Path, is_usual: bool) -> str:
    """Why a folder may hold something else, and is left to a person; "" where it does not."""
    real = path.resolve()
    needed = (runtime.home, runtime.workspace, runtime.cwd)
    if path.is_symlink():
        return "it is a link"
    if any(folder.resolve().is_relative_to(real) for folder in needed):
        return "it is the home folder or the current one, or holds it"
    if not is_usual or _NAME not in (path.name, path.parent.name) or (path / ".git").exists():
        return f"it may hold other things; to remove it: rm -r {quote_word(str(path))}"
    return ""


def _measure(folder: Path) -> int:
    """The bytes of the files in the folder, each counted once however many names it has."""
    sizes: dict[tuple[int, int], int] = {}
    for top, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):  # another process may remove it
                status = os.lstat(Path(top, name))
                sizes[status.st_dev, status.st_ino] = status.st_size
    return sum(sizes.values())


def _remove_folder(folder: Path) -> None:
    try:
        shutil.rmtree(folder)
    except OSError as error:
        raise InputError(
            f"cannot remove {error.filename or folder}: {error.strerror}",
            "another capdisc may be at work there: run it again",
        ) from error


def _format_size(size: int) -> str:
    return f"{size / 1e6:,.1f} MB" if size >= 100_000 else f"{max(size, 100) / 1e3:,.1f} kB"


def _format_plan(pending: Sequence[FileChange], folders: Sequence[JsonObject]) -> list[str]:
    """A table of what goes, with sizes."""
    rows = []
    for change in pending:
        clients = ", ".join(dict.fromkeys(entry.client for entry in change.entries))
        titles = [setup_changes.PART_TITLES[part] for part in setup_changes.part_names(change)]
        rows.append((change.path.as_posix(), f"{' and '.join(titles)} of {clients}", ""))
    rows += [
        (
            folder["path"],
            f"{folder['what']}: {_ABOUT[folder['what']]}",
            _format_size(folder["bytes"]),
        )
        for folder in folders
        if not folder["left"]
    ]
    return (
        console.format_table(("where", "what", "size"), rows)
        if rows
        else ["there is nothing to remove"]
    )
