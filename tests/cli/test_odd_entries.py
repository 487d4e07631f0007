"""Nothing is lost at the door: entries with odd names, ids and kinds are indexed, found and shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

LONG = "Sum the " + "very " * 60 + "long list"
# The name of each line, and the id that it gets.
NAMES = {
    "/usr/bin/tar": "tool:usr/bin/tar",
    "POST /v1/pay/{id}": "tool:POST /v1/pay/id",
    "ns::find(x, y)": "tool:ns find x y",
    "two  blanks": "tool:two blanks",
    "C++": "tool:C plus plus",
    "C#": "tool:C sharp",
    "\U0001f680": "tool:rocket",
    "\U0001f680 launch": "tool:launch",
    "天気予報": "tool:天気予報",
    "हिन्दी": "tool:हिन्दी",
    "../../etc/passwd": "tool:etc/passwd",
    "$(reboot)": "tool:reboot",
}


@pytest.fixture
def here(hermetic: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CAPDISC_INDEX_DIR", str(hermetic / "index"))
    return hermetic


def write_lines(folder: Path, *rows: dict[str, object]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "capabilities.jsonl").write_text(text)


def test_every_name_is_indexed_shown_and_found_as_it_is_written(capdisc, here) -> None:
    names = [*NAMES, LONG]
    rows = [
        {"kind": "tool", "name": name, "description": f"Does job number {number}."}
        for number, name in enumerate(names)
    ]
    write_lines(here / "cat", *rows)
    built = capdisc("index", "cat")
    assert (built.code, built.out.startswith(f"{len(names)} capabilities")) == (0, True)
    for name in names:
        shown = capdisc("show", name, "--json").json["capabilities"][0]
        assert shown["id"] == NAMES.get(name, shown["id"])
        assert shown["title"] == " ".join(name.split())
        assert capdisc("show", shown["id"]).code == 0
    assert len(capdisc("show", LONG, "--json").json["capabilities"][0]["id"]) < 100
    for word, identity in (("reboot", "tool:reboot"), ("天気予報", "tool:天気予報")):
        assert capdisc("search", word, "--ids", "-k", "1").out == f"{identity}\n"
    left = capdisc("search", "usr bin tar", "--exclude", "/usr/bin/tar", "--ids").out
    assert "tool:usr/bin/tar" not in left
