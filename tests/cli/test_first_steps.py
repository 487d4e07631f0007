"""Names of files that are not UTF-8; transcripts/first_steps.txt has the first steps without settings."""

from __future__ import annotations

import os

import pytest


@pytest.mark.parametrize("name", [b"\xff.csv", b"folder\xff"])
def test_a_name_that_is_not_utf_8_is_refused(capdisc, clone, name) -> None:
    """Neither could be written down among what the index covers."""
    path = os.fsencode(clone) + b"/" + name
    try:
        if name.endswith(b".csv"):
            with open(path, "w") as file:
                file.write("loaf,price\n")
        else:
            os.mkdir(path)
    except OSError:
        pytest.skip("this file system has such names in UTF-8 alone")
    done = capdisc("index", os.fsdecode(name))
    assert (done.code, done.out) == (3, "")
    assert "is not UTF-8" in done.err
    assert "skill:fold" in capdisc("list", "--ids").out
