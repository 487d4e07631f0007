"""The tests of the commands that work on Windows: `python tests/windows_suite.py`, and options of pytest.

On Windows they run as they are; elsewhere, `played_windows` takes away what Windows lacks.
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

WINDOWS_TESTS = """
tests/indexer/store tests/indexer/test_generation.py tests/indexer/test_background.py
tests/cli/test_hook.py tests/cli/commands/test_mcp_opening.py tests/cli/test_first_steps.py
tests/cli/test_setup.py tests/cli/test_uninstall.py
tests/cli/test_folders.py
tests/test_first_hour.py tests/cli/test_transcripts.py
""".split()
# Only where Windows is played: they import what Windows lacks, or end programs by signals.
PLAYED_TESTS = ["tests/cli/test_background_process.py", "tests/watch/test_command.py"]
# Those of them that need what Windows does not have, and why.
_OWNERS = "Windows has no owners and permissions of POSIX"
_FORK = "the guard's function runs in a fork"
_LINKS = "links need a privilege"
_FOLDER = "its folder is another one there: see test_windows_paths.py"
_PROGRAMS = "capdisc runs no programs there"
_SEPARATOR = "another character stands between paths of a variable, or before them"
_BACKSLASHES = "a file of settings is printed with backslashes"
NOT_ON_WINDOWS = {
    "test_permissions.py": _OWNERS,
    "test_a_file_of_the_user_keeps_its_mode": _OWNERS,
    "test_a_folder_that_others_may_write_to_is_not_used": _OWNERS,
    "test_a_client_gets_a_whole_answer_or_nothing": _FORK,
    "test_doctor_says_why_a_hook_was_late_and_what_helps": _FORK,
    "test_a_hook_imports_no_more_of_the_core_than_a_search": "it imports subprocess",
    "test_a_build_removes_the_folders_of_readers_that_were_killed": _LINKS,
    "test_a_reader_removes_what_a_killed_one_left": _LINKS,
    "test_the_real_table_names_what_holds_this_folder": "only Linux has the table of mounts",
    "test_without_locks_nobody_writes_and_everybody_reads": "the numbers of these errors differ",
    "test_a_link_is_written_through_and_keeps_its_mode": _OWNERS,
    "test_new_files_are_made_and_removed_with_their_folders": _OWNERS,
    "test_a_read_only_file_or_folder_is_an_error": _OWNERS,
    "test_what_is_written_is_read_by_its_owner_alone": _OWNERS,
    "[setup: What is no text is an error": "a folder that is opened gives another error",
    "[trust: What trust keeps is private": _OWNERS,
    "[run: ": _PROGRAMS,
    "[index: The examples of init are valid, and the tool runs": _PROGRAMS,
    "A pipe is refused at once": "there are no such files",
    "A link to a pipe is refused at once": "there are no such files",
    "[rows: The log counts": _OWNERS,
    "[builds: Only its owner can read": _OWNERS,
    "[changed_definitions: The memory of definitions": _OWNERS,
    "[doctor: An index that others may write to": _OWNERS,
    "[show_links: `show --links` lists": "a folder that is opened gives another error",
    "[declared: CAPDISC_DIRS, or else": _SEPARATOR,
    "[render: What is pinned passes": _SEPARATOR,
    "[index: Roots in a file are meant": _SEPARATOR,
    "[gateway: ": _PROGRAMS,
    "[mcp_servers: ": _PROGRAMS,
    "[reference_library: Of two spellings": "two spellings are one file there",
    "[table: ": "its Python may lack LanceDB",
    "[index: A first build counts files with errors": "not understood: the notice is missing",
    "[trust: A line of the file cannot forge": "the forged path has slashes",
    "[config: config set makes the user's own file": _BACKSLASHES,
    "[index: `config` names the file": _BACKSLASHES,
    "[declared: The user's sources come beside": _BACKSLASHES,
    "[validate: --fix --write": _OWNERS,
    "[words: An error names what was meant": "its shells quote otherwise",
    "[claude-desktop": _FOLDER,
    "[zed": _FOLDER,
    "[crush": _FOLDER,
    "test_a_path_with_blanks_is_quoted_for_the_shell": "its shells quote otherwise",
    "or_a_special_file[fifo]": "there are no such files",
    "test_a_signal_ends_it_and_what_it_started[1-": "there is no SIGHUP",
    "test_doctor_names_a_build_that": "a job ends what meets its limits with codes of Windows",
    "test_a_build_that_somebody_stops": "nobody can send it a signal",
    "test_a_name_that_is_not_utf_8_is_refused": "names are UTF-16 there",
    "test_the_innermost_and_latest_mount_counts": "only Linux has the table of mounts",
    "test_the_end_of_stdin_ends_it_quietly": "its shells cannot close a stream",
    "test_a_person_is_asked_at_a_terminal": "there are no pseudo-terminals",
    "test_on_macos_every_client": "PATH is separated otherwise",
    "test_a_client_that_ignores_ended_children": "there is no SIGCHLD",
}


def pytest_collection_modifyitems(items: list[Any]) -> None:
    """Skip what asks for POSIX."""
    import pytest

    for item in items:
        reasons = [reason for name, reason in NOT_ON_WINDOWS.items() if name in item.nodeid]
        if sys.platform == "win32" and _needs_shell(item):
            reasons.append("it types into a shell with GNU's programs")
        if reasons:
            item.add_marker(pytest.mark.skip(reason=f"not on Windows: {reasons[0]}"))
        if "test_hook.py" in item.nodeid:
            # A build in the background outlives the hook, which runs in a process of its own
            # elsewhere.
            item.add_marker(pytest.mark.filterwarnings("ignore:subprocess .* is still running"))
            unraisable = "pytest.PytestUnraisableExceptionWarning"
            item.add_marker(pytest.mark.filterwarnings(f"ignore::{unraisable}"))


def _needs_shell(item: Any) -> bool:
    """Whether a case of the transcripts types more than what runs in this process."""
    from rows.transcript import needs_shell

    case = item.callspec.params.get("case", "") if hasattr(item, "callspec") else ""
    lines = case.splitlines() if isinstance(case, str) else ()
    return any(needs_shell(line[2:]) for line in lines if line.startswith("$ "))


if __name__ == "__main__":
    is_windows = sys.platform == "win32"
    plugins = ["windows_suite"] if is_windows else ["played_windows", "windows_suite"]
    tests = [*WINDOWS_TESTS, *([] if is_windows else PLAYED_TESTS)]
    options = [word for plugin in plugins for word in ("-p", plugin)]
    options += ["-p", "no:cacheprovider", "-W", "ignore:Module already imported", "-rs"]
    command = [sys.executable, "-m", "pytest", *options, *tests, *sys.argv[1:]]
    environment = {**os.environ, "PYTHONPATH": os.path.dirname(__file__)}  # of the workers, too
    sys.exit(subprocess.call(command, env=environment))
