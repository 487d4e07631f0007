"""The local log of requests and uses: which query found what, and what of it was read or run?

It is off by default, stays in the user's state folder, readable for its owner alone, and is never
sent anywhere. Each line is one event as JSON. Past a size the older half is dropped.
"""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from capdisc_indexer.config.settings_reader import parse_json
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.json_types import JsonObject
from capdisc_indexer.platforms import system
from capdisc_indexer.store import state_file
from capdisc_indexer.text.normalization import one_line

FILE_NAME = "requests.jsonl"
# Commands that ask; others are discovery tools, by their names. Then what uses a capability that
# was found: some read it, others call it.
COMMANDS = ("search", "render", "tools")
_READERS = ("show", "read_capability", "get_skill")
_CALLERS = ("run", "use", "run_capability", "execute_tool")
_GRADES = dict.fromkeys(_READERS, 1) | dict.fromkeys(_CALLERS, 2)
MAX_BYTES = 3 * 1024 * 1024
_MAX_IDS = 50
_MAX_QUERY = 2_000
# A use belongs to a request that is at most this many events and seconds older.
_LINKED_EVENTS = 20
_LINKED_SECONDS = 1_800


@frozen(kw_only=True)
class LogEvent:
    """One event: `ids` are what a request printed, or what was used; `ok` is False where a call
    failed. `at` counts seconds since 1970.
    """

    at: float
    event: str
    query: str = ""
    ids: tuple[str, ...] = ()
    session: str = ""
    ok: bool = True

    @property
    def is_use(self) -> bool:
        """Whether it reads or calls what was found."""
        return self.event in _GRADES

    @property
    def is_request(self) -> bool:
        """Whether it asks for something."""
        return self.event in COMMANDS or (bool(self.query) and not self.is_use)


def log_path(state_dir: Path) -> Path:
    """Where the log lies."""
    return state_dir / FILE_NAME


def append_event(state_dir: Path, event: LogEvent) -> None:
    """Add the event to the log. Raises InputError or BusyError where the state folder cannot be
    written.
    """
    record = {
        "at": round(event.at, 3),
        "event": event.event,
        "query": one_line(event.query, _MAX_QUERY),
        "ids": event.ids[:_MAX_IDS],
        "session": event.session,
        "ok": event.ok,
    }
    line = json.dumps(record, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
    path = log_path(state_dir)
    with state_file.lock_folder(state_dir):
        if path.exists() and path.stat().st_size + len(line) > MAX_BYTES:
            lines = (state_file.read_state_file(path) or b"").splitlines(keepends=True)
            state_file.replace_state_file(path, b"".join(lines[len(lines) // 2 :]))
        descriptor = system.open_to_append(path)
        try:
            system.set_mode(descriptor, 0o600)
            os.write(descriptor, line)
        finally:
            os.close(descriptor)


def read_events(state_dir: Path) -> tuple[LogEvent, ...]:
    """All events, oldest first; other lines are skipped. Raises InputError where others may write
    the log.
    """
    data = state_file.read_state_file(log_path(state_dir)) or b""
    events = []
    for line in data.splitlines():
        with suppress(ValueError, TypeError, KeyError):
            events.append(_parse_event(parse_json(line)))
    return tuple(events)


def _parse_event(record: Any) -> LogEvent:
    return LogEvent(
        at=float(record["at"]),
        event=str(record["event"]),
        query=str(record.get("query", "")),
        ids=tuple(str(identifier) for identifier in record.get("ids", ())),
        session=str(record.get("session", "")),
        ok=bool(record.get("ok", True)),
    )


def clear_log(state_dir: Path) -> None:
    """Delete the log."""
    with state_file.lock_folder(state_dir):
        state_file.remove(log_path(state_dir))


def summarise_log(events: Iterable[LogEvent]) -> dict[str, list[tuple[str, int]]]:
    """The commands and discovery tools that were called; the queries that were asked, and those of
    them that found nothing; the ids that were found and used: each with its count, most frequent
    first.
    """
    names = ("called", "queries", "nothing_found", "found", "used")
    called, queries, empty, found, used = counters = [Counter[str]() for _ in names]
    for event in events:
        called[event.event] += 1
        if event.is_request:
            queries[event.query] += 1
            empty.update([] if event.ids else [event.query])
        (used if event.is_use else found).update(event.ids)
    return {
        name: sorted(counter.items(), key=lambda pair: (-pair[1], pair[0]))
        for name, counter in zip(names, counters, strict=True)
    }


def judge_requests(events: Sequence[LogEvent]) -> dict[str, dict[str, int]]:
    """For each query what of its answer was used soon after, in the same session: 2 for what was
    run or used, 1 for what was read. A call that failed judges nothing.
    """
    grades: dict[str, dict[str, int]] = {}
    for position, event in enumerate(events):
        if not event.is_use or not event.ok:
            continue
        for identifier in event.ids:
            query = _find_request(
                events[max(0, position - _LINKED_EVENTS) : position], event, identifier
            )
            if query:
                query_grades = grades.setdefault(query, {})
                query_grades[identifier] = max(
                    query_grades.get(identifier, 0), _GRADES[event.event]
                )
    return grades


def _find_request(earlier: Sequence[LogEvent], use: LogEvent, identifier: str) -> str:
    """The latest query that found what is used, "" for none."""
    for event in reversed(earlier):
        is_near = use.at - event.at <= _LINKED_SECONDS
        is_of_session = not (use.session and event.session) or use.session == event.session
        if event.is_request and identifier in event.ids and is_near and is_of_session:
            return event.query
    return ""


def evaluation_files(grades: Mapping[str, Mapping[str, int]]) -> dict[str, str]:
    """The texts of an evaluation set by file name, as `capdisc eval` reads them."""
    queries, judgements = [], []
    for number, (query, graded_ids) in enumerate(sorted(grades.items()), 1):
        record: JsonObject = {"qid": f"q{number}", "text": query}
        queries.append(json.dumps(record, ensure_ascii=False) + "\n")
        judgements += [
            f"q{number}\t{identifier}\t{grade}\n"
            for identifier, grade in sorted(graded_ids.items())
        ]
    return {"queries.jsonl": "".join(queries), "qrels.tsv": "".join(judgements)}


def use_shares(events: Iterable[LogEvent]) -> dict[str, float]:
    """How much each capability was used compared with the one that was used most, 0..1 on a
    logarithmic scale, by id; a call that failed does not count.
    """
    counts = Counter(
        identifier for event in events if event.is_use and event.ok for identifier in event.ids
    )
    highest = max(counts.values(), default=0)
    return {key: math.log1p(count) / math.log1p(highest) for key, count in counts.items()}
