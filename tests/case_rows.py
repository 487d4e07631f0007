"""Rows for parametrised tests, from the TOML file next to the test."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any


def read_rows(test_file: str, name: str) -> list[Any]:
    """The array of this name in `test_words.toml` for `test_words.py`."""
    rows: list[Any] = tomllib.loads(Path(test_file).with_suffix(".toml").read_text("utf-8"))[name]
    return rows
