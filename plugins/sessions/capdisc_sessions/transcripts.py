"""What do the transcripts of clients say was used, and which turns of the user came before?

Claude Code and Codex keep a file of JSON lines for each session. Their formats are not documented
and change, so what is not understood is left out.
"""

from __future__ import annotations

import json
import os
import re
import stat
import time
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

from capdisc.hook.clients import CLIENTS, HookClient, find_name, is_client_command
from capdisc.hook.use_memory import MAX_VECTORS
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.json_types import JsonObject
from capdisc_indexer.platforms import system

MAX_TOTAL_BYTES = 200 * 1024 * 1024
MAX_LINE_BYTES = 4 * 1024 * 1024
TIME_LIMIT_S = 60.0
_TURNS_BEFORE_USE = 3
# How a command that is a prompt begins, or a skill that the user named: `/clear` begins otherwise.
_TYPED_USE = re.compile(r"<command-message>.*?<command-name>([^<]*)|<skill>\s*<name>([^<]*)", re.S)
# What clients put before a session in the user's place, and notes of their own.
_CLIENT_TEXT = re.compile(
    r"<|# AGENTS\.md|\[Request interrupted|Caveat: |This session is being continued"
)


@frozen
class Transcript:
    """A file of a client, its size, and when it was changed last."""

    client: str
    path: Path
    size: int
    changed_at: float


@frozen(kw_only=True)
class Call:
    """A use of a skill or a tool of a server. `id` is that of the call; "" where it has none."""

    name: str
    id: str = ""


@frozen(kw_only=True)
class FoundUse:
    """How often something was used, when last, and the last turns before a use."""

    used: int = 0
    last_used: float = 0.0
    turns: tuple[str, ...] = ()


_NO_USE = FoundUse()


@frozen(kw_only=True)
class History:
    """What was used by name, in how many turns, and what of the transcripts was not read."""

    turns: int
    uses: Mapping[str, FoundUse]
    broken_lines: int
    long_lines: int
    unread_files: int


def list_transcripts(client: str, folder: Path) -> list[Transcript]:
    """The plain files below the folder in which a client keeps them; links are left out."""
    transcripts = []
    for parent, _, names in os.walk(folder):
        for path in (Path(parent, name) for name in names if name.endswith(".jsonl")):
            with suppress(OSError):
                state = path.lstat()
                if stat.S_ISREG(state.st_mode):
                    transcripts.append(Transcript(client, path, state.st_size, state.st_mtime))
    return transcripts


def read_history(transcripts: Sequence[Transcript], deadline: float) -> History:
    """What the transcripts say, the newest first, within the limit of bytes and until the deadline
    on the monotonic clock.
    """
    unread = sorted(transcripts, key=lambda transcript: transcript.changed_at)
    counts: Counter[str] = Counter()
    uses: dict[str, FoundUse] = {}
    seen_ids: set[str] = set()
    left_bytes = MAX_TOTAL_BYTES
    while unread and time.monotonic() < deadline:
        left_bytes -= unread[-1].size
        if left_bytes < 0:
            break
        transcript = unread.pop()
        for name, older_use in _read_uses(transcript, counts, seen_ids, deadline).items():
            uses[name] = _join_uses(older_use, uses.get(name, _NO_USE))
    return History(
        turns=counts["turns"],
        uses=uses,
        broken_lines=counts["broken"],
        long_lines=counts["long"],
        unread_files=len(unread),
    )


def _read_uses(
    transcript: Transcript, counts: Counter[str], seen_ids: set[str], deadline: float
) -> dict[str, FoundUse]:
    """The uses in one transcript that are not among the ids seen; its turns are counted."""
    client = CLIENTS[transcript.client]
    uses: dict[str, FoundUse] = {}
    recent: deque[str] = deque(maxlen=_TURNS_BEFORE_USE)
    for record in _read_records(transcript.path, counts):
        if time.monotonic() > deadline:
            break
        for event in _find_events(client, record):
            if isinstance(event, str):
                if not recent or recent[-1] != event:  # Codex writes a turn twice
                    counts["turns"] += 1
                    recent.append(event)
            elif event.id not in seen_ids:
                # A session that was resumed begins with a copy of the first one.
                seen_ids |= {event.id} - {""}
                at = _read_time(record, transcript.changed_at)
                use = FoundUse(used=1, last_used=at, turns=tuple(recent))
                uses[event.name] = _join_uses(uses.get(event.name, _NO_USE), use)
    return uses


def _join_uses(older: FoundUse, newer: FoundUse) -> FoundUse:
    return FoundUse(
        used=older.used + newer.used,
        last_used=max(older.last_used, newer.last_used),
        turns=tuple(dict.fromkeys((*older.turns, *newer.turns)))[-MAX_VECTORS:],
    )


def _read_records(path: Path, counts: Counter[str]) -> Iterator[JsonObject]:
    """The objects in the lines of the file; lines that are none, or too long, are counted."""
    try:
        descriptor = system.open_file(path)
    except OSError:
        return
    with os.fdopen(descriptor, "rb") as stream:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return
        for line in _read_lines(stream, counts):
            try:
                record = json.loads(line)
            except (ValueError, RecursionError):
                record = None
            if isinstance(record, dict):
                yield record
            elif line.strip():
                counts["broken"] += 1


def _read_lines(stream: BinaryIO, counts: Counter[str]) -> Iterator[bytes]:
    with suppress(OSError):
        while line := stream.readline(MAX_LINE_BYTES):
            if len(line) < MAX_LINE_BYTES:
                yield line
                continue
            counts["long"] += 1
            while line and not line.endswith(b"\n"):
                line = stream.readline(MAX_LINE_BYTES)


def _find_events(client: HookClient, record: JsonObject) -> Iterator[str | Call]:
    """The turn of the user in a line, or the uses in it. What an agent of the agent does, and what
    the client adds, is neither.
    """
    if record.get("isSidechain") or record.get("isMeta") or record.get("isCompactSummary"):
        return
    message = record.get("message") or record.get("payload") or record
    if not isinstance(message, dict):
        return
    kind, content = message.get("type"), message.get("content")
    is_user = message.get("role") == "user"
    if kind == "user_message":
        content, is_user = message.get("message"), True
    elif kind == "function_call":
        content = [message]
    for block in content if isinstance(content, list) else [{"type": "text", "text": content}]:
        if not isinstance(block, dict):
            continue
        text, tool = block.get("text"), block.get("name")
        if isinstance(tool, str):
            name = client.find_used_name(tool, block.get("input") or block.get("arguments"))
            yield from _make_call(name, block.get("id") or block.get("call_id"))
        elif is_user and isinstance(text, str):
            yield from _read_turn(text.strip(), record.get("uuid"))


def _read_turn(text: str, line_id: object) -> Iterator[str | Call]:
    if match := _TYPED_USE.match(text):
        yield from _make_call(find_name(match[1] or match[2] or ""), line_id)
    elif text and not _CLIENT_TEXT.match(text) and not is_client_command(text):
        yield text


def _make_call(name: str, call_id: object) -> Iterator[Call]:
    if name:
        yield Call(name=name, id=call_id if isinstance(call_id, str) else "")


def _read_time(record: JsonObject, changed_at: float) -> float:
    """When the line was written, in seconds since 1970."""
    try:
        return min(datetime.fromisoformat(record["timestamp"]).timestamp(), changed_at)
    except (LookupError, TypeError, ValueError, OverflowError, OSError):
        return changed_at
