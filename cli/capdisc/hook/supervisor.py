"""What does a client see of a hook that fails? Nothing: no output, exit status 0, and in time.

Claude Code, Codex and Gemini CLI block the prompt where a hook ends with status 2, and wait for
one that hangs. So the hook runs in a process of its own, whose parent prints its answer whole or
not at all, and writes what went wrong to a log that `capdisc doctor` shows. The log holds no
prompts.

Started before anything else, it imports only `platforms` and `command_process`, which its child
needs as well, until something fails.
"""

from __future__ import annotations

import os
import sys

from capdisc_indexer.platforms import system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# Claude Code and Codex show a prompt as sent only when its hooks have ended: people notice more
# than this.
DEADLINE_S = 0.8
# How the log names a late hook, and one that got too little of the processor.
LATE, WAITED = "no answer in time", "because the machine was busy"
_EXPLAIN, _DEADLINE = "--explain", "--deadline"
# Where nothing can fork, a new interpreter runs the hook.
_COMMAND = "import sys; from capdisc import __main__; sys.exit(__main__.run_in_process())"
# The longest answer that is printed, with a large --budget.
_MAX_ANSWER_BYTES = 4 * 1024 * 1024


def run_supervised(words: Sequence[str], run: Callable[[], int]) -> int:
    """Run a hook's command line by `run` in a child process, and print its answer. Returns the
    exit code, which is 0 whatever happens.
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
        _log_quietly(words, f"{type(error).__name__} in the hook's supervisor")
    return 0


def _print_answer_of_child(words: Sequence[str], run: Callable[[], int]) -> None:
    from capdisc.output import command_process

    command_process.reopen_closed()
    limit_s = _read_deadline(words)
    command = [sys.executable, "-P", "-c", _COMMAND, *sys.argv[1:]]
    answer, notes, status, processor_s = system.capture_output(
        run, command, limit_s, _MAX_ANSWER_BYTES
    )
    failure = (
        _describe_delay(limit_s, processor_s) if status is None else _name_failure(status, notes)
    )
    is_for_person = os.isatty(0)
    if is_for_person or _EXPLAIN in words:
        _write(2, notes + (b"" if not failure or b"error:" in notes else failure.encode() + b"\n"))
    if failure and not is_for_person:
        _log_quietly(words, failure)
    elif not failure:
        _write(1, answer)


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
            from capdisc.args.command_line import parse_seconds

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
        from capdisc.context import background_process, surroundings
        from capdisc.hook.clients import CLIENTS

        client = next((word for word in words if word in CLIENTS), "")
        background_process.log_failure(
            surroundings.current_runtime().user_state_dir(), client, failure
        )
    except BaseException:
        return
