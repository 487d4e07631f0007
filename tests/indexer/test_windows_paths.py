"""What differs on Windows and can be computed on any system, above all paths, which have slashes
wherever capdisc keeps or prints them.
"""

import ntpath
import os
from pathlib import Path, PureWindowsPath

import pytest

from capdisc_indexer.config.client_table import settings_folders
from capdisc_indexer.platforms import system, windows, windows_paths
from capdisc_indexer.sources.scan.folder_tree import ScanFolder, ScanRoot, is_inside
from capdisc_indexer.text.location import locate_file
from capdisc_indexer.watching.fs_events import is_relevant_event
from case_rows import read_rows


@pytest.mark.parametrize(
    ("path", "expected"),
    read_rows(__file__, "a_path_has_slashes_and_long_paths_keep_their_beginning"),
)
def test_a_path_has_slashes_and_long_paths_keep_their_beginning(path, expected):
    assert windows_paths.normpath(path) == expected


def test_names_are_joined_to_drives_and_shares():
    assert windows.join("C:/w", "a\\b") == "C:/w/a/b"
    assert windows.join("C:/w", "D:\\x") == "D:/x"
    assert windows.join("//server/share", "skills") == "//server/share/skills"


def test_a_path_on_another_drive_stays_absolute():
    assert windows.relpath("C:\\w\\a\\b.md", "C:/w") == "a/b.md"
    assert windows.relpath("D:\\x\\b.md", "C:\\w") == "D:/x/b.md"


def test_the_home_folder_is_that_of_the_profile(monkeypatch):
    monkeypatch.setenv("USERPROFILE", "C:\\Users\\me")
    assert windows.expanduser("~\\.cache") == "C:/Users/me/.cache"


def test_files_below_a_root_on_a_drive_have_slashes_and_lie_inside_it():
    root = ScanRoot(0, "C:/w/skills", "C:/w/skills")
    assert ScanFolder(root, root.path, root.resolved).inside("pdf") == ("C:/w/skills/pdf",) * 2
    drive = ScanRoot(0, "C:/", "C:/")
    assert ScanFolder(drive, drive.path, drive.resolved).inside("pdf") == ("C:/pdf",) * 2
    assert is_inside("C:/w/skills/pdf", ["C:/w/skills"])
    assert is_inside("//server/share/pdf", ["//server/share"])
    assert not is_inside("D:/w/skills/pdf", ["C:/w/skills"])


@pytest.mark.parametrize(
    ("path", "expected"),
    read_rows(__file__, "a_file_is_located_below_its_workspace_whatever_the_case_of_the_drive"),
)
def test_a_file_is_located_below_its_workspace_whatever_the_case_of_the_drive(path, expected):
    assert locate_file(path, PureWindowsPath("C:\\w")) == expected


def test_an_event_of_windows_names_a_file_of_the_scan(monkeypatch):
    class Event:
        src_path, dest_path = "C:\\w\\skills\\pdf\\SKILL.md", ""
        event_type, is_directory = "modified", False

    monkeypatch.setattr(os, "sep", ntpath.sep)
    assert is_relevant_event(Event(), "C:/w/", "C:/index")
    Event.src_path = "C:\\w\\.git\\index"
    assert not is_relevant_event(Event(), "C:/w/", "C:/index")
    Event.src_path = "C:\\w\\index\\gens\\1\\SKILL.md"
    assert not is_relevant_event(Event(), "C:/w/", "C:/w/index")


def test_capdisc_keeps_its_files_in_the_folders_of_the_profile():
    environ = {
        "APPDATA": "C:/Users/me/AppData/Roaming",
        "LOCALAPPDATA": "C:/Users/me/AppData/Local",
    }
    found = {
        kind: windows.find_user_folder(kind, environ, "C:/home")
        for kind in ("config", "cache", "state")
    }
    assert found == {
        "config": "C:/Users/me/AppData/Roaming/capdisc",
        "cache": "C:/Users/me/AppData/Local/capdisc/cache",
        "state": "C:/Users/me/AppData/Local/capdisc/state",
    }
    assert windows.find_user_folder("cache", {}, "C:/home").startswith("C:/home/AppData/Local/")
    assert (
        windows.find_user_folder("cache", {"XDG_CACHE_HOME": "D:/c"}, "C:/home") == "D:/c/capdisc"
    )


@pytest.mark.parametrize(
    ("system", "expected"),
    read_rows(__file__, "the_folders_of_clients_are_those_of_the_system"),
)
def test_the_folders_of_clients_are_those_of_the_system(system, expected):
    environ = {"APPDATA": "/roaming", "LOCALAPPDATA": "/local"} if system == "win32" else {}
    folders = settings_folders(Path("/h"), Path("/w"), environ, system)
    assert [folders["zed"], folders["crush"], folders["applications"]] == expected


@pytest.mark.parametrize(
    ("word", "expected"),
    read_rows(__file__, "a_word_is_quoted_as_the_shells_of_windows_read_it"),
)
def test_a_word_is_quoted_as_the_shells_of_windows_read_it(word, expected):
    assert windows.quote_word(word) == expected
    assert windows.split_words(f"{expected} -E") == [word, "-E"]


def test_a_backslash_of_a_path_stays_in_the_words_of_a_command():
    words = ["C:\\Program Files\\Editor\\edit.exe", "--wait"]
    assert windows.split_words('"C:\\Program Files\\Editor\\edit.exe" --wait') == words


@pytest.mark.parametrize("name", ["con", "nul", "com1", "lpt9"])
def test_nothing_is_called_as_a_device_of_windows(capdisc, hermetic, name):
    done = capdisc("new", "skill", name)
    assert (done.code, done.out) == (2, "")
    assert f"{name!r} is not a good name" in done.err
    assert "Windows" in done.err
    assert not list(hermetic.rglob("SKILL.md"))


def test_the_shell_may_name_a_folder_that_is_not_there(capdisc, monkeypatch):
    """As the bash of Git does for programs of Windows: /c/work."""
    monkeypatch.setenv("PWD", "/c/work")
    assert capdisc("config", "get", "limit").out == "10\n"


@pytest.mark.parametrize("encoding", ["cp1252", "cp437"])
def test_output_is_utf_8_whatever_the_code_page(process, hermetic, encoding):
    text = "---\r\nname: zh\r\ndescription: 合并 PDF – “x” 🎉\r\n---\r\n\r\nDo it.\r\n"
    path = hermetic / ".claude" / "skills" / "zh" / "SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_bytes(text.encode())
    done = process("list", env={"PYTHONIOENCODING": encoding})
    assert (done.code, "合并 PDF – “x” 🎉" in done.out) == (0, True)


def test_a_program_is_refused_where_it_could_not_be_ended(capdisc, hermetic, monkeypatch):
    monkeypatch.setattr(system, "RUNS_PROGRAMS", False)
    folder = hermetic / ".capdisc" / "capabilities" / "say"
    folder.mkdir(parents=True)
    manifest = "name: say\ntype: tool\ndescription: Says a word.\nrun:\n  command: [echo, hello]\n"
    (folder / "CAPABILITY.yaml").write_text(manifest)
    done = capdisc("run", "tool:say", "--yes")
    assert (done.code, "hello" in done.out) == (3, False)
    assert "capdisc runs no programs on Windows" in done.err
    assert "WSL" in done.err
    assert "echo" in capdisc("run", "tool:say", "--dry-run").out
