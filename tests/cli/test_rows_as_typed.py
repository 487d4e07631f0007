"""Rows of the designs, typed with the files and words of the design."""

import json
from pathlib import Path

import pytest


@pytest.fixture
def place(hermetic):
    """Write a file of the workspace's own capabilities: `place("a/CAPABILITY.yaml", text)`."""

    def write(name: str, text: str) -> Path:
        path = hermetic / ".capdisc" / "capabilities" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    return write


def test_several_documents_of_a_file_are_several_capabilities(capdisc, place) -> None:
    """One CAPABILITY.yaml with documents between `---` lines (S161)."""
    place(
        "images/CAPABILITY.yaml",
        "kind: tool\nname: resize-image\ndescription: Resizes a picture to a width.\n"
        "---\nkind: tool\nname: crop-image\ndescription: Crops a picture to a box.\n",
    )
    assert capdisc("index").code == 0
    assert capdisc("list", "--ids").out.split() == ["tool:crop-image", "tool:resize-image"]
    assert capdisc("validate").code == 0


def test_the_hint_on_how_to_install_it_is_printed(capdisc, place) -> None:
    """`installHint` of a manifest (S198)."""
    place(
        "web/CAPABILITY.yaml",
        "kind: tool\nname: web-fetch\ndescription: Fetches pages from the web.\n"
        "requiredBins: [web-fetch-cli]\ninstallHint: npm install -g web-fetch\n",
    )
    assert capdisc("index", "--json").json["findings"] == []
    assert "To install: npm install -g web-fetch" in capdisc("show", "web-fetch").out
    assert "npm install -g web-fetch" in capdisc("render", "fetch a page", "--tier", "2").out


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


def test_a_broken_schema_beside_a_manifest_costs_the_schema(capdisc, place) -> None:
    """The build reports schema.json and keeps the capability (S163)."""
    place("draw/CAPABILITY.yaml", "kind: tool\nname: draw\ndescription: Draws a picture.\n")
    place("draw/schema.json", "{bad")
    done = capdisc("index")
    assert (done.code, "schema.json:1:2: error[json-syntax]" in done.err) == (1, True)
    assert capdisc("list", "--ids").out == "tool:draw\n"


def test_keywords_are_words_of_pages(capdisc, hermetic) -> None:
    """A word that stands in a page alone is a keyword (S228)."""
    (hermetic / "pages").mkdir()
    (hermetic / "pages" / "butter.md").write_text("# Butter\n\nCrunchy and creamy jars.\n")
    (hermetic / "capdisc.toml").write_text(
        '[[source]]\nformat = "document"\npath = "pages/*.md"\n'
    )
    capdisc("index")
    found = capdisc("call", "get_available_keywords", '{"prefix":"cr"}').json
    assert [row["keyword"] for row in found["keywords"]] == ["creamy", "crunchy"]


def test_a_change_inside_a_sentence_is_a_fact(capdisc, place) -> None:
    """The design's own sentence: redo, but change my age to 50 (S88)."""
    place("draw/CAPABILITY.yaml", "kind: tool\nname: draw\ndescription: Draws a picture.\n")
    capdisc("index")
    call = json.dumps({"text": "redo, but change my age to 50"})
    (fact,) = capdisc("call", "extract_facts_from_text", call).json["facts"]
    assert (fact["name"], fact["value"]) == ("age", "50")


@pytest.mark.parametrize("engine", ["matrix", "lancedb"])
def test_ids_of_a_pattern_are_an_allow_list(capdisc, place, engine) -> None:
    """`--id 'tool:*'` in every command that filters; a pattern that fits nothing is told (S27)."""
    for kind, name in (("tool", "draw-map"), ("tool", "draw-tree"), ("skill", "draw-lines")):
        place(
            f"{name}/CAPABILITY.yaml", f"kind: {kind}\nname: {name}\ndescription: Draws things.\n"
        )
    capdisc("index", "--wait")
    found = capdisc("search", "draw things", "--id", "TOOL:*", "--ids", "--engine", engine)
    assert set(found.out.split()) == {"tool:draw-map", "tool:draw-tree"}
    assert capdisc("list", "--id", "*-tree", "--ids").out == "tool:draw-tree\n"
    assert "lines" not in capdisc("render", "draw things", "--id", "tool:*").out
    unknown = capdisc("search", "draw things", "--id", "table:*")
    assert (unknown.code, "unknown id 'table:*'" in unknown.err) == (2, True)
