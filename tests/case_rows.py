"""Rows for parametrised tests, from the TOML file next to the test."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from case_files import expand


def read_rows(test_file: str, name: str) -> Any:
    """What stands under this name in `test_words.toml` for `test_words.py`, with `<<ab*3>>` and
    `<<U+200B>>` in its texts written out, and None for `<<null>>`.
    """
    return _expand_texts(
        tomllib.loads(Path(test_file).with_suffix(".toml").read_text("utf-8"))[name]
    )


def _expand_texts(value: Any) -> Any:
    if isinstance(value, dict):
        return {expand(key): _expand_texts(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_expand_texts(inner) for inner in value]
    if value == "<<null>>":
        return None
    return expand(value) if isinstance(value, str) else value
