"""Both families of operating systems offer the same: a name that only one has fails on the other."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import capdisc_indexer.platforms
from case_rows import read_rows

FOLDER = Path(capdisc_indexer.platforms.__file__).parent


def offered_names(name):
    """The public constants, and the functions with their parameters and their defaults."""
    names = {}
    for statement in ast.parse((FOLDER / f"{name}.py").read_text()).body:
        match statement:
            case ast.FunctionDef(name=function, args=arguments):
                names[function] = ast.unparse(arguments)
            case ast.Assign(targets=[ast.Tuple(elts=targets)]):
                names |= {target.id: "" for target in targets}
            case (
                ast.Assign(targets=[ast.Name(id=constant)])
                | ast.AnnAssign(target=ast.Name(id=constant))
            ):
                names[constant] = ""
    return {name: arguments for name, arguments in names.items() if not name.startswith("_")}


def test_windows_and_posix_offer_the_same():
    posix = offered_names("posix")
    assert posix == offered_names("windows")
    assert "lock_file" in posix
    assert "STOP_SIGNALS" in posix


@pytest.mark.parametrize(
    ("code", "end"),
    read_rows(__file__, "windows_limits_what_runs_in_the_background"),
)
def test_windows_limits_what_runs_in_the_background(monkeypatch, code, end):
    from capdisc_indexer.platforms import windows

    jobs = []
    done = subprocess.CompletedProcess([], code)
    monkeypatch.setattr(windows, "_count_memory", lambda: 16 << 30)
    monkeypatch.setattr(windows, "_enter_job", lambda limits: jobs.append(list(limits)))
    monkeypatch.setattr(windows.subprocess, "run", lambda *words, **options: done)
    status = windows.run_with_limits(lambda: None, ["build"], 1800, 0.5, 4 << 30)
    # JOB_OBJECT_LIMIT_PROCESS_TIME and _MEMORY; the time is counted in units of 100 ns.
    assert jobs == [[1800 * 10**7, 0, 0x102, *[0] * 11, 8 << 30, 0, 0, 0]]
    assert status == (-code if end else code)
    assert not end or windows.describe_end(-status, 1800) == end


def test_the_module_for_windows_can_be_imported_here():
    script = "from capdisc_indexer.platforms import windows; print(windows.own_user())"
    done = subprocess.run(
        [sys.executable, "-c", script], check=False, capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == ("0\n", "")


def test_a_path_of_two_thousand_folders_is_spelt():
    path = f"/{'/'.join(['a'] * 2_000)}"
    assert capdisc_indexer.platforms.spell_path(path) == path
