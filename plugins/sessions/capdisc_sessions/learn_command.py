"""capdisc learn: learn from the transcripts of clients what is used for which requests."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Annotated

from capdisc.args import params
from capdisc.args.command_line import option
from capdisc.context import surroundings
from capdisc.hook import use_memory
from capdisc.output import console
from capdisc.output.command_process import YES, ExitCode, read_answer
from capdisc.output.console import format_count
from capdisc.setup.client_settings import CLIENTS, base_folders
from capdisc_indexer import encoders
from capdisc_indexer.config.client_table import client_sections
from capdisc_indexer.model.errors import ApprovalRequiredError, UsageError
from capdisc_indexer.model.frozen import shallow_dict
from capdisc_indexer.suggestion.turn_profile import encode_head
from capdisc_sessions import transcripts
from capdisc_sessions.transcripts import History, Transcript

_ROWS = 20
# Where each client keeps its transcripts.
FOLDERS: Mapping[str, str] = MappingProxyType(
    {
        name: section["transcripts"]
        for name, section in client_sections("uses").items()
        if "transcripts" in section
    }
)


def learn(
    client: Annotated[
        str | None,
        option(
            "--from",
            help="The transcripts of this client alone.",
            choices=tuple(FOLDERS),
        ),
    ] = None,
    dry_run: Annotated[
        bool, option("--dry-run", help="Print what would be learned, and keep nothing.")
    ] = False,
    forget: Annotated[
        bool, option("--forget", help="Remove all that was learned, also by the hook.")
    ] = False,
    yes: Annotated[bool, option("--yes", "-y", help="Read without a question.")] = False,
    json: params.Json = False,
) -> int:
    """Learn from the transcripts of Claude Code and Codex which skills you use for what.

    Keeps how often each skill and each tool of a server was used, and vectors of the turns before
    a use. No text is kept, nothing leaves this machine, and no index has it. What the hook or an
    earlier run counted is not counted twice. Reads at most 200 MB, the newest first, for a minute.
    Exit status 1: there is no transcript; 5: nobody said yes.

    Example: capdisc learn --dry-run
    """
    runtime = surroundings.current_runtime()
    folder = runtime.user_state_dir()
    if forget:
        if client or dry_run:
            raise UsageError("--forget removes everything", "leave out --from and --dry-run")
        return _forget(folder, json)
    folders = base_folders(runtime)
    names = [client] if client else FOLDERS
    places = {name: Path(FOLDERS[name].format_map(folders)) for name in names}
    files = [
        transcript
        for name, place in places.items()
        for transcript in transcripts.list_transcripts(name, place)
    ]
    if not files:
        where = " or ".join(map(str, places.values()))
        console.print_notice(f"notice: there is no transcript in {where}")
        console.print_notice("hint: capdisc hook learns from now on: capdisc setup claude --hook")
        return ExitCode.FINDINGS
    if not (dry_run or yes):
        _ask(runtime, files, json)
    deadline = time.monotonic() + transcripts.TIME_LIMIT_S
    history = transcripts.read_history(files, deadline)
    if history.uses and not dry_run:
        _keep_uses(folder, history)
    _print_history(history, json)
    _print_omissions(history)
    return ExitCode.OK


def _keep_uses(folder: Path, history: History) -> None:
    """Add the counts, and vectors of the turns, to what the hook remembers."""
    encoder = encoders.load_shipped_encoder()
    records = {
        name: use_memory.UseRecord(
            used=use.used,
            last_used=use.last_used,
            vectors=tuple(encode_head(encoder, turn) for turn in use.turns),
        )
        for name, use in history.uses.items()
    }
    use_memory.merge_uses(folder, records, encoder.fingerprint)


def _ask(runtime: surroundings.Runtime, files: Sequence[Transcript], json: bool) -> None:
    """Raises ApprovalRequiredError where nobody says yes."""
    has_person = runtime.stdin_is_terminal and runtime.stderr_is_terminal and not json
    titles = dict.fromkeys(CLIENTS[transcript.client].title for transcript in files)
    size = sum(transcript.size for transcript in files) / 1e6
    question = (
        f"Read {format_count(len(files), 'transcript')} of {' and '.join(titles)} "
        f"({size:,.1f} MB), and keep counts and vectors, but no text? [y/N]"
    )
    if not has_person:
        raise ApprovalRequiredError(
            "nothing was read: nobody is there to say yes",
            "run it at a terminal or add --yes; to see what is there: --dry-run",
        )
    if read_answer(question) not in YES:
        raise ApprovalRequiredError("nothing was read, as you said", "")


def _forget(folder: Path, json: bool) -> int:
    records = use_memory.load_use_memory(folder).records
    use_memory.forget_use(folder)
    uses = sum(record.used for record in records.values())
    if json:
        console.print_document({"uses": uses, "names": len(records)})
    elif records:
        what = f"{format_count(uses, 'use')} of {format_count(len(records), 'name')}"
        console.print_result(f"removed {what}: {use_memory.memory_path(folder)}")
    else:
        console.print_result("nothing was learned so far")
    return ExitCode.OK


def _print_history(history: History, json: bool) -> None:
    most_used = sorted(history.uses.items(), key=lambda item: (-item[1].used, item[0]))
    uses = sum(use.used for use in history.uses.values())
    if json:
        rows = [
            {"name": name, "uses": use.used, "last_used": round(use.last_used)}
            for name, use in most_used
        ]
        console.print_document({**shallow_dict(history), "uses": uses, "used": rows})
        return
    turns, skills = format_count(history.turns, "turn"), format_count(len(most_used), "skill")
    console.print_lines([f"{turns}, {format_count(uses, 'use')} of {skills}"])
    cells = [
        [name, use.used, time.strftime("%Y-%m-%d", time.localtime(use.last_used))]
        for name, use in most_used[:_ROWS]
    ]
    if cells:
        console.print_lines(console.format_table(["skill or tool", "uses", "last used"], cells))


def _print_omissions(history: History) -> None:
    for count, what in (
        (history.broken_lines, "no JSON object"),
        (history.long_lines, "longer than 4 MB"),
    ):
        if count:
            console.print_notice(f"notice: skipped {format_count(count, 'line')}: {what}")
    if history.unread_files:
        files = format_count(history.unread_files, "older transcript")
        console.print_notice(f"notice: left out {files}: beyond 200 MB, or beyond a minute")
