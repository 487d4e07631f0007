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
    """Write files of the workspace, declare each as a source, and index."""
    monkeypatch.setenv("CAPDISC_INDEX_DIR", str(hermetic / "index"))

    def run(format: str, files: dict[str, str | bytes], more: str = ""):
        for name, content in files.items():
            path = hermetic / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
            more += f"[[source]]\nformat = {format!r}\npath = {name!r}\n"
        (hermetic / "capdisc.toml").write_text(more)
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


def test_files_with_such_names_are_no_documents(capdisc, declare) -> None:
    names = [f"{number}/{name}" for number, name in enumerate([*NAMES, "Login Data"])]
    told = refusals(declare("document", dict.fromkeys(names, SECRET)))
    assert sorted(message.partition(" holds ")[0] for message in told) == sorted(
        map(os.path.basename, names)
    )
    assert all(message.endswith("; not read") for message in told)
    assert capdisc("list", "--ids").out == ""
    checked = capdisc("validate", "--all")
    assert checked.out.count("[secret-file]") == len(names)
    assert SECRET not in checked.out + checked.err


def test_what_only_resembles_one_is_read(declare) -> None:
    names = "env.md .env.example prod.env.template id_rsa.pub credentials.md x.tfvars.dist".split()
    files: dict[str, str | bytes] = {
        name: f"How the settings of {name} are named." for name in names
    }
    files["keys.md"] = f"# Keys\n\nOne looks like this:\n\n```\n{KEY}```\n"
    made = declare("document", files)
    assert (made.code, made.json["counts"]["files"]) == (0, len(files))
    assert "secret-file" not in {finding["code"] for finding in made.json["findings"]}


KEYS = [
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
]


def test_a_file_that_begins_as_a_key_is_no_document_whatever_its_name(capdisc, declare) -> None:
    files = {f"notes-{number}.md": text for number, text in enumerate(KEYS)}
    assert len(refusals(declare("document", files))) == len(KEYS)
    assert capdisc("list", "--ids").out == ""


@pytest.mark.parametrize(
    ("format", "name"),
    [("table", "notes.csv"), ("table", "a.jsonl"), ("sql", "a.sql"), ("openapi", "a.json")],
)
def test_no_format_reads_one(declare, format, name) -> None:
    assert len(refusals(declare(format, {name: KEY}))) == 1


def test_a_link_does_not_hide_it(capdisc, declare, hermetic) -> None:
    (hermetic / "docs").mkdir()
    (hermetic / "docs" / ".env").write_text(SECRET)
    (hermetic / "docs" / "notes.md").symlink_to(".env")
    also = "[[source]]\nformat = 'document'\npath = 'docs'\n"
    made = declare("document", {"docs/other.md": "Words."}, also)
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
    shop = {"shop.sqlite": (hermetic / "shop.sqlite").read_bytes()}
    made = declare("sql", shop, "roots = ['caps']\n")
    assert len(refusals(made)) == 2
    assert capdisc("list", "--ids").out == ""


def test_a_table_that_merely_has_such_a_name_is_read(capdisc, declare, hermetic) -> None:
    with closing(sqlite3.connect(hermetic / "bakery.sqlite")) as connection, connection:
        connection.execute("CREATE TABLE cookies (name TEXT, price REAL)")
    bakery = {"bakery.sqlite": (hermetic / "bakery.sqlite").read_bytes()}
    assert declare("sql", bakery).code == 0
    assert "table:bakery.cookies" in capdisc("list", "--ids").out


def test_only_the_users_own_configuration_allows_it(
    capdisc, declare, hermetic, monkeypatch
) -> None:
    made = declare("document", {".env": SECRET}, "allow_secret_files = true\n")
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
