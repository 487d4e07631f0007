"""Print what CHANGELOG.md says of the release of a tag: python .ci/release_notes.py v0.1.0

Ends with a message unless the tag is the version of the code and of the first heading there.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VERSION = ROOT / "indexer" / "capdisc_indexer" / "model" / "version.py"


def release_notes(tag: str, version_code: str, changelog: str) -> str:
    """The section of the release. Raises ValueError where the three do not agree."""
    found = re.search(r'^__version__ = "(.+)"$', version_code, re.M)
    version = found[1] if found else ""
    if tag != f"v{version}":
        raise ValueError(f"the tag is {tag}, and version.py says {version}: the tag is v{version}")
    _, _, newest = changelog.partition("\n## ")
    heading, _, notes = newest.partition("\n")
    if heading.split()[:1] != [version]:
        raise ValueError(f"the first heading of CHANGELOG.md is {heading!r}, not {version!r}")
    return notes.partition("\n## ")[0].strip()


if __name__ == "__main__":
    try:
        print(release_notes(sys.argv[1], VERSION.read_text(), (ROOT / "CHANGELOG.md").read_text()))
    except ValueError as error:
        sys.exit(f"error: {error}")
