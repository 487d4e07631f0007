"""A model's endpoint on loopback that answers "OK." to every request and keeps what it was sent.

It speaks as much of the APIs of Anthropic, OpenAI (responses and chat completions) and Gemini as
the clients of test_clients.py ask for.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

REPLY = "OK."
PATIENCE_S = 60
# What a request of Codex holds once a tool has answered.
ANSWERED = '"function_call_output"'
Event = tuple[str, Mapping[str, Any] | str]


@dataclass(frozen=True)
class Call:
    """A call of a tool by the model."""

    name: str
    arguments: Mapping[str, str]
    namespace: str


@dataclass
class Endpoint:
    """The address of a running endpoint, and the bodies of all requests so far. The first request
    that offers the tool of `tool_call`, alone or in a namespace, is answered with that call.
    """

    url: str = ""
    bodies: list[str] = field(default_factory=list)
    tool_call: tuple[str, Mapping[str, str]] | None = None

    def take_tool_call(self, body: str) -> Call | None:
        """The call to answer this request with, if any."""
        for tool in json.loads(body).get("tools") or ():
            for inner in (tool, *tool.get("tools", ())):
                if self.tool_call and inner.get("name") == self.tool_call[0]:
                    call = Call(*self.tool_call, "" if inner is tool else tool["name"])
                    self.tool_call = None
                    return call
        return None

    def await_subagent(self) -> None:
        """Wait for the request of the subagent that the call started: Codex ends with the answer to
        its own.
        """
        ends_at = time.monotonic() + PATIENCE_S
        while time.monotonic() < ends_at and all(ANSWERED in body for body in self.bodies[1:]):
            time.sleep(0.05)


@contextmanager
def serve_model() -> Iterator[Endpoint]:
    """An endpoint that runs while the block does."""
    endpoint = Endpoint()

    class Handler(_Handler):
        recorder = endpoint

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    endpoint.url = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield endpoint
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    recorder: Endpoint

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""

    def do_GET(self) -> None:
        self._send("application/json", json.dumps({"data": [], "models": []}))

    def do_HEAD(self) -> None:
        self._send("application/json", "")

    def do_POST(self) -> None:
        body = self._read_body()
        self.recorder.bodies.append(body)
        if ANSWERED in body:
            self.recorder.await_subagent()
        if "count" in self.path.lower():
            self._send("application/json", json.dumps({"input_tokens": 9, "totalTokens": 9}))
        elif "/messages" in self.path:
            self._send(
                "text/event-stream",
                _format_events(_anthropic_events(self.recorder.take_tool_call(body))),
            )
        elif self.path.endswith("/responses"):
            self._send(
                "text/event-stream",
                _format_events(_responses_events(self.recorder.take_tool_call(body))),
            )
        elif self.path.endswith("/chat/completions"):
            self._send("text/event-stream", _format_events(_completion_events()))
        elif "streamGenerateContent" in self.path:
            self._send("text/event-stream", _format_events([("", _gemini_answer(REPLY))]))
        elif "generateContent" in self.path:
            self._send("application/json", json.dumps(_gemini_answer("{}")))
        else:
            self._send("application/json", "{}")

    def _read_body(self) -> str:
        if "chunked" not in self.headers.get("transfer-encoding", ""):
            data = self.rfile.read(int(self.headers.get("content-length") or 0))
        else:
            chunks = []
            while size := int(self.rfile.readline().strip() or b"0", 16):
                chunks.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            data = b"".join(chunks)
        return data.decode("utf-8", "replace")

    def _send(self, kind: str, text: str) -> None:
        data = text.encode()
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def _format_events(events: Sequence[Event]) -> str:
    """Server-sent events; without a name, an event has its data alone."""
    lines = []
    for name, data in events:
        text = data if isinstance(data, str) else json.dumps(data)
        lines.append((f"event: {name}\n" if name else "") + f"data: {text}\n\n")
    return "".join(lines)


def _anthropic_events(call: Call | None) -> list[Event]:
    message = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "fake", "content": [],
        "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 9, "output_tokens": 1},
    }  # fmt: skip
    if call:
        block = {"type": "tool_use", "id": "toolu_1", "name": call.name, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(call.arguments)}
    else:
        block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": REPLY}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "tool_use" if call else "end_turn", "stop_sequence": None},
            "usage": {"output_tokens": 2},
        },
        {"type": "message_stop"},
    ]
    return [(event["type"], event) for event in events]


def _responses_events(call: Call | None) -> list[Event]:
    content = [{"type": "output_text", "text": REPLY, "annotations": []}]
    item = {
        "id": "m1", "type": "message", "role": "assistant", "status": "completed",
        "content": content,
    }  # fmt: skip
    if call:
        item = {
            "id": "f1", "type": "function_call", "call_id": "c1", "status": "completed",
            "name": call.name, "namespace": call.namespace, "arguments": json.dumps(call.arguments),
        }  # fmt: skip
    usage = {
        "input_tokens": 9, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 2,
        "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 11,
    }  # fmt: skip
    response = {
        "id": "r1", "object": "response", "created_at": 1, "status": "completed", "model": "fake",
        "output": [item], "usage": usage,
    }  # fmt: skip
    begun = {**response, "status": "in_progress", "output": []}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": begun},
        {
            "type": "response.output_item.added",
            "output_index": 0,
            "item": item if call else {**item, "content": []},
        },
        {
            "type": "response.output_text.delta", "item_id": "m1", "output_index": 0,
            "content_index": 0, "delta": REPLY,
        },
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": response},
    ]  # fmt: skip
    if call:
        del events[2]
    return [(event["type"], event) for event in events]


def _completion_events() -> list[Event]:
    def chunk(delta: Mapping[str, str], reason: str | None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        usage = {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11}
        return {
            "id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "fake",
            "choices": [choice], "usage": usage,
        }  # fmt: skip

    return [
        ("", chunk({"role": "assistant", "content": REPLY}, None)),
        ("", chunk({}, "stop")),
        ("", "[DONE]"),
    ]


def _gemini_answer(text: str) -> dict[str, Any]:
    content = {"role": "model", "parts": [{"text": text}]}
    return {
        "candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 2, "totalTokenCount": 11},
    }
