"""What a store answers when it does not do what it was asked, as an error of ours."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from capdisc_indexer.errors import CapdiscError
from capdisc_indexer.remote.values import MissingError, Shared, StoreError

_ACCESS = "check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION and AWS_ENDPOINT_URL, and what they may do"


class NotModifiedError(Exception):
    """The object is still the version that was asked about."""


class ConditionError(Exception):
    """The condition of a write does not hold."""


@contextmanager
def said(shared: Shared, name: str) -> Iterator[None]:
    """Turns what a library throws about an object into an error of ours, which says no more than a status or a code:
    what libraries print may quote their options."""
    try:
        yield
    except (CapdiscError, ImportError, TypeError, AttributeError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:
        kind, text = type(error).__name__, str(error)
        if kind == "NotModifiedError":
            raise NotModifiedError from None
        if kind in ("AlreadyExistsError", "PreconditionError"):
            raise ConditionError from None
        if kind in ("NotSupportedError", "NotImplementedError") or "501 Not Implemented" in text:
            hint = "use a store that does: AWS S3, MinIO and Cloudflare R2 do"
            raise StoreError(f"the store of {shared.url} knows no conditional writes", hint) from None
        if isinstance(error, FileNotFoundError) and "NoSuchBucket" not in text:
            raise MissingError(f"there is no {shared.url}/{name}") from None
        raise StoreError(f"{shared.url} cannot be used: {_reason(error, text)}", _hint(shared, text)) from None


def _reason(error: BaseException, text: str) -> str:
    if isinstance(error, OSError) and not isinstance(error, FileNotFoundError) and error.filename:
        return f"{error.strerror}: {error.filename}"
    code = re.search(r"<Code>([A-Za-z]{1,60})</Code>", text)
    status = re.search(r"status code: (\d{3} [A-Za-z ]{1,40})", text)
    if code or status:
        return code[1] if code else status[1].strip() if status else ""
    if "builder error" in text:
        return "it is not reached by https"
    return "it does not answer" if re.search("HTTP error|timed out|timeout|metadata", text) else type(error).__name__


def _hint(shared: Shared, text: str) -> str:
    if "builder error" in text:
        return "use an endpoint with https, or set AWS_ALLOW_HTTP=true"
    if "169.254.169.254" in text:
        return "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_SKIP_SIGNATURE=true for a public bucket"
    return _ACCESS
