"""Where a capability is run, and who waits for it and can be asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import TypeAlias

from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.json_types import JsonObject


@frozen(kw_only=True)
class ExecutionContext:
    """Where a capability is run: the caller's environment and folder, and the folders that the
    index was built from (`roots`). `allow_http` lets requests go over plain http, `allow_private`
    to hosts of private networks.
    """

    environ: Mapping[str, str]
    cwd: Path
    roots: tuple[str, ...] = ()
    allow_http: bool = False
    allow_private: bool = False


class Consent(StrEnum):
    """What the user says to a call: no, yes to this one, or yes to the tool for as long as this
    process lives.
    """

    NO = "no"
    ONCE = "once"
    ALWAYS = "always"


# Asks the user a question; the second text holds all that the question is about.
Confirm: TypeAlias = Callable[[str, str], Consent]
# Asks the user what a server wants to know: the parameters of `elicitation/create` of MCP, and its
# result.
Elicit: TypeAlias = Callable[[JsonObject], JsonObject]
# Takes what is done, of how much (None: unknown), and a text.
Progress: TypeAlias = Callable[[float, float | None, str], None]


@frozen(kw_only=True)
class Caller:
    """Who waits for a call of an agent. `is_stopped` says whether the caller is gone; where
    `confirm` or `elicit` is None, its user cannot be asked.
    """

    is_stopped: Callable[[], bool] = lambda: False
    confirm: Confirm | None = None
    elicit: Elicit | None = None
    progress: Progress | None = None
