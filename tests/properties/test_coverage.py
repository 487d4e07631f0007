"""Whatever is typed and whatever happens to the folders, an index holds what it says that it covers."""

from __future__ import annotations

import itertools
import json
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from capdisc.commands import watch as watch_command
from capdisc.context import background_build
from capdisc_indexer.model.json_types import JsonObject
from capdisc_indexer.store.snapshot import Index

EXAMPLES = int(os.environ.get("CAPDISC_COVERAGE_EXAMPLES", "25"))
FOLDERS = (".claude/skills", "mine", "shop")
COMMANDS = """
index --quiet
index --quiet --again
index --quiet mine
index --quiet shop
index --quiet --only mine
index --quiet --forget mine
index --quiet --forget .claude/skills
""".strip().splitlines()
SEARCH, HOOK, WATCH = REFRESHES = ("search fold a paper crane", "hook claude", "watch")
CHANGES = ("edit", "add", "remove", "move", "link", "hide", "restore")


class World:
    """A workspace whose folders change, with the commands that are run in it."""

    def __init__(self, folder: Path, run: Callable[..., Any]) -> None:
        self.folder, self.run = folder, run
        self._numbers = itertools.count()
        (folder / ".git").mkdir(parents=True)
        for name in FOLDERS:
            self.add(name)
            self.add(name)

    def add(self, name: str) -> None:
        number = next(self._numbers)
        self.write(self.folder / name / f"skill-{number}")

    def write(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        text = f"Folds paper crane number {next(self._numbers)}. Use to fold it."
        (folder / "SKILL.md").write_text(
            f"---\nname: {folder.name}\ndescription: {text}\n---\n\nFold.\n"
        )

    def change(self, kind: str, name: str) -> None:
        """Change a folder; a change that is not possible now is none."""
        folder, away = self.folder / name, self.folder / "away" / name
        skills = sorted(path for path in folder.glob("*") if not path.is_symlink())
        if kind == "restore" and away.exists() and not folder.exists():
            away.rename(folder)
        elif not folder.exists() or (kind != "add" and not skills):
            return
        elif kind == "add":
            self.add(name)
        elif kind == "edit":
            self.write(skills[0])
        elif kind == "remove":
            shutil.rmtree(skills[0])
        elif kind == "hide" and not away.exists():
            away.parent.mkdir(parents=True, exist_ok=True)
            folder.rename(away)
        elif kind in ("move", "link"):
            target = (
                self.folder / FOLDERS[FOLDERS.index(name) - 1] / f"{kind}-{next(self._numbers)}"
            )
            if target.parent.exists():
                skills[0].rename(target) if kind == "move" else target.symlink_to(skills[0])

    def is_gone(self, path: str) -> bool:
        """Whether the whole folder is gone that holds this path."""
        return any(
            path.startswith(f"{folder}/") and not folder.exists()
            for folder in (self.folder / name for name in FOLDERS)
        )

    def status(self) -> JsonObject:
        return self.run("status", "--json").json

    def records(self, index_dir: str) -> Mapping[str, tuple[str, ...]]:
        """What the index says of each capability, by the path of its file."""
        with Index(Path(index_dir)) as index:
            headers = list(index.documents.all_headers())
            return {
                header["source"]["path"]: (header["id"], header["description"])
                for header in headers
            }

    def build_from_nothing(
        self, covers: JsonObject, monkeypatch: pytest.MonkeyPatch
    ) -> Mapping[str, tuple[str, ...]]:
        """The records of a new index with this coverage."""
        fresh = self.folder.parent / f"fresh-{next(self._numbers)}"
        existing = [path for path in covers["added"] if Path(path).exists()]
        with monkeypatch.context() as patch:
            patch.setenv("CAPDISC_INDEX_DIR", str(fresh))
            if covers["is_conventional"]:
                self.run("index", "--quiet")
            if existing:
                only = () if covers["is_conventional"] else ("--only",)
                assert self.run("index", "--quiet", *only, *existing).code == 0
        return self.records(str(fresh)) if (fresh / "CURRENT").exists() else {}


def _take_one_update(updates: Any, *_: Any) -> None:
    next(updates)


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    st.lists(
        st.one_of(
            st.tuples(st.sampled_from(CHANGES), st.sampled_from(FOLDERS)),
            st.tuples(st.sampled_from([*COMMANDS, *REFRESHES]), st.just("")),
        ),
        min_size=4,
        max_size=12,
    )
)
@example(
    [
        ("index --quiet mine", ""),
        ("edit", "mine"),
        ("index --quiet", ""),
        ("edit", "mine"),
        (SEARCH, ""),
    ]
)
@example(
    [
        ("index --quiet --only mine", ""),
        ("hide", "mine"),
        (SEARCH, ""),
        ("restore", "mine"),
        (WATCH, ""),
    ]
)
@example(
    [
        ("index --quiet mine", ""),
        ("hide", "mine"),
        (WATCH, ""),
        ("index --quiet --forget mine", ""),
        (HOOK, ""),
    ]
)
def test_an_index_equals_one_from_nothing_over_what_it_covers(
    tmp_path_factory: pytest.TempPathFactory,
    capdisc: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    steps: list[tuple[str, str]],
) -> None:
    """No refresh covers less than before, whatever door it comes through; folders that are gone keep
    what they had, and the status names them.
    """
    world = World(tmp_path_factory.mktemp("world") / "work", capdisc)
    with monkeypatch.context() as patch:
        patch.chdir(world.folder)
        patch.setenv("HOME", str(world.folder.parent / "home"))
        patch.setattr(watch_command, "_print_updates", _take_one_update)
        patch.setattr(background_build, "_start_process", lambda *_, **__: None)
        capdisc("index", "--quiet")
        status = world.status()
        covers, known = status["covers"], world.records(status["index_dir"])
        for name, folder in steps:
            if name in CHANGES:
                world.change(name, folder)
                continue
            done = capdisc(*name.split(), stdin=json.dumps({"prompt": "fold a paper crane"}))
            assert done.code in (0, 1, 3), done
            # A change of the last milliseconds may have come too late for the look of a hook.
            capdisc("search", "fold a paper crane", "--fresh", "require")
            status = world.status()
            if name in REFRESHES or name == "index --quiet --again":
                assert status["covers"]["added"] == covers["added"]
                assert status["covers"]["is_conventional"] == covers["is_conventional"]
            covers = status["covers"]
            expected = world.build_from_nothing(covers, patch)
            for path in covers["missing"]:
                assert not Path(path).exists() or not expected
            kept = {
                path: record
                for path, record in known.items()
                if any(path.startswith(f"{place}/") for place in covers["missing"])
            }
            gone = {path for path in known if name in REFRESHES and world.is_gone(path)}
            known = world.records(status["index_dir"])
            assert known == {**kept, **expected}
            assert gone <= known.keys()
