"""What reaches the model when a real client runs `capdisc hook`: the right lines, or nothing?

npm install @anthropic-ai/claude-code @openai/codex @google/gemini-cli opencode-ai @github/copilot
PATH="$PWD/node_modules/.bin:$PATH" python tools/bench/real_clients.py [CLIENT]...

Each client that is on PATH runs once for each prompt, in a home and a project of its own, against an
endpoint on loopback in place of its model. A table says how many of capdisc's lines the request of
each prompt held, and where they stand in it. No account is needed, and nothing leaves the machine.
Exit status 1: a line is missing, or stands where none belongs.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from model_endpoint import Endpoint, serve_model

from capdisc.hook.answer import HEADING

REPOSITORY = Path(__file__).resolve().parents[2]
CATALOGUE = REPOSITORY / "fixtures" / "catalogs" / "small"
PLUGIN_PAGE = REPOSITORY / "docs" / "hook.md"
TIMEOUT_S = 120
# Each prompt with the capability that its request must name, or "" for none at all.
PROMPTS = {"join these two PDF files into one": "merge-pdfs", "thanks!": ""}
# A busy machine may take longer for a hook than a person would wait; the index is there.
HOOK_OPTIONS = "--deadline 20s --no-build"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSetup:
    """How a client is run: its program, its settings files below its home, its environment, and
    its command line for a prompt.
    """

    program: str
    files: Callable[[str, str], Mapping[str, str]]
    environ: Callable[[str], Mapping[str, str]]
    command: Callable[[str], Sequence[str]]


def _claude_files(hook: str, url: str) -> dict[str, str]:
    settings = {"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": hook}]}]}}
    return {".claude/settings.json": json.dumps(settings)}


def _codex_files(hook: str, url: str) -> dict[str, str]:
    settings = {"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": hook}]}]}}
    config = (
        'model = "fake"\nmodel_provider = "fake"\n[model_providers.fake]\nname = "fake"\n'
        f'base_url = "{url}/v1"\nwire_api = "responses"\nenv_key = "FAKE_KEY"\n'
    )
    return {".codex/hooks.json": json.dumps(settings), ".codex/config.toml": config}


def _gemini_files(hook: str, url: str) -> dict[str, str]:
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "hooks": {"BeforeAgent": [{"hooks": [{"type": "command", "command": hook}]}]},
    }
    return {".gemini/settings.json": json.dumps(settings)}


def _copilot_files(hook: str, url: str) -> dict[str, str]:
    settings = {
        "version": 1,
        "hooks": {"userPromptSubmitted": [{"type": "command", "bash": hook}]},
    }
    return {".copilot/hooks/capdisc.json": json.dumps(settings)}


def _opencode_files(hook: str, url: str) -> dict[str, str]:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "fake",
        "options": {"baseURL": f"{url}/v1", "apiKey": "none"},
        "models": {"fake": {"name": "fake"}},
    }
    config = {"autoupdate": False, "model": "fake/fake", "provider": {"fake": provider}}
    return {
        ".config/opencode/opencode.json": json.dumps(config),
        ".config/opencode/plugins/capdisc.js": read_plugin(hook),
    }


def read_plugin(hook: str) -> str:
    """The plugin for opencode that docs/hook.md prints, with this command line."""
    blocks = re.findall(r"^```js\n(.*?)^```$", PLUGIN_PAGE.read_text("utf-8"), re.S | re.M)
    program, *words = hook.split()
    arguments = json.dumps(words)
    plugin = next(block for block in blocks if "chat.message" in block)
    return plugin.replace('"capdisc", ["hook", "opencode"]', f"{json.dumps(program)}, {arguments}")


CLIENTS: Mapping[str, ClientSetup] = {
    "claude": ClientSetup(
        program="claude",
        files=_claude_files,
        environ=lambda url: {
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": "none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        },
        command=lambda prompt: ("-p", prompt),
    ),
    "codex": ClientSetup(
        program="codex",
        files=_codex_files,
        environ=lambda url: {"FAKE_KEY": "none"},
        command=lambda prompt: (
            "exec", "--skip-git-repo-check", "--dangerously-bypass-hook-trust", prompt,
        ),
    ),
    "gemini": ClientSetup(
        program="gemini",
        files=_gemini_files,
        environ=lambda url: {"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": url},
        command=lambda prompt: ("--skip-trust", "-m", "gemini-2.5-flash", "-p", prompt),
    ),
    "copilot": ClientSetup(
        program="copilot",
        files=_copilot_files,
        environ=lambda url: {
            "COPILOT_OFFLINE": "true",
            "COPILOT_PROVIDER_BASE_URL": f"{url}/v1",
            "COPILOT_MODEL": "fake",
        },
        command=lambda prompt: ("--allow-all-tools", "-p", prompt),
    ),
    "opencode": ClientSetup(
        program="opencode",
        files=_opencode_files,
        environ=lambda url: {},
        command=lambda prompt: ("run", prompt),
    ),
}  # fmt: skip


def main() -> int:
    """Drive the clients that are named, or all that are on PATH, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("clients", nargs="*", metavar="CLIENT", help=", ".join(CLIENTS))
    parser.add_argument("--show", action="store_true", help="print the lines that a request held")
    arguments = parser.parse_args()
    names = arguments.clients or [
        name for name, setup in CLIENTS.items() if shutil.which(setup.program)
    ]
    if not names:
        print("none of the clients is on PATH", file=sys.stderr)
        return 1
    are_right = [
        drive_client(name, prompt, expected, arguments.show)
        for name in names
        for prompt, expected in PROMPTS.items()
    ]
    return 0 if all(are_right) else 1


def drive_client(name: str, prompt: str, expected: str, show: bool) -> bool:
    """Whether the client's request held what it must for this prompt, which is printed."""
    # Some clients still write into their home when they have ended.
    scratch = tempfile.TemporaryDirectory(prefix="real-clients-", ignore_cleanup_errors=True)
    with scratch as folder, serve_model() as endpoint:
        home, project = Path(folder, "home"), Path(folder, "project")
        shutil.copytree(CATALOGUE, project / ".claude" / "skills")
        home.mkdir()
        environ = _make_environ(home, CLIENTS[name].environ(endpoint.url))
        build = [sys.executable, "-m", "capdisc", "index", ".claude/skills", "-q"]
        subprocess.run(build, cwd=project, env=environ, check=True, capture_output=True)
        hook = f"{Path(sys.executable).with_name('capdisc')} hook {name} {HOOK_OPTIONS}"
        for path, text in CLIENTS[name].files(hook, endpoint.url).items():
            file = home / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        command = [CLIENTS[name].program, *CLIENTS[name].command(prompt)]
        status = subprocess.run(
            command, cwd=project, env=environ, stdin=subprocess.DEVNULL, capture_output=True,
            timeout=TIMEOUT_S, check=False,
        ).returncode  # fmt: skip
    lines = find_lines(endpoint)
    is_right = bool(endpoint.bodies) and (
        any(line.startswith(f"- {expected}") for line in lines) if expected else not lines
    )
    verdict = "right" if is_right else "WRONG"
    requests = f"{len(endpoint.bodies)} requests, {len(lines)} lines"
    print(f"{name:9} {prompt:36} status {status}  {requests:22} {verdict}", flush=True)
    if show:
        print("".join(f"    {line}\n" for line in lines), end="")
    return is_right


def _make_environ(home: Path, variables: Mapping[str, str]) -> dict[str, str]:
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("CAPDISC_", "XDG_", "ANTHROPIC_", "OPENAI_", "GEMINI_", "PWD"))
    }
    return {**inherited, "HOME": str(home), "NO_PROXY": "127.0.0.1", **variables}


def find_lines(endpoint: Endpoint) -> list[str]:
    """The hook's lines in the first request that has any."""
    for body in endpoint.bodies:
        for text in _find_texts(json.loads(body)):
            if HEADING.strip() in text:
                below = text.partition(HEADING.strip())[2].lstrip("\n")
                return re.findall(r"^- .*", below, re.M)
    return []


def _find_texts(value: object) -> list[str]:
    """Every string in a JSON value."""
    if isinstance(value, str):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for part in parts for text in _find_texts(part)]


if __name__ == "__main__":
    raise SystemExit(main())
