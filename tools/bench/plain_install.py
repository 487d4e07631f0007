"""capdisc as people have it: installed, not editable, with compiled modules, in an environment of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

_REPOSITORY = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Install:
    """The programs of an environment that holds capdisc and what it needs."""

    python: str
    capdisc: str


def make_install(folder: Path) -> Install:
    """A new environment below the folder, with the repository installed by the newest pip.

    The scripts of older ones import `re` before the program starts, which takes 0.3 of a bare interpreter.
    """
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    pip = [str(folder / "bin" / "pip"), "--disable-pip-version-check", "install", "--quiet"]
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run([*pip, "--upgrade", "pip"], check=True, env=env)
    constraints = str(_REPOSITORY / "constraints.txt")
    subprocess.run([*pip, "-c", constraints, str(_REPOSITORY)], check=True, env=env)
    return Install(str(folder / "bin" / "python"), str(folder / "bin" / "capdisc"))
