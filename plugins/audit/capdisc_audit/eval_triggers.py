"""`capdisc eval --triggers`: the requests of the capabilities themselves as tests, and what
changed since a commit.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated

from capdisc.args.command_line import option
from capdisc.context import open_index, query_execution, surroundings, user_files
from capdisc.output import command_process, console
from capdisc.output.command_process import ExitCode
from capdisc_audit.triggers import (
    FAILING_NEW,
    NOBODY,
    WORSE,
    TriggerChanges,
    TriggerFigures,
    TriggerResult,
    TriggerTest,
    collect_tests,
    compare_results,
    count_confusions,
    figures_by_capability,
    parse_trigger_file,
    run_tests,
)
from capdisc_indexer.encoders import SHIPPED_ENCODER, try_load_encoder
from capdisc_indexer.indexing.pipeline import build_index
from capdisc_indexer.model.errors import InputError, UsageError
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.json_types import CapabilityHeader, JsonObject
from capdisc_indexer.model.types import BuildOptions
from capdisc_indexer.store.snapshot import Index
from capdisc_indexer.text.normalization import one_line

_SHOWN_CONFUSIONS = 10


@frozen(kw_only=True)
class TriggerOptions:
    """The options of `eval` that go with `--triggers`, as they were typed."""

    triggers: Annotated[
        bool,
        option(
            "--triggers",
            help="Ask the phrases of the capabilities themselves, and near misses; or the requests "
            "of files.",
            panel="Triggers",
        ),
    ] = False
    since: Annotated[
        str,
        option(
            "--since",
            metavar="REV",
            help="Also ask the files of this commit, and fail for what got worse.",
            panel="Triggers",
        ),
    ] = ""
    min_precision: Annotated[
        float | None,
        option(
            "--min-precision",
            metavar="PERCENT",
            min=0,
            max=100,
            help="The least of each capability [100].",
            panel="Triggers",
        ),
    ] = None
    min_recall: Annotated[
        float | None,
        option(
            "--min-recall",
            metavar="PERCENT",
            min=0,
            max=100,
            help="The least of each capability [100].",
            panel="Triggers",
        ),
    ] = None

    @property
    def typed_without_triggers(self) -> str:
        """The first option that needs `--triggers`, "" where none is typed."""
        typed = {
            "--since": self.since,
            "--min-precision": self.min_precision is not None,
            "--min-recall": self.min_recall is not None,
        }
        return next((name for name, value in typed.items() if value), "")


@frozen(kw_only=True)
class TriggerRun:
    """What was asked, and what came of it. `untested` are the capabilities without a request of
    their own; `changes` is None without `--since`.
    """

    results: Sequence[TriggerResult]
    capabilities: Sequence[TriggerFigures]
    untested: Sequence[str]
    limit: int
    degraded: tuple[str, ...]
    changes: TriggerChanges | None

    @property
    def total(self) -> TriggerFigures:
        """The figures over all tests."""
        return TriggerFigures("all", self.results)

    @property
    def refusals(self) -> Sequence[TriggerResult]:
        """The tests whose request nothing here should answer."""
        return [result for result in self.results if result.test.id == NOBODY]

    @property
    def alarms(self) -> Sequence[TriggerResult]:
        """Those of them that were answered."""
        return [result for result in self.refusals if not result.has_passed]


_SUFFIXES = (".json", ".jsonl", ".yaml", ".yml")


def evaluate_triggers(
    options: TriggerOptions,
    names: Sequence[str],
    mode: str | None,
    encoder_name: str | None,
    limit: int,
    index_dir: Path | None,
    quiet: bool,
    json: bool,
) -> int:
    """Ask the tests, print the result, and return the exit code: FINDINGS where a capability is
    below a threshold, or with `--since` and no threshold where a test fails that passed.
    """
    runtime = surroundings.current_runtime()
    with (
        ExitStack() as stack,
        command_process.silence_native_stderr(),
        console.progress_bar(runtime.stderr_is_terminal and not (quiet or json)) as progress,
    ):
        places = [runtime.expand(Path(name)) for name in names]
        folders = [place for place in places if place.is_dir()]
        files = [place for place in places if place not in folders]
        if len(folders) > 1 or (folders and files):
            raise UsageError(
                "name files, or one folder", "several folders: capdisc index, then no name"
            )
        if not folders:
            ctx = stack.enter_context(open_index.open_index(index_dir))
            index, roots = ctx.index, [Path(root) for root in ctx.index.scan.get("roots", ())]
            chosen_mode = query_execution.retrieval_mode(ctx, mode, answers_many=True)
            encoder, failure = query_execution.try_load_encoder(ctx, encoder_name)
            name = index.generation.encoder
        else:
            config = runtime.config()
            name = runtime.encoder_name(encoder_name or config["encoder"]) or SHIPPED_ENCODER
            encoder, failure = try_load_encoder(name)
            chosen_mode, roots = query_execution.check_mode(mode or config["mode"]), folders
            index = stack.enter_context(_temporary_index(roots, name))
        headers = list(index.documents.all_headers())
        tests = _load_tests(runtime, index, headers, files)
        results, degraded = run_tests(index, tests, encoder, chosen_mode, limit, progress)
        changes = None
        if options.since:
            before = stack.enter_context(_index_of_revision(options.since, roots, name))
            ids_before = [header["id"] for header in before.documents.all_headers()]
            earlier, _ = run_tests(before, tests, encoder, chosen_mode, limit, progress)
            ids = [header["id"] for header in headers]
            changes = compare_results(results, earlier, ids, ids_before)
        tested = {test.id for test in tests if test.should_trigger}
        run = TriggerRun(
            results=results,
            capabilities=figures_by_capability(results),
            untested=[
                header["id"]
                for header in (() if files else headers)
                if header["id"] not in tested and not header.get("hidden")
            ],
            limit=limit,
            degraded=tuple(f"{text} ({failure})" if failure else text for text in degraded),
            changes=changes,
        )
    failing = find_failing(run, options)
    if json:
        console.print_document(_run_document(run, options, failing))
    else:
        console.print_lines(_format_run(run, options, failing, runtime.colour))
    if not quiet:
        _print_notices(run)
    has_regressions = bool(changes and (changes[WORSE] or changes[FAILING_NEW]))
    is_compared = bool(changes) and options.min_precision is None and options.min_recall is None
    return ExitCode.FINDINGS if (has_regressions if is_compared else failing) else ExitCode.OK


def find_failing(run: TriggerRun, options: TriggerOptions) -> list[str]:
    """The ids of the capabilities that are below a threshold, or the others' requests trigger."""
    least_precision, least_recall = (
        1.0 if least is None else least / 100
        for least in (options.min_precision, options.min_recall)
    )
    return [
        figures.id
        for figures in run.capabilities
        if (1.0 if figures.recall is None else figures.recall) < least_recall
        or (1.0 if figures.precision is None else figures.precision) < least_precision
    ]


@contextmanager
def _temporary_index(roots: Sequence[Path], encoder: str) -> Iterator[Index]:
    """An index of these folders alone, which is gone afterwards."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix="capdisc-triggers-") as scratch:
        build_index(roots, Path(scratch, "index"), BuildOptions(encoder=encoder or None))
        with Index(Path(scratch, "index")) as index:
            yield index


# The tests.


def _load_tests(
    runtime: surroundings.Runtime,
    index: Index,
    headers: Sequence[CapabilityHeader],
    files: Sequence[Path],
) -> list[TriggerTest]:
    """The tests of these files; or all of the capabilities, and of the files next to them. Raises
    InputError where there is none.
    """
    if files:
        from_files = [test for file in files for test in _tests_of_file(runtime, index, file, "")]
        tests = collect_tests((), from_files)
        problem = f"{files[0]} holds no request with should_trigger or expected_skill"
        hint = 'write [{"query": "…", "should_trigger": true, "skill": "NAME"}]'
    else:
        from_files = [
            test
            for header in headers
            for path in _files_next_to(Path(header["source"]["path"]))
            for test in _tests_of_file(runtime, index, path, header["id"])
        ]
        tests = collect_tests(headers, from_files)
        problem = "no capability here has phrases, or says what it is not for"
        hint = "add requests as people write them: phrases: [...]; see docs/authoring.md"
    if not tests:
        raise InputError(problem, hint)
    return tests


def _files_next_to(path: Path) -> list[Path]:
    """The files of requests that lie with the only capability of a folder."""
    if path.name.casefold() not in ("skill.md", "capability.yaml", "capability.yml"):
        return []
    folders = (path.parent, path.parent / "evals")
    return sorted(
        file
        for folder in folders
        for suffix in _SUFFIXES
        for file in folder.glob(f"*{suffix}")
        if "trigger" in file.stem.casefold() or (folder is folders[1] and file.stem == "evals")
    )


def _tests_of_file(
    runtime: surroundings.Runtime, index: Index, path: Path, owner: str
) -> list[TriggerTest]:
    """The tests of a file; a request that names no capability is about the `owner`, or about the
    one that the folders of the file are named after.
    """
    name = str(path)
    tests = []
    for request in parse_trigger_file(user_files.read_file_or_stdin(runtime, name), name):
        # A file next to a capability is about that one, whatever it calls it.
        identifier = owner or (
            NOBODY
            if request.name is None
            else _resolve_id(index, request.name, request.request, path)
        )
        tests.append(TriggerTest(identifier, request.request, request.should_trigger, path.name))
    return tests


def _resolve_id(index: Index, name: str, request: str, path: Path) -> str:
    candidates = [name] if name else [folder.name for folder in path.resolve().parents][:3]
    for candidate in candidates:
        if candidate and (header := index.resolve(candidate)):
            return header["id"]
    problem = f"{name[:64]!r}, which is not in this index" if name else "no skill"
    raise InputError(
        f"{path}: the request {one_line(request, 80)!r} names {problem}",
        'write "skill": "NAME" as in capdisc list --ids; or "expected_skill": "" if none should answer',
    )


# The files of a commit. Nothing is checked out: a worktree would run the filters and hooks that
# the repository's own configuration names.


@contextmanager
def _index_of_revision(revision: str, roots: Sequence[Path], encoder: str) -> Iterator[Index]:
    """An index of these folders as they were in a commit. Raises InputError where git knows no
    such commit, or none of the folders is in it.
    """
    import tempfile

    with tempfile.TemporaryDirectory(prefix="capdisc-since-") as scratch:
        folders = [
            folder
            for number, root in enumerate(roots)
            if (folder := _write_revision(revision, root, Path(scratch, str(number))))
        ]
        if not folders:
            names = ", ".join(map(str, roots)) or "this index"
            raise InputError(
                f"{revision} holds no file of {names}", "name a commit that has the folder"
            )
        with _temporary_index(folders, encoder) as index:
            yield index


def _write_revision(revision: str, root: Path, target: Path) -> Path | None:
    """The folder with the files that `root` had in a commit, below `target`; None where it had
    none, or lies in no repository.
    """
    try:
        top = Path(_ask_git(root, "rev-parse", "--show-toplevel").decode().rstrip("\n"))
    except InputError:
        return None
    try:
        name = f"{revision}^{{commit}}"
        commit = _ask_git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", name)
    except InputError as error:
        raise InputError(
            f"git knows no commit {revision[:80]!r} in {top}",
            "name a commit, a tag or a branch: capdisc eval --triggers --since HEAD",
        ) from error
    inside = root.resolve().relative_to(top.resolve())
    listing = _ask_git(
        top, "ls-tree", "-r", "-z", "--full-tree", commit.decode().strip(), "--", str(inside)
    )
    entries = [entry.partition(b"\t") for entry in listing.split(b"\0") if entry]
    blobs = [
        (head.split()[2], name.decode("utf-8", "surrogateescape"))
        for head, _, name in entries
        if head.startswith(b"100")  # plain files; links and submodules are left out
    ]
    if not blobs:
        return None
    contents = _ask_git(
        top, "cat-file", "--batch", input=b"".join(b"%s\n" % key for key, _ in blobs)
    )
    offset = 0
    for _, name in blobs:
        head, _, _ = contents[offset:].partition(b"\n")
        size, start = int(head.split()[2]), offset + len(head) + 1
        path = target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(contents[start : start + size])
        offset = start + size + 1
    return target / inside


def _ask_git(folder: Path, *words: str, input: bytes = b"") -> bytes:
    """What git prints. Raises InputError where it fails or is not installed."""
    try:
        result = subprocess.run(
            ["git", "-C", str(folder), *words], input=input, capture_output=True, check=False
        )
    except OSError as error:
        raise InputError("--since needs git, which cannot be run", "install git") from error
    if result.returncode:
        detail = one_line(result.stderr.decode("utf-8", "replace"), 200)
        raise InputError(f"git failed in {folder}: {detail}", "try: git status")
    return result.stdout


# What is printed.


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f}"


def _percent_cell(share: float | None) -> str:
    return f"{_percent(share):>6}"


def _format_run(
    run: TriggerRun, options: TriggerOptions, failing: Sequence[str], colour: bool
) -> list[str]:
    """A table of the capabilities that have failures, the failures with what won instead, and the
    figures over all.
    """
    lines = []
    troubled = [figures for figures in run.capabilities if figures.failures]
    if troubled:
        heading, *rows = console.format_table(
            ("capability", "requests", "recall", "near misses", "precision"),
            [
                (
                    console.sanitise(one_line(figures.id, 60)),
                    figures.wanted,
                    _percent_cell(figures.recall),
                    len(figures.results) - figures.wanted,
                    _percent_cell(figures.precision),
                )
                for figures in troubled
            ],
        )
        lines += [console.bold(heading, colour), *rows]
        lines += _format_failures("not triggered", troubled, True)
        lines += _format_failures("triggered, and should not be", troubled, False)
    if run.alarms:
        lines += ["", f"false alarms ({len(run.alarms):,})", *map(_format_result, run.alarms)]
    confusions = [pair for pair in count_confusions(run.results) if pair[1] > 1]
    if confusions:
        lines += ["", f"confused more than once ({len(confusions):,})"]
        lines += [
            console.sanitise(f"  {expected_id}: {count} times {winner}")
            for (expected_id, winner), count in confusions[:_SHOWN_CONFUSIONS]
        ]
    if run.changes:
        lines += _format_changes(run.changes, options.since)
    total = run.total
    lines += [
        *([""] if lines else []),
        f"{console.format_count(len(run.results), 'test')} of "
        f"{console.format_count(len(run.capabilities), 'capability', 'capabilities')}: "
        f"recall {_percent(total.recall)} (in three {_percent(total.recall_in_three)}), "
        f"precision {_percent(total.precision)}; "
        + (f"false alarms {len(run.alarms)} of {len(run.refusals)}; " if run.refusals else "")
        + f"{len(failing):,} below the threshold",
    ]
    return lines


def _format_failures(
    title: str, troubled: Iterable[TriggerFigures], should_trigger: bool
) -> list[str]:
    failures = [
        result
        for figures in troubled
        for result in figures.failures
        if result.test.should_trigger is should_trigger
    ]
    return ["", f"{title} ({len(failures):,})", *map(_format_result, failures)] if failures else []


def _format_result(result: TriggerResult) -> str:
    test = result.test
    request = console.sanitise(one_line(test.request, 80))
    if test.id == NOBODY:
        return f'  "{request}" ({test.origin}): {console.sanitise(result.winner)}'
    if not test.should_trigger:
        outcome = f"place {result.rank}"
    elif not result.winner:
        outcome = "nothing found"
    else:
        place = f"place {result.rank}" if result.rank else "not found"
        outcome = f"{place}; first {console.sanitise(result.winner)}"
    return f'  {console.sanitise(test.id)}  "{request}" ({test.origin}): {outcome}'


def _format_changes(changes: TriggerChanges, since: str) -> list[str]:
    lines = []
    for title, results in changes.items():
        if results:
            shown = "new, and failing" if title == FAILING_NEW else title
            lines += [f"{shown} ({len(results):,})", *map(_format_result, results)]
    name = console.sanitise(since)
    return ["", *([f"since {name}", *lines] if lines else [f"since {name}: no difference"])]


def _print_notices(run: TriggerRun) -> None:
    for text in run.degraded:
        console.print_notice(f"notice: {text}")
    if run.untested:
        names = console.format_names(run.untested, 5)
        console.print_notice(
            f"notice: without a request of its own ({len(run.untested):,}): {names}"
        )


def _run_document(run: TriggerRun, options: TriggerOptions, failing: Sequence[str]) -> JsonObject:
    return {
        "tests": len(run.results),
        "limit": run.limit,
        "unit": "percent",
        **_figures_document(run.total),
        "unwanted": len(run.refusals),
        "false_alarms": [_result_document(result) for result in run.alarms],
        "confused": [
            {"id": expected_id, "winner": winner, "requests": count}
            for (expected_id, winner), count in count_confusions(run.results)
        ],
        "failing": failing,
        "untested": run.untested,
        "degraded": run.degraded,
        "capabilities": [
            {
                "id": figures.id,
                "requests": figures.wanted,
                "near_misses": len(figures.results) - figures.wanted,
                **_figures_document(figures),
                "failures": [_result_document(result) for result in figures.failures],
            }
            for figures in run.capabilities
        ],
        "since": _changes_document(run.changes, options.since) if run.changes else None,
    }


def _figures_document(figures: TriggerFigures) -> JsonObject:
    rounded: Callable[[float | None], float | None] = lambda share: (  # noqa: E731
        None if share is None else round(100 * share, 4)
    )
    return {
        "precision": rounded(figures.precision),
        "recall": rounded(figures.recall),
        "recall_in_three": rounded(figures.recall_in_three),
    }


def _changes_document(changes: TriggerChanges, since: str) -> JsonObject:
    lists = {title: list(map(_result_document, results)) for title, results in changes.items()}
    return {"revision": since, **lists}


def _result_document(result: TriggerResult) -> JsonObject:
    test = result.test
    return {
        "id": test.id,
        "request": test.request,
        "should_trigger": test.should_trigger,
        "origin": test.origin,
        "rank": result.rank,
        "winner": result.winner,
    }


def check_options(options: TriggerOptions, others: Sequence[str]) -> None:
    """Raises UsageError for options that need `--triggers`, and for those that exclude it."""
    if not options.triggers and (name := options.typed_without_triggers):
        raise UsageError(f"{name} goes with --triggers", "say: capdisc eval --triggers")
    if options.triggers and others:
        raise UsageError(
            f"{others[0]} does not go with --triggers",
            "say: capdisc eval --triggers [FOLDER or FILES]",
        )
