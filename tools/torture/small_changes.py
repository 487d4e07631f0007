"""R66: whatever changes from build to build, the index holds what a build from nothing gives."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import workbench
from figure import Figure

from capdisc_indexer.indexing import cached_scan, document_changes, passage_changes, pipeline
from capdisc_indexer.indexing.pipeline import build_index
from capdisc_indexer.model.types import BuildOptions, BuildReport
from capdisc_indexer.store.snapshot import Index
from capdisc_indexer.store.state_database import StateDatabase

_OPTIONS = BuildOptions(only_new_findings=True)
# What a build from nothing writes in other bytes: names of segments, times, and where vectors lie.
_OWN_FOLDERS = frozenset({"text", "vectors", "pending"})
_OWN_FILES = frozenset({"MANIFEST", "meta/scan.json"})
_STATES = "meta/state"
_FROM_NOTHING_EVERY = 5


def r66(work: Path, rng: random.Random, scale: float) -> Figure:
    """Change files in random ways and build; compare with a build that looks at everything, and now and then with one
    from nothing. The library counts as a large one, so that small changes go the short way.
    """
    rounds, quick_count, wrong = max(10, round(500 * scale)), 0, []
    root, index_dir = work / "root", work / "index"
    for number in range(25):
        _write(root / f"team-{number % 4}" / f"skill-{number}", rng)
    for team in ("team-0", "team-1"):
        _write(root / team / "twice", rng)
    with _large_library():
        _build(root, index_dir)
        for number in range(rounds):
            for _ in range(rng.choice((1, 1, 1, 4))):
                rng.choice(_CHANGES)(root, rng)
            shutil.copytree(index_dir, work / "whole")
            report = _build(root, index_dir)
            quick_count += report.published and not report.widened_by
            with patch.object(pipeline, "compare_tree", lambda request: None):
                whole = _build(root, work / "whole")
            differ = _compare(index_dir, report, work / "whole", whole)
            if number % _FROM_NOTHING_EVERY == 0:
                fresh = _build(root, work / "fresh")
                differ += _compare(index_dir, report, work / "fresh", fresh)
                shutil.rmtree(work / "fresh")
            wrong += [f"round {number}: {', '.join(differ)}"] if differ else []
            shutil.rmtree(work / "whole")
    if quick_count < rounds // 10:
        wrong.append(f"only {quick_count} builds went the short way")
    note = "; ".join([f"{quick_count} the short way", *wrong[:3]])
    return Figure("R66", "step by step has the bytes of from nothing", rounds, len(wrong), note)


@contextmanager
def _large_library() -> Iterator[None]:
    with (
        patch.object(cached_scan, "_local_devices", lambda roots: {roots[0].stat().st_dev}),
        patch.object(document_changes, "SMALL_CATALOGUE", 0),
        patch.object(document_changes, "MAX_DELETED_SHARE", 3.0),
        patch.object(passage_changes, "SMALL_COUNT", 0),
        patch.object(passage_changes, "MAX_DELETED_SHARE", 3.0),
    ):
        yield


def _build(root: Path, index_dir: Path) -> BuildReport:
    return build_index([root], index_dir, _OPTIONS)


def _compare(one: Path, of_one: BuildReport, other: Path, of_other: BuildReport) -> list[str]:
    """The files of the two generations that differ, and the parts of their facts."""
    files, others = _files(one, of_one), _files(other, of_other)
    names = [name for name in files.keys() | others.keys() if files.get(name) != others.get(name)]
    facts, other_facts = of_one.generation, of_other.generation
    counted = ("capabilities", "rows", "files", "passages")
    same = [facts.counts[key] == other_facts.counts[key] for key in counted]
    parts = {
        "counts": all(same),
        "noise floor": facts.background == other_facts.background,
        "records": _records(one) == _records(other),
    }
    return [*sorted(names), *(name for name, is_same in parts.items() if not is_same)]


def _files(index_dir: Path, report: BuildReport) -> Mapping[str, object]:
    folder = index_dir / "gens" / f"{report.generation.number:08d}"
    paths = {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}
    contents: dict[str, object] = {
        name: path.read_bytes()
        for name, path in paths.items()
        if name not in _OWN_FILES and path.parent.name not in _OWN_FOLDERS
    }
    return contents | {_STATES: _read_state(folder)}


def _read_state(folder: Path) -> object:
    """What the state says, but for stamps: those of a file that was only touched lie beside the generations."""
    state = StateDatabase(folder)
    files = {path: file._replace(stat=()) for path, file in state.items()}
    return files, state.text_hashes(), state.digests(), state.nearest


def _records(index_dir: Path) -> Mapping[str, str]:
    with Index(index_dir) as opened:
        heads = list(opened.documents.all_headers())
        return {head["id"]: repr(opened.full_descriptor(head)) for head in heads}


def _text(rng: random.Random, words: int) -> str:
    return " ".join(rng.choice(workbench.NOUNS + workbench.VERBS) for _ in range(words))


def _write(folder: Path, rng: random.Random) -> None:
    body = "\n".join(f"## {_text(rng, 2)}\n\n{_text(rng, 200)}\n" for _ in range(4))
    _write_text(folder, workbench.sentence(rng), body)


def _write_text(folder: Path, description: str, body: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    text = f"---\nname: {folder.name}\ndescription: {description}\n---\n\n{body}"
    (folder / "SKILL.md").write_text(text)


def _one(root: Path, rng: random.Random) -> Path:
    return rng.choice(sorted(root.rglob("SKILL.md")))


def _has_many(root: Path) -> bool:
    """Whether so many skills are left that one may go."""
    return len(list(root.rglob("SKILL.md"))) > 15


def _change_body(root: Path, rng: random.Random) -> None:
    path = _one(root, rng)
    path.write_text(f"{path.read_text()}\n## {_text(rng, 2)}\n\n{_text(rng, 150)}\n")


def _change_description(root: Path, rng: random.Random) -> None:
    path = _one(root, rng)
    _write_text(path.parent, workbench.sentence(rng), path.read_text().split("---\n", 2)[2])


def _replace(root: Path, rng: random.Random) -> None:
    path = _one(root, rng)
    path.with_name("SKILL.md~").write_text(f"{path.read_text()}\n{_text(rng, 5)}\n")
    path.with_name("SKILL.md~").rename(path)


def _touch(root: Path, rng: random.Random) -> None:
    path = _one(root, rng)
    path.write_bytes(path.read_bytes())


def _add_resource(root: Path, rng: random.Random) -> None:
    (_one(root, rng).parent / f"{_text(rng, 1)}.txt").touch()


def _add(root: Path, rng: random.Random) -> None:
    _write(root / f"team-{rng.randrange(4)}" / f"skill-{rng.randrange(60)}", rng)


def _remove(root: Path, rng: random.Random) -> None:
    if _has_many(root):
        shutil.rmtree(_one(root, rng).parent)


def _remove_file(root: Path, rng: random.Random) -> None:
    """What else is in its folder stays."""
    if _has_many(root):
        _one(root, rng).unlink()


def _move(root: Path, rng: random.Random) -> None:
    """The folder alone has another name, or another place, or a new folder around it."""
    folder = _one(root, rng).parent
    target = root / f"team-{rng.randrange(6)}" / rng.choice((folder.name, f"moved-{rng.random()}"))
    if not target.exists():
        target.parent.mkdir(exist_ok=True)
        folder.rename(target)


def _add_tree(root: Path, rng: random.Random) -> None:
    top = root / f"plugin-{rng.randrange(3)}" / f"pack-{rng.randrange(3)}"
    for _ in range(rng.randrange(1, 4)):
        _write(top / f"skill-{rng.randrange(90)}", rng)
        _add_folder(root, rng)


def _remove_tree(root: Path, rng: random.Random) -> None:
    for top in root.glob("plugin-*/*"):
        if _has_many(root):
            shutil.rmtree(top)


def _add_folder(root: Path, rng: random.Random) -> None:
    """A skill gets files in folders, and now and then a skill of its own in one."""
    folder = _one(root, rng).parent / "references"
    folder.mkdir(exist_ok=True)
    (folder / f"{_text(rng, 1)}.md").write_text(_text(rng, 20))
    if rng.random() < 0.3:
        _write(folder / f"inner-{rng.randrange(20)}", rng)


def _remove_folder(root: Path, rng: random.Random) -> None:
    shutil.rmtree(_one(root, rng).parent / "references", ignore_errors=True)


def _rename(root: Path, rng: random.Random) -> None:
    path = _one(root, rng)
    path.write_text(path.read_text().replace("name: ", "name: new-", 1)[:20_000])


def _copy(root: Path, rng: random.Random) -> None:
    _one(root, rng).write_bytes(_one(root, rng).read_bytes())


def _swap(root: Path, rng: random.Random) -> None:
    one, other = _one(root, rng), _one(root, rng)
    first, second = one.read_bytes(), other.read_bytes()
    one.write_bytes(second)
    other.write_bytes(first)


def _shorten(root: Path, rng: random.Random) -> None:
    _write_text(_one(root, rng).parent, workbench.sentence(rng), "Do it.")


def _change_guidance(root: Path, rng: random.Random) -> None:
    path = root / "guidance" / f"team-{rng.randrange(4)}.md"
    path.parent.mkdir(exist_ok=True)
    if path.exists() and rng.random() < 0.5:
        path.unlink()
    else:
        path.write_text(f"{workbench.sentence(rng)}\n")


_CHANGES: tuple[Callable[[Path, random.Random], None], ...] = (
    *(2 * (_change_body, _change_body, _change_description, _replace)),
    *(2 * (_add, _remove, _move, _rename)),
    *(_touch, _add_resource, _copy, _swap, _shorten, _change_guidance),
    *(_add_tree, _remove_tree, _remove_file, _add_folder, _remove_folder),
)
