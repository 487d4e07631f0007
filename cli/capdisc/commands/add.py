"""capdisc add and remove: a capability that an agent made while it works, indexed at once."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from capdisc.args import params
from capdisc.args.command_line import argument, option
from capdisc.commands.new import TOOL_FOLDER
from capdisc.context import open_index, surroundings, user_files
from capdisc.context.freshness import locate_index
from capdisc.output import console
from capdisc.output.command_process import ExitCode
from capdisc_indexer.model.errors import InputError, UsageError
from capdisc_indexer.model.json_types import JsonObject
from capdisc_indexer.model.types import Severity
from capdisc_indexer.sources.readers.yaml_nodes import to_json
from capdisc_indexer.sources.readers.yaml_reader import read_yaml
from capdisc_indexer.store.durable_files import replace_file
from capdisc_indexer.store.generation import read_pointer

# The folder, and the category, of what agents made: `remove` deletes nothing else.
EMERGENT = "emergent"
_FILE_NAME = re.compile(r"[^A-Za-z0-9._-]+")
_MAX_BYTES = 256 * 1024


def add(
    target: Annotated[
        str,
        argument(metavar="FILE", help="A manifest in YAML or JSON, or a SKILL.md; - is stdin."),
    ],
    overwrite: Annotated[
        bool, option("--replace", help="Write over what was added by that name.")
    ] = False,
    index_dir: params.IndexDir = None,
    json: params.Json = False,
) -> int:
    """Write a capability that came up during work into the folder emergent, and index it.

    The folder is below the first indexed folder of the workspace, else below
    .capdisc/capabilities. A capability without a category gets the category emergent. One with
    tier: session belongs to a session alone and is skipped. Nothing is kept of a file with errors.
    Exit status 1: nothing was added.

    Example: echo '{"name": "fold-crane", "description": "Folds a paper crane."}' | capdisc add -
    """
    runtime = surroundings.current_runtime()
    data = user_files.read_file_or_stdin(runtime, target, _MAX_BYTES, "add one capability")
    text = data.decode("utf-8-sig", "replace").replace("\r\n", "\n")
    folder = emergent_folder(runtime, index_dir)
    if text.lstrip().startswith("---\n") and "\n---" in text.lstrip()[4:]:
        files, skipped = [_skill_file(folder, text)], list[str]()
    else:
        files, skipped = _manifest_files(folder, text, target)
    for name in skipped:
        console.print_notice(f"notice: {name} belongs to a session alone (tier: session): skipped")
    if existing := [path for path, _ in files if path.exists() and not overwrite]:
        raise InputError(f"{existing[0]} exists already", "add --replace, or choose another name")
    written_paths = [path for path, content in files if _write_checked(path, content)]
    with open_index.open_index(index_dir, "auto") as ctx:
        added = [
            {"id": header["id"], "path": header["source"]["path"]}
            for header in ctx.index.heads()
            if Path(header["source"]["path"]) in written_paths
        ]
    lines = (f"added {entry['id']} ({entry['path']})" for entry in added)
    console.print_answer(json, {"added": added, "skipped": skipped}, lines)
    if len(added) < len(written_paths):
        console.print_notice("hint: the folder is not indexed yet: capdisc index")
    return ExitCode.OK if added else ExitCode.FINDINGS


def remove(
    ids: Annotated[
        list[str], argument(metavar="ID...", help="Capabilities that capdisc add wrote.")
    ],
    index_dir: params.IndexDir = None,
    json: params.Json = False,
) -> int:
    """Delete capabilities that capdisc add wrote, and take them out of the index.

    No other file is ever deleted: what people wrote is theirs to remove.

    Example: capdisc remove tool:fold-crane
    """
    with open_index.open_index(index_dir, "auto") as ctx:
        descriptors = [ctx.index.descriptor(name) for name in ids]
        files = {found.id: Path(found.source.path) for found in descriptors}
        for identifier, path in files.items():
            if path.parent.parent.name != EMERGENT or path.is_symlink():
                raise UsageError(
                    f"{identifier} was not added by capdisc add",
                    f"delete its file yourself, then: capdisc index ({path})",
                )
    for path in files.values():
        path.unlink(missing_ok=True)
        if not any(path.parent.iterdir()):
            path.parent.rmdir()
    with open_index.open_index(index_dir, "auto") as ctx:
        removed_ids = [identifier for identifier in files if ctx.index.resolve(identifier) is None]
    lines = (f"removed {identifier}" for identifier in removed_ids)
    console.print_answer(json, {"removed": removed_ids}, lines)
    return ExitCode.OK if len(removed_ids) == len(files) else ExitCode.FINDINGS


def emergent_folder(runtime: surroundings.Runtime, index_dir: Path | None) -> Path:
    """The folder of what agents made: below the first scanned folder of the workspace."""
    usual = runtime.workspace / TOOL_FOLDER
    place = locate_index(runtime, runtime.config(), index_dir)
    if not read_pointer(place.index_dir):
        return usual / EMERGENT
    with open_index.open_index(index_dir, "off", may_build=False) as ctx:
        roots = [Path(root) for root in ctx.index.scan["roots"]]
    inside = [root for root in roots if root.is_relative_to(runtime.workspace)]
    root = usual if usual in inside or not inside else inside[0]
    return root / EMERGENT


def _skill_file(folder: Path, text: str) -> tuple[Path, str]:
    match = re.search(r"^name:[ \t]*['\"]?([^'\"\n#]+)", text, re.MULTILINE)
    if not match:
        raise InputError("the skill has no name", "add a line name: … to its front matter")
    return folder / _file_name(match[1].strip()) / "SKILL.md", text


def _manifest_files(
    folder: Path, text: str, name: str
) -> tuple[list[tuple[Path, str]], list[str]]:
    """The files of the capabilities in a manifest, and the names of those of a session alone."""
    import yaml

    result = read_yaml(text, name)
    if result.finding:
        raise InputError(
            f"{name}:{result.finding.line}: {result.finding.message}", result.finding.hint
        )
    documents = [to_json(node) for node in result.documents]
    files, skipped = [], []
    for entry in _entries(documents[0] if len(documents) == 1 else None, name):
        if str(entry.get("tier", "")).lower() == "session":
            skipped.append(str(entry["name"]))
            continue
        manifest = {"kind": "tool", "category": EMERGENT, **entry}
        manifest.pop("tier", None)
        manifest_text = yaml.safe_dump(manifest, sort_keys=False, allow_unicode=True)
        path = folder / _file_name(str(entry["name"])) / "CAPABILITY.yaml"
        files.append((path, manifest_text))
    return files, skipped


def _entries(document: object, name: str) -> Iterator[JsonObject]:
    """The capabilities of a document: one, a list, or a list below `capabilities`."""
    if isinstance(document, dict) and isinstance(document.get("capabilities"), list):
        document = document["capabilities"]
    for entry in document if isinstance(document, list) else [document]:
        if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
            raise InputError(
                f"{name} holds no capability with a name", "write name: and description: lines"
            )
        yield entry


def _file_name(name: str) -> str:
    """The name as that of a folder. Raises UsageError where nothing of it can be used."""
    plain = _FILE_NAME.sub("-", name).strip("-.")[:64]
    if not plain:
        raise UsageError(f"{name[:40]!r} is not a valid name", "use letters, digits and hyphens")
    return plain


def _write_checked(path: Path, text: str) -> bool:
    """Whether the file was written: one with errors is taken back, and they are printed."""
    import capdisc_indexer as cd

    before = path.read_bytes() if path.exists() else None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, text.encode())
    except OSError as error:
        raise InputError(
            f"{path} cannot be written ({error.strerror})", "check the permissions of its folder"
        ) from error
    findings = cd.validate([path.parent]).chosen.findings
    errors = [finding for finding in findings if finding.severity is Severity.ERROR]
    for finding in errors:
        for line in console.format_finding(finding):
            console.print_notice(line)
    if errors and before is None:
        shutil.rmtree(path.parent)
    elif errors and before is not None:
        replace_file(path, before)
    return not errors
