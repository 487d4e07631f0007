"""Names of secrets are fine; a secret, or what stands in the environment, must stay where it is."""

from __future__ import annotations

from json import dumps
from pathlib import Path

from hostile.case import accepted, rejected, warned
from hostile.writing import (
    ACCESS_KEY,
    ENV_CANARY,
    ENV_NAME,
    FILE_CANARY,
    MANIFEST,
    NAME,
    SECRET_KEY,
    SKILL_FILE,
    TURNIPS,
    fields,
    linked,
    manifest,
    put,
    skill,
)

_TEMPLATES = f"""Log in with ${ENV_NAME}, ${{{ENV_NAME}}}, $({ENV_NAME}), %{ENV_NAME}%, {{{{ env.{ENV_NAME} }}}} or
{{{ENV_NAME}}}, whichever your shell knows. Then pull."""

# Keys of nobody, put together here so that no scanner finds them.
_TOKEN = "gh" + "p_" + "Qz8Rt5Wm" * 4 + "Lk7P"
_ROWS = tuple(f"{number:02d}Jk+vQ/{'mB7xR2tN' * 7}" for number in range(24))
_PRIVATE_KEY = (
    "-----BEGIN RSA PRIVATE"
    + " KEY-----\n"
    + "\n".join(_ROWS)
    + "\n-----END RSA PRIVATE KEY-----\n"
)


def _environment_as_content(root: Path) -> None:
    put(root, MANIFEST, fields("skillContent: .env\n"))
    put(root, f"{NAME}/.env", f"PASSWORD={FILE_CANARY}\n")


def _environment_behind_a_link(root: Path) -> None:
    put(root, MANIFEST, fields())
    put(root, f"{NAME}/.env", f"PASSWORD={FILE_CANARY}\n")
    linked(root, SKILL_FILE, ".env")


def _private_key_as_content(root: Path) -> None:
    put(root, MANIFEST, fields("skillContent: notes.md\n"))
    put(root, f"{NAME}/notes.md", _PRIVATE_KEY)


CASES = (
    accepted(
        "secret-name-with-live-value",
        manifest(
            f"name: secret-user\nkind: tool\ndescription: {TURNIPS}\nrequiredSecrets: [{ENV_NAME}]\n"
        ),
        indexed=("tool:secret-user",),
        unsaid=(ENV_CANARY,),
    ),
    rejected(
        "secret-value-in-required-secrets",
        "secret-value",
        manifest(fields(f"requiredSecrets: [{SECRET_KEY}]\n")),
        unsaid=(SECRET_KEY[:13],),
    ),
    warned(
        "secret-hard-coded-in-body",
        "hard-coded-secret",
        skill(f"Log in with {ACCESS_KEY} and pull."),
        neighbour="skill",
        untold=(ACCESS_KEY,),
    ),
    warned(
        "secret-token-printed-nowhere",
        "hard-coded-secret",
        skill(f"Pull with {_TOKEN}."),
        unsaid=(_TOKEN[:14],),
    ),
    warned(
        "secret-private-key-printed-nowhere",
        "hard-coded-secret",
        manifest(fields(f"instructions: {dumps('Pull. ' * 200 + _PRIVATE_KEY)}\n")),
        unsaid=_ROWS,
    ),
    warned(
        "secret-in-the-words-that-are-run",
        "hard-coded-secret",
        manifest(fields(f"run: {{command: [echo, '--token={_TOKEN}']}}\n")),
        unsaid=(_TOKEN[:14],),
    ),
    rejected("secret-file-as-content", "secret-file", _environment_as_content),
    rejected("secret-file-behind-a-link", "secret-file", _environment_behind_a_link),
    rejected("secret-key-file-as-content", "secret-file", _private_key_as_content, unsaid=_ROWS),
    accepted(
        "secret-template-expansion", skill(_TEMPLATES), neighbour="skill", unsaid=(ENV_CANARY,)
    ),
)
