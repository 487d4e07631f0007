"""Keys of known shapes are printed as `[secret]`, from any source and by any command."""

import json
import re
import shlex
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path

import pytest

from capdisc_indexer.rendering.formats import FORMATS
from capdisc_indexer.store.snapshot import Index
from case_files import write_files

# Put together here, so that this file holds no key.
KEY = "gh" + "p_" + "Qz8Rt5Wm" * 4 + "Lk7P"
MASKED = "[secret]".ljust(len(KEY), "*")
LINES = [f"{number:02d}Jk+vQ/{'mB7xR2tN' * 7}" for number in range(60)]
PRIVATE = (
    "-----BEGIN RSA PRIVATE" + " KEY-----\n" + "\n".join(LINES) + "\n-----END RSA PRIVATE KEY-----"
)


def holds_key(text: str) -> bool:
    lowered = text.lower()
    return KEY[:14].lower() in lowered or any(line[:20].lower() in lowered for line in LINES)


def write_sqlite(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            f"CREATE TABLE turnips (name TEXT DEFAULT '{KEY}' /* comment {KEY} */, size INT)"
        )
        connection.execute("INSERT INTO turnips VALUES (?, 1)", (f"value {KEY}",))
    connection.close()


def write_word(path: Path) -> None:
    body = f"<w:p><w:r><w:t>Turnips and {KEY} in words.</w:t></w:r></w:p>"
    space = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr(
            "word/document.xml",
            f'<w:document xmlns:w="{space}"><w:body>{body}</w:body></w:document>',
        )


@pytest.fixture
def workspace(capdisc, hermetic, monkeypatch):
    """One source of each format, every text of which holds a key."""
    text = Path(__file__).with_name("masked_secrets.files").read_text("utf-8")
    words = {"KEY": KEY, "PRIVATE-IN-JSON": json.dumps(PRIVATE)[1:-1], "PRIVATE": PRIVATE}
    write_files(re.sub("|".join(words), lambda word: words[word[0]], text), hermetic)
    write_sqlite(hermetic / "data" / "garden.sqlite")
    write_word(hermetic / "data" / "turnip-words.docx")
    monkeypatch.setenv("CAPDISC_INDEX_DIR", str(hermetic / "index"))
    made = capdisc("index", "--json")
    assert {finding["severity"] for finding in made.json["findings"]} <= {"warning", "info"}
    assert not holds_key(made.out + made.err)
    return hermetic


def test_the_index_holds_no_key(workspace) -> None:
    with Index(workspace / "index") as index:
        heads = list(index.documents.all_headers())
        kinds = {head["kind"] for head in heads}
        assert kinds >= set("skill tool operation api table database document section".split())
        for head in heads:
            whole = json.dumps([head, json.loads(index.documents.body(head["id"]) or b"{}")])
            assert not holds_key(whole), head["id"]
    for path in (workspace / "index").rglob("*"):
        assert not path.is_file() or not holds_key(path.read_bytes().decode("latin-1")), path


# `IDS` stands for the ids of all capabilities.
COMMANDS = """
list
list --json
list --cost
show IDS
show IDS --json
show IDS --embedding-text
show IDS --links --json
search turnips -k 30 --json --explain
search turnips -k 30
tools --all
tools turnips --json
graph --json
graph order-turnips
doctor --deep --json
status --json
validate
validate --format json
validate --format sarif
validate --fix
run order-turnips --fill
run order-turnips --dry-run
run order-turnips --dry-run --json
run catalogued-turnips --dry-run
render --auto --style full --budget 20000 turnips
"""
# They may answer that there is no such thing, but not with a key.
CALLS = """
discover_capabilities '{"query": "order turnips"}'
search_tool '{"query": "tool:order-turnips"}'
execute_tool '{"tool_name": "tool:order-turnips", "arguments": {"amount": "b"}}'
list_skills {}
get_skill '{"name": "grow-turnips"}'
get_skill_file '{"name": "grow-turnips", "filename": "more.md"}'
get_skill_file '{"name": "grow-turnips", "filename": "SKILL.md"}'
resolve_skill_link '{"name": "grow-turnips", "target": "more.md#more"}'
get_table_schema '{"table": "turnips"}'
list_tables {}
get_document '{"name": "turnip-notes"}'
resolve_fact '{"question": "What is the key of the turnips?"}'
"""


def test_nothing_that_reads_the_index_prints_a_key(capdisc, workspace) -> None:
    ids = " ".join(capdisc("list", "--ids").out.split("\n"))
    formats = (f"render 'order turnips' --format {name} --budget 9000" for name in FORMATS)
    for line in (*COMMANDS.replace("IDS", ids).strip().split("\n"), *formats):
        made = capdisc(*shlex.split(line))
        assert made.out or made.err, line
        assert not holds_key(made.out + made.err), line
    for line in CALLS.strip().split("\n"):
        made = capdisc("call", *shlex.split(line))
        assert not holds_key(made.out + made.err), line
    assert MASKED in capdisc("show", "grow-turnips").out


def test_a_linked_text_is_masked_before_it_is_measured(capdisc, workspace) -> None:
    for target in ("more.md", "more.md#more", "SKILL.md", "#grow-" + MASKED.lower()):
        made = capdisc("show", "grow-turnips", "--link", target, "--json")
        assert not holds_key(made.out + made.err)
    told = capdisc("show", "grow-turnips", "--link", "more.md", "--json").json
    assert MASKED in told["text"]
    assert told["bytes"] == len(told["text"].encode())


def test_tokens_and_digests_are_those_of_the_masked_text(capdisc, workspace) -> None:
    from hashlib import sha256

    from capdisc_indexer.lazy_imports import load_token_counter

    made = capdisc("render", "grow turnips", "--json", "--budget", "9000").json
    blocks = made["tiers"][2]["blocks"]
    assert any(MASKED in block["text"] for block in blocks)
    text = "--- Detailed Capability Reference ---\n" + "".join(
        block["text"] + "\n" for block in blocks
    )
    assert made["tiers"][2]["tokens"] == load_token_counter()(text)
    sections = capdisc("list", "--kind", "section", "--ids").out.split()
    for each in capdisc("show", *sections, "--json").json["capabilities"]:
        if "content" in each:
            assert each["source"]["content_hash"] == sha256(each["content"].encode()).hexdigest()


def test_a_skill_with_a_key_is_indexed_with_its_warning(capdisc, workspace) -> None:
    (skill,) = capdisc("show", "grow-turnips", "--json").json["capabilities"]
    assert "hard-coded-secret" in skill["warnings"]
    assert MASKED in skill["description"] and MASKED in skill["content"]


def test_what_runs_gets_the_words_as_they_are_written(capdisc, workspace) -> None:
    line = capdisc("run", "order-turnips", '{"amount": "b"}', "--dry-run").out
    assert f"--token={MASKED}" in line.replace("'", "")
    assert capdisc("run", "order-turnips", '{"amount": "b"}', "--yes").out == f"b --token={KEY}\n"
    assert (
        capdisc("run", "catalogued-turnips", "--yes").out == f"{KEY} --token={KEY}\n"
    )  # a default


def test_a_call_whose_file_says_something_else_by_now_is_refused(capdisc, workspace) -> None:
    path = workspace / "caps" / "order-turnips" / "CAPABILITY.yaml"
    path.write_text(path.read_text().replace("--token=", "--other="))
    made = capdisc("run", "order-turnips", '{"amount": "b"}', "--yes", "--fresh", "off")
    assert (made.code, made.out) == (3, "")
    assert "its file says other ones now" in made.err
    path.unlink()
    gone = capdisc("run", "order-turnips", '{"amount": "b"}', "--yes", "--fresh", "off")
    assert gone.code == 3


@pytest.mark.parametrize(
    "run",
    [
        f'{{http: {{method: GET, url: "https://127.0.0.1/{KEY}"}}}}',
        f'{{command: ["/nowhere/{KEY}"]}}',
        f'{{command: ["no-such-{KEY}", x]}}',
        f'{{mcp: {{command: "no-such-program", args: ["{KEY}"], tool: "{KEY}"}}}}',
    ],
)
def test_no_error_quotes_a_key(capdisc, hermetic, monkeypatch, run) -> None:
    path = hermetic / "caps" / "reach" / "CAPABILITY.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(f"name: reach\nkind: tool\ndescription: Reaches something.\nrun: {run}\n")
    monkeypatch.setenv("CAPDISC_INDEX_DIR", str(hermetic / "index"))
    capdisc("index", "caps")
    for argv in (["--yes"], ["--dry-run"], ["--dry-run", "--json"], [], ['{"x": 1}']):
        made = capdisc("run", "reach", *argv)
        assert made.code != 0 or "dry-run" in argv[0]
        assert not holds_key(made.out + made.err)
    made = capdisc("call", "execute_tool", '{"tool_name": "reach", "arguments": {}}')
    assert not holds_key(made.out + made.err)


def test_a_placeholder_stays_as_it_is(capdisc, hermetic, write_skill, monkeypatch) -> None:
    body = "Set ghp_" + "x" * 36 + " or AKIA" + "0" * 16
    write_skill(hermetic / "caps", "set-key", "Sets a key. Use when asked.", body)
    monkeypatch.setenv("CAPDISC_INDEX_DIR", str(hermetic / "index"))
    assert capdisc("index", "caps").code == 0
    assert body in capdisc("show", "set-key").out


@pytest.mark.parametrize("position", [65_490, 65_500, 65_520])
def test_a_key_that_a_limit_cuts_is_masked_as_well(
    capdisc, hermetic, write_skill, monkeypatch, position
) -> None:
    """What is kept of a body ends at 64 KiB."""
    line = "word " * 20
    body = (line * 700)[: position - 1] + " " + KEY + "\nmore " * 10
    write_skill(hermetic / "caps", "long-text", "Says much. Use when asked.", body)
    monkeypatch.setenv("CAPDISC_INDEX_DIR", str(hermetic / "index"))
    capdisc("index", "caps")
    assert not holds_key(capdisc("show", "long-text").out)
