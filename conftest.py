"""Every test runs in a home, a cache and a folder of its own; nothing here can reach the real ones."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from adopting import adopt
from hypothesis import HealthCheck, settings

from capdisc.args import command_table
from capdisc_indexer.indexing.worker_pool import count_processors

# No clock decides about a property: a loaded machine is slow.
settings.register_profile("no-clock", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("no-clock")

# Under `nohup`, and behind a shell's `&`, they are ignored, and children inherit that.
if sys.platform != "win32":
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)

REPOSITORY = Path(__file__).resolve().parent
CATALOGS = REPOSITORY / "fixtures" / "catalogs"

# Where the environment wants no byte code beside sources, it lies beside pytest's own cache: otherwise each worker
# rewrites all tests anew, and each process that a test starts compiles what it imports, half of its time. Workers
# and processes inherit this.
if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):
    os.environ.setdefault("PYTHONPYCACHEPREFIX", str(REPOSITORY / ".pytest_cache" / "bytecode"))
    sys.dont_write_bytecode, sys.pycache_prefix = False, os.environ["PYTHONPYCACHEPREFIX"]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One more than processors: many tests wait for processes and clocks. On two, that saves a sixth of the time."""
    return count_processors() + 1


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Bytes are numbered: what packs them may write the time, and each worker collects by itself."""
    return argname if isinstance(val, bytes) else None


@dataclass(frozen=True)
class Result:
    """What one command line gave."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        import json

        return json.loads(self.out)


@pytest.fixture(autouse=True)
def hermetic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home and an empty working folder; the environment without anything that capdisc reads."""
    for name in [name for name in os.environ if name.startswith(("CAPDISC_", "XDG_"))]:
        monkeypatch.delenv(name)
    for name in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "PAGER", "PWD"):
        monkeypatch.delenv(name, raising=False)
    # Tests of the LanceDB table turn it on: after other commands no process stays behind.
    monkeypatch.setenv("CAPDISC_TABLE", "off")
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    work.mkdir()
    monkeypatch.setenv("HOME", str(home))
    if sys.platform == "win32":  # tests look into the folders of the other platforms
        monkeypatch.setenv("USERPROFILE", str(home))
        monkeypatch.setenv("XDG_CACHE_HOME", str(home / ".cache"))
        monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
        monkeypatch.setenv("XDG_STATE_HOME", str(home / ".local" / "state"))
    monkeypatch.chdir(work)
    # The secret behind the marks of frames: with a known one, whole outputs can be compared.
    key = home / ".local" / "state" / "capdisc" / "frame.key"
    key.parent.mkdir(parents=True, mode=0o700)
    key.write_bytes(bytes(range(32)))
    key.chmod(0o600)
    return work


@pytest.fixture
def capdisc(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Result]:
    """Run a command line in this process: `capdisc("search", "merge PDFs")`; `env` holds for it."""
    import io

    def run(*argv: str, stdin: str = "", env: dict[str, str] | None = None) -> Result:
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        capsys.readouterr()
        with pytest.MonkeyPatch.context() as patch:
            for name, value in (env or {}).items():
                patch.setenv(name, value)
            code = command_table.run_command(list(argv))
        captured = capsys.readouterr()
        return Result(code, captured.out, captured.err)

    return run


@pytest.fixture
def process() -> Callable[..., Result]:
    """Run a command line in a process of its own."""

    def run(*argv: str, stdin: str = "", env: dict[str, str] | None = None) -> Result:
        done = subprocess.run(
            [sys.executable, "-m", "capdisc", *argv], input=stdin, capture_output=True, text=True, timeout=120,
            env={**os.environ, **(env or {})}, check=False,
        )  # fmt: skip
        return Result(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture(scope="session")
def indexed_catalogs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Index folders of the shipped catalogues, built once; tests read them and never write."""
    from capdisc_indexer.indexing.pipeline import build_index
    from capdisc_indexer.model.types import BuildOptions

    built = {}
    for name in ("small", "office"):
        built[name] = tmp_path_factory.mktemp("index") / name
        build_index([CATALOGS / name], built[name], BuildOptions(workspace=str(REPOSITORY)))
    return built


def _print_relative_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    """Print paths as in the repository's own folder, so that tokens do not depend on where it is."""
    monkeypatch.setattr("capdisc.context.surroundings.Runtime.path_base", REPOSITORY)


@pytest.fixture
def small(indexed_catalogs: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """The small catalogue's index, made the one that commands use."""
    monkeypatch.setenv("CAPDISC_INDEX_DIR", str(indexed_catalogs["small"]))
    _print_relative_paths(monkeypatch)
    return adopt(indexed_catalogs["small"])


@pytest.fixture
def office(indexed_catalogs: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """The office catalogue's index, made the one that commands use."""
    monkeypatch.setenv("CAPDISC_INDEX_DIR", str(indexed_catalogs["office"]))
    _print_relative_paths(monkeypatch)
    return adopt(indexed_catalogs["office"])


@pytest.fixture(scope="session")
def indexed_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The index folder of a catalogue with tables, APIs, documents and more, built once."""
    import data_catalogue
    from capdisc_indexer.indexing.pipeline import build_index
    from capdisc_indexer.model.types import BuildOptions

    folder = tmp_path_factory.mktemp("data")
    build_index([data_catalogue.write(folder)], folder / "index", BuildOptions())
    return folder / "index"


@pytest.fixture
def data(indexed_data: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The data catalogue's index, made the one that commands use."""
    monkeypatch.setenv("CAPDISC_INDEX_DIR", str(indexed_data))
    return adopt(indexed_data)


@pytest.fixture
def write_skill() -> Callable[..., Path]:
    """Write a SKILL.md in a folder of its own: `write_skill(folder, "merge-pdfs", "Merges PDFs.")`."""

    def write(
        folder: Path,
        name: str,
        description: str = "Does a thing. Use when asked.",
        body: str = "Do it.",
    ) -> Path:
        path = folder / name / "SKILL.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"---\nname: {name}\ndescription: {description}\n---\n\n{body}\n")
        return path

    return write
