"""What capdisc finds, for the command line and the models of llm.

The command runs as a process of its own: it then has the index, the settings and the trust of the
terminal, and llm does not load a search engine.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable

import llm

# A search takes a fifth of a second; the first one on a slow disk takes more.
_TIMEOUT_S = 60
_ANSWER_TOKENS = 4_000


@llm.hookimpl
def register_fragment_loaders(register: Callable[[str, object], None]) -> None:
    """`capdisc:REQUEST` is the context for the request."""
    register("capdisc", load_context)


@llm.hookimpl
def register_tools(register: Callable[[object], None]) -> None:
    """`-T Capdisc` lets the model search."""
    register(Capdisc)


def load_context(request: str) -> llm.Fragment:
    """The context that capdisc renders for a request, such as "animated gif for slack".

    Raises ValueError where nothing fits, and where capdisc fails, with its message.
    """
    # Without the overview, which is there even where nothing fits.
    text = _run_capdisc("render", "--tier", "1,2", "--", request)
    if not text.strip():
        raise ValueError(f"capdisc finds nothing for {request!r}")
    return llm.Fragment(text, f"capdisc:{request}")


class Capdisc(llm.Toolbox):
    """Finds skills, tools and documents on this machine, and reads them."""

    def search(self, query: str, limit: int = 5) -> str:
        """Search all capabilities for what you need now: names, what each does, and guidance."""
        return _call_tool("tool_search", {"query": query, "limit": limit})

    def read(self, name: str) -> str:
        """Read the full documentation of one capability by the name that a search gave."""
        return _call_tool("search_tool", {"query": name})


def _call_tool(name: str, arguments: dict[str, object]) -> str:
    """The answer as JSON, or the message of the error, for the model to read."""
    try:
        return _run_capdisc(
            "call", name, json.dumps(arguments), "--max-tokens", str(_ANSWER_TOKENS)
        )
    except ValueError as error:
        return json.dumps({"error": str(error)})


def _run_capdisc(*arguments: str) -> str:
    """What the command prints. Raises ValueError with the message where it fails."""
    program = shutil.which("capdisc")
    command = [program] if program else [sys.executable, "-m", "capdisc"]
    try:
        done = subprocess.run(
            [*command, *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ValueError(f"capdisc took more than {_TIMEOUT_S} seconds") from None
    except ValueError:  # a NUL in an argument
        raise ValueError("the request is not text") from None
    # 1 means that nothing was found.
    if done.returncode not in (0, 1):
        raise ValueError(done.stderr.strip() or "capdisc failed; is it installed?")
    return done.stdout
