"""Which index on an object store is meant here, who may name one, and how it is reached."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from capdisc import output
from capdisc_indexer.config import Config
from capdisc_indexer.errors import RefusedError
from capdisc_indexer.remote.following import usable
from capdisc_indexer.remote.values import Access, Shared, address, folder_of, is_remote
from capdisc_indexer.settings import SETTINGS

if TYPE_CHECKING:
    from capdisc.runtime import Runtime

# What object_store takes, of what AWS's own tools take from the environment. No profile file is read.
_VARIABLES = (
    "AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN AWS_REGION AWS_DEFAULT_REGION AWS_ENDPOINT_URL "
    "AWS_WEB_IDENTITY_TOKEN_FILE AWS_ROLE_ARN AWS_ROLE_SESSION_NAME AWS_CONTAINER_CREDENTIALS_RELATIVE_URI "
    "AWS_CONTAINER_CREDENTIALS_FULL_URI AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE AWS_VIRTUAL_HOSTED_STYLE_REQUEST "
    "AWS_SKIP_SIGNATURE AWS_REQUEST_PAYER AWS_SERVER_SIDE_ENCRYPTION AWS_SSE_KMS_KEY_ID"
).split()


def meant(here: Runtime, named: str, origin: str, config: Config) -> Shared | None:
    """The shared index at the address `named`, which `origin` names ("": an option); None for what is a path.

    Raises UsageError for another kind of address, RefusedError where a file of the workspace names it and the user has
    not allowed that: a cloned repository must not make us use the network.
    """
    if not is_remote(named):
        return None
    bucket, prefix = address(named)
    access = _access(here.environ)
    cache = Path(here.environ.get("XDG_CACHE_HOME") or here.home / ".cache")
    found = Shared(
        bucket=bucket,
        prefix=prefix,
        top=folder_of(named, access.endpoint, cache),
        access=access,
        fresh_for_s=config["store.fresh_for"],
    )
    own = ("", SETTINGS["index_dir"].variable, str(here.user_config))
    is_refused = any(request.setting == "index_dir" for request in config.refused)
    if origin not in own and is_refused and not _allowed(found.url, config["store.allow"]):
        ways = f'export CAPDISC_INDEX_DIR={found.url}, or add [store] allow = ["{found.url}"] to {here.user_config}'
        what = f"{origin} names an index on a network, {found.url}, which only you may do"
        raise RefusedError(what, f"to use it: capdisc trust; or {ways}")
    return found


def _allowed(url: str, allowed: list[str]) -> bool:
    """Whether the address, or what it lies in, is among those that the user allowed."""
    return any(f"{url}/".startswith(f"{one.rstrip('/')}/") for one in allowed if one.startswith("s3://"))


def _access(environ: Mapping[str, str]) -> Access:
    options = {name.lower(): environ[name] for name in _VARIABLES if environ.get(name)}
    if environ.get("AWS_ENDPOINT_URL_S3"):
        options["aws_endpoint_url"] = environ["AWS_ENDPOINT_URL_S3"]
    return Access(options=options, allow_http=environ.get("AWS_ALLOW_HTTP", "").lower() in ("1", "true"))


def brought(shared: Shared) -> tuple[str, ...]:
    """The copy of the shared index made the published one; what is to be known of it, which is said, too."""
    notices = usable(shared)
    for text in notices:
        output.notice(f"notice: {text}")
    return notices


def others(shared: Shared) -> str:
    """What is to be said of an index that others write, before anything is run from it."""
    return f"it is a copy of {shared.url}, which others write"
