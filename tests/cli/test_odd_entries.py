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


def test_an_id_of_a_data_set_is_kept_or_leads_to_the_one_in_use(capdisc, here) -> None:
    ids = {"PDF&URL": "PDF&URL", "<tags>": "tags", "/pets/{id}": "pets/{id}", "--all": "all"}
    rows = [
        {"id": given, "kind": "tool", "name": f"job {number}", "description": "Does a job."}
        for number, given in enumerate(ids)
    ]
    write_lines(here / "cat", *rows)
    assert capdisc("index", "cat").code == 0
    for given, used in ids.items():
        assert capdisc("show", "--json", "--", given).json["capabilities"][0]["id"] == used


def test_a_kind_of_the_authors_own_can_be_filtered_listed_and_called(capdisc, here) -> None:
    write_lines(
        here / "cat",
        {"kind": "MCP Tool", "name": "list_issues", "description": ""},
        {"kind": "endpoint", "name": "charge", "description": "Charges a card."},
        {"kind": "playbook", "name": "outage", "description": "What to do in an outage."},
    )
    built = capdisc("index", "cat")
    assert built.code == 0
    assert built.err.count("unknown-kind") == 3
    assert (
        capdisc("search", "issues", "--kind", "mcp-tool", "--ids").out == "mcp-tool:list_issues\n"
    )
    misspelt = capdisc("search", "card", "--kind", "endpont")
    assert (misspelt.code, "did you mean endpoint?" in misspelt.err) == (2, True)
    overview = capdisc("render", "an unrelated question", "--by-kind", "--tier", "0").out
    assert "tools / " in overview and "others / playbook" in overview
    defined = capdisc("tools", "charge a card, list issues").out
    assert "charge" in defined and "list_issues" in defined and "outage" not in defined


def test_validate_refuses_what_index_takes_in_with_a_warning(capdisc, here) -> None:
    (here / "work" / "a").mkdir(parents=True, exist_ok=True)
    (here / "work" / "a" / "CAPABILITY.yaml").write_text("name: crane\nkind: tool\n")
    checked = capdisc("validate", str(here / "work" / "a"))
    assert (checked.code, "error[field-missing]" in checked.out) == (1, True)
    built = capdisc("index", str(here / "work" / "a"))
    assert (built.code, "warning[field-missing]" in built.err) == (0, True)


def test_letters_that_pass_for_another_capability_are_refused_and_named(capdisc, here) -> None:
    for folder, name in (("a", "тест"), ("b", "tect"), ("c", "сорока")):
        path = here / "cat" / folder / "CAPABILITY.yaml"
        path.parent.mkdir(parents=True)
        path.write_text(
            f"name: {name}\nkind: tool\ndescription: Checks the {folder} of a thing.\n"
        )
    built = capdisc("index", "cat")
    assert built.code == 1
    assert "cat/a/CAPABILITY.yaml:1:1: error[confusable-name]" in built.err
    assert set(capdisc("list", "--ids").out.splitlines()) == {"tool:tect", "tool:сорока"}
    assert "error[confusable-name]" in capdisc("validate", "cat").out


def test_of_identical_copies_the_one_in_the_folder_of_its_name_is_indexed(
    capdisc, here, write_skill
) -> None:
    text = write_skill(here / "cat", "pdf", "Merges PDF files. Use when asked.").read_text()
    wrong = here / "cat" / "documents" / "SKILL.md"
    wrong.parent.mkdir()
    wrong.write_text(text)
    assert capdisc("index", "cat").code == 0
    (shown,) = capdisc("show", "skill:pdf", "--json").json["capabilities"]
    assert shown["source"]["path"].endswith("cat/pdf/SKILL.md")


def test_each_use_in_a_list_is_found_by_itself_in_another_language_too(capdisc, here) -> None:
    """One vector of all that a command can do is near to nothing that it can do."""
    write_lines(
        here / "cat",
        *(
            {"kind": "cli", "name": name, "description": "A program.", "content": "\n".join(uses)}
            for name, uses in {
                "zap": [
                    "Encrypt a file with a password: zap -e {{file}}",
                    "Take a picture: `zap`",
                ],
                "bop": ["Play a song: bop {{song}}", "Book a table in a restaurant: bop --table"],
                "fim": ["Translate a letter: fim {{text}}", "Water the plants: fim water"],
            }.items()
        ),
    )
    assert capdisc("index", "cat").code == 0
    wishes = {
        "Datei mit einem Passwort verschlüsseln": "zap",
        "ein Lied abspielen": "bop",
        "réserver une table au restaurant": "bop",
        "Pflanzen gießen": "fim",
    }
    for wish, name in wishes.items():
        assert capdisc("search", wish, "--ids", "-k", "1").out == f"cli:{name}\n"
