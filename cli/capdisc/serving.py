"""The index as a server needs it: always the newest, while calls may still answer from an older one."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from capdisc import asking, output, runtime
from capdisc.desks import desk
from capdisc_indexer import tools
from capdisc_indexer.config import Config
from capdisc_indexer.engines import numpy, token_count
from capdisc_indexer.errors import IndexStateError, UsageError
from capdisc_indexer.frozen import frozen, replace
from capdisc_indexer.index import Index
from capdisc_indexer.render.format import MORE_CATEGORIES
from capdisc_indexer.store.generation import pointer
from capdisc_indexer.tools import offering
from capdisc_indexer.tools.definitions import in_form
from capdisc_indexer.tools.values import Desk, Execute

if TYPE_CHECKING:
    from capdisc_indexer.remote.values import Shared

RUNNER = "execute_tool"
# What a server without an index offers until there is one.
_AT_FIRST = tuple(name for name in tools.BRIDGE if name != RUNNER)


@dataclass(slots=True)
class _Open:
    """One generation with the number of calls that answer from it."""

    version: str
    asked: asking.Asked
    desk: Desk
    users: int = 0


class Live:
    """The newest generation, opened when it is first asked for."""

    def __init__(self, here: runtime.Runtime, config: Config, index_dir: Path, shared: Shared | None) -> None:
        self._here, self._config, self._index_dir, self._shared = here, config, index_dir, shared
        self._lock = threading.Lock()
        self._now: _Open | None = None
        with suppress(IndexStateError):  # with arrays the same answers take half the time
            numpy()

    def version(self) -> str:
        """What is published; another text once that is something else."""
        return pointer(self._index_dir)

    @contextmanager
    def held(self) -> Iterator[_Open]:
        """The newest generation, which stays open inside. Raises IndexStateError when there is none."""
        with self._lock:
            current = self._newest()
            current.users += 1
        try:
            yield current
        finally:
            with self._lock:
                current.users -= 1
                self._let_go(current)

    def _newest(self) -> _Open:
        version, before = self.version(), self._now
        if before is not None and before.version == version:
            return before
        index = Index(self._index_dir, self._here.builder_id(self._index_dir, self._shared))
        asked = asking.Asked(here=self._here, config=self._config, index=index)
        self._now = _Open(version=version, asked=asked, desk=desk(asked))
        if before is not None:
            self._let_go(before)
        return self._now

    def _let_go(self, one: _Open) -> None:
        if one is not self._now and not one.users:
            one.asked.index.close()


@frozen(kw_only=True)
class Service:
    """What agents are offered from the index: the tools of these names (all that can tell something, where none are
    named), and `run`, which makes what runs capabilities, if that is allowed."""

    live: Live
    names: tuple[str, ...]
    run: Callable[[Index, Callable[[], bool]], Execute] | None

    def tools(self) -> list[dict[str, Any]]:
        """Their definitions as `tools/list` has them."""
        try:
            with self.live.held() as now:
                definitions = offering.discovery(now.desk, hidden=bool(self.names))
        except IndexStateError:
            return [_plain(tools.TOOLS[name]) for name in _AT_FIRST if self._offers(name)]
        value, _ = in_form("mcp", [each for each in definitions if self._offers(each.name)])
        found: list[dict[str, Any]] = value["tools"]
        return found

    def answer(self, name: str, arguments: Mapping[str, Any], stopped: Callable[[], bool]) -> str:
        """The answer of a tool as JSON. Raises UsageError for one that is not offered, with those that are."""
        try:
            ready = tools.prepare(name, arguments)
        except UsageError as error:
            raise (error if tools.tool_named(name) else UsageError(error.message, self._offered())) from None
        if not self._offers(ready.tool.name):
            raise UsageError(f"{ready.tool.name} is not offered here", self._offered())
        with self.live.held() as now:
            execute = self.run(now.asked.index, stopped) if self.run else None
            answer = ready.tool.answer(replace(now.desk, execute=execute, offers=self._offers), ready.arguments)
        notices = {"notices": list(ready.notices)} if ready.notices else {}
        return output.json_text(answer | notices, None)

    def overview(self) -> str:
        """A line for each category, within the tokens that tier 0 has; where they are too many, the largest ones."""
        with self.live.held() as now:
            categories = now.asked.index.meta("overview")["categories"]
            room = int(now.asked.config["tier0_budget"])
        count = token_count()
        return _within(categories, lambda text: count(text) <= room)

    def _offered(self) -> str:
        return f"there are: {', '.join(each['name'] for each in self.tools())}"

    def _offers(self, name: str) -> bool:
        return (not self.names or name in self.names) and (name != RUNNER or self.run is not None)


def chosen(names: Sequence[str]) -> tuple[str, ...]:
    """The tools of these names, aliases or groups, several by comma. Raises UsageError naming the groups there are."""
    wanted = [name.strip() for text in names for name in text.split(",") if name.strip()]
    groups = {tool.group for tool in tools.TOOLS.values()}
    found: list[str] = []
    for name in wanted:
        tool = tools.tool_named(name)
        if tool is None and name not in groups:
            raise UsageError(
                f"there is no discovery tool {name!r}",
                f"groups: {', '.join(sorted(groups))}; capdisc tools --all --names lists the tools",
            )
        found += [tool.name] if tool else [each.name for each in tools.TOOLS.values() if each.group == name]
    return tuple(dict.fromkeys(found))


def _within(categories: Sequence[Mapping[str, Any]], fits: Callable[[str], bool]) -> str:
    """All the categories by the longest lines that fit, else as many as do with the number of the others."""
    for length in range(len(categories[0]["lines"]) if categories else 0):
        if fits(text := "\n".join(each["lines"][length] for each in categories)):
            return text
    lines = [each["lines"][-1] for each in categories]

    def first(shown: int) -> str:
        return "\n".join([*lines[:shown], MORE_CATEGORIES.format(count=len(lines) - shown)])

    shown = bisect_left(range(1, len(lines)), True, key=lambda number: not fits(first(number)))
    return first(shown) if lines else ""


def _plain(tool: tools.Tool) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "inputSchema": dict(tool.input_schema)}
