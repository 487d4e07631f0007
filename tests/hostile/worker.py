"""python -m hostile.worker FOLDER NAME...: judges these cases one after the other and prints a JSON line for each."""

from __future__ import annotations

import json
import os
import resource
import shutil
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from hostile.case import Case
from hostile.groups import CASES
from hostile.judge import faults
from hostile.trial import attempt
from hostile.verdict import Verdict

MEMORY_BYTES = 12 * 1024**3  # of addresses, most of which the vector store only reserves


def main(base: Path, names: Sequence[str]) -> None:
    """Prints each verdict as soon as it is there."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    os.chdir(base / "work")
    out = os.fdopen(os.dup(1), "w")
    usual = Verdict(name="")
    for _ in range(2):  # the first run imports what all the others use
        usual = judged(CASES["control-minimal"], base / "warm", Verdict(name=""))
        shutil.rmtree(base / "warm")
    # What a case imports for the first time is no change of its own.
    sys.dont_write_bytecode = True
    for name in names:
        out.write(json.dumps(asdict(judged(CASES[name], base, usual))) + "\n")
        out.flush()


def judged(case: Case, base: Path, usual: Verdict) -> Verdict:
    """The verdict on one case, whose files are gone afterwards."""
    if case.needs == "user" and os.geteuid() == 0:
        return Verdict(name=case.name, skipped="root may read every file")
    try:
        trial = attempt(case, base)
    except OSError as error:
        return Verdict(name=case.name, skipped=f"this system has no such files: {error.strerror}")
    trial = replace(
        trial, seconds=trial.seconds - usual.seconds, mebibytes=trial.mebibytes - usual.mebibytes
    )
    found = tuple(faults(trial))
    for folder in (trial.root, base / "outside", base / "index"):
        shutil.rmtree(folder, ignore_errors=True)
    return Verdict(name=case.name, faults=found, seconds=trial.seconds, mebibytes=trial.mebibytes)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
