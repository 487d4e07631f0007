"""capdisc run: a capability that declares how it is run, run with its checks and consent."""

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from capdisc.context import surroundings

SCHEMA = """inputSchema:
  type: object
  properties:
    text: {type: string}
    times: {type: integer, minimum: 1, maximum: 9, default: 1}
    tone: {enum: [loud, soft]}
  required: [text]
"""
ECHO = SCHEMA + 'run: {command: [echo, "{text}", "{times}"]}\n'


@pytest.fixture
def tool(hermetic, monkeypatch, capdisc):
    """Write a capability and index it: `tool("echo", "run: ...")`."""
    monkeypatch.setenv("CAPDISC_INDEX_DIR", str(hermetic / "index"))

    def write(name: str, fields: str, kind: str = "tool") -> Path:
        path = hermetic / "tools" / name / "CAPABILITY.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            f"name: {name}\nkind: {kind}\ndescription: Says what it is told, {name}.\n{fields}"
        )
        assert capdisc("index", "tools").code == 0
        return path

    return write


@pytest.fixture
def terminal(monkeypatch):
    """stdin and stderr are a terminal, and so is stdout if it is asked for."""

    def sit(stdout: bool = False) -> None:
        def is_terminal(stream: object) -> bool:
            return stdout if stream is sys.stdout else True

        monkeypatch.setattr(surroundings, "is_terminal", is_terminal)

    return sit


def test_output_and_exit_status_are_passed_on(capdisc, tool) -> None:
    """A capability that declares how it is run runs; output and status pass through (S108)."""
    tool("echo", ECHO)
    tool("fail", 'run: {command: [sh, -c, "echo out; echo err >&2; exit 3"]}\n')
    done = capdisc("run", "echo", '{"text": "a b; $HOME"}', "--yes")
    assert (done.code, done.out, done.err) == (0, "a b; $HOME 1\n", "")
    done = capdisc("run", "tool:fail", "--yes")
    assert (done.code, done.out, done.err) == (3, "out\n", "err\n")


def test_json_holds_all_of_it(capdisc, tool) -> None:
    """One JSON document has the status and the results (S111)."""
    tool("fail", 'run: {command: [sh, -c, "echo out; echo err >&2; exit 3"]}\n')
    done = capdisc("run", "fail", "--yes", "--json")
    found = done.json
    assert found.pop("seconds") >= 0
    assert done.code == 3
    assert found == {
        "schema_version": 1, "id": "tool:fail", "status": "failed", "exit_code": 3, "stdout": "out\n",
        "stderr": "err\n", "truncated": False,
    }  # fmt: skip


def test_arguments_come_from_stdin_too(capdisc, tool) -> None:
    tool("echo", ECHO)
    assert capdisc("run", "echo", "-", "--yes", stdin='{"text": "x", "times": 2}').out == "x 2\n"


def test_everything_that_is_wrong_with_the_arguments_is_said_at_once(capdisc, tool) -> None:
    """All mistakes are reported together: missing, unknown, wrong type or choice (S109)."""
    tool("echo", ECHO)
    done = capdisc("run", "echo", '{"times": "many", "tone": "odd", "txt": "a"}', "--yes")
    assert (done.code, done.out) == (2, "")
    for what in ("text: is missing", "times: must be", "tone: must be one of", "txt: is unknown"):
        assert what in done.err
    assert "hint: its parameters: capdisc show tool:echo" in done.err


@pytest.mark.parametrize("given", ["{", "[]", '"x"', "3", "[" * 10_000])
def test_arguments_that_are_no_object_are_a_usage_error(capdisc, tool, given: str) -> None:
    tool("echo", ECHO)
    done = capdisc("run", "echo", given, "--yes")
    assert (done.code, done.out) == (2, "")
    assert "hint:" in done.err
    assert "merge PDFs" not in done.err


def test_the_hint_of_arguments_that_cannot_be_read_names_its_own_parameters(capdisc, tool) -> None:
    tool("echo", ECHO)
    done = capdisc("run", "echo", '{"text": a}', "--yes")
    assert """hint: write JSON: '{"text": "..."}'""" in done.err


def test_fill_prints_the_arguments_with_their_defaults(capdisc, tool) -> None:
    """--fill prints the arguments with their defaults (S247)."""
    tool("echo", ECHO)
    done = capdisc("run", "echo", '{"text": "a"}', "--fill")
    assert json.loads(done.out) == {"text": "a", "times": 1}
    assert capdisc("run", "echo", "-", "--yes", stdin=done.out).out == "a 1\n"


def test_arguments_are_given_as_key_and_value_too(capdisc, tool) -> None:
    tool(
        "note",
        "inputSchema: {required: [title], properties: {title: {type: [string, 'null']}, count: {type: integer},"
        " tags: {type: array}, any: {}}}\nrun: {command: [echo, '{title}']}\n",
    )

    def fill(*words: str) -> object:
        return json.loads(capdisc("run", "note", *words, "--fill").out)

    assert fill("title=5", "count=5", "any=yes") == {"title": "5", "count": 5, "any": "yes"}
    assert fill("title=a=b c", 'tags=["x"]') == {"title": "a=b c", "tags": ["x"]}
    assert fill('{"title": "a=b"}') == {"title": "a=b"}
    assert capdisc("run", "note", "title=two words", "--yes").out == "two words\n"
    for words in (("title",), ("title=x", "urgent")):
        done = capdisc("run", "note", *words)
        assert (done.code, done.out) == (2, "")
        assert f"error: {words[-1]!r} is not KEY=VALUE" in done.err
        assert 'hint: write KEY=VALUE, or all of them as JSON: \'{"title"' in done.err
    assert "count: must be an integer" in capdisc("run", "note", "title=x", "count=a").err


def test_dry_run_prints_the_call_and_makes_none(capdisc, tool, hermetic) -> None:
    tool(
        "touch",
        'inputSchema: {properties: {path: {type: string}}}\nrun: {command: [touch, "{path}"]}\n',
    )
    done = capdisc("run", "touch", '{"path": "a b"}', "--dry-run")
    assert done.code == 0
    assert done.out.endswith("touch 'a b'\n")
    note = "note: it names no file whose bytes a yes would hold for\n"
    assert done.err == f"note: it runs in {hermetic}\n{note}"
    assert not (hermetic / "a b").exists()
    call = capdisc("run", "touch", '{"path": "a b"}', "--dry-run", "--json").json
    assert call["call"]["argv"][1:] == ["a b"]
    assert call["call"]["cwd"] == str(hermetic)
    assert call["asks"] == ["it has not been run before as it is now"]
    assert call["covers"] == call["unmasked"] == []


def test_dry_run_names_the_files_that_a_yes_holds_for(capdisc, tool) -> None:
    folder = tool(
        "go", "run: {command: [sh, -c, 'cd scripts && ./go.sh'], cwd: capability}\n"
    ).parent
    script = folder / "scripts" / "go.sh"
    script.parent.mkdir()
    script.write_text("echo one")
    assert f"the bytes of {script};" in capdisc("run", "go", "--dry-run").err
    assert capdisc("run", "go", "--dry-run", "--json").json["covers"] == [str(script)]


def test_an_unknown_name_points_back_to_search(capdisc, tool) -> None:
    """Running an unknown name proposes the nearest and points to search (S110)."""
    tool("echo", ECHO)
    done = capdisc("run", "ehco", "--yes")
    assert done.code == 2
    assert "tool:echo" in done.err
    assert "capdisc search" in done.err


def test_without_a_run_the_call_is_printed_for_the_agent_to_make(capdisc, tool) -> None:
    """Without a `run` nothing runs, and the call is printed; status 3 (S108)."""
    tool("plain", SCHEMA)
    done = capdisc("run", "plain", '{"text": "a"}', "--yes")
    assert (done.code, json.loads(done.out)) == (
        3,
        {"name": "plain", "arguments": {"text": "a", "times": 1}},
    )
    assert "does not say how it is run" in done.err
    done = capdisc("run", "plain", '{"text": "a"}', "--json")
    assert (done.code, done.json["status"]) == (3, "not-run")


def test_a_skill_is_read_not_run(capdisc, tool, hermetic, write_skill) -> None:
    """Running a skill or an extension loads nothing and prints what it holds (S198)."""
    write_skill(hermetic / "tools", "merge-pdfs")
    tool("echo", ECHO)
    done = capdisc("run", "merge-pdfs")
    assert (done.code, done.out) == (3, "capdisc show skill:merge-pdfs\n")


OPENAPI = {
    "openapi": "3.0.0",
    "info": {"title": "Music", "version": "1"},
    "servers": [{"url": "https://api.music.example.com/v1"}],
    "paths": {
        "/albums/{id}": {
            "get": {
                "operationId": "get-album",
                "summary": "Get an album.",
                "parameters": [
                    {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}},
                    {"name": "market", "in": "query", "schema": {"type": "string"}},
                ],
            }
        }
    },
}


def test_an_operation_is_shown_as_a_line_for_curl(capdisc, tool, hermetic, monkeypatch) -> None:
    """An operation is not executed but shown as a curl line (S33)."""
    monkeypatch.setenv("CAPDISC_INDEX_DIR", str(hermetic / "index"))
    (hermetic / "tools").mkdir()
    (hermetic / "tools" / "music.json").write_text(json.dumps(OPENAPI))
    capdisc("index", "tools")
    done = capdisc("run", "get-album", '{"id": "4aa wy", "market": "DE"}', "--dry-run")
    assert "curl -X GET" in done.out
    assert "https://api.music.example.com/v1/albums/4aa%20wy?market=DE" in done.out


def test_a_parameter_may_be_called_as_the_model_was_told_to(capdisc, tool) -> None:
    """A parameter such as `page[size]`, which Anthropic's API refuses, has two names (S16)."""
    tool(
        "show",
        'inputSchema: {properties: {"page[size]": {type: integer}}, required: ["page[size]"]}\n',
    )
    offered = capdisc("tools", "--only", "show", "--format", "anthropic")
    [name] = offered.json[0]["input_schema"]["properties"]
    assert "page[size] is page_size" in offered.err
    mapped = capdisc("tools", "--only", "show", "--format", "anthropic", "--map").json[
        "parameters"
    ]
    assert mapped == {"tool:show": {name: "page[size]"}}
    for key in (name, "page[size]"):
        wish = json.dumps({"tool_name": "show", "arguments": {key: 5}})
        assert capdisc("call", "execute_tool", wish).json["arguments"] == {"page[size]": 5}
        assert json.loads(capdisc("run", "show", json.dumps({key: 5})).out)["arguments"] == {
            "page[size]": 5
        }


def test_away_from_a_terminal_nothing_is_run_that_nobody_agreed_to(capdisc, tool) -> None:
    tool("echo", ECHO)
    done = capdisc("run", "echo", '{"text": "a"}')
    assert (done.code, done.out) == (5, "")
    assert "has not been run before" in done.err
    assert "--yes" in done.err


def test_at_a_terminal_the_call_is_shown_and_a_yes_is_remembered(capdisc, tool, terminal) -> None:
    path = tool("echo", ECHO)
    terminal()
    done = capdisc("run", "echo", '{"text": "a"}', stdin="no\n")
    assert (done.code, done.out) == (5, "")
    done = capdisc("run", "echo", '{"text": "a"}', stdin="y\n")
    assert (done.code, done.out) == (0, "a 1\n")
    assert "echo a 1" in done.err
    assert str(path) in done.err
    done = capdisc("run", "echo", '{"text": "a"}', stdin="")
    assert (done.code, done.out, done.err) == (0, "a 1\n", "")


def test_a_yes_holds_for_these_arguments_but_for_numbers_and_choices(
    capdisc, tool, terminal
) -> None:
    """Once a yes to `hello` let every later value through without asking."""
    tool("echo", ECHO)
    terminal()
    assert capdisc("run", "echo", '{"text": "a"}', stdin="y\n").code == 0
    done = capdisc("run", "echo", '{"text": "other"}', stdin="")
    assert (done.code, done.out) == (5, "")
    assert "note: it has not been run with these arguments\n" in done.err
    done = capdisc("run", "echo", '{"text": "a", "times": 3}', stdin="")
    assert (done.code, done.out, done.err) == (0, "a 3\n", "")
    assert capdisc("run", "echo", '{"text": "other"}', "--dry-run", "--json").json["asks"] == [
        "it has not been run with these arguments"
    ]


def test_a_person_may_say_yes_to_any_arguments(capdisc, tool, monkeypatch) -> None:
    tool("echo", ECHO)
    with monkeypatch.context() as patched:
        patched.setattr(surroundings, "is_terminal", lambda stream: True)
        done = capdisc("run", "echo", '{"text": "a"}', stdin="any\n")
    assert (done.code, done.out) == (0, "a 1\n")
    assert (
        "note: any says yes to every argument from now on, also where an agent runs it\n"
        in done.err
    )
    assert "Run it? [y/N/any] " in done.err
    assert capdisc("run", "echo", '{"text": "b"}').out == "b 1\n"
    tool("echo", ECHO.replace("echo,", "echo, changed,"))
    assert capdisc("run", "echo", '{"text": "b"}').code == 5


@pytest.mark.parametrize(
    "field", ["hasSideEffects: true", "riskLevel: high", "requiresConfirmation: true"]
)
def test_any_arguments_are_not_on_offer_where_each_call_is_asked_about(
    capdisc, tool, terminal, field: str
) -> None:
    tool("echo", f"{ECHO}{field}\n")
    terminal()
    done = capdisc("run", "echo", '{"text": "a"}', stdin="any\n")
    assert (done.code, done.out) == (5, "")
    assert "Run it? [y/N] " in done.err


def test_any_arguments_are_not_on_offer_where_there_are_none(capdisc, tool, terminal) -> None:
    tool("hello", "run: {command: [echo, hello]}\n")
    terminal()
    assert "Run it? [y/N] " in capdisc("run", "hello", stdin="y\n").err


def test_a_yes_from_before_arguments_counted_is_no_yes_to_any(
    capdisc, tool, hermetic, monkeypatch
) -> None:
    tool("echo", ECHO)
    kept = json.dumps(
        {"version": 1, "approved": {"0" * 64: {"id": "tool:echo", "at": "2026-01-01"}}}
    )
    monkeypatch.setenv("CAPDISC_STATE_DIR", str(hermetic / "state"))
    (hermetic / "state" / "running").mkdir(parents=True, mode=0o700)
    (hermetic / "state" / "running" / "approved.json").write_text(kept)
    assert capdisc("run", "echo", '{"text": "a"}').code == 5


def test_what_a_person_agreed_to_runs_unattended_until_it_changes(
    capdisc, tool, terminal, monkeypatch
) -> None:
    tool("echo", ECHO)
    with monkeypatch.context() as patched:
        patched.setattr(surroundings, "is_terminal", lambda stream: True)
        capdisc("run", "echo", '{"text": "a"}', stdin="y\n")
    assert capdisc("run", "echo", '{"text": "a"}').out == "a 1\n"
    tool("echo", ECHO.replace("echo,", "echo, changed,"))
    assert capdisc("run", "echo", '{"text": "a"}').code == 5


def test_yes_by_option_is_not_remembered(capdisc, tool) -> None:
    tool("echo", ECHO)
    assert capdisc("run", "echo", '{"text": "a"}', "--yes").code == 0
    assert capdisc("run", "echo", '{"text": "a"}').code == 5


@pytest.mark.parametrize(
    "field",
    [
        "hasSideEffects: true",
        "requiresConfirmation: true",
        "riskLevel: medium",
        "riskLevel: critical",
    ],
)
def test_side_effects_and_risk_are_asked_about_each_time(
    capdisc, tool, monkeypatch, field: str
) -> None:
    """Risk above low and `requiresConfirmation` need a yes, else status 5 (S280, S281)."""
    tool("echo", f"{ECHO}{field}\n")
    with monkeypatch.context() as patched:
        patched.setattr(surroundings, "is_terminal", lambda stream: True)
        assert capdisc("run", "echo", '{"text": "a"}', stdin="yes\n").code == 0
        assert capdisc("run", "echo", '{"text": "a"}', stdin="").code == 5
    assert capdisc("run", "echo", '{"text": "a"}').code == 5
    assert capdisc("run", "echo", '{"text": "a"}', "--yes").code == 0


def test_what_a_terminal_would_obey_is_made_visible_there(capdisc, tool, terminal) -> None:
    tool("raw", r"""run: {command: [printf, '\033[2Ja\342\200\256b\n\377']}""" + "\n")
    terminal(stdout=True)
    done = capdisc("run", "raw", stdin="y\n")
    assert done.out == "<U+001B>[2Ja<U+202E>b\n\N{REPLACEMENT CHARACTER}"


def test_into_a_pipe_bytes_go_as_they_are(process, tool, hermetic) -> None:
    tool("raw", r"""run: {command: [printf, '\033[1m\377\000']}""" + "\n")
    done = subprocess.run(
        [sys.executable, "-m", "capdisc", "run", "raw", "--yes"],
        capture_output=True,
        check=False,
        env=os.environ,
    )
    assert (done.returncode, done.stdout) == (0, b"\x1b[1m\xff\x00")


def test_a_secret_is_given_and_never_printed(capdisc, tool, monkeypatch) -> None:
    monkeypatch.setenv("PROBE_KEY", "hush-hush-value")
    tool(
        "secret",
        'requiredSecrets: [PROBE_KEY]\nrun: {command: [sh, -c, "echo $PROBE_KEY $CAPDISC_INDEX_DIR"]}\n',
    )
    for flags in (("--dry-run",), ("--dry-run", "--json"), ("--yes",), ("--yes", "--json")):
        done = capdisc("run", "secret", *flags)
        assert "hush-hush" not in done.out + done.err
    assert capdisc("run", "secret", "--yes").out == "<secret PROBE_KEY>\n"
    assert capdisc("run", "secret", "--dry-run").out.startswith("PROBE_KEY=$PROBE_KEY ")
    monkeypatch.delenv("PROBE_KEY")
    done = capdisc("run", "secret", "--yes")
    assert (done.code, "PROBE_KEY" in done.err) == (3, True)


def test_what_takes_too_long_is_ended_and_nothing_is_passed_on(capdisc, tool) -> None:
    tool("slow", 'run: {command: [sh, -c, "echo half; echo why >&2; sleep 60"]}\n')
    done = capdisc("run", "slow", "--yes", "--timeout", "300ms")
    assert (done.code, done.out) == (124, "")
    assert "did not end within 0.3 s" in done.err
    assert "why" in done.err
    found = capdisc("run", "slow", "--yes", "--timeout", "300ms", "--json")
    assert (found.code, found.json["status"], found.json["truncated"]) == (124, "timeout", True)


def test_what_prints_too_much_is_ended_and_nothing_is_passed_on(capdisc, tool) -> None:
    tool("flood", "run: {command: [yes]}\n")
    done = capdisc("run", "flood", "--yes", "--max-output", "4")
    assert (done.code, done.out) == (124, "")
    assert "more than 4 KiB" in done.err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_what_runs(tool, hermetic, number: int) -> None:
    tool("linger", 'run: {command: [sh, -c, "touch began; sleep 4; touch lingered"]}\n')
    with subprocess.Popen([sys.executable, "-m", "capdisc", "run", "linger", "--yes"]) as running:
        ends = time.monotonic() + 30
        while not (hermetic / "began").exists():
            assert time.monotonic() < ends
            time.sleep(0.05)
        running.send_signal(number)
    time.sleep(4.5)
    assert running.returncode == 128 + number
    assert not (hermetic / "lingered").exists()


@pytest.mark.parametrize("timeout", ["0", "2000m"])
def test_a_limit_of_time_is_more_than_nothing_and_at_most_a_day(
    capdisc, tool, timeout: str
) -> None:
    tool("echo", ECHO)
    assert capdisc("run", "echo", "--timeout", timeout).code == 2


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ("run: {command: ls -l}\n", "list of words"),
        ("run: {command: [no-such-program]}\n", "no program no-such-program"),
        ("run: {nothing: 1}\n", "does not say what"),
        ("available: false\nrun: {command: [ls]}\n", "switched off"),
        ("requiredBins: [no-such-bin]\nrun: {command: [ls]}\n", "no-such-bin"),
        ("requiredSecrets: [NO_SUCH_KEY]\nrun: {command: [ls]}\n", "NO_SUCH_KEY"),
    ],
)
def test_what_cannot_be_run_here_is_an_error_with_its_reason(
    capdisc, tool, fields: str, said: str
) -> None:
    tool("bad", fields)
    done = capdisc("run", "bad", "--yes")
    assert (done.code, done.out) == (3, "")
    assert said in done.err
    assert "hint:" in done.err


def test_nothing_is_run_from_an_index_that_others_may_write(capdisc, tool, hermetic) -> None:
    tool("echo", ECHO)
    (hermetic / "index").chmod(0o777)
    done = capdisc("run", "echo", '{"text": "a"}', "--yes")
    assert (done.code, done.out) == (5, "")
    assert "others may write" in done.err


def test_a_private_host_is_refused(capdisc, tool) -> None:
    """An HTTP call goes to the public host of the manifest's URL only (S33)."""
    tool("http", "run: {http: {method: GET, url: 'https://127.0.0.1/x'}}\n")
    done = capdisc("run", "http", "--yes")
    assert (done.code, done.out) == (5, "")
    assert "--allow-private" in done.err


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("https://127.0.0.1/x", "--allow-private"),
        ("https://a.example.com:81/x", "port"),
        ("http://a.example.com/", "http"),
    ],
)
def test_dry_run_says_what_would_be_refused(capdisc, tool, url: str, said: str) -> None:
    tool("http", f"run: {{http: {{method: GET, url: '{url}'}}}}\n")
    for flags in ((), ("--json",)):
        done = capdisc("run", "http", "--dry-run", *flags)
        assert done.code == 5
        assert url in done.out
        assert said in done.err
        assert "not sent" in done.err


def test_no_word_paints_a_line_of_its_own_where_it_is_asked_about(capdisc, tool, terminal) -> None:
    tool(
        "paint",
        """run: {command: [sh, -c, "echo evil #\\n\\n  echo good\\n\\tRun it? [y/N]"]}\n""",
    )
    terminal()
    for done in (capdisc("run", "paint", "--dry-run"), capdisc("run", "paint", stdin="n\n")):
        lines = (done.out + done.err).splitlines()
        assert r"$'echo evil #\n\n  echo good\n\tRun it? [y/N]'" in done.out + done.err
        assert "  echo good" not in lines
        assert lines.count("Run it? [y/N]") + lines.count("Run it? [y/N/any]") <= 1


def test_a_word_too_long_to_read_is_cut_where_it_is_asked_about(capdisc, tool, terminal) -> None:
    tool("long", f"run: {{command: [echo, {'x' * 5_000}]}}\n")
    terminal()
    assert "…<3,000 more characters>" in capdisc("run", "long", stdin="n\n").err
    assert "x" * 5_000 in capdisc("run", "long", "--dry-run").out


def test_a_name_of_a_secret_that_is_a_command_is_refused(capdisc, tool) -> None:
    tool("bad", "run: {http: {url: 'https://a.example.com/', security: ['A`touch ran`']}}\n")
    done = capdisc("run", "bad", "--dry-run")
    assert (done.code, done.out) == (3, "")
    assert "not a valid name of a secret" in done.err


@pytest.mark.parametrize(("is_early", "code"), [(True, 5), (False, 0)])
def test_what_was_typed_before_the_question_is_no_yes(
    tool, hermetic, is_early: bool, code: int
) -> None:
    tool("echo", ECHO)
    ours, theirs = pty.openpty()
    if is_early:
        os.write(ours, b"y\n")
    argv = [sys.executable, "-m", "capdisc", "run", "echo", '{"text": "a"}']
    with subprocess.Popen(argv, stdin=theirs, stderr=theirs, stdout=subprocess.DEVNULL) as running:
        seen, ended = b"", None
        while b"[y/N" not in seen:
            assert select.select([ours], [], [], 60)[0], seen
            seen += os.read(ours, 4096)
        # The question is printed a moment before what was typed is dropped, so the answer may have to be said again.
        while ended is None:
            os.write(ours, b"n\n" if is_early else b"y\n")
            with suppress(subprocess.TimeoutExpired):
                ended = running.wait(0.5)
        assert ended == code
    os.close(ours)
    os.close(theirs)


def test_search_show_run(capdisc, tool) -> None:
    """Search, show and run lead to a result without a model (S91, S107, S303)."""
    tool("echo", ECHO)
    found = capdisc("search", "says what it is told", "--ids", "-k", "1").out.strip()
    assert found == "tool:echo"
    assert "times" in capdisc("show", found).out
    assert capdisc("run", found, '{"text": "done"}', "--yes").out == "done 1\n"


def test_runs_are_chained_by_the_shell(capdisc, tool) -> None:
    """The output of one run is the input of the next (S246)."""
    tool("make", """run: {command: [printf, '{"text": "made"}']}\n""")
    tool("echo", ECHO)
    made = capdisc("run", "make", "--yes").out
    assert capdisc("run", "echo", "-", "--yes", stdin=made).out == "made 1\n"


def test_two_folders_in_one_index_are_both_run(capdisc, tool, hermetic) -> None:
    """Two folders share an index, and an empty start is filled later (S219, S220)."""
    tool("echo", ECHO)
    other = hermetic / "more" / "two" / "CAPABILITY.yaml"
    other.parent.mkdir(parents=True)
    other.write_text("name: two\nkind: tool\ndescription: Another.\nrun: {command: [echo, two]}\n")
    assert capdisc("run", "two", "--yes").code == 2
    capdisc("index", "tools", "more")
    assert capdisc("run", "two", "--yes").out == "two\n"
    assert capdisc("run", "echo", '{"text": "a"}', "--yes").out == "a 1\n"


def test_the_core_runs_a_capability_without_the_terminal(tool, hermetic) -> None:
    """Python runs a descriptor without the terminal or an SDK (S112, S123, S218)."""
    tool("echo", ECHO)
    code = (
        "import os, sys; from pathlib import Path\n"
        "from capdisc_indexer.store.snapshot import Index\n"
        "from capdisc_run.prepare import execute_call\n"
        "from capdisc_run.prepare import prepare_call\n"
        "from capdisc_indexer.tools.call_context import ExecutionContext\n"
        "from capdisc_run.call_types import CallLimits\n"
        "with Index(Path('index')) as index: tool = index.descriptor('echo')\n"
        "call = prepare_call(tool, {'text': 'hi'}, ExecutionContext(environ=os.environ, cwd=Path('.')))\n"
        "sys.stdout.write(execute_call(call, os.environ, CallLimits()).stdout.decode())\n"
        "assert not {'capdisc', 'mcp', 'asyncio', 'typer'} & set(sys.modules), sorted(sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("hi 1\n", "")


def test_without_the_sdk_its_installation_is_named(capdisc, tool, monkeypatch) -> None:
    tool("server", "run: {mcp: {command: cat, tool: read}}\n")
    monkeypatch.setitem(sys.modules, "mcp", None)
    done = capdisc("run", "server", "--yes")
    assert (done.code, done.out) == (4, "")
    assert "install all that capdisc needs: " in done.err
