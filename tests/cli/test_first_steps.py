"""First steps without a settings file: files that are named, folders of data, and what init writes."""

from __future__ import annotations

import os
import tomllib

import pytest

PRICES = "loaf,price\nrye,4.20\n"
PAGE = "# Baking\n\n## Sourdough\n\nFeed the starter with rye flour each morning.\n"
MODULE = 'def weigh_loaf(loaf: str):\n    "Weighs a loaf of bread."\n    raise SystemExit(9)\n\n\nraise SystemExit(8)\n'
SCHEMA = 'type Query {\n  "Ovens of a bakery"\n  ovens(city: String): [String]\n}\n'
OPENAPI = """openapi: 3.0.0
info: {title: Bakery, version: "1"}
paths:
  /loaves:
    get: {operationId: listLoaves, summary: Lists loaves that are for sale}
"""


@pytest.fixture
def bakery(hermetic):
    """A workspace with data of several kinds, and no settings."""
    for path, text in {
        "data/prices.csv": PRICES,
        "data/orders.jsonl": '{"order": 1, "loaf": "rye"}\n',
        "docs/baking.md": PAGE,
        "tools.py": MODULE,
        "api/bakery.graphql": SCHEMA,
        "openapi.yaml": OPENAPI,
        ".constat/skills/knead/SKILL.md": "---\nname: knead\ndescription: Kneads dough by hand.\n---\n\nKnead.\n",
        ".git/HEAD": "",
        "README.md": "# Bakery\n\nHow to start.\n",
    }.items():
        (hermetic / path).parent.mkdir(parents=True, exist_ok=True)
        (hermetic / path).write_text(text)
    return hermetic


def ids(capdisc) -> set[str]:
    return set(capdisc("list", "--ids").out.split())


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("data/prices.csv", {"table:data.prices"}),
        ("data/orders.jsonl", {"table:data.orders"}),
        ("docs/baking.md", {"document:baking", "section:baking.sourdough"}),
        ("tools.py", {"function:tools.weigh_loaf"}),
        ("api/bakery.graphql", {"api:bakery", "operation:bakery.ovens"}),
        ("openapi.yaml", {"api:bakery", "operation:bakery.listLoaves"}),
    ],
)
def test_a_file_that_is_named_is_read_as_what_it_is(capdisc, bakery, path, expected) -> None:
    """No settings are needed, nothing of a module runs, and later builds read it in the same way."""
    done = capdisc("index", path)
    assert (done.code, done.err) == (0, "")
    found = ids(capdisc)
    assert expected < found
    assert "skill:knead" in found
    assert "no change" in capdisc("index").out
    assert capdisc("index", "--rebuild").code == 0
    assert ids(capdisc) == found
    assert capdisc("index", "--forget", path).code == 0
    assert ids(capdisc) == {"skill:knead"}


def test_an_edit_of_a_named_file_is_followed(capdisc, bakery) -> None:
    """A search takes it in, and no capability is lost or there twice."""
    capdisc("index", "data/prices.csv", "docs/baking.md")
    before = ids(capdisc)
    (bakery / "data" / "prices.csv").write_text(PRICES.replace("price", "zloty"))
    assert "zloty" in capdisc("search", "loaf zloty").out
    (bakery / "docs" / "baking.md").write_text(PAGE.replace("Sourdough", "Ciabatta"))
    assert capdisc("search", "ciabatta", "--ids", "-k", "1").out == "section:baking.ciabatta\n"
    assert ids(capdisc) == before - {"section:baking.sourdough"} | {"section:baking.ciabatta"}


def test_a_file_that_is_named_and_declared_is_read_once_as_declared(capdisc, bakery) -> None:
    capdisc("index", "data/prices.csv")
    settings = '[[source]]\nformat = "table"\nname = "shop"\npath = "data/*.csv"\n'
    (bakery / "capdisc.toml").write_text(settings)
    capdisc("index")
    assert {name for name in ids(capdisc) if name.startswith("table:")} == {"table:shop.prices"}
    (bakery / "capdisc.toml").unlink()
    capdisc("index")
    assert {name for name in ids(capdisc) if name.startswith("table:")} == {"table:data.prices"}


def test_skills_of_constat_are_found_in_the_workspace_and_at_home(capdisc, bakery) -> None:
    skill = bakery.parent / "home" / ".constat" / "skills" / "glaze" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: glaze\ndescription: Glazes a cake.\n---\n\nGlaze.\n")
    capdisc("index")
    assert ids(capdisc) == {"skill:knead", "skill:glaze"}


@pytest.mark.parametrize("name", ["package.json", "notes.yaml", "picture.png", "Makefile"])
def test_a_file_whose_kind_is_not_certain_is_refused(capdisc, bakery, name) -> None:
    (bakery / name).write_text('{"name": "x"}')
    done = capdisc("index", name)
    assert (done.code, done.out) == (3, "")
    assert "is not a capability file" in done.err


@pytest.mark.parametrize("name", [b"\xff.csv", b"folder\xff"])
def test_a_name_that_is_not_utf_8_is_refused(capdisc, bakery, name) -> None:
    """Neither could be written down among what the index covers."""
    path = os.fsencode(bakery) + b"/" + name
    try:
        if name.endswith(b".csv"):
            with open(path, "w") as file:
                file.write(PRICES)
        else:
            os.mkdir(path)
    except OSError:
        pytest.skip("this file system has such names in UTF-8 alone")
    done = capdisc("index", os.fsdecode(name))
    assert (done.code, done.out) == (3, "")
    assert "is not UTF-8" in done.err
    assert "skill:knead" in ids(capdisc)


def test_lines_of_capabilities_are_no_table(capdisc, bakery) -> None:
    line = '{"kind": "tool", "name": "slice", "description": "Slices bread."}\n'
    (bakery / "mine.jsonl").write_text(line)
    assert capdisc("index", "mine.jsonl").code == 0
    assert "tool:slice" in ids(capdisc)


def test_a_page_that_shows_an_api_description_is_a_page(capdisc, bakery) -> None:
    (bakery / "docs" / "api.md").write_text(f"# The API\n\n{OPENAPI}")
    assert capdisc("index", "docs/api.md").code == 0
    assert "document:api" in ids(capdisc)


def test_a_named_file_with_a_secret_or_a_link_away_is_not_read(capdisc, bakery) -> None:
    key = "-----BEGIN OPENSSH PRIVATE KEY-----\nabc\n"
    (bakery / "key.txt").write_text(key)
    assert "holds a private key" in capdisc("index", "key.txt").err
    (bakery.parent / "away.md").write_text(PAGE)
    (bakery / "docs" / "linked.md").symlink_to(bakery.parent / "away.md")
    done = capdisc("index", "docs/linked.md")
    assert (done.code, done.out) == (3, "")


def test_validate_still_refuses_what_is_no_capability(capdisc, bakery) -> None:
    """A page is data: to call it valid would hide a SKILL.md of another name."""
    assert "is not a capability file" in capdisc("validate", "docs/baking.md").err


def read_hint(err: str) -> dict[str, object]:
    """The lines that the hint says to paste, as TOML."""
    lines = err.partition("hint: to read the data")[2].splitlines()[1:]
    return tomllib.loads("\n".join(line for line in lines if line.startswith("  ")))


def test_a_folder_of_pages_is_left_out_with_the_lines_that_read_it(capdisc, bakery) -> None:
    """A folder is scanned for capabilities, so that a README in each does not flood the index."""
    done = capdisc("index", "docs")
    assert read_hint(done.err) == {"source": [{"format": "document", "path": "docs/*.md"}]}
    lines = done.err.partition("hint: to read the data")[2].splitlines()[1:]
    (bakery / "capdisc.toml").write_text("\n".join(lines))
    assert capdisc("index").err == ""
    assert {"document:baking", "section:baking.sourdough"} < ids(capdisc)
    assert "hint" not in capdisc("index", "docs", "data").err


def test_init_is_not_advised_for_data_outside_of_the_workspace(capdisc, bakery) -> None:
    """It would not declare them."""
    away = bakery.parent / "away"
    away.mkdir()
    (away / "prices.csv").write_text(PRICES)
    err = capdisc("index", str(away)).err
    assert "hint: to read the data in it, put this into capdisc.toml:" in err
    assert read_hint(err) == {"source": [{"format": "table", "path": "../away/*.csv"}]}


def test_data_beside_capabilities_is_named_and_pages_are_not(capdisc, bakery) -> None:
    done = capdisc("index", ".")
    assert "openapi.yaml" not in done.err
    formats = [source["format"] for source in read_hint(done.err)["source"]]
    assert formats == ["python", "graphql", "table"]
    assert capdisc("index", "-q", "data").err == ""


def test_init_declares_what_it_sees(capdisc, bakery) -> None:
    """The configuration that init writes reads every kind of data, and the next search has it."""
    for number in range(3):
        (bakery / "docs" / f"oven{number}.png").write_bytes(b"")
    done = capdisc("init")
    assert done.code == 0
    assert "6 [[source]] in it" in done.out
    written = tomllib.loads((bakery / ".capdisc" / "config.toml").read_text())
    assert [(source["format"], source["path"]) for source in written["source"]] == [
        ("openapi", "openapi.yaml"),
        ("python", "tools.py"),
        ("graphql", "api/**/*.graphql"),
        ("table", "data/**/*.csv"),
        ("table", "data/**/*.jsonl"),
        ("document", "docs/**/*.md"),
    ]
    found = capdisc("search", "feed the starter", "--ids").out.split()
    assert "section:baking.sourdough" in found
    assert {"table:data.prices", "function:tools.weigh_loaf", "skill:knead"} < ids(capdisc)
    assert "document:README" not in ids(capdisc)


def test_init_leaves_out_what_is_a_program_and_comments_what_is_much(capdisc, bakery) -> None:
    for number in range(101):
        page = bakery / "wiki" / f"page{number}" / "README.md"
        page.parent.mkdir(parents=True)
        page.write_text(PAGE)
        (bakery / "src").mkdir(exist_ok=True)
        (bakery / "src" / f"code{number}.c").write_text("")
    (bakery / "src" / "notes.md").write_text(PAGE)
    (bakery / "node_modules").mkdir()
    (bakery / "node_modules" / "a.csv").write_text(PRICES)
    capdisc("init")
    text = (bakery / ".capdisc" / "config.toml").read_text()
    assert '# 101 files:\n# [[source]]\n# format = "document"\n# path = "wiki/**/*.md"' in text
    assert "src/" not in text
    assert "node_modules" not in text


def test_init_declares_nothing_of_a_home_folder(capdisc, hermetic, monkeypatch) -> None:
    home = hermetic.parent / "home"
    (home / "diary").mkdir()
    (home / "diary" / "today.md").write_text(PAGE)
    (home / ".git").mkdir()
    monkeypatch.chdir(home)
    capdisc("init")
    assert "diary" not in (home / ".capdisc" / "config.toml").read_text()
