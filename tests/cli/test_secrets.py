"""R47: only the names of secrets are read, stored and printed."""

import json

import pytest

CANARY = "cana" + "ry-9f3e77d1"  # in two parts, so that this file does not hold it
VALUE = "ghp_" + "Zq7Rk2" * 6
MANIFEST = """\
name: {name}
kind: tool
description: Sends a letter to the customer.
requiredSecrets: [LETTER_API_KEY, LETTER_USER]
"""


@pytest.fixture
def letters(hermetic, capdisc, monkeypatch):
    """A capability whose secrets are set, indexed."""
    for name in ("LETTER_API_KEY", "LETTER_USER"):
        monkeypatch.setenv(name, CANARY)
    (hermetic / "tools" / "letter").mkdir(parents=True)
    (hermetic / "tools" / "letter" / "CAPABILITY.yaml").write_text(MANIFEST.format(name="letter"))
    monkeypatch.setenv("CAPDISC_INDEX_DIR", str(hermetic / "index"))
    assert capdisc("index", "tools").code == 0
    return hermetic


COMMANDS = [
    ("index", "tools", "--rebuild"),
    ("index", "tools", "--json"),
    ("search", "send a letter", "--explain"),
    ("search", "send a letter", "--available", "--json"),
    ("render", "send a letter"),
    ("render", "send a letter", "--format", "json"),
    ("show", "letter"),
    ("show", "letter", "--json"),
    ("list", "--json"),
    ("status", "--json"),
    ("doctor", "--deep", "--json"),
    ("config", "--json"),
    ("validate", "tools", "--format", "sarif"),
]


@pytest.mark.parametrize("argv", COMMANDS, ids=" ".join)
def test_no_command_prints_or_keeps_the_value_of_a_secret(letters, capdisc, argv) -> None:
    done = capdisc(*argv)
    assert done.code == 0
    assert done.out
    assert CANARY not in done.out + done.err
    kept = [
        path
        for path in letters.parent.rglob("*")
        if path.is_file() and CANARY.encode() in path.read_bytes()
    ]
    assert kept == []


def test_the_names_are_shown_and_whether_they_are_set_decides(
    letters, capdisc, monkeypatch
) -> None:
    assert "LETTER_API_KEY" in capdisc("show", "letter").out
    assert capdisc("search", "send a letter", "--available").code == 0
    monkeypatch.delenv("LETTER_USER")
    assert capdisc("search", "send a letter", "--available").code == 1


def test_a_value_in_the_place_of_a_name_is_refused_and_not_repeated(hermetic, capdisc) -> None:
    folder = hermetic / "tools" / "leak"
    folder.mkdir(parents=True)
    text = MANIFEST.format(name="leak").replace("LETTER_API_KEY", json.dumps(VALUE))
    (folder / "CAPABILITY.yaml").write_text(text)
    for argv in (
        ("index", "tools", "--index-dir", "index"),
        ("validate", "tools"),
        ("validate", "tools", "--json"),
    ):
        done = capdisc(*argv)
        assert done.code == 1
        assert "secret-value" in done.out + done.err
        assert VALUE not in done.out + done.err
    kept = [
        path
        for path in (hermetic / "index").rglob("*")
        if path.is_file() and VALUE.encode() in path.read_bytes()
    ]
    assert kept == []


def test_index_prints_no_key_that_a_finding_quotes(hermetic, capdisc) -> None:
    """Whole, or cut short in the message."""
    for name, key in (("one", VALUE), ("two", "glpat-" + "Zq7Rk" * 4 + "-" + "Rk2Zq" * 20)):
        path = hermetic / "tools" / name / "CAPABILITY.yaml"
        path.parent.mkdir(parents=True)
        path.write_text(f"name: {name}\nkind: tool\ndescription: Reads what is there.\n{key}: 3\n")
    for flags in ((), ("--rebuild", "--json")):
        done = capdisc("index", "tools", "--index-dir", "index", *flags)
        assert "unknown-key" in done.out + done.err
        assert "[secret]" in done.out + done.err
        assert "Zq7Rk" not in done.out + done.err
