"""Which index on an object store is meant here, who may name one, and how it is reached."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from capdisc.output import console
from capdisc_indexer.config.configuration import Config
from capdisc_indexer.config.settings import SETTINGS
from capdisc_indexer.model.errors import ApprovalRequiredError
from capdisc_indexer.remote.copy_refresh import ensure_usable_copy
from capdisc_indexer.remote.remote_types import (
    SharedIndex,
    StoreAccess,
    cache_folder,
    is_remote,
    parse_address,
)

if TYPE_CHECKING:
    from capdisc.context.surroundings import Runtime

# What object_store takes, of what AWS's own tools take from the environment. No profile file is
# read.
_STORE_VARIABLES = (
    "AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN AWS_REGION AWS_DEFAULT_REGION AWS_ENDPOINT_URL "
    "AWS_WEB_IDENTITY_TOKEN_FILE AWS_ROLE_ARN AWS_ROLE_SESSION_NAME AWS_CONTAINER_CREDENTIALS_RELATIVE_URI "
    "AWS_CONTAINER_CREDENTIALS_FULL_URI AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE AWS_VIRTUAL_HOSTED_STYLE_REQUEST "
    "AWS_SKIP_SIGNATURE AWS_REQUEST_PAYER AWS_SERVER_SIDE_ENCRYPTION AWS_SSE_KMS_KEY_ID"
).split()


def resolve_shared_index(
    runtime: Runtime, named: str, origin: str, config: Config
) -> SharedIndex | None:
    """The shared index at the address `named`, which `origin` names ("": an option); None for what
    is a path.

    Raises UsageError for another kind of address, RefusedError where a file of the workspace names
    it and the user has not allowed that: a cloned repository must not make us use the network.
    """
    if not is_remote(named):
        return None
    bucket, prefix = parse_address(named)
    access = _store_access(runtime.environ)
    cache = Path(runtime.environ.get("XDG_CACHE_HOME") or runtime.home / ".cache")
    shared = SharedIndex(
        bucket=bucket,
        prefix=prefix,
        top=cache_folder(named, access.endpoint, cache),
        access=access,
        fresh_for_s=config["store.fresh_for"],
    )
    user_origins = ("", SETTINGS["index_dir"].variable, str(runtime.user_config))
    is_refused = any(request.setting == "index_dir" for request in config.refused)
    if (
        origin not in user_origins
        and is_refused
        and not _is_allowed(shared.url, config["store.allow"])
    ):
        ways = f'export CAPDISC_INDEX_DIR={shared.url}, or add [store] allow = ["{shared.url}"] to {runtime.user_config}'
        what = f"{origin} names an index on a network, {shared.url}, which only you may do"
        raise ApprovalRequiredError(what, f"to use it: capdisc trust; or {ways}")
    return shared


def _is_allowed(url: str, allowed: list[str]) -> bool:
    """Whether the address, or what it lies in, is among those that the user allowed."""
    return any(
        f"{url}/".startswith(f"{allowed_url.rstrip('/')}/")
        for allowed_url in allowed
        if allowed_url.startswith("s3://")
    )


def _store_access(environ: Mapping[str, str]) -> StoreAccess:
    options = {name.lower(): environ[name] for name in _STORE_VARIABLES if environ.get(name)}
    if environ.get("AWS_ENDPOINT_URL_S3"):
        options["aws_endpoint_url"] = environ["AWS_ENDPOINT_URL_S3"]
    return StoreAccess(
        options=options, allow_http=environ.get("AWS_ALLOW_HTTP", "").lower() in ("1", "true")
    )


def sync_copy(shared: SharedIndex) -> tuple[str, ...]:
    """The copy of the shared index made the published one; what is to be known of it, which is
    said, too.
    """
    notices = ensure_usable_copy(shared)
    for text in notices:
        console.print_notice(f"notice: {text}")
    return notices


def provenance_warning(shared: SharedIndex) -> str:
    """What is to be said of an index that others write, before anything is run from it."""
    return f"it is a copy of {shared.url}, which others write"
