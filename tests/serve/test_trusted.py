"""A server trusts what its client's user trusts at the time of each query."""

from __future__ import annotations

from pathlib import Path

import pytest

from capdisc_indexer.indexing.pipeline import build_index
from capdisc_indexer.model.types import BuildOptions


@pytest.fixture
def both(client):
    """The answer of a command line, once a server and a process of its own gave the same one."""

    def ask(*argv: str) -> tuple[int, str, str]:
        cold = client(*argv, "--server", "off")
        assert client(*argv, "--server", "require") == cold
        return cold

    return ask


def test_what_is_trusted_may_change_while_a_server_runs(
    hermetic: Path, serving, client, both, write_skill
) -> None:
    outside = hermetic.parent / "outside"
    write_skill(outside, "private", "Keeps a secret. Use when asked.")
    write_skill(hermetic / "skills", "fold", "Folds paper cranes. Use when asked.")
    (hermetic / "capdisc.toml").write_text('roots = ["skills", "../outside"]\nindex_dir = "idx"\n')
    assert client("index")[0] == 0
    serving()
    waiting = both("search", "fold a crane", "--json")
    assert waiting[2].count("left out until you trust it: roots") == 1
    assert client("trust", "--yes")[0] == 0
    assert client("search", "fold a crane", "--server", "off")[0] == 0  # takes the folder in
    assert "left out" not in both("search", "fold a crane", "--json")[2]
    assert client("trust", "--revoke", "idx")[0] == 0
    refused = both("search", "fold a crane")
    assert refused[:2] == (4, "") and "was not built by you" in refused[2]
    assert client("trust", "idx", "--yes")[0] == 0
    assert both("list", "--ids")[:2] == (0, "skill:fold\nskill:private\n")


def test_another_s_index_is_refused_by_a_server_too(
    hermetic: Path, serving, small, both, write_skill
) -> None:
    write_skill(hermetic / "skills", "fold", "Folds paper cranes. Use when asked.")
    build_index([hermetic / "skills"], hermetic / "shipped", BuildOptions())
    serving()
    code, out, err = both("show", "fold", "--index-dir", "shipped")
    assert (code, out) == (4, "") and "was not built by you" in err
