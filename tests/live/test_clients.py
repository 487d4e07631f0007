"""What reaches the model when a real client is set up by `capdisc setup`.

npm install @anthropic-ai/claude-code @openai/codex @google/gemini-cli opencode-ai @github/copilot \
    @qwen-code/qwen-code
CAPDISC_LIVE_CLIENTS="$PWD/node_modules/.bin" pytest -m live -rP

Each client runs in a home and a project of its own, against an endpoint on loopback in place of its
model. No account is needed, and nothing leaves the machine.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from string import Template

import pytest

from capdisc.hook.answer import HEADING
from conftest import Result
from live.model_endpoint import Endpoint, serve_model

# Read before tests get an environment of their own.
PROGRAMS = os.environ.get("CAPDISC_LIVE_CLIENTS", "")
pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(not PROGRAMS, reason="CAPDISC_LIVE_CLIENTS names no folder of clients"),
]
REQUEST = "refund the customer for the double charge"
SKILLS = {
    "refund-order": "Refunds a customer's order or a charge. Use when a customer wants money back.",
    "merge-pdfs": "Joins several PDF files into one, in a chosen order.",
    "write-changelog": "Writes the changelog of a release from its commits.",
    "resize-images": "Makes images smaller or larger.",
}
TIMEOUT_S = 240


CLIENTS = tomllib.loads(Path(__file__).with_name("clients.toml").read_text())


@pytest.fixture
def ask(hermetic: Path, process: Callable[..., Result], write_skill: Callable[..., Path]):
    """Sets a client up in the home of this test, and runs it once for the request."""
    home = hermetic.parent / "home"

    def run(name: str, endpoint: Endpoint) -> None:
        client, program = CLIENTS[name], Path(PROGRAMS, name)
        if not program.exists():
            pytest.skip(f"{program} is not there")

        def fill(text: str) -> str:
            return Template(text).substitute(url=endpoint.url, prompt=REQUEST)

        for skill, description in SKILLS.items():
            write_skill(home / client.get("skills", ".agents/skills"), skill, description)
        for path, text in client.get("files", {}).items():
            file = home / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(fill(text), encoding="utf-8")
        for words in (["index", "-q"], ["setup", name, "--scope", "user", "--yes"]):
            done = process(*words)
            assert done.code == 0, done.err
        _be_patient(home, name)
        environ = {name: fill(text) for name, text in client.get("environ", {}).items()}
        _run_program([str(program), *map(fill, client["command"])], environ)

    return run


def _be_patient(home: Path, name: str) -> None:
    """Give the hook more time than a person would, since the machine may be busy."""
    for path in home.rglob("*"):
        if path.suffix in (".json", ".toml", ".js") and path.is_file():
            text = path.read_text("utf-8", "replace")
            changed = text.replace(f"hook {name}", f"hook {name} --deadline 60s --no-build")
            changed = changed.replace(
                f'"hook", "{name}"', f'"hook", "{name}", "--deadline", "60s"'
            )
            if changed != text:
                path.write_text(changed, encoding="utf-8")


def _run_program(command: Sequence[str], variables: Mapping[str, str]) -> None:
    """Run it to its end, with all that it starts; how it ends is not looked at."""
    environ = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("ANTHROPIC_", "OPENAI_", "GEMINI_", "CLAUDE", "NODE_"))
    }
    child = subprocess.Popen(
        command,
        env={**environ, "NO_PROXY": "127.0.0.1", **variables},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    with child:
        try:
            output, _ = child.communicate(timeout=TIMEOUT_S)
            print(output.decode("utf-8", "replace")[-2_000:])
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)


def find_lines(body: str) -> list[str]:
    """The hook's lines in a request; none without its heading."""
    for text in list_texts(json.loads(body)):
        if HEADING.strip() in text:
            return re.findall(r"^- .*", text.partition(HEADING.strip())[2], re.M)
    return []


def list_texts(value: object) -> list[str]:
    """Every string in a JSON value."""
    if isinstance(value, str):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for part in parts for text in list_texts(part)]


def find_tools(body: str) -> set[str]:
    """The names of capdisc's own tools whose schemas a request sends."""
    text = json.dumps(json.loads(body).get("tools") or ())
    return set(re.findall(r'"name": "([\w-]*capdisc[\w-]*_capabilit\w+)"', text))


@pytest.mark.parametrize("name", CLIENTS)
def test_the_model_gets_the_line_and_the_tools(ask, name) -> None:
    with serve_model() as endpoint:
        ask(name, endpoint)
    lines = [line for body in endpoint.bodies for line in find_lines(body)]
    tools = {tool for body in endpoint.bodies for tool in find_tools(body)}
    is_named = any("capdisc" in text and HEADING not in text for text in endpoint.bodies)
    print(f"{name}: {len(endpoint.bodies)} requests; {lines[:1]}")
    print(f"    tools: {sorted(tools) or ('deferred' if is_named else 'none')}")
    assert endpoint.bodies, "the client asked no model"
    way = CLIENTS[name].get("way", "Use the skill refund-order")
    assert lines and lines[0].startswith("- refund-order: ") and way in lines[0]
    assert bool(tools) == (CLIENTS[name].get("tools", "yes") == "yes")
    titles = [body for body in endpoint.bodies if "Generate a title for this" in body]
    assert bool(titles) == (name == "opencode")
    assert not any(find_lines(body) for body in titles)


@pytest.mark.parametrize(
    ("name", "tool", "arguments"),
    [
        ("claude", "Agent", {"description": "x", "subagent_type": "general-purpose"}),
        ("codex", "spawn_agent", {}),
    ],
)
def test_a_subagent_gets_the_line(ask, name, tool, arguments) -> None:
    task = "Count the cranes."
    with serve_model() as endpoint:
        endpoint.tool_call = (tool, {**arguments, "prompt" if arguments else "message": task})
        ask(name, endpoint)
    (body, *_) = [body for body in endpoint.bodies if task in body and REQUEST not in body]
    assert find_lines(body)[0].startswith("- refund-order: ")
