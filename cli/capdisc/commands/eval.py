"""capdisc eval: how well the index answers judged queries."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from capdisc import asking, figures, files, judged, options, output, querying
from capdisc.declaring import argument, option
from capdisc.exit_codes import ExitCode
from capdisc.judged import Judged
from capdisc_indexer import engines
from capdisc_indexer.errors import UsageError
from capdisc_indexer.evaluation import runs
from capdisc_indexer.evaluation.asking import Answers, answers
from capdisc_indexer.evaluation.summary import Summary, summarise

CHARTS = (".svg", ".png")


def eval_(
    queries: Annotated[str, argument(metavar="QUERIES", help="JSON lines, or id, tab, text; - reads stdin.")],
    qrels: Annotated[str, argument(metavar="QRELS", help="TREC, TSV or JSON lines; - reads stdin.")],
    mode: options.Mode = None,
    compare: Annotated[str, option("--compare", metavar="MODE,…", help="Several modes, a row each.")] = "",
    limit: Annotated[int, option("-k", "--limit", min=1, max=1000, help="How many hits to look at.")] = 100,
    run: Annotated[Path | None, option("--run", metavar="OUT", help="Write a TREC run, or .jsonl.")] = None,
    plot: Annotated[Path | None, option("--plot", metavar="FILE", help="Draw a chart: .svg or .png.")] = None,
    encoder: options.EncoderName = None,
    quiet: Annotated[bool, option("--quiet", "-q", help="Print no notices, only errors and figures.")] = False,
    index_dir: options.IndexDir = None,
    json: options.Json = False,
) -> int:
    """Measure how well the index answers judged queries, in percent, with 95 % intervals.

    QUERIES has a query on each line: {"qid", "text", "lang"?}, or its id, a tab and its text. QRELS says what is right:
    "qid 0 id grade", or qid, id and grade with tabs between, or {"qid", "id", "grade"}.

    Example: capdisc eval queries.jsonl qrels.tsv --compare lexical,vector,hybrid
    """
    if queries == qrels == files.STDIN:
        raise UsageError("only one of the two can come from stdin", "name a file for the other")
    with asking.opened(index_dir) as asked:
        modes = _modes(asked, mode, compare)
        inputs = [asked.here.expand(Path(name)).resolve() for name in (queries, qrels) if name != files.STDIN]
        targets = _targets(asked, run, plot, modes, inputs)
        given = judged.read(asked, queries, qrels)
        found = _answers(asked, given, modes, encoder, limit, quiet or json)
        summaries = [summarise(given.queries, given.gold.grades, each) for each in found]
        _write(targets, found, summaries)
        if not quiet:
            judged.say(given)
            for text in dict.fromkeys(text for each in summaries for text in each.degraded):
                output.notice(f"notice: {text}")
        if json:
            output.document(_document(asked, given, summaries, limit))
        elif compare:
            output.result("\n".join(figures.of_several(summaries, limit, asked.here.colour)))
        else:
            output.result("\n".join(figures.of_one(summaries[0], limit, asked.here.colour)))
    return ExitCode.OK


def _modes(asked: asking.Asked, mode: str | None, compare: str) -> tuple[str, ...]:
    if mode and compare:
        raise UsageError("--mode and --compare exclude each other", "name all modes in --compare")
    if not compare:
        return (querying.mode_of(asked, mode),)
    named = dict.fromkeys(name.strip() for name in compare.split(",") if name.strip())
    if not named:
        raise UsageError("--compare names no mode", "for example: --compare lexical,hybrid")
    return tuple(querying.mode_of(asked, name) for name in named)


def _targets(
    asked: asking.Asked, run: Path | None, plot: Path | None, modes: Sequence[str], inputs: Sequence[Path]
) -> dict[str, Path]:
    """Where to write what, checked before anything is asked."""
    if run and len(modes) > 1:
        raise UsageError("--run takes the answers of one mode", "leave --compare out, or name one mode in it")
    if plot and plot.suffix.lower() not in CHARTS:
        raise UsageError(f"no chart can be written as {plot.name}", f"use a name that ends in {' or '.join(CHARTS)}")
    if plot:
        engines.matplotlib()
    if files.STDIN in (str(run), str(plot)):
        raise UsageError("stdout is for the figures", "name a file for the other result")
    targets = {name: asked.here.expand(path) for name, path in (("run", run), ("plot", plot)) if path}
    for path in targets.values():
        if path.resolve() in inputs:
            raise UsageError(f"{path} is one of the two files to read", "name another file to write")
        files.check_target(path)
    return targets


def _answers(
    asked: asking.Asked, given: Judged, modes: Sequence[str], name: str | None, limit: int, silent: bool
) -> list[Answers]:
    encoder, why = querying.encoder_or_why(asked, name) if set(modes) != {"lexical"} else (None, "")
    if why:
        output.notice(f"notice: {why}")
    with output.progress(asked.here.stderr_is_terminal and not silent) as progress:
        return [answers(asked.index, given.queries, encoder, mode, limit, progress) for mode in modes]


def _write(targets: dict[str, Path], found: Sequence[Answers], summaries: Sequence[Summary]) -> None:
    if path := targets.get("run"):
        text = runs.json_run(found[0].hits) if path.suffix == ".jsonl" else runs.trec_run(found[0].hits)
        files.write(path, text.encode("utf-8", "replace"))
    if path := targets.get("plot"):
        from capdisc_indexer.evaluation.chart import chart

        files.write(path, chart(summaries, path.suffix.lower()[1:]))


def _document(asked: asking.Asked, given: Judged, summaries: Sequence[Summary], limit: int) -> dict[str, Any]:
    return {
        "queries": len(given.queries),
        "limit": limit,
        "unit": "percent",
        "generation": asked.index.generation.number,
        "encoder": asked.index.generation.fingerprint or None,
        "unjudged_queries": given.unjudged,
        "unasked_queries": given.unasked,
        "unknown_ids": given.gold.unknown,
        "ambiguous_ids": given.gold.ambiguous,
        "modes": [figures.document(each) for each in summaries],
    }
