"""capdisc new and init: a capability to start from; a working skill and tool to learn from."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

from capdisc.args import params
from capdisc.args.command_line import argument, option
from capdisc.commands import config_file
from capdisc.context import data_files, surroundings
from capdisc.output import console
from capdisc.output.command_process import ExitCode
from capdisc_indexer.config.client_table import client_sections, find_profile
from capdisc_indexer.model.errors import InputError, UsageError
from capdisc_indexer.platforms import system
from capdisc_indexer.text.normalization import readable_title
from capdisc_indexer.text.similar_names import unknown_choice

# Devices of Windows, which no folder there can be called.
_DEVICES = r"con|prn|aux|nul|(?:com|lpt)[0-9]"
_VALID_NAME = re.compile(rf"(?!(?:{_DEVICES})$)[a-z0-9]+(-[a-z0-9]+)*")
# No client reads manifests of tools, so they lie in a folder of ours.
TOOL_FOLDER = Path(".capdisc/capabilities")
# Folders of clients; of two with as much in them, `guess_skill_folder` takes the first. .github
# says nothing: most repositories have one.
_SKILL_FOLDERS = tuple(
    folder
    for folder in find_profile("all").workspace
    if folder.endswith("/skills") and not folder.startswith(".github")
)
_SHARED_FOLDER = ".agents/skills"  # which most clients read besides their own
# Hidden, so that no scan takes it for a capability.
_SCHEMA_NAME = ".capability.schema.json"

_SKILL_TEMPLATE = """---
name: {name}
description: {description}
---

# {title}

1. Read what the request is about before you change anything.
2. Do the work. Name here the exact commands, files and formats.
3. Check the result, and say what changed.
"""

_TOOL_TEMPLATE = """# yaml-language-server: $schema={schema}
name: {name}
kind: tool
displayName: {title}
description: {description}
# Requests as people write them: the largest lever there is for being found.
phrases:
  - {words}
riskLevel: low
hasSideEffects: false
inputSchema:
  type: object
  required: [path]
  properties:
    path:
      type: string
      description: The file to work on.
# How it is run; capdisc run {name} asks before it does. Without it, an agent gets the call to make.
# run:
#   command: ["{name}", "{{path}}"]
"""
TEMPLATES = {"skill": ("SKILL.md", _SKILL_TEMPLATE), "tool": ("CAPABILITY.yaml", _TOOL_TEMPLATE)}


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


def new(
    kind: Annotated[str, argument(metavar="KIND", help="skill or tool.")],
    name: Annotated[str, argument(metavar="NAME", help="Lower case letters, digits and hyphens.")],
    description: Annotated[
        str,
        option(help="What it does and when it is used, in a sentence or two."),
    ] = "",
    folder: Annotated[
        Path | None,
        option("--in", metavar="DIR", help="The folder to write it to, by default your client's."),
    ] = None,
    json: params.Json = False,
) -> int:
    """Write a capability to start from: SKILL.md for a skill, CAPABILITY.yaml for a tool.

    A skill goes into the workspace's folder for the client that you use: where most skills of the
    workspace are, else as where most of your own are; a tool goes into .capdisc/capabilities.

    Example: capdisc new skill tidy-changelog --description "Sorts a changelog by kind of change.
    Use before a release."
    """
    if kind not in TEMPLATES:
        raise unknown_choice("kind", kind, TEMPLATES)
    if not _VALID_NAME.fullmatch(name) or len(name) > 64:
        raise UsageError(
            f"{name!r} is not a valid name",
            "at most 64 lower case letters, digits and single hyphens, and no device of Windows such as con",
        )
    runtime = surroundings.current_runtime()
    if folder is not None:
        target = runtime.expand(folder)
    elif kind == "skill":
        target = guess_skill_folder(runtime)
    else:
        target = runtime.workspace / TOOL_FOLDER
    paths = write_files(target, name, *_fill_template(kind, name, " ".join(description.split())))
    check = f"next: say in it what to do, then: capdisc validate {_shown_path(paths[0])}"
    print_written(paths, json, *describe_readers(target), check)
    return ExitCode.OK


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
    written_paths = write_files(skills, _SKILL_NAME, "SKILL.md", _SKILL_TEXT)
    written_paths += write_files(tools, _TOOL_NAME, "CAPABILITY.yaml", _TOOL_TEXT)
    config = config_file.find_file(runtime, is_workspace=True)
    lines = describe_readers(skills)
    if not config.exists():
        base = runtime.workspace
        # A home folder holds what its user would not think of.
        tables = [] if base == runtime.home else data_files.draft_declarations(base, base)
        config = base / ".capdisc" / "config.toml"
        config.write_text("\n\n".join([_CONFIG_TEMPLATE, *tables, ""]), encoding="utf-8")
        written_paths.append(config)
        if tables:
            lines.append(f"{len(tables)} [[source]] in it; take out what should not be read")
    following = 'next: capdisc search "write the commit message"'
    print_written(written_paths, json, *lines, following)
    return ExitCode.OK


def _fill_template(kind: str, name: str, description: str) -> tuple[str, str]:
    """The name and the text of the file."""
    filename, template = TEMPLATES[kind]
    title, words = readable_title(name), name.replace("-", " ")
    text = description or f"{title}. Use when the user asks for it."
    return filename, template.format(
        name=name,
        title=title,
        words=words,
        description=_yaml_text(text),
        schema=f"../{_SCHEMA_NAME}",
    )


def _yaml_text(text: str) -> str:
    """The text as a value of YAML, quoted where it would be read as something else."""
    import yaml

    return yaml.safe_dump(text, width=10_000, allow_unicode=True).removesuffix("\n...\n").strip()


def guess_skill_folder(runtime: surroundings.Runtime) -> Path:
    """The folder of the workspace in which the person's client looks for skills: the one with most
    skills, else one that is there or whose client has a folder in the workspace, else by the same
    rules as at home, else the folder that most clients share.
    """
    for place in (runtime.workspace, runtime.home):
        chosen = max(_SKILL_FOLDERS, key=lambda folder: _weigh_folder(place, folder))
        if _weigh_folder(place, chosen) > (0, False, False):
            return runtime.workspace / chosen
    return runtime.workspace / _SHARED_FOLDER


def _weigh_folder(place: Path, folder: str) -> tuple[int, bool, bool]:
    """How many skills are in the folder, whether it exists, and whether its client has one."""
    path = place / folder
    count = sum(1 for _ in path.glob("*/SKILL.md"))
    return count, path.is_dir(), (place / folder.partition("/")[0]).is_dir()


def describe_readers(folder: Path) -> list[str]:
    """A line that says which clients read skills in this folder; none where none does."""
    skills, titles = client_sections("skills"), client_sections("title")
    names = [
        titles[client]
        for client in client_sections("programs")
        if any(
            folder.as_posix().endswith(f"/{name}")
            for name in skills.get(client, {}).get("workspace", ())
        )
    ]
    return [f"read by {', '.join(names)}"] if names else []


def print_written(paths: list[Path], json: bool, *extra_lines: str) -> None:
    """Print which files were written."""
    written = [path.as_posix() for path in paths]
    lines = [*(f"wrote {path}" for path in written), *extra_lines]
    console.print_answer(json, {"written": written}, lines)


def _shown_path(path: Path) -> str:
    """The path from the current folder, where it lies below it."""
    from capdisc_indexer.text.shell_quoting import quote_word

    relative = system.relpath(path, surroundings.current_runtime().cwd)
    return quote_word(path.as_posix() if relative.startswith("..") else relative)


def write_files(folder: Path, name: str, filename: str, text: str) -> list[Path]:
    """Write the file of a capability, and next to a manifest the schema that its first line names.
    Returns the paths. Raises InputError where the file exists or cannot be written.
    """
    path, schema = folder / name / filename, folder / _SCHEMA_NAME
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
        if filename.endswith(".md") or schema.exists():
            return [path]
        from capdisc_indexer.validation.rules import manifest_schema

        schema.write_text(manifest_schema("capability"), encoding="utf-8")
        return [path, schema]
    except FileExistsError as error:
        raise InputError(f"{path} exists already", "choose another name") from error
    except OSError as error:
        raise InputError(
            f"{path} cannot be written ({error.strerror})", "choose another folder with --in DIR"
        ) from error
