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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

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


@dataclass(frozen=True, kw_only=True)
class LiveClient:
    """How a client is run: its command line for a prompt, the environment and the further settings
    by which it asks the endpoint, the folder of skills below its home, the line that the hook adds
    about one, and whether the model gets the tools of capdisc's server: "yes", or "deferred".
    """

    command: Callable[[str], Sequence[str]]
    environ: Callable[[str], Mapping[str, str]]
    files: Callable[[str], Mapping[str, str]] = lambda url: {}
    skills: str = ".agents/skills"
    way: str = "Use the skill refund-order"
    tools: str = "yes"


def _codex_files(url: str) -> dict[str, str]:
    return {
        ".codex/config.toml": 'model = "fake"\nmodel_provider = "fake"\n'
        f'[model_providers.fake]\nname = "fake"\nbase_url = "{url}/v1"\n'
        'wire_api = "responses"\nenv_key = "FAKE_KEY"\n'
    }


def _gemini_files(url: str) -> dict[str, str]:
    return {
        ".gemini/settings.json": '{"security": {"auth": {"selectedType": "gemini-api-key"}}}\n'
    }


def _opencode_files(url: str) -> dict[str, str]:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "fake",
        "options": {"baseURL": f"{url}/v1", "apiKey": "none"},
        "models": {"fake": {"name": "fake"}},
    }
    config = {"autoupdate": False, "model": "fake/fake", "provider": {"fake": provider}}
    return {".config/opencode/opencode.json": json.dumps(config)}


CLIENTS = {
    "claude": LiveClient(
        command=lambda prompt: ("-p", prompt),
        environ=lambda url: {
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": "none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        },
        skills=".claude/skills",
    ),
    "codex": LiveClient(
        command=lambda prompt: (
            "exec", "--skip-git-repo-check", "--dangerously-bypass-hook-trust", prompt,
        ),
        environ=lambda url: {"FAKE_KEY": "none"},
        files=_codex_files,
        way="Read /",
        tools="deferred",
    ),
    "gemini": LiveClient(
        command=lambda prompt: (
            "--skip-trust", "--yolo", "-m", "gemini-2.5-flash", "-p", prompt,
        ),
        environ=lambda url: {"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": url},
        files=_gemini_files,
    ),
    "opencode": LiveClient(
        command=lambda prompt: ("run", prompt), environ=lambda url: {}, files=_opencode_files
    ),
    "qwen": LiveClient(
        command=lambda prompt: ("--auth-type", "openai", "--yolo", "-p", prompt),
        environ=lambda url: {
            "OPENAI_API_KEY": "none", "OPENAI_BASE_URL": f"{url}/v1", "OPENAI_MODEL": "fake",
        },
        tools="deferred",
    ),
    "copilot": LiveClient(
        command=lambda prompt: ("--allow-all-tools", "-p", prompt),
        environ=lambda url: {
            "COPILOT_OFFLINE": "true",
            "COPILOT_PROVIDER_BASE_URL": f"{url}/v1",
            "COPILOT_MODEL": "fake",
        },
    ),
}  # fmt: skip


@pytest.fixture
def ask(hermetic: Path, process: Callable[..., Result], write_skill: Callable[..., Path]):
    """Sets a client up in the home of this test, and runs it once for the request."""
    home = hermetic.parent / "home"

    def run(name: str, endpoint: Endpoint) -> None:
        client, program = CLIENTS[name], Path(PROGRAMS, name)
        if not program.exists():
            pytest.skip(f"{program} is not there")
        for skill, description in SKILLS.items():
            write_skill(home / client.skills, skill, description)
        for path, text in client.files(endpoint.url).items():
            file = home / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        for words in (["index", "-q"], ["setup", name, "--scope", "user", "--yes"]):
            done = process(*words)
            assert done.code == 0, done.err
        _be_patient(home, name)
        _run_program([str(program), *client.command(REQUEST)], client.environ(endpoint.url))

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
    assert lines and lines[0].startswith("- refund-order: ") and CLIENTS[name].way in lines[0]
    assert bool(tools) == (CLIENTS[name].tools == "yes")
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
