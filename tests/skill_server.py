"""An MCP server for tests of skills: `python skill_server.py ANSWERS.json` on stdin and stdout.

ANSWERS holds `pages` (lists of entries of `skills/list`), `texts` (by URI, what `resources/read`
gives), `extension` (false: it is not declared) and `listed` (the URIs of `resources/list`). Each
URI that is read is added to the file ANSWERS.json.read. It is written by hand, since it starts in
50 ms; the SDK takes 700.
"""

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

EXTENSION = "io.modelcontextprotocol/skills"
FRESH = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
NO_METHOD = {"code": -32601, "message": "no such method"}
NO_RESOURCE = {"code": -32602, "message": "there is no such resource"}


def skill_text(
    name: str, about: str = "Does a thing. Use when asked.", body: str = "Do it."
) -> str:
    return f"---\nname: {name}\ndescription: {about}\n---\n\n{body}\n"


def entry_of(uri: str, text: str, **files: str) -> dict[str, Any]:
    """The entry of a skill with this text and these files, by what `skills/list` demands."""
    _, block, _ = text.split("---\n", 2)
    fields = dict(line.split(": ", 1) for line in block.splitlines())
    base = uri.removesuffix("SKILL.md")
    texts = {uri: text} | {base + name.replace("__", "/"): data for name, data in files.items()}
    return {
        "uri": uri,
        "frontmatter": fields,
        "resources": [file_of(*pair) for pair in texts.items()],
    }


def file_of(uri: str, text: str) -> dict[str, Any]:
    data = text.encode()
    return {"uri": uri, "digest": f"sha256:{hashlib.sha256(data).hexdigest()}", "size": len(data)}


def answer(path: Path, method: str, params: dict[str, Any]) -> dict[str, Any]:
    said = json.loads(path.read_text())
    if method == "server/discover":
        capabilities = {"resources": {}, "tools": {}}
        if said.get("extension", True):
            capabilities["extensions"] = {EXTENSION: {}}
        versions = {"supportedVersions": ["2026-07-28"], "capabilities": capabilities}
        return {"result": FRESH | versions}
    if method == "tools/list":
        return {"result": FRESH | {"tools": said.get("tools", [])}}
    if method == "skills/list":
        number = int(params.get("cursor") or 0)
        page = {"skills": said["pages"][number]}
        if number + 1 < len(said["pages"]):
            page["nextCursor"] = str(number + 1)
        return {"result": FRESH | page}
    if method == "resources/list" and "listed" in said:
        return {
            "result": FRESH | {"resources": [{"uri": uri, "name": uri} for uri in said["listed"]]}
        }
    if method == "resources/read":
        uri = params["uri"]
        with path.with_suffix(".json.read").open("a") as log:
            log.write(f"{uri}\n")
        if (text := said["texts"].get(uri)) is None:
            return {"error": NO_RESOURCE}
        return {"result": FRESH | {"contents": [{"uri": uri, "text": text}]}}
    return {"error": NO_METHOD}


def main() -> None:
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request:
            reply = answer(Path(sys.argv[1]), request["method"], request.get("params") or {})
            print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **reply}), flush=True)


if __name__ == "__main__":
    main()
