"""Fit what decides about suggestions: `capdisc_indexer/suggestion/suggestion.json` and `.i8`.

    python fit_suggestion.py --sessions DIR… --skills DIR --prompts DIR --requests DIR [--check]

`--sessions` are folders of recorded sessions with a coding agent, whose turns have the skills that
a reader of the catalogue would want; `--prompts` a vendor's prompts for its sibling skills;
`--requests` gathered requests (a source a folder). The steps: fit a linear model of the kind of
work to turns and to the sentences of `suggestion_kinds.toml`, one of the kind of work of a
capability to descriptions of public skills, one of turns of a coding session against requests; ask
the catalogues; fit an ensemble of trees to the pairs of turn and capability of the sessions, with
and without what the person used before, and one to those of requests. With `--check` whole sessions
are left out, a fifth at a time, and the figures of what was left out are printed.

Needs scikit-learn and lightgbm. Seeds are fixed: the same input gives the same files. Ten minutes
on two cores.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
import tomllib
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import lightgbm
import numpy as np
import yaml
from sklearn.linear_model import LogisticRegression
from suggestion_material import (
    CODING,
    FOLDS,
    LACKING,
    OWN,
    PROMPTS,
    TALK,
    Catalogue,
    TurnRecord,
    add_past,
    gather_catalogues,
    grade_of,
)

from capdisc_indexer.encoders import load_shipped_encoder
from capdisc_indexer.model.frozen import replace
from capdisc_indexer.suggestion.decision import choose_offers, coding_share
from capdisc_indexer.suggestion.model import (
    MODEL_FILE,
    MODEL_FORMAT,
    VECTOR_SUFFIX,
    Ensemble,
    LinearRows,
    SuggestionModel,
    Tree,
)
from capdisc_indexer.suggestion.pair_features import Pair, UseHistory, collect_pairs
from capdisc_indexer.suggestion.turn_profile import (
    HEAD_CHARACTERS,
    TEXT_CHARACTERS,
    EarlierTurns,
    first_line,
    profile_turn,
    read_marks,
)

SEED = 20261126
KINDS_FILE = Path(__file__).with_name("suggestion_kinds.toml")
NONE = "none"
COHORT = 256
# What a feature may do to the decision: 1 for the better only, -1 for the worse only, 0 either.
BY_SEARCH = {
    "score": 1, "share": 1, "lead": 1, "relevance": 1, "meets_name": 1, "meets_description": 1,
    "meets_query": 1, "coverage": 1,
}  # fmt: skip
FEATURES = {
    **BY_SEARCH, **{f"head_{name}": sign for name, sign in BY_SEARCH.items()},
    "cosine": 1, "cosine_z": 1, "name_words": 1, "kind_match": 1, "kind_match_lead": 1,
    "kind_share": 1, "kind_typical": 1, "kind_typical_lead": 1, "typical": 1, "kind_none": -1,
    "kind_first": 0, "confidence": 1, "head_confidence": 1, "characters": 0, "head_characters": 0,
    "asks": 1, "head_asks": 1, "unknown": 0, "catalogue": 0,
}  # fmt: skip
CODING_FEATURES = {
    **FEATURES, "turn": 0, "coding": 0, "near_use": 1, "uses": 1, "history": 0,
}  # fmt: skip
CODING_TREES = {"num_leaves": 6, "rounds": 250, "learning_rate": 0.03, "lambda_l2": 20}
REQUEST_TREES = {"num_leaves": 8, "rounds": 220, "learning_rate": 0.05, "lambda_l2": 5}
PAIR_WEIGHTS = {CODING: 1.0, PROMPTS: 0.5, OWN: 0.5, LACKING: 0.7, TALK: 0.5}
DEFENSIBLE_WEIGHT = 0.4
# The operating points.
CODING_THRESHOLD, REQUEST_THRESHOLD = 0.51, 0.12


def main() -> None:
    """Fit and write, or check."""
    arguments = _arguments()
    with tempfile.TemporaryDirectory() as scratch:
        catalogues = list(
            gather_catalogues(
                Path(scratch), arguments.sessions, arguments.skills, arguments.prompts,
                arguments.requests, SEED,
            )
        )  # fmt: skip
        turns = [turn for catalogue in catalogues for turn in catalogue.turns]
        print(f"{len(turns):,} turns", flush=True)
        heads = {id(turn): _vectors(turn.prompt)[0] for turn in turns}
        add_past(turns, {key: array("b", _scale(row)).tobytes() for key, row in heads.items()})
        names = {name for turn in turns if turn.kind == CODING for name in turn.wanted}
        if arguments.check:
            unseen = {
                line.split("\t")[0]
                for folder in arguments.sessions
                for line in (folder / "catalogue.tsv").read_text().splitlines()
            }
            capability = fit_capability_kinds(arguments.skills, unseen | names)
            check(catalogues, capability, without=arguments.without)
            return
        capability = fit_capability_kinds(arguments.skills, set())
        held_out_models = [
            fit_turn_kinds([turn for turn in turns if turn.fold != fold], capability)
            for fold in range(FOLDS)
        ]
        for fold, model in enumerate(held_out_models):
            collect(catalogues, model, lambda turn, fold=fold: turn.fold == fold)
        model = fit_turn_kinds(turns, capability)
        model = replace(model, coding=fit_coding(turns), request=fit_requests(turns))
        write(model)


def check(catalogues: Sequence[Catalogue], capability: Capability, without: str) -> None:
    """Print the figures of what was left out: a fifth of the sessions at a time, and all turns of
    the sessions that were judged against the catalogue `without`.
    """
    turns = [turn for catalogue in catalogues for turn in catalogue.turns]
    seen = [turn for turn in turns if turn.catalogue != without]
    models = [
        fit_turn_kinds([turn for turn in seen if turn.fold != fold], capability)
        for fold in range(FOLDS)
    ]
    for fold, model in enumerate(models):
        collect(catalogues, model, lambda turn, fold=fold: turn.fold == fold)
    for with_past in (False, True):
        found: list[tuple[TurnRecord, list[tuple[float, int]]]] = []
        for fold in range(FOLDS):
            learned = [turn for turn in seen if turn.fold != fold]
            coding, request = fit_coding(learned), fit_requests(learned)
            found += [
                (turn, _decide(turn, coding, request, with_past))
                for turn in turns
                if turn.fold == fold
            ]
        print("with what was used before" if with_past else "without a past")
        report(found)


def report(found: Sequence[tuple[TurnRecord, list[tuple[float, int]]]]) -> None:
    """Print what was offered, in percent."""
    for name in sorted({turn.catalogue for turn, _ in found if turn.kind == CODING}):
        rows = [(turn, offers) for turn, offers in found if turn.catalogue == name]
        spoke = [(turn, offers) for turn, offers in rows if offers]
        silent = [offers for turn, offers in rows if not turn.wanted]
        need = [(turn, offers) for turn, offers in rows if 2 in turn.wanted.values()]
        print(
            f"  {name}: spoke {_percent(bool(offers) for _, offers in rows)}"
            f" useful {_percent(any(g for _, g in offers) for _, offers in spoke)}"
            f" noise {_percent(bool(offers) for offers in silent)}"
            f" found {_percent(any(g == 2 for _, g in offers) for _, offers in need)}"
            f" lines {sum(len(offers) for _, offers in spoke) / max(len(spoke), 1):.2f}"
        )
    prompts = [(turn, offers) for turn, offers in found if turn.kind == PROMPTS]
    asked = [offers for turn, offers in prompts if turn.wanted]
    print(
        f"  siblings: right {_percent(any(g for _, g in offers) for offers in asked)}"
        f" first {_percent(bool(offers) and offers[0][1] > 0 for offers in asked)}"
        f" wrong {_percent(bool(offers) and not any(g for _, g in offers) for offers in asked)}"
        f" off-topic {_percent(bool(offers) for turn, offers in prompts if not turn.wanted)}"
    )
    for kind in (OWN, LACKING, TALK):
        share = _percent(bool(offers) for turn, offers in found if turn.kind == kind)
        print(f"  {kind}: spoke {share}")


def _percent(values: Iterable[bool]) -> str:
    listed = list(values)
    return f"{100 * sum(listed) / max(len(listed), 1):.1f}"


def _decide(
    turn: TurnRecord,
    coding: Ensemble,
    request: Ensemble,
    with_past: bool,
) -> list[tuple[float, int]]:
    """The probability and the grade of each offer."""
    pairs = turn.pairs if with_past else [_forget(pair) for pair in turn.pairs]
    shared = pairs[0].features if pairs else {"coding": 0.0, "turn": 0.0}
    share = coding_share(shared["coding"], shared["turn"])
    decision = choose_offers(coding, request, share, pairs)
    by_id = {pair.header["id"]: pair for pair in pairs}
    return [
        (offer.probability, grade_of(by_id[offer.header["id"]], turn)) for offer in decision.offers
    ]


def _forget(pair: Pair) -> Pair:
    return Pair(pair.header, {**pair.features, "uses": 0.0, "near_use": 0.0, "history": 0.0})


# The linear models.


def _vectors(prompt: str) -> tuple[np.ndarray, np.ndarray]:
    """The unit vectors of the first line and of the beginning of a prompt."""
    encoder = load_shipped_encoder()
    texts = first_line(prompt)[:HEAD_CHARACTERS], prompt.strip()[:TEXT_CHARACTERS]
    rows = [np.frombuffer(encoder.encode_query(text), np.int8).astype(float) for text in texts]
    return tuple(row / max(np.linalg.norm(row), 1e-9) for row in rows)  # type: ignore[return-value]


def _unit(text: str) -> np.ndarray:
    row = np.frombuffer(load_shipped_encoder().encode_query(text), np.int8).astype(float)
    return row / max(np.linalg.norm(row), 1e-9)


HEAD_SCALE, TEXT_SCALE, MARK_SCALE = 3.0, 1.5, 0.5


def _inputs(prompt: str) -> np.ndarray:
    head, text = _vectors(prompt)
    marks = np.array(read_marks(prompt, first_line(prompt)))
    return np.concatenate([HEAD_SCALE * head, TEXT_SCALE * text, MARK_SCALE * marks])


def read_kinds() -> Mapping[str, Mapping[str, Sequence[str]]]:
    """The kinds of work by name, the last of which is none."""
    return tomllib.loads(KINDS_FILE.read_text(encoding="utf-8"))


class Capability:
    """The linear model of the kinds of work of a capability, and a typical description of each."""

    def __init__(self, rows: np.ndarray, biases: np.ndarray, prototypes: np.ndarray) -> None:
        self.rows, self.biases, self.prototypes = rows, biases, prototypes


def fit_capability_kinds(skills: Path, left_out: set[str]) -> Capability:
    """Fitted to the descriptions of public skills, without those of these names."""
    kinds = {name: kind for name, kind in read_kinds().items() if name != NONE}
    patterns = {name: re.compile(kind["pattern"].strip(), re.I) for name, kind in kinds.items()}
    texts: dict[tuple[str, str], None] = {}
    for path in sorted(skills.rglob("SKILL.md")):
        name, description = _read_skill(path)
        if description and name not in left_out and path.parent.name not in left_out:
            texts[name, description] = None
    inputs, labels, weights = [], [], []
    for name, description in texts:
        words = f"{name} {name.replace('-', ' ')} {description[:200]}"
        inputs.append(_unit(f"{name.replace('-', ' ')}: {description}"))
        labels.append({kind for kind, pattern in patterns.items() if pattern.search(words)})
        weights.append(1.0)
    for name, kind in kinds.items():
        for text in kind["capabilities"]:
            inputs.append(_unit(text))
            labels.append({name})
            weights.append(8.0)
    data, rows, biases = 3.0 * np.array(inputs), [], []
    for name in kinds:
        wanted = np.array([name in label for label in labels])
        model = LogisticRegression(C=5, max_iter=500, class_weight={True: 3.0, False: 1.0})
        model.fit(data, wanted, sample_weight=np.array(weights))
        rows.append(3.0 * model.coef_[0])
        biases.append(model.intercept_[0])
    prototypes = [
        np.mean([_unit(text) for text in kind["capabilities"]], 0) for kind in kinds.values()
    ]
    return Capability(np.array(rows), np.array(biases), np.array(prototypes))


def _read_skill(path: Path) -> tuple[str, str]:
    front = re.match(r"\s*---\s*\n(.*?)\n---", path.read_text(errors="replace"), re.DOTALL)
    try:
        fields = yaml.safe_load(front.group(1)) if front else {}
    except yaml.YAMLError:
        fields = {}
    fields = fields if isinstance(fields, dict) else {}
    return str(fields.get("name") or path.parent.name), str(fields.get("description") or "")


def fit_turn_kinds(turns: Sequence[TurnRecord], capability: Capability) -> SuggestionModel:
    """The model with the parts that read a turn, fitted to these turns; its trees are empty."""
    kinds = read_kinds()
    names = list(kinds)
    kind_of_skill = {
        skill: name for name, kind in kinds.items() for skill in kind.get("skills", ())
    }
    inputs = [_inputs(text) for kind in kinds.values() for text in kind["turns"]]
    labels = [names.index(name) for name, kind in kinds.items() for _ in kind["turns"]]
    weights = [1.0] * len(labels)
    for turn in turns:
        if turn.kind == CODING:
            best = max(turn.wanted.values(), default=0)
            wanted = [
                kind_of_skill[name]
                for name, grade in turn.wanted.items()
                if grade == best and name in kind_of_skill
            ] or ([] if turn.wanted else [NONE])
            weight = 0.5 if best == 1 else 1.0
        elif turn.kind != TALK and crc_share(turn.prompt) < 0.2:
            wanted, weight = [NONE], 0.5
        else:
            continue
        for name in wanted:
            inputs.append(_inputs(turn.prompt))
            labels.append(names.index(name))
            weights.append(weight / len(wanted))
    of_kind = LogisticRegression(C=3, max_iter=500)
    of_kind.fit(np.array(inputs), np.array(labels), sample_weight=np.array(weights))
    judged = [turn for turn in turns if turn.kind != TALK]
    is_coding = np.array([turn.kind == CODING for turn in judged])
    balance = np.where(is_coding, 1.0, is_coding.sum() / max((~is_coding).sum(), 1))
    of_coding = LogisticRegression(C=1, max_iter=500)
    of_coding.fit(
        np.array([_inputs(turn.prompt) for turn in judged]), is_coding, sample_weight=balance
    )
    rows = np.vstack([of_kind.coef_, of_coding.coef_])
    biases = np.concatenate([of_kind.intercept_, of_coding.intercept_])
    ordinary = sorted(
        {turn.prompt for turn in turns if turn.kind == CODING and not turn.wanted}, key=crc_share
    )[:COHORT]
    return assemble(names, rows, biases, capability, [_vectors(text)[0] for text in ordinary])


def crc_share(text: str) -> float:
    """A number 0..1 that a text always has."""
    from zlib import crc32

    return crc32(text.encode("utf-8", "replace")) / 2**32


def assemble(
    names: Sequence[str],
    rows: np.ndarray,
    biases: np.ndarray,
    capability: Capability,
    cohort: Sequence[np.ndarray],
) -> SuggestionModel:
    """The model without trees: vectors as int8 rows one below the other, lengths beside them."""
    encoder = load_shipped_encoder()
    dim = encoder.dim
    of_head = HEAD_SCALE * rows[:, :dim]
    of_text = TEXT_SCALE * rows[:, dim : 2 * dim]
    of_marks = MARK_SCALE * rows[:, 2 * dim :]
    of_marks[:, -1] += biases
    blocks = [of_head, of_text, capability.rows, capability.prototypes, np.array(cohort)]
    starts = np.cumsum([0, *map(len, blocks)]).tolist()
    vectors = b"".join(array("b", _scale(row)).tobytes() for block in blocks for row in block)
    lengths = [np.linalg.norm(block, axis=1).round(4).tolist() for block in blocks]
    return SuggestionModel(
        encoder=encoder.fingerprint,
        kinds=tuple(names),
        of_head=LinearRows(starts[0], lengths[0]),
        of_text=LinearRows(starts[1], lengths[1]),
        of_marks=of_marks.round(4).tolist(),
        of_capability=LinearRows(starts[2], lengths[2], capability.biases.round(4).tolist()),
        prototypes=starts[3],
        cohort=starts[4],
        coding=Ensemble(features=(), trees=(), threshold=CODING_THRESHOLD),
        request=Ensemble(features=(), trees=(), threshold=REQUEST_THRESHOLD),
        vectors=vectors,
        dim=dim,
    )


def _scale(row: np.ndarray) -> list[int]:
    peak = float(np.abs(row).max())
    return [round(float(value) * 127.0 / peak) for value in row] if peak else [0] * len(row)


# The pairs and the trees.


def collect(
    catalogues: Sequence[Catalogue],
    model: SuggestionModel,
    is_chosen: Callable[[TurnRecord], bool],
) -> None:
    """Give the chosen turns their pairs, by this model. The turns of a session follow each other."""
    encoder = load_shipped_encoder()
    for catalogue in catalogues:
        logits: dict[str, list[float]] = {}
        for turn in catalogue.turns:
            if not is_chosen(turn):
                continue
            earlier = logits.setdefault(turn.group, [])
            context = EarlierTurns(len(earlier), sum(earlier) / max(len(earlier), 1))
            profile = profile_turn(model, encoder, turn.prompt, context)
            earlier.append(profile.coding)
            history = {
                name: UseHistory(len(vectors), vectors[-8:]) for name, vectors in turn.past.items()
            }
            turn.pairs = collect_pairs(
                catalogue.index, model, profile, turn.rankings, turn.prompt, history
            )


def fit_coding(turns: Iterable[TurnRecord]) -> Ensemble:
    """The trees for coding sessions: each turn with and without what was used before."""
    rows = [turn for turn in turns if turn.kind == CODING]
    return _fit(rows, CODING_FEATURES, CODING_TREES, CODING_THRESHOLD, with_past=True)


def fit_requests(turns: Iterable[TurnRecord]) -> Ensemble:
    """The trees for plain requests."""
    rows = [turn for turn in turns if turn.kind != CODING]
    return _fit(rows, FEATURES, REQUEST_TREES, REQUEST_THRESHOLD, with_past=False)


def _fit(
    turns: Sequence[TurnRecord],
    features: Mapping[str, int],
    settings: Mapping[str, float],
    threshold: float,
    *,
    with_past: bool,
) -> Ensemble:
    inputs, labels, weights = [], [], []
    for turn in turns:
        for pair in turn.pairs:
            grade = grade_of(pair, turn)
            weight = PAIR_WEIGHTS[turn.kind] * (DEFENSIBLE_WEIGHT if grade == 1 else 1.0)
            # The off-topic prompts are few.
            weight *= 2.0 if turn.kind == PROMPTS and not turn.wanted else 1.0
            versions = [_forget(pair), pair] if with_past else [pair]
            for version in versions:
                inputs.append([version.features[name] for name in features])
                labels.append(float(grade > 0))
                weights.append(weight / len(versions))
    parameters = {
        "objective": "binary", "num_leaves": int(settings["num_leaves"]),
        "learning_rate": settings["learning_rate"], "lambda_l2": settings["lambda_l2"],
        "min_data_in_leaf": 25, "feature_fraction": 0.5, "bagging_fraction": 0.8,
        "bagging_freq": 1, "monotone_constraints": list(features.values()), "verbose": -1,
        "seed": SEED, "deterministic": True, "num_threads": 2,
    }  # fmt: skip
    data = lightgbm.Dataset(np.array(inputs), np.array(labels), weight=np.array(weights))
    booster = lightgbm.train(parameters, data, num_boost_round=int(settings["rounds"]))
    trees = tuple(_flatten(tree["tree_structure"]) for tree in booster.dump_model()["tree_info"])
    return Ensemble(features=tuple(features), trees=trees, threshold=threshold)


def _flatten(root: Mapping[str, object]) -> Tree:
    features, thresholds, left, right, leaves = [], [], [], [], []

    def add(node: Mapping) -> int:
        if "split_feature" not in node:
            leaves.append(round(node["leaf_value"], 5))
            return -len(leaves)
        place = len(features)
        features.append(node["split_feature"])
        thresholds.append(round(node["threshold"], 5))
        left.append(0)
        right.append(0)
        left[place] = add(node["left_child"])
        right[place] = add(node["right_child"])
        return place

    add(root)
    return Tree(features, thresholds, left, right, leaves)


def write(model: SuggestionModel) -> None:
    """Write both files of the model."""
    linear = ("of_head", "of_text", "of_capability")
    document = {"format": MODEL_FORMAT, "encoder": model.encoder, "kinds": list(model.kinds)}
    for name in linear:
        rows = getattr(model, name)
        document[name] = {"start": rows.start, "scales": rows.scales, "biases": list(rows.biases)}
    for name in ("of_marks", "prototypes", "cohort", "dim"):
        document[name] = getattr(model, name)
    for name in ("coding", "request"):
        ensemble = getattr(model, name)
        document[name] = {
            "features": list(ensemble.features),
            "threshold": ensemble.threshold,
            "trees": [
                [tree.features, tree.thresholds, tree.left, tree.right, tree.leaves]
                for tree in ensemble.trees
            ],
        }
    MODEL_FILE.write_text(json.dumps(document, separators=(",", ":")) + "\n", encoding="utf-8")
    MODEL_FILE.with_suffix(VECTOR_SUFFIX).write_bytes(model.vectors)
    print(f"{MODEL_FILE.stat().st_size:,} bytes, vectors {len(model.vectors):,} bytes")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sessions", type=Path, nargs="+", required=True)
    parser.add_argument("--skills", type=Path, required=True)
    parser.add_argument("--prompts", type=Path, required=True)
    parser.add_argument("--requests", type=Path, required=True)
    parser.add_argument("--check", action="store_true", help="print figures of what is left out")
    parser.add_argument("--without", default="", help="with --check: fit without this catalogue")
    return parser.parse_args()


if __name__ == "__main__":
    main()
