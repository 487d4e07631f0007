"""The log of hooks and background builds that failed, which `capdisc doctor` shows. It holds no
prompts.

The guard of a hook imports it once something failed, so it imports little itself.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from capdisc_indexer.model.json_types import JsonObject

LOG_NAME = "hook-errors.jsonl"
TIME_FORMAT = "%Y-%m-%dT%H:%M:%S+00:00"
_LOCK_TIMEOUT_S = 0.05
_MAX_FAILURE_CHARACTERS = 500
_MAX_LOG_BYTES = 64 * 1024


def log_failure(folder: Path, client: str, failure: str) -> None:
    """Add a failure to the log in this folder. Of a long log the older half is dropped.

    Raises CapdiscError where the log cannot be written.
    """
    import json

    from capdisc_indexer.store import state_file
    from capdisc_indexer.text.normalization import one_line

    record = {
        "at": time.strftime(TIME_FORMAT, time.gmtime()),
        "client": one_line(client, 40),
        "error": one_line(failure, _MAX_FAILURE_CHARACTERS),
    }
    path = folder / LOG_NAME
    with state_file.lock_folder(folder, _LOCK_TIMEOUT_S):
        lines = (state_file.read_state_file(path) or b"").splitlines(keepends=True)
        if sum(map(len, lines)) > _MAX_LOG_BYTES:
            lines = lines[len(lines) // 2 :]
        state_file.replace_state_file(path, b"".join(lines) + json.dumps(record).encode() + b"\n")


def read_failures(folder: Path) -> list[JsonObject]:
    """The failures in the log of this folder, oldest first, each with `at`, `client` and `error`;
    lines that are damaged are left out. Raises InputError where the log cannot be read.
    """
    from capdisc_indexer.config.settings_reader import parse_json
    from capdisc_indexer.store import state_file

    failures: list[JsonObject] = []
    for line in (state_file.read_state_file(folder / LOG_NAME) or b"").splitlines():
        try:
            record = parse_json(line)
        except ValueError:
            continue
        if isinstance(record, dict) and {"at", "client", "error"} <= record.keys():
            failures.append(record)
    return failures
