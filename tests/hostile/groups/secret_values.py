"""Names of secrets are fine; a secret, or what stands in the environment, must stay where it is."""

from __future__ import annotations

from hostile.case import accepted, rejected, warned
from hostile.writing import ACCESS_KEY, ENV_CANARY, ENV_NAME, SECRET_KEY, TURNIPS, fields, manifest, skill

_TEMPLATES = f"""Log in with ${ENV_NAME}, ${{{ENV_NAME}}}, $({ENV_NAME}), %{ENV_NAME}%, {{{{ env.{ENV_NAME} }}}} or
{{{ENV_NAME}}}, whichever your shell knows. Then pull."""

CASES = (
    accepted(
        "secret-name-with-live-value",
        manifest(f"name: secret-user\nkind: tool\ndescription: {TURNIPS}\nrequiredSecrets: [{ENV_NAME}]\n"),
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
    accepted("secret-template-expansion", skill(_TEMPLATES), neighbour="skill", unsaid=(ENV_CANARY,)),
)
