"""What does a client see of a hook that fails? Nothing: no output, exit status 0, and in time.

Claude Code, Codex and Gemini CLI block the prompt where a hook ends with status 2, and wait for one
that hangs. So the hook runs in a process of its own, whose parent prints its answer whole or not
at all, and writes what went wrong to a log that `capdisc doctor` shows. The log holds no prompts.

Started before anything else, it imports nothing beside the interpreter's own until something fails.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # the module `signal` takes twice as long
import os
import select
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path
    from types import FrameType

    from capdisc_indexer.model.json_types import JsonObject

# Claude Code and Codex show a prompt as sent only when its hooks have ended: people notice more
# than this.
DEADLINE_S = 0.8
_STOP_SIGNALS = (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP)
_EXPLAIN, _DEADLINE = "--explain", "--deadline"
_BLOCK_BYTES = 65_536
# The longest answer that is printed, with a large --budget.
_MAX_ANSWER_BYTES = 4 * 1024 * 1024


def run_guarded(words: Sequence[str], run: Callable[[], int]) -> int:
    """Run a hook's command line by `run` in a child process, and print its answer. Returns the exit
    code, which is 0 whatever happens.
    """
    try:
        if {"-h", "--help"} & set(words):
            run()
        else:
            _print_answer_of_child(words, run)
    except BaseException as error:
        _log_quietly(words, f"{type(error).__name__} in the hook's guard")
    return 0


def _print_answer_of_child(words: Sequence[str], run: Callable[[], int]) -> None:
    from capdisc.output import standard_streams

    standard_streams.reopen_closed()
    deadline = time.monotonic() + _read_deadline(words)
    outputs = [os.pipe(), os.pipe()]
    child = os.fork()
    if not child:
        _run_child(outputs, run)

    def stop(number: int, frame: FrameType | None) -> None:
        os.kill(child, _signal.SIGKILL)
        os._exit(0)

    for number in _STOP_SIGNALS:
        _signal.signal(number, stop)
    for _, writing in outputs:
        os.close(writing)
    answer, notes, is_late = _read_outputs([reading for reading, _ in outputs], deadline)
    if is_late:
        os.kill(child, _signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    failure = _name_failure(status, notes, is_late)
    is_for_person = os.isatty(0)
    if is_for_person or _EXPLAIN in words:
        _write(2, notes + (b"" if not failure or b"error:" in notes else failure.encode() + b"\n"))
    if failure and not is_for_person:
        _log_quietly(words, failure)
    elif not failure:
        _write(1, answer)


def _run_child(outputs: Sequence[tuple[int, int]], run: Callable[[], int]) -> None:
    """Run the hook with its outputs in the pipes, and end this process."""
    status = 70
    try:
        for stream, (reading, writing) in enumerate(outputs, 1):
            os.close(reading)
            os.dup2(writing, stream)
            os.close(writing)
        status = run()
    finally:
        os._exit(status)


def _read_outputs(pipes: Sequence[int], deadline: float) -> tuple[bytes, bytes, bool]:
    """What the child prints on stdout and on stderr, and whether it is late: one of both is still
    open at the deadline, or has more bytes than an answer may have.
    """
    received = {pipe: bytearray() for pipe in pipes}
    open_pipes = set(pipes)
    while open_pipes:
        left_s = deadline - time.monotonic()
        ready = select.select(list(open_pipes), [], [], max(left_s, 0.0))[0]
        for pipe in ready:
            block = os.read(pipe, _BLOCK_BYTES)
            received[pipe] += block
            if not block:
                open_pipes.remove(pipe)
        if not ready or max(map(len, received.values())) > _MAX_ANSWER_BYTES:
            break
    answer, notes = (bytes(received[pipe]) for pipe in pipes)
    return answer, notes, bool(open_pipes)


def _name_failure(status: int, notes: bytes, is_late: bool) -> str:
    """What went wrong, on one line; "" where nothing did."""
    if is_late:
        return "no answer in time; the prompt went on without one"
    if status < 0:
        return f"the hook was ended by signal {-status}"
    if not status:
        return ""
    lines = notes.decode("utf-8", "replace").splitlines()
    error_lines = [line for line in lines if line.startswith(("error: ", "hint: "))]
    return (
        "; ".join(line.rstrip(".") for line in error_lines).removeprefix("error: ")
        or f"exit status {status}"
    )


def _read_deadline(words: Sequence[str]) -> float:
    """The seconds that `--deadline` names, if the command will understand it, else DEADLINE_S."""
    for position, word in enumerate(words):
        name, equals, text = word.partition("=")
        if name == _DEADLINE:
            from capdisc.args.params import parse_seconds

            try:
                return parse_seconds(
                    text if equals else "".join(words[position + 1 : position + 2])
                )
            except ValueError:
                break
    return DEADLINE_S


def _write(stream: int, data: bytes) -> None:
    while data:
        try:
            data = data[os.write(stream, data) :]
        except OSError:  # nobody reads it
            return


# The log: one JSON object a line, the newest last.

LOG_NAME = "hook-errors.jsonl"
TIME_FORMAT = "%Y-%m-%dT%H:%M:%S+00:00"
_MAX_LOG_BYTES = 64 * 1024
_MAX_FAILURE_CHARACTERS = 500
_LOCK_TIMEOUT_S = 0.05


def _log_quietly(words: Sequence[str], failure: str) -> None:
    """Write the failure to the log, if that can be done."""
    try:
        from capdisc.context import surroundings
        from capdisc.hook.clients import CLIENTS

        client = next((word for word in words if word in CLIENTS), "")
        log_failure(surroundings.current_runtime().user_state_dir(), client, failure)
    except BaseException:
        return


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
