"""The digest of a capability is that of its own bytes: its file, its companions, or its entry."""

from __future__ import annotations

import json
from hashlib import sha256

from loaded_folders import Load

MANIFEST = "name: send-mail\nkind: tool\ndescription: Sends a mail.\n"
SKILL = "---\nname: a\ndescription: Sorts.\n---\nBody.\n"
TOOLS = [{"name": "go", "description": "Goes."}, {"name": "stop", "description": "Stops."}]


def digests(load: Load, files: dict[str, str]) -> list[str]:
    return [found.source.content_hash for found in load(files).descriptors]


def test_the_digest_of_a_skill_is_that_of_its_file(load: Load) -> None:
    assert digests(load, {"a/SKILL.md": SKILL}) == [sha256(SKILL.encode()).hexdigest()]


def test_a_changed_companion_changes_the_digest(load: Load) -> None:
    one, two, again = (
        digests(load, {"a/CAPABILITY.yaml": MANIFEST, "a/SKILL.md": text})
        for text in ("One.", "Two.", "One.")
    )
    assert one == again != two


def test_a_changed_entry_of_a_list_leaves_the_others_as_they_were(load: Load) -> None:
    """A tool has format, path, place in the file and its own digest (S155)."""
    go, stop = load({"far.tools.json": json.dumps(TOOLS)}).descriptors
    TOOLS[1]["description"] = "Stops at once."
    same, changed = load({"far.tools.json": json.dumps(TOOLS)}).descriptors
    assert (go.source.format, go.source.pointer) == ("mcp", "go")
    assert go == same and stop.source.content_hash != changed.source.content_hash
