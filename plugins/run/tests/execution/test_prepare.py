"""From a capability and its arguments to the exact call, or to an error of ours."""

import json
import os
import subprocess
from contextlib import suppress
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from capdisc_indexer.model.errors import CapdiscError, InputError, UsageError
from capdisc_indexer.model.frozen import replace
from capdisc_indexer.tools.call_context import ExecutionContext
from capdisc_run import approvals, call_preview
from capdisc_run.call_preview import shell_line
from capdisc_run.call_types import CommandCall, Credential, HttpCall, ToolCall
from capdisc_run.http_request import build_http_call
from capdisc_run.prepare import prepare_call, timeout_seconds
from case_rows import read_rows

SCHEMA = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "size": {"type": "integer", "default": 5},
        "mode": {"enum": ["fast", "slow"]},
    },
    "required": ["path"],
}
COMMAND = {"command": ["echo", "{path}", "{size}"]}
HERE = ExecutionContext(environ={"PATH": os.environ["PATH"]}, cwd=Path("/"))


@pytest.fixture
def prepared(described, tmp_path):
    """The call of a tool with this `run`."""

    def prepare(run, arguments, environ=None, schema=SCHEMA, **fields):
        place = replace(
            HERE,
            environ=HERE.environ | (environ or {}),
            cwd=tmp_path,
            roots=(str(tmp_path / "root"),),
        )
        return prepare_call(described(schema=schema, run=run, **fields), arguments, place)

    return prepare


def test_defaults_are_filled_in(prepared, tmp_path) -> None:
    """Defaults come from the schema (S247)."""
    call = prepared(COMMAND, {"path": "a"})
    assert isinstance(call, CommandCall)
    assert call.argv[1:] == ("a", "5")
    assert Path(call.argv[0]).is_absolute()
    assert call.cwd == tmp_path


@pytest.mark.parametrize(("run", "arguments", "unused"), read_rows(__file__, "unused"))
def test_arguments_that_the_call_has_no_use_for_are_refused(
    prepared, run, arguments, unused
) -> None:
    with pytest.raises(UsageError, match=f"no use for {unused}"):
        prepared(run, arguments)


@pytest.mark.parametrize(
    ("stdin", "data"),
    [("json", '{"path": "é b", "size": 5}'.encode()), ("{path}", "é b".encode())],
)
def test_stdin_takes_all_arguments_as_json_or_the_text_of_one(prepared, stdin, data) -> None:
    assert prepared({"command": ["cat"], "stdin": stdin}, {"path": "é b"}).stdin == data


def test_without_a_schema_the_placeholders_are_the_parameters(prepared) -> None:
    assert prepared({"command": ["echo", "{a}"]}, {"a": "b"}, schema=None).argv[1:] == ("b",)


def _script(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_a_program_of_its_own_folder_is_found_there_and_nowhere_else(prepared, tmp_path) -> None:
    script = _script(tmp_path / "root" / "tool" / "scripts" / "go.sh")
    call = prepared({"command": ["scripts/go.sh"], "cwd": "capability"}, {}, schema=None)
    assert (call.argv, call.cwd) == ((str(script),), tmp_path / "root" / "tool")


@pytest.mark.parametrize("program", ["../../evil.sh", "scripts/../../evil.sh", "scripts/link.sh"])
def test_a_program_outside_its_folder_is_refused(prepared, tmp_path, program: str) -> None:
    evil = _script(tmp_path / "root" / "evil.sh")
    scripts = tmp_path / "root" / "tool" / "scripts"
    scripts.mkdir()
    (scripts / "link.sh").symlink_to(evil)
    with pytest.raises(InputError, match="outside its folder"):
        prepared({"command": [program]}, {}, schema=None)


def test_a_program_in_the_current_folder_is_not_found_by_name(
    prepared, tmp_path, monkeypatch
) -> None:
    _script(tmp_path / "trap")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="no program trap"):
        prepared({"command": ["trap"]}, {}, {"PATH": f".::{os.environ['PATH']}"}, schema=None)


def test_a_tool_of_an_mcp_server(prepared) -> None:
    mcp = {
        "server": "files",
        "command": "cat",
        "args": ["-u"],
        "env": ["TOKEN", "GONE"],
        "tool": "read_file",
    }
    call = prepared({"mcp": mcp}, {"path": "a"}, {"TOKEN": "x"}, secrets=("KEY",))
    assert isinstance(call, ToolCall)
    assert (call.server, call.tool, call.argv[1:]) == ("files", "read_file", ("-u",))
    assert call.arguments == {"path": "a", "size": 5}
    assert call.environment == ("KEY", "TOKEN")


@pytest.mark.parametrize("env", [5, True, "TOKEN", {"TOKEN": 1}, [["TOKEN"]], None])
def test_an_odd_list_of_a_servers_variables_is_no_bug(prepared, env) -> None:
    mcp = {"command": "cat", "tool": "read", "env": env}
    assert isinstance(prepared({"mcp": mcp}, {}, schema=None), ToolCall)


def test_a_variable_that_steers_programs_is_no_setting_of_a_server(prepared) -> None:
    mcp = {"command": "cat", "tool": "read", "env": ["NODE_OPTIONS", "PATH", "TOKEN"]}
    environ = {"NODE_OPTIONS": "--require ./x.js", "TOKEN": "x"}
    assert prepared({"mcp": mcp}, {}, environ, schema=None).environment == ("TOKEN",)


def test_a_name_in_the_words_of_a_server_is_a_secret_that_is_filled_in_when_it_is_started(
    prepared,
) -> None:
    mcp = {"command": "cat", "args": ["--key=${KEY}", "${GONE:-x}"], "tool": "read_file"}
    call = prepared({"mcp": mcp}, {}, {"KEY": "secret-value"}, schema=None)
    assert (call.argv[1:], call.environment) == (("--key=${KEY}", "${GONE:-x}"), ("KEY",))


@pytest.mark.parametrize(("run", "said"), read_rows(__file__, "no_call"))
def test_a_run_that_makes_no_call_is_an_error_that_names_the_capability(
    prepared, run, said
) -> None:
    with pytest.raises(InputError, match=f"tool:probe cannot be run.*{said}") as raised:
        prepared(run, {"path": "a"})
    assert raised.value.hint


@pytest.mark.parametrize("secret", ["A;id", "$A", "A B", "`id`"])
def test_a_name_of_a_secret_that_says_more_to_a_shell_is_refused(prepared, secret) -> None:
    with pytest.raises(InputError, match="not a valid name of a secret"):
        prepared({"command": ["echo"]}, {}, schema=None, secrets=(secret,))


@pytest.mark.parametrize(
    ("run", "limit"),
    [*read_rows(__file__, "limits"), ({"timeout": 10**400}, 600), ({"timeout": None}, 60)],
)
def test_a_manifest_may_ask_for_another_limit_of_time_and_the_users_holds(
    described, run, limit: float
) -> None:
    assert timeout_seconds(described(run=run), None) == limit
    assert timeout_seconds(described(run=run), 3_000) == 3_000


WORDS = st.sampled_from(
    ["ls", "{a}", "{b...}", "--", "{{a}}", "https://a.example.com/{a}", "json", "path", "a", "./x"]
)
LEAVES = st.none() | st.booleans() | st.integers() | WORDS | st.text(max_size=5)
KEYS = st.sampled_from(
    "command stdin cwd timeout mcp http args env tool server method url parameters name in body security secret".split()
)
JSON = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)
RUNS = st.dictionaries(
    st.sampled_from(["command", "mcp", "http", "stdin", "cwd", "timeout"]), JSON, max_size=4
)
ARGUMENTS = st.dictionaries(
    st.sampled_from(["a", "b", "c"]), LEAVES | st.lists(LEAVES, max_size=2), max_size=3
)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    deadline=None,
)
@given(run=RUNS, arguments=ARGUMENTS)
def test_no_manifest_leads_to_a_bug(make, run, arguments) -> None:
    tool = make(run)
    assert 0 < timeout_seconds(tool, None) <= 600
    with suppress(CapdiscError):
        call = prepare_call(tool, arguments, HERE)
        assert approvals.approval_reasons(tool, call, is_known=False)
        assert approvals.fingerprint(tool, call)
        assert call_preview.call_document(call)["line"]


# HTTP operations.

ID = {"name": "id", "in": "path"}
PARAMETERS = [
    ID,
    {"name": "q", "in": "query"},
    {"name": "X-Trace", "in": "header"},
    {"name": "lang", "in": "cookie"},
    {"name": "text", "in": "body"},
    {"name": "count", "in": "body"},
]


def _request(arguments, **http) -> HttpCall:
    declared = {"url": "https://api.example.com/things/{id}", "parameters": PARAMETERS}
    return build_http_call(declared | http, {"id": "a"} | arguments, HERE)


def test_each_parameter_goes_to_its_place() -> None:
    values = {"q": "x y", "X-Trace": "t1", "lang": "de; a=b", "text": "hé", "count": 2}
    call = _request(values, method="post")
    assert (call.method, call.url) == ("POST", "https://api.example.com/things/a?q=x%20y")
    assert dict(call.headers) == {
        "X-Trace": "t1",
        "Cookie": "lang=de%3B%20a%3Db",
        "Content-Type": "application/json",
    }
    assert json.loads(call.body) == {"text": "hé", "count": 2}


def test_a_body_is_one_parameter_a_form_or_nothing() -> None:
    call = _request({"body": [1]}, parameters=[ID, {"name": "body", "in": "body"}], method="PUT")
    assert call.body == b"[1]"
    form = _request({"text": "x&y", "count": [1, 2]}, method="POST", body="form")
    assert form.body == b"text=x%26y&count=1&count=2"
    assert dict(form.headers)["Content-Type"] == "application/x-www-form-urlencoded"
    assert _request({}).body is None


@given(st.text(min_size=1).filter(lambda text: text not in (".", "..")))
def test_no_value_leads_to_another_host_or_path(text: str) -> None:
    text = text.encode("utf-8", "replace").decode()
    parts = urlsplit(_request({"id": text, "q": text}).url)
    assert (parts.scheme, parts.netloc, parts.fragment) == ("https", "api.example.com", "")
    assert parts.path.count("/") == 2
    assert parse_qs(parts.query, keep_blank_values=True) == {"q": [text]}


def test_lists_in_a_query_are_repeated() -> None:
    assert _request({"q": ["b", "c"]}).url.endswith("?q=b&q=c")


@pytest.mark.parametrize(
    ("arguments", "http", "error", "said"),
    [
        *read_rows(__file__, "no_request"),
        ({"id": None}, {}, "UsageError", "needs id"),
        ({}, {"url": None}, "InputError", "host"),
    ],
)
def test_what_makes_no_sound_request_is_refused(arguments, http, error, said) -> None:
    with pytest.raises({"UsageError": UsageError, "InputError": InputError}[error], match=said):
        _request(arguments, **http)


KEYED = {"secret": "KEY", "in": "query", "name": "k"}


def test_a_secret_is_a_bearer_token_unless_the_manifest_says_more() -> None:
    call = _request({}, security=["TOKEN", KEYED])
    assert call.credentials == (
        Credential(secret="TOKEN"),
        Credential(secret="KEY", place="query", name="k", prefix=""),
    )
    assert call.environment == ("TOKEN", "KEY")


def test_the_line_for_curl_has_the_names_of_secrets_only() -> None:
    line = shell_line(
        _request({"id": "a b", "text": "it's"}, method="POST", security=["TOKEN", KEYED])
    )
    assert line == (
        "curl -X POST -H 'Content-Type: application/json' -H 'Authorization: Bearer '\"$TOKEN\" "
        """--data-raw '{"text": "it'"'"'s"}' https://api.example.com/things/a%20b'?k='"$KEY\""""
    )


def test_the_line_for_curl_runs_nothing_but_curl_when_it_is_pasted(tmp_path) -> None:
    """Whatever the manifest puts into prefixes, URLs and bodies comes out as it was, as words of curl."""
    evil = "$(touch ran)`touch ran`\"; touch ran; '"
    security = [{"secret": "KEY", "name": "X-Key", "prefix": evil}, KEYED]
    url = "https://api.example.com/`touch$IFS-ran`/$(id)"
    line = shell_line(
        _request({"id": evil, "text": f"{evil}\n"}, url=url, method="POST", security=security)
    )
    shown = ["bash", "-c", f"curl() {{ printf '%s\\0' \"$@\"; }}; {line}"]
    done = subprocess.run(
        shown,
        cwd=tmp_path,
        env={"KEY": "v $x", "PATH": os.defpath},
        capture_output=True,
        check=True,
    )
    words = done.stdout.decode().split("\0")
    assert f"X-Key: {evil}v $x" in words
    assert json.loads(words[words.index("--data-raw") + 1]) == {"text": f"{evil}\n"}
    assert words[-2] == f"{url}?k=v $x"
    assert not (tmp_path / "ran").exists()
