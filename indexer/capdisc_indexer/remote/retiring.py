"""Old generations in the store, removed once nobody can need them."""

from __future__ import annotations

import re
from datetime import timedelta

from capdisc_indexer.remote import layout
from capdisc_indexer.remote.bucket import POINTER, Bucket

KEPT = 3
# What is younger than this, by the store's own clock, may be another writer's that is not done.
_GRACE = timedelta(hours=1)
_FOLDER = re.compile(r"generations/(\d{8})-[0-9a-f]{16}")


def retire(bucket: Bucket, number: int) -> None:
    """Remove the generations that nobody needs: not of the newest three up to `number`, and not touched for an hour.

    A reader that is still copying one of them starts again with the newest. Raises StoreError.
    """
    now = next((each["last_modified"] for each in bucket.listed("")[1] if each["path"] == POINTER), None)
    folders = [name for name in bucket.listed(layout.GENERATIONS)[0] if _FOLDER.fullmatch(name)]
    kept = set(sorted(name for name in folders if _number(name) <= number)[-KEPT:])
    for folder in folders:
        if folder not in kept and now is not None:
            _retire_one(bucket, f"{folder}/", now - _GRACE)


def _number(folder: str) -> int:
    found = _FOLDER.fullmatch(folder)
    return int(found[1]) if found else 0


def _retire_one(bucket: Bucket, folder: str, before: object) -> None:
    objects = bucket.below(folder)
    if all(each["last_modified"] < before for each in objects):
        bucket.remove([each["path"] for each in objects])


def removed(bucket: Bucket, folder: str) -> None:
    """Remove every object below the folder ("…/")."""
    bucket.remove([each["path"] for each in bucket.below(folder)])
