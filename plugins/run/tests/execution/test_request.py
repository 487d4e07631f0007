"""Arguments in an HTTP request."""

import json
import os
import subprocess
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capdisc_indexer.model.errors import InputError, UsageError
from capdisc_indexer.tools.call_context import ExecutionContext
from capdisc_run.call_preview import shell_line
from capdisc_run.call_types import Credential, HttpCall
from capdisc_run.http_request import build_http_call
from capdisc_run.run_declaration import read_http_run

HERE = ExecutionContext(environ={}, cwd=Path("/"))
PARAMETERS = [
    {"name": "id", "in": "path"},
    {"name": "q", "in": "query"},
    {"name": "X-Trace", "in": "header"},
    {"name": "lang", "in": "cookie"},
    {"name": "text", "in": "body"},
    {"name": "count", "in": "body"},
]


def _call(arguments, **http) -> HttpCall:
    declared = {
        "method": "GET",
        "url": "https://api.example.com/things/{id}",
        "parameters": PARAMETERS,
    }
    return build_http_call(read_http_run(declared | http), arguments, HERE)


def test_each_parameter_goes_to_its_place() -> None:
    values = {"id": "a", "q": "x y", "X-Trace": "t1", "lang": "de; a=b", "text": "hé", "count": 2}
    call = _call(values, method="post")
    assert (call.method, call.url) == ("POST", "https://api.example.com/things/a?q=x%20y")
    assert dict(call.headers) == {
        "X-Trace": "t1",
        "Cookie": "lang=de%3B%20a%3Db",
        "Content-Type": "application/json",
    }
    assert json.loads(call.body) == {"text": "hé", "count": 2}


def test_one_body_parameter_called_body_is_the_whole_body() -> None:
    call = _call(
        {"id": "a", "body": [1]},
        parameters=[PARAMETERS[0], {"name": "body", "in": "body"}],
        method="PUT",
    )
    assert call.body == b"[1]"


def test_a_form_is_sent_as_one() -> None:
    call = _call({"id": "a", "text": "x&y", "count": [1, 2]}, method="POST", body="form")
    assert call.body == b"text=x%26y&count=1&count=2"
    assert dict(call.headers)["Content-Type"] == "application/x-www-form-urlencoded"


def test_without_arguments_for_it_there_is_no_body() -> None:
    assert _call({"id": "a"}).body is None


@given(st.text(min_size=1).filter(lambda text: text not in (".", "..")))
def test_no_value_leads_to_another_host_or_path(text: str) -> None:
    text = text.encode("utf-8", "replace").decode()
    parts = urlsplit(_call({"id": text, "q": text}).url)
    assert (parts.scheme, parts.netloc, parts.fragment) == ("https", "api.example.com", "")
    assert parts.path.count("/") == 2
    assert parse_qs(parts.query, keep_blank_values=True) == {"q": [text]}


@pytest.mark.parametrize("text", ["", ".", ".."])
def test_a_value_that_moves_up_the_path_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="another place"):
        _call({"id": text})


def test_lists_in_a_query_are_repeated() -> None:
    assert _call({"id": "a", "q": ["b", "c"]}).url.endswith("?q=b&q=c")


def test_a_value_that_the_path_needs_is_asked_for() -> None:
    with pytest.raises(UsageError, match="needs id"):
        _call({})


@pytest.mark.parametrize(
    "url",
    [
        "https://{host}/x",
        "{url}",
        "ftp://example.com/",
        "/relative",
        "https://",
        None,
        "https://a{b}.com/",
    ],
)
def test_scheme_and_host_are_the_manifests(url: object) -> None:
    with pytest.raises(InputError, match="host"):
        _call({"id": "a", "host": "evil.example", "url": "https://evil.example"}, url=url)


@pytest.mark.parametrize(
    "name", ["Host", "content-length", "Transfer-Encoding", "a b", "x\r\ny", ""]
)
def test_headers_that_decide_where_a_request_ends_are_not_set(name: str) -> None:
    with pytest.raises(InputError):
        _call({"id": "a", name: "1"}, parameters=[PARAMETERS[0], {"name": name, "in": "header"}])


@pytest.mark.parametrize("value", ["a\r\nX: y", "a\0", "é"])
def test_a_header_cannot_be_broken_out_of(value: str) -> None:
    with pytest.raises(UsageError, match="header"):
        _call({"id": "a", "X-Trace": value})


def test_a_secret_is_a_bearer_token_unless_the_manifest_says_more() -> None:
    more = {"secret": "KEY", "in": "query", "name": "api_key"}
    call = _call({"id": "a"}, security=["TOKEN", more])
    assert call.credentials == (
        Credential(secret="TOKEN"),
        Credential(secret="KEY", place="query", name="api_key", prefix=""),
    )
    assert call.environment == ("TOKEN", "KEY")


def test_the_line_for_curl_has_the_names_of_secrets_only() -> None:
    security = ["TOKEN", {"secret": "KEY", "in": "query", "name": "k"}]
    line = shell_line(_call({"id": "a b", "text": "it's"}, method="POST", security=security))
    assert line == (
        "curl -X POST -H 'Content-Type: application/json' -H 'Authorization: Bearer '\"$TOKEN\" "
        """--data-raw '{"text": "it'"'"'s"}' https://api.example.com/things/a%20b'?k='"$KEY\""""
    )


@pytest.mark.parametrize(
    "http",
    [
        {"method": "TRACE"},
        {"parameters": [{"name": "id"}]},
        {"parameters": ["id"]},
        {"security": [3]},
        {"security": [{"secret": "X", "in": "body"}]},
        {"security": ["X`id`"]},
        {"security": ["1X"]},
        {"security": [{"secret": 'X"; id; "'}]},
        {"security": [{"secret": "X\n"}]},
        {"security": [{"secret": "X", "name": "`id`"}]},
        {"security": [{"secret": "X", "name": "$HOME", "in": "query"}]},
    ],
)
def test_what_is_no_request_is_refused(http) -> None:
    with pytest.raises(InputError):
        _call({"id": "a"}, **http)


def test_the_line_for_curl_runs_nothing_but_curl_when_it_is_pasted(tmp_path) -> None:
    """Whatever the manifest puts into prefixes, URLs and bodies comes out as it was, as words of curl."""
    evil = "$(touch ran)`touch ran`\"; touch ran; '"
    security = [
        {"secret": "KEY", "name": "X-Key", "prefix": evil},
        {"secret": "KEY", "in": "query", "name": "k"},
    ]
    url = "https://api.example.com/`touch$IFS-ran`/$(id)"
    line = shell_line(
        _call({"id": evil, "text": f"{evil}\n"}, url=url, method="POST", security=security)
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
