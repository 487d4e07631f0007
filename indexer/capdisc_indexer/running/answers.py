"""What a server answers from, and the calls that it is answering."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from capdisc_indexer.errors import CapdiscError
from capdisc_indexer.frozen import frozen

# Less than what is left after a signal before the process ends itself.
_SETTLE_SECONDS = 1.0


@frozen(kw_only=True)
class Counter:
    """What is served. `tools` are definitions as `tools/list` has them; `answer` is given a name, arguments and a
    question whether the caller is still there, and gives text; `version` is another one once the index has changed.
    All may raise CapdiscError."""

    tools: Callable[[], list[dict[str, Any]]]
    answer: Callable[[str, Mapping[str, Any], Callable[[], bool]], str]
    overview: Callable[[], str]
    version: Callable[[], str]


class Calls:
    """The calls that are being answered, each in a thread: running a tool may take long. Who cancels a call, and the
    end of the server, are told on to what it runs, which is then killed."""

    def __init__(self, sdk: Any, counter: Counter) -> None:
        self._sdk, self._counter = sdk, counter
        self._unfinished: set[threading.Event] = set()

    async def answered(self, name: str, arguments: Mapping[str, Any]) -> tuple[str, bool]:
        """The answer, or what is wrong and that it is an error."""
        left, finished = threading.Event(), threading.Event()
        self._unfinished.add(finished)
        try:
            ask = partial(self._answer, name, arguments, left, finished)
            text, is_error = await self._sdk.anyio.to_thread.run_sync(ask, abandon_on_cancel=True)
            return text, is_error
        finally:
            left.set()

    def settle(self) -> None:
        """Wait a moment for calls that were left to end what they run."""
        for finished in list(self._unfinished):
            finished.wait(_SETTLE_SECONDS)

    def _answer(
        self, name: str, arguments: Mapping[str, Any], left: threading.Event, finished: threading.Event
    ) -> tuple[str, bool]:
        try:
            return self._counter.answer(name, arguments, left.is_set), False
        except CapdiscError as error:
            return said(error), True
        except Exception as error:
            return f"this is a bug in capdisc ({type(error).__name__}): {error}", True
        finally:
            finished.set()
            self._unfinished.discard(finished)


def said(error: CapdiscError) -> str:
    """An error as an agent reads it."""
    return f"{error.message}\nhint: {error.hint}" if error.hint else error.message
