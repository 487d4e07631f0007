"""Run the long tests of the promises and print a figure for each: `just torture --only R1,R2 --scale 0.1`."""

from __future__ import annotations

import argparse
import importlib
import os
import random
import re
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent.parent)]

from figure import Figure  # noqa: E402

Test = Callable[[Path, random.Random, float], Figure]
_NOT_TESTS = ("adopting", "clones", "figure", "run", "workbench")


def tests() -> Iterator[tuple[str, Test]]:
    """Every function named after a requirement in the modules beside this one, in order of the requirements."""
    modules = [
        importlib.import_module(path.stem)
        for path in sorted(HERE.glob("*.py"))
        if path.stem not in _NOT_TESTS
    ]
    found = {
        name: getattr(module, name)
        for module in modules
        for name in vars(module)
        if re.fullmatch(r"r\d+", name)
    }
    yield from sorted(found.items(), key=lambda pair: int(pair[0][1:]))


def figure(name: str, test: Test, seed: int, scale: float) -> tuple[Figure, float]:
    """What the test came to, and the seconds it took. One that breaks down counts as a failure."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory(
        prefix="capdisc-torture-", ignore_cleanup_errors=True
    ) as work:
        os.environ["XDG_STATE_HOME"] = (
            f"{work}/state"  # what commands in this process trust is no user's business
        )
        try:
            found = test(Path(work), random.Random(f"{seed} {name}"), scale)
        except Exception as error:
            import traceback

            traceback.print_exc()
            found = Figure(
                name.upper(), (test.__doc__ or "").splitlines()[0], 0, 1, repr(error)[:100]
            )
    return found, time.monotonic() - started


def main() -> int:
    """Exit status 1: some promise was broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="requirements, such as R1,R14")
    parser.add_argument(
        "--scale", type=float, default=1.0, help="1: the full figures, which take hours"
    )
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    options = parser.parse_args()
    only = {name.lower() for name in options.only.split(",") if name}
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # which `nohup` ignores, and children would too
    print(f"seed {options.seed}, scale {options.scale:g}\n")
    print(f"{'':5}{'promise':46}{'done':>7}{'failed':>8}{'seconds':>9}  note", flush=True)
    failed = 0
    for name, test in tests():
        if only and name not in only:
            continue
        found, seconds = figure(name, test, options.seed, options.scale)
        failed += found.failed
        columns = f"{found.requirement:5}{found.promise[:45]:46}{found.done:7,}{found.failed:8,}{seconds:9.1f}"
        print(f"{columns}  {found.note}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
