"""Makes the manual pages of a distribution from the declarations of the commands.

A wheel installs them into share/man/man1, where pipx finds them; a source distribution holds them
at the same place for who packages it. The declarations import PyYAML and nothing else that is not
ours, so that a build needs none of the other dependencies.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# `self.root` is the folder `light` where capdisc-light is built.
_REPOSITORY = Path(__file__).resolve().parent
_MANUAL = "share/man/man1"
_WRITE_PAGES = """
import pathlib, sys
sys.path[:0] = sys.argv[2:]
from capdisc.commands.help import write_pages
write_pages(pathlib.Path(sys.argv[1]))
"""


class ManualPages(BuildHookInterface[Any]):
    """Adds the pages to a wheel or a source distribution, and to an editable installation."""

    _folder: Path | None = None

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the pages into a temporary folder, and name them in the data of the build."""
        self._folder = folder = Path(tempfile.mkdtemp(prefix="capdisc-man-"))
        # Not by PYTHONPATH: pip's own build environment drops what an editable installation names.
        plugins = map(str, (_REPOSITORY / "plugins").iterdir())
        packages = [f"{_REPOSITORY}/cli", f"{_REPOSITORY}/indexer", *plugins]
        subprocess.run(
            [sys.executable, "-B", "-c", _WRITE_PAGES, str(folder), *packages],
            cwd=folder,
            check=True,
        )
        key = "shared_data" if self.target_name == "wheel" else "force_include"
        for page in sorted(folder.iterdir()):
            build_data[key][str(page)] = f"{_MANUAL}/{page.name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the temporary folder."""
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)
