"""Prints ids or paths for other programs, and opens a capability's file in an editor."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from capdisc.context import surroundings
from capdisc.output import console
from capdisc_indexer.model.errors import InputError, UsageError
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.platforms import system


@frozen(kw_only=True)
class NamePrinter:
    """Whether a command prints paths instead of ids or opens a file, and whether each name ends
    with a null byte. No id and no path holds that, so no blank or line end in a name splits it.
    """

    paths: bool
    null: bool
    opens: bool

    def print_or_open(
        self, runtime: surroundings.Runtime, capabilities: Iterable[tuple[str, str]]
    ) -> None:
        """Print the ids or the paths of these pairs of both; or open the first file."""
        pairs = list(capabilities)
        if not self.opens:
            self.print_names(path if self.paths else identifier for identifier, path in pairs)
        elif pairs:
            _open_file(runtime, pairs[0][1])

    def print_names(self, names: Iterable[str]) -> None:
        """Print each different name once: all of them or none."""
        different_names = dict.fromkeys(names)
        if self.null:
            console.print_bytes("".join(f"{name}\0" for name in different_names).encode())
        elif different_names:
            console.print_long_lines(different_names)


def choose_printer(
    *, ids: bool, paths: bool, null: bool, json: bool, opens: bool = False
) -> NamePrinter | None:
    """The printer of names that the options ask for; None where they ask for something else. Raises
    UsageError for options that exclude each other, and for --open outside a terminal.
    """
    options = {"--open": opens, "--ids": ids, "--paths": paths, "--json": json}
    chosen = [option for option, is_given in options.items() if is_given]
    if len(chosen) > 1:
        raise UsageError(f"{chosen[0]} and {chosen[1]} exclude each other", "give one of them")
    if null and (json or opens):
        raise UsageError(f"--null does not go with {chosen[0]}", "it goes with --ids and --paths")
    if opens:
        _check_terminal(surroundings.current_runtime())
    if not (ids or paths or null or opens):
        return None
    return NamePrinter(paths=paths, null=null, opens=opens)


def _open_file(runtime: surroundings.Runtime, path: str) -> None:
    """Open the file in the person's editor: VISUAL, EDITOR, or what the desktop has for it. Raises
    InputError where no program can open the file.
    """
    if not Path(path).exists():
        raise InputError(
            f"there is no file {path} here", "bring the index up to date: capdisc index"
        )
    run_editor(runtime, path)


def run_editor(runtime: surroundings.Runtime, path: str) -> None:
    """Wait until the person has closed the file in the editor of VISUAL or EDITOR, or the
    desktop's program for the file. Raises InputError where there is none, and where it fails.
    """
    import shutil
    import subprocess

    editor = runtime.environ.get("VISUAL") or runtime.environ.get("EDITOR") or system.FILE_OPENER
    hint = "set EDITOR to an editor, such as EDITOR=nano"
    try:
        words = system.split_words(editor)
    except ValueError as error:
        raise InputError(f"the editor {editor!r} cannot be read: {error}", hint) from error
    if not words or not shutil.which(words[0]):
        raise InputError(f"there is no program {editor!r} to open {path}", hint)
    code = subprocess.run([*words, path], check=False).returncode
    if code:
        raise InputError(f"{editor} ended with exit status {code}", hint)


def _check_terminal(runtime: surroundings.Runtime) -> None:
    if not (runtime.stdin_is_terminal and runtime.stdout_is_terminal):
        raise UsageError(
            "--open works on a terminal only", "--paths prints the path for another program"
        )
