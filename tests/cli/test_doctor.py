"""capdisc doctor finds each kind of damage, names the command that repairs it, writes nothing."""

import fcntl
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from capdisc_indexer.config.client_table import client_sections
from capdisc_indexer.diagnosis import published_generation, surroundings
from capdisc_indexer.store import generation
from capdisc_indexer.store.durable_files import Mount


@pytest.fixture
def index_dir(capdisc, hermetic, write_skill, monkeypatch) -> Path:
    """An index of two roots, of two generations."""
    monkeypatch.setenv("CAPDISC_INDEX_DIR", str(hermetic / "index"))
    write_skill(hermetic / "skills", "alpha", "Folds paper cranes. Use when asked.")
    write_skill(hermetic / "more", "beta")
    capdisc("index", "skills", "more")
    write_skill(hermetic / "skills", "gamma")
    capdisc("index", "skills", "more")
    return hermetic / "index"


@pytest.fixture
def found(capdisc, index_dir):
    """The checks of `capdisc doctor` that are not ok, by name, once the command has run."""

    def run(*options: str) -> dict:
        report = capdisc("doctor", "--json", *options).json
        return {each["name"]: each for each in report["checks"] if each["state"] != "ok"}

    return run


def _everything(top: Path) -> dict:
    """All files, but for the note that each reader of old enough files leaves."""
    files = (path for path in top.rglob("*") if path.is_file() and path.name != "checked.json")
    return {str(path): (path.stat().st_mtime_ns, path.stat().st_ino) for path in files}


@pytest.mark.parametrize("options", [(), ("--deep",)])
def test_a_healthy_index_has_nothing_wrong_and_stays_as_it_was(
    capdisc, index_dir, options
) -> None:
    before = _everything(index_dir)
    done = capdisc("doctor", *options)
    assert (done.code, done.err) == (0, "")
    assert not re.search(r"^check +fix", done.out, re.M)
    assert _everything(index_dir) == before


def test_without_an_index_the_command_that_makes_one_is_named(capdisc, hermetic) -> None:
    done = capdisc("doctor", "--index-dir", "none")
    assert done.code == 4
    assert f"capdisc index --index-dir {hermetic / 'none'}" in done.out


def test_a_folder_of_other_things_is_no_index(capdisc, hermetic) -> None:
    (hermetic / "other").mkdir()
    (hermetic / "other" / "letter.txt").write_text("Dear")
    assert "holds other files" in capdisc("doctor", "--index-dir", "other").out


HARMS = {
    "pointer": lambda top, gen: (top / "CURRENT").write_text("7"),
    "no pointer": lambda top, gen: (top / "CURRENT").unlink(),
    "manifest": lambda top, gen: (gen / "MANIFEST").write_text("{}"),
    "size": lambda top, gen: (gen / "matrix" / "ids.utf8").write_text("[]"),
    "missing": lambda top, gen: (gen / "meta" / "overview.json").unlink(),
    "swapped": lambda top, gen: shutil.copy(
        gen.parent / "00000001" / "text" / "meta.json", gen / "text"
    ),
}


@pytest.mark.parametrize("harm", HARMS)
def test_damage_makes_the_index_unusable_and_the_named_command_mends_it(
    capdisc, index_dir, harm
) -> None:
    HARMS[harm](index_dir, index_dir / "gens" / "00000002")
    report = capdisc("doctor", "--json")
    assert (report.code, report.json["state"]) == (4, "unusable")
    fix = next(each["fix"] for each in report.json["checks"] if each["state"] == "unusable")
    assert capdisc(*shlex.split(fix)[1:]).code == 0
    assert capdisc("doctor", "--deep").code == 0
    assert capdisc("list", "--ids").out.split() == ["skill:alpha", "skill:beta", "skill:gamma"]


def test_only_a_deep_look_finds_a_file_that_nobody_published(found, index_dir) -> None:
    gen = index_dir / "gens" / "00000002"
    (gen / "matrix" / "strange.lance").write_bytes(b"x")
    assert "files" not in found()
    assert "strange.lance" in found("--deep")["files"]["text"]


def test_an_index_that_others_may_write_to_is_a_problem(capdisc, found, index_dir) -> None:
    index_dir.chmod(0o777)
    assert found()["permissions"]["fix"] == f"chmod go-w {index_dir}"
    assert capdisc("doctor").code == 1


def test_a_stopped_writer_is_named_with_what_wakes_it(found, index_dir) -> None:
    hold = "import sys, time; from pathlib import Path; from capdisc_indexer.store import locks\n"
    hold += (
        "with locks.write_lock(Path(sys.argv[1]), 1): print('held', flush=True); time.sleep(60)"
    )
    child = subprocess.Popen([sys.executable, "-c", hold, str(index_dir)], stdout=subprocess.PIPE)
    child.stdout.readline()
    assert found()["lock"]["text"] == f"process {child.pid} is writing"
    child.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, child.pid, os.WSTOPPED | os.WNOWAIT)
    assert found()["lock"]["fix"] == f"kill -CONT {child.pid}"
    child.kill()
    child.communicate()
    assert "lock" not in found()


def test_what_a_killed_writer_left_is_a_notice_until_the_next_run(
    capdisc, found, index_dir
) -> None:
    (index_dir / "gens" / ".tmp-99").mkdir()
    shutil.copytree(index_dir / "gens" / "00000001", index_dir / "gens" / "00000009")
    assert found()["leftovers"]["text"] == "left by a writer: .tmp-99, generation 9"
    assert capdisc("doctor").code == 0
    capdisc("index", "skills", "more")
    assert "leftovers" not in found()


@pytest.mark.parametrize(
    ("kind", "words"),
    [("nfs4", "other machines"), ("vfat", "no permissions"), ("overlay", "container")],
)
def test_odd_file_systems_are_a_notice(found, monkeypatch, kind, words) -> None:
    monkeypatch.setattr(
        published_generation, "find_mount", lambda _: Mount(point="/mnt", kind=kind)
    )
    assert words in found()["file system"]["text"]


def test_a_disk_without_room_is_a_problem(found, monkeypatch) -> None:
    values = os.statvfs("/")
    monkeypatch.setattr(
        os, "statvfs", lambda _: os.statvfs_result((*values[:2], values[2], 10, 10, *values[5:]))
    )
    assert "0 MB free" in found()["space"]["text"]


def test_a_root_that_is_gone_is_named(capdisc, found, hermetic, index_dir) -> None:
    shutil.rmtree(hermetic / "more")
    check = found()["roots"]
    assert str(hermetic / "more") in check["text"]
    assert capdisc(*shlex.split(check["fix"])[1:]).code == 0
    assert "roots" not in found()


def test_files_that_the_build_left_out_are_named_with_the_command_that_lists_them(
    capdisc, found, hermetic
) -> None:
    for name in ("torn", "empty"):
        path = hermetic / "more" / name / "SKILL.md"
        path.parent.mkdir()
        path.write_text("---\nname: [\n---\n" if name == "torn" else "")
    capdisc("index", "skills", "more")
    check = found()["files left out"]
    assert check["state"] == "notice" and check["text"].startswith("2 of ")
    listed = capdisc(*shlex.split(check["fix"])[1:])
    assert listed.code == 1 and "torn/SKILL.md" in listed.out and "empty/SKILL.md" in listed.out
    for name in ("torn", "empty"):
        shutil.rmtree(hermetic / "more" / name)
    capdisc("index", "skills", "more")
    assert "files left out" not in found()


def test_an_index_without_vectors_is_a_notice_and_its_fix_makes_them(
    capdisc, found, hermetic, monkeypatch
) -> None:
    capdisc("index", "skills", "more", "--rebuild")
    monkeypatch.setenv("CAPDISC_ENCODER", str(hermetic / "no-model"))
    capdisc("index", "skills", "more")
    monkeypatch.delenv("CAPDISC_ENCODER")
    check = found()["encoder"]
    assert capdisc(*shlex.split(check["fix"])[1:]).code == 0
    assert "encoder" not in found()


def test_a_scan_from_the_future_is_a_problem_that_reading_everything_mends(
    capdisc, found, index_dir
) -> None:
    scan = json.loads((index_dir / "gens" / "00000002" / "meta" / "scan.json").read_bytes())
    scan |= {"number": 2, "scanned_at_ns": scan["scanned_at_ns"] + 3_600 * 10**9}
    (index_dir / "scan.json").write_text(json.dumps(scan))
    check = found()["clock"]
    assert "the clock was set back" in check["text"]
    assert capdisc(*shlex.split(check["fix"])[1:]).code == 0
    assert "clock" not in found()


def test_more_folders_than_the_kernel_watches_is_a_notice(found, monkeypatch, tmp_path) -> None:
    for name, value in (("max_user_watches", "2"), ("max_user_instances", "128")):
        (tmp_path / name).write_text(value)
    monkeypatch.setattr(surroundings, "_INOTIFY_FOLDER", tmp_path)
    assert found()["watching"]["fix"] == "sudo sysctl fs.inotify.max_user_watches=65536"


def test_a_reader_and_a_lock_of_the_text_engine_do_not_disturb(found, index_dir) -> None:
    gen = generation.generation_folder(index_dir, 2)
    with (gen / "text" / ".tantivy-meta.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert found() == {}


def test_a_mend_of_a_conventional_index_names_no_folders(capdisc, hermetic, write_skill) -> None:
    """With folders in the command, the index would hold only these from then on."""
    (hermetic / ".git").mkdir()
    write_skill(hermetic / ".claude" / "skills", "fold", "Folds paper. Use to fold.")
    assert capdisc("search", "fold paper").code == 0
    index_dir = Path(capdisc("status", "--json").json["index_dir"])
    next(index_dir.glob("gens/*/matrix/matrix.i8")).unlink()
    checks = capdisc("doctor", "--json").json["checks"]
    fixes = {check["fix"] for check in checks if check["state"] == "unusable"}
    assert fixes == {"capdisc index --rebuild"}
    assert capdisc(*fixes.pop().split()[1:]).code == 0
    write_skill(Path.home() / ".claude" / "skills", "swan", "Folds swans. Use for swans.")
    assert capdisc("list", "--ids").out.split() == ["skill:fold", "skill:swan"]


def test_the_mend_of_a_hook_runs_as_it_is_printed(process, small) -> None:
    assert process("hook", "claude", stdin="{").code == 0
    checks = {check["name"]: check for check in process("doctor", "--json").json["checks"]}
    assert checks["hook"]["text"].startswith("claude, just now: stdin is not JSON")
    command = checks["hook"]["fix"].replace("capdisc", f"{sys.executable} -m capdisc")
    # Patience is for a busy machine.
    command += " --deadline 60s"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True)
    assert "merge-pdfs" in done.stdout


def test_a_hook_without_a_client_is_sent_to_the_help(process, small) -> None:
    process("hook", "--deadline", "60s", stdin="{}")  # patience is for a busy machine
    checks = {check["name"]: check for check in process("doctor", "--json").json["checks"]}
    assert checks["hook"]["text"] == (
        "client not named, just now: Missing argument 'CLIENT'; "
        f"hint: CLIENT: {', '.join(client_sections('hook'))}; see: capdisc hook --help"
    )
    assert checks["hook"]["fix"] == "capdisc hook --help"


def test_one_of_a_thing_is_not_several(capdisc, hermetic, write_skill) -> None:
    write_skill(hermetic / "skills", "fold")
    capdisc("index", "skills")
    assert "1 capability, 1 vector\n" in capdisc("doctor", "--all").out
    assert "1 capabilities from 1 files" not in (status := capdisc("status").out)
    assert status.count("1 skill\n") == 1


# What a person asks first: which client has what, and what its last prompt got.


@pytest.fixture
def client(capdisc, hermetic, write_skill, monkeypatch) -> Path:
    """A home with Claude Code, a skill and an index."""
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    home = hermetic.parent / "home"
    write_skill(home / ".claude" / "skills", "merge-pdfs", "Merges PDF files. Use when asked to.")
    (hermetic / ".git").mkdir()
    assert capdisc("index").code == 0
    return home


def _row(capdisc, name: str) -> str:
    """The row of the check, which stands before those of the index."""
    lines = capdisc("doctor").out.splitlines()
    above = lines[: next(n for n, line in enumerate(lines) if line.startswith("index "))]
    (row,) = [line for line in above if line.startswith(f"{name} ")]
    return row


def _ask(process, prompt: str) -> None:
    event = {"prompt": prompt, "session_id": "s", "hook_event_name": "UserPromptSubmit"}
    done = process("hook", "claude", "--deadline", "60s", stdin=json.dumps(event))
    assert done.code == 0


def test_the_client_without_a_hook_is_named_with_the_command(capdisc, client) -> None:
    assert "hook no, MCP server no" in _row(capdisc, "claude")
    assert capdisc("doctor").out.split()[-4:] == ["claude", "capdisc", "setup", "claude"]
    capdisc("setup", "claude", "--hook", "--yes")
    assert "hook yes (user), MCP server no; no prompt yet" in _row(capdisc, "claude")
    assert not re.search(r"^check +fix", capdisc("doctor").out, re.M)


def test_a_server_of_the_project_that_is_capdisc_asks_for_nothing(capdisc, client) -> None:
    """Copilot CLI reads the file of Claude Code, and is not here."""
    capdisc("setup", "claude", "--mcp", "--scope", "project", "--yes")
    shown = capdisc("doctor").out
    assert "nothing here waits for your yes" in shown and "copilot" not in shown
    (client / ".copilot").mkdir()
    (client / ".copilot" / "config.json").write_text("{}")
    assert "capdisc setup copilot --scope project" in capdisc("doctor").out


def test_nothing_is_newer_right_after_setup(capdisc, client) -> None:
    capdisc("setup", "claude", "codex", "--yes")
    assert "nothing on disk" in _row(capdisc, "newer")
    path = client / ".claude" / "settings.json"
    path.write_text(path.read_text().replace("{", '{"enabledPlugins": {"a@b": true},', 1))
    assert "1 file or folder changed" in _row(capdisc, "newer")


def test_the_last_prompt_and_why_it_got_nothing(capdisc, process, client) -> None:
    capdisc("setup", "claude", "--yes")
    _ask(process, "thanks!")
    assert "last prompt just now: silent: this reads like talk" in _row(capdisc, "claude")
    _ask(process, "merge these two pdf files into one")
    assert "suggested: skill:merge-pdfs" in _row(capdisc, "claude")
    _ask(process, "merge these two pdf files into one")
    assert "last prompt just now: silent: " in _row(capdisc, "claude")
    _ask(process, "/clear")
    assert "silent: the prompt is a command" in _row(capdisc, "claude")


def test_two_hooks_are_a_notice(capdisc, found, client) -> None:
    for scope in ("user", "project"):
        capdisc("setup", "claude", "--hook", "--scope", scope, "--yes")
    assert "runs twice at each prompt" in found()["claude"]["fix"]


def test_servers_that_were_never_asked_are_named(capdisc, client) -> None:
    servers = {"github": {"command": "gh-mcp"}, "capdisc": {"command": "capdisc", "args": ["mcp"]}}
    (client / ".claude.json").write_text(json.dumps({"mcpServers": servers}))
    assert "never asked for their tools: github; " in _row(capdisc, "servers")


def test_the_checks_of_the_index_are_one_row_unless_something_is_wrong(capdisc, index_dir) -> None:
    assert "lock" not in capdisc("doctor").out
    assert "\nlock " in capdisc("doctor", "--all").out
    index_dir.chmod(0o777)
    assert "\npermissions  problem" in capdisc("doctor").out
