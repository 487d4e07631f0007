"""The examples in docstrings of readers, formats and encoders."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path

import pytest

from capdisc_indexer import encoders, sources


def _modules_with_examples() -> list[str]:
    names = []
    for package in (sources, encoders):
        root = Path(str(package.__file__)).parent
        for path in sorted(root.rglob("*.py")):
            if ">>> " in path.read_text():
                parts = path.relative_to(root).with_suffix("").parts
                names.append(".".join((package.__name__, *parts)).removesuffix(".__init__"))
    return names


@pytest.mark.parametrize("name", _modules_with_examples())
def test_examples_in_docstrings_hold(name: str) -> None:
    result = doctest.testmod(import_module(name))
    assert result.attempted > 0
    assert result.failed == 0
