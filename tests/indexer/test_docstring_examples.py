"""The examples in docstrings hold."""

import doctest
import importlib
import pkgutil

import pytest

PACKAGES = ("encoders", "graph", "model", "retrieval", "store")
MODULES = [
    f"capdisc_indexer.{package}.{module.name}"
    for package in PACKAGES
    for module in pkgutil.iter_modules(
        importlib.import_module(f"capdisc_indexer.{package}").__path__
    )
]


@pytest.mark.parametrize("module", MODULES)
def test_examples_in_docstrings_hold(module) -> None:
    assert doctest.testmod(importlib.import_module(module)).failed == 0
