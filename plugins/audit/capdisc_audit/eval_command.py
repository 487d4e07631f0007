"""capdisc eval: how well the index answers judged queries."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from capdisc.args import params
from capdisc.args.command_line import BadValueError, argument, option, parse_count
from capdisc.context import open_index, query_execution, user_files
from capdisc.output import console
from capdisc.output.command_process import ExitCode
from capdisc_audit import evaluation, query_files
from capdisc_audit.eval_tables import (
    format_comparison_table,
    format_mode_table,
    format_recall_table,
    recall_document,
    summary_document,
)
from capdisc_audit.eval_triggers import TriggerOptions, check_options, evaluate_triggers
from capdisc_audit.evaluation import EvalRun, EvalSummary, run_queries, summarise_run
from capdisc_audit.query_files import EvalQuery, GoldStandard, resolve_judgements
from capdisc_indexer import lazy_imports
from capdisc_indexer.model.errors import InputError, UsageError
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.json_types import JsonObject
from capdisc_indexer.text.normalization import one_line

if TYPE_CHECKING:
    from capdisc_audit.context_recall import ContextRecall
    from capdisc_indexer.encoders import Encoder


@frozen(kw_only=True)
class JudgedQueries:
    """The queries that have judgements, with the ids of the index, and the ids of queries that
    cannot be measured.
    """

    queries: tuple[EvalQuery, ...]
    gold: GoldStandard
    unjudged_queries: tuple[str, ...]
    unasked_queries: tuple[str, ...]


DEFAULT_LIMIT = 100
CHART_SUFFIXES = (".svg", ".png")
_MAX_BUDGETS, _MAX_BUDGET = 20, 1_000_000


def load_judged_queries(ctx: open_index.CommandContext, queries: str, qrels: str) -> JudgedQueries:
    """The queries and judgements of the two files. Raises InputError for a file that cannot be
    read, and where nothing can be measured.
    """
    eval_queries = query_files.parse_queries(
        user_files.read_file_or_stdin(ctx.runtime, queries), queries
    )
    judgements = query_files.parse_judgements(
        user_files.read_file_or_stdin(ctx.runtime, qrels), qrels
    )
    query_ids = {query.qid for query in eval_queries}
    gold = resolve_judgements(
        ctx.index, {qid: grades for qid, grades in judgements.items() if qid in query_ids}
    )
    selected = tuple(query for query in eval_queries if query.qid in gold.grades)
    if not selected:
        raise InputError(
            f"no query of {queries} has a judgement in {qrels}",
            "check that both use the same query ids",
        )
    missing = (*gold.unknown, *gold.ambiguous)
    if {name for grades in gold.grades.values() for name in grades} <= set(missing):
        raise InputError(
            f"no id of {qrels} is in this index (such as {missing[0]})",
            "compare: capdisc list --ids",
        )
    return JudgedQueries(
        queries=selected,
        gold=gold,
        unjudged_queries=tuple(
            query.qid for query in eval_queries if query.qid not in gold.grades
        ),
        unasked_queries=tuple(qid for qid in judgements if qid not in query_ids),
    )


def print_skipped(judged: JudgedQueries) -> None:
    """Print which queries and judgements could not be measured."""
    unknown, ambiguous = judged.gold.unknown, judged.gold.ambiguous
    skipped = [
        (judged.unjudged_queries, "left out, without a judgement"),
        (judged.unasked_queries, "judged, but not among the queries"),
        (unknown, "judged, but not in the index, so never found"),
        (ambiguous, "judged, but the name of several capabilities, so never found"),
    ]
    for names, text in skipped:
        if names:
            console.print_notice(f"notice: {text} ({len(names):,}): {console.format_names(names)}")


def eval_(
    files: Annotated[
        list[str] | None,
        argument(
            metavar="[FILE]...",
            help="QUERIES (JSON lines, or id, tab, text) and QRELS (TREC, TSV or JSON lines); - "
            "reads stdin. With --triggers: a folder, or files of requests.",
        ),
    ] = None,
    mode: params.Mode = None,
    compare: Annotated[
        str, option("--compare", metavar="MODE,…", help="Compare several modes, a row for each.")
    ] = "",
    limit: Annotated[
        int | None,
        option(
            "-k",
            "--limit",
            min=1,
            max=1000,
            help="How many hits of each query count [100; with --triggers 1].",
        ),
    ] = None,
    run: Annotated[
        Path | None,
        option("--run", metavar="OUT", help="Write a TREC run, or .jsonl.", panel="Output"),
    ] = None,
    plot: Annotated[
        Path | None,
        option("--plot", metavar="FILE", help="Draw a chart: .svg or .png.", panel="Output"),
    ] = None,
    budget: Annotated[
        str,
        option(
            "--budgets",
            "--budget",
            metavar="N,…",
            help="Measure contexts of at most this many tokens instead of rankings.",
        ),
    ] = "",
    encoder: params.EncoderName = None,
    quiet: Annotated[
        bool, option("--quiet", "-q", help="Print figures and errors, no notices.", panel="Output")
    ] = False,
    index_dir: params.IndexDir = None,
    json: params.Json = False,
    trigger_options: TriggerOptions = TriggerOptions(),
) -> int:
    """Measure how well the index answers judged queries, in percent, with 95 % intervals.

    QUERIES has a query on each line: {"qid", "text", "lang"?}, or its id, a tab and its text.
    QRELS has the judgements: "qid 0 id grade", or qid, id and grade with tabs between, or {"qid",
    "id", "grade"}.

    With --budgets 150,300,600: how many of the right answers stand in what render prints for so
    many tokens, beside a plain list of its ranking, the first hits by words alone, and the list of
    everything.

    With --triggers: whether the phrases of each capability find it, whether near misses do not
    (phrases of its neighbours, what it is not for, requests of files), and what won instead. A
    folder is indexed for itself. Files of requests say should_trigger or expected_skill, or are an
    evals.json. Exit status 1: a capability is below --min-precision or --min-recall; with --since
    and neither of them: something got worse.

    Example: capdisc eval queries.jsonl qrels.tsv --compare lexical,vector,hybrid
    """
    other_options = {
        "--compare": compare,
        "--run": run,
        "--plot": plot,
        "--budgets": budget,
    }
    check_options(trigger_options, [name for name, value in other_options.items() if value])
    if trigger_options.triggers:
        return evaluate_triggers(
            trigger_options, files or (), mode, encoder, limit or 1, index_dir, quiet, json
        )
    if len(files or ()) != 2:
        raise UsageError(
            "a file of queries and one of judgements are needed",
            "say: capdisc eval QUERIES QRELS; or, without files: capdisc eval --triggers",
        )
    queries, qrels = files or ("", "")
    limit = limit or DEFAULT_LIMIT
    budgets = _parse_budgets(budget)
    if budgets and (compare or run):
        raise UsageError(
            "--budgets measures one mode, and prints no ranking",
            "leave out --compare and --run",
        )
    if queries == qrels == user_files.STDIN:
        raise UsageError("only one of the two can come from stdin", "name a file for the other")
    with open_index.open_index(index_dir) as ctx:
        modes = _select_modes(ctx, mode, compare)
        inputs = [
            ctx.runtime.expand(Path(name)).resolve()
            for name in (queries, qrels)
            if name != user_files.STDIN
        ]
        targets = _output_paths(ctx, run, plot, modes, inputs)
        judged = load_judged_queries(ctx, queries, qrels)
        loaded = _load_encoder(ctx, modes, encoder)
        is_shown = ctx.runtime.stderr_is_terminal and not (quiet or json)
        with console.progress_bar(is_shown) as progress:
            judged_pair = (judged.queries, judged.gold.grades)
            if budgets:
                from capdisc_audit import context_recall

                base = ctx.runtime.path_base
                rows = context_recall.measure_context_recall(
                    ctx.index, *judged_pair, loaded, modes[0], budgets, base, progress
                )
            else:
                results = [
                    run_queries(ctx.index, judged.queries, loaded, mode, limit, progress)
                    for mode in modes
                ]
        if budgets:
            _print_contexts(ctx, judged, rows, targets.get("plot"), quiet, json)
            return ExitCode.OK
        summaries = [summarise_run(*judged_pair, result) for result in results]
        _write_outputs(targets, results, summaries)
        if not quiet:
            print_skipped(judged)
            for text in dict.fromkeys(text for summary in summaries for text in summary.degraded):
                console.print_notice(f"notice: {text}")
        if json:
            console.print_document(_eval_document(ctx, judged, summaries, limit))
        elif compare:
            console.print_result(
                "\n".join(format_comparison_table(summaries, limit, ctx.runtime.colour))
            )
        else:
            console.print_result(
                "\n".join(format_mode_table(summaries[0], limit, ctx.runtime.colour))
            )
    return ExitCode.OK


def _parse_budgets(text: str) -> tuple[int, ...]:
    """The budgets of `300,1200`, smallest first. Raises UsageError for another text."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    try:
        budgets = {parse_count(part, 1, _MAX_BUDGET) for part in parts}
    except BadValueError:
        budgets = set()
    if text and not 0 < len(budgets) == len(set(parts)) <= _MAX_BUDGETS:
        raise UsageError(
            f"--budget {one_line(text, 40)!r} is not a list of tokens",
            f"for example: --budget 300,1200,3000; at most {_MAX_BUDGETS} numbers",
        )
    return tuple(sorted(budgets))


def _print_contexts(
    ctx: open_index.CommandContext,
    judged: JudgedQueries,
    rows: Sequence[ContextRecall],
    plot: Path | None,
    quiet: bool,
    json: bool,
) -> None:
    from capdisc_audit.context_recall import draw_recall_chart

    if plot:
        user_files.write_file(plot, draw_recall_chart(rows, plot.suffix.lower()[1:]))
    if not quiet:
        print_skipped(judged)
    if json:
        console.print_document(
            {
                "queries": len(judged.queries),
                "unit": "percent",
                "budgets": [recall_document(row) for row in rows],
            }
        )
        return
    console.print_result(
        "\n".join(format_recall_table(rows, len(judged.queries), ctx.runtime.colour))
    )


def _load_encoder(
    ctx: open_index.CommandContext, modes: Sequence[str], name: str | None
) -> Encoder | None:
    """The encoder that these modes need, or a notice that there is none."""
    if set(modes) == {"lexical"}:
        return None
    encoder, failure = query_execution.try_load_encoder(ctx, name)
    if failure:
        console.print_notice(f"notice: {failure}")
    return encoder


def _select_modes(
    ctx: open_index.CommandContext, mode: str | None, compare: str
) -> tuple[str, ...]:
    if mode and compare:
        raise UsageError("--mode and --compare exclude each other", "name all modes in --compare")
    if not compare:
        return (query_execution.retrieval_mode(ctx, mode, answers_many=True),)
    names = dict.fromkeys(name.strip() for name in compare.split(",") if name.strip())
    if not names:
        raise UsageError("--compare names no mode", "for example: --compare lexical,hybrid")
    return tuple(query_execution.retrieval_mode(ctx, name, answers_many=True) for name in names)


def _output_paths(
    ctx: open_index.CommandContext,
    run: Path | None,
    plot: Path | None,
    modes: Sequence[str],
    inputs: Sequence[Path],
) -> dict[str, Path]:
    """The files to write by name ("run", "plot"), checked before any query is asked. Raises
    UsageError or InputError.
    """
    if run and len(modes) > 1:
        raise UsageError(
            "--run takes the answers of one mode", "leave --compare out, or name one mode in it"
        )
    if plot and plot.suffix.lower() not in CHART_SUFFIXES:
        raise UsageError(
            f"no chart can be written as {plot.name}",
            f"use a name that ends in {' or '.join(CHART_SUFFIXES)}",
        )
    if plot:
        lazy_imports.matplotlib()
    if user_files.STDIN in (str(run), str(plot)):
        raise UsageError("stdout is for the figures", "name a file for the other result")
    targets = {
        name: ctx.runtime.expand(path) for name, path in (("run", run), ("plot", plot)) if path
    }
    for path in targets.values():
        if path.resolve() in inputs:
            raise UsageError(
                f"{path} is one of the two files to read", "name another file to write"
            )
        user_files.check_target(path)
    return targets


def _write_outputs(
    targets: dict[str, Path], results: Sequence[EvalRun], summaries: Sequence[EvalSummary]
) -> None:
    if path := targets.get("run"):
        text = (
            evaluation.format_json_run(results[0].hits)
            if path.suffix == ".jsonl"
            else evaluation.format_trec_run(results[0].hits)
        )
        user_files.write_file(path, text.encode("utf-8", "replace"))
    if path := targets.get("plot"):
        user_files.write_file(path, evaluation.draw_chart(summaries, path.suffix.lower()[1:]))


def _eval_document(
    ctx: open_index.CommandContext,
    judged: JudgedQueries,
    summaries: Sequence[EvalSummary],
    limit: int,
) -> JsonObject:
    return {
        "queries": len(judged.queries),
        "limit": limit,
        "unit": "percent",
        "generation": ctx.index.generation.number,
        "encoder": ctx.index.generation.fingerprint or None,
        "unjudged_queries": judged.unjudged_queries,
        "unasked_queries": judged.unasked_queries,
        "unknown_ids": judged.gold.unknown,
        "ambiguous_ids": judged.gold.ambiguous,
        "modes": [summary_document(summary) for summary in summaries],
    }
