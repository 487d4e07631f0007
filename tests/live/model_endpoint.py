"""A model's endpoint on loopback that answers "OK." to every request and keeps what it was sent.

It speaks as much of the APIs of Anthropic, OpenAI (responses and chat completions) and Gemini as
the clients of test_clients.py ask for: the files of `answers/` are what it sends, those that end in
`_call` with the call of a tool filled in.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from string import Template
from threading import Thread

ANSWERS = Path(__file__).parent / "answers"
# What stands in the path of a request, and the file with the answer.
_FILES = {
    "/messages": "anthropic.txt",
    "/responses": "responses.txt",
    "/chat/completions": "completions.txt",
    "streamGenerateContent": "gemini.txt",
    "generateContent": "gemini.json",
}
PATIENCE_S = 60
# What a request of Codex holds once a tool has answered.
ANSWERED = '"function_call_output"'


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
        name = next((name for part, name in _FILES.items() if part in self.path), "")
        if "count" in self.path.lower():
            self._send("application/json", json.dumps({"input_tokens": 9, "totalTokens": 9}))
        elif not name:
            self._send("application/json", "{}")
        else:
            kind = "application/json" if name.endswith(".json") else "text/event-stream"
            self._send(kind, self._answer(ANSWERS / name, body))

    def _answer(self, path: Path, body: str) -> str:
        with_call = path.with_stem(f"{path.stem}_call")
        call = self.recorder.take_tool_call(body) if with_call.exists() else None
        if call is None:
            return path.read_text()
        # A JSON text inside a JSON text.
        arguments = json.dumps(json.dumps(call.arguments))[1:-1]
        return Template(with_call.read_text()).substitute(
            name=call.name, namespace=call.namespace, arguments=arguments
        )

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
