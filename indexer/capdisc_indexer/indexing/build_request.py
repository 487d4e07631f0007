"""What a build is asked for, and what the last one of the same request left behind."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias, TypedDict

from capdisc_indexer import encoders
from capdisc_indexer.encoders import Encoder
from capdisc_indexer.indexing.previous_build import FileStamp
from capdisc_indexer.model.errors import EncoderError
from capdisc_indexer.model.frozen import frozen, replace
from capdisc_indexer.model.types import BuildOptions, Coverage, Finding, Generation
from capdisc_indexer.platforms import resolve_path
from capdisc_indexer.sources.scan.file_scan import ScanResult, scan_roots

# Called with the stage of a build, how many of its steps are done, and how many there are.
Progress: TypeAlias = Callable[[str, int, int], None]
# How the notice on a generation without vectors of a reranker begins.
NOT_RERANKED = "hits are not reranked by "
# Findings of a scan about names, which change with the stamps of their folders alone.
ABOUT_NAMES = frozenset({"misnamed-manifest", "path-character", "path-too-deep", "path-twin"})


@frozen(kw_only=True)
class BuildRequest:
    """Which folders to bring the index in `index_dir` up to date with, and how."""

    roots: Sequence[Path]
    index_dir: Path
    options: BuildOptions
    progress: Progress

    @property
    def root_names(self) -> tuple[str, ...]:
        """The roots as text."""
        return tuple(map(Path.as_posix, self.roots))

    @property
    def coverage(self) -> Coverage:
        """What the options say that the index covers; the roots where they say nothing."""
        return self.options.coverage or Coverage(added=self.root_names)


@frozen(kw_only=True)
class SelectedEncoder:
    """The encoder of a build; None, with a notice, where the one of this name cannot be used."""

    name: str
    encoder: Encoder | None = None
    notices: tuple[str, ...] = ()

    @property
    def fingerprint(self) -> str:
        """The encoder's fingerprint, "" without an encoder."""
        return self.encoder.fingerprint if self.encoder else ""


class TreeRecord(TypedDict):
    """What a build leaves behind with the stamps: a digest of its request, the counts and errors
    of a build that finds no change, the folders with findings about names, and the stamps of the
    generation's files.
    """

    key: str
    counts: Mapping[str, int]
    errors: Sequence[Finding]
    named: Sequence[str]
    stored: Mapping[str, FileStamp]


@frozen(kw_only=True)
class TreeComparison:
    """What the stamps show: the paths of files and folders that `changed` since the `published`
    generation was built; and what the build left behind for this request, which is the same as
    then.
    """

    request: BuildRequest
    published: Generation
    selected: SelectedEncoder
    record: TreeRecord
    changed: tuple[str, ...]
    compared_at_ns: int


def select_encoder(options: BuildOptions, previous_encoder: str) -> SelectedEncoder:
    """The encoder that the options name, else the last build's, else the shipped one, with its
    digest checked.

    Raises EncoderError when it cannot be used and is required.
    """
    name = options.encoder or previous_encoder or encoders.SHIPPED_ENCODER
    try:
        encoder = encoders.load_encoder(name)
        encoder.check()
    except EncoderError as error:
        if options.encoder_required:
            raise
        notice = f"{error.message}; search will use words alone ({error.hint})"
        return SelectedEncoder(name=name, notices=(notice,))
    return SelectedEncoder(name=name, encoder=encoder)


def describe_reranker(published: Generation, problem: str = "") -> tuple[str, ...]:
    """The notice on what is not reranked, given the `problem` of the build that tried it; nothing
    where all is. Without a `problem` the model is not loaded again, which may take seconds.
    """
    if not problem and published.reranker and not published.reranker_fingerprint:
        problem = "it has made no vectors; when it can be used, run: capdisc index --rebuild"
    return (f"{NOT_RERANKED}{published.reranker}: {problem}",) if problem else ()


def describe_request(request: BuildRequest) -> str:
    """All that a report depends on besides the tree and the generation."""
    options = replace(
        request.options,
        lock_timeout_s=0.0,
        max_changes=None,
        encoder_required=False,
        last_coverage=None,
        same_release=False,
        seeds=(),
        only_new_findings=False,
        rebuild=False,
        verify=False,
    )
    real_roots = [resolve_path(root) for root in request.root_names]
    declared = scan_declared_sources(request)
    text = repr((request.root_names, real_roots, options, declared))
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()


def scan_declared_sources(request: BuildRequest) -> ScanResult:
    """The files of the declared sources now. Raises InputError for an invalid declaration."""
    options = request.options
    return scan_roots([], options.sources, None, options.confined, options.links)
