"""File systems on which a name in another case or Unicode form is the same name, as on macOS: nothing counts twice, and
what a person types finds it."""

import json
import os
import unicodedata
from pathlib import Path

import pytest

import capdisc_indexer.platforms
from folding_file_system import mounted

CRANE = "---\nname: fold-crane\ndescription: Folds a crane. Use when asked to fold paper.\n---\n# Fold\n"
NAMELESS = (
    "---\ndescription: Gives an overview. Use when asked for one.\ncategory: Größe\n---\n# Look\n"
)
COMPOSED = "Überblick"
DECOMPOSED = unicodedata.normalize("NFD", COMPOSED)


@pytest.fixture
def mac(tmp_path):
    """A folder of such a file system."""
    with mounted(tmp_path) as folder:
        yield folder


def write_skill(folder, text=CRANE):
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(text)
    return folder / "SKILL.md"


def test_two_spellings_of_a_folder_are_one(mac, capdisc):
    file = write_skill(mac / "Skills" / "fold-crane")
    done = capdisc("index", str(mac / "Skills"), str(mac / "skills"))
    assert "1 capability from 1 file " in done.out
    done = capdisc("index", str(mac / "SKILLS"))
    assert "(no change)" in done.out
    assert capdisc("list", "--paths").out == f"{file}\n"
    assert capdisc("index", "--forget", str(mac / "sKILLS")).code == 0
    assert capdisc("list", "--paths").out == ""


def test_findings_are_not_doubled(mac, capdisc):
    write_skill(mac / "Skills" / "crane")
    done = capdisc(
        "validate", str(mac / "Skills"), str(mac / "skills"), str(mac / "SKILLS/Crane/skill.md")
    )
    assert done.err == "1 file, 1 finding\n"


def test_a_path_in_another_spelling_finds_the_capability(mac, capdisc):
    write_skill(mac / "Skills" / COMPOSED / "fold-crane")
    capdisc("index", str(mac / "Skills"))
    for path in (
        f"skills/{DECOMPOSED}/Fold-Crane/skill.md",
        f"Skills/{COMPOSED.upper()}/fold-crane",
    ):
        assert "skill:fold-crane" in capdisc("show", str(mac / path)).out


def test_a_link_that_spells_its_target_otherwise_adds_nothing(mac, capdisc, monkeypatch):
    home = mac / "Users" / "me"
    write_skill(home / ".claude" / "Skills" / "fold-crane")
    project = home / "project"
    (project / ".agents").mkdir(parents=True)
    (project / ".agents" / "skills").symlink_to(mac / "users/ME/.claude/skills")
    monkeypatch.setenv("HOME", str(mac / "users" / "me"))
    monkeypatch.chdir(project)
    assert "1 capability from 1 file " in capdisc("index", str(home / ".claude" / "skills")).out
    assert capdisc("trust").out.startswith("nothing to trust")


def test_one_index_for_one_folder_however_it_was_entered(mac, process, monkeypatch):
    project = mac / "Project"
    write_skill(project / ".agents" / "skills" / "fold-crane")
    monkeypatch.chdir(project)
    first = process("index", "--json", env={"PWD": str(project)})
    second = process("index", "--json", env={"PWD": str(mac / "PROJECT")})
    assert first.json["index_dir"] == second.json["index_dir"]
    assert second.json["counts"]["parsed"] == 0


def test_a_change_of_the_case_alone_is_a_change(mac, tmp_path, capdisc):
    write_skill(mac / "Skills" / "fold-crane")
    capdisc("index", str(mac / "Skills"))
    # Linux renames nothing where both names lead to one file, so it is done below the file system.
    folder = tmp_path / "backing" / "Skills"
    (folder / "fold-crane").rename(folder / "Fold-Crane")
    (folder / "Fold-Crane" / "SKILL.md").rename(folder / "Fold-Crane" / "skill.md")
    assert "other readers look for SKILL.md, not skill.md" in capdisc("index").err
    assert capdisc("list", "--paths").out == f"{mac}/Skills/Fold-Crane/skill.md\n"
    folder.rename(folder.parent / "skills")
    assert "1 capability from 1 file " in capdisc("index", str(mac / "skills")).out
    assert capdisc("list", "--paths").out == f"{mac}/skills/Fold-Crane/skill.md\n"


@pytest.mark.parametrize("decomposes", [False, True])
@pytest.mark.parametrize("typed", [COMPOSED, DECOMPOSED])
def test_the_unicode_form_of_a_name_changes_no_id(tmp_path, capdisc, decomposes, typed):
    with mounted(tmp_path, decomposes=decomposes) as mac:
        write_skill(mac / "Skills" / typed, NAMELESS)
        (mac / "Skills" / "guidance").mkdir()
        (mac / "Skills" / "guidance" / "Größe.md").write_text("Think big.\n")
        (mac / "docs").mkdir()
        (mac / "docs" / f"{typed}.md").write_text(
            "# Manual\n\nHow to look at everything at once.\n"
        )
        Path("capdisc.toml").write_text(
            f'[[source]]\nformat = "document"\npath = "{mac}/Docs/{COMPOSED[0]}*.md"\n'
        )
        capdisc("trust", "--yes")
        capdisc("index", str(mac / "Skills"))
        assert set(capdisc("list", "--ids").out.split()) >= {
            f"skill:{COMPOSED}",
            f"document:{COMPOSED}",
        }
        for name in (COMPOSED, DECOMPOSED, DECOMPOSED.upper()):
            assert f"Id: skill:{COMPOSED}" in capdisc("show", f"skill:{name}").out
        assert (
            capdisc("list", "--ids", "--id", f"skill:{DECOMPOSED[:3]}*").out
            == f"skill:{COMPOSED}\n"
        )
        findings = capdisc("validate", str(mac / "Skills"), "--format", "json").json["findings"]
        assert "guidance-orphan" not in json.dumps(findings)


def test_what_was_added_is_removed_by_a_name_in_another_form(mac, capdisc, monkeypatch):
    monkeypatch.chdir(mac)
    added = capdisc(
        "add", "-", stdin=json.dumps({"name": COMPOSED, "description": "Gives an overview."})
    )
    assert added.code == 0, added.err
    removed = capdisc("remove", f"tool:{DECOMPOSED}")
    assert (removed.code, removed.out) == (0, f"removed tool:{COMPOSED}\n")
    assert not list(mac.rglob(".capdisc/**/*.yaml"))


def test_names_that_only_their_unicode_form_tells_apart_collide(tmp_path, capdisc):
    write_skill(tmp_path / "skills" / COMPOSED, NAMELESS)
    write_skill(tmp_path / "skills" / DECOMPOSED, NAMELESS.replace("overview", "summary"))
    if len(os.listdir(tmp_path / "skills")) != 2:
        pytest.skip("this file system keeps one of both names only")
    done = capdisc("index", str(tmp_path / "skills"))
    assert "[path-twin]" in done.err
    assert f"[duplicate-id]: skill:{COMPOSED} is also defined by" in done.err


def test_a_path_is_spelt_as_its_folders_list_it(tmp_path, monkeypatch):
    """The same without such a file system: two spellings are said to be one file."""
    known = tmp_path / "Skills" / DECOMPOSED / "SKILL.md"
    write_skill(known.parent)

    def is_same(one, other):
        if not Path(one).parent.exists():
            raise FileNotFoundError(one)
        return (
            str(one).startswith(str(tmp_path / ""))
            and unicodedata.normalize("NFD", one).casefold()
            == unicodedata.normalize("NFD", other).casefold()
        )

    monkeypatch.setattr(os.path, "samefile", is_same)
    spell = capdisc_indexer.platforms.spell_path
    assert spell(f"{tmp_path}/skills/{COMPOSED.lower()}/skill.md") == str(known)
    assert spell(str(known)) == str(known)
    assert spell(f"{tmp_path}/skills/none/Skill.md") == f"{tmp_path}/Skills/none/Skill.md"
    assert spell("/") == "/"
