"""Every command over one case, for people and for programs, in a thread with a small stack."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hostile.case import Case
from hostile.streams import Said, say
from product_lists import RENDER_FORMATS, REPORT_FORMATS

STACK_BYTES = 512 * 1024
BUDGET = 1_200
NEIGHBOURS_WORDS = "convert temperature celsius"
OWN_WORDS = "pull turnips from the field"
_ON_TERMINALS_TOO = "text"
_REPORTS = tuple(("--format", form) for form in REPORT_FORMATS)


class Run:
    """The commands under way, and what they gave so far."""

    def __init__(self, case: Case, root: Path, index: Path) -> None:
        self._roots = [str(root / each) for each in case.roots]
        self._index = ["--index-dir", str(index)]
        self._root = str(root)
        self.said: list[Said] = []
        self.findings: list[dict[str, Any]] = []
        self.capabilities: list[dict[str, Any]] = []
        self.failures: list[str] = []

    def in_small_stack(self) -> None:
        """Runs all; what escapes the commands is noted, since nothing should."""
        before = threading.stack_size(STACK_BYTES)
        thread = threading.Thread(target=self._guarded)
        thread.start()
        thread.join()
        threading.stack_size(before)

    def _guarded(self) -> None:
        try:
            self._all()
        except BaseException as error:
            self.failures.append(f"left a command: {type(error).__name__}: {error}")

    def _all(self) -> None:
        self.findings += self._json("validate", *self._roots).get("findings", [])
        self._say("index", "index", *self._roots, *self._index)
        self.findings += self._json("index", *self._roots, *self._index).get("findings", [])
        self.capabilities += self._json("list", *self._index).get("capabilities", [])
        ids = [one["id"] for one in self.capabilities if one["path"].startswith(self._root)][
            :6
        ] or ["nothing"]
        for label, argv in (*self._everywhere(ids), *self._in_a_pipe()):
            self._say(label, *argv)
        for label, argv in self._everywhere(ids):
            self._say(label, *argv, on_terminal=True)
        self._json("search", NEIGHBOURS_WORDS, "-k", "5", *self._index)
        self._json("show", *ids, *self._index)

    def _everywhere(self, ids: list[str]) -> Iterator[tuple[str, list[str]]]:
        yield "validate", ["validate", *self._roots]
        for argv in (
            ["search", NEIGHBOURS_WORDS],
            ["search", OWN_WORDS, "--explain"],
            ["list"],
            ["list", "--shadowed"],
            ["show", *ids],
            ["status"],
        ):
            yield argv[0], [*argv, *self._index]
        yield self._rendering(_ON_TERMINALS_TOO)

    def _in_a_pipe(self) -> Iterator[tuple[str, list[str]]]:
        for options in (*_REPORTS, ("--statistics",), ("--fix",)):
            yield "validate", ["validate", *self._roots, *options]
        yield "list", ["list", "--cost", *self._index]
        yield "doctor", ["doctor", *self._index]
        yield "tools", ["tools", "--static", "--format", "gemini", *self._index]
        yield "call", ["call", "search_tool", json.dumps({"query": OWN_WORDS}), *self._index]
        yield from (self._rendering(form) for form in RENDER_FORMATS if form != _ON_TERMINALS_TOO)

    def _rendering(self, form: str) -> tuple[str, list[str]]:
        return f"render {form}", [
            "render",
            OWN_WORDS,
            "--format",
            form,
            "--budget",
            str(BUDGET),
            *self._index,
        ]

    def _say(self, label: str, *argv: str, on_terminal: bool = False) -> Said:
        said = say(label, argv, on_terminal)
        self.said.append(said)
        return said

    def _json(self, *argv: str) -> dict[str, Any]:
        said = self._say(f"{argv[0]} --json", *argv, "--json")
        try:
            return dict(json.loads(said.out)) if said.out else {}
        except ValueError:
            self.failures.append(f"no JSON: {said.label}")
            return {}
