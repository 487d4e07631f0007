"""R11: each call that changes a file fails in turn, until an operation gets along without that many.

A process with failing_calls.c preloaded imports capdisc once and forks for every run, so that a run costs
a tenth of a second. It starts from a copy of the same folders each time.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib
import itertools
import json
import os
import random
import re
import shutil
import subprocess
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE)]

from figure import Figure  # noqa: E402
from workbench import DONE, Done, environment, held, sick, write_skill  # noqa: E402

_ERROR = re.compile(r"(?<!output )error: ")
KINDS = {"full": 1, "error": 2, "kill": 3}
# What no run may leave: names of temporary files and of crash logs.

_TEMPORARY = re.compile(r"^\.tmp-|\.new$|\.\d+$|^\..+\.[a-z0-9_]{8}$|^capdisc-crash")
View = Callable[[Path], object]


@dataclass(frozen=True)
class Step:
    """One command of an operation: its words and its stdin; `is_asked` gives it a terminal with a yes."""

    argv: tuple[str, ...]
    stdin: str = ""
    is_asked: bool = False


@dataclass(frozen=True)
class Recovery:
    """Steps that lead from whatever a failure left to the state `before` or `after` the operation, or to
    either of them ("").
    """

    steps: tuple[Step, ...]
    end: str
    # Whether no temporary file may be left then: another operation need not remove it.
    is_clean: bool = True


@dataclass(frozen=True)
class Operation:
    """An operation whose calls fail in turn. `prepare` makes the folders that it starts from, and `view`
    gives what counts in the folders.
    """

    prepare: Callable[[Workplace], None]
    step: Step
    view: View
    recoveries: tuple[Recovery, ...]
    is_hook: bool = False
    # Each file is as before or as after: they are replaced one after the other.
    has_many_files: bool = False


@dataclass
class Report:
    """What came of an operation: calls and runs by kind of failure, and what was broken."""

    calls: int = 0
    runs: Counter[str] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)


class Workplace:
    """The folders of one operation below `top`, where calls fail, and commands that run there in forks."""

    def __init__(self, top: Path, shim: ctypes.CDLL) -> None:
        self.top, self._shim = top, shim
        self._kept = top.with_name("kept")
        self.outputs = top.with_name("outputs")
        for folder in (
            self._kept,
            self.outputs,
            top / "home",
            top / "project" / ".git",
            top / "tmp",
        ):
            folder.mkdir(parents=True, exist_ok=True)  # a home may hold a cache already
        os.chdir(top / "project")

    def keep(self, name: str) -> None:
        """Remember the folders as they are now."""
        shutil.rmtree(self._kept / name, ignore_errors=True)
        shutil.copytree(self.top, self._kept / name, symlinks=True)

    def restore(self, name: str) -> None:
        """Make the folders those that were remembered."""
        for folder in self.top.iterdir():
            shutil.rmtree(folder)
        shutil.copytree(self._kept / name, self.top, symlinks=True, dirs_exist_ok=True)
        os.chdir(self.top / "project")

    def run(self, step: Step, kind: str = "", number: int = 0, modules: bool = False) -> Done:
        """The command in a fork; its call of this number fails."""
        started = time.monotonic()
        names = [self.outputs / name for name in ("in", "out", "err")]
        names[0].write_text(step.stdin)
        child = os.fork()
        if not child:
            _run_forked(self, step, names, KINDS.get(kind, 0), number, modules)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        self._shim.disarm()
        out, err = (name.read_text(errors="replace") for name in names[1:])
        return Done(code, out, err, time.monotonic() - started)

    def see(self, view: View) -> object:
        """What counts of the folders now, looked at by a fork, so that nothing stays open here."""
        path = self.outputs / "view"
        path.unlink(missing_ok=True)
        child = os.fork()
        if not child:
            try:
                path.write_text(json.dumps(view(self.top), sort_keys=True))
            except BaseException:
                path.write_text(json.dumps(f"cannot be seen: {traceback.format_exc()[-700:]}"))
            os._exit(0)
        os.waitpid(child, 0)
        return json.loads(path.read_text())

    @property
    def calls(self) -> int:
        """How many calls of the last command counted."""
        return self._shim.call_count()

    @property
    def failed_call(self) -> str:
        """The call that failed in the last command; "" where there were not as many."""
        return self._shim.failed_call().decode(errors="replace").replace(str(self.top), "")

    def leftovers(self) -> list[str]:
        """Temporary files; not the folders of links that readers make, which the next build removes an
        hour later.
        """
        return [str(path) for path in self.top.rglob("*") if _TEMPORARY.search(path.name)]


def _run_forked(
    place: Workplace, step: Step, names: Sequence[Path], kind: int, number: int, modules: bool
) -> None:
    """Run the command as its entry point does, and end this process."""
    try:
        for stream, name in enumerate(names):
            handle = os.open(
                name, os.O_RDONLY if not stream else os.O_WRONLY | os.O_CREAT | os.O_TRUNC
            )
            os.dup2(handle, stream)
            os.close(handle)
        sys.stdin, sys.stdout, sys.stderr = (
            os.fdopen(stream, mode, encoding="utf-8", closefd=False)
            for stream, mode in enumerate("rww")
        )
        from capdisc import __main__
        from capdisc.context import surroundings
        from capdisc_indexer import lazy_imports
        from capdisc_indexer.store import documents

        lazy_imports.mcp_sdk = lambda: None  # setup looks for it, and starts no server
        documents._TEMPORARY_FOLDERS = (str(place.top / "tmp"),)
        if step.is_asked:
            surroundings.is_terminal = lambda stream: True
        if modules:
            _exit = os._exit

            def note_modules(code: int) -> None:
                with (names[1].parent / "modules").open("a") as file:
                    file.writelines(f"{name}\n" for name in sys.modules)
                _exit(code)

            os._exit = note_modules
        sys.argv = ["capdisc", *step.argv]
        place._shim.arm(kind, number)
        __main__.main()
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    os._exit(99)


def _try(
    place: Workplace, operation: Operation, kinds: Sequence[str], runs: int, rng: random.Random
) -> Report:
    """Let each call of the operation fail in turn, of each kind as many as `runs` (0: all)."""
    report = Report()
    operation.prepare(place)
    place.keep("before")
    before = place.see(operation.view)
    place.run(operation.step, modules=True)
    _import_modules(place)
    place.restore("before")
    clean = place.run(operation.step)
    report.calls = place.calls
    after = place.see(operation.view)
    assert clean.code in DONE and clean.is_plain and before != after, f"{clean} {before} {after}"
    states = {"before": before, "after": after}
    for kind in kinds:
        numbers: Iterable[int] = itertools.count(1)
        if runs:
            numbers = rng.sample(range(1, report.calls + 1), min(runs, report.calls))
        for number in numbers:
            place.restore("before")
            done = place.run(operation.step, kind, number)
            if not (call := place.failed_call):  # it needed fewer calls
                if runs:
                    continue
                break
            report.runs[kind] += 1
            problems = list(_judge(place, operation, kind, done, clean, states))
            report.broken += [f"{kind} {number} ({call}): {problem}" for problem in problems]
    return report


def _import_modules(place: Workplace) -> None:
    """Import what the commands imported, so that the next forks need not."""
    path = place.outputs / "modules"
    for name in path.read_text().splitlines():
        with suppress(ImportError):
            importlib.import_module(name)


def _judge(
    place: Workplace,
    operation: Operation,
    kind: str,
    done: Done,
    clean: Done,
    states: dict[str, object],
) -> Iterator[str]:
    """What is wrong after a run in which a call failed."""
    if kind != "kill" or operation.is_hook:
        yield from _judge_words(operation, kind, done)
    elif done.code != -9:
        yield f"killed, and status {done.code}"
    state = place.see(operation.view)
    if not _is_between(state, states, operation.has_many_files):
        yield f"neither before nor after: {state}"
    if done.code == clean.code and not operation.is_hook and state != states["after"]:
        yield f"status {done.code}, and the state of before"
    place.keep("failed")
    for recovery in operation.recoveries:
        place.restore("failed")
        path = " ".join(step.argv[0] for step in recovery.steps)
        for step in recovery.steps:
            done = place.run(step)
            if done.code not in DONE or not done.is_plain:
                yield f"then {path}: {done.code} {done.err[-400:]}"
        state = place.see(operation.view)
        wanted = [states[recovery.end]] if recovery.end else list(states.values())
        if state not in wanted:
            yield f"then {path}: not as {recovery.end}: {state}"
        left = place.leftovers() if recovery.is_clean else ()
        if operation.step not in recovery.steps:  # then a file of capdisc's own may stay
            left = [name for name in left if "/.local/" not in name]
        if left:
            yield f"then {path}: left behind {left}"


def _is_between(state: Any, states: dict[str, Any], has_many_files: bool) -> bool:
    if not has_many_files:
        return state in states.values()
    names = {name for files in states.values() for name in files}
    return set(state) <= names and all(
        any(state.get(name) == files.get(name) for files in states.values()) for name in names
    )


def _judge_words(operation: Operation, kind: str, done: Done) -> Iterator[str]:
    lines = done.err.splitlines()
    if not done.is_plain or done.code == 70:
        yield f"status {done.code}: {done.err[-600:]}"
    elif operation.is_hook and done.code:
        yield f"a hook, and status {done.code}"
    elif done.code not in DONE:
        if len(_ERROR.findall(done.err)) != 1 or not lines[-1].startswith("hint: "):
            yield f"status {done.code}, and no error with a hint: {done.err[-400:]}"
        words = "No space left on device" if kind == "full" else "Input/output error"
        # Of a thread of tantivy, nobody learns which call was refused.
        if words not in done.err and "the disk refused a call" not in done.err:
            yield f"status {done.code}, and not why: {done.err[-400:]}"


# The operations.

_SKILLS = (
    ("cranes", "Folds paper cranes. Use when asked."),
    ("maps", "Draws road maps of cities. Use for journeys."),
)
_PROMPT = "draw a road map of a city"


def _see_index(top: Path) -> object:
    """What the index holds, once all of it is well; none where none was ever published."""
    index = top / "index"
    if not (index / "CURRENT").exists():
        return "no index"
    if problem := sick(index):
        return problem
    return held(index)


def _see_files(top: Path) -> object:
    """Every file of the home and the project, with its bytes and its mode, and every folder, without
    capdisc's own state.
    """
    return {
        str(path.relative_to(top)): [
            oct(path.stat().st_mode),
            path.read_text() if path.is_file() else "",
        ]
        for folder in ("home", "project")
        for path in (top / folder).rglob("*")
        if ".local" not in path.parts and not _TEMPORARY.search(path.name)
    }


def _see_state(*patterns: str) -> View:
    """The JSON files of capdisc's state that fit, without the times in them."""

    def view(top: Path) -> object:
        state = top / "home" / ".local" / "state" / "capdisc"
        files = sorted(path for pattern in patterns for path in state.glob(pattern))
        return {
            str(path.relative_to(state)): _without_times(json.loads(path.read_text()))
            for path in files
        }

    return view


def _see_printed(top: Path) -> object:
    """What each session of a client had printed: turns and offers may count twice where a hook ran
    twice.
    """
    folder = top / "home" / ".local" / "state" / "capdisc" / "hook"
    return {
        path.name: sorted(json.loads(path.read_text())["printed"])
        for path in sorted(folder.glob(f"{'?' * 24}.json"))
    }


def _without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_times(inner) for key, inner in value.items() if key != "at"}
    return value


def _write_skills(place: Workplace) -> None:
    for name, description in _SKILLS:
        write_skill(place.top / "project" / "skills", name, description)


def _build(place: Workplace) -> None:
    _require(place, _INDEX)


def _require(place: Workplace, *steps: Step) -> None:
    for step in steps:
        done = place.run(step, modules=True)
        assert done.code in DONE and done.is_plain, done


def _prepare_nothing(place: Workplace) -> None:
    """An empty home and project."""


_INDEX = Step(("index", "skills", "--index-dir", "../index"))
_SEARCH = Step(("search", _PROMPT, "--index-dir", "../index"))


def _prepare_update(place: Workplace) -> None:
    _write_skills(place)
    _require(place, _INDEX)
    write_skill(place.top / "project" / "skills", "maps", "Draws road maps of whole countries.")


_CLAUDE_SETTINGS = '{"model":"opus",\n  "hooks": { "Stop": [] }}'
_CLAUDE_SERVERS = '{\n\t"mcpServers": {\n\t\t"other": {"command": "other"}\n\t}\n}\n'
_CODEX = '# mine\nmodel = "o5"\n\n[mcp_servers.other]\ncommand = "other"\n'


def _write_settings(place: Workplace) -> None:
    home = place.top / "home"
    for name, text in {
        ".claude/settings.json": _CLAUDE_SETTINGS,
        ".claude.json": _CLAUDE_SERVERS,
        ".codex/config.toml": _CODEX,
    }.items():
        (home / name).parent.mkdir(exist_ok=True)
        (home / name).write_text(text)


def _setup(*words: str) -> Step:
    return Step(("setup", *words, "--yes"))


def _after(*prepared: Callable[[Workplace], None] | Step) -> Callable[[Workplace], None]:
    """What prepares all of it in turn."""

    def prepare(place: Workplace) -> None:
        for part in prepared:
            _require(place, part) if isinstance(part, Step) else part(place)

    return prepare


def _setup_operations() -> Iterator[tuple[str, Operation]]:
    """Setup and its undo for files that were there and files that were not, in whole and in part."""
    for client, files in (
        ("claude", _write_settings),
        ("codex", _write_settings),
        ("gemini", _prepare_nothing),
        ("opencode", _prepare_nothing),
    ):
        do, undo = _setup(client), _setup(client, "--undo")
        prepare = _after(files)
        yield f"setup {client}", Operation(
            prepare, do, _see_files,
            (Recovery((do,), "after"), Recovery((undo,), "before"), Recovery((do, undo), "before")),
            has_many_files=True,
        )  # fmt: skip
        yield f"undo {client}", Operation(
            _after(files, do), undo, _see_files,
            (Recovery((undo,), "after"), Recovery((do,), "before", is_clean=False), Recovery((do, undo), "after")),
            has_many_files=True,
        )  # fmt: skip
    do, more, undo = _setup("codex", "--hook"), _setup("codex"), _setup("codex", "--undo", "--mcp")
    yield "setup more", Operation(
        _after(_write_settings, do), more, _see_files,
        (Recovery((more,), "after"), Recovery((more, undo), "before")),
    )  # fmt: skip
    yield "undo a part", Operation(
        _after(_write_settings, do, more), undo, _see_files,
        (Recovery((undo,), "after"), Recovery((more,), "before", is_clean=False), Recovery((more, undo), "after")),
    )  # fmt: skip


def _hook(session: str) -> Step:
    event = {"hook_event_name": "UserPromptSubmit", "prompt": _PROMPT, "session_id": session}
    words = ("hook", "claude", "--no-build", "--deadline", "60s", "--index-dir", "../index")
    return Step(words, json.dumps(event))


_FORGET = Step(
    ("hook", "claude"),
    json.dumps({"hook_event_name": "SessionStart", "source": "clear", "session_id": "s"}),
)
_TOOL = "name: greet\nkind: tool\ndescription: Greets whom it is told.\nrun: {command: [echo, hello]}\n"
_RUN = Step(("run", "greet", "--index-dir", "../index"), "y\n", is_asked=True)


def _write_tool(place: Workplace) -> None:
    folder = place.top / "project" / "skills" / "greet"
    folder.mkdir(parents=True)
    (folder / "CAPABILITY.yaml").write_text(_TOOL)


def _write_request(place: Workplace) -> None:
    (place.top / "outside").mkdir()
    (place.top / "project" / "capdisc.toml").write_text('roots = ["../outside"]\n')


_TRUST = Step(("trust", "--yes"))
OPERATIONS: dict[str, Operation] = {
    "build": Operation(
        _write_skills, _INDEX, _see_index, (Recovery((_INDEX,), "after"),)
    ),
    "update": Operation(
        _prepare_update, _INDEX, _see_index, (Recovery((_INDEX,), "after"), Recovery((_SEARCH,), ""))
    ),
    **dict(_setup_operations()),
    "hook": Operation(
        _after(_write_skills, _INDEX, _hook("other")), _hook("s"), _see_printed,
        (Recovery((_hook("s"),), "after"),), is_hook=True,
    ),
    "hook forgets": Operation(
        _after(_write_skills, _INDEX, _hook("s")), _FORGET, _see_printed,
        (Recovery((_FORGET,), "after"),), is_hook=True,
    ),
    "trust": Operation(
        _write_request, _TRUST, _see_state("trust/workspaces/*.json"), (Recovery((_TRUST,), "after"),)
    ),
    "approve": Operation(
        _after(_write_tool, _INDEX), _RUN, _see_state("**/approved.json"), (Recovery((_RUN,), "after"),)
    ),
}  # fmt: skip


def r11(work: Path, rng: random.Random, scale: float) -> Figure:
    """Let each call of each operation fail, on a full disk, by an error, by a kill: all at scale 1."""
    runs, broken, calls = 0, [], []
    for name in OPERATIONS:
        tried = try_operation(work / name.replace(" ", "-"), name, rng.random(), scale)
        runs += sum(tried.runs.values())
        broken += [f"{name}: {problem}" for problem in tried.broken]
        calls.append(f"{name} {tried.calls}")
    note = "; ".join(broken[:3]) or f"calls: {', '.join(calls)}"
    return Figure("R11", "a failing call leaves the old or the new", runs, len(broken), note)


def try_operation(work: Path, name: str, seed: object, scale: float = 1.0) -> Report:
    """The report of one operation in a process of its own: all calls of it at scale 1, below that a
    sample.
    """
    work.mkdir(parents=True)
    shim, top = work / "failing_calls.so", work / "top"
    source = HERE / "failing_calls.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", shim, source, "-ldl"], check=True)
    # A run of a build takes ten times as long as others.
    least = 1 if name in ("build", "update") else 2
    runs = 0 if scale >= 1 else max(least, round(100 * scale))
    done = subprocess.run(
        [sys.executable, __file__, str(work), name, str(runs), str(seed)],
        env={
            **environment(top / "home"),
            "PATH": "/usr/bin:/bin",  # no client of this machine
            "TMPDIR": str(top / "tmp"),
            "CAPDISC_TABLE": "off",
            "FAILING": str(top),
            "LD_PRELOAD": str(shim),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    fields = json.loads(done.stdout)
    return Report(fields["calls"], Counter(fields["runs"]), fields["broken"])


def main() -> None:
    """Try one operation, with the shim preloaded, and print the report as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("operation", choices=OPERATIONS)
    parser.add_argument("runs", type=int, help="of each kind; 0: one for each call")
    parser.add_argument("seed")
    parser.add_argument("--kinds", default=",".join(KINDS))
    options = parser.parse_args()
    shim = ctypes.CDLL(os.environ["LD_PRELOAD"])
    shim.failed_call.restype, shim.call_count.restype = ctypes.c_char_p, ctypes.c_long
    shim.arm.argtypes = (ctypes.c_int, ctypes.c_long)
    place, rng = Workplace(options.work / "top", shim), random.Random(options.seed)
    operation, kinds = OPERATIONS[options.operation], options.kinds.split(",")
    report = _try(place, operation, kinds, options.runs, rng)
    print(json.dumps({"calls": report.calls, "runs": report.runs, "broken": report.broken}))


if __name__ == "__main__":
    main()
