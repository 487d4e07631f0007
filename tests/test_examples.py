"""Every example in the documentation of a function or module runs and gives what it says."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent


def _modules_with_examples() -> list[str]:
    return [
        ".".join(path.relative_to(sources).with_suffix("").parts).removesuffix(".__init__")
        for sources in (REPOSITORY / "indexer", REPOSITORY / "cli", *REPOSITORY.glob("plugins/*"))
        for path in sorted(sources.glob("capdisc*/**/*.py"))
        if ">>> " in path.read_text(encoding="utf-8")
    ]


@pytest.mark.parametrize("module", _modules_with_examples())
def test_examples_give_what_they_say(module) -> None:
    outcome = doctest.testmod(import_module(module))
    assert (outcome.failed, outcome.attempted > 0) == (0, True)
