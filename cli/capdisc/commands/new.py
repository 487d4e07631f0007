"""capdisc new: a capability to start from."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

from capdisc.args import params
from capdisc.args.params import argument, option
from capdisc.context import surroundings
from capdisc.output import console
from capdisc.output.failures import ExitCode
from capdisc_indexer.model.errors import InputError, UsageError
from capdisc_indexer.text.normalization import readable_title

_VALID_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
DEFAULT_FOLDER = Path(".capdisc/capabilities")

_SKILL_TEMPLATE = """---
name: {name}
description: Does one thing well. Use when the user asks for {title}.
---

# {title}

1. Say what to look at first.
2. Say what to do, with the exact commands.
3. Say how to check the result.
"""

_TOOL_TEMPLATE = """name: {name}
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
TEMPLATES = {"skill": ("SKILL.md", _SKILL_TEMPLATE), "tool": ("CAPABILITY.yaml", _TOOL_TEMPLATE)}


def new(
    kind: Annotated[str, argument(metavar="KIND", help="skill or tool.")],
    name: Annotated[str, argument(metavar="NAME", help="Lower case letters, digits and hyphens.")],
    folder: Annotated[
        Path, option("--in", metavar="DIR", help="The folder to write it to.")
    ] = DEFAULT_FOLDER,
    json: params.Json = False,
) -> int:
    """Write the skeleton of a capability: SKILL.md for a skill, CAPABILITY.yaml for a tool.

    Example: capdisc new skill tidy-changelog
    """
    if kind not in TEMPLATES:
        raise UsageError(f"there is no skeleton for {kind!r}", f"one of: {', '.join(TEMPLATES)}")
    if not _VALID_NAME.fullmatch(name) or len(name) > 64:
        raise UsageError(
            f"{name!r} is not a good name",
            "at most 64 lower case letters, digits and single hyphens",
        )
    path = write_skeleton(_target_folder(folder), kind, name)
    print_written([path], json)
    return ExitCode.OK


def print_written(paths: list[Path], json: bool, *extra_lines: str) -> None:
    """Print which files were written."""
    if json:
        console.print_document({"written": [str(path) for path in paths]})
    else:
        console.print_lines([*(f"wrote {path}" for path in paths), *extra_lines])


def _target_folder(folder: Path) -> Path:
    """The folder that was named, else the workspace's own."""
    runtime = surroundings.current_runtime()
    return runtime.workspace / folder if folder == DEFAULT_FOLDER else runtime.expand(folder)


def write_skeleton(folder: Path, kind: str, name: str) -> Path:
    """Write the file and return its path. Raises InputError where it exists or cannot be written."""
    filename, template = TEMPLATES[kind]
    path = folder / name / filename
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(
                template.format(
                    name=name, title=readable_title(name), words=name.replace("-", " ")
                )
            )
    except FileExistsError as error:
        raise InputError(f"{path} exists already", "choose another name") from error
    except OSError as error:
        raise InputError(
            f"{path} cannot be written ({error.strerror})", "choose another folder with --in DIR"
        ) from error
    return path
