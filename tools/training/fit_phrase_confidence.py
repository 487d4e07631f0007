"""Fit the second model of confidence, for catalogues with phrases, into `calibration.json`.

    python fit_phrase_confidence.py --requests DIR

Run after `fit_calibration.py`, whose samples have no phrases and whose parts it uses. Each source
with several requests for an entry becomes catalogues whose entries have some of their requests as
phrases and which are asked the others, all in English: a request in another language than the
catalogue is judged by the first model. A part of each catalogue is left out, and it is asked for
that and for what other sources have, too.

Prints, for each source that was left out, what `report` of `fit_calibration.py` says. One minute
on two cores.
"""

from __future__ import annotations

import argparse
import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from fit_calibration import (
    FAMILY_OF_SOURCE,
    FOREIGN,
    MADE_UP,
    OWN,
    RANDOM,
    SEED,
    TOPIC,
    WEIGHTS,
    Entry,
    Sample,
    ask_catalogue,
    compare_with_cohort,
    draw_lacking,
    encode_cohort,
    fit_model,
    make_up,
    read_entries,
    read_languages,
    report,
    write_calibration,
)
from gate_samples import Request, read_catalogues

from capdisc_indexer.encoders import load_shipped_encoder
from capdisc_indexer.encoders.static_encoder import StaticEncoder
from capdisc_indexer.retrieval.confidence import (
    CALIBRATION_FILE,
    PHRASE_SIGNS,
    SIGNS,
    load_calibration,
)

SOURCES = ("banking77", "botframework", "cheatsheets", "hwu64_slurp", "leon")
# How many phrases an entry has, what is left out of the catalogue, and how much of it.
CATALOGUES = (
    ((5,), RANDOM, 0.2), ((5,), TOPIC, 0.2), ((3, 4, 5, 8, 12), RANDOM, 0.2), ((3, 6, 10, 15), TOPIC, 0.2),
)  # fmt: skip
ASKED = {OWN: 150, TOPIC: 60, RANDOM: 60, FOREIGN: 120, MADE_UP: 15}
MOST_WORDS = 30
# What a kind counts: a request for something else three times of what it does without phrases. Of
# those as sure as 95 in a hundred own requests it leaves 12.5 in the place of 13.8, whichever
# source is left out.
KINDS = WEIGHTS | {FOREIGN: 1.0}
# Its requests are about nothing that the other sources of its family have.
APART = "banking77"


def main() -> None:
    """Fit, print what sources give that were left out, and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--requests", type=Path, required=True, help="gathered requests")
    parser.add_argument("--out", type=Path, default=CALIBRATION_FILE, help="file to write")
    arguments = parser.parse_args()
    encoder, names = load_shipped_encoder(), (*SIGNS, *PHRASE_SIGNS)
    entries = read_entries(arguments.requests)
    cohort, families = encode_cohort(encoder, entries)
    samples = [
        sample
        for sample in gather_samples(arguments.requests, entries, encoder)
        if PHRASE_SIGNS[0] in sample.signs
    ]
    samples = compare_with_cohort(samples, encoder, cohort, families)
    left_out = np.zeros(len(samples))
    for source in SOURCES:
        others = [sample for sample in samples if sample.source != source]
        places = [at for at, sample in enumerate(samples) if sample.source == source]
        left_out[places] = fit_model(others, names, KINDS).score([samples[at] for at in places])
    report(samples, left_out)
    plain = load_calibration(arguments.out)
    write_calibration(arguments.out, encoder, plain, cohort, fit_model(samples, names, KINDS))


def gather_samples(
    folder: Path, entries: Mapping[str, Mapping[str, Entry]], encoder: StaticEncoder
) -> Iterator[Sample]:
    """What every catalogue answers."""
    _, requests = read_catalogues(folder)
    languages = read_languages(folder, entries)
    english = defaultdict(list)
    for request in requests:
        is_english = languages.get((request.source, request.text)) == "en"
        if is_english and len(request.text.split()) <= MOST_WORDS:
            english[request.source].append(request)
    for source in SOURCES:
        for number, (counts, kind, share) in enumerate(CATALOGUES):
            rng = random.Random(f"{SEED} phrases {source} {number}")
            present, rest = _add_phrases(rng, entries[source], english[source], counts)
            keys = sorted(present)
            lacking = draw_lacking(rng, encoder, present, keys, kind, int(share * len(keys)))
            present = {key: entry for key, entry in present.items() if key not in lacking}
            own = [request for request in rest if request.entries & present.keys()]
            foreign = [
                request
                for other, pile in english.items()
                if source != other
                and (
                    FAMILY_OF_SOURCE[other] != FAMILY_OF_SOURCE[source] or APART in (source, other)
                )
                for request in rng.sample(pile, min(30, len(pile)))
            ]
            drawn = {
                OWN: _sample(rng, own, ASKED[OWN]),
                kind: _sample(rng, [r for r in rest if r.entries <= lacking], ASKED[kind]),
                FOREIGN: _sample(rng, foreign, ASKED[FOREIGN]),
                MADE_UP: [Request(make_up(rng), "", frozenset()) for _ in range(ASKED[MADE_UP])],
            }
            asked = [(name, request) for name, pile in drawn.items() for request in pile]
            yield from ask_catalogue(f"{source} {number}", source, present, asked, encoder, rng)
            print(f"{source}: {len(present):,} entries, {len(asked)} requests", flush=True)


def _add_phrases(
    rng: random.Random,
    entries: Mapping[str, Entry],
    requests: Sequence[Request],
    counts: Sequence[int],
) -> tuple[dict[str, Entry], list[Request]]:
    """The entries with some of the requests for them alone as phrases, and the other requests."""
    of_entry = defaultdict(list)
    for request in rng.sample(requests, len(requests)):
        of_entry[min(request.entries)].append(request)
    present, rest = dict(entries), []
    for key, pile in sorted(of_entry.items()):
        pure = [request for request in pile if len(request.entries) == 1]
        phrases = pure[: min(rng.choice(counts), len(pure) // 2)]
        texts = {request.text for request in phrases}
        if key in present:
            present[key] = {**entries[key], "phrases": sorted(texts)}
        rest += [request for request in pile if request.text not in texts]
    return present, rest


def _sample(rng: random.Random, requests: Sequence[Request], count: int) -> list[Request]:
    return rng.sample(requests, min(count, len(requests)))


if __name__ == "__main__":
    main()
