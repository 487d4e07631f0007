"""One call of `capdisc session`, as it was typed."""

from __future__ import annotations

from pathlib import Path

from capdisc import files, runtime, streams
from capdisc_indexer.errors import UsageError
from capdisc_indexer.frozen import frozen


@frozen(kw_only=True)
class Order:
    """The session that is meant and what is to be done with it. `result` is "ok", "failed" or ""."""

    here: runtime.Runtime
    name: str
    words: tuple[str, ...]
    result: str
    tools: bool
    delete: bool
    max_tokens: int | None
    index_dir: Path | None
    json: bool

    @property
    def state_dir(self) -> Path:
        """Where the sessions lie."""
        return self.here.state_dir()

    def ids(self) -> list[str]:
        """The ids or names that were given, those on stdin for `-`. Raises UsageError where there is none."""
        given = [line.strip() for word in self.words for line in self._lines(word)]
        if not any(given):
            raise UsageError("no id was given", "capdisc search QUERY --ids prints some; - reads them from stdin")
        return [each for each in dict.fromkeys(given) if each]

    def one_id(self) -> str:
        """The only id. Raises UsageError where there is none or another one."""
        given = self.ids()
        if len(given) > 1:
            raise UsageError("this takes one id", "call it once for each")
        return given[0]

    def _lines(self, word: str) -> list[str]:
        return streams.stdin_text(files.LIMIT_BYTES).splitlines() if word == "-" else [word]
