"""Defines the errors that a caller can meet.

Each says what is wrong (`message`) and what to do next (`hint`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from capdisc_indexer.platforms import system

if TYPE_CHECKING:
    from capdisc_indexer.model.types import Finding

# What parsing raises for stored values of another shape than expected; some show only where they
# are used.
MALFORMED_DATA_ERRORS = (ValueError, LookupError, TypeError, AttributeError, RecursionError)


class CapdiscError(Exception):
    """Root of all expected errors; the command line turns each kind into its own exit code."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


# What ends a run wherever it is raised. Anything else that one file causes costs that file alone,
# also a panic of a library written in Rust, which is a BaseException.
ENDING_ERRORS = (
    KeyboardInterrupt,
    SystemExit,
    GeneratorExit,
    MemoryError,
    ImportError,
    CapdiscError,
)


class UsageError(CapdiscError):
    """The request itself is wrong: an unknown kind, an empty query, a budget that is too small."""


class InputError(CapdiscError):
    """A named file or folder cannot be read: a missing folder, a broken configuration."""


class IndexStateError(CapdiscError):
    """The index is missing, damaged, of another version, or cannot be written."""


class OlderIndexError(IndexStateError):
    """The index has the format of an earlier version; a build replaces it."""


class DamagedIndexError(IndexStateError):
    """The content of the index cannot be read; a build replaces it."""


class ForeignIndexError(IndexStateError):
    """The user's state does not record that this user built the index, so nothing in it is
    trusted.
    """

    def __init__(self, index_dir: str) -> None:
        super().__init__(
            f"the index in {index_dir} was not built by you",
            "build it: capdisc index; or see whose it is, and adopt it: "
            f"capdisc trust {system.quote_word(index_dir)}",
        )


class BusyError(CapdiscError):
    """Another process is writing this index and did not finish within the limit."""


class CoverageChangedError(BusyError):
    """Another process changed what the index covers after this one had read it."""


class OtherReleaseError(IndexStateError):
    """Another release of capdisc published the index that this process keeps up to date."""


class ManyChangesError(CapdiscError):
    """More files changed than a build was allowed to read; `paths` are all of them."""

    def __init__(self, paths: Sequence[str]) -> None:
        super().__init__(f"{len(paths):,} files changed", "run: capdisc index")
        self.paths = tuple(paths)


class UnusableFilesError(CapdiscError):
    """Nothing can be made of what some files hold; `findings` say why, by path."""

    def __init__(self, findings: Mapping[str, Finding]) -> None:
        finding = next(iter(findings.values()))
        super().__init__(f"{finding.path}: {finding.message}", finding.hint)
        self.findings = findings


class EncoderError(CapdiscError):
    """The encoder is missing or damaged; lexical search still works."""


class PluginError(CapdiscError):
    """A plug-in is missing, or cannot be loaded."""


class ApprovalRequiredError(CapdiscError):
    """The request needs the approval of a person, which was not given."""


class LinkRefusedError(CapdiscError):
    """A link is not followed: it leads out of its folder or to an address that is not public, or
    following it needs a permission.
    """


class WiderChangeError(Exception):
    """A change reaches more than the part of a tree that was checked; the text says how."""


def require_narrow_change(holds: bool, reason: str) -> None:
    """Raises WiderChangeError with this reason unless the condition holds."""
    if not holds:
        raise WiderChangeError(reason)
