"""capdisc init: a skill and a tool that work, in the folders where they are found."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from capdisc.args import params
from capdisc.args.params import option
from capdisc.commands import config_file
from capdisc.commands.new import (
    TOOL_FOLDER,
    describe_readers,
    guess_skill_folder,
    print_written,
    write_files,
)
from capdisc.context import data_files, surroundings
from capdisc.output.failures import ExitCode
from capdisc_indexer.model.errors import InputError

_CONFIG_TEMPLATE = """# Settings of capdisc for this folder; `capdisc config` prints all of them and where each comes from.
# roots = ["../shared-skills"]
# budget = 3000"""
_SKILL_NAME, _TOOL_NAME = "write-commit-message", "count-words"
_SKILL_TEXT = """---
name: write-commit-message
description: Writes the message of a git commit from the staged changes. Use when the user asks to commit; do not use to undo or push commits.
---

# Write a commit message

1. Run `git diff --staged --stat` and `git diff --staged`. Where nothing is staged, say so and stop.
2. Run `git log --oneline -15`, and keep to the form of those titles: tense, prefix, case.
3. Write a title of at most 72 characters that says what the change does for its user. Add a blank
   line and two to four lines on the reason, where the title does not give it.
4. Name no file that the diff shows anyway, and promise nothing that it does not hold.
5. Show the message. Run `git commit` with it only when the user agrees.

## Check

`git log -1` shows the title on one line, and `git status` shows nothing staged.
"""
_TOOL_TEXT = """# yaml-language-server: $schema=../.capability.schema.json
name: count-words
kind: tool
displayName: Count words
description: Counts the words of a text file. It reads the file and changes nothing.
category: documents
tags: [text, words, length]
# Requests as people write them: the largest lever there is for being found.
phrases:
  - how many words does this file have
  - is my essay longer than 500 words
requiredBins: [wc]
riskLevel: low
hasSideEffects: false
inputSchema:
  type: object
  required: [path]
  properties:
    path:
      type: string
      description: The text file to count.
run:
  command: ["wc", "-w", "{path}"]
"""


def init(
    folder: Annotated[
        Path | None,
        option("--in", metavar="DIR", help="The folder for the skill, by default your client's."),
    ] = None,
    json: params.Json = False,
) -> int:
    """Write a skill and a tool that work, to learn from and to change.

    The skill goes into the folder that your client reads, as with `capdisc new`; the tool and a
    configuration go into .capdisc. Where there is no configuration yet, it gets a [[source]] for
    each kind of tables, pages, databases, API descriptions and modules of tools in the workspace.

    Example: capdisc init && capdisc search "write the commit message"
    """
    runtime = surroundings.current_runtime()
    skills = runtime.expand(folder) if folder else guess_skill_folder(runtime)
    tools = runtime.workspace / TOOL_FOLDER
    for path in (skills / _SKILL_NAME, tools / _TOOL_NAME):
        if path.exists():
            raise InputError(f"{path} exists already", "add to it: capdisc new skill NAME")
    written = write_files(skills, _SKILL_NAME, "SKILL.md", _SKILL_TEXT)
    written += write_files(tools, _TOOL_NAME, "CAPABILITY.yaml", _TOOL_TEXT)
    config = config_file.find_file(runtime, is_workspace=True)
    lines = describe_readers(skills)
    if not config.exists():
        base = runtime.workspace
        # A home folder holds what its user would not think of.
        tables = [] if base == runtime.home else data_files.draft_declarations(base, base)
        config = base / ".capdisc" / "config.toml"
        config.write_text("\n\n".join([_CONFIG_TEMPLATE, *tables, ""]), encoding="utf-8")
        written.append(config)
        if tables:
            lines.append(f"{len(tables)} [[source]] in it; take out what should not be read")
    following = 'next: capdisc search "write the commit message"'
    print_written(written, json, *lines, following)
    return ExitCode.OK
