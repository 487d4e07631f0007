"""What files say, as the command line shows it: needs of the designs in their own words."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable

import pytest

Write = Callable[..., None]


@pytest.fixture
def write(hermetic, monkeypatch) -> Write:
    """Write files by path; the commands after it use one index."""
    monkeypatch.setenv("CAPDISC_INDEX_DIR", str(hermetic / "index"))

    def make(files: dict[str, str]) -> None:
        for name, text in files.items():
            path = hermetic / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    return make


def show(capdisc, name: str) -> dict:
    return capdisc("show", name, "--json").json["capabilities"][0]


def manifest(name: str, rest: str = "", description: str = "Does it.") -> str:
    return f"kind: tool\nname: {name}\ndescription: {description}\n{rest}"


def test_a_word_document_is_read_as_sections(capdisc, write, hermetic) -> None:
    """A .docx of a [[source]] is found by its text (S40)."""
    write(
        {
            "capdisc.toml": '[[source]]\nformat = "document"\npath = "notes.docx"\n',
        }
    )
    body = "<w:p><w:r><w:t>Turnips are watered on Mondays.</w:t></w:r></w:p>"
    space = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    with zipfile.ZipFile(hermetic / "notes.docx", "w") as archive:
        archive.writestr(
            "word/document.xml", f"<w:document {space}><w:body>{body}</w:body></w:document>"
        )
    assert capdisc("index", "--quiet").code == 0
    assert "notes" in capdisc("search", "when are turnips watered", "--ids").out


def test_names_of_tools_give_categories_and_patterns_choose(capdisc, write) -> None:
    """The prefix is the category, declared prefixes win by length (`sql_opt` before `sql`), and
    `include` and `exclude` choose; tools come from lists and manifests (S118–S121).
    """
    names = ("base_tableList", "base_readQuery", "sql_opt_plan", "sql_run", "bar_secret")
    tools = [{"name": name, "description": f"Runs {name}."} for name in names]
    write(
        {
            "lists/td.json": json.dumps({"tools": tools}),
            "capdisc.toml": '[[source]]\nformat = "mcp"\npath = "lists/td.json"\n'
            'categories = ["sql", "sql_opt", "base"]\nexclude = ["bar_*"]\n',
        }
    )
    assert capdisc("index", "--quiet").code == 0
    rows = capdisc("list", "--json").json["capabilities"]
    assert {row["name"]: row["category"] for row in rows} == {
        "base_tableList": "base",
        "base_readQuery": "base",
        "sql_opt_plan": "sql_opt",
        "sql_run": "sql",
    }


def test_three_fields_are_enough_and_the_others_have_defaults(capdisc, write) -> None:
    """Name, kind and description suffice: the category is general, it is available, and every
    descriptor prints the same fields (S154, S167, S275).
    """
    write({"tools/CAPABILITY.yaml": manifest("add-up")})
    capdisc("index", "tools", "--quiet")
    shown = show(capdisc, "add-up")
    assert (shown["name"], shown["description"], shown["kind"]) == ("add-up", "Does it.", "tool")
    assert shown["category"] == "general" and shown["available_here"] is True
    write(
        {
            "tools/CAPABILITY.yaml": manifest(
                "add-up",
                "displayName: Add up\nrequiredSecrets: [KEY]\nrequiredTools: [other]\n"
                "hasSideEffects: true\ntags: [sum]\ninputSchema: {type: object}\n",
            )
        }
    )
    capdisc("index", "tools", "--quiet")
    full = show(capdisc, "add-up")
    assert (full["title"], full["secrets"], full["requires"]) == ("Add up", ["KEY"], ["other"])
    assert full["has_side_effects"] is True and full["schema"] == {"type": "object"}
    assert full["source"]["path"].endswith("tools/CAPABILITY.yaml")


def test_nothing_of_a_tool_is_lost_and_its_schema_is_printed_in_full(capdisc, write) -> None:
    """Schemas keep their types and are printed indented, with arrays, unions, choices and defaults
    (S141, S148, S164).
    """
    write(
        {
            "tools/CAPABILITY.yaml": """\
kind: tool
name: bake
description: >
  Bakes bread,
  from flour.
tags: ["bread, fresh", oven]  # a comment
requiredSecrets: [OVEN_KEY]
inputSchema:
  type: object
  required: [kilos]
  properties:
    kilos: {type: integer, default: 2}
    kind: {type: string, enum: [rye, wheat]}
    grains: {type: array, items: {type: string}}
    oven: {type: object, properties: {heat: {anyOf: [{type: integer}, {type: string}]}}}
"""
        }
    )
    capdisc("index", "tools", "--quiet")
    shown = show(capdisc, "bake")
    assert shown["tags"] == ["bread, fresh", "oven"] and shown["secrets"] == ["OVEN_KEY"]
    assert shown["schema"]["properties"]["kilos"]["default"] == 2
    text = capdisc("render", "bake bread", "--tier", "2").out
    for line in (
        "  kilos (integer, required) (default: 2)",
        "  kind (string) [rye|wheat]",
        "  grains (array<string>)",
        "    heat (integer|string)",
    ):
        assert line in text.splitlines()


def test_a_skill_alone_is_enough_and_a_colon_is_repaired(capdisc, write) -> None:
    """A SKILL.md needs no manifest; an unquoted colon is repaired, reported with its line, and the
    skill is never dropped (S149, S166, S313).
    """
    write(
        {
            "skills/issue-triage/SKILL.md": "---\nname: issue-triage\ndescription: Use: to triage issues\n---\nDo."
        }
    )
    report = capdisc("index", "skills")
    assert report.code == 0 and "SKILL.md:3" in report.err
    shown = show(capdisc, "issue-triage")
    assert shown["description"] == "Use: to triage issues"
    # "Issue Triage" says no more than the name, and so it is not stored again.
    assert capdisc("show", "Issue Triage", "--json").json["capabilities"][0]["id"] == shown["id"]


def test_an_id_is_there_once_and_the_other_is_named(capdisc, write) -> None:
    """The first folder wins, and the second holder of the id is reported (S152)."""
    write(
        {
            "one/CAPABILITY.yaml": manifest("same", description="The first."),
            "two/CAPABILITY.yaml": manifest("same", description="The second."),
        }
    )
    capdisc("index", "one", "two", "--quiet")
    assert capdisc("list", "--ids").out == "tool:same\n"
    assert show(capdisc, "same")["description"] == "The first."
    assert "two/CAPABILITY.yaml" in capdisc("list", "--shadowed").out


def test_the_variable_of_the_design_names_folders(capdisc, write, hermetic, monkeypatch) -> None:
    """WUNDERLAND_CAPABILITY_DIRS holds two folders, and .wunderland/capabilities is scanned (S157,
    S158).
    """
    write(
        {
            "a/x/CAPABILITY.yaml": manifest("from-a"),
            "b/y/CAPABILITY.yaml": manifest("from-b"),
            ".wunderland/capabilities/z/CAPABILITY.yaml": manifest("from-w"),
        }
    )
    monkeypatch.setenv("WUNDERLAND_CAPABILITY_DIRS", f"{hermetic / 'a'}:{hermetic / 'b'}")
    capdisc("index", "--quiet")
    assert set(capdisc("list", "--ids").out.split()) >= {"tool:from-a", "tool:from-b"}
    assert "tool:from-w" in capdisc("list", "--ids").out


def test_scanning_goes_deep_ends_loops_and_stays_inside(capdisc, write, hermetic) -> None:
    """Nested and linked folders are found, a loop ends, and a link that leads out waits (S160,
    S314).
    """
    skill = "---\nname: {0}\ndescription: Does {0}. Use when asked.\n---\nDo it."
    write(
        {
            "skills/a/b/c/deep/SKILL.md": skill.format("deep"),
            "skills/.hidden/linked/SKILL.md": skill.format("linked"),
            "../outside/away/SKILL.md": skill.format("away"),
        }
    )
    (hermetic / "skills" / "link").symlink_to(hermetic / "skills" / ".hidden" / "linked")
    (hermetic / "skills" / "a" / "loop").symlink_to(hermetic / "skills")
    (hermetic / "skills" / "out").symlink_to(hermetic.parent / "outside")
    report = capdisc("index", "skills")
    assert set(capdisc("list", "--ids").out.split()) == {"skill:deep", "skill:linked"}
    assert "skills/out" in report.err


def test_a_file_may_hold_a_list_and_several_documents(capdisc, write) -> None:
    """`capabilities:` lists several, and so do documents after `---` (S161)."""
    items = "capabilities:\n- {kind: tool, name: one, description: A.}\n- {kind: tool, name: two, description: B.}\n"
    write(
        {
            "tools/list/CAPABILITY.yaml": items,
            "tools/many/CAPABILITY.yaml": manifest("x") + "---\n" + manifest("y"),
        }
    )
    assert capdisc("index", "tools").code == 0
    assert capdisc("list", "--ids").out.split() == ["tool:one", "tool:two", "tool:x", "tool:y"]


def test_the_files_beside_a_manifest_complete_it(capdisc, write) -> None:
    """SKILL.md is the content, `skillContent` names another inside the folder, schema.json is used
    where there is no inputSchema, and a bad one is an error (S162, S163).
    """
    schema = {"type": "object", "properties": {"pages": {"type": "integer"}}}
    write(
        {
            "caps/a/CAPABILITY.yaml": manifest("with-skill"),
            "caps/a/SKILL.md": "---\nname: with-skill\ndescription: x\n---\nFold the paper twice.\n",
            "caps/a/schema.json": json.dumps(schema),
            "caps/b/CAPABILITY.yaml": manifest("outside", "skillContent: ../../secret.md\n"),
            "caps/c/CAPABILITY.yaml": manifest("bad-schema"),
            "caps/c/schema.json": "{",
            "secret.md": "Nobody reads this.",
        }
    )
    report = capdisc("index", "caps")
    assert "Fold the paper twice." in show(capdisc, "tool:with-skill")["content"]
    assert show(capdisc, "tool:with-skill")["schema"] == schema
    assert "Nobody reads" not in capdisc("show", "outside").out
    assert "schema.json" in report.err
    assert show(capdisc, "tool:bad-schema").get("schema") is None


def test_a_long_description_is_reported_and_cut(capdisc, write) -> None:
    """A line of Tier 1 is cut between words and names three parameters; what is too long is a
    finding (S135, S136, S171).
    """
    words = " ".join(f"word{number}" for number in range(600))
    write(
        {
            "tools/CAPABILITY.yaml": manifest(
                "talk",
                "inputSchema: {properties: {a: {}, b: {}, c: {}, d: {}}}\n",
                f"Talks {words}.",
            )
        }
    )
    report = capdisc("index", "tools")
    assert "description" in report.err
    line = capdisc("render", "talk", "--tier", "1").out.splitlines()[1]
    assert "Params: a, b, c, …." in line and len(line) < 400
    cut = line.partition("…")[0].split()[-1]
    assert cut in words.split()


def test_what_does_not_change_is_not_embedded_again(capdisc, write, hermetic) -> None:
    """A second build embeds nothing, one change embeds one, and a deleted file goes (S175, S206,
    S213).
    """
    write({f"t/{n}/CAPABILITY.yaml": manifest(f"tool-{n}", "", f"Does {n}.") for n in "abcd"})
    assert capdisc("index", "t", "--json").json["counts"]["embedded"] == 4
    assert capdisc("index", "t", "--verify", "--json").json["counts"]["embedded"] == 0
    write({"t/a/CAPABILITY.yaml": manifest("tool-a", "", "Does something else.")})
    (hermetic / "t" / "b" / "CAPABILITY.yaml").unlink()
    counts = capdisc("index", "t", "--json").json["counts"]
    assert (counts["parsed"], counts["embedded"], counts["removed"]) == (1, 1, 1)
    assert "tool-b" not in capdisc("list", "--ids").out


def test_vectors_survive_a_rebuild_unless_they_are_damaged(capdisc, write, hermetic) -> None:
    """`index --rebuild` reads every file again and embeds no text whose intact vector is there;
    damaged ones are embedded anew (S175).
    """
    write({f"t/{n}/CAPABILITY.yaml": manifest(f"tool-{n}", "", f"Does {n}.") for n in "abcd"})
    index = ("index", "t", "--index-dir", str(hermetic / "own"))
    capdisc(*index, "--quiet")
    counts = capdisc(*index, "--rebuild", "--json").json["counts"]
    assert (counts["parsed"], counts["added"], counts["embedded"]) == (4, 4, 0)
    write({"t/a/CAPABILITY.yaml": manifest("tool-a", "", "Folds a paper crane.")})
    counts = capdisc(*index, "--rebuild", "--json").json["counts"]
    assert (counts["parsed"], counts["embedded"]) == (4, 1)
    own = ("--index-dir", str(hermetic / "own"))
    assert capdisc("search", "folding paper", "--ids", *own).out == "tool:tool-a\n"
    vectors = max((hermetic / "own").glob("gens/*/vectors/rows.f32"))
    data = vectors.read_bytes()
    vectors.write_bytes(bytes(255 - byte for byte in data))
    assert capdisc("doctor", "--deep", *own).code != 0
    assert capdisc(*index, "--rebuild", "--json").json["counts"]["embedded"] == 4
    assert capdisc("doctor", "--deep", *own).code == 0


def test_a_catalogue_of_what_is_not_installed_is_read(capdisc, write) -> None:
    """`format = "catalogue"` reads a line each; `available: false` stays so (S204)."""
    lines = [
        {"id": "extension:maps", "kind": "extension", "name": "maps",
         "description": "Draws maps.", "available": False},
        {"id": "tool:sum", "kind": "tool", "name": "sum", "description": "Adds numbers."},
    ]  # fmt: skip
    write(
        {
            "extra/registry.jsonl": "".join(json.dumps(line) + "\n" for line in lines),
            "capdisc.toml": '[[source]]\nformat = "catalogue"\npath = "extra/registry.jsonl"\n',
        }
    )
    capdisc("index", "--quiet")
    assert set(capdisc("list", "--ids").out.split()) == {"extension:maps", "tool:sum"}
    assert show(capdisc, "maps")["available_here"] is False
