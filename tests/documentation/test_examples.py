"""The examples in docstrings give what they show."""

import doctest
import importlib
import pkgutil

import pytest

import capdisc_indexer

# Packages all of whose examples are run.
PACKAGES = ("capdisc_indexer.fetch", "capdisc_indexer.links", "capdisc_indexer.validation")
MODULES = [
    module.name
    for module in pkgutil.walk_packages(capdisc_indexer.__path__, "capdisc_indexer.")
    if module.name.startswith(PACKAGES)
]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_give_what_they_show(name) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0
