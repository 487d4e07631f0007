"""One HTTP request goes to the named host, within limits, and follows no redirect."""

import gzip
import time

import pytest
from hosts import PUBLIC, answer, redirect, world

from capdisc_indexer.model.errors import LinkRefusedError
from capdisc_run.call_types import CallLimits, Credential, HttpCall
from capdisc_run.prepare import execute_call

JSON = "Content-Type: application/json"
SECRET = "s3cr3t-token-value"


def _send(server, path="/x", environ=None, limits=None, **more):
    fields = {"method": "GET", "url": f"https://api.example.com{path}"}
    return execute_call(
        HttpCall(**(fields | more)), environ or {}, limits or CallLimits(), server.network
    )


def test_the_answer_and_its_status_come_back() -> None:
    with world({"/x": answer(b'{"a": 1}', JSON)}) as server:
        outcome = _send(server)
    assert (outcome.status, outcome.exit_code, outcome.stdout) == ("ok", 0, b'{"a": 1}')
    assert outcome.details == {"http_status": 200, "content_type": "application/json"}
    assert server.dialled == [PUBLIC]


def test_method_headers_body_and_secrets_are_sent() -> None:
    with world({"/x?k=" + SECRET: answer(b"fine")}) as server:
        credentials = (
            Credential(secret="TOKEN"),
            Credential(secret="TOKEN", place="query", name="k", prefix=""),
        )
        outcome = _send(
            server,
            method="POST",
            headers=(("X-A", "b"),),
            body=b"{}",
            credentials=credentials,
            environ={"TOKEN": SECRET},
        )
    head = server.heads[0]
    assert outcome.stdout == b"fine"
    assert head.startswith(f"POST /x?k={SECRET} HTTP/1.1\r\nHost: api.example.com\r\nX-A: b\r\n")
    assert f"Authorization: Bearer {SECRET}\r\n" in head
    assert "Content-Length: 2\r\n" in head
    assert head.endswith("\r\n\r\n{}")


def test_a_name_and_a_password_are_packed_and_do_not_come_back() -> None:
    basic = Credential(secret="PAIR", prefix="Basic ")
    with world({"/x": answer(b"you are dXNlcjpwYXNzd29yZA==")}) as server:
        outcome = _send(server, environ={"PAIR": "user:password"}, credentials=(basic,))
    assert "Authorization: Basic dXNlcjpwYXNzd29yZA==\r\n" in server.heads[0]
    assert outcome.stdout == b"you are <secret PAIR>"


@pytest.mark.parametrize("status", ["404 Not Found", "500 Oops", "418 I'm a teapot"])
def test_another_status_is_a_failure_whose_body_is_passed_on(status: str) -> None:
    with world({"/x": answer(b'{"error": "no"}', JSON, status=status)}) as server:
        outcome = _send(server)
    assert (outcome.status, outcome.exit_code, outcome.stdout) == ("failed", 1, b'{"error": "no"}')
    assert status.encode() in outcome.stderr


def test_a_redirect_is_named_and_not_followed() -> None:
    with world({"/x": redirect("https://evil.example.com/take")}) as server:
        outcome = _send(
            server, environ={"TOKEN": SECRET}, credentials=(Credential(secret="TOKEN"),)
        )
    assert outcome.status == "failed"
    assert b"evil.example.com/take, which was not followed" in outcome.stderr
    assert len(server.heads) == 1


def test_a_secret_that_comes_back_is_replaced_by_its_name() -> None:
    with world({"/x": answer(f'{{"you": "Bearer {SECRET}"}}'.encode(), JSON)}) as server:
        outcome = _send(
            server, environ={"TOKEN": SECRET}, credentials=(Credential(secret="TOKEN"),)
        )
    assert outcome.stdout == b'{"you": "Bearer <secret TOKEN>"}'


def test_packed_answers_are_unpacked_within_the_limit() -> None:
    packed = {"/x": answer(gzip.compress(b"x" * 5_000), "Content-Encoding: gzip")}
    with world(packed) as server:
        assert _send(server).stdout == b"x" * 5_000
        assert _send(server, limits=CallLimits(max_bytes=4_000)).status == "too-large"


def test_an_answer_above_the_limit_is_not_passed_on() -> None:
    with world({"/x": answer(b"x" * 5_000)}) as server:
        outcome = _send(server, limits=CallLimits(max_bytes=4_000))
    assert (outcome.status, outcome.stdout, outcome.is_truncated) == ("too-large", b"", True)
    assert outcome.stderr == b""  # who reads the status says it once


def test_an_answer_that_does_not_come_in_time_is_not_waited_for() -> None:
    def slow():
        yield b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"
        time.sleep(1)

    with world({"/x": slow}) as server:
        assert _send(server, limits=CallLimits(seconds=0.3)).status == "timeout"


def test_an_answer_that_is_cut_short_is_a_failure() -> None:
    with world({"/x": answer(b"abc", length=10)}) as server:
        outcome = _send(server)
    assert (outcome.status, outcome.stdout) == ("failed", b"")


@pytest.mark.parametrize("method", ["HEAD", "GET"])
def test_an_answer_without_a_body_is_fine(method: str) -> None:
    answers = {"HEAD": answer(b"", length=99), "GET": answer(b"", status="204 No Content")}
    with world({"/x": answers[method]}) as server:
        assert _send(server, method=method).status == "ok"


@pytest.mark.parametrize(
    "url",
    [
        "https://127.0.0.1/x",
        "https://localhost/x",
        "https://169.254.169.254/x",
        "https://api.example.com:8443/x",
    ],
)
def test_private_hosts_and_other_ports_need_leave(url: str) -> None:
    with world() as server, pytest.raises(LinkRefusedError) as raised:
        _send(server, url=url)
    assert "--allow-private" in raised.value.hint
    assert "not sent" in raised.value.message
    assert server.dialled == []


def test_a_name_with_a_private_address_needs_leave() -> None:
    with world(lookups=[["10.0.0.1"]]) as server:
        with pytest.raises(LinkRefusedError, match="not all public"):
            _send(server)
        assert server.dialled == []
        assert _send(server, allow_private=True).stdout == b"fine"


def test_plain_http_needs_leave() -> None:
    with world() as server:
        with pytest.raises(LinkRefusedError, match="plain http"):
            _send(server, url="http://api.example.com/x")
        assert _send(server, url="http://api.example.com/x", allow_http=True).status == "ok"


def test_with_leave_a_server_on_this_machine_answers() -> None:
    with world() as server:
        port = server._server.getsockname()[1]
        assert (
            _send(
                server, url=f"http://localhost:{port}/x", allow_http=True, allow_private=True
            ).stdout
            == b"fine"
        )


@pytest.mark.parametrize(
    "url", ["https://user@api.example.com/x", "https://api.example.com\\@evil/x"]
)
def test_what_readers_disagree_about_is_refused_even_with_leave(url: str) -> None:
    with world() as server, pytest.raises(LinkRefusedError):
        _send(server, url=url, allow_private=True)
