"""Which index on an object store a command uses, who may name one, how it is reached, and how its
copy here is kept the generation that is published.

A command whose copy is fresh imports nothing that looks at the store, or copies from it: that is
imported where it is used.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from capdisc.output import console
from capdisc_indexer.config.configuration import Config
from capdisc_indexer.config.settings import SETTINGS
from capdisc_indexer.model.errors import ApprovalRequiredError, BusyError, IndexStateError
from capdisc_indexer.store import durable_files, generation
from capdisc_indexer.store.shared_index import SharedIndex, StoreAccess
from capdisc_remote.store_layout import (
    MissingObjectError,
    PointerVersion,
    StoreError,
    cache_folder,
    parse_address,
)

if TYPE_CHECKING:
    from capdisc.context.surroundings import Runtime
    from capdisc_indexer.diagnosis.surroundings import Check
    from capdisc_indexer.indexing.build_request import Progress
    from capdisc_indexer.model.types import BuildOptions, BuildReport
    from capdisc_indexer.store.snapshot import Index
    from capdisc_remote.bucket import Bucket

_MAX_TRIES = 3
_WAIT_SECONDS = 60.0
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
    """Bring the copy of the shared index up to date; one that was damaged here is copied again.
    Returns the notices about it, which are printed, too.
    """
    notices = refresh_copy(shared)
    try:
        generation.load_current(shared.copy)
    except IndexStateError:
        notices = refresh_copy(shared, force=True)
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


# The copy of a shared index.


def refresh_copy(shared: SharedIndex, force: bool = False) -> tuple[str, ...]:
    """Makes the copy the published generation, with one small request where it is that already.
    Gives notices for the user, where an older copy has to answer.

    With `force` it is copied again whatever is there. Raises StoreError where there is no copy and
    none can be had, IndexStateError where nothing is published.
    """
    if not force and _is_fresh(shared):
        return ()
    try:
        _update_copy(shared, force)
    except (StoreError, BusyError, IndexStateError) as error:
        if not generation.read_pointer(shared.copy) or force:
            raise
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(_last_check_time(shared)))
        return (f"{error.message}; answering from the copy of {when}",)
    return ()


def _update_copy(shared: SharedIndex, force: bool) -> None:
    from capdisc_remote.bucket import Bucket

    bucket, local_pointer = Bucket(shared), generation.read_pointer(shared.copy)
    last_seen = None if force else _load_last_seen(shared)
    for attempt in range(1, _MAX_TRIES + 1):
        is_copied = last_seen is not None and local_pointer and last_seen.text == local_pointer
        pointer = _read_pointer(bucket, shared, last_seen.etag if last_seen and is_copied else "")
        try:
            if pointer is not None and (pointer.text != local_pointer or force):
                _download_copy(bucket, pointer, shared, force)
        except MissingObjectError as error:
            # A writer may have removed it, because it has published newer ones: look again.
            if attempt == _MAX_TRIES:
                hint = "whoever builds it runs: capdisc index --rebuild"
                raise IndexStateError(
                    f"the shared index is incomplete: {error.message}", hint
                ) from error
            last_seen = None
            continue
        _save_last_seen(shared, pointer)
        return


def _read_pointer(bucket: Bucket, shared: SharedIndex, known_etag: str) -> PointerVersion | None:
    try:
        return bucket.read_pointer(known_etag)
    except MissingObjectError as error:
        hint = f"whoever builds it runs: capdisc index PATH --index-dir {shared.url}"
        raise IndexStateError(f"there is no index at {shared.url} yet", hint) from error


def _download_copy(
    bucket: Bucket, pointer: PointerVersion, shared: SharedIndex, force: bool
) -> None:
    from capdisc_indexer.store import locks
    from capdisc_remote.remote_generation import download_generation

    with locks.write_lock(shared.copy, _WAIT_SECONDS):
        # Another command may have been quicker.
        if force or generation.read_pointer(shared.copy) != pointer.text:
            download_generation(bucket, pointer.text, shared.copy)


def _last_seen_path(shared: SharedIndex) -> Path:
    return shared.top / "SEEN"


def _load_last_seen(shared: SharedIndex) -> PointerVersion | None:
    """The pointer as it was when somebody last looked; None where no such record can be read."""
    try:
        record = json.loads(_last_seen_path(shared).read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(record, dict) or not isinstance(record.get("etag"), str):
        return None
    return PointerVersion(text=str(record.get("text")), etag=record["etag"])


def _save_last_seen(shared: SharedIndex, pointer: PointerVersion | None) -> None:
    """Records the pointer, or with None that it has not changed. The time of the file says when; a
    record that is lost costs a request.
    """
    path = _last_seen_path(shared)
    with suppress(OSError):
        if pointer is None:
            os.utime(path)
            return
        record = json.dumps({"etag": pointer.etag, "text": pointer.text})
        durable_files.replace_file(path, record.encode())


def _last_check_time(shared: SharedIndex) -> float:
    try:
        return _last_seen_path(shared).stat().st_mtime
    except OSError:
        return 0.0


def _is_fresh(shared: SharedIndex) -> bool:
    if not shared.fresh_for_s or not generation.read_pointer(shared.copy):
        return False
    return 0 <= time.time() - _last_check_time(shared) < shared.fresh_for_s
