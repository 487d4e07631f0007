"""A small hand-written catalogue with every kind that discovery tools know: fixtures/data."""

from __future__ import annotations

import shutil
from pathlib import Path

FIXTURE = Path(__file__).resolve().parent.parent / "fixtures" / "data"


def write(folder: Path) -> Path:
    """A copy of the catalogue in a folder, and next to it a file that is never read; its root."""
    (folder / "secret.txt").write_text("never read")
    return shutil.copytree(FIXTURE, folder / "catalogue")
