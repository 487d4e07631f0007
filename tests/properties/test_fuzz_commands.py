"""Whatever settings, state, sources and arguments hold, a command ends with an answer or a typed error."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from capdisc.context import background_build
from capdisc.output import failures
from capdisc_indexer.indexing import document_changes, file_reader
from capdisc_indexer.sources.format_table import SOURCES
from capdisc_indexer.tools.tool_table import TOOLS
from capdisc_indexer.validation import validate
from case_files import write_files
from properties.fuzz_edits import EDITS, ODD_VALUES, Edit, change
from properties.fuzz_seeds import seeds_by_format

IS_LONG = "CAPDISC_FUZZ_EXAMPLES" in os.environ
EXAMPLES = int(os.environ.get("CAPDISC_FUZZ_EXAMPLES", "8"))
FUZZ = settings(
    deadline=None,
    database=None,
    derandomize=not IS_LONG,
    suppress_health_check=list(HealthCheck),
)
QUERY = "fold a paper crane"
SETTINGS = Path(__file__).with_name("settings.files").read_text()
# A command line each; behind `<<` stands what is on stdin.
PREPARATIONS = r"""
trust --yes
index --quiet
search QUERY --session trip
session note trip 'Anna likes red cranes'
session observe trip send-mail << {"id": "e-17"}
call add_fact '{"name": "crane", "value": "a bird"}'
hook claude << {"prompt": "fold a paper crane", "session_id": "s1"}
setup claude --yes
"""
COMMANDS = r"""
index --quiet
index --json
search QUERY --json
search QUERY --session trip
render QUERY --session trip
render QUERY --format json --style full
list
list --json
show fold-paper
show fold-paper --json
tools QUERY --format openai
tools --all
validate --json
validate --fix --write
validate --profile claude-code files
doctor
status --json
trust --list
trust --yes
config
setup
setup claude --yes
setup claude --undo --yes
setup codex --yes
setup claude --gateway --yes
hook claude << {"prompt": "fold a paper crane", "session_id": "s1"}
session show trip
session prompt trip
session list
call resolve_fact '{"question": "what is a crane"}'
call list_skills '{}'
mcp --gateway --list
audit
graph --format json
plan check - << {"steps": [{"tool": "send-mail", "arguments": {"to": "a"}}]}
run send-mail '{"to": "ann"}' --dry-run
log --top
eval queries.jsonl qrels.tsv
"""


def _read_lines(text: str) -> list[tuple[list[str], str]]:
    """The words of each command line and its stdin."""
    parts = [line.partition(" << ") for line in text.strip().splitlines()]
    return [(shlex.split(line.replace("QUERY", f"'{QUERY}'")), stdin) for line, _, stdin in parts]


def _raise(error: BaseException) -> None:
    raise error


@pytest.fixture
def world(
    tmp_path: Path,
    capdisc: Callable[..., Any],
    write_skill: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
) -> Path:
    """A folder with a home and a workspace, in which capdisc has state of every kind. An error that is
    a bug is raised.
    """
    monkeypatch.setattr(failures, "_write_crash_log", _raise)
    for module in (file_reader, validate, document_changes):
        monkeypatch.setattr(module, "ENDING_ERRORS", (BaseException,))
    monkeypatch.setattr(background_build, "_start_process", lambda *_, **__: None)
    declarations = []
    write_files(SETTINGS.replace("PLUGIN", str(tmp_path / "home/plugin")), tmp_path)
    (tmp_path / "work/.git").mkdir()
    for folder in ("work/.claude/skills", "home/plugin/skills"):
        write_skill(tmp_path / folder, "fold-paper", "Folds paper cranes. Use for a crane.")
    for format_name, seeds in seeds_by_format().items():
        declared = SOURCES[format_name].declared
        for name, data in seeds[:1]:
            folder = tmp_path / "work/files" / format_name
            folder.mkdir(parents=True)
            (folder / name).write_bytes(data)
            if declared:
                declarations.append(
                    f'[[source]]\nformat = "{declared}"\npath = "files/{format_name}/{name}"\n'
                )
    (tmp_path / "work/files/guidance.md").write_text("Ask first.\n")
    (tmp_path / "work/schema.json").write_text('{"type": "object"}')
    (tmp_path / "work/skills").mkdir()
    (tmp_path / "work/skills/CAPABILITY.yaml").write_text("name: x\nkind: tool\n")
    settings_file = tmp_path / "work/capdisc.toml"
    settings_file.write_text(settings_file.read_text() + "".join(declarations))
    for words, stdin in _read_lines(PREPARATIONS):
        done = capdisc(*words, stdin=stdin)
        assert done.code in (0, 1), (words, done)
    return tmp_path


def _check(capdisc: Callable[..., Any], words: Sequence[str], stdin: str) -> None:
    done = capdisc(*words, stdin=stdin)
    assert done.code in {int(code) for code in failures.ExitCode} - {70}, (words, done.err)
    assert "Traceback" not in done.err
    if "--json" in words and done.code in (0, 1):
        json.loads(done.out)


def test_a_changed_file_of_any_kind_ends_no_command_with_a_bug(
    world: Path, capdisc: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Settings, what clients wrote, capdisc's own state, the index, and sources of every format."""
    original = tmp_path_factory.mktemp("original")
    for name in ("home", "work"):
        shutil.copytree(world / name, original / name, symlinks=True)
    paths = sorted(
        str(path.relative_to(original))
        for path in original.rglob("*")
        if path.is_file() and path.stat().st_size < 65_536
    )
    assert len(paths) > SETTINGS.count("\n-- ") + len(SOURCES)

    @settings(FUZZ, max_examples=EXAMPLES)
    @given(
        st.sampled_from(paths),
        EDITS,
        st.lists(st.sampled_from(_read_lines(COMMANDS)), min_size=2, max_size=4, unique_by=repr),
    )
    def check(
        path: str, edits: Sequence[Edit], commands: Sequence[tuple[Sequence[str], str]]
    ) -> None:
        file = world / path
        data = (original / path).read_bytes()
        file.write_bytes(change(path, data, edits, [data]))
        for words, stdin in commands:
            _check(capdisc, words, stdin)
        for name in ("home", "work"):
            shutil.rmtree(world / name)
            shutil.copytree(original / name, world / name, symlinks=True)
        os.chdir(world / "work")  # the folder of before is gone, whose name the new one has

    check()


def test_odd_arguments_and_messages_end_no_command_with_a_bug(
    world: Path, capdisc: Callable[..., Any]
) -> None:
    """The JSON of `call` and `run`, the JSON that a client sends to a hook, plans and queries."""
    odd_values = st.sampled_from(ODD_VALUES)
    keys = st.sampled_from(
        "query id name names question value limit kind path table plan steps text".split()
    )
    arguments = st.one_of(odd_values, st.dictionaries(keys, odd_values, max_size=4))

    @settings(FUZZ, max_examples=EXAMPLES)
    @given(st.sampled_from([*TOOLS]), arguments, odd_values)
    def check(tool: str, value: Any, odd: Any) -> None:
        text = json.dumps(value)
        _check(capdisc, ("call", tool, text), "")
        _check(capdisc, ("run", "send-mail", text, "--dry-run"), "")
        _check(capdisc, ("hook", "claude"), json.dumps({"prompt": odd, "session_id": value}))
        _check(capdisc, ("plan", "check", "-"), text)
        _check(capdisc, ("search", "-"), str(odd).encode("utf-8", "replace").decode())

    check()


# A pattern that is tried from each place of such a run, or looks back in it, takes minutes.
RUNS = (
    "b",
    "(",
    "\n",
    "a\u2800",
    "b ",
    "b_",
    "a-",
    "<a ",
    "`",
    "](",
    "> ",
    "- ",
    "a.",
    "http://a",
)
RUN_BYTES = (48 if IS_LONG else 16) * 1024
CPU_SECONDS, ADDRESS_BYTES = 60, 4 * 1024**3
_LIMITED = f"""
import resource, sys
from capdisc.args.command_table import run_command
resource.setrlimit(resource.RLIMIT_CPU, ({CPU_SECONDS}, {CPU_SECONDS}))
resource.setrlimit(resource.RLIMIT_AS, ({ADDRESS_BYTES}, {ADDRESS_BYTES}))
sys.exit(run_command(sys.argv[1:]))
"""


def _stretch(data: bytes, run: str) -> bytes:
    """The file with a long run at the beginning of its first description, else in its middle."""
    text = run * (RUN_BYTES // len(run.encode()))
    mark = next((mark for mark in (b'scription": "', b'scription: "') if mark in data), b"")
    if not mark:
        return data[: len(data) // 2] + text.encode() + data[len(data) // 2 :]
    return data.replace(mark, mark + json.dumps(text, ensure_ascii=False)[1:-1].encode(), 1)


@pytest.mark.parametrize(
    "words", [("index", "--quiet"), *([("validate", "--json")] if IS_LONG else [])]
)
def test_long_runs_keep_within_limits_of_memory_and_processor_time(
    hermetic: Path, words: Sequence[str]
) -> None:
    """The system ends a process that goes beyond; nothing here looks at a clock."""
    declarations = []
    for format_name, seeds in seeds_by_format().items():
        if format_name in ("sqlite", "columnar", "office"):
            continue
        name, data = seeds[0]
        folder = hermetic / "files" / format_name
        for number, run in enumerate(RUNS if IS_LONG else RUNS[:4]):
            (folder / str(number)).mkdir(parents=True)
            (folder / str(number) / name).write_bytes(_stretch(data, run))
            body = data + run.encode() * (RUN_BYTES // len(run.encode()))
            (folder / f"{number}-end").mkdir()
            (folder / f"{number}-end" / name).write_bytes(body)
        if declared := SOURCES[format_name].declared:
            declarations.append(f'[[source]]\nformat = "{declared}"\npath = "{folder}/*/{name}"\n')
    (hermetic / "capdisc.toml").write_text("".join(declarations))
    done = subprocess.run(
        [sys.executable, "-c", _LIMITED, *words, "files"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1), (done.returncode, done.stderr[-2000:])


@pytest.mark.parametrize(
    "call",
    [
        "from capdisc_indexer.sources.scan.folder_files import _of_head; _of_head(b'\\n' * 400_000)",
        "from capdisc_indexer.validation.competing_descriptions import _NAME; _NAME.findall('b' * 400_000)",
    ],
)
def test_a_pattern_takes_time_in_proportion_to_its_text(call: str) -> None:
    """One that is tried from each place of a run would take hours for this; it gets 20 seconds."""
    code = f"import resource; resource.setrlimit(resource.RLIMIT_CPU, (20, 20)); {call}"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
