"""Which skills does `capdisc mcp` serve by the skills extension of MCP, from the newest index?"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from capdisc.mcp_service import served_skills
from capdisc.mcp_service.live_index import LiveIndex, OpenGeneration
from capdisc.mcp_service.served_skills import SkillCatalogue
from capdisc.mcp_service.skill_methods import (
    DirectoryChild,
    SkillEntry,
    SkillFile,
    SkillPage,
    SkillService,
)
from capdisc.output import console
from capdisc_indexer.store.snapshot import Index
from capdisc_indexer.text.normalization import name_first

_SHOWN = 3


class SkillOffer:
    """The skills of the newest generation. Their catalogue is read once for each generation; what
    is left out of a list is named on stderr, once.
    """

    def __init__(self, live: LiveIndex) -> None:
        self._live = live
        self._lock = threading.Lock()
        self._version = ""
        self._catalogue = SkillCatalogue(ids={}, listed=(), left_out=())
        self._named: set[str] = set()

    def service(self) -> SkillService:
        """What the server answers from."""
        return SkillService(
            list_page=self.list_page,
            get=self.get,
            read=self.read,
            read_directory=self.read_directory,
            complete_path=self.complete_path,
        )

    def list_page(self, cursor: str) -> SkillPage:
        """The skills that follow the cursor."""
        with self._open() as (index, catalogue):
            page, problems = served_skills.list_skills(index, catalogue, cursor)
        if not cursor:
            problems = dict.fromkeys(catalogue.left_out, "its name") | problems
        self._name_left_out(problems)
        return page

    def get(self, uri: str) -> SkillEntry:
        """The entry of one skill."""
        with self._open() as (index, catalogue):
            return served_skills.get_skill(index, catalogue, uri)

    def read(self, uri: str) -> SkillFile:
        """A file of a skill."""
        with self._open() as (index, catalogue):
            return served_skills.read_file(index, catalogue, uri)

    def read_directory(self, uri: str) -> Sequence[DirectoryChild]:
        """What lies directly in a folder of a skill."""
        with self._open() as (index, catalogue):
            return served_skills.read_directory(index, catalogue, uri)

    def complete_path(self, beginning: str) -> list[str]:
        """The first paths of skills that begin so."""
        with self._open() as (_, catalogue):
            return served_skills.complete_path(catalogue, beginning)

    @contextmanager
    def _open(self) -> Iterator[tuple[Index, SkillCatalogue]]:
        with self._live.open_newest() as current:
            yield current.ctx.index, self._read_catalogue(current)

    def _read_catalogue(self, current: OpenGeneration) -> SkillCatalogue:
        with self._lock:
            if current.version != self._version:
                self._catalogue = served_skills.read_catalogue(current.ctx.index)
                self._version = current.version
            return self._catalogue

    def _name_left_out(self, problems: Mapping[str, str]) -> None:
        """Print which skills are left out and why, those of a page on one line."""
        new = [
            f"{name} ({reason})" for name, reason in problems.items() if name not in self._named
        ]
        self._named.update(problems)
        if new:
            console.print_notice(
                "notice: not served under skill://: "
                + console.sanitise(name_first(new, _SHOWN, "; "))
            )
