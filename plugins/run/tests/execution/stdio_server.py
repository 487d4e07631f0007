"""An MCP server for tests, with one tool that answers as told: `python stdio_server.py`."""

from __future__ import annotations

import os
import sys
import time

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

server = MCPServer("probe")


@server.tool()
def probe(say: str = "hello", how: str = "answer") -> str:
    """Answers, fails, waits, floods or dies."""
    print(f"log: {how}", file=sys.stderr)
    if how == "fail":
        raise ToolError(say)
    if how == "wait":
        time.sleep(60)
    if how == "die":
        os._exit(7)
    if how == "environment":
        return " ".join(sorted(os.environ))
    return say * 100_000 if how == "flood" else say


if __name__ == "__main__":
    print("a greeting that is no message", flush=True)
    server.run("stdio")
