"""The files that a capability may point to: those in its own folder, and no others."""

# Paths are plain text here, as in the scan that found the capability.
# ruff: noqa: PTH110, PTH113, PTH118, PTH120

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from urllib.parse import unquote

from capdisc_indexer.model.errors import InputError, LinkRefusedError
from capdisc_indexer.model.types import Descriptor, Finding
from capdisc_indexer.sources import SOURCES
from capdisc_indexer.sources.readers.file_bytes import read_path
from capdisc_indexer.sources.readers.text_decoding import decode
from capdisc_indexer.sources.scan.folder_tree import is_inside
from capdisc_indexer.sources.scan.secret_files import held_by_content, held_by_name
from capdisc_indexer.text.normalization import UNSAFE_CHARACTERS, one_line

MAX_BYTES = 1024 * 1024
MAX_TARGET_CHARACTERS = 1_024

# Absolute paths, home folders, variables, the separators and drives of Windows, line breaks.
_OUTSIDE_PATH = re.compile(r"[/~$]|.*[\\\n\t]|[a-z][a-z0-9+.-]*:", re.IGNORECASE | re.DOTALL)


def capability_folder(descriptor: Descriptor, roots: Sequence[str]) -> str:
    """The capability's own folder, without links. Raises LinkRefusedError where it has none, or
    where the folder has become a link that leads out of the scanned `roots`.
    """
    source = descriptor.source
    if not SOURCES[source.format].owns_folder:
        message = (
            f"{one_line(descriptor.id)} is one of many in a file, so it has no folder of its own"
        )
        raise LinkRefusedError(message, f"open the file yourself: {source.path}")
    folder = _real_path(os.path.dirname(source.path))
    places = [_real_path(root) for root in roots]
    if not is_inside(
        folder, [os.path.dirname(root) if os.path.isfile(root) else root for root in places]
    ):
        message = f"the folder of {one_line(descriptor.id)} is no longer inside the indexed ones"
        raise LinkRefusedError(message, "run: capdisc index")
    return folder


def resolve_file(folder: str, target: str) -> str:
    """The path behind a relative link, there or not; a query after it says nothing to a disk.
    Raises LinkRefusedError for anything that is not inside `folder`, by its name or by the links
    on the way; the answer is the same whether or not such a file exists.
    """
    name = unquote(target.partition("#")[0].partition("?")[0], errors="surrogateescape")
    path = os.path.normpath(os.path.join(folder, name[:MAX_TARGET_CHARACTERS]))
    if (
        not name
        or len(name) > MAX_TARGET_CHARACTERS
        or UNSAFE_CHARACTERS.search(name)
        or _OUTSIDE_PATH.match(name)
    ):
        raise _outside_error(target)
    # First by its name alone: what lies outside is not even looked at.
    if not is_inside(path, [folder]) or not is_inside(resolved := _real_path(path), [folder]):
        raise _outside_error(target)
    if holds := held_by_name(path, resolved):
        raise _secret(target, holds)
    return resolved


def read_linked_text(path: str, target: str) -> str:
    """The text of a regular file of at most 1 MiB in UTF-8. Raises InputError for any other;
    `path` is `file_in`'s, and no link on it is followed if one has appeared since.
    """
    if not os.path.exists(path):
        message = f"the link {one_line(target, 200)} leads to a file that is not there"
        raise InputError(message, "capdisc show ID --links says which are")
    data = read_path(path, path, MAX_BYTES)
    if isinstance(data, bytes) and (holds := held_by_content(data)):
        raise _secret(target, holds)
    text = data if isinstance(data, Finding) else decode(data, path)
    if isinstance(text, Finding):
        raise InputError(
            f"cannot read the link {one_line(target, 200)}: {one_line(text.message)}", text.hint
        )
    return text


def _real_path(path: str) -> str:
    """The path without links, as far as it exists. Raises LinkRefusedError where that changes
    under our eyes.
    """
    try:
        return os.path.realpath(path)
    except OSError as error:
        message = (
            f"the links on the way to {one_line(path, 200)} cannot be followed: {error.strerror}"
        )
        raise LinkRefusedError(message, "try again once the folder is at rest") from error


def _outside_error(target: str) -> LinkRefusedError:
    message = f"the link {one_line(target, 200)} leads out of the capability's folder; not read"
    return LinkRefusedError(message, "only files inside that folder are read")


def _secret(target: str, holds: str) -> LinkRefusedError:
    message = f"the link {one_line(target, 200)} leads to a file that holds {holds}; not read"
    return LinkRefusedError(
        message, "look at it yourself; what is printed here goes to agents and logs"
    )
