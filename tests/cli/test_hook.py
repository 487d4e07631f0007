"""`capdisc hook` beside builds, other processes and clocks; transcripts/hook.txt has what it prints."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from capdisc.args.command_table import run_command
from capdisc.context import background_build, background_process, coverage
from capdisc.context.surroundings import current_runtime
from capdisc.hook import client_session, suggestion_lines, supervisor
from capdisc_indexer.indexing import previous_build
from capdisc_indexer.lazy_imports import load_token_counter
from capdisc_indexer.text.normalization import one_line

REQUEST = "join two PDF files into one"
# As long as a busy machine may need: what is tested is the answer, not the time.
PATIENCE = ("--deadline", "60s")
REFRESH_INDEX = background_build.start_refresh
NEXT_YEAR_S = 365 * 24 * 3600


def event(prompt: str, **fields: object) -> str:
    """The JSON of Claude Code and Codex for a prompt."""
    return json.dumps({"hook_event_name": "UserPromptSubmit", "prompt": prompt, **fields})


def printed_lines(out: str) -> list[str]:
    """The lines of capabilities in a client's JSON; none of nothing."""
    if not out:
        return []
    context = json.loads(out)["hookSpecificOutput"]["additionalContext"]
    return [line for line in context.splitlines() if line.startswith("- ")]


def names(out: str) -> list[str]:
    return [re.match(r"- ([\w.-]+)", line)[1] for line in printed_lines(out)]


@pytest.fixture(autouse=True)
def refreshed(monkeypatch) -> list[Path | None]:
    """The indexes that this process would have brought up to date in the background."""
    started: list[Path | None] = []
    monkeypatch.setattr(
        background_build, "start_refresh", lambda runtime, place, client: started.append(place)
    )
    return started


@pytest.fixture
def hook(process) -> Callable[..., str]:
    """What `capdisc hook claude` prints for this stdin, in a process of its own, which ends with 0
    and says nothing on stderr.
    """

    def run(stdin: str, *options: str, **env: str) -> str:
        done = process("hook", "claude", *PATIENCE, *options, stdin=stdin, env=env)
        assert (done.code, done.err) == (0, "")
        return done.out

    return run


@pytest.fixture
def builds(monkeypatch) -> list[bool]:
    """The builds that would have been started: for each, whether it repeats the last one."""
    started: list[bool] = []
    monkeypatch.setattr(
        background_build, "_start_process", lambda *_, again=False: started.append(again)
    )
    return started


@pytest.fixture
def library(hermetic, write_skill, capdisc) -> Callable[..., None]:
    """Write and index a skill of the workspace: `library("name", "What it does.", "Its text.")`."""
    (hermetic / ".git").mkdir()

    def add(name: str, description: str, body: str = "Do it.") -> None:
        write_skill(hermetic / ".claude" / "skills", name, description, body)
        assert capdisc("index", "-q").code == 0

    return add


def test_hits_of_little_relevance_stay_away(capdisc, small) -> None:
    done = capdisc("search", REQUEST, "-k", "20", "--json").json
    weak = {hit["name"] for hit in done["hits"] if hit["relevance"] < 0.05}
    out = capdisc("hook", "claude", "-k", "10", "--budget", "2000", stdin=event(REQUEST)).out
    assert weak and not weak & set(names(out))


def test_no_budget_is_ever_exceeded(capdisc, small) -> None:
    count, generator = load_token_counter(), random.Random(15)
    for budget in [1, 20, 40, *(generator.randrange(20, 900) for _ in range(25))]:
        prompt = generator.choice([REQUEST, "send an invoice", "fill in this form", "résumer"])
        detail = ["--detail"] if generator.random() < 0.5 else []
        words = ("hook", "claude", "--budget", str(budget), *detail)
        out = capdisc(*words, stdin=event(prompt)).out
        text = json.loads(out)["hookSpecificOutput"]["additionalContext"] if out else ""
        assert count(text) <= budget


# The reason of a line.


@pytest.mark.parametrize(
    ("prompt", "reason"),
    [
        ("fold a paper crane", "Folds paper into cranes and boats."),
        ("hang lanterns in the garden", "Hangs lanterns up in trees."),
    ],
)
def test_the_reason_is_the_sentence_that_fits(prompt, reason) -> None:
    text = "Folds paper into cranes and boats. Hangs lanterns up in trees. Use when a feast is to come."
    scorer = suggestion_lines.choose_scorer()
    assert suggestion_lines.select_reason(prompt, text, scorer, 110) == reason
    assert (
        suggestion_lines.select_reason(prompt, text, suggestion_lines.score_by_words, 110)
        == reason
    )


def test_a_long_sentence_gives_a_reason_of_the_length_that_is_left() -> None:
    text = "Folds paper cranes, " + ", ".join(f"boats of {number} sheets" for number in range(30))
    for length in (110, 80, 50):
        reason = suggestion_lines.select_reason(
            "fold", text, suggestion_lines.score_by_words, length
        )
        assert len(reason) <= length and reason == one_line(reason)
        assert reason.startswith("Folds paper cranes, ")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("- fold cranes\n- fold boats\n- glue paper", "fold cranes; fold boats; glue paper"),
        ("# Cranes\n\n**Folds** `paper` cranes", "Cranes Folds paper cranes"),
        ("cranes, boats, paper", "cranes, boats, paper"),
        ("Paper cranes - the guide -", "Paper cranes - the guide"),
        ("折纸鹤。", "折纸鹤。"),
    ],
)
def test_a_description_without_a_sentence_gives_a_plain_reason(text, reason) -> None:
    scorer = suggestion_lines.score_by_words
    assert suggestion_lines.select_reason("fold a crane", text, scorer, 110) == reason


def test_a_part_of_a_sentence_is_no_torn_one() -> None:
    """It begins outside brackets and without the word that joined it."""
    text = (
        "Shows the way to the pond with all of its boats (oars, sails, and fold paper cranes here), "
        "or fold paper boats from squares"
    )
    reason = suggestion_lines.select_reason(
        "fold paper", text, suggestion_lines.score_by_words, 40
    )
    assert reason == "… fold paper boats from squares"


# Sessions.


def test_of_two_hooks_at_once_one_prints_a_line(process, small) -> None:
    def ask_at_once(_: int):
        prompt = event(REQUEST, session_id="one")
        return process("hook", "claude", *PATIENCE, "--explain", stdin=prompt)

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(ask_at_once, range(4)))
    assert any(answer.out for answer in answers)
    # On a busy machine one may not learn in time what was printed: it then prints it again, and says so.
    aware = [
        answer for answer in answers if "what was printed before is not known" not in answer.err
    ]
    printed = [name for answer in aware for name in names(answer.out)]
    assert len(printed) == len(set(printed))


def test_the_memory_of_sessions_is_bounded_and_expires(tmp_path) -> None:
    folder = tmp_path / "state"

    def record(session: str, offers: dict[str, tuple[str, float]]) -> int:
        return len(client_session.record_turn(folder, "claude", session, None, offers))

    one = {"skill:a": ("1", 0.6)}
    for number in range(client_session.MAX_SESSIONS + 20):
        record(f"s{number}", one)
    assert len(list((folder / "hook").glob("*.json"))) <= client_session.MAX_SESSIONS
    many = {f"skill:{number}": ("1", 0.6) for number in range(client_session.MAX_ENTRIES + 50)}
    record("long", many)
    assert record("long", many) == 50
    for offset_s in (-client_session.EXPIRES_AFTER_S - 60, NEXT_YEAR_S):
        moment = time.time() + offset_s
        for path in (folder / "hook").glob("*.json"):
            os.utime(path, (moment, moment))
        record(f"new {offset_s}", one)
        assert len(list((folder / "hook").glob("*.json"))) == 1


def test_a_doubtful_line_is_printed_again_once_it_is_clear_or_long_ago(tmp_path) -> None:
    def record(probability: float) -> bool:
        offers = {"skill:a": ("1", probability)}
        return bool(client_session.record_turn(tmp_path, "claude", "one", None, offers))

    assert record(0.5)
    assert not record(0.6)
    assert record(0.8)
    assert not any(record(0.8) for _ in range(client_session.FORGOTTEN_AFTER_TURNS - 1))
    assert record(0.8)


# The index.


def test_a_missing_index_is_built_once_and_the_next_prompt_finds_it(
    hook, process, hermetic, write_skill
) -> None:
    (hermetic / ".git").mkdir()
    write_skill(hermetic / ".claude/skills", "crane-folder", "Folds paper cranes. Use for cranes.")
    prompt = event("fold a paper crane", cwd=str(hermetic))
    with ThreadPoolExecutor(4) as pool:
        first = list(pool.map(hook, [prompt] * 6))
    # On a busy machine the build may be done before the last of them asks.
    assert first[0] == "" and all(names(out) == ["crane-folder"] for out in first if out)
    end = time.monotonic() + 120
    while not (out := hook(prompt)):
        assert time.monotonic() < end
        time.sleep(0.2)
    assert names(out) == ["crane-folder"]
    assert process("status", "--json").json["generation"] == 1


def test_with_an_empty_entry_in_pythonpath_a_build_runs_nothing_of_the_workspace(
    process, hermetic, write_skill
) -> None:
    (hermetic / ".git").mkdir()
    write_skill(hermetic / ".claude/skills", "crane-folder", "Folds paper cranes. Use for cranes.")
    (hermetic / "sitecustomize.py").write_text(
        "import sys\nopen('started', 'a').write(f'{sys.orig_argv}\\n')\n"
    )
    # Python runs it before the first line of ours: in the hook itself nothing can be done.
    env = {"PYTHONPATH": os.pathsep + os.environ.get("PYTHONPATH", "/nowhere")}
    prompt, end = event("fold a paper crane"), time.monotonic() + 120
    while not process("hook", "claude", *PATIENCE, stdin=prompt, env=env).out:
        assert time.monotonic() < end
        time.sleep(0.2)
    started = (hermetic / "started").read_text().splitlines()
    assert started and all("'hook'" in words for words in started)


def test_twenty_prompts_start_one_build(capdisc, hermetic, write_skill, builds) -> None:
    (hermetic / ".git").mkdir()
    write_skill(hermetic / ".claude" / "skills", "crane-folder", "Folds paper cranes.")
    for _ in range(20):
        assert capdisc("hook", "claude", stdin=event("fold a paper crane")).out == ""
    assert len(builds) == 1


def test_a_clock_that_was_ahead_holds_up_no_build(
    capdisc, hermetic, write_skill, monkeypatch, builds
) -> None:
    monkeypatch.setattr(background_build, "start_refresh", REFRESH_INDEX)
    (hermetic / ".git").mkdir()
    write_skill(hermetic / ".claude" / "skills", "crane-folder", "Folds paper cranes.")
    prompt = event("fold a paper crane")

    def next_year() -> None:
        (stamp,) = hermetic.parent.rglob("hook/*.build")
        stamp.write_text(f"{time.time() + NEXT_YEAR_S:.0f}")

    capdisc("hook", "claude", stdin=prompt)
    next_year()
    assert len(builds) == 1
    explained = capdisc("hook", "claude", "--explain", stdin=prompt)
    assert "is being built from now on" in explained.err and len(builds) == 2
    assert capdisc("index").code == 0
    next_year()
    assert capdisc("hook", "claude", stdin=prompt).out and len(builds) == 3
    assert capdisc("hook", "claude", stdin=prompt).out and len(builds) == 3


def test_a_build_is_not_started_where_there_is_nothing_to_build(capdisc, builds) -> None:
    done = capdisc("hook", "claude", stdin=event("fold a paper crane"))
    assert (done.code, done.out) == (0, "")
    assert "there is nothing to index here" in done.err and not builds


def test_a_new_skill_is_found_some_prompts_later(hook, library, hermetic, write_skill) -> None:
    library("crane-folder", "Folds paper cranes. Use when asked for a crane.")
    write_skill(hermetic / ".claude" / "skills", "kite-builder", "Builds kites from silk.")
    prompt = event("build a kite", cwd=str(hermetic))
    end = time.monotonic() + 120
    while "kite-builder" not in names(hook(prompt)):
        assert time.monotonic() < end
        time.sleep(0.2)


@pytest.mark.parametrize("words", [(), (".claude/skills",), ("more",), ("--only", "more")])
def test_an_index_is_brought_up_to_date_with_what_it_covers(
    capdisc, hermetic, write_skill, monkeypatch, builds, words
) -> None:
    monkeypatch.setattr(background_build, "start_refresh", REFRESH_INDEX)
    (hermetic / ".git").mkdir()
    write_skill(hermetic / ".claude" / "skills", "crane-folder", "Folds paper cranes.")
    write_skill(hermetic / "more", "kite-builder", "Builds kites from silk.")
    assert capdisc("index", *words, "-q").code == 0
    covered = capdisc("list", "--ids").out
    for _ in range(3):
        assert capdisc("hook", "claude", stdin=event("fold a paper crane")).code == 0
    assert builds == ["--only" in words]
    assert capdisc("index", *(["--again"] if builds[0] else [])).code == 0
    assert capdisc("list", "--ids").out == covered


def test_no_index_is_touched_where_that_is_not_wanted(capdisc, library, refreshed) -> None:
    library("crane-folder", "Folds paper cranes. Use when asked for a crane.")
    prompt = event("fold a paper crane")
    assert capdisc("hook", "claude", stdin=prompt).out and len(refreshed) == 1
    assert capdisc("hook", "claude", "--no-build", stdin=prompt).out and len(refreshed) == 1


@pytest.mark.parametrize(("words", "count"), [((), 1), (("--no-build",), 0)])
def test_no_build_leaves_a_changed_file_alone(
    capdisc, library, hermetic, monkeypatch, builds, words, count
) -> None:
    monkeypatch.setattr(background_build, "start_refresh", REFRESH_INDEX)
    library("crane-folder", "Folds paper cranes. Use when asked for a crane.")
    (path,) = hermetic.rglob("crane-folder/SKILL.md")
    path.write_text(path.read_text() + "More.\n")
    assert capdisc("hook", "claude", *words, stdin=event("fold a paper crane")).out
    assert len(builds) == count


def test_while_no_build_is_due_nothing_is_read_for_one(
    capdisc, library, hermetic, monkeypatch, builds
) -> None:
    library("crane-folder", "Folds paper cranes. Use when asked for a crane.")
    (path,) = hermetic.rglob("crane-folder/SKILL.md")
    path.write_text(path.read_text() + "More.\n")
    questions = []
    monkeypatch.setattr(
        coverage, "covers_usual_folders", lambda where: questions.append(where) or True
    )
    monkeypatch.setattr(background_build, "_UPDATE_PAUSE_S", NEXT_YEAR_S)
    for _ in range(3):
        assert capdisc("hook", "claude", stdin=event("fold a paper crane")).out
    assert len(questions) == len(builds) == 1


def test_a_refresh_that_starts_nothing_holds_up_no_later_one(
    capdisc, library, monkeypatch, builds
) -> None:
    monkeypatch.setattr(background_build, "start_refresh", REFRESH_INDEX)
    library("crane-folder", "Folds paper cranes. Use when asked for a crane.")
    prompt = event("fold a paper crane")
    with monkeypatch.context() as unread:
        unread.setattr(
            previous_build, "recover_settings", lambda *_: previous_build.PreviousBuild()
        )
        assert capdisc("hook", "claude", stdin=prompt).out and not builds
    assert capdisc("hook", "claude", stdin=prompt).out and len(builds) == 1


# Whatever happens.


def test_without_recent_errors_doctor_has_nothing_to_say(capdisc, small, monkeypatch) -> None:
    with monkeypatch.context() as clock:
        clock.setattr(time, "gmtime", lambda *_: (2999, 1, 1, 0, 0, 0, 3, 1, 0))
        background_process.log_failure(
            current_runtime().user_state_dir(), "claude", "the clock was ahead"
        )
    report = capdisc("doctor", "--json").json
    check = next(check for check in report["checks"] if check["name"] == "hook")
    assert (check["state"], check["fix"]) == ("ok", "")


@pytest.mark.parametrize(("damage", "is_built"), [("MANIFEST", True), ("*/*.json", False)])
def test_a_damaged_index_costs_the_client_nothing(
    capdisc, hermetic, library, write_skill, builds, damage, is_built
) -> None:
    library("crane-folder", "Folds paper cranes. Use when asked for a crane.")
    write_skill(hermetic / "more", "kite-builder", "Builds kites from silk.")
    assert capdisc("index", "more", "-q").code == 0
    for name in {"MANIFEST", damage}:
        for path in (hermetic.parent / "home" / ".cache" / "capdisc").rglob(f"gens/*/{name}"):
            path.write_bytes(b"\xff" * 100)
    done = capdisc("hook", "claude", stdin=event("fold a paper crane"))
    # Where nothing says what it covered, it is not replaced by one that covers less.
    assert (done.out, bool(builds)) == ("", is_built)
    assert is_built or "capdisc index, with the paths that were added" in done.err
    if is_built:
        capdisc("index")
        assert capdisc("list", "--ids").out.split() == ["skill:crane-folder", "skill:kite-builder"]


GUARDED = """
import os, signal, sys, time
from capdisc.context import background_process
from capdisc.hook import supervisor
def hang(): sys.stdout.write("half an ans"); sys.stdout.flush(); time.sleep(60); return 0
def crash(): os.write(1, b"half an ans"); os.kill(os.getpid(), signal.SIGSEGV)
def fail(): os.write(1, b"half an ans"); raise RuntimeError("no")
def leave(): os.write(1, b"half an ans"); os._exit(2)
def flood(): [os.write(1, b"x" * 65536) for _ in range(1000)]; return 0
def answer(): os.write(1, b"an answer"); return 0
sys.exit(supervisor.run_supervised(["claude", "--deadline", sys.argv[2]], globals()[sys.argv[1]]))
"""


@pytest.mark.parametrize(
    ("way", "deadline", "expected", "cause"),
    [
        ("hang", "300ms", "", "no answer in time"),
        ("crash", "60s", "", "signal 11"),
        ("fail", "60s", "", "exit status 70"),
        ("leave", "60s", "", "exit status 2"),
        ("flood", "60s", "", "no answer in time"),
        ("answer", "60s", "an answer", ""),
    ],
)
def test_a_client_gets_a_whole_answer_or_nothing(way, deadline, expected, cause, capdisc) -> None:
    command = [sys.executable, "-c", GUARDED, way, deadline]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, expected)
    home = Path(os.environ["HOME"])
    failures = background_process.read_failures(home / ".local" / "state" / "capdisc")
    assert [cause in str(failure["error"]) for failure in failures] == ([True] if cause else [])


def test_the_log_is_bounded_and_survives_damage(tmp_path) -> None:
    folder = tmp_path / "state"
    for number in range(160):
        background_process.log_failure(folder, "claude", f"{number} " + "x" * 5_000)
    path = folder / background_process.LOG_NAME
    assert path.stat().st_size < 140_000
    path.write_bytes(b"{\n" + path.read_bytes() + b"[1]\n")
    failures = background_process.read_failures(folder)
    assert str(failures[-1]["error"]).startswith("159 ")


def test_a_hook_imports_no_more_of_the_core_than_a_search(small) -> None:
    code = (
        "import io, sys\n"
        "from capdisc.args.command_table import run_command\n"
        f"sys.stdin = io.StringIO({event(REQUEST)!r})\n"
        "run_command(['hook', 'claude', '--no-build'])\n"
        "packages = {name.split('.')[1] for name in sys.modules if name.startswith('capdisc_indexer.')}\n"
        "print(*sorted(packages & {'tools', 'facts', 'execution', 'indexing', 'validation', 'rendering', 'links'}))\n"
        "print(*sorted({'numpy', 'typer', 'rs_bpe', 'subprocess'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert '"hookSpecificOutput"' in done.stdout
    assert done.stdout.splitlines()[1:] == ["", ""]


def test_a_direct_call_answers_as_a_supervised_one(hook, small, monkeypatch, capsys) -> None:
    import io

    supervised = hook(event(REQUEST))
    monkeypatch.setattr(sys, "stdin", io.StringIO(event(REQUEST)))
    assert run_command(["hook", "claude"]) == 0
    assert capsys.readouterr().out == supervised


@pytest.mark.parametrize(
    ("processor_s", "cause", "advice"),
    [(0.1, "because the machine was busy", False), (0.7, "because of its own work", True)],
)
def test_doctor_says_why_a_hook_was_late_and_what_helps(
    hermetic, capdisc, processor_s, cause, advice
) -> None:
    folder = hermetic.parent / "home/.local/state/capdisc"
    background_process.log_failure(folder, "claude", supervisor._describe_delay(0.8, processor_s))
    printed = capdisc("doctor").out
    assert (
        f"no answer in time (0.8 s, {processor_s:.2f} s of the processor): late {cause}" in printed
    )
    assert "capdisc hook claude --deadline 2s" in printed
    assert ("index less" in printed) is advice


def test_a_client_that_ignores_ended_children_gets_the_line(
    capdisc, hermetic, write_skill
) -> None:
    """Ignored signals are handed on; the hook then could not wait for its own process."""
    write_skill(hermetic / ".agents" / "skills", "merge-pdfs", "Merges PDF files into one.")
    assert capdisc("index").code == 0
    script = (
        "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN);"
        "os.execv(sys.executable, [sys.executable, '-m', 'capdisc', 'hook', 'claude', '--deadline', '60s'])"
    )
    command = [sys.executable, "-c", script]
    stdin = event("merge these two PDF files into one")
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)
    assert "merge-pdfs" in done.stdout
