"""Files that hold secrets are neither sources nor links, unless the user allows it."""

import json
import os
import sqlite3
from contextlib import closing

import pytest

BASE64 = "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQ"
KEY = f"-----BEGIN OPENSSH PRIVATE KEY-----\n{BASE64}\n-----END OPENSSH PRIVATE KEY-----\n"
PARAMETERS = "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n"
SECRET = "hunter2-the-secret"


@pytest.fixture
def declare(capdisc, hermetic, monkeypatch):
    """Write a file of the workspace, declare it as a source, and index: `declare("document", ".env", text)`."""
    monkeypatch.setenv("CAPDISC_INDEX_DIR", str(hermetic / "index"))

    def run(format: str, name: str, content: str | bytes = SECRET, more: str = ""):
        path = hermetic / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        (hermetic / "capdisc.toml").write_text(
            f"{more}[[source]]\nformat = {format!r}\npath = {name!r}\n"
        )
        return capdisc("index", "--json")

    return run


def refusals(made) -> list[str]:
    assert made.code == 1
    return [
        finding["message"] for finding in made.json["findings"] if finding["code"] == "secret-file"
    ]


NAMES = (
    ".env .env.local .env.production.bak prod.env .envrc id_rsa id_ed25519.old .aws/credentials .netrc .pgpass .npmrc "
    ".pypirc .git-credentials .docker/config.json .kube/config gcloud/application_default_credentials.json "
    ".config/gh/hosts.yml .htpasswd .vault-token terraform.tfstate prod.tfvars store.p12 a.pfx a.jks a.keystore a.kdbx "
    "Cookies cookies.txt logins.json .bash_history .claude/.credentials.json secrets.yaml credentials.json .ENV"
).split()


@pytest.mark.parametrize("name", [*NAMES, "Login Data"])
def test_a_file_with_such_a_name_is_no_document(capdisc, declare, name) -> None:
    (told,) = refusals(declare("document", name))
    assert told.startswith(os.path.basename(name)) and told.endswith("; not read")
    assert capdisc("list", "--ids").out == ""
    checked = capdisc("validate")
    assert "secret-file" in checked.out
    assert SECRET not in checked.out + checked.err


@pytest.mark.parametrize(
    "name",
    [
        "env.md",
        ".env.example",
        "prod.env.template",
        "id_rsa.pub",
        "credentials.md",
        "x.tfvars.dist",
    ],
)
def test_what_only_resembles_one_is_read(capdisc, declare, name) -> None:
    assert declare("document", name, "How the settings are named.").code == 0
    assert "document:" in capdisc("list", "--ids").out


@pytest.mark.parametrize(
    "content",
    [
        KEY,
        f"\n\n{KEY}",
        "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n",
        "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nlQOYBF\n",
        f"{PARAMETERS}-----BEGIN EC PRIVATE KEY-----\nMHc\n",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n" + KEY,
        "Bag Attributes\n    localKeyID: 01\nKey Attributes: <No Attributes>\n-----BEGIN PRIVATE KEY-----\nMII\n",
        "PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\n",
        "# created: 2026-01-01\n# public key: age1x\nAGE-SECRET-KEY-1QQ\n",
        "# Netscape HTTP Cookie File\n.example.org\tTRUE\t/\tTRUE\t0\tsid\tabc\n",
        json.dumps({"type": "service_account", "private_key": "-----BEGIN PRIVATE KEY-----\nMII"}),
    ],
    ids=range(11),
)
def test_a_file_that_begins_as_a_key_is_no_document_whatever_its_name(
    capdisc, declare, content
) -> None:
    assert len(refusals(declare("document", "notes.md", content))) == 1
    assert capdisc("list", "--ids").out == ""


def test_a_text_about_keys_is_read(capdisc, declare) -> None:
    assert (
        declare("document", "keys.md", f"# Keys\n\nOne looks like this:\n\n```\n{KEY}```\n").code
        == 0
    )
    assert "document:keys" in capdisc("list", "--ids").out


@pytest.mark.parametrize(
    ("format", "name"),
    [("table", "notes.csv"), ("table", "a.jsonl"), ("sql", "a.sql"), ("openapi", "a.json")],
)
def test_no_format_reads_one(declare, format, name) -> None:
    assert len(refusals(declare(format, name, KEY))) == 1


def test_a_link_does_not_hide_it(capdisc, declare, hermetic) -> None:
    (hermetic / "docs").mkdir()
    (hermetic / "docs" / ".env").write_text(SECRET)
    (hermetic / "docs" / "notes.md").symlink_to(".env")
    made = declare(
        "document", "docs/other.md", "Words.", "[[source]]\nformat = 'document'\npath = 'docs'\n"
    )
    assert refusals(made) == ["notes.md holds values of an environment; not read"]


TABLES = {
    "cookies": "host_key TEXT, name TEXT, is_httponly INT, encrypted_value BLOB",
    "moz_cookies": "host TEXT, value TEXT",
    "logins": "origin_url TEXT, username_value TEXT, password_value BLOB",
    "moz_logins": "hostname TEXT, encryptedPassword TEXT",
    "nssPrivate": "id INT, a11 BLOB",
}


@pytest.mark.parametrize("table", TABLES)
def test_a_browsers_database_is_no_source_whatever_its_name(
    capdisc, declare, hermetic, table
) -> None:
    (hermetic / "caps").mkdir()
    for path in (hermetic / "shop.sqlite", hermetic / "caps" / "found.db"):
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(f"CREATE TABLE {table} ({TABLES[table]})")
    made = declare(
        "sql", "shop.sqlite", (hermetic / "shop.sqlite").read_bytes(), "roots = ['caps']\n"
    )
    assert len(refusals(made)) == 2
    assert capdisc("list", "--ids").out == ""


def test_a_table_that_merely_has_such_a_name_is_read(capdisc, declare, hermetic) -> None:
    with closing(sqlite3.connect(hermetic / "bakery.sqlite")) as connection, connection:
        connection.execute("CREATE TABLE cookies (name TEXT, price REAL)")
    assert declare("sql", "bakery.sqlite", (hermetic / "bakery.sqlite").read_bytes()).code == 0
    assert "table:bakery.cookies" in capdisc("list", "--ids").out


def test_only_the_users_own_configuration_allows_it(
    capdisc, declare, hermetic, monkeypatch
) -> None:
    made = declare("document", ".env", SECRET, "allow_secret_files = true\n")
    assert len(refusals(made)) == 1
    assert "allow_secret_files (set it in your own file)" in made.err
    monkeypatch.setenv("CAPDISC_ALLOW_SECRET_FILES", "maybe")
    assert "must be true or false" in capdisc("index").err
    monkeypatch.delenv("CAPDISC_ALLOW_SECRET_FILES")
    mine = hermetic.parent / "home" / ".config" / "capdisc" / "config.toml"
    mine.parent.mkdir(parents=True)
    mine.write_text("allow_secret_files = true\n")
    assert capdisc("index").code == 0
    assert "document:env" in capdisc("list", "--ids").out
    mine.unlink()
    assert capdisc("index").code == 1
    assert capdisc("list", "--ids").out == ""
    monkeypatch.setenv("CAPDISC_ALLOW_SECRET_FILES", "true")
    assert capdisc("index").code == 0


@pytest.fixture
def skill(capdisc, hermetic, write_skill, monkeypatch):
    """The folder of a skill that links to what it must not show."""
    links = " ".join(f"[{name}]({name})" for name in (".env", "notes.md", "alias.md", "guide.md"))
    path = write_skill(hermetic / "caps", "deploy", "Deploys. Use when asked.", links)
    (path.parent / ".env").write_text(SECRET)
    (path.parent / "alias.md").symlink_to(".env")
    (path.parent / "notes.md").write_text(KEY)
    (path.parent / "guide.md").write_text("Words.\n")
    monkeypatch.setenv("CAPDISC_INDEX_DIR", str(hermetic / "index"))
    assert capdisc("index", "caps").code == 0
    return path.parent


@pytest.mark.parametrize("name", [".env", "alias.md", "notes.md"])
def test_a_link_to_one_is_not_followed(capdisc, skill, name) -> None:
    made = capdisc("show", "deploy", "--link", name)
    assert (made.code, made.out) == (capdisc("show", "deploy", "--link", "../x").code, "")
    assert "not read" in made.err
    for tool, argument in (("get_skill_file", "filename"), ("resolve_skill_link", "target")):
        called = capdisc("call", tool, json.dumps({"name": "deploy", argument: name}))
        assert (called.code, called.out) == (made.code, "")
        assert "not read" in called.err
    assert capdisc("show", "deploy", "--link", "guide.md").out == "Words.\n"


def test_the_list_of_links_says_so(capdisc, skill) -> None:
    links = {
        each["target"]: each
        for each in capdisc("show", "deploy", "--links", "--json").json["capabilities"][0]["links"]
    }
    assert links[".env"]["kind"] == "refused"
    assert "values of an environment" in links[".env"]["reason"]
    assert links["guide.md"]["kind"] == "file"


@pytest.mark.parametrize("name", [".env", "key.md"])
def test_no_manifest_takes_its_text_from_one(capdisc, hermetic, monkeypatch, name) -> None:
    folder = hermetic / "caps" / "deploy"
    folder.mkdir(parents=True)
    (folder / name).write_text(KEY)
    (folder / "CAPABILITY.yaml").write_text(
        f"name: deploy\nkind: tool\ndescription: Deploys.\nskillContent: {name}\n"
    )
    monkeypatch.setenv("CAPDISC_INDEX_DIR", str(hermetic / "index"))
    made = capdisc("index", "caps", "--json")
    assert "secret-file" in {finding["code"] for finding in made.json["findings"]}
    assert "deploy" not in capdisc("list", "--ids").out
