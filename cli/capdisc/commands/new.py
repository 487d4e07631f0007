"""capdisc new: a capability to start from."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

from capdisc import options, output, runtime
from capdisc.declaring import argument, option
from capdisc.exit_codes import ExitCode
from capdisc_indexer.errors import InputError, UsageError
from capdisc_indexer.text import title_of

_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
DEFAULT_FOLDER = Path(".capdisc/capabilities")

_SKILL = """---
name: {name}
description: Does one thing well. Use when the user asks for {title}.
---

# {title}

1. Say what to look at first.
2. Say what to do, with the exact commands.
3. Say how to check the result.
"""

_TOOL = """name: {name}
kind: tool
displayName: {title}
description: Does one thing well. Say what it takes and what it gives.
category: general
tags: [example]
# Requests as people write them: the largest lever there is for being found.
phrases:
  - please do {words} for me
riskLevel: low
hasSideEffects: false
inputSchema:
  type: object
  required: [input]
  properties:
    input:
      type: string
      description: What to work on.
"""
TEMPLATES = {"skill": ("SKILL.md", _SKILL), "tool": ("CAPABILITY.yaml", _TOOL)}


def new(
    kind: Annotated[str, argument(help="skill or tool.")],
    name: Annotated[str, argument(help="Lower case letters, digits and hyphens.")],
    folder: Annotated[Path, option("--in", metavar="DIR", help="Where to put it.")] = DEFAULT_FOLDER,
    json: options.Json = False,
) -> int:
    """Write the skeleton of a capability: SKILL.md for a skill, CAPABILITY.yaml for a tool.

    Example: capdisc new skill tidy-changelog
    """
    if kind not in TEMPLATES:
        raise UsageError(f"there is no skeleton for {kind!r}", f"one of: {', '.join(TEMPLATES)}")
    if not _NAME.fullmatch(name) or len(name) > 64:
        raise UsageError(f"{name!r} is not a good name", "at most 64 lower case letters, digits and single hyphens")
    path = write_skeleton(_folder(folder), kind, name)
    report_written([path], json)
    return ExitCode.OK


def report_written(paths: list[Path], json: bool, *more: str) -> None:
    """Say which files there are now."""
    if json:
        output.document({"written": [str(path) for path in paths]})
    else:
        output.lines([*(f"wrote {path}" for path in paths), *more])


def _folder(folder: Path) -> Path:
    """The named folder, or the workspace's own."""
    here = runtime.current()
    return here.workspace / folder if folder == DEFAULT_FOLDER else here.expand(folder)


def write_skeleton(folder: Path, kind: str, name: str) -> Path:
    """The new file's path. Raises InputError when it exists or cannot be written."""
    filename, template = TEMPLATES[kind]
    path = folder / name / filename
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as handle:
            handle.write(template.format(name=name, title=title_of(name), words=name.replace("-", " ")))
    except FileExistsError as error:
        raise InputError(f"{path} exists already", "choose another name") from error
    except OSError as error:
        raise InputError(
            f"{path} cannot be written ({error.strerror})", "choose another folder with --in DIR"
        ) from error
    return path
