"""The part of `fit_gate.py` that asks catalogues: what a search finds for requests and for talk."""

from __future__ import annotations

import json
import random
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar
from unittest.mock import patch

from gate_language import MAIN_LANGUAGES, Turn, fold_of
from gate_material import CHATTER_INTENTS, UNCLEAR_INTENTS, read_pairs

from capdisc_indexer.encoders.static_encoder import StaticEncoder
from capdisc_indexer.indexing.pipeline import build_index
from capdisc_indexer.model.types import BuildOptions, Query, RankingChoices
from capdisc_indexer.retrieval import verdict
from capdisc_indexer.retrieval.pipeline import search_index
from capdisc_indexer.retrieval.request_gate import (
    GateModel,
    read_evidence,
    text_logit,
)
from capdisc_indexer.store.snapshot import Index

# Catalogues: how many capabilities, how many sources of requests they draw on, and the share of
# SKILL.md files, which have long bodies and which nobody asks for.
CATALOGUES = (
    (18, 1, 0.0), (18, 2, 0.0), (18, 3, 0.5), (18, 6, 0.5), (18, 18, 0.0), (18, 18, 0.8),
    (120, 2, 0.0), (120, 6, 0.0), (120, 18, 0.5), (120, 18, 0.8),
    (2_500, 18, 0.0), (2_500, 18, 0.5), (2_500, 18, 0.8),
)  # fmt: skip
NO_CATALOGUE = ("jupyter_i18n",)
OWN, LACKING, TALK = KINDS = ("own", "lacking", "talk")
ASKED = {OWN: 400, LACKING: 150, TALK: 400}
"""Turns that a catalogue hears, of each fold."""
LIMIT = 20


@dataclass(frozen=True, slots=True)
class Utterance:
    """What is said to a catalogue; `kind` is own (it has that), lacking (it does not) or talk."""

    kind: str
    group: str
    text: str
    fold: int


@dataclass(frozen=True, slots=True)
class Sample:
    """An utterance to a catalogue of about `size` capabilities, with what the text model says of it
    and what the search found.
    """

    utterance: Utterance
    size: int
    logit: float
    evidence: Mapping[str, float]
    is_refused: bool
    is_lexical: bool


@dataclass(frozen=True, slots=True)
class Request:
    """A request of the training data with the entries that answer it."""

    text: str
    source: str
    entries: frozenset[str]


Entry = Mapping[str, str]
T = TypeVar("T")


def gather_samples(
    model: GateModel,
    encoder: StaticEncoder,
    talk: Sequence[Turn],
    sources: Path,
    skills: Path,
    folds: Sequence[int],
    seed: int,
) -> Iterator[Sample]:
    """What every catalogue's search finds for utterances of these folds."""
    entries, requests = read_catalogues(sources)
    bodies = sorted(skills.rglob("SKILL.md"))
    for number, (size, source_count, share) in enumerate(CATALOGUES):
        rng = random.Random(f"{seed} {number}")
        drawn = rng.sample(sorted(entries), min(source_count, len(entries)))
        chosen = _draw_entries(rng, entries, drawn, round(size * (1 - share)))
        utterances = _draw_utterances(rng, requests, talk, set(chosen), folds)
        with tempfile.TemporaryDirectory() as scratch:
            root, index_dir = Path(scratch) / "catalogue", Path(scratch) / "index"
            write_catalogue(root, chosen.values(), rng.sample(bodies, size - len(chosen)))
            build_index([root], index_dir, BuildOptions())
            with Index(index_dir) as index:
                for utterance in utterances:
                    yield from _search(model, encoder, index, size, utterance)
        print(f"catalogue {number + 1} of {len(CATALOGUES)}: {len(utterances):,}", flush=True)


def read_catalogues(folder: Path) -> tuple[dict[str, dict[str, Entry]], list[Request]]:
    """Entries that are asked for, by source and key, and all requests for them."""
    entries: dict[str, dict[str, Entry]] = {}
    requests = []
    for source in sorted(path.parent for path in folder.glob("*/pairs.jsonl")):
        if source.name in NO_CATALOGUE:
            continue
        wanted: set[str] = set()
        for pair in read_pairs(source):
            ids = {name for name in pair.ids if not _is_talk(name)}
            wanted |= ids
            if ids:
                keys = frozenset(f"{source.name} {name}" for name in ids)
                requests.append(Request(pair.query, source.name, keys))
        lines = (source / "catalogue.jsonl").read_text(encoding="utf-8").splitlines()
        entries[source.name] = {
            f"{source.name} {entry['id']}": entry
            for entry in map(json.loads, lines)
            if entry["id"] in wanted and entry.get("description")
        }
    return entries, requests


def _is_talk(name: str) -> bool:
    return bool({name, name.partition("::")[0]} & UNCLEAR_INTENTS) or name in CHATTER_INTENTS


def _draw_entries(
    rng: random.Random, entries: Mapping[str, Mapping[str, Entry]], drawn: list[str], count: int
) -> dict[str, Entry]:
    """So many entries, of the drawn sources in turn; of others where those have too few."""
    order = drawn + [name for name in sorted(entries) if name not in drawn]
    piles: dict[str, list[str]] = {}
    for name in order:
        if len(piles) < len(drawn) or sum(map(len, piles.values())) < count:
            piles[name] = rng.sample(sorted(entries[name]), len(entries[name]))
    return {key: entries[name][key] for name, key in _take_in_turn(piles, count)}


def write_catalogue(root: Path, entries: Iterable[Entry], skills: Iterable[Path]) -> None:
    """A folder that is indexed as these entries and these skills."""
    root.mkdir(parents=True)
    lines = []
    for number, entry in enumerate(entries):
        record = {"id": f"t{number}", "kind": "tool"}
        record |= {key: entry[key] for key in ("name", "description")}
        lines.append(json.dumps(record, ensure_ascii=False))
    (root / "capabilities.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for number, path in enumerate(skills):
        target = root / f"s{number}" / path.parent.name
        target.mkdir(parents=True)
        shutil.copy(path, target / path.name)


def _draw_utterances(
    rng: random.Random,
    requests: Sequence[Request],
    talk: Sequence[Turn],
    keys: set[str],
    folds: Sequence[int],
) -> list[Utterance]:
    """What the catalogue hears: sources, languages and meanings weighed alike."""
    sources = {key.partition(" ")[0] for key in keys}
    heard = [
        Utterance(OWN if one.entries & keys else LACKING, one.source, one.text, fold_of(one.text))
        for one in requests
        if one.entries & keys or one.source not in sources
    ]
    heard += [Utterance(TALK, _talk_group(turn), turn.text, turn.fold) for turn in talk]
    piles: dict[tuple[str, int], dict[str, list[Utterance]]] = defaultdict(dict)
    for one in heard:
        if one.fold in folds:
            piles[one.kind, one.fold].setdefault(one.group, []).append(one)
    drawn = []
    for (kind, _), groups in sorted(piles.items()):
        for pile in groups.values():
            rng.shuffle(pile)
        drawn += [one for _, one in _take_in_turn(groups, ASKED[kind])]
    return drawn


def _talk_group(turn: Turn) -> str:
    """Each meaning of English counts as much as any language does, and a main language thrice."""
    if turn.language == "en":
        return turn.group
    third = fold_of(f"{turn.group} third") % 3 if turn.language in MAIN_LANGUAGES else 0
    return f"{turn.language} {third}"


def _take_in_turn(piles: Mapping[str, list[T]], count: int) -> Iterator[tuple[str, T]]:
    """So many items, one of each pile after the other, as long as there are any."""
    taken = 0
    while taken < count and any(piles.values()):
        for name, pile in piles.items():
            if pile and taken < count:
                taken += 1
                yield name, pile.pop()


def _search(
    model: GateModel, encoder: StaticEncoder, index: Index, size: int, utterance: Utterance
) -> Iterator[Sample]:
    logit = text_logit(model, encoder, utterance.text)
    for used in (encoder, None):
        query = Query(texts=(utterance.text,), limit=LIMIT, choices=RankingChoices(refuses=False))
        ranking = search_index(index, query, used)
        yield Sample(
            utterance=utterance,
            size=size,
            logit=logit,
            evidence=read_evidence(index, ranking, encoder),
            is_refused=_is_refused(index, utterance.text, used, logit),
            is_lexical=used is None,
        )


def _is_refused(index: Index, text: str, encoder: StaticEncoder | None, logit: float) -> bool:
    """What the search would say with this text model in place of the shipped one."""
    with patch.object(verdict, "text_logit", lambda *_: logit):
        return not search_index(index, Query(texts=(text,)), encoder).hits
