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
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import FrameType

# Claude Code and Codex show a prompt as sent only when its hooks have ended: people notice more
# than this.
DEADLINE_S = 0.8
# How the log names a late hook, and one that got too little of the processor.
LATE, WAITED = "no answer in time", "because the machine was busy"
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
        elif os.isatty(0):  # a person who tries what it does
            sys.argv[2:] = ["--help"]
            run()
        else:
            _print_answer_of_child(words, run)
    except BaseException as error:
        _log_quietly(words, f"{type(error).__name__} in the hook's guard")
    return 0


def _print_answer_of_child(words: Sequence[str], run: Callable[[], int]) -> None:
    from capdisc.output import standard_streams

    standard_streams.reopen_closed()
    limit_s = _read_deadline(words)
    deadline = time.monotonic() + limit_s
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
    _, status, usage = os.wait4(child, 0)
    failure = (
        _describe_delay(limit_s, usage.ru_utime + usage.ru_stime)
        if is_late
        else _name_failure(os.waitstatus_to_exitcode(status), notes)
    )
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


def _describe_delay(limit_s: float, processor_s: float) -> str:
    """That the hook was late, and whether for its own work or that of others."""
    cause = WAITED if processor_s < limit_s / 2 else "because of its own work"
    times = f"{limit_s:g} s, {processor_s:.2f} s of the processor"
    return f"{LATE} ({times}): late {cause}; the prompt went on without one"


def _name_failure(status: int, notes: bytes) -> str:
    """What went wrong, on one line; "" where nothing did."""
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


def _log_quietly(words: Sequence[str], failure: str) -> None:
    """Write the failure to the log, if that can be done."""
    try:
        from capdisc.context import failure_log, surroundings
        from capdisc.hook.clients import CLIENTS

        client = next((word for word in words if word in CLIENTS), "")
        failure_log.log_failure(surroundings.current_runtime().user_state_dir(), client, failure)
    except BaseException:
        return
