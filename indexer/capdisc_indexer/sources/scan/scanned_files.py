"""A file as the scan saw it, and the findings for files that are not read: because they cannot be,
or because they hold secrets and the user's own configuration does not allow it.

Files with secrets are recognised, whoever names them, by the names that their programs give them,
by their first bytes, and by the tables of a browser's databases.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from capdisc_indexer import lazy_imports
from capdisc_indexer.config.client_table import client_sections
from capdisc_indexer.model.frozen import field, frozen
from capdisc_indexer.model.types import Finding, Severity, SourceRef
from capdisc_indexer.text.normalization import compile_late

# A file that changes twice within the resolution of time stamps looks unchanged, so only older
# stamps are believed.
GRAIN_NS = 2_000_000_000
# The code of the finding about a file that capdisc itself fails on.
INTERNAL = "internal"

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
        *(name for names in client_sections("secrets").values() for name in names),
        ".huggingface/token", "huggingface/token", "kaggle.json",
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
_ENVIRONMENT = compile_late(r"\.env(?:\..+)?|\.envrc|.+\.env")
_TEMPLATE = compile_late(r".*\.(?:example|sample|template|dist)|(?:example|sample|template)\.env")
# Endings that editors and people append to the name of a copy.
_COPY_ENDING = compile_late(r"(?:~|\.(?:bak|backup|old|orig|save|swp))\Z")

HEAD_BYTES = 16 * 1024
_ARMOUR = rb"-----BEGIN [A-Z0-9 ]{0,40}(?:CERTIFICATE|PARAMETERS|PUBLIC KEY)-----[A-Za-z0-9+/=\s]*-----END [^\n]{0,60}"
_PRIVATE_KEY = compile_late(
    rb"(?:\xef\xbb\xbf)?\s*(?:" + _ARMOUR + rb"\s*)*(?:Bag Attributes[^-]{0,2000})?"
    rb"(?:-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----"
    rb"|PuTTY-User-Key-File-\d|(?:#[^\n]*\n\s*)*AGE-SECRET-KEY-1)"
)
_COOKIES = compile_late(rb"# (?:Netscape )?HTTP Cookie File")
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

_ENDING_HOLDS = {ending: holds for holds, endings in _ENDINGS.items() for ending in endings}


@frozen(kw_only=True)
class FileStat:
    """The stamps that show a changed file without reading it. `resolved` is `path` with every link
    followed.
    """

    path: str
    resolved: str
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int


@frozen(kw_only=True)
class FoundFile(FileStat):
    """One file to load. `path` is absolute, with its links; `relative` is `path` below `root`,
    with slashes.

    `companions` are files that belong to this one, which has changed if one of them has. `lost`
    has a finding for each file with the name of a companion that cannot be one, such as a link out
    of the folder. Files that a manifest only names (`skillContent: docs/long.md`) are not
    companions, since a scan does not read manifests: a change there is seen when the manifest
    changes too, or when everything is read again (`index --verify`, `--rebuild`).

    With `is_declared`, a declaration gives the format, and `name` and `options`; with `is_alone`
    it names this very file and not a folder. With `allows_secrets`, the file is read even if it
    holds secrets.

    With `is_missing`, the file lies in a covered folder that is gone, and its last version counts.

    `other_paths` lead to the same file by links. `link_target` is the real file or folder outside
    of the scanned ones that a link led to, "" for a file inside.
    """

    relative: str
    root: str
    root_order: int
    format: str
    companions: tuple[FileStat, ...] = ()
    lost: tuple[Finding, ...] = ()
    name: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    is_alone: bool = False
    is_declared: bool = False
    allows_secrets: bool = False
    is_missing: bool = False
    other_paths: tuple[str, ...] = ()
    link_target: str = ""


def content_hash(data: bytes, companions: Sequence[bytes] = ()) -> str:
    """SHA-256 of a file and its companions, as hexadecimal digits; without companions, that of the
    file.
    """
    if not companions:
        return lazy_imports.hex_sha256(data)
    import hashlib

    digest = hashlib.sha256(data)
    for companion in companions:
        digest.update(b"\0%d\0" % len(companion))
        digest.update(companion)
    return digest.hexdigest()


def source_ref(file: FoundFile, digest: str, pointer: str = "") -> SourceRef:
    """The source of a capability of this file, as text that can be stored and printed."""
    return SourceRef(
        path=printable_path(file.path),
        format=file.format,
        pointer=pointer,
        content_hash=digest,
        root=printable_path(file.root),
        other_paths=tuple(map(printable_path, file.other_paths)),
        link_target=printable_path(file.link_target),
    )


def printable_path(path: str) -> str:
    """The path as text that can be encoded: bytes that are not UTF-8 show as escapes."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def unreadable_finding(path: str, error: OSError) -> Finding:
    """The finding for a file or folder that the operating system cannot open or read."""
    if isinstance(error, FileNotFoundError):
        hint = "run the command again"
        return refuse_file("vanished", Severity.WARNING, path, "is gone since the scan", hint)
    message = f"cannot be read: {error.strerror or 'unknown error'}"
    return refuse_file("path-unreadable", Severity.ERROR, path, message, "check its permissions")


def not_a_file(path: str) -> Finding:
    """The finding for a folder, pipe, socket or device in place of a file."""
    hint = "put a regular file in its place"
    return refuse_file("path-not-file", Severity.ERROR, path, "is not a regular file", hint)


def refuse_file(code: str, severity: Severity, path: str, message: str, hint: str) -> Finding:
    """The finding for a file that is not read; its name begins the message."""
    name = printable_path(os.path.basename(path))
    return Finding(code, severity, f"{name} {message}", hint, printable_path(path))


def internal_finding(path: str, error: BaseException) -> Finding:
    """The finding for a file that capdisc itself fails on. It names the type of the error and its
    place in the code, and not its message, which may quote a secret of the file.
    """
    import traceback  # only here

    frames = traceback.extract_tb(error.__traceback__)
    own_frames = [frame for frame in frames if "capdisc_indexer" in frame.filename]
    places = [
        f" at {os.path.basename(frame.filename)}:{frame.lineno}" for frame in own_frames[-1:]
    ]
    message = f"capdisc fails on this file: {type(error).__name__}{''.join(places)}"
    hint = "this is a bug in capdisc: please report it, with the file if others may see it"
    return Finding(INTERNAL, Severity.ERROR, message, hint, printable_path(path))


def _by_name(table: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[tuple[str, str], ...]]:
    """For the last part of each name, the full names with the contents of their files."""
    entries: dict[str, tuple[tuple[str, str], ...]] = {}
    for holds, names in table.items():
        for name in names:
            last_part = name.rpartition("/")[2]
            entries[last_part] = (*entries.get(last_part, ()), (f"/{name}", holds))
    return entries


_LOOKUP = _by_name(_NAMES)


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
