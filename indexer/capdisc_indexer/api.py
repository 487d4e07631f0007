r"""The front door of the library: build an index, open it, ask it, and check files.

>>> import tempfile, pathlib
>>> import capdisc_indexer as cd
>>> skills = pathlib.Path(tempfile.mkdtemp())
>>> (skills / "merge-pdfs").mkdir()
>>> _ = (skills / "merge-pdfs" / "SKILL.md").write_text(
...     "---\nname: merge-pdfs\ndescription: Puts several PDF files into one.\n---\nRun qpdf.\n"
... )
>>> report = cd.build([skills], skills / ".index")
>>> report.counts["capabilities"]
1
>>> with cd.open_index(skills / ".index") as index:
...     [hit.id for hit in index.search("join two PDF documents").hits]
...     index.render("join two PDF documents", budget=300).tokens <= 300
...     index.show("merge-pdfs").description
['skill:merge-pdfs']
True
'Puts several PDF files into one.'
>>> [finding.code for finding in cd.validate([skills]).chosen.findings]
[]

Nothing here prints, reads an environment variable or a home folder, or opens a connection. Errors
are subclasses of `CapdiscError` with a `message` and a `hint`. Modules are imported when a
function first needs them: `import capdisc_indexer` alone takes a millisecond.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Sequence
from functools import cached_property
from pathlib import Path, PurePath
from types import TracebackType
from typing import TYPE_CHECKING

from capdisc_indexer import encoders
from capdisc_indexer.encoders import Encoder
from capdisc_indexer.model.frozen import frozen, replace
from capdisc_indexer.model.json_types import CapabilityHeader
from capdisc_indexer.model.types import (
    Budgets,
    BuildOptions,
    BuildReport,
    Context,
    DeclaredSource,
    Descriptor,
    LinkRules,
    Query,
    Ranking,
    RankingChoices,
    Verdict,
)

if TYPE_CHECKING:
    from capdisc_indexer.indexing.build_request import Progress
    from capdisc_indexer.store.snapshot import Index
    from capdisc_indexer.validation.finding_selection import RuleChoice
    from capdisc_indexer.validation.validate import MapFiles, ValidationResult
    from capdisc_indexer.watching import WatchOptions, WatchUpdate

PathLike = Path | str


def build(
    roots: Iterable[PathLike],
    index_dir: PathLike,
    options: BuildOptions | None = None,
    progress: Progress | None = None,
) -> BuildReport:
    """What a build did: the generation, counts, findings of files, seconds.

    Reads the folders and files of `roots`, and publishes a new generation in `index_dir` where
    anything changed; files that did not change are not read again. `progress` is called with a
    stage, how many are done, and of how many.

    Raises InputError for a root that does not exist, BusyError while another process writes,
    IndexStateError where the disk refuses or `options` forbid a rebuild that is needed.
    """
    from capdisc_indexer.indexing.pipeline import build_index

    paths = [Path(root) for root in roots]
    chosen = options or BuildOptions()
    if progress is None:
        return build_index(paths, Path(index_dir), chosen)
    return build_index(paths, Path(index_dir), chosen, progress)


def open_index(
    index_dir: PathLike,
    *,
    builder_id: str | None = None,
    encoder: Encoder | str | None = "auto",
) -> OpenIndex:
    """The published generation of an index, open until it is closed (use `with`).

    `encoder` is a loaded one, a name, "auto" for the one that the index was built with, or None to
    search by words alone. With `builder_id`, an index that another user built is refused.

    Raises IndexStateError where there is no index or it is damaged, ForeignIndexError where
    somebody else built it.
    """
    from capdisc_indexer.store.snapshot import Index

    return OpenIndex(Index(Path(index_dir), builder_id), encoder)


@frozen(kw_only=True)
class RenderedContext:
    """A context as text. `tokens` is the exact count of `text` by the tokenizer that was named,
    and never more than the budget; `context` has its tiers, what was cut and what was left out;
    `gate` says whether the text was taken for a request.
    """

    text: str
    tokens: int
    context: Context
    gate: Verdict | None = None


class OpenIndex:
    """An index that is open: it answers from one generation, which stays on disk until `close`."""

    def __init__(self, index: Index, encoder: Encoder | str | None = "auto") -> None:
        self.index = index
        self._encoder_choice = encoder

    def __enter__(self) -> OpenIndex:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.index.__exit__(kind, error, trace)

    def close(self) -> None:
        """Let the generation go; a later build may then remove it."""
        self.index.close()

    def search(
        self,
        text: str | Sequence[str],
        *,
        limit: int = 10,
        kinds: Sequence[str] = (),
        categories: Sequence[str] = (),
        tags: Sequence[str] = (),
        mode: str = "auto",
        is_available: Callable[[CapabilityHeader], bool] | None = None,
    ) -> Ranking:
        """The capabilities that fit the text, best first; no hits where nothing does.

        Several texts are fused into one ranking. A hit's `score` (0..1) orders this ranking, its
        `relevance` (0..1) is absolute; `confidence` (0..1) is that the first hit is right.
        `mode` is auto, hybrid, lexical, vector, no-graph or rerank. With `is_available`,
        capabilities for whose header it returns False are left out. What could not be used is
        named in `degraded`. `gate.fits` is False where nothing fits, and `gate.is_request` where
        the text is talk ("thanks!"), too: an agent then needs no hit.

        Raises UsageError for an empty text.
        """
        query = Query(
            texts=(text,) if isinstance(text, str) else tuple(text),
            kinds=tuple(kinds),
            categories=tuple(categories),
            tags=tuple(tags),
            available=is_available is not None,
            limit=limit,
        )
        return self.search_query(query, mode, is_available)

    def search_query(
        self,
        query: Query,
        mode: str = "auto",
        is_available: Callable[[CapabilityHeader], bool] | None = None,
    ) -> Ranking:
        """The same for a query that is put together already."""
        from capdisc_indexer.retrieval.pipeline import search_index

        encoder, problem = (None, "") if mode == "lexical" else self._encoder
        ranking = search_index(self.index, query, encoder, mode, is_available)
        if problem and ranking.degraded:
            return replace(ranking, degraded=(*ranking.degraded, problem))
        return ranking

    def render(
        self,
        text: str,
        *,
        budget: int = Budgets().total,
        format: str = "text",
        limit: int | None = None,
        kinds: Sequence[str] = (),
        categories: Sequence[str] = (),
        levels: Sequence[int] = (0, 1, 2),
        mode: str = "auto",
        tokenizer: str = "o200k",
        mark_key: bytes = b"",
        gate: str = "auto",
        workspace: PathLike | None = None,
    ) -> RenderedContext:
        """What an agent should read about the text, within `budget` tokens.

        `levels` are 0 for the overview of all categories, 1 for a line for each hit, 2 for the
        best hits in full; `format` is a name of `rendering.formats.FORMATS`. What others wrote
        stands in frames whose marks are made with `mark_key` (1 to 64 bytes): give the same key
        to get the same bytes, or none for a random one, which nobody can imitate. At most `limit`
        hits are shown (None: as many as the budget has lines for), and none of little relevance.
        With `gate` "auto", talk ("thanks!") gets no hits but the overview, if `levels` has it;
        with "off" it is answered too. Paths of files below `workspace` are printed relative to it.

        Raises UsageError for an empty text, an unknown gate, format or tokenizer, and a budget
        that has no room for anything.
        """
        from capdisc_indexer.rendering.formats.text import MARK_KEY_BYTES
        from capdisc_indexer.rendering.index_context import render_ranking
        from capdisc_indexer.rendering.render_job import count_lines
        from capdisc_indexer.retrieval.verdict import (
            OFF,
            check_gate_mode,
            drop_hits_of_talk,
            select_context_hits,
        )

        check_gate_mode(gate)
        most = count_lines(budget) if limit is None else limit
        query = Query(
            texts=(text,),
            kinds=tuple(kinds),
            categories=tuple(categories),
            limit=most,
            choices=RankingChoices(refuses=gate != OFF),
        )
        ranking = drop_hits_of_talk(self.search_query(query, mode))
        hits = select_context_hits(ranking.hits, with_distant_hits=True)
        ranking = replace(ranking, hits=hits)
        key = mark_key or os.urandom(MARK_KEY_BYTES)
        base = PurePath(workspace) if workspace else None
        printed, context = render_ranking(
            self.index, ranking, budget, format, tuple(levels), tokenizer, key, most, base
        )
        return RenderedContext(
            text=printed, tokens=context.tokens, context=context, gate=ranking.gate
        )

    def show(self, name: str) -> Descriptor:
        """The whole capability with this id or name. Raises UsageError with the nearest ids where
        there is none.
        """
        return self.index.descriptor(name)

    @cached_property
    def _encoder(self) -> tuple[Encoder | None, str]:
        """The encoder, and why there is none."""
        choice = self._encoder_choice
        if choice is None or not isinstance(choice, str):
            return choice, ""
        name = self.index.generation.encoder if choice == "auto" else choice
        return encoders.try_load_encoder(name) if name else (None, "")


def validate(
    paths: Iterable[PathLike],
    profile: str = "spec",
    choice: RuleChoice | None = None,
    declared: Sequence[DeclaredSource] = (),
    map_files: MapFiles = map,
    links: LinkRules | None = None,
) -> ValidationResult:
    """What is wrong with the files and folders: `chosen.findings` by path, line and column.

    `profile` says whose rules count, a name of `validation.rules.PROFILES`. A path that
    is not there is named in `problems`, and costs no other. `choice` selects and ignores
    rules (None: all count), `declared` are sources besides the paths, and `map_files` says how
    files are checked: `map`, or the same of a pool of processes. `links` says which links out of
    the paths are followed (None: no link).
    """
    from capdisc_indexer.validation.finding_selection import ALL_RULES
    from capdisc_indexer.validation.rules import find_profile
    from capdisc_indexer.validation.validate import validate_roots

    return validate_roots(
        [Path(path) for path in paths],
        find_profile(profile),
        choice or ALL_RULES,
        declared,
        map_files,
        links or LinkRules(),
    )


def watch(
    roots: Iterable[PathLike],
    index_dir: PathLike,
    build_options: BuildOptions | None = None,
    options: WatchOptions | None = None,
) -> Generator[WatchUpdate, None, None]:
    """An update for each time the index was brought up to date, the first one at once.

    Runs until it is closed. Raises at the first step what `build` raises; a later failure is a
    notice of an update, and the build is tried again.
    """
    from capdisc_indexer.watching import WatchOptions, watch

    return watch(
        [Path(root) for root in roots],
        Path(index_dir),
        build_options or BuildOptions(),
        options or WatchOptions(),
    )
