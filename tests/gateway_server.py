"""An MCP server for tests of the gateway: `python gateway_server.py [FOLDER]` on stdin and stdout,
`python gateway_server.py http PORT` over HTTP.

Each tool does what its name says. In FOLDER, if it is named, `started` gets a line for each start,
and `extra.json` holds more tools to list. The first form is written by hand, since it starts in
50 ms; the SDK takes 700.
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

READS = {"readOnlyHint": True}
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
ANY = {"type": "object", "properties": {}}
TOOLS = [
    {"name": "tell_pid", "description": "Tells the number of its process.", "annotations": READS},
    {"name": "tell_secret", "description": "Tells the token it was given.", "annotations": READS},
    {"name": "tell_names", "description": "Names its variables.", "annotations": READS},
    {"name": "hang", "description": "Never answers.", "annotations": READS},
    {"name": "die", "description": "Ends its process.", "annotations": READS},
    {
        "name": "die_once",
        "description": "Ends its process at the first call.",
        "annotations": READS,
    },
    {"name": "die_writing", "description": "Ends its process while it writes a note."},
    {"name": "flood", "description": "Answers five megabytes.", "annotations": READS},
    {"name": "fail", "description": "Answers with an error.", "annotations": READS},
    {"name": "draw", "description": "Draws a picture.", "annotations": READS},
    {"name": "count", "description": "Counts, with structured content.", "annotations": READS},
    {"name": "ask_name", "description": "Asks its user for a name.", "annotations": READS},
    {"name": "change", "description": "Says that its tools have changed.", "annotations": READS},
    {"name": "write_note", "description": "Writes a note.", "inputSchema": TEXT},
    {
        "name": "drop_notes",
        "description": "Deletes all notes.",
        "annotations": {"readOnlyHint": False, "destructiveHint": True},
    },
]
QUESTION = {
    "message": "What is your name?",
    "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}},
}


class NoteServer:
    """The server over its standard streams, one request at a time."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder

    def run(self) -> None:
        if self.folder:
            with (self.folder / "started").open("a") as log:
                log.write(f"{os.getpid()}\n")
        print("hello from the log", file=sys.stderr, flush=True)
        for line in sys.stdin:
            request = json.loads(line)
            if "id" in request and "method" in request:
                answer = self.answer(request["method"], request.get("params") or {})
                reply = {"result": answer} if answer is not None else {"error": NO_METHOD}
                send({"id": request["id"], **reply})

    def answer(self, method: str, params: dict[str, Any]) -> dict[str, Any] | None:
        if method == "initialize":
            return {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {"listChanged": True}},
                "serverInfo": {"name": "notes", "version": "1"},
            }
        if method == "tools/list":
            return {"tools": [{"inputSchema": ANY, **tool} for tool in self.tools()]}
        if method == "tools/call":
            return self.call(params["name"], params.get("arguments") or {})
        return None

    def tools(self) -> list[dict[str, Any]]:
        path = self.folder / "extra.json" if self.folder else None
        return [*TOOLS, *(json.loads(path.read_text()) if path and path.exists() else [])]

    def call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        if name.startswith("die"):
            mark = self.folder / "died" if self.folder else None
            if not (name == "die_once" and mark and mark.exists()):
                if mark:
                    mark.touch()
                os._exit(3)
        if name == "change":
            send({"method": "notifications/tools/list_changed"})
        if name == "hang":
            time.sleep(600)
        if name == "draw":
            picture = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
            link = {"type": "resource_link", "uri": "file:///notes.txt", "name": "notes"}
            return {"content": [picture, link]}
        if name == "count":
            return {"content": [text_part('{"n": 3}')], "structuredContent": {"n": 3}}
        return {"content": [text_part(self.text(name, arguments))], "isError": name == "fail"}

    def text(self, name: str, arguments: dict[str, Any]) -> str:
        if name == "ask_name":
            send({"id": "question", "method": "elicitation/create", "params": QUESTION})
            answer = json.loads(sys.stdin.readline())
            return json.dumps(answer.get("result", answer.get("error")))
        texts = {
            "tell_pid": str(os.getpid()),
            "tell_secret": f"it is {os.environ.get('API_TOKEN')} in {os.environ.get('PLACE')}",
            "tell_names": " ".join(sorted(os.environ)),
            "flood": "x" * 5_000_000,
            "fail": "no such note",
        }
        return texts.get(name, f"{name}: {json.dumps(arguments)}")


NO_METHOD = {"code": -32601, "message": "no such method"}


def text_part(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def send(message: dict[str, Any]) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def serve_http(port: int) -> None:
    from mcp.server.mcpserver import Context, MCPServer
    from mcp.types import ToolAnnotations

    server = MCPServer("notes", log_level="ERROR")
    reads = ToolAnnotations(read_only_hint=True)

    @server.tool(annotations=reads)
    def tell_pid() -> str:
        """Tells the number of its process."""
        return str(os.getpid())

    @server.tool(annotations=reads)
    def tell_header(ctx: Context) -> str:
        """Tells the header Authorization of the request."""
        return str(ctx.headers.get("authorization")) if ctx.headers else "none"

    @server.tool()
    def write_note(text: str) -> str:
        """Writes a note."""
        return f"written: {text}"

    server.run("streamable-http", host="127.0.0.1", port=port)


if __name__ == "__main__":
    if sys.argv[1:2] == ["http"]:
        serve_http(int(sys.argv[2]))
    else:
        NoteServer(Path(sys.argv[1]) if sys.argv[1:] else None).run()
