"""Print set-up command N of the README, exactly as it stands there: the blocks under "Set up"."""

from __future__ import annotations

import re
import sys
from pathlib import Path


def command(number: int) -> str:
    """The text of the block."""
    readme = (Path(__file__).resolve().parent.parent / "README.md").read_text(encoding="utf-8")
    section = readme.split("## Set up", 1)[1].split("\n## ", 1)[0]
    return re.findall(r"```sh\n(.*?)```", section, re.S)[number - 1].strip()


if __name__ == "__main__":
    print(command(int(sys.argv[1])))
