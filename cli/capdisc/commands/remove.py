"""capdisc remove: take back what `capdisc add` wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from capdisc.args import params
from capdisc.args.params import argument
from capdisc.commands.add import EMERGENT
from capdisc.context import open_index
from capdisc.output import console
from capdisc.output.failures import ExitCode
from capdisc_indexer.model.errors import UsageError


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
        removed = [identifier for identifier in files if ctx.index.resolve(identifier) is None]
    if json:
        console.print_document({"removed": removed})
    else:
        console.print_lines([f"removed {identifier}" for identifier in removed])
    return ExitCode.OK if len(removed) == len(files) else ExitCode.FINDINGS
