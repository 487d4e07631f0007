"""Which index on an object store a command uses, who may name one, and how it is reached."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from capdisc.output import console
from capdisc_indexer.config.configuration import Config
from capdisc_indexer.config.settings import SETTINGS
from capdisc_indexer.model.errors import ApprovalRequiredError
from capdisc_indexer.store.shared_index import SharedIndex, StoreAccess
from capdisc_remote.copy_refresh import ensure_usable_copy, refresh_copy
from capdisc_remote.store_layout import cache_folder, parse_address

if TYPE_CHECKING:
    from capdisc.context.surroundings import Runtime
    from capdisc_indexer.diagnosis.surroundings import Check
    from capdisc_indexer.indexing.file_reader import Progress
    from capdisc_indexer.model.types import BuildOptions, BuildReport
    from capdisc_indexer.store.snapshot import Index

__all__ = ["refresh_copy"]
# The variables of AWS's own tools that object_store understands. No profile file is read.
_STORE_VARIABLES = (
    "AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN AWS_REGION AWS_DEFAULT_REGION AWS_ENDPOINT_URL "
    "AWS_WEB_IDENTITY_TOKEN_FILE AWS_ROLE_ARN AWS_ROLE_SESSION_NAME AWS_CONTAINER_CREDENTIALS_RELATIVE_URI "
    "AWS_CONTAINER_CREDENTIALS_FULL_URI AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE AWS_VIRTUAL_HOSTED_STYLE_REQUEST "
    "AWS_SKIP_SIGNATURE AWS_REQUEST_PAYER AWS_SERVER_SIDE_ENCRYPTION AWS_SSE_KMS_KEY_ID"
).split()


def resolve_shared_index(
    runtime: Runtime, address: str, origin: str, config: Config
) -> SharedIndex:
    """The shared index at this address. `origin` is where the address comes from ("": an option).

    Raises UsageError for another kind of address, ApprovalRequiredError where a file of the
    workspace names it and the user has not allowed that: a cloned repository must not make us use
    the network.
    """
    bucket, prefix = parse_address(address)
    access = _store_access(runtime.environ)
    shared = SharedIndex(
        bucket=bucket,
        prefix=prefix,
        top=cache_folder(address, access.endpoint, runtime.user_folder("cache")),
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
        setting = f'[store] allow = ["{shared.url}"]'
        raise ApprovalRequiredError(
            f"{origin} names an index on a network, {shared.url}, which only you may do",
            f"to use it: capdisc trust; or export CAPDISC_INDEX_DIR={shared.url}, "
            f"or add {setting} to {runtime.user_config}",
        )
    return shared


def _is_allowed(url: str, allowed: list[str]) -> bool:
    """Whether the user has allowed the address, or one that it lies below."""
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
    """Bring the copy of the shared index up to date. Returns the notices about it, which are
    printed, too.
    """
    notices = ensure_usable_copy(shared)
    for text in notices:
        console.print_notice(f"notice: {text}")
    return notices


def open_in_place(shared: SharedIndex) -> Index:
    """The published generation, read where it lies."""
    from capdisc_remote.remote_generation import InPlaceIndex

    return InPlaceIndex(shared)


def build_shared_index(
    shared: SharedIndex,
    build: Callable[[Path], BuildReport],
    options: BuildOptions,
    progress: Progress,
) -> BuildReport:
    """The report of a build that was published in the store; see `shared_build`."""
    from capdisc_remote import shared_build

    return shared_build.build_shared_index(shared, build, options, progress)


def examine_shared_index(shared: SharedIndex, deep: bool) -> Iterator[Check]:
    """The checks of the store and of the copy; see `store_checks`."""
    from capdisc_remote import store_checks

    return store_checks.examine_shared_index(shared, deep)
