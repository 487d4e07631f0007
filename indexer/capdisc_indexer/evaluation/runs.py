"""The forms in which rankings are written down, for other programs to score."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence


def trec_run(answers: Mapping[str, Sequence[tuple[str, float]]]) -> str:
    """The rankings as `qid Q0 id rank score capdisc`; with tabs between where an id holds a blank itself."""
    blank = any(" " in text for qid, hits in answers.items() for text in (qid, *(key for key, _ in hits)))
    between = "\t" if blank else " "
    rows = (
        (qid, "Q0", identifier, str(rank), f"{score:.6f}", "capdisc")
        for qid, hits in answers.items()
        for rank, (identifier, score) in enumerate(hits, 1)
    )
    return "".join(f"{between.join(row)}\n" for row in rows)


def json_run(answers: Mapping[str, Sequence[tuple[str, float]]]) -> str:
    """The rankings as JSON lines, one for each query, also where nothing was found."""
    rows = (
        {"qid": qid, "ids": [key for key, _ in hits], "scores": [round(score, 6) for _, score in hits]}
        for qid, hits in answers.items()
    )
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
