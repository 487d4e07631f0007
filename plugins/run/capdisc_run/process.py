"""Runs a program in its own process group, in an environment of few variables. Its output is read
as it is written; when it ends, or exceeds a limit, everything that it started is ended, too.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from capdisc_guard import is_steering, steering_hint
from capdisc_indexer.model.errors import InputError, LinkRefusedError
from capdisc_indexer.model.json_types import Requirements
from capdisc_indexer.model.records import missing_on_machine
from capdisc_indexer.model.types import Descriptor
from capdisc_indexer.platforms import system
from capdisc_indexer.sources.readers.process_group import managed_process
from capdisc_indexer.text.normalization import one_line
from capdisc_indexer.tools.capability_links import resolve_file
from capdisc_run.call_types import CallLimits, CommandCall, Outcome

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
# The variables that every program gets.
_PASSED_VARIABLES = ("PATH", "HOME", "LANG")
_POLL_SECONDS = 0.05
# How long the output of a program is still read after its end, for what is left in the pipes.
_DRAIN_SECONDS = 0.5
_CHUNK_BYTES = 64 * 1024


def build_environment(environ: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    """PATH, HOME, LANG and the named variables, nothing else: no variable that decides what
    programs find or load, and no relative part of PATH. Raises InputError with all that are not
    set.
    """
    secrets = {
        name: value
        for name, value in read_secrets(environ, names).items()
        if not is_steering(name)
    }
    passed = {name: environ[name] for name in _PASSED_VARIABLES if environ.get(name)}
    return {"LANG": "C.UTF-8"} | passed | secrets | {"PATH": _absolute_search_path(environ)}


def check_variable(name: str) -> str:
    """The name, as a shell takes it behind `$`. Raises InputError for a text that is not the name
    of a variable.
    """
    if not _VARIABLE.fullmatch(name):
        raise InputError(
            f"{name[:80]!r} is not a valid name of a secret",
            "letters, digits and _, no digit first",
        )
    return name


def check_secrets(names: Iterable[str]) -> None:
    """Raises InputError for a variable that steers programs and is declared as a secret."""
    for name in names:
        if is_steering(name):
            raise InputError(
                f"{name} is no secret: it decides what programs find, load or start",
                steering_hint(name),
            )


def read_secrets(environ: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    """The values of the variables by name. Raises InputError with all that are not set."""
    unique_names = list(dict.fromkeys(names))
    if missing := [name for name in unique_names if not environ.get(name)]:
        raise InputError(
            f"it needs what is not set here: {', '.join(missing)}", "set it in the environment"
        )
    return {name: environ[name] for name in unique_names}


def check_usable(descriptor: Descriptor, environ: Mapping[str, str]) -> None:
    """Raises InputError where the capability is switched off, or needs a program or a system that
    is not here.
    """
    if not descriptor.available:
        raise InputError(
            f"{one_line(descriptor.id)} is switched off in its manifest",
            "available: true switches it on",
        )
    needs: Requirements = {"bins": descriptor.bins, "systems": descriptor.systems}
    if missing := missing_on_machine(needs, _absolute_search_path(environ), system.NAME):
        raise InputError(
            f"{one_line(descriptor.id)} needs what is not here: {', '.join(missing)}", "install it"
        )


def find_program(name: str, environ: Mapping[str, str], folder: str) -> str:
    """The absolute path of a program: by PATH, or, of a name with a slash, in the capability's own
    folder. Raises InputError where there is no such program.
    """
    if not {"/", os.sep} & set(name):
        executable = shutil.which(name, path=_absolute_search_path(environ))
    else:
        path = name if Path(name).is_absolute() else _program_in_folder(name, folder)
        executable = path if os.path.isfile(path) and os.access(path, os.X_OK) else None  # noqa: PTH113
    if executable is None:
        raise InputError(
            f"there is no program {name} here", "install it, or add its folder to PATH"
        )
    return executable


def _program_in_folder(name: str, folder: str) -> str:
    try:
        return resolve_file(folder, name)
    except LinkRefusedError:
        message = f"its program {name} lies outside its folder"
        raise InputError(message, "name it by its whole path, or by PATH") from None


def _absolute_search_path(environ: Mapping[str, str]) -> str:
    """PATH without what depends on the current folder, where anyone may have put a program."""
    return os.pathsep.join(
        filter(os.path.isabs, environ.get("PATH", os.defpath).split(os.pathsep))
    )


# A program is started so that no signal comes between its start and our knowledge of it: it would
# outlive us.


def run_process(call: CommandCall, environment: Mapping[str, str], limits: CallLimits) -> Outcome:
    """What the program printed and how it ended. Raises InputError where it cannot be started.

    Past the limit of time, or of bytes on both streams together, the whole group is killed. Of
    each stream all comes back that was read, up to one chunk more than the limit: secrets are
    masked before anything is cut (see `output_masking`).
    """
    started = time.monotonic()
    with (
        _stdin_file(call.stdin) as stdin,
        managed_process(lambda: _start_process(call, environment, stdin)) as child,
    ):
        try:
            streams, status = _read_until_exit(child, limits, started + limits.seconds)
        finally:
            system.kill_group(child.pid)
        code = child.wait()
    return Outcome(
        status=status or ("ok" if code == 0 else "failed"),
        exit_code=code if code >= 0 else 128 - code,
        stdout=streams[0],
        stderr=streams[1],
        is_truncated=bool(status),
        seconds=time.monotonic() - started,
    )


def start_error(argv: tuple[str, ...], error: OSError | ValueError) -> InputError:
    """The error for a program that the system would not start."""
    return InputError(
        f"{argv[0]} cannot be started: {getattr(error, 'strerror', None) or error}",
        "check the program",
    )


def _stdin_file(stdin: bytes | None) -> IO[bytes]:
    """What the program reads: a file, so that nobody waits for a program that does not read."""
    if stdin is None:
        return open(os.devnull, "rb")  # noqa: PTH123
    file = TemporaryFile()  # noqa: SIM115
    file.write(stdin)
    file.seek(0)
    return file


def check_can_run() -> None:
    """Raises InputError where what a program starts could not be ended with it."""
    if not system.RUNS_PROGRAMS:
        raise InputError(
            "capdisc runs no programs on Windows, where it could not end what they start",
            "run it in WSL; to see the command: capdisc run --dry-run",
        )


def _start_process(
    call: CommandCall, environment: Mapping[str, str], stdin: IO[bytes]
) -> subprocess.Popen[bytes]:
    check_can_run()
    pipe = subprocess.PIPE
    try:
        return subprocess.Popen(
            call.argv,
            env=environment,
            cwd=call.cwd,
            stdin=stdin,
            stdout=pipe,
            stderr=pipe,
            **system.group_options(),
        )
    except (OSError, ValueError) as error:
        raise start_error(call.argv, error) from error


def _read_until_exit(
    child: subprocess.Popen[bytes], limits: CallLimits, deadline: float
) -> tuple[list[bytes], str]:
    """What the program wrote to stdout and stderr, and why it was ended ("" where it ended by
    itself).
    """
    with _Pipes(child) as pipes:
        while not system.has_ended(child):
            if limits.is_stopped():
                return pipes.read, "stopped"
            if time.monotonic() >= deadline:
                return pipes.read, "timeout"
            pipes.take(_POLL_SECONDS)
            if pipes.size > limits.max_bytes:
                return pipes.read, "too-large"
        system.kill_group(child.pid)
        drain_deadline = time.monotonic() + _DRAIN_SECONDS
        while (
            pipes.are_open and pipes.size <= limits.max_bytes and time.monotonic() < drain_deadline
        ):
            pipes.take(_POLL_SECONDS)
        return pipes.read, "too-large" if pipes.size > limits.max_bytes else ""


class _Pipes:
    """The pipes of a child's stdout and stderr; `size` is how many bytes came of both."""

    def __init__(self, child: subprocess.Popen[bytes]) -> None:
        import selectors

        self._selector = selectors.DefaultSelector()
        self._parts: tuple[list[bytes], list[bytes]] = ([], [])
        self.size = 0
        for pipe, parts in zip((child.stdout, child.stderr), self._parts, strict=True):
            if pipe is not None:
                self._selector.register(pipe.fileno(), selectors.EVENT_READ, parts)

    def __enter__(self) -> _Pipes:
        return self

    def __exit__(self, *_: object) -> None:
        self._selector.close()

    @property
    def are_open(self) -> bool:
        """Whether a process can still write to one of them."""
        return bool(self._selector.get_map())

    @property
    def read(self) -> list[bytes]:
        """Everything that came of stdout, and of stderr."""
        return [b"".join(parts) for parts in self._parts]

    def take(self, timeout_s: float) -> None:
        """Reads what comes within the timeout."""
        for key, _ in self._selector.select(timeout_s):
            data = os.read(key.fd, _CHUNK_BYTES)
            self.size += len(data)
            key.data.append(data)
            if not data:
                self._selector.unregister(key.fd)
