"""Rows of the five designs, typed as their documents have them: their keys, names and sentences."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

Write = Callable[[str, str], Path]


@pytest.fixture
def write(hermetic, monkeypatch) -> Write:
    """Write a file of the catalogue `caps`: `write("github/SKILL.md", text)`."""
    monkeypatch.setenv("CAPDISC_INDEX_DIR", str(hermetic / "index"))

    def write_file(name: str, text: str) -> Path:
        path = hermetic / "caps" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    return write_file


ON_THE_WEB = '[[source]]\nformat = "document"\npath = "https://example.com/handbook.md"\n'


def test_a_document_on_the_web_is_fetched_with_network_alone(
    capdisc, hermetic, monkeypatch
) -> None:
    """https://example.com/handbook.md in a [[source]] is fetched by `index --network`, never by a
    query or another build; an address of the workspace waits for trust (S39)."""
    from capdisc_indexer.text.strict_url import link_refusal
    from capdisc_run import download

    fetched: list[str] = []

    def fetch(url: str) -> download.FetchedDocument:
        fetched.append(url)
        if len(fetched) > 1:
            raise link_refusal(url, "answers 503")
        text = "# Turnips\n\nTurnips are watered on Mondays.\n"
        return download.FetchedDocument(text=text, url=url, content_type="text/markdown")

    monkeypatch.setattr(download, "fetch_document", fetch)
    monkeypatch.setenv("CAPDISC_INDEX_DIR", str(hermetic / "index"))
    (hermetic / "capdisc.toml").write_text(ON_THE_WEB)
    assert "left out until you trust it" in capdisc("index", "--network").err
    assert fetched == []
    capdisc("trust", "--yes")
    done = capdisc("index")
    assert "https://example.com/handbook.md was not fetched yet" in done.err
    assert "capdisc index --network" in done.err
    question = ("search", "when are turnips watered", "--ids")
    assert (capdisc(*question).out, fetched) == ("", [])
    assert capdisc("index", "--network", "--quiet").code == 0
    assert fetched == ["https://example.com/handbook.md"]
    assert "handbook" in capdisc(*question).out
    failed = capdisc("index", "--network")
    assert (failed.code, "answers 503; not fetched; its last copy stays" in failed.err) == (
        0,
        True,
    )
    assert "handbook" in capdisc(*question).out
    assert len(fetched) == 2


OPENCLAW = """homepage: https://cranes.example
user-invocable: false
metadata:
  openclaw: {os: [macos], always: true, emoji: "x", requires: {anyBins: [no-such-crane, cp], env: [CRANE]}}
"""


def test_what_a_skill_needs_of_the_machine_decides_where_it_can_be_used(
    capdisc, write, monkeypatch
) -> None:
    """System, programs and secrets decide whether a skill is available (S169)."""
    text = f"---\nname: folded\ndescription: Folds paper.\n{OPENCLAW}---\n\nFold it.\n"
    write("folded/SKILL.md", text)
    assert capdisc("index", "caps", "--quiet").code == 0
    monkeypatch.setenv("CRANE", "x")

    def on(system: str) -> bool:
        monkeypatch.setattr("capdisc_indexer.platforms.system.NAME", system)
        hits = capdisc("search", "fold paper", "--available", "--ids").out.split()
        shown = capdisc("show", "folded", "--json").json["capabilities"][0]
        assert shown["available_here"] is ("skill:folded" in hits)
        assert shown["extra"].keys() == {"homepage", "user-invocable", "metadata"}
        return shown["available_here"]

    assert on("darwin")
    assert not on("linux")
    assert "[missing: only on darwin]" in capdisc("render", "fold paper").out
    monkeypatch.setenv("PATH", "/nowhere")
    assert not on("darwin")
    assert "[missing: no-such-crane|cp]" in capdisc("render", "fold paper").out


@pytest.mark.parametrize(
    "fields", ["os: [darwin]", "platforms: macos", "metadata: {openclaw: {os: [darwin]}}"]
)
def test_a_skill_of_another_system_is_not_available(
    capdisc, hermetic, monkeypatch, fields
) -> None:
    """`os` at the top of a SKILL.md, `platforms`, and `os` below metadata (S169)."""
    path = hermetic / ".claude" / "skills" / "mac-notes" / "SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_text(
        f"---\nname: mac-notes\ndescription: Opens the notes application.\n{fields}\n---\nOpen.\n"
    )
    monkeypatch.setattr("capdisc_indexer.platforms.system.NAME", "linux")
    assert "missing: only on darwin" in capdisc("search", "open notes").out
    assert capdisc("search", "open notes", "--available", "--ids").out == ""
    monkeypatch.setattr("capdisc_indexer.platforms.system.NAME", "darwin")
    assert capdisc("search", "open notes", "--available", "--ids").out == "skill:mac-notes\n"
