"""Writes the whole tree: python tests/hostile/make.py FOLDER

Below FOLDER, `cases/NAME` holds a case beside a sound neighbour, and `outside` what no case may reach. The same bytes
come every time.
"""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from hostile.case import Case
from hostile.groups import CASES
from hostile.writing import FILE_CANARY, put, skill_text

_DESCRIPTION = "Converts a temperature between degrees Celsius and Fahrenheit, beside {}."
_MANIFEST = "name: {}\nkind: tool\ndescription: {}\ntags: [temperature, units]\n"


def neighbour(case: Case) -> str:
    """The name of the sound capability beside the case, and of its folder."""
    return f"beside-{case.name}"


def write(case: Case, base: Path) -> Path:
    """The case's folder, now with all its files. Raises OSError where the system cannot have them."""
    put(base, "outside/canary.md", f"# Kept apart\n\n{FILE_CANARY}\n")
    root = base / "cases" / case.name
    name, described = neighbour(case), _DESCRIPTION.format(case.name)
    if case.neighbour == "skill":
        put(
            root,
            f"{name}/SKILL.md",
            skill_text("Multiply by 1.8, then add 32.", name=name, description=described),
        )
    else:
        put(root, f"{name}/CAPABILITY.yaml", _MANIFEST.format(name, described))
    case.write(root)
    return root


if __name__ == "__main__":
    for each in CASES.values():
        write(each, Path(sys.argv[1]))
    print(f"{len(CASES)} cases below {sys.argv[1]}/cases")
