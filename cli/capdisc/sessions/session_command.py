"""One call of `capdisc session`, as it was typed."""

from __future__ import annotations

from pathlib import Path

from capdisc.context import surroundings
from capdisc.output import standard_streams, user_files
from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.model.frozen import frozen


@frozen(kw_only=True)
class SessionCommand:
    """The session that is meant and what is to be done with it. `result` is "ok", "failed" or
    "".
    """

    runtime: surroundings.Runtime
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
        return self.runtime.state_dir()

    def ids(self) -> list[str]:
        """The ids or names that were given, those on stdin for `-`. Raises UsageError where there
        is none.
        """
        identifiers = [line.strip() for word in self.words for line in self._lines(word)]
        if not any(identifiers):
            raise UsageError(
                "no id was given", "capdisc search QUERY --ids prints some; - reads them from stdin"
            )
        return [identifier for identifier in dict.fromkeys(identifiers) if identifier]

    def one_id(self) -> str:
        """The only id. Raises UsageError where there is none or another one."""
        identifiers = self.ids()
        if len(identifiers) > 1:
            raise UsageError("this takes one id", "call it once for each")
        return identifiers[0]

    def _lines(self, word: str) -> list[str]:
        return (
            standard_streams.read_stdin_text(user_files.MAX_FILE_BYTES).splitlines()
            if word == "-"
            else [word]
        )
