"""What the exit status says."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """Stable: scripts rely on them."""

    OK = 0
    FINDINGS = 1
    USAGE = 2
    BAD_INPUT = 3
    INDEX = 4
    REFUSED = 5
    BUG = 70
    BUSY = 75
    ENDED = 124
    INTERRUPTED = 130
