"""The examples in docstrings hold."""

import doctest
import importlib
from pathlib import Path

import pytest

import capdisc_indexer

CORE = Path(capdisc_indexer.__file__).parent
# Packages whose examples are run; add a package once all of its examples hold.
PACKAGES = ("execution", "remote", "tools")
FILES = [path for name in PACKAGES for path in sorted((CORE / name).rglob("*.py"))]
MODULES = [
    ".".join(path.relative_to(CORE.parent).with_suffix("").parts).removesuffix(".__init__")
    for path in FILES
    if ">>>" in path.read_text()
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_hold(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted > 0
    assert result.failed == 0
