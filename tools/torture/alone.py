"""R51, R53, R54: the hook in any batches, answers without a model or a network, damaged models refused."""

from __future__ import annotations

import random
import re
import shutil
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path

from figure import Figure
from workbench import Done, command, index, run, skills

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests"))

from damaged_models import DAMAGES, copy_of
from random_files import FIXTURES, NAMES

from capdisc_indexer.encoders import static_encoder
from capdisc_indexer.model.errors import EncoderError

_FILES = 50
# A plain install, also where the extra is there: importing torch to find no model takes seconds.
_PLAIN = "import sys; sys.modules['sentence_transformers'] = None; from capdisc.__main__ import main; sys.exit(main())"
_CONNECT = re.compile(r"connect\([^)]*(?:AF_INET6?)")


def _offline(work: Path, argv: Sequence[str]) -> Done:
    """The command where there is no network, if the system can do that."""
    return run(work, ["unshare", "-rn", *argv] if shutil.which("unshare") else argv)


def r51(work: Path, rng: random.Random, scale: float) -> Figure:
    """Fifty files in one call, and in batches at random: the same findings, however they are split."""
    for catalogue in ("broken", "messy", "small"):
        shutil.copytree(FIXTURES / catalogue, work / catalogue, symlinks=True)
    found = sorted(path for path in work.rglob("*") if path.name in NAMES[:2] and path.is_file())
    named = [str(path.relative_to(work)) for path in rng.sample(found, _FILES)]
    check = command("validate", "--quiet", "--format", "concise", "--")
    whole, splits = _offline(work, [*check, *named]), max(2, round(20 * scale))
    failed = int(whole.code != 1)
    for _ in range(splits):
        cuts = sorted(rng.sample(range(1, _FILES), 4))
        batches = [named[start:end] for start, end in zip([0, *cuts], [*cuts, None], strict=True)]
        failed += "".join(_offline(work, [*check, *batch]).out for batch in batches) != whole.out
    seconds = statistics.median(run(work, [*check, *named]).seconds for _ in range(5))
    note = f"{_FILES} files in {seconds * 1000:.0f} ms"
    return Figure("R51", "the hook says the same in any batches", splits, failed, note)


def r53(work: Path, rng: random.Random, scale: float) -> Figure:
    """Queries without a network, and without the model: words answer, one notice, and nobody is called."""
    root, index_dir = skills(work / "root", 30, rng), work / "index"
    index(work, root, index_dir)
    query = command("search", "fold paper cranes", "--index-dir", str(index_dir))
    without = [sys.executable, "-c", _PLAIN, *query[3:], "--encoder", "no-such-model"]
    runs, failed, took = max(3, round(20 * scale)), 0, []
    for _ in range(runs):
        done = _offline(work, without)
        took.append(done.seconds)
        failed += (
            done.code != 0 or done.err.count("notice:") != 1 or _offline(work, query).code != 0
        )
    attempts = _connections(work, query) + _connections(work, without)
    note = f"{max(took):.2f} s at most, {attempts} attempts to connect"
    return Figure(
        "R53", "words answer without a model or a network", runs, failed + attempts, note
    )


def _connections(work: Path, argv: Sequence[str]) -> int:
    if not shutil.which("strace"):
        return 0
    trace = work / "trace"
    run(work, ["strace", "-f", "-e", "trace=connect,sendto", "-o", str(trace), *argv])
    return len(_CONNECT.findall(trace.read_text()))


def r54(work: Path, rng: random.Random, scale: float) -> Figure:
    """Every damaged copy of the model: refused when it is loaded or checked, before it gives a vector."""
    accepted = []
    for name, damage in DAMAGES.items():
        folder = copy_of(work / name.replace(" ", "-"))
        damage(folder)
        try:
            static_encoder.StaticEncoder(folder).check()
        except EncoderError:
            continue
        accepted.append(name)
    note = f"accepted: {', '.join(accepted)}" if accepted else ""
    return Figure("R54", "a damaged model is refused", len(DAMAGES), len(accepted), note)
