"""How often a build reads the files about plugins; transcripts/client_places.txt has what it finds."""

from __future__ import annotations

import json

from capdisc_indexer.config.client_plugins import find_plugins


def test_a_build_reads_the_files_about_plugins_once(
    clone, home, write_skill, capdisc, monkeypatch
) -> None:
    write_skill(home / "brass" / "skills", "brass-skill")
    record = {"scope": "user", "installPath": str(home / "brass"), "version": "1.0.0"}
    for path, value in {
        "plugins/installed_plugins.json": {"version": 2, "plugins": {"brass@mkt": [record]}},
        "settings.json": {"enabledPlugins": {"brass@mkt": True}},
    }.items():
        (home / ".claude" / path).parent.mkdir(parents=True, exist_ok=True)
        (home / ".claude" / path).write_text(json.dumps(value))
    calls: list[str] = []

    def count(profile: str, *places: object) -> object:
        calls.append(profile)
        return find_plugins(profile, *places)

    monkeypatch.setattr("capdisc_indexer.config.client_plugins.find_plugins", count)
    assert capdisc("index", "--quiet").code == 0
    assert len(calls) == 1
    assert {"skill:fold", "skill:brass-skill"} == set(capdisc("list", "--ids").out.split())
