"""The part of `fit_suggestion.py` that gathers turns, asks catalogues, and knows what was wanted."""

from __future__ import annotations

import json
import random
import shutil
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from zlib import crc32

from gate_language import compose_chatter
from gate_samples import _draw_entries, _take_in_turn, read_catalogues, write_catalogue

from capdisc_indexer.encoders import load_shipped_encoder
from capdisc_indexer.indexing.pipeline import build_index
from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.model.types import BuildOptions, Query, Ranking, RankingChoices
from capdisc_indexer.retrieval.pipeline import search_index
from capdisc_indexer.store.snapshot import Index
from capdisc_indexer.suggestion.decision import shorten_prompt
from capdisc_indexer.suggestion.pair_features import Pair
from capdisc_indexer.suggestion.turn_profile import first_line

CODING, PROMPTS, OWN, LACKING, TALK = "coding", "prompts", "own", "lacking", "talk"
FOLDS = 5
# Catalogues of requests: how many capabilities, of how many sources, the share of SKILL.md files,
# and whether the sources of skills are among them.
CATALOGUES = (
    (18, 1, 0.0, False), (18, 6, 0.5, True), (60, 3, 0.5, True), (120, 18, 0.5, True),
    (120, 2, 0.0, False), (120, 18, 0.8, True), (600, 18, 0.8, False),
)  # fmt: skip
SKILL_SOURCES = ["skill_triggers", "skill_phrases"]
ASKED = {OWN: 150, LACKING: 80, TALK: 60}
# How many hits a search is asked for: more than are looked at, since some are required by others.
LIMIT = 12
CHOICES = RankingChoices(refuses=False)


@dataclass(slots=True)
class TurnRecord:
    """A turn that a catalogue heard: which names were wanted (2: right, 1: defensible), in which
    group of turns that stay together in a fold, and when. `pairs` and `past` are filled later.
    """

    kind: str
    catalogue: str
    group: str
    started: str
    number: int
    prompt: str
    wanted: Mapping[str, int]
    rankings: tuple[Ranking, Ranking]
    pairs: Sequence[Pair] = ()
    past: Mapping[str, list[bytes]] = field(default_factory=dict)

    @property
    def fold(self) -> int:
        """The part of the turns that this one is left out with, 0 to 4."""
        return crc32(self.group.encode()) % FOLDS


@dataclass(slots=True)
class Catalogue:
    """An open index with the turns that it heard."""

    name: str
    index: Index
    turns: list[TurnRecord]


def gather_catalogues(
    scratch: Path,
    sessions: Sequence[Path],
    skills: Path,
    prompts: Path,
    requests: Path,
    seed: int,
) -> Iterator[Catalogue]:
    """Every catalogue with its turns: of recorded sessions (folders with `labelled.jsonl` and
    `catalogue.tsv`), of prompts for sibling skills, and of requests of public data sets.
    """
    for folder in sessions:
        entries = [
            line.split("\t") for line in (folder / "catalogue.tsv").read_text().splitlines()
        ]
        index = _build(scratch / folder.name, {name: skills / path for name, path in entries})
        yield Catalogue(folder.name, index, list(_read_sessions(folder, index)))
    folders = {path.parent.name: path.parent for path in prompts.glob("skills/*/SKILL.md")}
    index = _build(scratch / prompts.name, folders)
    yield Catalogue(prompts.name, index, list(_read_prompts(prompts, index)))
    yield from _ask_requests(scratch, requests, skills, seed)


def _build(root: Path, folders: Mapping[str, Path]) -> Index:
    for name, folder in folders.items():
        shutil.copytree(
            folder,
            root / "skills" / name,
            ignore=shutil.ignore_patterns("*.pdf", "*.ttf", "*.png"),
        )
    build_index([root / "skills"], root / "index", BuildOptions())
    return Index(root / "index")


def _read_sessions(folder: Path, index: Index) -> Iterator[TurnRecord]:
    lines = (folder / "labelled.jsonl").read_text(encoding="utf-8").splitlines()
    for number, session in enumerate(map(json.loads, lines)):
        for place, turn in enumerate(session["turns"]):
            grades = [turn["first"], turn["second"]]
            wanted = {
                name: max(grade.get(name, 0) for grade in grades)
                for name in {*grades[0], *grades[1]}
            }
            rankings = ask(index, turn["prompt"])
            if rankings:
                # The same session is judged against two catalogues.
                group = f"{folder.name.removesuffix('_c')} {number}"
                yield TurnRecord(
                    CODING, folder.name, group, f"{session['source']} {session.get('started', '')}",
                    place, turn["prompt"], wanted, rankings,
                )  # fmt: skip


def _read_prompts(folder: Path, index: Index) -> Iterator[TurnRecord]:
    for line in (folder / "prompts.jsonl").read_text(encoding="utf-8").splitlines():
        prompt = json.loads(line)
        if rankings := ask(index, prompt["text"]):
            wanted = {prompt["expected"]: 2} if prompt["expected"] else {}
            yield TurnRecord(
                PROMPTS, folder.name, prompt["id"], "", 0, prompt["text"], wanted, rankings
            )


def _ask_requests(scratch: Path, folder: Path, skills: Path, seed: int) -> Iterator[Catalogue]:
    entries, requests = read_catalogues(folder)
    bodies = sorted(skills.rglob("SKILL.md"))
    talk = list(compose_chatter(seed))
    for number, (size, source_count, share, has_skills) in enumerate(CATALOGUES):
        rng = random.Random(f"{seed} suggestion {number}")
        drawn = rng.sample(sorted(entries), min(source_count, len(entries)))
        if has_skills:
            others = [name for name in drawn if name not in SKILL_SOURCES]
            drawn = SKILL_SOURCES + others[: max(0, source_count - len(SKILL_SOURCES))]
        chosen = _draw_entries(rng, entries, drawn, round(size * (1 - share)))
        root = scratch / f"requests-{number}"
        write_catalogue(root / "all", chosen.values(), rng.sample(bodies, size - len(chosen)))
        build_index([root / "all"], root / "index", BuildOptions())
        index, keys = Index(root / "index"), set(chosen)
        sources = {key.partition(" ")[0] for key in keys}
        heard = [
            (OWN if request.entries & keys else LACKING, request.source, request.text, request)
            for request in requests
            if request.entries & keys or request.source not in sources
        ]
        piles: dict[str, dict[str, list[tuple[str, Mapping[str, int]]]]] = {
            OWN: defaultdict(list), LACKING: defaultdict(list),
        }  # fmt: skip
        rng.shuffle(heard)
        for kind, source, text, request in heard:
            names = {chosen[key]["name"]: 2 for key in request.entries & keys}
            piles[kind][source].append((text, names))
        turns = []
        said = [
            (kind, item) for kind in piles for _, item in _take_in_turn(piles[kind], ASKED[kind])
        ]
        said += [(TALK, (turn.text, {})) for turn in rng.sample(talk, ASKED[TALK])]
        for kind, (text, names) in said:
            if rankings := ask(index, text):
                group = f"{number} {len(turns)}"
                turns.append(
                    TurnRecord(kind, f"requests-{number}", group, "", 0, text, names, rankings)
                )
        yield Catalogue(f"requests-{number}", index, turns)


def ask(index: Index, prompt: str) -> tuple[Ranking, Ranking] | None:
    """The rankings of a prompt and of its first line, as the hook gets them."""
    encoder = load_shipped_encoder()
    try:
        texts = shorten_prompt(prompt), first_line(prompt)
        return tuple(  # type: ignore[return-value]
            search_index(index, Query(texts=(text,), limit=LIMIT, choices=CHOICES), encoder)
            for text in texts
        )
    except UsageError:  # no letter
        return None


def grade_of(pair: Pair, turn: TurnRecord) -> int:
    """How much the capability was wanted in this turn: 2, 1 or 0; a near copy counts as well."""
    header = pair.header
    folder = Path(header["source"]["path"]).parent.name
    return max(turn.wanted.get(header["name"], 0), turn.wanted.get(folder, 0))


def add_past(turns: Iterable[TurnRecord], heads: Mapping[int, bytes]) -> None:
    """What this person had wanted before each turn, by name, by the time of the sessions."""
    sources: dict[str, list[TurnRecord]] = defaultdict(list)
    for turn in turns:
        if turn.kind == CODING:
            sources[f"{turn.catalogue} {turn.started.partition(' ')[0]}"].append(turn)
    for heard in sources.values():
        heard.sort(key=lambda turn: (turn.started, turn.group, turn.number))
        known: dict[str, list[bytes]] = defaultdict(list)
        for turn in heard:
            turn.past = {name: list(vectors) for name, vectors in known.items()}
            for name, grade in turn.wanted.items():
                if grade == 2:
                    known[name.casefold()].append(heads[id(turn)])
