"""capdisc uninstall: it lists what is there, removes that and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from capdisc_indexer.installation import Installation, remove_command


@pytest.fixture
def home(hermetic: Path, capdisc, write_skill, monkeypatch) -> Path:
    """A home with a skill, an index and two clients, one of which has settings of its own."""
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    folder = hermetic.parent / "home"
    write_skill(folder / ".claude" / "skills", "merge-pdfs", "Merges PDF files. Use when asked.")
    (folder / ".claude" / "settings.json").write_text('{"model":  "x"}')
    return folder


def _files(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_all_of_it_goes_and_the_rest_is_as_before(capdisc, home, hermetic) -> None:
    before = {path: data for path, data in _files(home).items() if "capdisc" not in path}
    project = _files(hermetic)
    assert capdisc("index").code == 0
    assert capdisc("setup", "claude", "codex", "--yes").code == 0
    assert capdisc("config", "set", "budget", "900").code == 0
    listed = capdisc("uninstall")
    assert listed.code == 5 and "nothing was removed" in listed.err
    for place in (".claude/settings.json", ".claude.json", ".codex/config.toml"):
        assert str(home / place) in listed.out
    for place, noun in ((".cache", "indexes"), (".local/state", "state"), (".config", "settings")):
        (line,) = [each for each in listed.out.splitlines() if f"{place}/capdisc " in each]
        assert noun in line and line.endswith(" kB") and " 0.0 " not in line
    done = capdisc("uninstall", "--yes")
    assert (done.code, "to remove the program: " in done.err) == (0, True)
    assert _files(home) == before and _files(hermetic) == project
    assert not (home / ".codex").exists()
    again = capdisc("uninstall")
    assert (again.code, again.out) == (0, "there is nothing to remove\n")


def test_what_cannot_be_taken_out_keeps_the_state(capdisc, home) -> None:
    capdisc("setup", "gemini", "--yes")
    path = home / ".gemini" / "settings.json"
    path.write_text("{ broken")
    done = capdisc("uninstall", "--yes")
    assert done.code == 1 and f"{path}:1:" in done.err
    assert (home / ".local/state/capdisc/setup").is_dir()
    path.write_text("{}")
    assert capdisc("uninstall", "--yes").code == 0
    assert not (home / ".local/state/capdisc").exists()


def test_a_folder_that_may_be_of_somebody_else_is_left(capdisc, home, monkeypatch) -> None:
    (home / "src" / "capdisc" / ".git").mkdir(parents=True)
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "src"))
    (home / "mine").mkdir()
    monkeypatch.setenv("CAPDISC_STATE_DIR", str(home / "mine"))
    (home / "elsewhere").mkdir()
    (home / ".config").mkdir(exist_ok=True)
    (home / ".config" / "capdisc").symlink_to(home / "elsewhere")
    done = capdisc("uninstall", "--yes", "--json")
    left = {Path(each["path"]).name for each in done.json["folders"] if each["left"]}
    assert done.code == 1
    assert {"capdisc", "mine"} <= left
    assert all((home / name).exists() for name in ("src/capdisc/.git", "mine", "elsewhere"))


def test_a_folder_that_a_setting_names_is_left(capdisc, home, hermetic) -> None:
    """The settings of a clone may name any folder."""
    (home / "Documents" / "capdisc").mkdir(parents=True)
    (home / "Documents" / "capdisc" / "letter.txt").write_text("Dear")
    (hermetic / "capdisc.toml").write_text(f'index_dir = "{home}/Documents/capdisc"\n')
    capdisc("uninstall", "--yes")
    assert (home / "Documents" / "capdisc" / "letter.txt").exists()


@pytest.mark.parametrize("variable", ["CAPDISC_STATE_DIR", "XDG_CACHE_HOME"])
def test_a_folder_that_a_variable_put_elsewhere_is_left(
    capdisc, home, hermetic, monkeypatch, variable
) -> None:
    """Also one that is called capdisc, such as the package of a program."""
    folder = hermetic / "capdisc"
    folder.mkdir()
    (folder / "program.py").write_text("pass")
    monkeypatch.setenv(variable, str(folder) if variable == "CAPDISC_STATE_DIR" else ".")
    done = capdisc("uninstall", "--yes")
    assert done.code == 1 and "it may hold other things" in done.err
    assert (folder / "program.py").exists()


@pytest.mark.parametrize(("answer", "code"), [("n", 5), ("y", 0)])
def test_a_person_is_asked(capdisc, home, monkeypatch, answer, code) -> None:
    from capdisc.commands import uninstall

    capdisc("index")
    monkeypatch.setattr(uninstall, "has_person", lambda _: True)
    monkeypatch.setattr(uninstall, "read_answer", lambda _: answer)
    done = capdisc("uninstall")
    assert done.code == code
    assert (home / ".cache/capdisc").exists() is (answer == "n")


@pytest.mark.parametrize("folder", ["cache/capdisc", "cache/capdisc/inner"])
def test_the_folder_of_the_person_is_never_removed(capdisc, home, monkeypatch, folder) -> None:
    here = home / folder
    here.mkdir(parents=True)
    monkeypatch.chdir(here)
    monkeypatch.setenv("PWD", str(here))
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "cache"))
    assert capdisc("uninstall", "--yes").code == 1
    assert here.is_dir()


def test_a_program_sees_what_would_go(capdisc, home) -> None:
    capdisc("setup", "claude", "--hook", "--yes")
    done = capdisc("uninstall", "--json")
    assert done.code == 5
    document = done.json
    assert document["files"] == [{"path": str(home / ".claude/settings.json"), "parts": ["hook"]}]
    assert document["removed"] is False and "uninstall capdisc-cli" in document["package"]


@pytest.mark.parametrize(
    ("installer", "command"),
    [
        ("pip", "/v/bin/python -m pip uninstall capdisc-cli"),
        ("pipx", "pipx uninstall v"),
        ("uv tool", "uv tool uninstall capdisc-cli"),
        ("uv pip", "uv pip uninstall --python /v capdisc-cli"),
        ("uvx", "uv cache clean capdisc-cli"),
    ],
)
def test_the_command_that_removes_the_program(installer, command) -> None:
    there = Installation(installer=installer, prefix="/v", python="/v/bin/python")
    assert remove_command(there) == command
