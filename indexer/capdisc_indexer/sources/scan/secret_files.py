"""Files that hold secrets: they are never read, whoever names them, unless the user's own
configuration allows it.

They are recognised by the names that their programs give them, by their first bytes, and by the
tables of a browser's databases.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping

from capdisc_indexer.model.types import Finding, Severity
from capdisc_indexer.sources.scan.scanned_files import refuse_file

# The contents of files by their names, which may include folders above them. In lower case, since
# some file systems ignore case.
_NAMES: Mapping[str, tuple[str, ...]] = {
    "a private key": (
        "id_rsa", "id_dsa", "id_ecdsa", "id_ecdsa_sk", "id_ed25519", "id_ed25519_sk", "id_xmss",
        "ssh_host_rsa_key", "ssh_host_dsa_key", "ssh_host_ecdsa_key", "ssh_host_ed25519_key",
        "secring.gpg", "master.key", ".ssh/identity",
    ),
    "passwords or tokens of a command-line tool": (
        ".netrc", "_netrc", ".authinfo", ".git-credentials", "git/credentials", ".htpasswd", ".htdigest",
        ".config/gh/hosts.yml", ".config/hub", "glab-cli/config.yml", ".s3cfg", ".boto", "rclone.conf",
        ".fly/config.yml", "doctl/config.yaml", ".netlify/config.json", "com.vercel.cli/auth.json",
        ".ngrok2/ngrok.yml", "ngrok/ngrok.yml", ".cloudflared/cert.pem", ".databrickscfg",
        ".wgetrc", ".curlrc", ".smbcredentials", ".davfs2/secrets", ".snowflake/connections.toml",
    ),
    "passwords of a database": (".pgpass", "pgpass.conf", ".my.cnf", ".mylogin.cnf", ".dbt/profiles.yml"),
    "tokens of a package registry": (
        ".npmrc", ".yarnrc.yml", ".pypirc", ".cargo/credentials", ".cargo/credentials.toml",
        ".gem/credentials", ".composer/auth.json", "composer/auth.json", ".m2/settings.xml",
        ".m2/settings-security.xml", ".gradle/gradle.properties", ".nuget/nuget.config",
    ),
    "credentials of a cloud": (
        ".aws/credentials", "application_default_credentials.json", "gcloud/credentials.db",
        "gcloud/access_tokens.db", ".azure/accesstokens.json", ".azure/service_principal_entries.json",
        ".azure/msal_token_cache.json", ".azure/msal_token_cache.bin", "msal_token_cache.bin", ".oci/config",
        ".bluemix/config.json", "client_secret.json", "client_secrets.json", "credentials.json",
    ),
    "credentials of containers": (
        ".docker/config.json", ".dockercfg", ".dockerconfigjson", ".kube/config", "kubeconfig",
        "containers/auth.json",
    ),
    "secrets of a deployment": (
        ".vault-token", ".vault_pass", ".vault_pass.txt", ".terraformrc", "terraform.rc",
        "credentials.tfrc.json", "secrets.yml", "secrets.yaml", "secrets.json", "secrets.toml",
    ),
    "tokens of an AI service": (
        ".claude/.credentials.json", ".codex/auth.json", ".gemini/oauth_creds.json", "oauth_creds.json",
        "github-copilot/hosts.json", "github-copilot/apps.json", ".huggingface/token", "huggingface/token",
        "kaggle.json",
    ),
    "passwords of the users of a machine": (
        "etc/shadow", "etc/shadow-", "etc/gshadow", "etc/gshadow-", "etc/master.passwd", "proc/self/environ",
    ),
    "typed commands, with the passwords among them": (
        ".bash_history", ".zsh_history", ".sh_history", ".python_history", ".node_repl_history",
        ".psql_history", ".mysql_history", ".sqlite_history", ".rediscli_history", "fish_history",
    ),
    "cookies of a browser": ("cookies", "cookies.sqlite", "cookies.txt", "cookies.json"),
    "logins of a browser": (
        "login data", "login data for account", "web data", "local state", "logins.json",
        "logins-backup.json", "key3.db", "key4.db", "signons.sqlite",
    ),
    "tokens of a session": (
        "token.json", "token_cache.json", "token_cache.bin", "token.pickle", "storage_state.json",
    ),
}  # fmt: skip
_ENDINGS: Mapping[str, tuple[str, ...]] = {
    "a keystore": (
        ".p12", ".pfx", ".jks", ".jceks", ".bks", ".keystore", ".kdbx", ".kdb", ".psafe3", ".keychain",
        ".keychain-db", ".ppk",
    ),
    "the state of Terraform, which has every secret in clear": (".tfstate", ".tfstate.backup"),
    "values for Terraform": (".tfvars", ".tfvars.json"),
    "the token cache of a session": (".token_cache.json", ".tokencache"),
}  # fmt: skip
_FOLDERS: Mapping[str, str] = {
    "/.aws/sso/cache/": "tokens of a cloud",
    "/.aws/cli/cache/": "tokens of a cloud",
    "/gcloud/legacy_credentials/": "credentials of a cloud",
    "/.gnupg/private-keys-v1.d/": "a private key",
    "/.password-store/": "passwords",
}
_ENVIRONMENT = re.compile(r"\.env(?:\..+)?|\.envrc|.+\.env")
_TEMPLATE = re.compile(r".*\.(?:example|sample|template|dist)|(?:example|sample|template)\.env")
# Endings that editors and people append to the name of a copy.
_COPY_ENDING = re.compile(r"(?:~|\.(?:bak|backup|old|orig|save|swp))\Z")

HEAD_BYTES = 16 * 1024
_ARMOUR = rb"-----BEGIN [A-Z0-9 ]{0,40}(?:CERTIFICATE|PARAMETERS|PUBLIC KEY)-----[A-Za-z0-9+/=\s]*-----END [^\n]{0,60}"
_PRIVATE_KEY = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:" + _ARMOUR + rb"\s*)*(?:Bag Attributes[^-]{0,2000})?"
    rb"(?:-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----"
    rb"|PuTTY-User-Key-File-\d|(?:#[^\n]*\n\s*)*AGE-SECRET-KEY-1)"
)
_COOKIES = re.compile(rb"# (?:Netscape )?HTTP Cookie File")
# Tables that keep a database from being read, with columns that distinguish them from other tables
# of the same name.
_TABLES: Mapping[str, tuple[str, frozenset[str]]] = {
    "cookies": ("cookies of a browser", frozenset({"host_key", "is_httponly"})),
    "moz_cookies": ("cookies of a browser", frozenset({"host", "value"})),
    "logins": ("logins of a browser", frozenset({"origin_url", "password_value"})),
    "moz_logins": ("logins of a browser", frozenset({"hostname", "encryptedpassword"})),
    "credit_cards": ("cards of a browser", frozenset({"card_number_encrypted"})),
    "nssprivate": ("keys of a browser", frozenset({"id"})),
    "access_tokens": ("tokens of a cloud", frozenset({"account_id", "access_token"})),
    "genp": ("a keychain", frozenset({"agrp", "data"})),
}


def _by_name(table: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[tuple[str, str], ...]]:
    """For the last part of each name, the full names with the contents of their files."""
    entries: dict[str, tuple[tuple[str, str], ...]] = {}
    for holds, names in table.items():
        for name in names:
            last_part = name.rpartition("/")[2]
            entries[last_part] = (*entries.get(last_part, ()), (f"/{name}", holds))
    return entries


_LOOKUP = _by_name(_NAMES)
_ENDING_HOLDS = {ending: holds for holds, endings in _ENDINGS.items() for ending in endings}


def held_by_name(*paths: str) -> str:
    """The kind of secret that a file holds by one of its paths, as words for a sentence; "" for
    any other file.

    >>> held_by_name("/home/me/.aws/credentials"), held_by_name("/a/.env.local"), held_by_name("/a/.env.example")
    ('credentials of a cloud', 'values of an environment', '')
    """
    return next((holds for path in dict.fromkeys(paths) if (holds := _held_at(path))), "")


def _held_at(path: str) -> str:
    lowered = f"/{path.lower()}"
    name = _COPY_ENDING.sub("", os.path.basename(lowered))
    if entries := _LOOKUP.get(name):
        original = lowered[: len(lowered) - len(os.path.basename(lowered))] + name
        if holds := next((holds for entry, holds in entries if original.endswith(entry)), ""):
            return holds
    if name.endswith(tuple(_ENDING_HOLDS)):
        return next(holds for ending, holds in _ENDING_HOLDS.items() if name.endswith(ending))
    if "env" in name and _ENVIRONMENT.fullmatch(name) and not _TEMPLATE.fullmatch(name):
        return "values of an environment"
    return next((holds for folder, holds in _FOLDERS.items() if folder in lowered), "")


def held_by_content(data: bytes) -> str:
    """The kind of secret that a file holds by its first bytes, whatever its name; "" for any other
    file.

    >>> held_by_content(b"-----BEGIN OPENSSH PRIVATE KEY-----"), held_by_content(b"# About keys")
    ('a private key', '')
    """
    head = data[:HEAD_BYTES]
    if _PRIVATE_KEY.match(head):
        return "a private key"
    if _COOKIES.match(head):
        return "cookies of a browser"
    is_account = (
        head.lstrip()[:1] == b"{" and b'"service_account"' in head and b"PRIVATE KEY-----" in head
    )
    return "the key of a service account" if is_account else ""


def held_by_tables(tables: Iterable[tuple[str, Iterable[str]]]) -> str:
    """The kind of secret that a database holds by its tables, given with the names of their
    columns; "" for any other database.
    """
    for name, columns in tables:
        holds, required_columns = _TABLES.get(name.lower(), ("", frozenset()))
        if holds and required_columns <= {column.lower() for column in columns}:
            return holds
    return ""


def secret_file(path: str, holds: str) -> Finding:
    """The finding for a file that is not read because of this kind of secret."""
    hint = (
        "write about it in another file; "
        "allow_secret_files = true in your own configuration lets a [[source]] in"
    )
    return refuse_file("secret-file", Severity.ERROR, path, f"holds {holds}; not read", hint)
